import assert from "node:assert/strict";
import { test } from "node:test";
import Anthropic from "@anthropic-ai/sdk";
import { saw, sawAll, url } from "./seen.mjs";

const client = new Anthropic({ baseURL: url, apiKey: "any", maxRetries: 0, timeout: 30_000 });
const input_schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const tools = [{ name: "get_weather", description: "The weather in a city.", input_schema }];
const ask = (content, more = {}) => ({ model: "m", max_tokens: 500, messages: [{ role: "user", content }], ...more });
const total = (usage) => usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens;

test("models", async () => {
  const list = [];
  for await (const model of client.models.list()) list.push(model);
  assert.equal(list.length, 1);
  assert.equal(list[0].type, "model");
  assert.equal((await client.models.retrieve("a/b:c")).type, "model");
});

test("whole", async () => {
  const reply = saw("Anthropic.Message", await client.messages.create(ask("hello")));
  assert.deepEqual(reply.content.map((block) => block.text), ["Hello there."]);
  assert.equal(reply.stop_reason, "end_turn");
});

test("every event: thinking, text, two calls", async () => {
  const thinking = { type: "enabled", budget_tokens: 1024 };
  const events = await sawAll("Anthropic.RawMessageStreamEvent",
    await client.messages.create(ask("two tools", { tools, stream: true, max_tokens: 2000, thinking })));
  assert.equal(events[0].type, "message_start");
  assert.deepEqual(events.slice(-2).map((event) => event.type), ["message_delta", "message_stop"]);
  const begun = events.filter((event) => event.type === "content_block_start").map((event) => event.content_block.type);
  assert.deepEqual(begun, ["thinking", "text", "tool_use", "tool_use"]);
  assert.ok(events.some((event) => event.delta?.type === "signature_delta"));
});

test("the stream helper makes the message", async () => {
  const stream = client.messages.stream(ask("two tools", { tools }));
  const seen = [];
  stream.on("contentBlock", (block) => seen.push(block.type));
  const message = await stream.finalMessage();
  const calls = message.content.filter((block) => block.type === "tool_use");
  assert.deepEqual(calls.map((block) => block.input), [{ city: "Göteborg" }, { city: "Kyōto" }]);
  assert.equal(message.stop_reason, "tool_use");
  assert.deepEqual(seen.slice(-2), ["tool_use", "tool_use"]);
});

test("a tool loop by hand, with blocks as results", async () => {
  const first = await client.messages.create(ask("one tool", { tools }));
  const use = first.content.find((block) => block.type === "tool_use");
  const result = { type: "tool_result", tool_use_id: use.id, content: [{ type: "text", text: "sunny" }] };
  const second = await client.messages.create({
    model: "m", max_tokens: 500, tools,
    messages: [{ role: "user", content: "one tool" }, { role: "assistant", content: first.content }, { role: "user", content: [result] }],
  });
  assert.equal(second.content[0].text, "It is sunny.");
});

test("the beta routes' tool runner goes the whole way", async () => {
  const asked = [];
  const weather = { ...tools[0], run: (input) => { asked.push(input.city); return "sunny"; }, parse: (input) => input };
  const runner = client.beta.messages.toolRunner(ask("one tool", { tools: [weather] }));
  assert.equal((await runner).content[0].text, "It is sunny.");
  assert.deepEqual(asked, ["Oslo"]);
});

test("counts are what is used", async () => {
  const body = ask("hello", { tools, system: [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }] });
  const { max_tokens, ...counted } = body;
  const count = saw("Anthropic.MessageTokensCount", await client.messages.countTokens(counted));
  assert.equal(count.input_tokens, total((await client.messages.create(body)).usage));
});

test("structured", async () => {
  const schema = { type: "object", properties: { city: { type: "string" }, degrees: { type: "integer" } }, required: ["city", "degrees"], additionalProperties: false };
  const reply = await client.messages.create(ask("as JSON", { output_config: { format: { type: "json_schema", schema } } }));
  assert.deepEqual(JSON.parse(reply.content[0].text), { city: "Oslo", degrees: -3 });
});

test("errors have their class and type", async () => {
  await assert.rejects(client.messages.create(ask("x", { temperature: 9 })),
    (error) => error instanceof Anthropic.BadRequestError && error.error.error.type === "invalid_request_error");
  await assert.rejects(client.messages.create(ask("x".repeat(40_000))),
    (error) => /prompt is too long: \d+ tokens > 32768 maximum/.test(error.message));
});

test("a failure in mid-stream is an error, not an end", async () => {
  await assert.rejects(client.messages.stream(ask("fail")).finalMessage());
});
