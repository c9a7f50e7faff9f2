"""The demo's second half (scripts/demo_run.py) against the real binary, with scripted replies in place of a model."""

import json
import os
import pathlib
import socket
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BINARY = pathlib.Path(os.environ.get("TEMPO9_BIN", ROOT / "build/release/tempo9"))
sys.path.insert(0, str(ROOT / "scripts"))

import demo_client  # noqa: E402
import demo_run  # noqa: E402

RIGHT = '<tool_call>\n{"name": "count_lines", "arguments": {"path": "README.md"}}\n</tool_call>'
OTHER_FILE = '<tool_call>\n{"name": "count_lines", "arguments": {"path": "../../etc/passwd"}}\n</tool_call>'


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A function that starts the demo's server on a script, and stops it after the test."""
    if not BINARY.exists():
        pytest.skip(f"{BINARY} is not there")
    monkeypatch.setattr(demo_run, "STATE", tmp_path / "demo")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]

    def make(*replies):
        script = tmp_path / "script.jsonl"
        script.write_text("".join(json.dumps({"text": reply}) + "\n" for reply in replies))
        made = demo_run.Server(BINARY, script, port)
        made.command[1] = "--script"
        return made

    yield make
    leftover = make()
    if (pid := leftover.running_pid()) is not None:
        leftover.stop(pid)


def n_lines() -> int:
    return len((ROOT / "README.md").read_bytes().splitlines())


def test_right_call(server, capsys):
    demo = server(RIGHT, "It has some lines.")
    demo.ensure_running()
    assert demo_client.converse(demo.url)
    shown = capsys.readouterr().out
    assert 'Tool call    count_lines({"path":' in shown.replace('{"path" :', '{"path":')
    assert f'"lines": {n_lines()}' in shown
    assert "Answer       It has some lines." in shown
    assert "first token after" in shown and "tokens/s" in shown


def test_a_call_for_another_file_is_wrong_and_reads_nothing(server, capsys):
    demo = server(OTHER_FILE, "Done.")
    demo.ensure_running()
    assert not demo_client.converse(demo.url)
    shown = capsys.readouterr().out
    assert "no file ../../etc/passwd in the repository" in shown
    assert "not the call that the question needs" in shown


def test_no_call_is_wrong(server, capsys):
    demo = server("I cannot see files.")
    demo.ensure_running()
    assert not demo_client.converse(demo.url)
    shown = capsys.readouterr().out
    assert "did not call the tool by itself" in shown and "not the call that the question needs" in shown


def test_a_model_that_must_be_told_is_told(server, capsys):
    demo = server("I cannot see files.", RIGHT, "It has some lines.")
    demo.ensure_running()
    assert demo_client.converse(demo.url)
    assert "It has some lines." in capsys.readouterr().out


def test_a_running_server_is_found_again_and_stopped(server, capsys):
    demo = server(RIGHT)
    pid = demo.ensure_running()
    assert demo.ensure_running() == pid
    assert f"running already (pid {pid})" in capsys.readouterr().out
    demo.stop(pid)
    assert not demo.is_ready() and not demo_run.is_alive(pid)


def test_a_port_of_somebody_else_is_named(server):
    demo = server(RIGHT)
    with socket.socket() as other:
        other.bind(("127.0.0.1", demo.port))
        other.listen()
        with pytest.raises(SystemExit, match=f"port {demo.port} is taken"):
            demo.ensure_running()


def test_a_server_that_cannot_start_shows_its_words(server, tmp_path):
    demo = server(RIGHT)
    (tmp_path / "script.jsonl").write_text("not JSON\n")
    with pytest.raises(SystemExit, match="ended with status 1"):
        demo.ensure_running()


@pytest.mark.parametrize(
    "args, words",
    [
        (["--model", "gpt"], "--model: found gpt, expected qwen or smollm2"),
        (["--port", "99999"], "--port: found 99999, expected 1 to 65535"),
        (["--port"], "--port needs a value"),
        (["--twice"], "found --twice"),
    ],
)
def test_wrong_usage(args, words):
    done = subprocess.run([ROOT / "scripts/demo", *args], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert words in done.stderr
