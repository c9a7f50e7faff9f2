"""/v1/responses through the official client: every event is held against the package's own types."""

import json
import threading

import httpx
import openai
import pytest
from conftest import call_text
from openai.types.responses import Response, ResponseItemList, ResponseStreamEvent
from pydantic import TypeAdapter

EVENT = TypeAdapter(ResponseStreamEvent)
RESPONSE = TypeAdapter(Response)

WEATHER = {"type": "function", "name": "get_weather", "description": "The weather in a city, now.", "strict": False,
           "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}
PATCH = {"type": "custom", "name": "apply_patch", "description": "Edits files.",
         "format": {"type": "grammar", "syntax": "lark", "definition": "start: \"*** Begin Patch\" /(.|\\n)+/"}}
AGENTS = {"type": "namespace", "name": "multi_agent", "description": "Agents.", "tools": [
    {"type": "function", "name": "spawn", "strict": False, "parameters": {
        "type": "object", "properties": {"task": {"type": "string"}}, "required": ["task"]}}]}
SEARCH = {"type": "tool_search", "execution": "client", "description": "Finds tools.",
          "parameters": {"type": "object", "properties": {"query": {"type": "string"}}}}


def create(server, input="go", **fields):
    return server.client.responses.create(model="m", input=input, **fields)


def raw_events(server, body):
    """The stream as it is on the wire: (event name, data) in order."""
    with httpx.stream("POST", server.url + "/v1/responses", json={"model": "m", "stream": True, **body}, timeout=60) as reply:
        assert reply.status_code == 200, reply.read()
        assert reply.headers["content-type"].startswith("text/event-stream")
        name, out = None, []
        for line in reply.iter_lines():
            if line.startswith("event: "):
                name = line[7:]
            elif line.startswith("data: "):
                out.append((name, line[6:]))
                name = None
    return out


class Items:
    """What a strict client makes of the events: items by their index, each opened, filled and closed once."""

    def __init__(self):
        self.done, self.open, self.deltas = [], None, {}

    def see(self, event):
        kind = event.type.removeprefix("response.")
        if kind == "output_item.added":
            assert self.open is None and event.output_index == len(self.done)
            self.open, self.deltas = event.item, {}
        elif kind == "output_item.done":
            assert event.output_index == len(self.done) and event.item.id == self.open.id and event.item.type == self.open.type
            self.done.append(event.item)
            self.open = None
        elif hasattr(event, "item_id"):
            assert event.item_id == self.open.id and event.output_index == len(self.done)
            index = getattr(event, "content_index", getattr(event, "summary_index", None))
            assert index in (0, None)
            if kind.endswith(".delta"):
                name = kind.removesuffix(".delta")
                self.deltas[name] = self.deltas.get(name, "") + event.delta
            elif kind.endswith(".done") and "part" not in kind:
                whole = next(getattr(event, key) for key in ("text", "arguments", "input") if hasattr(event, key))
                assert self.deltas.get(kind.removesuffix(".done"), "") == whole


def streamed(server, input="go", **fields):
    """Streams a reply, checks all that holds for every stream, and returns the final response and the event types."""
    events = raw_events(server, {"input": input, **fields})
    items, types = Items(), []
    for number, (name, data) in enumerate(events):
        event = EVENT.validate_json(data, strict=True)
        assert json.loads(data)["sequence_number"] == number and name == event.type
        types.append(event.type)
        items.see(event)
        last = event
    assert types[:2] == ["response.created", "response.in_progress"]
    terminal = {"response.completed", "response.incomplete", "response.failed"}
    assert [t for t in types if t in terminal] == [types[-1]]
    final = last.response
    assert final.output == items.done and items.open is None
    first = EVENT.validate_json(events[0][1]).response
    assert first.id == final.id and first.status == "in_progress" and first.output == []
    return final, types


def whole(server, input="go", **fields):
    reply = httpx.post(server.url + "/v1/responses", json={"model": "m", "input": input, **fields}, timeout=60)
    assert reply.status_code == 200, reply.text
    return RESPONSE.validate_json(reply.content, strict=True)


def reply_of(server, stream, input="go", **fields):
    return streamed(server, input, **fields)[0] if stream else whole(server, input, **fields)


BOTH = pytest.mark.parametrize("stream", [False, True])


@BOTH
def test_text(serve, stream):
    server = serve([{"text": "Hello there."}])
    reply = reply_of(server, stream, instructions="Be brief.", metadata={"a": "b"}, temperature=0.5, user="u")
    assert reply.object == "response" and reply.model == "m" and reply.status == "completed" and reply.error is None
    assert reply.output_text == "Hello there." and reply.incomplete_details is None
    message = reply.output[0]
    assert (message.type, message.role, message.status) == ("message", "assistant", "completed")
    assert message.content[0].annotations == []
    assert (reply.instructions, reply.metadata, reply.temperature, reply.user) == ("Be brief.", {"a": "b"}, 0.5, "u")
    usage = reply.usage
    assert usage.total_tokens == usage.input_tokens + usage.output_tokens
    assert usage.output_tokens >= len("Hello there.") and usage.output_tokens_details.reasoning_tokens == 0
    assert reply.text.format.type == "text" and reply.truncation == "disabled" and reply.parallel_tool_calls is True


def test_official_stream_helper(serve):
    server = serve([{"text": "<think>hm</think>Hello there." + call_text("get_weather", city="Göteborg")}])
    with server.client.responses.stream(model="m", input="go", tools=[WEATHER]) as stream:
        text = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
        final = stream.get_final_response()
    assert text == final.output_text == "Hello there."
    assert [item.type for item in final.output] == ["reasoning", "message", "function_call"]
    assert json.loads(final.output[2].arguments) == {"city": "Göteborg"}


@BOTH
def test_reasoning_text_and_two_calls(serve, stream):
    server = serve([{"text": "<think>Two cities.</think>I look." + call_text("get_weather", city="Lund") +
                     call_text("get_weather", city="Malmö")}])
    reply = reply_of(server, stream, tools=[WEATHER], reasoning={"summary": "auto"},
                     include=["reasoning.encrypted_content"])
    reasoning, message, first, second = reply.output
    assert reasoning.summary[0].text == "Two cities." and reasoning.encrypted_content
    assert message.content[0].text == "I look."
    assert [json.loads(c.arguments)["city"] for c in (first, second)] == ["Lund", "Malmö"]
    assert first.arguments == '{"city":"Lund"}', "compact, so that the echo is the same text"
    assert (first.name, first.status) == ("get_weather", "completed") and first.namespace is None
    ids = [reasoning.id, message.id, first.id, second.id, first.call_id, second.call_id]
    assert len(set(ids)) == len(ids)
    details = reply.usage.output_tokens_details
    assert len("Two cities.") <= details.reasoning_tokens <= len("Two cities.") + 2 < reply.usage.output_tokens


def test_event_order(serve):
    server = serve([{"text": "<think>a</think>b" + call_text("get_weather", city="c"), "when": "go"}])
    _, types = streamed(server, tools=[WEATHER])
    seen = [t.removeprefix("response.") for t in types]
    assert seen == [
        "created", "in_progress",
        "output_item.added", "reasoning_summary_part.added", "reasoning_summary_text.delta",
        "reasoning_summary_text.done", "reasoning_summary_part.done", "output_item.done",
        "output_item.added", "content_part.added", "output_text.delta", "output_text.done", "content_part.done",
        "output_item.done",
        "output_item.added", "function_call_arguments.delta", "function_call_arguments.done", "output_item.done",
        "completed"]


@BOTH
def test_call_without_arguments_has_an_object(serve, stream):
    server = serve([{"text": '<tool_call>{"name": "get_weather"}</tool_call>'}])
    assert reply_of(server, stream, tools=[WEATHER]).output[0].arguments == "{}"


@BOTH
def test_limit_is_incomplete(serve, stream):
    server = serve([{"text": call_text("get_weather", city="x" * 200)}])
    reply = reply_of(server, stream, tools=[WEATHER], max_output_tokens=30)
    assert reply.status == "incomplete" and reply.incomplete_details.reason == "max_output_tokens"
    assert [item.type for item in reply.output] == ["message"], "a call that was cut does not leave as one"
    assert reply.output[0].status == "incomplete" and reply.usage.output_tokens == 30


@BOTH
def test_custom_tool(serve, stream):
    patch = "*** Begin Patch\n+ \"quoted\"\n*** End Patch\n"
    server = serve([{"text": call_text("apply_patch", input=patch)}])
    reply = reply_of(server, stream, tools=[PATCH])
    call = reply.output[0]
    assert (call.type, call.name, call.input) == ("custom_tool_call", "apply_patch", patch) and call.call_id


@BOTH
@pytest.mark.parametrize("spelling", ["multi_agent__spawn", "multi_agent.spawn", "spawn"])
def test_namespace(serve, stream, spelling):
    server = serve([{"text": call_text(spelling, task="x")}])
    call = reply_of(server, stream, tools=[AGENTS]).output[0]
    assert (call.type, call.namespace, call.name) == ("function_call", "multi_agent", "spawn")


def test_hosted_tools_are_left_out_with_a_warning(serve):
    server = serve([{"text": call_text("get_weather", city="x")}, {"text": "b"}])
    hosted = [{"type": "web_search", "external_web_access": True}, {"type": "file_search", "vector_store_ids": ["v"]},
              {"type": "image_generation"}, {"type": "code_interpreter", "container": {"type": "auto"}}]
    reply = create(server, tools=[*hosted, WEATHER])
    assert reply.output[0].name == "get_weather"
    warnings = reply.model_extra["warnings"]
    assert len(warnings) == 4 and "web_search" in warnings[0] and "tools[0]" in warnings[0]
    # The model is told of the function only.
    alone = create(server, tools=[WEATHER])
    assert alone.usage.input_tokens == reply.usage.input_tokens


def test_deferred_tools_wait_for_the_search(serve):
    server = serve([{"text": call_text("tool_search", query="weather")}, {"text": call_text("get_weather", city="Lund")},
                    {"text": "a"}])
    tools = [SEARCH, {**WEATHER, "defer_loading": True}]
    first = create(server, tools=tools)
    search = first.output[0]
    assert (search.type, search.execution, search.arguments) == ("tool_search_call", "client", {"query": "weather"})
    found = {"type": "tool_search_output", "call_id": search.call_id, "execution": "client", "status": "completed",
             "tools": [{**WEATHER, "defer_loading": True}]}
    items = [{"role": "user", "content": "go"}, search.model_dump(exclude_none=True), found]
    second = create(server, items, tools=tools)
    assert second.output[0].type == "function_call" and second.output[0].name == "get_weather"
    # The front of the prompt is what it was: all of the first turn's prompt is found again.
    assert second.usage.input_tokens_details.cached_tokens >= first.usage.input_tokens - 32
    shown = create(server, tools=[SEARCH, WEATHER])
    assert first.usage.input_tokens < shown.usage.input_tokens


def test_turns_by_replay(serve):
    """The output goes back unchanged, five rounds with calls: each finds what the last one left."""
    lines = [{"text": f"<think>round {i}</think>Step {i}." + call_text("get_weather", city=f"c{i}")} for i in range(5)]
    server = serve([*lines, {"text": "Done."}])
    items, cached = [{"role": "user", "content": "go"}], -1
    for i in range(5):
        reply = create(server, items, tools=[WEATHER], store=False, include=["reasoning.encrypted_content"])
        assert reply.usage.input_tokens_details.cached_tokens > cached
        cached = reply.usage.input_tokens_details.cached_tokens
        items += [item.model_dump(exclude_unset=True) for item in reply.output]
        items.append({"type": "function_call_output", "call_id": reply.output[-1].call_id, "output": f"sunny {i}"})
    last = create(server, items, tools=[WEATHER])
    assert last.output_text == "Done."


def test_previous_response(serve):
    server = serve([{"text": "one"}, {"text": "two", "when": "and"}, {"text": "three"}])
    first = create(server, "begin", instructions="Rule.")
    second = create(server, "and then", previous_response_id=first.id)
    assert second.previous_response_id == first.id and second.output_text == "two"
    replayed = create(server, [{"role": "user", "content": "begin"}, {"role": "assistant", "content": "one"},
                               {"role": "user", "content": "and then"}])
    assert replayed.usage.input_tokens == second.usage.input_tokens, "instructions are not carried over"
    third = create(server, [{"type": "item_reference", "id": second.output[0].id}, {"role": "user", "content": "x"}])
    assert third.status == "completed"


@pytest.mark.parametrize("body", [{"previous_response_id": "resp_none"},
                                  {"input": [{"type": "item_reference", "id": "msg_none"}]}])
def test_what_is_not_stored_is_a_404(echo, body):
    with pytest.raises(openai.NotFoundError) as caught:
        create(echo, **{"input": "x", **body})
    assert "none" in caught.value.body["message"] and caught.value.body["param"].split("[")[0] == next(iter(body))


def test_store(serve):
    server = serve([{"text": "one"}])
    client = server.client
    kept = create(server, "begin")
    assert client.responses.retrieve(kept.id) == kept
    items = client.responses.input_items.list(kept.id)
    TypeAdapter(ResponseItemList).validate_python(
        {"object": "list", "data": [i.model_dump() for i in items.data], "first_id": "a", "last_id": "a", "has_more": False})
    assert [i.content[0].text for i in items.data] == ["begin"] and items.data[0].role == "user"
    client.responses.delete(kept.id)
    for call in (client.responses.retrieve, client.responses.delete, client.responses.input_items.list):
        with pytest.raises(openai.NotFoundError):
            call(kept.id)
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(create(server, "x", store=False).id)
    with pytest.raises(openai.BadRequestError):
        client.responses.cancel(create(server, "x").id)


def test_streamed_replies_are_stored(serve):
    server = serve([{"text": "one"}])
    final, _ = streamed(server)
    assert server.client.responses.retrieve(final.id).output_text == "one"


def test_a_stored_reply_is_streamed_again(serve):
    text = "<think>Two cities.</think>I look." + call_text("get_weather", city="Lund") + call_text("apply_patch", input="*** x")
    server = serve([{"text": text, "when": "go"}, {"text": "short", "when": "whole"}])
    sent = raw_events(server, {"input": "go", "tools": [WEATHER, PATCH], "include": ["reasoning.encrypted_content"]})
    made = json.loads(sent[-1][1])["response"]["id"]

    def again(response_id, **query):
        reply = httpx.get(f"{server.url}/v1/responses/{response_id}", params={"stream": "true", **query}, timeout=60)
        assert reply.headers["content-type"].startswith("text/event-stream")
        lines = reply.text.split("\n")
        return list(zip([x[7:] for x in lines if x.startswith("event: ")], [x[6:] for x in lines if x.startswith("data: ")]))

    assert again(made) == sent
    assert again(made, starting_after=7) == sent[8:]
    assert again(made, starting_after=len(sent) + 5) == []
    whole_one = create(server, "whole")
    types = [EVENT.validate_json(data, strict=True).type for _, data in again(whole_one.id)]
    assert types[0] == "response.created" and types[-1] == "response.completed"
    assert [e.type for e in server.client.responses.retrieve(whole_one.id, stream=True)] == types
    assert httpx.get(f"{server.url}/v1/responses/{made}", params={"stream": "maybe"}).status_code == 400


def test_input_items_come_in_pages(serve):
    server = serve([{"text": "one"}])
    kept = create(server, [{"role": "user", "content": f"item {i}"} for i in range(5)])

    def texts(**query):
        return [item.content[0].text for item in server.client.responses.input_items.list(kept.id, **query)]

    assert texts() == texts(limit=2) == [f"item {i}" for i in (4, 3, 2, 1, 0)], "the client asks for page after page"
    assert texts(limit=3, order="asc") == [f"item {i}" for i in range(5)]
    page = server.client.responses.input_items.list(kept.id, limit=2, order="asc")
    assert page.has_more and page.first_id == page.data[0].id and page.last_id == page.data[1].id
    assert texts(order="asc", after=page.last_id) == ["item 2", "item 3", "item 4"]
    for query in ({"limit": 0}, {"limit": 101}, {"order": "up"}, {"after": "msg_none"}):
        with pytest.raises(openai.BadRequestError) as caught:
            texts(**query)
        assert caught.value.body["param"] == next(iter(query))


def test_input_tokens(serve):
    server = serve([{"text": "one"}])
    count = server.client.responses.input_tokens.count(model="m", input="go", instructions="Rule.", tools=[WEATHER])
    assert count.input_tokens == create(server, instructions="Rule.", tools=[WEATHER]).usage.input_tokens


CODEX = [
    {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "You are a coding agent."}]},
    {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "<a>"}, {"type": "input_text", "text": "<b>"}]},
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "<environment_context>"}]},
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "fix it"}]},
    {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}], "content": None,
     "encrypted_content": "gAAAA-of-somebody-else"},
    {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "spawn", "namespace": "multi_agent", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c1", "output": [
        {"type": "input_text", "text": "out"}, {"type": "input_image", "image_url": "data:image/png;base64,AA=="}]},
    {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c2", "name": "apply_patch", "input": "*** Begin", "status": "completed"},
    {"type": "custom_tool_call_output", "call_id": "c2", "output": "ok"},
    {"type": "local_shell_call", "id": "lsh", "call_id": "c3", "status": "completed",
     "action": {"type": "exec", "command": ["ls"], "env": {}}},
    {"type": "function_call_output", "call_id": "c3", "output": "files"},
    {"type": "web_search_call", "id": "ws", "status": "completed", "action": {"type": "search", "query": "q"}},
    {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
     "content": [{"type": "output_text", "text": "Half done.", "annotations": [], "logprobs": []}]},
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go on"}]},
]


@BOTH
def test_what_codex_sends(serve, stream):
    server = serve([{"text": "ok"}])
    reply = reply_of(
        server, stream, CODEX, tools=[WEATHER, AGENTS, PATCH, {"type": "web_search", "external_web_access": False}],
        tool_choice="auto", parallel_tool_calls=True, reasoning={"summary": "auto"}, store=False,
        include=["reasoning.encrypted_content"], prompt_cache_key="key", client_metadata={"a": {"b": "c"}},
        text={"verbosity": "low"})
    assert reply.output_text == "ok" and reply.prompt_cache_key == "key" and reply.store is False


def test_parts_and_strings_are_one_prompt(echo):
    as_string = create(echo, "hello").usage.input_tokens
    for item in ({"role": "user", "content": "hello"},
                 {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]},
                 {"role": "user", "content": [{"type": "input_text", "text": "hel"}, {"type": "input_text", "text": "lo"}]}):
        assert create(echo, [item]).usage.input_tokens == as_string
    assert create(echo, "hello").output_text == "hello"


@pytest.mark.parametrize("input", ["", []])
def test_empty_input_warms_up(serve, input):
    server = serve([{"text": "ab"}])
    assert create(server, input, max_output_tokens=1).status == "incomplete"


@BOTH
def test_one_call_at_most(serve, stream):
    server = serve([{"text": call_text("get_weather", city="A") + call_text("get_weather", city="B") + "tail"}])
    reply = reply_of(server, stream, tools=[WEATHER], parallel_tool_calls=False)
    assert [item.type for item in reply.output] == ["function_call"] and reply.status == "completed"


def test_tool_choice(serve):
    server = serve([{"text": "x"}])
    both = [WEATHER, {**WEATHER, "name": "other"}]
    one = create(server, tools=[WEATHER]).usage.input_tokens
    allowed = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "get_weather"}]}
    assert create(server, tools=both, tool_choice=allowed).usage.input_tokens == one
    assert create(server, tools=both, tool_choice="none").usage.input_tokens == create(server).usage.input_tokens
    for choice in ({"type": "function", "name": "nope"}, "required"):
        with pytest.raises(openai.BadRequestError) as caught:
            create(server, tools=[WEATHER] if choice != "required" else [], tool_choice=choice)
        assert caught.value.body["param"] == "tool_choice"


def test_logprobs(serve):
    server = serve([{"text": "<think>x</think>ab"}])
    reply = reply_of(server, True, include=["message.output_text.logprobs"], top_logprobs=2)
    entries = reply.output[1].content[0].logprobs
    assert [e.token for e in entries] == ["a", "b"] and [e.bytes for e in entries] == [[97], [98]]
    assert all(e.logprob <= 0 and e.top_logprobs[0].token == e.token for e in entries)


@pytest.mark.parametrize("fields, param", [
    ({"input": None}, "input"), ({"input": 5}, "input"), ({"input": [5]}, "input[0]"),
    ({"input": [{"role": "robot", "content": "x"}]}, "input[0].role"),
    ({"input": [{"type": "massage", "content": "x"}]}, "input[0].type"),
    ({"input": [{"role": "user", "content": [{"type": "inptu_text", "text": "x"}]}]}, "input[0].content[0].type"),
    ({"input": [{"type": "function_call", "arguments": "{}"}]}, "input[0].name"),
    ({"temperature": 200}, "temperature"), ({"top_p": 2}, "top_p"), ({"max_output_tokens": 0}, "max_output_tokens"),
    ({"top_logprobs": 21}, "top_logprobs"), ({"truncation": "middle"}, "truncation"), ({"metadata": {"a": 1}}, "metadata"),
    ({"include": "x"}, "include"), ({"reasoning": {"effort": "colossal"}}, "reasoning.effort"),
    ({"tools": {}}, "tools"), ({"tools": [{"type": "function"}]}, "tools[0].name"), ({"store": "yes"}, "store"),
    ({"text": {"format": {"type": "yaml"}}}, "text.format.type"),
])
def test_wrong_values_are_named(echo, fields, param):
    reply = httpx.post(echo.url + "/v1/responses", json={"model": "m", "input": "x", **fields})
    error = reply.json()["error"]
    assert reply.status_code == 400 and error["param"] == param and error["type"] == "invalid_request_error", error
    assert "expected" in error["message"]


@pytest.mark.parametrize("fields", [{"background": True}, {"conversation": "c"}, {"prompt": {"id": "p"}},
                                    {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "data:,"}]}]}])
def test_what_is_not_there_says_so(echo, fields):
    reply = httpx.post(echo.url + "/v1/responses", json={"model": "m", "input": "x", **fields})
    assert reply.status_code == 501 and next(iter(fields)) in reply.json()["error"]["param"]


def test_context_overflow(serve):
    server = serve([{"text": "short"}], "--max-length", 400)
    long = [{"role": "user", "content": "x" * 200}, {"role": "assistant", "content": "y" * 200}, {"role": "user", "content": "z" * 50}]
    with pytest.raises(openai.BadRequestError) as caught:
        create(server, long)
    assert caught.value.code == "context_length_exceeded"
    assert "maximum context length is 400 tokens" in caught.value.body["message"]
    cut = create(server, long, truncation="auto")
    assert cut.output_text == "short" and cut.usage.input_tokens < 400
    assert "oldest 1 of 3" in cut.model_extra["warnings"][0]
    with pytest.raises(openai.BadRequestError):
        create(server, "x" * 500, truncation="auto")


def test_failure_before_the_end_is_a_cut(serve):
    """A clean end, or an error event, would be taken for the reply; a cut is tried again."""
    server = serve([{"text": "half a rep", "finish": "error"}])
    with pytest.raises((httpx.RemoteProtocolError, httpx.ReadError)):
        raw_events(server, {"input": "go"})
    assert httpx.post(server.url + "/v1/responses", json={"model": "m", "input": "go"}).status_code == 500


def test_many_at_once(serve):
    server = serve([{"text": "<think>t</think>text" + call_text("get_weather", city="x"), "delay_ms": 1}])
    failures = []

    def one():
        try:
            streamed(server, tools=[WEATHER])
        except BaseException as error:  # noqa: BLE001 - told below
            failures.append(error)

    threads = [threading.Thread(target=one) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
