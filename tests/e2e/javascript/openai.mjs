import assert from "node:assert/strict";
import { test } from "node:test";
import OpenAI from "openai";
import { zodResponseFormat } from "openai/helpers/zod";
import { z } from "zod";
import { saw, sawAll, url } from "./seen.mjs";

const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "any", maxRetries: 0, timeout: 30_000 });
const said = (content) => [{ role: "user", content }];
const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const tools = [{ type: "function", function: { name: "get_weather", description: "The weather in a city.", parameters } }];
const responseTools = [{ type: "function", name: "get_weather", parameters, strict: false }];
const cities = (calls) => calls.map((call) => JSON.parse(call.arguments).city);

test("models", async () => {
  const list = [];
  for await (const model of client.models.list()) list.push(saw("OpenAI.Model", model));
  assert.equal(list.length, 1);
  assert.equal((await client.models.retrieve("a/b:c")).object, "model");
});

test("chat, whole", async () => {
  const reply = saw("OpenAI.ChatCompletion", await client.chat.completions.create({ model: "m", messages: said("hello") }));
  assert.equal(reply.choices[0].message.content, "Hello there.");
  assert.equal(reply.choices[0].finish_reason, "stop");
});

test("chat, streamed, with usage and logprobs", async () => {
  const chunks = await sawAll("OpenAI.ChatCompletionChunk", await client.chat.completions.create({
    model: "m", messages: said("hello"), stream: true, stream_options: { include_usage: true }, logprobs: true, top_logprobs: 2,
  }));
  assert.equal(chunks.map((c) => c.choices[0]?.delta.content ?? "").join(""), "Hello there.");
  const last = chunks.at(-1);
  assert.deepEqual(last.choices, []);
  assert.equal(last.usage.total_tokens, last.usage.prompt_tokens + last.usage.completion_tokens);
});

test("chat, calls through the stream helper", async () => {
  const stream = client.chat.completions.stream({ model: "m", messages: said("two tools"), tools, tool_choice: "auto" });
  stream.on("chunk", (chunk) => saw("OpenAI.ChatCompletionChunk", chunk));
  const reply = await stream.finalChatCompletion();
  const { message, finish_reason } = reply.choices[0];
  assert.equal(finish_reason, "tool_calls");
  assert.deepEqual(cities(message.tool_calls.map((call) => call.function)), ["Göteborg", "Kyōto"]);
  assert.equal(new Set(message.tool_calls.map((call) => call.id)).size, 2);
});

test("chat, the tool runner goes the whole way", async () => {
  const asked = [];
  const run = (arguments_) => { asked.push(arguments_.city); return "sunny"; };
  const runner = client.chat.completions.runTools({
    model: "m", messages: said("one tool"), stream: true,
    tools: [{ type: "function", function: { ...tools[0].function, function: run, parse: JSON.parse } }],
  });
  assert.equal(await runner.finalContent(), "It is sunny.");
  assert.deepEqual(asked, ["Oslo"]);
});

test("chat, structured", async () => {
  const schema = z.object({ city: z.string(), degrees: z.number().int() });
  const reply = await client.chat.completions.parse({ model: "m", messages: said("as JSON"), response_format: zodResponseFormat(schema, "weather") });
  assert.deepEqual(reply.choices[0].message.parsed, { city: "Oslo", degrees: -3 });
});

test("completions", async () => {
  const chunks = await sawAll("OpenAI.Completion", await client.completions.create({ model: "m", prompt: "hello", stream: true, max_tokens: 5 }));
  assert.equal(chunks.map((c) => c.choices[0]?.text ?? "").join(""), "Hello");
  assert.equal(chunks.at(-1).choices[0].finish_reason, "length");
});

test("responses, whole", async () => {
  const reply = await client.responses.create({ model: "m", input: "hello", instructions: "Be brief." });
  assert.equal(reply.output_text, "Hello there.");
  const { output_text, ...raw } = reply; // the package adds it
  saw("Responses.Response", raw);
});

test("responses, every event", async () => {
  const events = await sawAll("Responses.ResponseStreamEvent", await client.responses.create({
    model: "m", input: "two tools", tools: responseTools, stream: true, reasoning: { effort: "low", summary: "auto" },
    include: ["reasoning.encrypted_content"],
  }));
  events.forEach((event, number) => assert.equal(event.sequence_number, number));
  const final = events.at(-1);
  assert.equal(final.type, "response.completed");
  const kinds = final.response.output.map((item) => item.type);
  assert.deepEqual(kinds, ["reasoning", "message", "function_call", "function_call"]);
  assert.deepEqual(cities(final.response.output.filter((item) => item.type === "function_call")), ["Göteborg", "Kyōto"]);
});

test("responses, the stream helper, then a second turn", async () => {
  const first = await client.responses.stream({ model: "m", input: "one tool", tools: responseTools }).finalResponse();
  const call = first.output.find((item) => item.type === "function_call");
  const second = await client.responses.create({
    model: "m", previous_response_id: first.id, tools: responseTools,
    input: [{ type: "function_call_output", call_id: call.call_id, output: "sunny" }],
  });
  assert.equal(second.output_text, "It is sunny.");
  for await (const item of client.responses.inputItems.list(second.id)) saw("Responses.ResponseItem", item);
});

test("errors have their class, code and parameter", async () => {
  await assert.rejects(client.chat.completions.create({ model: "m", messages: said("x"), top_p: 9 }),
    (error) => error instanceof OpenAI.BadRequestError && error.param === "top_p");
  await assert.rejects(client.responses.create({ model: "m", input: "x".repeat(40_000) }),
    (error) => error instanceof OpenAI.BadRequestError && error.code === "context_length_exceeded");
  await assert.rejects(client.responses.retrieve("resp_none"), OpenAI.NotFoundError);
});

test("a failure in mid-stream is an error, not an end", async () => {
  await assert.rejects(async () => {
    for await (const _ of await client.chat.completions.create({ model: "m", messages: said("fail"), stream: true }));
  });
});

test("a client that leaves is let go", async () => {
  const stream = await client.chat.completions.create({ model: "m", messages: said("go on"), stream: true });
  for await (const _ of stream) break;
  for (let i = 0; i < 200; ++i) {
    const metrics = await (await fetch(`${url}/metrics`)).text();
    if (/^vllm:num_requests_running(\{.*\})? 0$/m.test(metrics)) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.fail("still running");
});
