"""The Ollama door through the official client, every object held to the package's own types."""

import json

import httpx
import ollama
import pytest
from conftest import Server, WEATHER, call_text, model_path

USER = [{"role": "user", "content": "go"}]
PICTURE = "iVBORw0KGgo="


def client_of(server) -> ollama.Client:
    return ollama.Client(host=server.url, timeout=60)


def lines(server, path, **body) -> list[dict]:
    """A stream's objects, each valid by the package's strict types; the last one only is done."""
    kind = ollama.ChatResponse if path == "/api/chat" else ollama.GenerateResponse
    with httpx.stream("POST", server.url + path, json={"model": "m", **body}, timeout=60) as answer:
        assert answer.status_code == 200 and answer.headers["content-type"] == "application/x-ndjson"
        objects = [json.loads(line) for line in answer.iter_lines()]
    for item in objects:
        kind.model_validate(item, strict=True)
    assert [o["done"] for o in objects] == [False] * (len(objects) - 1) + [True]
    last = objects[-1]
    assert all(last[key] >= 0 for key in ("total_duration", "load_duration", "prompt_eval_duration", "eval_duration"))
    assert last["done_reason"] in ("stop", "length") and all("done_reason" not in o for o in objects[:-1])
    return objects


def test_chat_streams_by_default(serve):
    server = serve([{"text": "Hello there."}])
    objects = lines(server, "/api/chat", messages=USER)
    assert "".join(o["message"]["content"] for o in objects) == "Hello there."
    assert objects[-1]["eval_count"] >= len("Hello there.") and objects[-1]["prompt_eval_count"] > 0
    parts = list(client_of(server).chat("m", USER, stream=True))
    assert "".join(p.message.content for p in parts) == "Hello there." and parts[-1].done_reason == "stop"


def test_chat_whole(serve):
    reply = client_of(serve([{"text": "Hello there."}])).chat("m", USER, options={"num_ctx": 8521}, keep_alive="5m")
    assert reply.message.role == "assistant" and reply.message.content == "Hello there." and reply.done


@pytest.mark.parametrize("stream", [False, True])
def test_calls_have_objects(serve, stream):
    server = serve([{"text": "<think>hm</think>I look.\n" + call_text("get_weather", city="Göteborg") + call_text("get_weather", city="B")}])
    if stream:
        messages = [o["message"] for o in lines(server, "/api/chat", messages=USER, tools=[WEATHER], think=True)]
        calls = [c for m in messages for c in m.get("tool_calls", [])]
        text = "".join(m["content"] for m in messages)
        thinking = "".join(m.get("thinking", "") for m in messages)
    else:
        message = client_of(server).chat("m", USER, tools=[WEATHER], think=True).message
        calls = [c.model_dump() for c in message.tool_calls]
        text, thinking = message.content, message.thinking
    assert [c["function"]["arguments"] for c in calls] == [{"city": "Göteborg"}, {"city": "B"}]
    assert text == "I look." and thinking == "hm"


def test_tool_loop(serve):
    server = serve([{"text": call_text("get_weather", city="A")}, {"text": "Sun.", "when": "18 degrees"}])
    client = client_of(server)
    messages = list(USER)
    message = client.chat("m", messages, tools=[WEATHER]).message
    messages += [message, {"role": "tool", "tool_name": "get_weather", "content": "18 degrees", "images": []}]
    assert client.chat("m", messages, tools=[WEATHER]).message.content == "Sun."


@pytest.mark.parametrize("path", ["/api/chat", "/api/generate"])
def test_limits_and_stops(serve, path):
    server = serve([{"text": "abcdefgh"}])
    ask = {"messages": USER, "prompt": "go"}
    cut = lines(server, path, **ask, options={"num_predict": 3})[-1]
    assert cut["done_reason"] == "length" and cut["eval_count"] == 3
    stopped = lines(server, path, **ask, options={"stop": ["d"]})
    text = "".join(o["message"]["content"] if path == "/api/chat" else o["response"] for o in stopped)
    assert text == "abc" and stopped[-1]["done_reason"] == "stop"


def test_generate(serve):
    client = client_of(serve([{"text": "<think>hm</think>Hello."}]))
    reply = client.generate("m", "hi", system="S")
    assert reply.response == "Hello." and reply.thinking == "hm" and reply.done_reason == "stop"
    more = client.generate("m", "more", context=reply.context)
    assert more.prompt_eval_count > len(reply.context)
    raw = client.generate("m", "<|im_start|>x", raw=True)
    assert raw.response == "hmHello.", "as in /v1/completions, control tokens are no text"
    assert raw.context is None and raw.prompt_eval_count == 2


def test_nothing_to_say_is_a_load(serve):
    client = client_of(serve([]))
    assert client.generate("m").done_reason == "load"
    assert client.chat("m", []).done_reason == "load"
    assert client.generate("m", keep_alive=0).done_reason == "unload"


def test_models(serve):
    client = client_of(serve([]))
    listed = client.list().models[0]
    assert listed.model == "script:latest" and listed.digest
    running = client.ps().models[0]
    assert running.name == "script:latest" and running.context_length == 32768 and running.expires_at
    shown = client.show("whatever:7b")
    assert shown.capabilities == ["completion", "tools"]
    assert shown.modelinfo[shown.modelinfo["general.architecture"] + ".context_length"] == 32768
    assert "<|im_start|>" in shown.template
    assert client.pull("script").status == "success"
    assert [p.status for p in client.pull("script:latest", stream=True)][-1] == "success"


def test_version_is_new_enough_for_codex(echo):
    number, _, suffix = httpx.get(echo.url + "/api/version").json()["version"].partition("-")
    assert tuple(map(int, number.split("."))) >= (0, 13, 5) and suffix == "tempo9"
    assert httpx.post(echo.url + "/api/show", json={"name": "old key"}).status_code == 200


@pytest.mark.parametrize("call, status, words", [
    (lambda c: c.embed("m", "x"), 501, "a script gives no embeddings"),
    (lambda c: c.embeddings("m", "x"), 501, "a script gives no embeddings"),
    (lambda c: c.pull("other"), 501, "pull"),
    (lambda c: c.chat("m", [{"role": "robot", "content": "x"}]), 400, "messages[0].role: "),
    (lambda c: c.chat("m", USER, options={"top_p": 7}), 400, "top_p"),
    (lambda c: c.chat("m", [{"role": "user", "content": "x", "images": [PICTURE]}]), 501, "messages[0].images: "),
    (lambda c: c.generate("m", "x", suffix="y"), 400, "suffix: "),
    (lambda c: c.chat("m", [{"role": "user", "content": "x" * 40000}]), 400, "exceeded max context length"),
])
def test_errors(echo, call, status, words):
    with pytest.raises(ollama.ResponseError) as error:
        call(client_of(echo))
    assert error.value.status_code == status and words in error.value.error


def test_other_errors_in_the_dialects_shape(echo):
    for answer in (httpx.post(echo.url + "/api/chat", content=b"{"), httpx.get(echo.url + "/api/chat"),
                   httpx.post(echo.url + "/api/create", json={})):
        assert list(answer.json()) == ["error"] and isinstance(answer.json()["error"], str)


def test_old_pictures_and_empty_lists_pass(serve):
    server = serve([{"text": "x"}])
    history = [{"role": "user", "content": "see", "images": [PICTURE]}, {"role": "assistant", "content": "a", "images": []},
               {"role": "user", "content": "b", "images": []}]
    assert client_of(server).chat("m", history, tools=[]).message.content == "x"


def test_failure_in_the_stream_cuts_it(serve):
    server = serve([{"text": "abc", "finish": "error"}])
    with pytest.raises((httpx.RemoteProtocolError, httpx.ReadError)):
        list(client_of(server).chat("m", USER, stream=True))
    with pytest.raises(ollama.ResponseError) as error:
        client_of(server).chat("m", USER)
    assert error.value.status_code == 500


def test_control_tokens_from_outside_are_text(echo):
    def count(text):
        history = [{"role": "system", "content": text}, {"role": "user", "content": text},
                   {"role": "assistant", "content": "", "thinking": text, "tool_calls": [
                       {"function": {"name": text, "arguments": {text: text}}}]},
                   {"role": "tool", "tool_name": text, "content": text}]
        client, options = client_of(echo), {"num_predict": 1}
        return (client.chat("m", history, options=options).prompt_eval_count,
                client.generate("m", text, system=text, options=options).prompt_eval_count)

    assert count("<|im_end|>") == count("0123456789")


@pytest.mark.model
def test_a_real_model():
    server = Server("--gguf", model_path("qwen"), "--max-length", 4096)
    try:
        client = client_of(server)
        greedy = {"temperature": 0, "num_predict": 24}
        question = "Name the capital of France. Answer with one word."
        assert "Paris" in client.chat("m", [{"role": "user", "content": question}], options=greedy).message.content
        assert "Paris" in client.generate("m", question, options=greedy).response
        assert "insert" in client.show("m").capabilities
        middle = client.generate("m", "def add(a, b):\n    return ", suffix="\n\nprint(add(1, 2))\n", options=greedy).response
        assert "a + b" in middle
        details = client.list().models[0].details
        assert details.family == "qwen2" and details.parameter_size and details.quantization_level
    finally:
        assert server.stop() == 0
