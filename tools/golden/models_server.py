"""Starts the real binary on a file and asks it for completions. Standard library only."""

import http.client
import json
import os
import re
import socket
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = float(os.environ.get("TEMPO9_TEST_START_SECONDS", "60"))

# What /proc/cpuinfo must show for each kernel table of src/cpu/list.inc.
ISA_FLAGS = {
    "scalar": set(),
    "avx2": {"avx2", "fma", "f16c"},
    "avxvnni": {"avx2", "fma", "f16c", "avx_vnni"},
    "evexvnni": {"avx2", "fma", "f16c", "avx512vl", "avx512_vnni"},
    "avx512": {"avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512_vnni"},
}


def kernel_tables() -> list[str]:
    """The names in src/cpu/list.inc, best first."""
    return re.findall(r"^T9_ISA\((\w+)", (ROOT / "src/cpu/list.inc").read_text(), re.M)


def model_tables() -> list[str]:
    """Those that whole models are run on. The two with VNNI in 256 bits are AVX2's code but for the dot product, and unit tests
    hold all tables to the same bits: here they only count where they are what a user would get."""
    return [isa for isa in kernel_tables() if isa != "evexvnni" and (isa != "avxvnni" or machine_runs(isa))]


def machine_runs(isa: str) -> bool:
    flags = set(re.search(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text(), re.M)[1].split())
    return ISA_FLAGS[isa] <= flags


def binary() -> Path:
    return Path(os.environ.get("TEMPO9_BIN", ROOT / "build/release/tempo9"))


class Server:
    """with Server(path, threads=1) as s: s.complete([1, 2, 3], max_tokens=4)"""

    def __init__(self, gguf, *, threads=1, kv_type="f32", isa=None, max_length=2048, flags=()):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("AS_", "TEMPO9_CPU", "TEMPO9_THREADS"))}
        environment["AS_KV_OFFLOAD"] = "0"
        if isa:
            environment["TEMPO9_CPU_ISA"] = isa
        self._log = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            [binary(), "--gguf", gguf, "--port", str(self.port), "--threads", str(threads), "--kv-type", kv_type,
             "--max-length", str(max_length), *flags],
            stdout=self._log, stderr=subprocess.STDOUT, env=environment)
        try:
            self._wait()
        except BaseException:
            self.close()
            raise

    def _wait(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                raise RuntimeError(f"the server ended with {self._process.returncode}: {self.log()}")
            try:
                if self.request("GET", "/health", timeout=5)[0] == 200:
                    return
            except OSError:
                pass
            time.sleep(0.02)
        raise RuntimeError(f"/health was not 200 within {START_SECONDS} s: {self.log()}")

    def log(self) -> str:
        self._log.seek(0)
        return self._log.read()[-2000:].decode(errors="replace")

    def request(self, method, path, body=None, timeout=300.0):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request(method, path, None if body is None else json.dumps(body),
                               {"Content-Type": "application/json"})
            reply = connection.getresponse()
            return reply.status, reply.read()
        finally:
            connection.close()

    def complete(self, prompt, **fields) -> dict:
        """POST /v1/completions, greedy unless fields say otherwise; the parsed reply."""
        body = {"model": "tiny", "prompt": prompt, "temperature": 0, "ignore_eos": True, "return_token_ids": True,
                "return_tokens_as_token_ids": True} | fields
        status, raw = self.request("POST", "/v1/completions", body)
        if status != 200:
            raise RuntimeError(f"/v1/completions answered {status}: {raw[:500].decode(errors='replace')}; {self.log()}")
        return json.loads(raw)

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._log.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
