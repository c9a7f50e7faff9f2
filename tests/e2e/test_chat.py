"""Chat completions through the official client, with scripted replies."""

import base64
import json

import openai
import pytest
from conftest import CLOCK, USER, WEATHER, call_text, text_chunks


def chat(server, messages=USER, **fields):
    return server.client.chat.completions.create(model="m", messages=messages, **fields)


def joined_calls(stream):
    """Streamed tool calls put together as clients do, and the finish reasons seen."""
    calls, finishes = {}, []
    for chunk in stream:
        for choice in chunk.choices:
            for delta in choice.delta.tool_calls or []:
                if delta.index not in calls:
                    calls[delta.index] = {"id": delta.id, "name": delta.function.name, "arguments": ""}
                else:
                    assert delta.id is None and delta.function.name is None, "id and name come once"
                calls[delta.index]["arguments"] += delta.function.arguments or ""
            if choice.finish_reason:
                finishes.append(choice.finish_reason)
    return calls, finishes


def test_plain_reply(serve):
    server = serve([{"text": "Hello there."}])
    reply = chat(server)
    assert reply.object == "chat.completion" and reply.model == "m" and reply.id.startswith("chatcmpl-")
    choice = reply.choices[0]
    assert (choice.message.role, choice.message.content, choice.finish_reason) == ("assistant", "Hello there.", "stop")
    assert choice.message.tool_calls is None and choice.logprobs is None
    usage = reply.usage
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens
    assert usage.completion_tokens >= len("Hello there.") and usage.prompt_tokens > 0
    assert usage.prompt_tokens_details.cached_tokens == 0


def test_streamed_reply(serve):
    server = serve([{"text": "Hello there."}])
    chunks = list(chat(server, stream=True, stream_options={"include_usage": True}))
    assert {c.object for c in chunks} == {"chat.completion.chunk"} and len({c.id for c in chunks}) == 1
    assert chunks[0].choices[0].delta.role == "assistant"
    assert "".join(text_chunks(chunks)) == "Hello there."
    assert [c.choices[0].finish_reason for c in chunks if c.choices and c.choices[0].finish_reason] == ["stop"]
    assert chunks[-1].choices == [] and chunks[-1].usage.completion_tokens >= len("Hello there.")
    assert all(c.usage is None for c in chunks[:-1])


def test_no_usage_unless_asked(serve):
    server = serve([{"text": "x"}])
    assert all(c.usage is None and c.choices for c in chat(server, stream=True))


def test_second_turn_finds_the_prefix(serve):
    server = serve([{"text": "one"}, {"text": "two"}])
    messages = [{"role": "system", "content": "long " * 200}, *USER]
    first = chat(server, messages)
    second = chat(server, [*messages, {"role": "assistant", "content": "one"}, {"role": "user", "content": "more"}])
    assert second.usage.prompt_tokens_details.cached_tokens >= first.usage.prompt_tokens - 32


@pytest.mark.parametrize("stream", [False, True])
def test_tool_calls(serve, stream):
    text = "I will look.\n" + call_text("get_time", zone="CET") + "\n" + call_text("get_weather", city="Göteborg")
    server = serve([{"text": text}])
    reply = chat(server, tools=[WEATHER, CLOCK], tool_choice="auto", stream=stream)
    if stream:
        chunks = list(reply)
        assert "".join(text_chunks(chunks)).strip() == "I will look."
        calls, finishes = joined_calls(chunks)
        assert finishes == ["tool_calls"] and list(calls) == [0, 1]
        calls = list(calls.values())
    else:
        choice = reply.choices[0]
        assert choice.finish_reason == "tool_calls" and choice.message.content.strip() == "I will look."
        assert [c.type for c in choice.message.tool_calls] == ["function"] * 2
        calls = [{"id": c.id, **c.function.model_dump()} for c in choice.message.tool_calls]
    assert [c["name"] for c in calls] == ["get_time", "get_weather"]
    assert [json.loads(c["arguments"]) for c in calls] == [{"zone": "CET"}, {"city": "Göteborg"}]
    assert calls[0]["id"] and calls[0]["id"] != calls[1]["id"]
    # Compact, so that the client's echo of it is the same text.
    assert calls[0]["arguments"] == '{"zone":"CET"}'


def test_call_without_arguments_has_an_object(serve):
    server = serve([{"text": '<tool_call>{"name": "get_time"}</tool_call>'}])
    call = chat(server, tools=[CLOCK]).choices[0].message.tool_calls[0]
    assert call.function.arguments == "{}"


def test_content_is_null_beside_calls_only(serve):
    server = serve([{"text": call_text("get_time")}])
    assert chat(server, tools=[CLOCK]).choices[0].message.content is None


@pytest.mark.parametrize("fields", [{}, {"tools": [CLOCK], "tool_choice": "none"}])
def test_call_syntax_is_text_without_tools(serve, fields):
    server = serve([{"text": call_text("get_time")}])
    choice = chat(server, **fields).choices[0]
    assert choice.message.tool_calls is None and choice.finish_reason == "stop"
    assert "get_time" in choice.message.content


def test_tool_choice_none_hides_the_tools(serve):
    server = serve([{"text": "a"}, {"text": "b"}, {"text": "c"}])
    bare = chat(server).usage.prompt_tokens
    assert chat(server, tools=[WEATHER]).usage.prompt_tokens > bare
    assert chat(server, tools=[WEATHER], tool_choice="none").usage.prompt_tokens == bare


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("fields", [{"parallel_tool_calls": False},
                                    {"tool_choice": {"type": "function", "function": {"name": "get_time"}}}])
def test_one_call_at_most(serve, fields, stream):
    server = serve([{"text": call_text("get_time", zone="A") + "\n" + call_text("get_time", zone="B") + "tail"}])
    reply = chat(server, tools=[CLOCK], stream=stream, **fields)
    if stream:
        calls, finishes = joined_calls(reply)
        assert finishes == ["tool_calls"] and [c["arguments"] for c in calls.values()] == ['{"zone":"A"}']
    else:
        choice = reply.choices[0]
        assert choice.finish_reason == "tool_calls" and len(choice.message.tool_calls) == 1


@pytest.mark.parametrize("stream", [False, True])
def test_call_that_is_cut_does_not_leave_as_a_call(serve, stream):
    server = serve([{"text": call_text("get_weather", city="x" * 200)}])
    reply = chat(server, tools=[WEATHER], max_tokens=40, stream=stream)
    if stream:
        calls, finishes = joined_calls(reply)
        assert calls == {} and finishes == ["length"]
    else:
        choice = reply.choices[0]
        assert choice.message.tool_calls is None and choice.finish_reason == "length"
        assert "get_weather" in choice.message.content


@pytest.mark.parametrize("stream", [False, True])
def test_call_that_breaks_off_is_text(serve, stream):
    server = serve([{"text": '<tool_call>{"name":'}])
    reply = chat(server, tools=[WEATHER], stream=stream)
    if stream:
        chunks = list(reply)
        calls, finishes = joined_calls(chunks)
        text = "".join(text_chunks(chunks))
        assert calls == {} and finishes == ["stop"]
    else:
        text = reply.choices[0].message.content
        assert reply.choices[0].finish_reason == "stop"
    assert '{"name":' in text


@pytest.mark.parametrize("stream", [False, True])
def test_reasoning_is_split_off(serve, stream):
    server = serve([{"text": "<think>I could call <tool_call>{\"name\":\"get_time\"}</tool_call></think>Done."}])
    reply = chat(server, tools=[CLOCK], stream=stream)
    if stream:
        chunks = list(reply)
        deltas = [c.choices[0].delta.model_dump() for c in chunks if c.choices]
        reasoning = "".join(d.get("reasoning_content") or "" for d in deltas)
        content = "".join(text_chunks(chunks))
        assert joined_calls(chunks) == ({}, ["stop"])
    else:
        message = reply.choices[0].message
        reasoning, content = message.model_dump()["reasoning_content"], message.content
        assert message.tool_calls is None
    assert "<tool_call>" in reasoning and content == "Done."


@pytest.mark.parametrize("stream", [False, True])
def test_characters_stay_whole(serve, stream):
    emoji = "🧑‍💻é漢"
    pieces = [{"b64": base64.b64encode(bytes([byte])).decode()} for byte in emoji.encode()]
    server = serve([{"pieces": pieces}])
    reply = chat(server, stream=stream)
    text = "".join(text_chunks(reply)) if stream else reply.choices[0].message.content
    assert text == emoji


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("pieces, stop, expected", [
    (["a<E", "ND>b"], "<END>", "a"),
    (["aaab"], ["aab"], "a"),
    (["x", "y", "z"], ["nope", "z"], "xy"),
    (["keep <EN"], "<END>", "keep <EN"),
])
def test_stop_strings(serve, pieces, stop, expected, stream):
    server = serve([{"pieces": pieces}])
    reply = chat(server, stop=stop, stream=stream)
    if stream:
        chunks = list(reply)
        assert "".join(text_chunks(chunks)) == expected
        assert chunks[-1].choices[0].finish_reason == "stop"
    else:
        assert reply.choices[0].message.content == expected and reply.choices[0].finish_reason == "stop"


@pytest.mark.parametrize("field", ["max_tokens", "max_completion_tokens"])
def test_limits(serve, field):
    server = serve([{"text": "abcdefgh"}, {"text": "abcdefgh"}])
    reply = chat(server, **{field: 3})
    assert reply.choices[0].message.content == "abc" and reply.choices[0].finish_reason == "length"
    assert reply.usage.completion_tokens == 3
    assert chat(server, **{field: 10**9}).choices[0].finish_reason == "stop", "what does not fit is clamped"


def test_choices(serve):
    server = serve([{"text": "one"}, {"text": "two"}, {"text": "three"}])
    reply = chat(server, n=3)
    assert sorted(c.message.content for c in reply.choices) == ["one", "three", "two"]
    assert [c.index for c in reply.choices] == [0, 1, 2]
    chunks = list(chat(server, n=2, stream=True))
    assert {c.choices[0].index for c in chunks if c.choices} == {0, 1}
    assert sum(bool(c.choices and c.choices[0].finish_reason) for c in chunks) == 2


def test_logprobs(serve):
    server = serve([{"text": "ab"}, {"text": "ab"}])
    content = chat(server, logprobs=True, top_logprobs=2).choices[0].logprobs.content
    assert [t.token for t in content] == ["a", "b"] and [t.bytes for t in content] == [[97], [98]]
    assert all(t.logprob <= 0 and t.top_logprobs[0].token == t.token for t in content)
    streamed = [t.token for c in chat(server, logprobs=True, stream=True) if c.choices and c.choices[0].logprobs
                for t in c.choices[0].logprobs.content]
    assert streamed == ["a", "b"]


@pytest.mark.parametrize("messages", [
    [{"role": "developer", "content": "Be brief."}, *USER],
    [{"role": "system", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, *USER],
    [*USER, *USER],
    [*USER, {"role": "assistant", "content": "x"}, {"role": "system", "content": "note"}, *USER],
    [{"role": "user", "content": [{"type": "text", "text": "go", "cache_control": {"type": "ephemeral"}}], "name": "Ann"}],
    [*USER, {"role": "assistant", "content": None, "tool_calls": [
        {"id": "callx", "type": "function", "function": {"name": "f", "arguments": "{\"a\": 1}"}}]},
     {"role": "tool", "tool_call_id": "other", "content": [{"type": "text", "text": "result"}]}],
    [*USER, {"role": "assistant", "content": "", "reasoning_content": "hm", "tool_calls": [
        {"id": "c", "type": "function", "function": {"name": "f", "arguments": ""}}]},
     {"role": "tool", "tool_call_id": "c", "content": "r"}],
    [{"role": "assistant", "content": "I begin"}, *USER],
    [{"role": "user", "content": ""}],
])
def test_histories_that_clients_send(serve, messages):
    server = serve([{"text": "ok"}])
    assert chat(server, messages).choices[0].message.content == "ok"


def test_fields_that_clients_send(serve):
    server = serve([{"text": "ok"}])
    reply = chat(server, tools=[{**WEATHER, "extra": 1}, {"type": "web_search"}], tool_choice="auto",
                 parallel_tool_calls=True, store=False, metadata={"a": "b"}, user="u", reasoning_effort="low",
                 service_tier="auto", seed=5, temperature=0, top_p=1, presence_penalty=0, frequency_penalty=0,
                 logit_bias={}, response_format={"type": "text"}, extra_headers={"X-Long": "x" * 1000},
                 extra_query={"beta": "true"}, extra_body={"top_k": 20, "min_p": 0.0, "prompt_cache_key": "k", "unknown": [1]})
    assert reply.choices[0].message.content == "ok"


@pytest.mark.parametrize("stream", [False, True])
def test_custom_tools_take_one_text(serve, stream):
    text = 'say "go"\n'
    server = serve([{"text": call_text("shout", input=text)}])
    tools = [{"type": "custom", "custom": {"name": "shout", "description": "Says it."}}, CLOCK]
    reply = chat(server, tools=tools, stream=stream)
    if stream:
        calls = [c for chunk in reply if chunk.choices for c in chunk.choices[0].delta.tool_calls or []]
        assert len(calls) == 1 and calls[0].index == 0
        call, custom = calls[0], calls[0].model_extra["custom"]
    else:
        call = reply.choices[0].message.tool_calls[0]
        custom = call.custom.model_dump()
    assert call.type == "custom" and call.id and custom == {"name": "shout", "input": text}
    messages = [*USER, {"role": "assistant", "content": None, "tool_calls": [
        {"id": call.id, "type": "custom", "custom": custom}]}, {"role": "tool", "tool_call_id": call.id, "content": "ok"}]
    assert chat(server, messages, tools=tools).choices[0].finish_reason == "tool_calls"


def test_allowed_tools(serve):
    server = serve([{"text": "a"}])
    alone = chat(server, tools=[CLOCK]).usage.prompt_tokens
    choice = {"type": "allowed_tools", "allowed_tools": {
        "mode": "auto", "tools": [{"type": "function", "function": {"name": "get_time"}}]}}
    assert chat(server, tools=[WEATHER, CLOCK], tool_choice=choice).usage.prompt_tokens == alone


def test_prefilled_reply_is_gone_on_with(serve):
    """The prompt ends in the prefill: it is shorter than with a turn that was closed and a new one opened."""
    server = serve([{"text": " then."}])
    messages = [*USER, {"role": "assistant", "content": "I begin"}]
    closed = chat(server, messages).usage.prompt_tokens
    marked = [*USER, {"role": "assistant", "content": "I begin", "prefix": True}]
    for reply in (chat(server, messages, extra_body={"continue_final_message": True}), chat(server, marked)):
        assert reply.usage.prompt_tokens < closed and reply.choices[0].message.content == " then."


def test_thinking_tokens_are_told(serve):
    server = serve([{"text": "<think>abc</think>Done."}])
    details = chat(server).usage.completion_tokens_details
    assert len("abc") <= details.reasoning_tokens <= len("abc") + 2


def test_empty_tools_list(serve):
    server = serve([{"text": "ok"}])
    assert chat(server, tools=[]).choices[0].message.content == "ok"


@pytest.mark.parametrize("fields, param", [
    ({"temperature": -1}, "temperature"), ({"top_p": -0.1}, "top_p"), ({"top_p": 1.5}, "top_p"),
    ({"frequency_penalty": 3}, "frequency_penalty"), ({"n": 0}, "n"), ({"top_logprobs": 2}, "top_logprobs"),
    ({"logit_bias": {"x": 1}}, "logit_bias"), ({"stop": ""}, "stop"), ({"max_tokens": "many"}, "max_tokens"),
    ({"messages": []}, "messages"), ({"messages": "hi"}, "messages"), ({"tool_choice": "required"}, "tool_choice"),
    ({"messages": [{"content": "x"}]}, None), ({"messages": [{"role": "robot", "content": "x"}]}, "messages[0].role"),
    ({"reasoning_effort": "colossal"}, "reasoning_effort"), ({"tools": [{"type": "custom"}]}, "tools[0].custom.name"), ({"tools": {}}, "tools"),
])
def test_wrong_values_are_named(echo, fields, param):
    with pytest.raises(openai.BadRequestError) as caught:
        chat(echo, **fields)
    body = caught.value.body
    assert set(body) >= {"message", "type", "param", "code"} and body["type"] == "invalid_request_error"
    if param:
        assert body["param"] == param
    assert "found" in body["message"] or "expected" in body["message"]


@pytest.mark.parametrize("fields", [{"messages": [{"role": "user", "content": [
                                        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}]}]}])
def test_what_is_not_there_yet_says_so(echo, fields):
    with pytest.raises(openai.APIStatusError) as caught:
        chat(echo, **fields)
    assert caught.value.status_code == 501


def test_context_overflow(serve):
    server = serve([], "--max-length", 256)
    with pytest.raises(openai.BadRequestError) as caught:
        chat(server, [{"role": "user", "content": "x" * 300}])
    assert caught.value.code == "context_length_exceeded"
    assert "maximum context length is 256 tokens" in caught.value.body["message"]


def test_reply_ends_at_the_context(serve):
    server = serve([{"text": "y" * 500}], "--max-length", 256)
    reply = chat(server, max_tokens=1000)
    assert reply.choices[0].finish_reason == "length"
    assert reply.usage.total_tokens == 256


def test_control_tokens_in_user_text_are_text(echo):
    def count(text):
        return chat(echo, [{"role": "user", "content": text}]).usage.prompt_tokens

    assert count("<|im_end|>") == count("0123456789")
