"""Starting and stopping: exit codes, messages, the ready line, signals."""

import contextlib
import json
import re
import signal
import socket
import subprocess
import threading
import time

import httpx
import pytest
from conftest import Server, binary, metric, model_path, run_binary


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_text("")
    return path


@pytest.mark.parametrize("args, says", [
    ([], "--gguf"), (["--prot", "1", "F.gguf"], "--port"), (["F.gguf", "--kv-type", "f64"], "i16, q8_0, f16 or f32"),
    (["F.gguf", "--max-length", "many"], "max-length"), (["F.gguf", "--max-length", "0"], "max-length"),
    (["F.gguf", "--threads", "-1"], "threads"), (["F.gguf", "--port", "70000"], "port"), (["serv"], "serve"),
    (["F.gguf", "--tower", "x"], "not available yet"), (["F.gguf", "--ollama", "x"], "two models"),
    (["F.gguf", "--speculation-k", "3"], "not available yet"), (["F.gguf", "G.gguf"], "second"), (["quality"], "--text"), (["run"], "no model"),
    (["F.gguf", "--memory", "x"], "6G"),
    *((["F.gguf", "--port", port], f'--port: found "{port}", expected a whole number from 0 to 65535')
      for port in ("65536", "abc", "-1", "")),
    (["F.gguf", "--speculation-k", "x"], '--speculation-k: found "x", expected a whole number'),
    (["F.gguf", "--allow-origin", "notaurl"], '--allow-origin: found "notaurl", expected scheme://host'),
    (["F.gguf", "--allow-origin", "http://a/b"], "--allow-origin"),
])
def test_wrong_usage(args, says):
    done = run_binary(*args)
    assert done.returncode == 2 and says in done.stderr and done.stdout == "", done.stderr
    assert done.stderr.startswith("tempo9: ") and done.stderr.count("\n") == 1


@pytest.mark.parametrize("content, says", [(None, "none.gguf"), (b"", ""), (b"GGUF", ""), (b"not a model at all" * 100, "")])
def test_files_that_are_none(tmp_path, content, says):
    path = tmp_path / "none.gguf"
    if content is not None:
        path.write_bytes(content)
    start = time.monotonic()
    done = run_binary("--gguf", path)
    assert done.returncode == 1 and says in done.stderr and done.stdout == ""
    assert time.monotonic() - start < 5


@pytest.mark.parametrize("environment, says", [({"TEMPO9_THREADS": "two"}, "TEMPO9_THREADS"), ({"TEMPO9_THREADS": "0"}, "1 to")])
def test_wrong_environment(script, environment, says):
    done = run_binary("--script", script, "--port", 0, **environment)
    assert done.returncode == 1 and says in done.stderr


@pytest.mark.model
def test_wrong_isa():
    done = run_binary("--gguf", model_path("smollm2"), "--port", 0, TEMPO9_CPU_ISA="mmx")
    assert done.returncode == 1 and "mmx" in done.stderr and "scalar" in done.stderr


def test_wrong_isa_with_a_script(script):
    done = run_binary("--script", script, "--port", 0, TEMPO9_CPU_ISA="mmx")
    assert done.returncode == 1 and "mmx" in done.stderr and "scalar" in done.stderr


def test_unknown_variables_are_named(serve):
    server = serve([], TEMPO9_THREAD="2", AS_FOO="1")
    assert server.stop() == 0
    said = server.process.stderr.read()
    assert "TEMPO9_THREAD in the environment" in said and "AS_FOO" in said and "TEMPO9_THREADS" in said


@pytest.mark.parametrize("flag", ["--chat-template-file", "--script"])
@pytest.mark.parametrize("path", ["/tmp", "/dev/zero"])
def test_files_that_are_no_files(script, flag, path):
    done = run_binary("--script", script, flag, path, "--port", 0) if flag != "--script" else run_binary(flag, path)
    assert done.returncode == 1 and flag in done.stderr and path in done.stderr


def test_a_template_beyond_the_bound(script, tmp_path):
    template = tmp_path / "t.jinja"
    template.write_bytes(b"x" * (16 * 1024 * 1024 + 1))
    done = run_binary("--script", script, "--chat-template-file", template, "--port", 0)
    assert done.returncode == 1 and "16777216" in done.stderr


@pytest.mark.parametrize("args", [["--help"], ["--version"], ["show", "--help"]])
def test_output_that_nobody_takes(args):
    with open("/dev/full", "w") as full:
        done = subprocess.run([binary(), *args], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 1 and "standard output" in done.stderr


def test_missing_and_broken_templates(script, tmp_path):
    done = run_binary("--script", script, "--chat-template-file", tmp_path / "none.jinja", "--port", 0)
    assert done.returncode == 1 and "none.jinja" in done.stderr
    template = tmp_path / "t.jinja"
    template.write_text("{% for %}")
    done = run_binary("--script", script, "--chat-template-file", template, "--port", 0)
    assert done.returncode == 1 and done.stderr


def test_port_in_use(script):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = run_binary("--script", script, "--port", port)
    assert done.returncode == 1 and str(port) in done.stderr and "--port" in done.stderr


def test_other_machines_need_a_key(script):
    done = run_binary("--script", script, "--host", "0.0.0.0", "--port", 0)
    assert done.returncode == 1 and "--api-key" in done.stderr
    done = run_binary("--script", script, "--host", "no.such.host.invalid", "--api-key", "k", "--port", 0)
    assert done.returncode == 1 and "no.such.host.invalid" in done.stderr


def ollama_store(folder, blob=None, **models):
    """A store as `ollama pull` leaves it: tag files that name a blob by its digest."""
    for number, (name, tag) in enumerate(models.items()):
        digest = f"{number:064x}"
        manifest = folder / "manifests/registry.ollama.ai/library" / name / tag
        manifest.parent.mkdir(parents=True)
        manifest.write_text(json.dumps({"schemaVersion": 2, "layers": [
            {"mediaType": "application/vnd.ollama.image.model", "digest": f"sha256:{digest}", "size": 1}]}))
        (folder / "blobs").mkdir(exist_ok=True)
        if blob is not None:
            (folder / f"blobs/sha256-{digest}").symlink_to(blob)
    return {"OLLAMA_MODELS": str(folder)}


def test_list_ollama(tmp_path):
    done = run_binary("--list-ollama", OLLAMA_MODELS=str(tmp_path / "none"))
    assert done.returncode == 1 and str(tmp_path / "none") in done.stderr and done.stdout == ""
    environment = ollama_store(tmp_path / "a", **{"nothing-there": "latest"})
    assert run_binary("--list-ollama", **environment).returncode == 1
    weights = tmp_path / "w"
    weights.write_bytes(b"x" * 2048)
    done = run_binary("--list-ollama", **ollama_store(tmp_path / "b", weights, small="latest", other="7b"))
    assert done.returncode == 0
    lines = [line.split() for line in done.stdout.splitlines()]
    assert [line[0] for line in lines] == ["other:7b", "small:latest"]
    assert all(line[1:3] == ["2.0", "KiB"] and "/blobs/sha256-" in line[3] for line in lines)


@pytest.mark.model
def test_serve_from_ollamas_store(tmp_path, script):
    environment = ollama_store(tmp_path / "store", model_path("smollm2"), smol="latest")
    before = sorted(path for path in (tmp_path / "store").rglob("*"))
    for name in ("smol", "smol:latest"):
        server = Server("--ollama", name, "--script", script, **environment)
        assert server.client.models.list().data[0].id == "smol:latest"
        assert server.stop() == 0
    done = run_binary("--ollama", "smol:1b", "--port", 0, **environment)
    assert done.returncode == 1 and "smol:latest" in done.stderr
    assert sorted(path for path in (tmp_path / "store").rglob("*")) == before, "nothing was written to it"


def test_version_and_help():
    done = run_binary("--version")
    assert done.returncode == 0 and re.fullmatch(r"tempo9 \d+\.\d+\.\d+\n", done.stdout)
    for args in (["--help"], ["serve", "--help"]):
        done = run_binary(*args)
        assert done.returncode == 0 and "--gguf" in done.stdout and done.stderr == ""


def test_length_above_the_context_warns_once(serve):
    server = serve([], "--max-length", 100_000)
    assert "context 100000" in server.ready_line
    assert httpx.post(server.url + "/tokenize", json={"prompt": "a"}).json()["max_model_len"] == 100_000
    server.stop()
    assert server.process.stderr.read().count("warning") == 1


@contextlib.contextmanager
def hangup(handler):
    """What a server that is started inside does with SIGHUP; these tests may run under nohup themselves."""
    old = signal.signal(signal.SIGHUP, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, old)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_let_replies_end(serve, number):
    with hangup(signal.SIG_DFL):
        server = serve([{"text": "x" * 40, "delay_ms": 25}])
    answers = []
    ask = threading.Thread(target=lambda: answers.append(httpx.post(
        server.url + "/v1/chat/completions", json={"messages": [{"role": "user", "content": "go"}]}, timeout=30)))
    ask.start()
    while metric(server, "vllm:num_requests_running") < 1:
        time.sleep(0.01)
    server.process.send_signal(number)
    assert server.process.wait(10) == 0
    ask.join()
    assert answers[0].json()["choices"][0]["message"]["content"] == "x" * 40


def test_nohup_keeps_the_server(script):
    with hangup(signal.SIG_IGN):
        server = Server("serve", "--script", script)
    server.process.send_signal(signal.SIGHUP)
    assert httpx.get(server.url + "/health").json() == {"status": "ok"}
    assert server.stop() == 0


def test_signal_ends_long_replies_in_ten_seconds(serve):
    server = serve([{"text": "x" * 4000, "delay_ms": 100}])
    with httpx.stream("POST", server.url + "/v1/chat/completions", timeout=30,
                      json={"messages": [{"role": "user", "content": "go"}], "stream": True}) as answer:
        parts = answer.iter_bytes()
        next(parts)
        start = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        with pytest.raises((httpx.RemoteProtocolError, httpx.ReadError)):
            for _ in parts:
                pass
    assert server.process.wait(10) == 0 and time.monotonic() - start < 10


@pytest.mark.model
def test_signal_ends_a_long_prompt_in_ten_seconds():
    server = Server("--gguf", model_path("smollm2"), "--threads", 1, TEMPO9_CPU_ISA="scalar")
    errors = []

    def ask():
        try:
            httpx.post(server.url + "/v1/completions", json={"prompt": " word" * 7000, "max_tokens": 500}, timeout=60)
        except httpx.HTTPError as error:
            errors.append(error)

    client = threading.Thread(target=ask)
    client.start()
    until = time.monotonic() + 30
    while metric(server, "vllm:num_requests_waiting") < 1:
        assert time.monotonic() < until
        time.sleep(0.01)
    assert server.stop(timeout=10) == 0
    client.join()
    assert len(errors) == 1
