"""`tempo9 run`: a conversation in the terminal, one reply from a pipe."""

import json
import os
import pty
import subprocess
import time

import pytest
from conftest import binary, clean_environment, run_binary


@pytest.fixture
def script(tmp_path):
    def write(*lines):
        path = tmp_path / "s.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return path

    return write


class Terminal:
    def __init__(self, *args):
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen([binary(), "run", *map(str, args)], stdin=slave, stdout=slave, stderr=slave,
                                        env=clean_environment(), start_new_session=True,
                                        preexec_fn=lambda: __import__("fcntl").ioctl(0, __import__("termios").TIOCSCTTY, 0))
        os.close(slave)
        self.seen = ""

    def until(self, text: str, seconds=20) -> str:
        """What came up to and with text."""
        end = time.monotonic() + seconds
        while text not in self.seen:
            assert time.monotonic() < end and self.process.poll() is None, self.seen
            self.seen += os.read(self.master, 65536).decode(errors="replace")
        part, self.seen = self.seen.split(text, 1)
        return part + text

    def type(self, text: str):
        os.write(self.master, text.encode())

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)


def test_a_conversation(script):
    terminal = Terminal("--script", script({"text": "<think>hm\x1b[2Jm</think>Hello\x1b]0;x\x07 you"}, {"text": "y" * 4000, "delay_ms": 20},
                                           {"text": "after"}, {"text": "two lines", "when": "first\nsecond"}))
    try:
        terminal.until(">>> ")
        terminal.type("/help\n")
        terminal.until("Ctrl-C stops a reply")
        terminal.until(">>> ")
        terminal.type("hi\n")
        reply = terminal.until(">>> ")
        assert "\x1b[2mhm[2Jm" in reply and "\x1b[0m" in reply, "thinking is dim"
        assert "Hello]0;x you" in reply and "\x1b]" not in reply and "\x07" not in reply, "control characters are left out"
        terminal.type("long\n")
        terminal.until("yyyyy")
        terminal.type("\x03")  # Ctrl-C: the reply ends, the program does not
        assert len(terminal.until(">>> ")) < 3000
        terminal.type("go on\n")
        assert "after" in terminal.until(">>> ")
        terminal.type('"""first\nsecond"""\n')
        assert "two lines" in terminal.until(">>> ")
        for line, says in (("/what", "no such command"), ("/clear", ""), ("/system be brief", ""), ("/nothink", "")):
            terminal.type(line + "\n")
            assert says in terminal.until(">>> ")
        terminal.type("/bye\n")
        assert terminal.process.wait(10) == 0
    finally:
        terminal.close()


def test_one_reply_from_a_pipe(script):
    lines = script({"text": "<think>not for pipes</think>The answer"})
    done = subprocess.run([binary(), "run", "--script", lines], input="question", capture_output=True, text=True, timeout=30,
                          env=clean_environment())
    assert (done.returncode, done.stdout, done.stderr) == (0, "The answer\n", "")


def test_what_cannot_be_asked(script):
    lines = script({"text": "x"})
    done = run_binary("run")
    assert done.returncode == 2 and "no model" in done.stderr
    done = run_binary("run", "/nonexistent.gguf", "hi")
    assert done.returncode == 1 and "/nonexistent.gguf" in done.stderr
    done = subprocess.run([binary(), "run", "--script", lines, "--max-length", "64"], input="word " * 100, capture_output=True,
                          text=True, timeout=30, env=clean_environment())
    assert done.returncode == 1 and "64" in done.stderr and done.stdout == ""
