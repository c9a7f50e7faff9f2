"""The KV cache on disk: restarts, folders, two processes; kills, damage and caps: test_bench_serve.py. Real models (marker
"model")."""

import shutil
import time

import pytest
from conftest import Server, model_path

pytestmark = pytest.mark.model


def start(folder, model="smollm2", **environment) -> Server:
    return Server("--gguf", model_path(model), "--max-length", 8192,
                  **{"AS_KV_OFFLOAD": "1", "AS_KV_OFFLOAD_PATH": str(folder), **environment})


def ask(server, prompt, **fields):
    reply = server.client.completions.create(model="qwen", prompt=prompt,
                                             **{"temperature": 0, "max_tokens": 16, **fields})
    return reply.choices[0].text, reply.usage


def prompt_of(n_lines: int, salt: str = "") -> str:
    return f"{salt}Notes of the day.\n" + "".join(f"Line {i}: nothing new, {i * 7919 % 1000} apples.\n" for i in range(n_lines))


def by_source(usage) -> dict:
    return usage.prompt_tokens_details.cached_tokens_by_source


def test_the_first_request_after_a_restart_comes_from_disk(tmp_path):
    prompt = prompt_of(360)
    server = start(tmp_path / "kv", "qwen")
    begin = time.monotonic()
    cold, usage = ask(server, prompt, temperature=0.9, seed=5)
    cold_seconds = time.monotonic() - begin
    assert usage.prompt_tokens > 5000 and usage.prompt_tokens_details.cached_tokens == 0
    assert server.stop(10) == 0

    server = start(tmp_path / "kv", "qwen")
    begin = time.monotonic()
    text, usage = ask(server, prompt, temperature=0.9, seed=5)
    seconds = time.monotonic() - begin
    again, warm = ask(server, prompt, temperature=0.9, seed=5)
    assert server.stop(10) == 0
    assert text == again == cold
    assert by_source(usage)["ssd"] >= usage.prompt_tokens - 33 and by_source(usage)["ram"] == 0
    assert by_source(warm)["ram"] == usage.prompt_tokens - 1
    assert seconds <= 0.15 * cold_seconds, f"{seconds:.2f} s after the restart, {cold_seconds:.2f} s cold"


def test_off_means_off(tmp_path):
    server = start(tmp_path / "kv", AS_KV_OFFLOAD="0")
    ask(server, prompt_of(10))
    assert server.stop() == 0 and not (tmp_path / "kv").exists()


def test_a_folder_that_cannot_be_used_is_said_and_done_without(tmp_path):
    (tmp_path / "file").write_text("x")
    server = start(tmp_path / "file" / "kv")
    assert ask(server, prompt_of(10))[0]
    assert server.stop() == 0
    assert "no KV cache on disk" in server.process.stderr.read()


def test_two_processes_share_a_folder(tmp_path):
    one, two = start(tmp_path / "kv"), start(tmp_path / "kv")
    texts = [ask(server, prompt_of(40, salt))[0] for salt in "ab" for server in (one, two)]
    assert texts[0] == texts[1] and texts[2] == texts[3]
    assert one.stop(10) == 0 and two.stop(10) == 0
    third = start(tmp_path / "kv")
    text, usage = ask(third, prompt_of(40, "b"))
    assert text == texts[2] and by_source(usage)["ssd"] > 0
    assert third.stop() == 0
    shutil.rmtree(tmp_path / "kv")
