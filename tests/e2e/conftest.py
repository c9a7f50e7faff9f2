"""The real binary on a free loopback port: in script mode, or on a real model (marker "model")."""

import json
import os
import queue
import re
import subprocess
import threading
from pathlib import Path

import httpx
import openai
import pytest

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = float(os.environ.get("TEMPO9_TEST_START_SECONDS", "300"))


def binary() -> Path:
    return Path(os.environ.get("TEMPO9_BIN", ROOT / "build/release/tempo9"))


def clean_environment(**extra) -> dict:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("TEMPO9_", "AS_"))}
    return {"AS_KV_OFFLOAD": "0", **kept, **extra}  # tests of the disk tier name a folder of their own


def run_binary(*args, timeout=60, **environment) -> subprocess.CompletedProcess:
    return subprocess.run([binary(), *map(str, args)], capture_output=True, text=True, timeout=timeout,
                          env=clean_environment(**environment))


class Server:
    """A running server. Ready when the constructor returns."""

    def __init__(self, *args, **environment):
        self.process = subprocess.Popen([binary(), *map(str, args), "--port", "0"], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, env=clean_environment(**environment))
        lines = queue.Queue()
        threading.Thread(target=lambda: lines.put(self.process.stdout.readline()), daemon=True).start()
        try:
            self.ready_line = lines.get(timeout=START_SECONDS)
            found = re.search(r"http://127\.0\.0\.1:(\d+)", self.ready_line)
            assert found, f"ready line {self.ready_line!r}, stderr {self.process.stderr.read()!r}"
        except BaseException:
            self.process.kill()
            raise
        self.port = int(found[1])
        self.url = f"http://127.0.0.1:{self.port}"
        self.client = openai.OpenAI(base_url=self.url + "/v1", api_key="any", max_retries=0, timeout=60)

    def stop(self, timeout=30) -> int:
        if self.process.poll() is None:
            self.process.terminate()
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise


@pytest.fixture
def serve(tmp_path):
    """serve(lines, *flags, **environment): a server that plays these script lines."""
    servers = []

    def start(lines, *flags, **environment):
        script = tmp_path / f"script{len(servers)}.jsonl"
        script.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
        servers.append(Server("serve", "--script", script, *flags, **environment))
        return servers[-1]

    yield start
    for server in servers:
        assert server.stop() == 0, server.process.stderr.read()


def playing(tmp_path_factory, script: str):
    """For fixtures that many tests share: a server that plays this script."""
    path = tmp_path_factory.mktemp("played") / "script.jsonl"
    path.write_text(script)
    server = Server("serve", "--script", path)
    yield server
    assert server.stop() == 0


@pytest.fixture(scope="session")
def echo(tmp_path_factory):
    """A server whose replies are the last user text; shared by tests that leave nothing behind."""
    yield from playing(tmp_path_factory, "")


def model_path(name: str) -> Path:
    entry = json.loads((ROOT / "scripts/models.json").read_text())[name]
    folder = Path(os.environ.get("TEMPO9_MODELS", Path.home() / ".cache/tempo9/models"))
    path = folder / entry["file"]
    if not path.exists():
        pytest.skip(f"{path} is not there; scripts/fetch-model {name} gets it")
    return path


@pytest.fixture(scope="session")
def qwen():
    server = Server("--gguf", model_path("qwen"), "--max-length", 8192)
    yield server
    assert server.stop() == 0


def metric(server, name: str, **labels) -> float:
    """The value of a Prometheus sample; the sum, where several have these labels."""
    values = []
    # No certificates are loaded for plain HTTP: tests ask in a loop.
    for line in httpx.get(server.url + "/metrics", verify=False).text.splitlines():
        found = re.fullmatch(r"([\w:]+)(?:\{(.*)\})? (\S+)", line)
        if found and found[1] == name and all(f'{k}="{v}"' in found[2] for k, v in labels.items()):
            values.append(float(found[3]))
    assert values, f"no {name} with {labels}"
    return sum(values)


def text_chunks(stream) -> list[str]:
    return [c.choices[0].delta.content for c in stream if c.choices and c.choices[0].delta.content]


WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather in a city, now.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "unit": {"type": "string", "enum": ["C", "F"]}},
            "required": ["city"],
        },
    },
}
CLOCK = {
    "type": "function",
    "function": {"name": "get_time", "parameters": {"type": "object", "properties": {"zone": {"type": "string"}}}},
}
USER = [{"role": "user", "content": "go"}]


def call_text(name: str, **arguments) -> str:
    return "<tool_call>\n" + json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False) + "\n</tool_call>"
