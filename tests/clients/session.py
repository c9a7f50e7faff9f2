"""One run of one client: a server, an empty project, a home of its own, the page's configuration."""

import contextlib
import json
import os
import queue
import re
import signal
import subprocess
import tempfile
import threading
import urllib.request
from pathlib import Path

import pages
from clients import CONTENT, REPLY, TASK, Client, Route

ROOT = Path(__file__).resolve().parents[2]
SCRIPT_CONTEXT = 400_000  # a script's tokens are bytes, and a coding agent's first request has 50 KB
SCRIPT_SECONDS = 240


class Failed(Exception):
    """The client ran and did not do its task; says why."""


class Server:
    def __init__(self, *flags):
        binary = os.environ.get("TEMPO9_BIN", ROOT / "build/release/tempo9")
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("TEMPO9_", "AS_"))}
        self.process = subprocess.Popen([binary, *map(str, flags), "--port", "0"], stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True, env={**kept, "AS_KV_OFFLOAD": "0"})
        lines = queue.Queue()
        threading.Thread(target=lambda: lines.put(self.process.stdout.readline()), daemon=True).start()
        line = lines.get(timeout=120)
        found = re.search(r"http://127\.0\.0\.1:\d+", line)
        if not found:
            self.process.kill()
            raise RuntimeError(f"the server did not start: {line!r}")
        self.url = found[0]

    def counted(self, name: str) -> int:
        text = urllib.request.urlopen(self.url + "/metrics", timeout=30).read().decode()
        return int(sum(float(value) for value in re.findall(rf"^{re.escape(name)}(?:{{.*}})? (\S+)$", text, re.MULTILINE)))

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise


class Outcome:
    def __init__(self, project: Path, output: str, status: int | None):
        self.output, self.status = output, status  # status None: stopped for its time
        made = project / "made.txt"
        self.made = made.exists() and made.read_text(errors="replace").strip() == CONTENT
        self.exists = made.exists()

    def end(self) -> str:
        return re.sub(r"\s+", " ", self.output)[-500:]


@contextlib.contextmanager
def work_folder(name: str, keep: Path | None):
    if keep:
        keep.mkdir(parents=True, exist_ok=True)
        yield Path(tempfile.mkdtemp(prefix=f"{name}-", dir=keep))
        return
    with tempfile.TemporaryDirectory(prefix=f"tempo9-{name}-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def run_client(client: Client, page: pages.Page, work: Path, bin_folder: Path, seconds: float) -> Outcome:
    project, home = work / "project", work / "home"
    project.mkdir()
    home.mkdir()
    subprocess.run(["git", "init", "-q", project], check=True)
    page.write_files(home, project)
    (work / "command.sh").write_text(page.script())
    environment = {"PATH": f"{bin_folder}:{os.environ['PATH']}", "HOME": str(home), "LANG": "C.UTF-8", "TERM": "dumb", "CI": "1",
                   "GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@localhost", "GIT_COMMITTER_NAME": "t",
                   "GIT_COMMITTER_EMAIL": "t@localhost"}
    with open(work / "output.txt", "w+b") as output:
        process = subprocess.Popen(["bash", "-e", work / "command.sh"], cwd=project, env=environment, stdin=subprocess.DEVNULL,
                                   stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            status = process.wait(seconds)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # what it started and left
            process.wait()
    return Outcome(project, (work / "output.txt").read_text(errors="replace"), status)


def run_script(client: Client, route: Route, bin_folder: Path, keep: Path | None) -> tuple[str, str]:
    with work_folder(f"{client.name}{route.path.replace('/', '-')}", keep) as work:
        script = work / "script.jsonl"
        script.write_text("".join(json.dumps(line) + "\n" for line in client.script))
        server = Server("serve", "--script", script, "--max-length", SCRIPT_CONTEXT)
        try:
            page = pages.read(client.name).fill(server.url, TASK, SCRIPT_CONTEXT, route.replace)
            outcome = run_client(client, page, work, bin_folder, SCRIPT_SECONDS)
            n_requests = server.counted("vllm:request_success_total")
        finally:
            server.stop()
    if outcome.status is None:
        raise Failed(f"it ran for more than {SCRIPT_SECONDS} s, {n_requests} requests answered; {outcome.end()}")
    if outcome.status:
        raise Failed(f"exit {outcome.status}: {outcome.end()}")
    if not outcome.made:
        raise Failed(f"the tool call was not carried out: {outcome.end()}")
    if REPLY not in outcome.output:
        raise Failed(f"the last reply was not shown: {outcome.end()}")
    return "passed", f"{client.note or 'tool call carried out, last reply shown'}; {n_requests} requests"


def run_model(client: Client, model: Path, bin_folder: Path, seconds: float, keep: Path | None) -> tuple[str, str]:
    """A small model does what it can: told are the client's end and what was asked and answered."""
    with work_folder(f"{client.name}-model", keep) as work:
        server = Server("--gguf", model, "--max-length", pages.CONTEXT)
        try:
            task = f"Make the file made.txt. Its content is: {CONTENT}"
            page = pages.read(client.name).fill(server.url, task, int(pages.CONTEXT), {})
            outcome = run_client(client, page, work, bin_folder, seconds)
            names = ("vllm:request_success_total", "vllm:prompt_tokens_total", "vllm:prefix_cache_hits_total",
                     "vllm:generation_tokens_total")
            n, prompt, cached, generated = (server.counted(name) for name in names)
        finally:
            server.stop()
    counts = f"{n} replies, {prompt:,} prompt tokens ({cached:,} cached), {generated:,} generated"
    if n == 0:
        raise Failed(f"no reply was finished: {outcome.end()}")
    did = "the file is there" if outcome.exists else "no file was made"
    end = f"stopped after {seconds:.0f} s" if outcome.status is None else f"the client's exit status is {outcome.status}"
    return ("done" if outcome.exists else "ran"), f"{did}; {counts}; {end}"
