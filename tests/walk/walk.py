"""A page walked through as a newcomer would: every command that it shows, in its order, as it stands there."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))

from model_hub import Hub  # noqa: E402

PAGE = ROOT / "docs/getting-started.md"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
LIMIT_SECONDS = 600
SERVER = "http://127.0.0.1:11435"


def steps(page: Path) -> list[tuple[str, str]]:
    """("sh", a line) or ("python", a program)."""
    found = []
    for language, body in BLOCK.findall(page.read_text()):
        if language == "python":
            found.append(("python", body))
        else:
            assert language in ("", "sh"), f"{page}: found a block of {language}"
            found += [("sh", line) for line in body.splitlines() if line and not line.startswith("#")]
    return found


class Here:
    """This machine, with an empty home and the built program in PATH. What installs is left out."""

    def __init__(self, binary: Path, folder: Path, **environment):
        self.folder = folder
        (folder / "bin").mkdir()
        (folder / "bin/tempo9").symlink_to(binary.resolve())
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("TEMPO9_", "AS_", "HF_", "XDG_", "OLLAMA_"))}
        self.environment = {**kept, "HOME": str(folder), "PATH": f"{folder}/bin:{os.environ['PATH']}", "no_proxy": "*", **environment}

    def leaves_out(self, line: str) -> bool:
        return line.startswith("apt-get ")

    def start(self, line: str) -> subprocess.Popen:
        return subprocess.Popen(["bash", "-euc", f"exec {line}"], cwd=self.folder, env=self.environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


class Walk:
    """machine: Here, or whatever has its leaves_out(line) and start(line)."""

    def __init__(self, machine, report=print):
        self.machine, self.report, self.server = machine, report, None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.server:
            self.server.send_signal(signal.SIGINT)  # as Ctrl-C
            try:
                code = self.server.wait(30)
                assert code == 0, f"exit code {code} after Ctrl-C"
            finally:
                self.server.kill()
                self.server.stdout.close()

    def go(self, page: Path) -> float:
        """The seconds that it took. Raises AssertionError at the step that went wrong."""
        begin = time.monotonic()
        for kind, text in steps(page):
            at = time.monotonic()
            if kind == "python":
                said = self.finish(subprocess.Popen([sys.executable, "-c", text], text=True, stdout=subprocess.PIPE,
                                                    stderr=subprocess.STDOUT, env={**os.environ, "no_proxy": "*"}), "the program in Python")
                assert said.strip(), "the client printed nothing"
                text = "(the program in Python)"
            elif self.machine.leaves_out(text):
                continue
            elif text.startswith("tempo9 serve "):
                self.server = self.machine.start(text)
                self.wait_until_served(text)
            else:
                self.finish(self.machine.start(text), text)
            self.report(f"{time.monotonic() - at:6.1f} s  {text}")
        seconds = time.monotonic() - begin
        assert seconds < LIMIT_SECONDS, f"{seconds:.0f} s"
        return seconds

    def finish(self, process: subprocess.Popen, what: str) -> str:
        try:
            said, _ = process.communicate(timeout=LIMIT_SECONDS)
        finally:
            process.kill()
        assert process.returncode == 0, f"{what}: exit code {process.returncode}\n{said[-3000:]}"
        return said

    def wait_until_served(self, what: str) -> None:
        said = ""
        while f"{SERVER}/v1" not in said:
            line = self.server.stdout.readline()
            said += line
            assert line, f"{what}: it ended: {said}"


def repository(page: Path) -> str:
    return re.search(r"tempo9 pull ([\w.-]+/[\w.-]+):", page.read_text())[1]


def hub_with(page: Path, model: Path) -> Hub:
    """Hugging Face, as far as this page needs it."""
    hub = Hub()
    hub.repos[repository(page)] = {"model-q4_k_m.gguf": model.read_bytes()}
    return hub

