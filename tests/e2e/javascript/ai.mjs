import assert from "node:assert/strict";
import { test } from "node:test";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, Output, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";
import { url } from "./seen.mjs";

const openai = createOpenAICompatible({ name: "tempo9", baseURL: `${url}/v1`, apiKey: "none", includeUsage: true, supportsStructuredOutputs: true });
const anthropic = createAnthropic({ baseURL: `${url}/v1`, apiKey: "none" });
const asked = [];
const tools = {
  get_weather: tool({
    description: "The weather in a city.",
    inputSchema: z.object({ city: z.string() }),
    execute: async ({ city }) => { asked.push(city); return "sunny"; },
  }),
};

for (const [name, model] of [["openai-compatible", openai("local")], ["anthropic", anthropic("local")]]) {
  const ask = (prompt, more = {}) => ({ model, prompt, maxRetries: 0, ...more });

  test(`${name}: whole`, async () => {
    const reply = await generateText(ask("hello"));
    assert.equal(reply.text, "Hello there.");
    assert.equal(reply.finishReason, "stop");
    assert.ok(reply.usage.inputTokens > 0 && reply.usage.outputTokens > 0);
  });

  test(`${name}: streamed tool loop`, async () => {
    asked.length = 0;
    const parts = [];
    const result = streamText(ask("two tools", { tools, stopWhen: stepCountIs(3) }));
    for await (const part of result.fullStream) parts.push(part);
    assert.deepEqual(parts.filter((part) => ["error", "tool-error", "abort"].includes(part.type)), []);
    assert.deepEqual(asked.sort(), ["Göteborg", "Kyōto"]);
    assert.equal(await result.text, "It is sunny.");
    assert.equal((await result.steps).length, 2);
    assert.ok((await result.totalUsage).inputTokens > 0);
  });

  test(`${name}: thinking`, async () => {
    const providerOptions = { anthropic: { thinking: { type: "enabled", budgetTokens: 1024 } } };
    const result = streamText(ask("one tool", { tools, providerOptions }));
    await result.consumeStream();
    assert.equal(await result.reasoningText, "One call does it.");
  });

  test(`${name}: structured`, async () => {
    const schema = z.object({ city: z.string(), degrees: z.number().int() });
    const providerOptions = { anthropic: { structuredOutputMode: "outputFormat" } }; // else a tool in place of it
    const reply = await generateText(ask("as JSON", { output: Output.object({ schema }), providerOptions }));
    assert.deepEqual(reply.output, { city: "Oslo", degrees: -3 });
  });

  test(`${name}: errors and cuts`, async () => {
    await assert.rejects(generateText(ask("x".repeat(40_000))), (error) => error.statusCode === 400);
    const types = [];
    try {
      for await (const part of streamText(ask("fail", { onError: () => {} })).fullStream) types.push(part.type);
    } catch {
      types.push("error");
    }
    assert.ok(types.includes("error"), `no end: ${types}`);
  });
}
