"""Streams on the wire: events, failures, clients that leave, clients that are slow, silence."""

import concurrent.futures
import json
import socket
import time

import httpx
import pytest
from conftest import WEATHER, metric

CHAT = "/v1/chat/completions"
TEXT = "/v1/completions"
USER = [{"role": "user", "content": "go"}]


def body(path, **fields):
    return {"prompt": "go", "max_tokens": 10000, **fields} if path == TEXT else {"messages": USER, **fields}


def wait_until(condition, seconds=10):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "did not happen in time"
        time.sleep(0.01)


def open_stream(server, path, **fields) -> socket.socket:
    data = json.dumps(body(path, **fields)).encode()
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=30)
    connection.sendall(b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % (path.encode(), len(data)) + data)
    return connection


@pytest.mark.parametrize("path", [CHAT, TEXT])
def test_events_on_the_wire(serve, path):
    server = serve([{"text": "abc"}])
    with httpx.stream("POST", server.url + path, json=body(path, stream=True)) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = [line for line in answer.iter_lines() if line]
    assert all(line.startswith("data: ") for line in lines)
    assert lines[-1] == "data: [DONE]" and lines.count("data: [DONE]") == 1
    chunks = [json.loads(line[6:]) for line in lines[:-1]]
    assert chunks[-1]["choices"][0]["finish_reason"] == "stop"


@pytest.mark.parametrize("path", [CHAT, TEXT])
def test_failure_before_the_stream_is_a_status(serve, path):
    server = serve([])
    answer = httpx.post(server.url + path, json=body(path, stream=True, top_p=7))
    assert answer.status_code == 400 and answer.json()["error"]["param"] == "top_p"


@pytest.mark.parametrize("path", [CHAT, TEXT])
def test_failure_in_the_stream_cuts_it(serve, path):
    server = serve([{"text": "abc", "finish": "error"}])
    seen = b""
    with pytest.raises((httpx.RemoteProtocolError, httpx.ReadError)):
        with httpx.stream("POST", server.url + path, json=body(path, stream=True)) as answer:
            assert answer.status_code == 200
            for part in answer.iter_bytes():
                seen += part
    assert b"[DONE]" not in seen and b"error" not in seen


@pytest.mark.parametrize("path", [CHAT, TEXT])
def test_failure_of_a_whole_reply_is_a_500(serve, path):
    server = serve([{"text": "abc", "finish": "error"}])
    answer = httpx.post(server.url + path, json=body(path))
    assert answer.status_code == 500 and answer.json()["error"]["type"] == "server_error"


def test_scripted_length(serve):
    server = serve([{"text": "abc", "finish": "length"}])
    assert httpx.post(server.url + CHAT, json=body(CHAT)).json()["choices"][0]["finish_reason"] == "length"


@pytest.mark.parametrize("path", [CHAT, TEXT, "/v1/messages", "/api/chat"])
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("line", [{"text": "x" * 1000, "delay_ms": 50}, {"text": "x", "prefill_ms": 60_000}],
                         ids=["decode", "prefill"])
def test_client_that_leaves_is_noticed(serve, path, stream, line):
    server = serve([line], "--max-batch", 1)
    connection = open_stream(server, path, stream=stream)
    wait_until(lambda: metric(server, "vllm:num_requests_running") == 1)
    connection.close()
    start = time.monotonic()
    wait_until(lambda: metric(server, "vllm:num_requests_running") == 0)
    assert time.monotonic() - start < 1.5
    assert metric(server, "tempo9:requests_cancelled_total") == 1


# B96: whatever is being written; what was read stays of use.
@pytest.mark.parametrize("text", ["<think>" + "hm " * 2000, '<tool_call>\n{"name": "get_weather", "arguments": {"city": "' + "x" * 4000],
                         ids=["thinking", "call"])
@pytest.mark.parametrize("stream", [False, True])
def test_client_that_leaves_leaves_its_prompt_behind(serve, stream, text):
    server = serve([{"text": text, "delay_ms": 20}, {"text": "ok"}], "--max-batch", 1)
    messages = [{"role": "user", "content": "a long question " * 40}]
    connection = open_stream(server, CHAT, stream=stream, messages=messages, tools=[WEATHER])
    wait_until(lambda: metric(server, "tempo9:engine_steps_total") > 5)
    connection.close()
    start = time.monotonic()
    wait_until(lambda: metric(server, "vllm:num_requests_running") == 0)
    assert time.monotonic() - start < 1.5 and metric(server, "vllm:kv_cache_usage_perc") == 0
    usage = httpx.post(server.url + CHAT, json={"messages": messages, "tools": [WEATHER]}).json()["usage"]
    assert usage["prompt_tokens_details"]["cached_tokens"] >= usage["prompt_tokens"] - 33


def test_client_that_leaves_the_queue_is_noticed(serve):
    server = serve([{"text": "x" * 1000, "delay_ms": 50}, {"text": "second"}], "--max-batch", 1)
    first = open_stream(server, CHAT, stream=True)
    wait_until(lambda: metric(server, "vllm:num_requests_running") == 1)
    second = open_stream(server, CHAT, stream=True)
    wait_until(lambda: metric(server, "vllm:num_requests_waiting") == 1)
    second.close()
    wait_until(lambda: metric(server, "vllm:num_requests_waiting") == 0, 2)
    assert metric(server, "vllm:num_requests_running") == 1, "the other goes on"
    first.close()


def is_sign_of_life(path, line) -> bool:
    """Does the line say nothing, in the form that the door's clients count?"""
    if path == "/v1/messages":
        return line == 'data: {"type":"ping"}'
    if path == "/v1/responses":
        return line.startswith("data: ") and json.loads(line[6:])["type"] == "response.in_progress"
    if path == CHAT:
        if not line.startswith("data: {"):
            return False
        choice = json.loads(line[6:])["choices"][0]
        return not choice["delta"].get("content") and not choice["finish_reason"]
    part = json.loads(line)
    return not part["done"] and not (part["message"]["content"] if path == "/api/chat" else part["response"])


def test_headers_come_at_once_and_silence_is_broken(serve):
    server = serve([{"text": "late", "prefill_ms": 21_000}])
    paths = [CHAT, "/v1/responses", "/v1/messages", "/api/chat", "/api/generate"]

    def listen(path):
        ask = {"input": "go"} if path == "/v1/responses" else {"messages": USER, "prompt": "go", "max_tokens": 9}
        ask["stream"] = True
        start = last = time.monotonic()
        gaps, signs, text = [], 0, ""
        with httpx.stream("POST", server.url + path, json=ask, timeout=60) as answer:
            assert time.monotonic() - start < 3
            for line in filter(None, answer.iter_lines()):
                gaps.append(time.monotonic() - last)
                last = time.monotonic()
                signs += is_sign_of_life(path, line)
                text += line
        return max(gaps), signs, "late" in text or '"l"' in text

    with concurrent.futures.ThreadPoolExecutor(len(paths)) as pool:
        for path, (gap, signs, answered) in zip(paths, pool.map(listen, paths)):
            assert gap < 10.5 and signs >= 2 and answered, path


def test_slow_reader_gets_everything(serve):
    text = "".join(f"{i} " for i in range(6000))
    server = serve([{"text": text}])
    connection = open_stream(server, CHAT, stream=True)
    wait_until(lambda: metric(server, "vllm:num_requests_running") == 0, 30)
    data = b""
    while b"[DONE]" not in data:
        part = connection.recv(4096)
        assert part, "cut"
        data += part
    connection.close()
    lines = [line for line in data.decode(errors="replace").splitlines() if line.startswith("data: {")]
    assert "".join(json.loads(line[6:])["choices"][0]["delta"].get("content") or "" for line in lines) == text


def test_many_at_once_keep_apart(serve):
    lines = [{"text": f"reply {i} " * 20, "when": f"[{i}]", "delay_ms": 1} for i in range(24)]
    server = serve(lines)

    def ask(i):
        answer = httpx.post(server.url + CHAT, json={"messages": [{"role": "user", "content": f"[{i}]"}]}, timeout=60)
        return answer.json()["choices"][0]["message"]["content"]

    with concurrent.futures.ThreadPoolExecutor(24) as pool:
        assert list(pool.map(ask, range(24))) == [line["text"] for line in lines]
