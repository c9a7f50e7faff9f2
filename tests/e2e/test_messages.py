"""The Anthropic door through the official client, every response and event held to the SDK's own types."""

import concurrent.futures
import json

import anthropic
import httpx
import pytest
from conftest import Server, call_text, model_path
from pydantic import BaseModel

USER = [{"role": "user", "content": "go"}]
LS = {"name": "ls", "description": "List a folder.",
      "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}}
CLOCK = {"name": "clock", "input_schema": {"type": "object", "properties": {}}}
THINK = {"thinking": {"type": "adaptive"}}
PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}


def client_of(server) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=server.url, api_key="any", max_retries=0, timeout=60,
                               _strict_response_validation=True)


def extras(value, path="") -> list[str]:
    """Fields that the SDK does not know, anywhere inside."""
    if isinstance(value, BaseModel):
        found = [f"{path}.{key}" for key in value.model_extra or {}]
        return found + [x for key in type(value).model_fields for x in extras(getattr(value, key), f"{path}.{key}")]
    if isinstance(value, list):
        return [x for i, item in enumerate(value) for x in extras(item, f"{path}[{i}]")]
    return []


def ask(server, messages=USER, **fields) -> anthropic.types.Message:
    message = client_of(server).messages.create(model="m", messages=messages, **{"max_tokens": 1000, **fields})
    assert extras(message) == []
    return message


def stream(server, messages=USER, **fields):
    """All raw events, checked for their order, and the message that the SDK makes of them."""
    fields = {"max_tokens": 1000, **fields}
    events = list(client_of(server).messages.create(model="m", messages=messages, stream=True, **fields))
    assert [x for e in events for x in extras(e)] == []
    types = [e.type for e in events]
    assert types[0] == "message_start" and types[-2:] == ["message_delta", "message_stop"]
    assert types.count("message_start") == types.count("message_delta") == 1
    open_block = None
    n_blocks = 0
    for event in events[1:-2]:
        if event.type == "content_block_start":
            assert open_block is None and event.index == n_blocks
            open_block = event.index
        else:
            assert event.index == open_block
        if event.type == "content_block_stop":
            open_block = None
            n_blocks += 1
    assert open_block is None
    return events


def whole(server, streamed, messages=USER, **fields) -> anthropic.types.Message:
    """The message, streamed or not."""
    if not streamed:
        return ask(server, messages, **fields)
    stream(server, messages, **fields)  # the order; the last line of a script plays again
    with client_of(server).messages.stream(model="m", messages=messages, **{"max_tokens": 1000, **fields}) as events:
        return events.get_final_message()


both = pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])


@both
def test_text(serve, streamed):
    server = serve([{"text": "Hello there."}])
    message = whole(server, streamed)
    assert message.id.startswith("msg_") and message.role == "assistant" and message.model == "m"
    assert [(b.type, b.text) for b in message.content] == [("text", "Hello there.")]
    assert (message.stop_reason, message.stop_sequence) == ("end_turn", None)
    assert message.usage.output_tokens >= len("Hello there.")


@both
def test_calls_between_texts(serve, streamed):
    server = serve([{"text": "<think>hm</think>I look.\n" + call_text("ls", path="Å/ä") + "\n" + call_text("clock")}])
    message = whole(server, streamed, tools=[LS, CLOCK], **THINK)
    assert [b.type for b in message.content] == ["thinking", "text", "tool_use", "tool_use"]
    thinking, text, first, second = message.content
    assert thinking.thinking == "hm" and thinking.signature and text.text == "I look."
    assert (first.name, first.input) == ("ls", {"path": "Å/ä"}) and (second.name, second.input) == ("clock", {})
    assert first.id != second.id and first.id.startswith("toolu_")
    assert message.stop_reason == "tool_use"


def test_arguments_are_compact_and_whole(serve):
    server = serve([{"text": call_text("ls", path="a")}, {"text": '<tool_call>{"name": "clock"}</tool_call>'}])
    for expected in ('{"path":"a"}', "{}"):
        events = stream(server, tools=[LS, CLOCK])
        deltas = [e.delta.partial_json for e in events if e.type == "content_block_delta"]
        assert "".join(deltas) == expected
        assert [e.content_block.input for e in events if e.type == "content_block_start"] == [{}]


@both
@pytest.mark.parametrize("line, fields, expected", [
    ({"text": "x"}, {}, ("end_turn", None)),
    ({"text": "a<END>b"}, {"stop_sequences": ["nope", "<END>"]}, ("stop_sequence", "<END>")),
    ({"text": "abcdefgh"}, {"max_tokens": 3}, ("max_tokens", None)),
    ({"text": call_text("ls", path="x" * 200)}, {"max_tokens": 40, "tools": [LS]}, ("max_tokens", None)),
    ({"text": call_text("clock") + "END"}, {"tools": [CLOCK], "stop_sequences": ["END"]}, ("tool_use", None)),
], ids=["end", "stop", "limit", "cut call", "call"])
def test_stop_reasons(serve, streamed, line, fields, expected):
    message = whole(serve([line]), streamed, **fields)
    assert (message.stop_reason, message.stop_sequence) == expected
    if expected[0] == "max_tokens":
        assert all(b.type == "text" for b in message.content), "no half call"
    if expected[0] == "stop_sequence":
        assert message.content[0].text == "a"


@both
@pytest.mark.parametrize("choice", [{"type": "auto", "disable_parallel_tool_use": True}, {"type": "tool", "name": "clock"}])
def test_one_call_at_most(serve, streamed, choice):
    server = serve([{"text": call_text("clock") + call_text("clock") + "tail"}])
    message = whole(server, streamed, tools=[CLOCK], tool_choice=choice)
    assert [b.type for b in message.content] == ["tool_use"] and message.stop_reason == "tool_use"


def test_tool_choice_none_hides_the_tools(serve):
    server = serve([{"text": call_text("clock")}])
    bare = ask(server).usage
    hidden = ask(server, tools=[CLOCK], tool_choice={"type": "none"})
    assert hidden.content[0].type == "text" and hidden.stop_reason == "end_turn"
    assert total(hidden.usage) == total(bare)


def total(usage) -> int:
    return usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens


@both
def test_usage_has_three_disjoint_numbers(serve, streamed):
    server = serve([{"text": "one"}])
    system = "long " * 200
    first = ask(server, system=system).usage
    assert first.cache_read_input_tokens == 0 and first.input_tokens > 1000
    second = whole(server, streamed, [*USER, {"role": "assistant", "content": "one"}, *USER], system=system).usage
    assert total(second) > total(first)
    assert second.cache_read_input_tokens >= total(first) - 40 and second.input_tokens >= 1
    if streamed:
        events = stream(server, system=system)
        start, end = events[0].message.usage, events[-2].usage
        assert (start.input_tokens, start.cache_read_input_tokens) == (end.input_tokens, end.cache_read_input_tokens)


def test_count_is_what_is_used_later(serve):
    server = serve([{"text": "x"}])
    tool_turn = [{"role": "user", "content": [{"type": "text", "text": "see"}, {"type": "text", "text": " this"}]},
                 {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "s"},
                                                   {"type": "tool_use", "id": "t1", "name": "ls", "input": {"path": "."}}]},
                 {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": [PICTURE]}]}]
    for fields in ({}, {"system": "S"}, {"system": [{"type": "text", "text": "S", "cache_control": {"type": "ephemeral"}}],
                                         "tools": [LS, CLOCK], **THINK},
                   {"messages": tool_turn, "tools": [LS], "thinking": {"type": "enabled", "budget_tokens": 2000}},
                   {"tools": [LS], "tool_choice": {"type": "any"}}):
        messages = fields.pop("messages", USER)
        counted = client_of(server).messages.count_tokens(model="m", messages=messages, **fields)
        assert extras(counted) == []
        assert counted.input_tokens == total(ask(server, messages, **fields).usage)


def test_bursts_of_counts(serve):
    server = serve([])

    def count(i):
        answer = httpx.post(server.url + "/v1/messages/count_tokens?beta=true", timeout=60, json={
            "model": "m", "messages": [{"role": "user", "content": "x" * i}], "tools": [LS]})
        assert answer.status_code == 200, answer.text
        return answer.json()["input_tokens"] - i

    with concurrent.futures.ThreadPoolExecutor(25) as pool:
        assert len(set(pool.map(count, range(1, 26)))) == 1


def test_billing_stamp_does_not_defeat_the_cache(serve):
    server = serve([{"text": "x"}])

    def turn(stamp, as_block):
        line = f"x-anthropic-billing-header: cc_version=9.9.9; cch={stamp};"
        text = "rule " * 1500
        system = ([{"type": "text", "text": line}, {"type": "text", "text": text}] if as_block else f"{line}\n{text}")
        return ask(server, system=system).usage

    first = turn("ab12c", True)
    for stamp, as_block in (("99fff", True), ("00000", False)):
        usage = turn(stamp, as_block)
        assert total(usage) == total(first) and usage.input_tokens <= 64


def test_system_message_in_mid_conversation(serve):
    server = serve([{"text": "x"}])
    head = [*USER, {"role": "assistant", "content": "a"}]
    plain = ask(server, head + USER).usage
    as_text = ask(server, [*head, {"role": "system", "content": "note"}, *USER]).usage
    as_blocks = ask(server, [*head, {"role": "system", "content": [
        {"type": "text", "text": "note", "cache_control": {"type": "ephemeral"}}]}, *USER]).usage
    assert total(plain) < total(as_text) == total(as_blocks)
    assert as_blocks.input_tokens <= 33, "the same tokens"


def test_system_message_where_the_template_takes_one_at_the_head_only(serve, tmp_path):
    strict = tmp_path / "strict.jinja"
    strict.write_text("""{% for m in messages %}{% if m.role == 'system' and not loop.first %}{{ raise_exception('late') }}{% endif %}
        {%- if m.role == 'user' and not loop.first and messages[loop.index0 - 1].role == 'user' %}{{ raise_exception('twice') }}{% endif %}
        {{- m.role }}: {{ m.content }}\n{% endfor %}assistant: """)
    server = serve([{"text": "x"}], "--chat-template-file", strict)
    messages = [*USER, {"role": "system", "content": "a note"}, {"role": "assistant", "content": "a"},
                {"role": "system", "content": "another"}, *USER]
    with_notes = ask(server, messages, system="S")
    without = ask(server, [m for m in messages if m["role"] != "system"], system="S")
    assert total(with_notes.usage) >= total(without.usage) + len("a noteanother"), "nothing is lost"


def test_large_tools_with_odd_schemas(serve):
    server = serve([{"text": call_text("tool_20", path="p")}])
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "additionalProperties": False,
              "properties": {"path": {"type": "string", "pattern": "^(?!x)", "minLength": 1, "default": "."},
                             "n": {"type": "integer", "exclusiveMinimum": 0, "maximum": 9}, "list": {"type": "array", "maxItems": 3}}}
    tools = [{"name": f"tool_{i}", "description": "word " * 500, "input_schema": schema} for i in range(21)]
    # A byte is a token here, so this context holds less than a tenth of what a model's does.
    with pytest.raises(anthropic.BadRequestError, match="prompt is too long"):
        ask(server, tools=tools)
    message = ask(server, tools=[{**tool, "description": "word"} for tool in tools])
    assert message.content[0].name == "tool_20" and message.content[0].input == {"path": "p"}


@both
def test_reply_goes_on_from_a_prefill(serve, streamed):
    server = serve([{"text": "42)"}])
    message = whole(server, streamed, [*USER, {"role": "assistant", "content": "The answer is ("}])
    assert message.content[0].text == "42)"


@both
def test_hidden_thinking_comes_back_with_its_signature(serve, streamed):
    server = serve([{"text": "<think>the plan</think>" + call_text("clock")}])
    hidden = {"thinking": {"type": "adaptive", "display": "omitted"}, "tools": [CLOCK]}
    shown = {"thinking": {"type": "adaptive"}, "tools": [CLOCK]}
    totals = []
    for fields in (hidden, shown):
        message = whole(server, streamed, **fields)
        assert message.content[0].thinking == ("" if fields is hidden else "the plan")
        result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": message.content[1].id, "content": "12"}]}
        totals.append(client_of(server).messages.count_tokens(
            model="m", messages=[*USER, message.to_param(), result], **fields).input_tokens)
    assert totals[0] == totals[1], "the next prompt is the same"


def test_agent_loop_with_every_kind_of_result(serve):
    server = serve([{"text": call_text("ls", path=".")}, {"text": "done", "when": "no such"}])
    messages = list(USER)
    message = ask(server, messages, tools=[LS], **THINK)
    messages.append(message.to_param())
    messages.append({"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": message.content[0].id, "is_error": True,
         "content": [{"type": "text", "text": "no such folder"}, PICTURE], "cache_control": {"type": "ephemeral"}}]})
    assert ask(server, messages, tools=[LS], **THINK).content[0].text == "done"


def test_pictures_in_the_newest_message_are_refused(serve):
    with pytest.raises(anthropic.InternalServerError) as refused:
        ask(serve([]), [{"role": "user", "content": [PICTURE]}])
    assert refused.value.status_code == 501 and "takes text only" in refused.value.message
    assert refused.value.response.headers["x-should-retry"] == "false"


def test_server_tools_are_skipped_with_a_warning(serve):
    server = serve([{"text": call_text("clock")}])
    answer = client_of(server).messages.with_raw_response.create(
        model="m", max_tokens=10000, messages=USER, tools=[{"type": "web_search_20250305", "name": "web_search"}, CLOCK])
    assert "web_search_20250305" in answer.headers["x-tempo9-warning"]
    assert answer.parse().content[0].name == "clock"


def test_deferred_tools_keep_the_prefix(serve):
    later = {**LS, "name": "later", "defer_loading": True}
    server = serve([{"text": "x"}, {"text": call_text("later", path="p")}])
    system = "long " * 200
    before = ask(server, system=system, tools=[CLOCK]).usage
    history = [*USER, {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "clock", "input": {}}]},
               {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": [
                   {"type": "tool_reference", "tool_name": "later"}]}]}]
    message = ask(server, history, system=system, tools=[CLOCK, later])
    assert message.usage.cache_read_input_tokens >= total(before) - 64
    assert message.content[0].name == "later", "a call of a deferred tool is a call"


@pytest.mark.parametrize("fields, status, error, words", [
    ({"messages": []}, 400, "invalid_request_error", "messages: "),
    ({"messages": [{"role": "robot", "content": "x"}]}, 400, "invalid_request_error", "messages[0].role: "),
    ({"temperature": 1.5}, 400, "invalid_request_error", "temperature: "),
    ({"top_p": 7}, 400, "invalid_request_error", "top_p"),
    ({"stop_sequences": [1]}, 400, "invalid_request_error", "stop_sequences[0]: "),
    ({"tools": [{"name": "x"}]}, 400, "invalid_request_error", "tools[0].input_schema: "),
    ({"tool_choice": {"type": "tool", "name": "x"}}, 400, "invalid_request_error", "tool_choice: "),
    ({"messages": [{"role": "user", "content": "x" * 40000}]}, 400, "invalid_request_error", "prompt is too long: "),
])
def test_errors_in_the_dialects_shape(echo, fields, status, error, words):
    for stream_too in (False, True):
        answer = httpx.post(echo.url + "/v1/messages?beta=true",
                            json={"model": "m", "max_tokens": 10, "messages": USER, "stream": stream_too, **fields})
        body = answer.json()
        assert (answer.status_code, body["type"], body["error"]["type"]) == (status, "error", error)
        assert body["error"]["message"].startswith(words)


def test_other_errors_in_the_dialects_shape(echo):
    for answer in (httpx.post(echo.url + "/v1/messages", content=b"{"), httpx.get(echo.url + "/v1/messages"),
                   httpx.post(echo.url + "/v1/messages/batches", json={}),
                   httpx.post(echo.url + "/v1/messages", content=b"\xff")):
        assert answer.json()["type"] == "error" and answer.json()["error"]["message"]


def test_overflow_words(echo):
    with pytest.raises(anthropic.BadRequestError, match=r"prompt is too long: \d+ tokens > 32768 maximum"):
        ask(echo, [{"role": "user", "content": "x" * 40000}])


def test_max_tokens_is_clamped(echo):
    message = ask(echo, [{"role": "user", "content": "x" * 20000}], max_tokens=32000)
    assert message.usage.output_tokens < 13000 and message.stop_reason == "max_tokens"


def test_models_body_serves_both_sdks(echo):
    models = client_of(echo).models.list(limit=1000).data
    assert [m.id for m in models] == ["script"] and models[0].type == "model"
    assert client_of(echo).models.retrieve("a/b:c").id == "a/b:c"
    assert [m.id for m in echo.client.models.list()] == ["script"]


def test_failure_in_the_stream_cuts_it(serve):
    server = serve([{"text": "abc", "finish": "error"}])
    seen = b""
    with pytest.raises((httpx.RemoteProtocolError, httpx.ReadError)):
        with httpx.stream("POST", server.url + "/v1/messages", json={"messages": USER, "stream": True}) as answer:
            for part in answer.iter_bytes():
                seen += part
    assert b"message_stop" not in seen and b"error" not in seen
    answer = httpx.post(server.url + "/v1/messages", json={"messages": USER})
    assert answer.status_code == 500 and answer.json()["error"]["type"] == "api_error"


def test_any_key_and_unknown_fields_pass(echo):
    for headers in ({}, {"x-api-key": "k"}, {"authorization": "Bearer k"}, {"anthropic-beta": "x" * 1000}):
        answer = httpx.post(echo.url + "/v1/messages?beta=true", headers=headers, json={
            "model": "claude-any", "max_tokens": 5, "messages": USER, "metadata": {"user_id": "{}"}, "container": None,
            "context_management": {"edits": []}, "service_tier": "auto", "new_field": {"x": 1}})
        assert answer.status_code == 200 and answer.json()["model"] == "claude-any"


def test_control_tokens_from_outside_are_text(echo):
    def count(text):
        body = {"system": text, "tools": [{**LS, "description": text}], "messages": [
            {"role": "user", "content": [{"type": "text", "text": text}]},
            {"role": "assistant", "content": [{"type": "thinking", "thinking": text, "signature": ""}, {"type": "text", "text": text},
                                              {"type": "tool_use", "id": text, "name": text, "input": {text: text}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": text, "content": text}]},
            {"role": "system", "content": text}, {"role": "user", "content": text}]}
        answer = httpx.post(echo.url + "/v1/messages/count_tokens", json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()["input_tokens"]

    assert count("<|im_end|>") == count("0123456789")


@pytest.mark.parametrize("messages", [
    [*USER, *USER], [{"role": "assistant", "content": "a"}, *USER], [{"role": "user", "content": ""}],
    [{"role": "user", "content": []}], [*USER, {"role": "assistant", "content": []}, *USER],
    [*USER, {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "ls", "input": {}}]}, *USER],
    [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t"}]}],
    [{"role": "system", "content": "s"}, *USER],
], ids=["two users", "assistant first", "empty", "no blocks", "silent assistant", "no result", "result alone", "system first"])
def test_odd_histories_are_served(echo, messages):
    answer = httpx.post(echo.url + "/v1/messages", json={"max_tokens": 5, "messages": messages})
    assert answer.status_code == 200, answer.text


@pytest.mark.model
def test_a_real_model_answers_and_counts():
    server = Server("--gguf", model_path("qwen"), "--max-length", 4096)
    try:
        question = [{"role": "user", "content": "Name the capital of France. Answer with one word."}]
        greedy = {"extra_body": {"temperature": 0}}  # the SDK has no such argument any more
        message = ask(server, question, max_tokens=16, **greedy)
        assert "Paris" in message.content[0].text and message.stop_reason == "end_turn"
        counted = client_of(server).messages.count_tokens(model="m", messages=question)
        assert counted.input_tokens == total(message.usage)
        events = stream(server, question, max_tokens=16, **greedy)
        assert "".join(e.delta.text for e in events if e.type == "content_block_delta") == message.content[0].text
        forced = ask(server, [{"role": "user", "content": "List the folder /tmp."}], tools=[LS],
                     tool_choice={"type": "tool", "name": "ls"}, max_tokens=60, **greedy)
        assert forced.stop_reason == "tool_use" and "tmp" in json.dumps(forced.content[0].input)
    finally:
        assert server.stop() == 0
