"""What every door owes its clients, through all of them; checklist.md names the test of each line."""

import json
import re
import time
from pathlib import Path

import httpx
import pytest
from conftest import call_text
from doors import CHAT, DOORS, MESSAGES, OLLAMA, RESPONSES, Call, Turn, ask, body

every_door = pytest.mark.parametrize("door", DOORS)
TOOL = {"name": "find", "description": "Finds.", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}
LIMITS = {CHAT: "length", RESPONSES: "incomplete", MESSAGES: "max_tokens", OLLAMA: "length"}
ENDS = {CHAT: "stop", RESPONSES: "completed", MESSAGES: "end_turn", OLLAMA: "stop"}


def test_every_line_names_tests_that_are_there():
    folder = Path(__file__).parent
    rows = [line for line in (folder / "checklist.md").read_text().splitlines() if line.startswith("| ") and "`" in line]
    assert len(rows) >= 60
    sources = [(path.name, path.read_text()) for path in (folder.parents[1] / "src").rglob("*_test.cc")]
    for row in rows:
        names = re.findall(r"`(\w+\.py)::(\w+)`", row)
        suites = re.findall(r"`(\w+\.cc)::(\w+)\.(\w+)`", row)
        assert names or suites, row
        for file, name in names:
            assert re.search(rf"^def {name}\(", (folder / file).read_text(), re.MULTILINE), f"{file}::{name} is not there"
        for file, suite, name in suites:
            is_there = any(re.search(rf"^TEST\w*\({suite}, {name}\)", text, re.MULTILINE) for n, text in sources if n == file)
            assert is_there, f"{file}::{suite}.{name} is not there"


@every_door
@pytest.mark.parametrize("headers", [{}, {"authorization": "Bearer k"}, {"x-api-key": "k", "x-long": "y" * 1000,
                                                                         "traceparent": "00-0-0-00", "anthropic-beta": "z-2031-01-01"}])
def test_any_key_header_query_and_unknown_field(echo, door, headers):
    reply = ask(echo, door, "hello", headers=headers, query="?beta=true&limit=1000&x=%20", metadata={"user_id": "{}"},
                prompt_cache_key="k", client_metadata={"a": {"b": 1}}, context_management={"edits": []}, unknown={"x": [1]})
    assert reply.text == "hello" and reply.finish == ENDS[door]


@every_door
def test_unknown_message_fields(echo, door):
    request = body(door, [Turn("user", "hello")])
    request["input" if door == RESPONSES else "messages"][0] |= {"cache_control": {"type": "ephemeral"}, "unknown": 1}
    assert httpx.post(echo.url + door, json=request).status_code == 200


def many_tools() -> list[dict]:
    """62 KB in 21 tools, with the keywords that clients send and a grammar cannot hold."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "additionalProperties": False,
              "required": ["path"], "properties": {
                  "path": {"type": "string", "pattern": "^(?!x).*$", "minLength": 1, "maxLength": 4096, "default": "."},
                  "n": {"type": "integer", "exclusiveMinimum": 0, "minimum": 0, "maximum": 9007199254740991},
                  "kind": {"type": "string", "enum": ["a", "b"], "default": "a"},
                  "list": {"type": "array", "maxItems": 3, "items": {"type": "object", "additionalProperties": {}}}}}
    return [{"name": f"tool_{i}", "description": "word " * 480, "parameters": schema} for i in range(21)]


@every_door
def test_tools_of_62_kilobytes(serve, door):
    tools = many_tools()
    assert len(json.dumps(tools)) > 60_000
    server = serve([{"text": call_text("tool_20", path="p", n=3)}], "--max-length", 200_000)
    assert ask(server, door, "go", tools=tools).calls == [Call("tool_20", {"path": "p", "n": 3})]


HISTORY = [Turn("system", "Rule."), Turn("user", "begin"), Turn("assistant", "", calls=[Call("find", {"city": "Lund", "n": [1, 2]})]),
           Turn("tool", "sunny"), Turn("user", "go on")]


@every_door
@pytest.mark.parametrize("index, change", [
    (2, {"spacing": (",", ":")}), (2, {"spacing": (" , ", " : ")}), (2, {"text": None}),
    (0, {"parts": True}), (1, {"parts": True}), (3, {"parts": True}),
], ids=["compact", "wide", "null", "system parts", "user parts", "tool parts"])
def test_the_same_meaning_gives_the_same_tokens(echo, door, index, change):
    turns = list(HISTORY)
    turns[index] = Turn(**{**vars(turns[index]), **change})
    first, second = (ask(echo, door, t, tools=[TOOL]) for t in (HISTORY, turns))
    assert first.prompt_tokens == second.prompt_tokens
    # Nothing of the prompt but its last token is new.
    report = httpx.get(echo.url + "/debug/cache").json()["requests"][-1]
    assert report["cached_tokens"] >= second.prompt_tokens - 1


@every_door
def test_a_tail_that_moves(echo, door):
    """A transient message of the client stands at the end of each turn, and not where it was."""
    note = Turn("user", "note " * 40)
    first = [Turn("system", "Rule. " * 100), Turn("user", "begin"), note]
    second = [*first[:2], Turn("assistant", "yes"), Turn("user", "more"), note]
    ask(echo, door, first)
    ask(echo, door, second)
    report = httpx.get(echo.url + "/debug/cache").json()["requests"][-1]
    assert report["cached_tokens"] >= 600, "all up to the note"


@every_door
@pytest.mark.parametrize("limit", [None, 32_000, 1_000_000])
def test_limits_above_what_fits_are_clamped(serve, door, limit):
    server = serve([{"text": "y" * 3000}], "--max-length", 2000)
    reply = ask(server, door, "x" * 1000, limit=limit)
    assert reply.finish == LIMITS[door] and 800 < len(reply.text) < 1000


@every_door
def test_roles_in_any_order(serve, door):
    server = serve([{"text": "ok"}])
    turns = [Turn("system", "A."), Turn("system", "B."), Turn("user", "one"), Turn("user", "two"), Turn("assistant", "three"),
             Turn("system", "note"), Turn("user", "four")]
    assert ask(server, door, turns).text == "ok"
    if door in (CHAT, RESPONSES):
        assert ask(server, door, [Turn("developer", "A."), *turns[2:5], Turn("developer", "note"), turns[6]]).text == "ok"


THINKING = {
    CHAT: [{"reasoning_effort": e} for e in ("low", "high")],
    RESPONSES: [{"reasoning": {"summary": "auto"}}, {"reasoning": {"effort": "high", "summary": "detailed"}}],
    MESSAGES: [{"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": "high"}},
               {"thinking": {"type": "enabled", "budget_tokens": 2000}}, {"thinking": {"type": "enabled", "budget_tokens": 32_000}}],
    OLLAMA: [{"think": True}, {"think": "high"}],
}


@pytest.mark.parametrize("door, fields", [(door, fields) for door, cases in THINKING.items() for fields in cases])
def test_thinking_in_each_doors_words(serve, door, fields):
    reply = ask(serve([{"text": "<think>hm</think>yes"}]), door, "go", **fields)
    assert (reply.reasoning, reply.text) == ("hm", "yes")
    if door == MESSAGES:
        assert reply.raw["content"][0]["signature"]


@every_door
def test_structure_beside_an_empty_list_of_tools(serve, door):
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}
    form = {CHAT: {"response_format": {"type": "json_schema", "json_schema": {"name": "n", "strict": True, "schema": schema}}},
            RESPONSES: {"text": {"format": {"type": "json_schema", "name": "n", "strict": True, "schema": schema}}},
            MESSAGES: {"output_config": {"format": {"type": "json_schema", "schema": schema}}}, OLLAMA: {"format": schema}}[door]
    reply = ask(serve([{"text": '{"n": 5} and more'}]), door, "go", tools=[], **form)
    assert json.loads(reply.text) == {"n": 5}


@every_door
def test_long_replies_that_are_not_streamed(serve, door):
    text = "word " * 40_000
    reply = ask(serve([{"pieces": [text[i:i + 500] for i in range(0, len(text), 500)]}], "--max-length", 300_000), door, "go",
                limit=250_000)
    assert reply.text == text and reply.finish == ENDS[door]


@every_door
@pytest.mark.parametrize("line, calls", [
    ({"text": "yes"}, 0), ({"text": call_text("find", city="x")}, 1), ({"text": call_text("find") + call_text("find")}, 2),
    ({"text": "a" + call_text("find", city="y" * 400), }, "cut"),
], ids=["text", "call", "two", "cut"])
def test_reasons_ids_and_whole_arguments(serve, door, line, calls):
    cut = calls == "cut"
    reply = ask(serve([line]), door, "go", tools=[TOOL], limit=60 if cut else 3000)
    n = 0 if cut else calls
    assert len(reply.calls) == n
    with_calls = {CHAT: "tool_calls", RESPONSES: "completed", MESSAGES: "tool_use", OLLAMA: "stop"}[door]
    assert reply.finish == (LIMITS[door] if cut else with_calls if n else ENDS[door])
    items = {CHAT: lambda r: r["choices"][0]["message"].get("tool_calls") or [], OLLAMA: lambda r: [],
             RESPONSES: lambda r: [i for i in r["output"] if i["type"] == "function_call"],
             MESSAGES: lambda r: [b for b in r["content"] if b["type"] == "tool_use"]}[door](reply.raw)
    ids = [item.get("call_id", item.get("id")) for item in items]
    assert all(ids) and len(set(ids)) == len(ids)


STREAM_END = {CHAT: b"data: [DONE]\n\n", RESPONSES: b"response.completed", MESSAGES: b"message_stop", OLLAMA: b'"done":true'}


@every_door
def test_a_stream_ends_once_or_is_cut(serve, door):
    server = serve([{"text": "whole"}, {"text": "half" + call_text("find", city="x")[:-20], "finish": "error"}])
    request = {**body(door, [Turn("user", "go")], tools=[TOOL]), "stream": True}
    good = httpx.post(server.url + door, json=request).content
    assert good.count(STREAM_END[door]) >= 1 and good.rstrip().rfind(b"\n") <= good.rfind(STREAM_END[door]) + 2
    seen = b""
    with pytest.raises((httpx.RemoteProtocolError, httpx.ReadError)):
        with httpx.stream("POST", server.url + door, json=request) as answer:
            for part in answer.iter_bytes():
                seen += part
    # Half a call's arguments, as text or as an object; Responses repeats the tools, whose schemas name the city.
    for word in (STREAM_END[door], b'"error":{', b'"type":"error"', b"response.failed", b'\\"city', b'"city":"'):
        assert word not in seen, word


@every_door
def test_overload_and_bad_names_in_each_doors_shape(serve, door):
    server = serve([{"text": "x"}], "--max-length", 1000)
    any_name = httpx.post(server.url + door, json={**body(door, [Turn("user", "go")]), "model": "no/such:model"})
    assert any_name.status_code == 200, "never 401 or 404 for a name"
    error = httpx.post(server.url + door, json=body(door, [Turn("user", "x" * 2000)]))
    assert error.status_code == 400
    if door == MESSAGES:
        assert error.json()["type"] == "error"
        assert re.fullmatch(r"prompt is too long: \d+ tokens > \d+ maximum", error.json()["error"]["message"])
    elif door == OLLAMA:
        assert "max context length" in error.json()["error"]
    else:
        assert error.json()["error"]["code"] == "context_length_exceeded"
        assert re.search(r"maximum context length is 1000 tokens.* \d+ tokens", error.json()["error"]["message"])


@every_door
def test_headers_come_before_the_prompt_is_read(serve, door):
    server = serve([{"text": "x", "prefill_ms": 20_000}])
    request = {**body(door, [Turn("user", "go")]), "stream": True}
    start = time.monotonic()
    with httpx.stream("POST", server.url + door, json=request, timeout=15) as answer:
        assert answer.status_code == 200 and time.monotonic() - start < 2


def test_routes_that_clients_try(echo):
    assert httpx.head(echo.url + "/api/hello").status_code in (200, 404)
    assert httpx.get(echo.url + "/v1/models?limit=1000").json()["data"][0]["type"] == "model"
    assert httpx.get(echo.url + "/v1/models/a%2Fb:c").json()["id"] == "a/b:c"
    for name in ("script", "script:latest"):
        for key in ("name", "model"):
            assert httpx.post(echo.url + "/api/show", json={key: name}).status_code == 200
            assert httpx.post(echo.url + "/api/pull", json={key: name, "stream": False}).json()["status"] == "success"
    chat = body(OLLAMA, [Turn("user", "hello")])
    for num_ctx in (2048, 8192, 1_000_000):
        assert httpx.post(echo.url + OLLAMA, json={**chat, "options": {"num_ctx": num_ctx}}).json()["message"]["content"] == "hello"


@every_door
def test_sessions_of_one_folder_share_system_and_tools(serve, door):
    server = serve([{"text": "ok"}])
    system, tools = Turn("system", "rule " * 400), [{**TOOL, "description": "d" * 500}]
    ask(server, door, [system, Turn("user", "first session")], tools=tools)
    ask(server, door, [system, Turn("user", "another one")], tools=tools)
    report = httpx.get(server.url + "/debug/cache").json()["requests"][-1]
    assert report["cached_tokens"] > 2500


@every_door
def test_earlier_thinking_comes_back(serve, door):
    """Echoed thinking, ours or nobody's, signed or not: accepted, and part of the prompt or left out by the template."""
    server = serve([{"text": "ok"}])
    request = body(door, [Turn("user", "go"), Turn("assistant", "yes"), Turn("user", "more")])
    if door == RESPONSES:
        request["input"].insert(1, {"type": "reasoning", "id": "rs_x", "summary": [{"type": "summary_text", "text": "hm"}],
                                    "content": None, "encrypted_content": "of-somebody-else"})
    elif door == MESSAGES:
        request["messages"][1]["content"] = [{"type": "thinking", "thinking": "hm", "signature": ""}, {"type": "text", "text": "yes"}]
    else:
        request["messages"][1]["reasoning_content" if door == CHAT else "thinking"] = "hm"
    assert httpx.post(server.url + door, json=request).status_code == 200
