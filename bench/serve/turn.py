"""One engine's turn at a workload: its servers, its requests, and what makes a measurement count."""

import contextlib
import json
import os
import shutil
import tempfile
import time
import urllib.request
from pathlib import Path

import httpx
from engines import CannotRun, Engine, Running, Settings
from load import Prompts, Timed, completion, drive, own_cpu_s, together
from machine import ROOT, busy_processes, busy_s, cpu_s_of

# Running text of this repository: what coding agents send.
TEXT_FILES = ("docs/HACKING.md", "docs/architecture.md", "docs/determinism.md", "src/ops/program.h", "src/engine/engine.h",
              "src/kv/cache.h", "src/engine/step_loop.cc", "src/kv/cache.cc", "src/sched/scheduler.cc")


class Invalid(Exception):
    """A measurement that does not count, and why."""


def text() -> str:
    return "\n".join((ROOT / name).read_text() for name in TEXT_FILES)


def tokenize(port: int) -> list[int]:
    body = json.dumps({"content": text(), "add_special": False, "add_special_tokens": False}).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}/tokenize", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as reply:
        return json.load(reply)["tokens"]


def check(cell: str, timed: list[Timed], cold: bool) -> None:
    """Lengths are within 1 %, and nothing was cached where nothing may be. Raises Invalid."""
    for t in timed:
        if t.status != 200:
            raise Invalid(f"{cell}: answered {t.status}: {t.text[:200]}")
        if t.finish is None and not t.stopped:
            raise Invalid(f"{cell}: the stream ended without a finish_reason after {len(t.arrivals)} events")
        if t.asked and not t.stopped:
            n_prompt, n_new = t.asked
            if abs(t.n_prompt - n_prompt) > n_prompt // 100 or t.n_new != n_new:
                raise Invalid(f"{cell}: {t.n_prompt} + {t.n_new} tokens, asked for {n_prompt} + {n_new}")
        if cold and t.cached is not None and t.cached > 1:
            raise Invalid(f"{cell}: {t.cached} cached tokens in a cold run")


class Turn:
    """What a workload's turn is given. Values and raw data gather in .values and .raw."""

    def __init__(self, engine: Engine, model: Path, threads: int, round_number: int, quick: bool, folder: Path,
                 ids: dict[Path, list[int]], log):
        self.engine, self.model, self.quick, self.folder = engine, model, quick, folder
        self._threads, self._seed, self._ids, self._log = threads, round_number, ids, log
        self.values: dict[str, list[float]] = {}
        self.raw: list[dict] = []
        self.commands: list[list[str]] = []
        self.prompts: Prompts | None = None  # there with the first server
        self._own_pids: list[int] = []  # whose time is not another's load
        self._servers = contextlib.ExitStack()

    def q(self, full, quick):
        """The size of something: as measured, or to try the scripts."""
        return quick if self.quick else full

    def kv_folder(self) -> Path:
        folder = Path(tempfile.mkdtemp(prefix="kv-", dir=self.folder))
        self._servers.callback(shutil.rmtree, folder, ignore_errors=True)
        return folder

    def server(self, kv_folder: Path | None = None, warm: bool = True, environment: dict | None = None,
               **settings) -> Running:
        """A server that has answered one short request, unless warm is off. Also to be used with `with`."""
        running = Running(self.engine, self.model, Settings(self._threads, **settings), kv_folder or self.kv_folder(),
                          self.folder, **(environment or {}))
        self._servers.callback(running.close)
        self.commands.append([Path(a).name if a.startswith("/") else a for a in running.command])
        if not self.prompts:
            if self.model not in self._ids:
                self._ids[self.model] = tokenize(running.port)
            self.prompts = Prompts(self._ids[self.model], self._seed)
        if warm:
            drive(running.port, together([completion(self.prompts.fresh(64), 8)]))
        return running

    def close(self) -> None:
        self._servers.close()

    @contextlib.contextmanager
    def busy_machine(self):
        """Two other processes want all the time that they can get."""
        with busy_processes(2) as self._own_pids:
            yield
        self._own_pids = []

    def run(self, what: str, server: Running, job, cold: bool = False, check_all: bool = True) -> list[Timed]:
        """Does the job, checks that it counts, keeps what was measured."""
        def own():
            return own_cpu_s() + server.cpu_s() + sum(map(cpu_s_of, self._own_pids))
        busy, before, begin = busy_s(), own(), time.perf_counter()
        try:
            timed = drive(server.port, job)
        except httpx.HTTPError as words:
            if server.wait_gone():
                raise CannotRun(f"{what}: ended in the middle: {server.last_words()}") from words
            raise
        seconds = time.perf_counter() - begin
        others = busy_s() - busy - (own() - before)
        self.raw.append({"what": what, "seconds": round(seconds, 3),
                         "other_load": round(max(0.0, others) / seconds / os.cpu_count(), 3), "memory": server.memory(),
                         "requests": [t.as_json() for t in timed]})
        if check_all:
            check(what, timed, cold)
        return timed

    def value(self, cell: str, value: float) -> None:
        self.values.setdefault(cell, []).append(value)
        self._log(f"    {cell}: {value:.4g}")
