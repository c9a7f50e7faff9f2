"""What operators watch: /health in each state, /metrics as Prometheus reads it, timing on demand, idle memory."""

import json
import re
import signal
import threading
import time

import httpx
import pytest
from conftest import ROOT, USER, metric

CHAT = {"messages": USER}


def histogram(server, name) -> tuple[float, float]:
    return metric(server, name + "_count"), metric(server, name + "_sum")


def test_each_reply_is_measured_once(serve):
    server = serve([{"text": "abcd", "delay_ms": 30}, {"text": "abcd", "delay_ms": 30}])
    for stream in (False, True):
        answer = httpx.post(server.url + "/v1/chat/completions", json={**CHAT, "stream": stream})
        assert answer.status_code == 200
    n, total = histogram(server, "vllm:time_to_first_token_seconds")
    assert n == 2 and 0 < total < 2
    n, total = histogram(server, "vllm:inter_token_latency_seconds")
    assert n >= 6 and total >= 0.15  # 3 gaps of 30 ms in each; the end token may add one
    assert histogram(server, "vllm:time_per_output_token_seconds") == (n, total)
    n, total = histogram(server, "vllm:e2e_request_latency_seconds")
    assert n == 2 and total >= 0.18
    parts = sum(histogram(server, f"vllm:request_{part}_time_seconds")[1] for part in ("queue", "prefill", "decode"))
    assert parts == pytest.approx(total, rel=0.01)
    assert metric(server, "vllm:request_success_total", finished_reason="stop") == 2
    assert metric(server, "vllm:generation_tokens_total") >= 8


def test_the_prefix_cache_is_counted_by_source_and_cause(serve):
    server = serve([{"text": "a"}] * 3)
    text = "one two three four five six seven eight nine ten " * 20
    for tail in ("", "", "Now: 10:00:02"):
        httpx.post(server.url + "/v1/completions", json={"prompt": text + tail, "max_tokens": 1})
    asked = metric(server, "vllm:prefix_cache_queries_total")
    hits = metric(server, "vllm:prefix_cache_hits_total")
    assert 3 * len(text) <= asked < 3 * len(text) + 50 and 1.8 * len(text) < hits < asked
    by_source = {s: metric(server, "tempo9:prefix_cache_hit_tokens_total", source=s) for s in ("live", "ram", "ssd")}
    assert sum(by_source.values()) == hits and by_source["ssd"] == 0
    assert metric(server, "tempo9:prefix_cache_misses_total", cause="nothing alike was asked lately") == 1
    assert metric(server, "tempo9:prefix_cache_miss_tokens_total", cause="nothing alike was asked lately") >= len(text)


def test_the_format_is_prometheus_own(serve):
    """Each family once: HELP, TYPE, then its samples; histograms cumulate and end in +Inf."""
    server = serve([{"text": "ab"}], "--name", 'odd "name"\\')
    httpx.post(server.url + "/v1/chat/completions", json=CHAT)
    answer = httpx.get(server.url + "/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    families = [line.split()[2] for line in answer.text.splitlines() if line.startswith("# TYPE")]
    assert len(families) == len(set(families)) and len(families) > 25
    assert 'model_name="odd \\"name\\"\\\\"' in answer.text
    name = "vllm:e2e_request_latency_seconds"
    buckets = [float(line.split()[-1]) for line in answer.text.splitlines() if line.startswith(name + "_bucket")]
    assert buckets == sorted(buckets) and 'le="+Inf"' in answer.text and buckets[-1] == metric(server, name + "_count")
    assert metric(server, "process_resident_memory_bytes") > 1e6 and metric(server, "process_open_fds") > 3


def test_dashboard_and_page_name_what_there_is(serve):
    server = serve([{"text": "ab"}])
    httpx.post(server.url + "/v1/chat/completions", json={"messages": [{"role": "user", "content": "a cold prompt " * 9}]})
    told = set(re.findall(r"^# TYPE (\S+)", httpx.get(server.url + "/metrics").text, re.M))
    panels = json.loads((ROOT / "packaging/grafana/tempo9.json").read_text())["panels"]
    shown = " ".join(target["expr"] for panel in panels for target in panel["targets"])
    page = (ROOT / "docs/operations.md").read_text()
    pattern = r"(?:vllm|tempo9):\w+|process_\w+"
    for text in (shown, page):
        named = {re.sub(r"_bucket$", "", name) for name in re.findall(pattern, text)}
        assert len(named) > 10 and named <= told, named - told
    assert told <= set(re.findall(pattern, page)), "each is explained"


def test_clients_that_leave_are_aborts(serve):
    server = serve([{"text": "x" * 4000, "delay_ms": 20}])
    with httpx.stream("POST", server.url + "/v1/chat/completions", json={**CHAT, "stream": True}) as answer:
        next(answer.iter_bytes())
    end = time.monotonic() + 5
    while metric(server, "vllm:request_success_total", finished_reason="abort") == 0:
        assert time.monotonic() < end
    assert metric(server, "tempo9:requests_cancelled_total") == 1


@pytest.mark.parametrize("path, tokens", [("/v1/chat/completions", "completion_tokens"), ("/v1/messages", "output_tokens"),
                                          ("/v1/responses", "output_tokens"), ("/v1/completions", "completion_tokens")])
def test_timing_in_the_reply_on_demand(serve, path, tokens):
    server = serve([{"text": "abcde", "delay_ms": 20}] * 2)
    body = {"model": "m", "max_tokens": 50, "prompt": "go"} if path == "/v1/completions" else \
        {"model": "m", "input": "go"} if path == "/v1/responses" else {"model": "m", "max_tokens": 50, **CHAT}
    assert "timing" not in httpx.post(server.url + path, json=body).json()["usage"]
    usage = httpx.post(server.url + path, json=body, headers={"X-Tempo9-Explain": "timing"}).json()["usage"]
    timing = usage["timing"]
    assert usage[tokens] >= 5
    assert 0 <= timing["queued_seconds"] <= timing["first_token_seconds"] <= timing["total_seconds"] < 5
    assert timing["total_seconds"] >= 0.08 and 1 < timing["generated_tokens_per_second"] < 80


def test_health_says_that_it_drains(serve):
    server = serve([{"text": "x" * 40, "delay_ms": 50}])
    answers = []
    ask = threading.Thread(target=lambda: answers.append(httpx.post(server.url + "/v1/chat/completions", json=CHAT, timeout=30)))
    ask.start()
    while metric(server, "vllm:num_requests_running") < 1:
        time.sleep(0.01)
    assert httpx.get(server.url + "/health").json() == {"status": "ok"}
    server.process.send_signal(signal.SIGTERM)
    end = time.monotonic() + 5
    while (health := httpx.get(server.url + "/health")).status_code == 200:
        assert time.monotonic() < end
    assert health.status_code == 503 and health.json() == {"status": "draining"}
    refused = httpx.post(server.url + "/v1/messages", json={"model": "m", "max_tokens": 5, **CHAT})
    assert refused.status_code == 503 and refused.json()["type"] == "error" and "retry-after" in refused.headers
    ask.join()
    assert answers[0].status_code == 200 and server.process.wait(10) == 0


def test_an_idle_model_is_unloaded_and_comes_back(serve):
    server = serve([{"text": "hi"}], "--idle-unload", "0.002")  # 120 ms

    def wait_until_unloaded():
        end = time.monotonic() + 10
        while httpx.get(server.url + "/health").json().get("model") != "unloaded":
            assert time.monotonic() < end
            time.sleep(0.01)
        assert metric(server, "tempo9:model_loaded") == 0

    for _ in range(2):
        wait_until_unloaded()
        assert httpx.get(server.url + "/health").status_code == 200
        assert httpx.get(server.url + "/v1/models").status_code == 200
        assert httpx.post(server.url + "/tokenize", json={"prompt": "abc"}).json()["count"] == 3
        assert httpx.get(server.url + "/health").json()["model"] == "unloaded", "nothing of that needs the model"
        answer = httpx.post(server.url + "/v1/chat/completions", json=CHAT)
        assert answer.json()["choices"][0]["message"]["content"] == "hi"
    assert metric(server, "vllm:request_success_total", finished_reason="stop") == 2
    assert json.loads(httpx.get(server.url + "/debug/cache").text) is not None
