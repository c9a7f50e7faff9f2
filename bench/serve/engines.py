"""Servers under test: how each is started at its best settings, and what the system says about it meanwhile."""

import os
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Settings:
    threads: int
    context: int  # tokens that all streams together may hold
    streams: int
    log_folder: Path


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
                str(s.context), "--max-batch", str(max(16, s.streams)), *self.flags]


class LlamaCpp(Engine):
    def command(self, model, port, s):
        # One KV pool for all slots, flash attention, as many batch threads as others; no copies of idle slots in RAM,
        # which would cost it memory and time here and win nothing.
        return [str(self.binary), "-m", str(model), "--port", str(port), "--host", "127.0.0.1", "-t", str(s.threads),
                "-tb", str(s.threads), "-c", str(s.context), "-np", str(s.streams), "--kv-unified", "-fa", "on",
                "-b", "2048", "-ub", "512", "--cache-ram", "0", *self.flags]


class Running:
    """with Running(engine, model, settings) as r: r.port, r.memory()"""

    def __init__(self, engine: Engine, model: Path, settings: Settings):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.command = engine.command(model, self.port, settings)
        self._log = tempfile.NamedTemporaryFile(dir=settings.log_folder, prefix=engine.name + "-", suffix=".log",
                                                delete=False)
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("AS_", "TEMPO9_", "LLAMA_"))}
        # As it is by default, but each start begins with an empty one.
        self._kv = tempfile.TemporaryDirectory(prefix="tempo9-bench-kv-")
        environment["AS_KV_OFFLOAD_PATH"] = self._kv.name
        started = time.perf_counter()
        self.process = subprocess.Popen(self.command, stdout=self._log, stderr=subprocess.STDOUT, env=environment)
        try:
            self._wait(engine)
        except BaseException:
            self.close()
            raise
        self.start_s = time.perf_counter() - started

    def _wait(self, engine: Engine) -> None:
        deadline = time.monotonic() + 180
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise SystemExit(f"{engine.name} ended with {self.process.returncode}: {' '.join(self.command)}; "
                                 f"its log: {self._log.name}")
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=5) as reply:
                    if reply.status == 200:
                        return
            except OSError:
                pass
            time.sleep(0.05)
        raise SystemExit(f"{engine.name}: /health was not 200 within 180 s; its log: {self._log.name}")

    def memory(self) -> dict[str, int]:
        """Resident bytes now and at most so far, and the part that is not pages of the mapped file."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        values = {line.split(":")[0]: line.split()[1] for line in status.splitlines() if line.endswith(" kB")}
        return {"resident": int(values["VmRSS"]) << 10, "peak": int(values["VmHWM"]) << 10,
                "anonymous": int(values["RssAnon"]) << 10}

    def cpu_s(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self._log.close()
        self._kv.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def machine_busy_s() -> float:
    """CPU seconds that all processes together used since the machine started."""
    user, nice, system, _, _, irq, softirq, *_ = map(int, Path("/proc/stat").read_text().split("\n")[0].split()[1:])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")
