// What was said, and the request that goes on from it.
import {ApiError, events, post} from "./api.js";

const SAVED = "tempo9-conversation";

export class Conversation {
  // {role: "user", content} | {role: "assistant", content, reasoning, calls, error, usage, finish} |
  // {role: "tool", id, content}; a call is {id, name, arguments}.
  messages = [];

  load() {
    try {
      const saved = JSON.parse(localStorage.getItem(SAVED));
      if (Array.isArray(saved)) this.messages = saved;
      return Array.isArray(saved);
    } catch {
      return false;
    }
  }
  save(wanted) {
    try {
      if (wanted) localStorage.setItem(SAVED, JSON.stringify(this.messages));
      else localStorage.removeItem(SAVED);
    } catch {
      // Switched off or full: the conversation lives in the page all the same.
    }
  }
}

// Arguments that were cut are no JSON, and no template takes them.
function isWhole(call) {
  try {
    JSON.parse(call.arguments || "{}");
    return true;
  } catch {
    return false;
  }
}

function sent(message) {
  if (message.role === "tool") return {role: "tool", tool_call_id: message.id, content: message.content};
  if (message.role === "user") return {role: "user", content: message.content};
  const out = {role: "assistant", content: message.content};
  if (message.reasoning) out.reasoning_content = message.reasoning;
  const calls = message.calls.filter(isWhole);
  if (calls.length > 0) {
    out.tool_calls = calls.map((call) => ({
      id: call.id, type: "function", function: {name: call.name, arguments: call.arguments || "{}"},
    }));
  }
  return out;
}

const isEmpty = (m) => m.role === "assistant" && !m.content && !m.reasoning && m.calls.length === 0;

// settings: {model, system, temperature, maxTokens, effort, tools}; null and "" are left to the server.
export function requestBody(messages, settings) {
  const body = {
    model: settings.model,
    messages: messages.filter((m) => !isEmpty(m)).map(sent),
    stream: true,
    stream_options: {include_usage: true},
  };
  if (settings.system) body.messages.unshift({role: "system", content: settings.system});
  if (settings.temperature !== null) body.temperature = settings.temperature;
  if (settings.maxTokens !== null) body.max_tokens = settings.maxTokens;
  if (settings.effort) body.reasoning_effort = settings.effort;
  if (settings.tools) body.tools = settings.tools;
  return body;
}

function addDelta(reply, delta) {
  reply.content += delta.content ?? "";
  reply.reasoning += delta.reasoning_content ?? "";
  for (const part of delta.tool_calls ?? []) {
    const call = reply.calls[part.index] ??= {id: part.id, name: "", arguments: ""};
    call.name += part.function?.name ?? "";
    call.arguments += part.function?.arguments ?? "";
  }
}

async function read(response, reply, changed) {
  for await (const data of events(response)) {
    if (data === "[DONE]") return true;
    const chunk = JSON.parse(data);
    if (chunk.error) throw new ApiError(response.status, chunk.error.message);
    const choice = chunk.choices[0];
    if (choice) addDelta(reply, choice.delta);
    if (choice?.finish_reason) reply.finish = choice.finish_reason;
    if (chunk.usage) reply.usage = chunk.usage;
    changed();
  }
  return false;
}

// Fills reply as the stream comes, and tells of each change. Throws what ends it early, in words to be shown; the
// reply keeps what came.
export async function stream(body, reply, signal, changed) {
  const headers = {"X-Tempo9-Explain": "timing"};
  let response;
  try {
    response = await post("/v1/chat/completions", body, {signal, headers});
    if (await read(response, reply, changed)) return;
  } catch (error) {
    if (error instanceof ApiError || error.name === "AbortError") throw error;
    if (!response) throw new Error(`The server does not answer (${error.message}).`);
  }
  // Behind a reply's first byte the server can only cut the connection.
  throw new Error("The connection was cut before the reply was whole. If the server did that, its log says why.");
}
