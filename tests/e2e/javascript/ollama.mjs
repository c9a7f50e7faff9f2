import assert from "node:assert/strict";
import { test } from "node:test";
import { Ollama } from "ollama";
import { saw, sawAll, url } from "./seen.mjs";

const client = new Ollama({ host: url });
const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const tools = [{ type: "function", function: { name: "get_weather", description: "The weather in a city.", parameters } }];
// Only the last one has all that the type says.
const part = (type) => (value) => (value.done ? type : `Partial<${type}>`);
const ask = (content, more = {}) => ({ model: "local", messages: [{ role: "user", content }], ...more });

test("chat, whole", async () => {
  const reply = saw("ChatResponse", await client.chat(ask("hello")));
  assert.equal(reply.message.content, "Hello there.");
  assert.equal(reply.done_reason, "stop");
});

test("chat, streamed, with thinking and calls", async () => {
  const parts = await sawAll(part("ChatResponse"), await client.chat(ask("two tools", { tools, stream: true, think: true })));
  assert.ok(parts.some((part) => part.message.thinking));
  const calls = parts.flatMap((part) => part.message.tool_calls ?? []);
  assert.deepEqual(calls.map((call) => call.function.arguments), [{ city: "Göteborg" }, { city: "Kyōto" }]);
  assert.deepEqual(parts.map((part) => part.done).filter(Boolean), [true]);
});

test("a tool loop", async () => {
  const { message } = await client.chat(ask("one tool", { tools }));
  const messages = [{ role: "user", content: "one tool" }, message, { role: "tool", tool_name: "get_weather", content: "sunny" }];
  assert.equal((await client.chat({ model: "local", messages, tools })).message.content, "It is sunny.");
});

test("structured", async () => {
  const format = { type: "object", properties: { city: { type: "string" }, degrees: { type: "integer" } }, required: ["city", "degrees"], additionalProperties: false };
  const reply = await client.chat(ask("as JSON", { format }));
  assert.deepEqual(JSON.parse(reply.message.content), { city: "Oslo", degrees: -3 });
});

test("generate, whole and streamed", async () => {
  const reply = saw("GenerateResponse", await client.generate({ model: "local", prompt: "hello", options: { num_predict: 5, num_ctx: 4096 } }));
  assert.equal(reply.response, "Hello");
  assert.equal(reply.done_reason, "length");
  const parts = await sawAll(part("GenerateResponse"), await client.generate({ model: "local", prompt: "hello", stream: true }));
  assert.equal(parts.map((part) => part.response).join(""), "Hello there.");
});

test("models", async () => {
  const { models } = saw("Models", await client.list());
  assert.equal(models.length, 1);
  saw("Partial<ShowResponse>", await client.show({ model: models[0].name }));
  saw("Models", await client.ps());
  const progress = await sawAll("Partial<ProgressResponse>", await client.pull({ model: models[0].name, stream: true }));
  assert.equal(progress.at(-1).status, "success");
  assert.match((await client.version()).version, /^0\.1[4-9]\./);
});

test("errors are said", async () => {
  await assert.rejects(client.chat(ask("x", { options: { temperature: "hot" } })), (error) => error.status_code === 400 && /temperature/.test(error.message));
});

test("a failure in mid-stream is an error, not an end", async () => {
  await assert.rejects(async () => {
    for await (const _ of await client.chat(ask("fail", { stream: true })));
  });
});

test("abort", async () => {
  const stream = await client.chat(ask("go on", { stream: true }));
  await assert.rejects(async () => {
    for await (const _ of stream) stream.abort();
  }, { name: "AbortError" });
});
