"""Servers under test: how each is started at its best settings, and what the system says about it meanwhile."""

import os
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

from machine import cpu_s_of
from peers import last_words

START_SECONDS = 180


class CannotRun(Exception):
    """An engine does not run a workload; in words that go under the table."""


@dataclass
class Settings:
    """What a workload declares. Every engine gets the same."""

    threads: int
    context: int = 8192  # the longest request, in tokens
    streams: int = 8  # requests at once
    total: int = 0  # tokens that all streams hold together; 0: one context
    prompt_cache: bool = True  # llama.cpp keeps the prompts of idle slots in RAM; it loses by that where none comes again
    memory: str = ""  # Tempo9's --memory


@dataclass
class Engine:
    name: str
    binary: Path
    flags: list[str] = field(default_factory=list)  # added at the end, so that they win

    def command(self, model: Path, port: int, s: Settings) -> list[str]:
        raise NotImplementedError

    def version(self) -> str:
        result = subprocess.run([self.binary, "--version"], capture_output=True, text=True, timeout=20, check=False)
        return " ".join((result.stdout + result.stderr).split())[:200]


class Tempo9(Engine):
    def command(self, model, port, s):
        return [str(self.binary), "--gguf", str(model), "--port", str(port), "--threads", str(s.threads), "--max-length",
                str(s.context), "--max-batch", str(max(16, s.streams)), *(["--memory", s.memory] if s.memory else []),
                *self.flags]


class LlamaCpp(Engine):
    def command(self, model, port, s):
        # One KV pool for all slots; flash attention; as many batch threads as others. What idle slots held is kept in
        # RAM, and pieces of a prompt are used again behind a change, where the workload sends anything twice.
        cache = ["--cache-ram", "8192", "--cache-reuse", "256"] if s.prompt_cache else ["--cache-ram", "0"]
        return [str(self.binary), "-m", str(model), "--port", str(port), "--host", "127.0.0.1", "-t", str(s.threads),
                "-tb", str(s.threads), "-c", str(s.total or s.context), "-np", str(s.streams), "--kv-unified", "-fa", "on",
                "-b", "2048", "-ub", "512", *cache, *self.flags]


class IkLlamaCpp(Engine):
    def command(self, model, port, s):
        # It cuts its KV cache into equal parts, one a slot. Not -rtr (repacked weights): its server aborts with that and
        # flash attention.
        cache = ["--cache-ram", "8192" if s.prompt_cache else "0"]
        return [str(self.binary), "-m", str(model), "--port", str(port), "--host", "127.0.0.1", "-t", str(s.threads),
                "-tb", str(s.threads), "-c", str(s.context * s.streams), "-np", str(s.streams), "-fa", "on",
                "--jinja", "-b", "2048", "-ub", "512", *cache, *self.flags]


class Running:
    """with Running(engine, model, settings, kv_folder, log_folder) as r: r.port, r.memory()

    kv_folder: where Tempo9 keeps its KV cache on disk; the same one for two starts is a restart.
    """

    def __init__(self, engine: Engine, model: Path, settings: Settings, kv_folder: Path, log_folder: Path, **environment):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.engine = engine
        self.command = [str(word) for word in engine.command(model, self.port, settings)]
        self._log = tempfile.NamedTemporaryFile(dir=log_folder, prefix=engine.name + "-", suffix=".log", delete=False)
        self.log_path = Path(self._log.name)
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("AS_", "TEMPO9_", "LLAMA_"))}
        kept |= {"AS_KV_OFFLOAD_PATH": str(kv_folder)} | environment
        started = time.perf_counter()
        self.process = subprocess.Popen(self.command, stdout=self._log, stderr=subprocess.STDOUT, env=kept,
                                        cwd=log_folder)  # ik_llama.cpp writes a log of its own there
        try:
            self._wait()
        except BaseException:
            self.close()
            raise
        self.start_s = time.perf_counter() - started

    def _wait(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise CannotRun(f"ended with {self.process.returncode} at start: {self.last_words()}")
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=5) as reply:
                    if reply.status == 200:
                        return
            except OSError:
                pass
            time.sleep(0.01)
        raise CannotRun(f"/health was not 200 within {START_SECONDS} s: {self.last_words()}")

    def last_words(self) -> str:
        return last_words(0, self.log_path.read_text(errors="replace"))

    def memory(self) -> dict[str, int]:
        """Resident bytes now and at most so far, and the part that is not pages of the mapped file."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        values = {line.split(":")[0]: line.split()[1] for line in status.splitlines() if line.endswith(" kB")}
        return {"resident": int(values["VmRSS"]) << 10, "peak": int(values["VmHWM"]) << 10,
                "anonymous": int(values["RssAnon"]) << 10}

    def cpu_s(self) -> float:
        return cpu_s_of(self.process.pid)

    def wait_gone(self, seconds: float = 10) -> bool:
        """Whether it ends by itself within that time."""
        try:
            self.process.wait(seconds)
            return True
        except subprocess.TimeoutExpired:
            return False

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self._log.close()

    def close(self) -> float:
        """SIGTERM; the seconds until it was gone."""
        begin = time.perf_counter()
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self._log.close()
        return time.perf_counter() - begin

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
