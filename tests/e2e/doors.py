"""One conversation through four doors: the same request in each dialect's body, the same reply out of each."""

import json
from dataclasses import dataclass, field

import httpx

CHAT, RESPONSES, MESSAGES, OLLAMA = "/v1/chat/completions", "/v1/responses", "/v1/messages", "/api/chat"
DOORS = [CHAT, RESPONSES, MESSAGES, OLLAMA]


@dataclass
class Call:
    name: str
    arguments: dict


@dataclass
class Turn:
    """role: system, user, assistant or tool; parts: content as a list of parts."""

    role: str
    text: str | None = ""
    parts: bool = False
    calls: list[Call] = field(default_factory=list)
    spacing: tuple[str, str] = (", ", ": ")  # of echoed arguments, where they are text


@dataclass
class Reply:
    text: str
    reasoning: str
    calls: list[Call]
    finish: str
    prompt_tokens: int
    raw: dict


def content(turn: Turn, kind: str = "text"):
    if not turn.parts:
        return turn.text
    half = len(turn.text) // 2
    return [{"type": kind, "text": turn.text[:half]}, {"type": kind, "text": turn.text[half:]}]


def arguments_text(turn: Turn, call: Call) -> str:
    return json.dumps(call.arguments, separators=turn.spacing)


def openai_message(turn: Turn) -> dict:
    message = {"role": turn.role, "content": content(turn)}
    if turn.role == "tool":
        message["tool_call_id"] = "callx"
    if turn.calls:
        message["tool_calls"] = [{"id": "callx", "type": "function", "function": {
            "name": c.name, "arguments": arguments_text(turn, c)}} for c in turn.calls]
    return message


def ollama_message(turn: Turn) -> dict:
    message = {"role": turn.role, "content": turn.text or "", "images": []}
    if turn.calls:
        message["tool_calls"] = [{"function": {"name": c.name, "arguments": c.arguments}} for c in turn.calls]
    return message


def anthropic_message(turn: Turn) -> dict:
    if turn.role == "tool":
        return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "callx", "content": content(turn)}]}
    if not turn.calls:
        return {"role": turn.role, "content": content(turn)}
    text = [{"type": "text", "text": turn.text}] if turn.text else []
    return {"role": turn.role, "content": text + [{"type": "tool_use", "id": "callx", "name": c.name, "input": c.arguments}
                                                  for c in turn.calls]}


def response_items(turn: Turn) -> list[dict]:
    if turn.role == "tool":
        return [{"type": "function_call_output", "call_id": "callx", "output": content(turn, "input_text")}]
    kind = "output_text" if turn.role == "assistant" else "input_text"
    items = [{"type": "message", "role": turn.role, "content": content(turn, kind)}] if turn.text or not turn.calls else []
    return items + [{"type": "function_call", "call_id": "callx", "name": c.name, "arguments": arguments_text(turn, c)}
                    for c in turn.calls]


def body(door: str, turns: list[Turn], tools=None, limit: int | None = None, **more) -> dict:
    """tools: OpenAI's functions (name, description, parameters)."""
    out: dict = {"model": "m"}
    if door == RESPONSES:
        out["input"] = [item for turn in turns for item in response_items(turn)]
    else:
        shape = {CHAT: openai_message, OLLAMA: ollama_message, MESSAGES: anthropic_message}[door]
        out["messages"] = [shape(turn) for turn in turns]
    if tools is not None:
        out["tools"] = [{
            CHAT: {"type": "function", "function": tool}, OLLAMA: {"type": "function", "function": tool},
            RESPONSES: {"type": "function", "strict": False, **tool},
            MESSAGES: {"name": tool["name"], "description": tool.get("description", ""),
                       "input_schema": tool.get("parameters", {"type": "object"})},
        }[door] for tool in tools]
    if door == MESSAGES:
        out["max_tokens"] = limit or 2000
    elif limit is not None:
        out |= {CHAT: {"max_tokens": limit}, RESPONSES: {"max_output_tokens": limit}, OLLAMA: {"options": {"num_predict": limit}}}[door]
    if door == OLLAMA:
        out["stream"] = False
    return out | more


def read(door: str, raw: dict) -> Reply:
    if door == CHAT:
        choice = raw["choices"][0]
        message = choice["message"]
        calls = [Call(c["function"]["name"], json.loads(c["function"]["arguments"])) for c in message.get("tool_calls") or []]
        return Reply(message["content"] or "", message.get("reasoning_content") or "", calls, choice["finish_reason"],
                     raw["usage"]["prompt_tokens"], raw)
    if door == RESPONSES:
        output = raw["output"]
        text = "".join(p["text"] for item in output if item["type"] == "message" for p in item["content"])
        reasoning = "".join(p["text"] for item in output if item["type"] == "reasoning" for p in item["summary"])
        calls = [Call(i["name"], json.loads(i["arguments"])) for i in output if i["type"] == "function_call"]
        return Reply(text, reasoning, calls, raw["status"], raw["usage"]["input_tokens"], raw)
    if door == MESSAGES:
        blocks, usage = raw["content"], raw["usage"]
        return Reply("".join(b["text"] for b in blocks if b["type"] == "text"),
                     "".join(b["thinking"] for b in blocks if b["type"] == "thinking"),
                     [Call(b["name"], b["input"]) for b in blocks if b["type"] == "tool_use"], raw["stop_reason"],
                     usage["input_tokens"] + usage["cache_read_input_tokens"] + usage["cache_creation_input_tokens"], raw)
    message = raw["message"]
    calls = [Call(c["function"]["name"], c["function"]["arguments"]) for c in message.get("tool_calls", [])]
    return Reply(message["content"], message.get("thinking", ""), calls, raw["done_reason"], raw["prompt_eval_count"], raw)


def ask(server, door: str, turns: list[Turn] | str, *, headers=None, query: str = "", **fields) -> Reply:
    turns = [Turn("user", turns)] if isinstance(turns, str) else turns
    answer = httpx.post(server.url + door + query, json=body(door, turns, **fields), headers=headers, timeout=60)
    assert answer.status_code == 200, answer.text
    return read(door, answer.json())
