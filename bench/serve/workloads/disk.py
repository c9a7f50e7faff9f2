"""The KV cache on disk: a restart, and everything that can happen to the files."""

import contextlib
import random
import threading
import time
from pathlib import Path

import httpx
from engines import CannotRun, Running
from load import completion, drive, one_by_one, together
from spec import OURS, Cell, Claim, Workload, at_least, at_most
from turn import Invalid, Turn


def restart(t: Turn) -> None:
    folder = t.kv_folder()
    server = t.server(kv_folder=folder, context=8192, streams=1)
    request = completion(t.prompts.fresh(t.q(5120, 320)), t.q(64, 8))
    (cold,) = t.run("cold", server, together([request]), cold=True)
    t.value("stop_s", server.close())
    with t.server(kv_folder=folder, warm=False, context=8192, streams=1) as again:
        (first,) = t.run("first", again, together([request]))
    t.value("cold_ms", 1000 * cold.ttft)
    t.value("first_ms", 1000 * first.ttft)
    t.value("first_share", 100 * first.ttft / cold.ttft)
    t.value("from_disk", 100 * (first.cached or 0) / first.n_prompt)
    t.value("same_text", 100.0 * (first.text == cold.text and bool(cold.text)))


class Watch:
    """The most bytes that a folder had, looked at all the time, and when something in it last changed."""

    def __init__(self, folder: Path):
        self._folder, self.most, self._stop = folder, 0, threading.Event()
        self.changed = threading.Event()  # since it was last cleared
        self._before: list = []
        self._thread = threading.Thread(target=self._run, daemon=True)

    def look(self) -> None:
        files = []
        for file in sorted(self._folder.rglob("*")):
            try:
                found = file.stat()
                files.append((file.name, found.st_size, found.st_mtime_ns))
            except FileNotFoundError:
                pass  # removed meanwhile
        self.most = max(self.most, sum(size for _, size, _ in files))
        if files != self._before:
            self._before = files
            self.changed.set()

    def _run(self) -> None:
        while not self._stop.is_set():
            self.look()
            time.sleep(0.002)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()
        self.look()


CAPS = (16e6, 30e6, 45e6)  # bytes; smaller than what is asked, so that pages are thrown out all the time


def kills(t: Turn) -> None:
    n_kills, n_flips, n_cuts = t.q(200, 5), t.q(50, 4), t.q(20, 2)
    seed = random.randrange(1 << 32)
    dice, folder = random.Random(seed), t.kv_folder()
    t.raw.append({"what": "kills", "seed": seed, "kills": (story := [])})

    plain = t.server(environment={"AS_KV_OFFLOAD": "0"})
    requests = [completion(t.prompts.fresh(dice.randrange(64, 300)), 12) for _ in range(4)]
    expected = [r.text for r in t.run("expected", plain, one_by_one(requests))]
    plain.close()

    # Which of the restarts find a byte flipped or a file cut short.
    harm = ["flip"] * n_flips + ["cut"] * n_cuts
    harm_at = {i: [] for i in range(n_kills)}
    for what in harm:
        harm_at[dice.randrange(n_kills)].append(what)
    counts = dict.fromkeys(("served", "wrong", "from_disk", "flips", "cuts", "writing"), 0)
    most_share = 0.0
    for number in range(n_kills + 1):
        cap = dice.choice(CAPS)
        try:
            server = t.server(kv_folder=folder, warm=False, environment={"AS_KV_OFFLOAD_GB": f"{cap / 1e9:.3f}"})
        except CannotRun as words:
            story.append({"number": number, "does not start": str(words)})
            continue
        with Watch(folder) as watch:
            asked = dice.sample(range(len(requests)), 2)
            for i, reply in zip(asked, drive(server.port, one_by_one([requests[i] for i in asked]))):
                counts["wrong"] += reply.text != expected[i] or reply.status != 200
                counts["from_disk"] += reply.cached or 0
            counts["served"] += 1
            if number < n_kills:
                counts["writing"] += kill_while_writing(t, server, watch, dice)
        server.close()
        most_share = max(most_share, watch.most / cap)
        if watch.most > cap:
            story.append({"number": number, "cap": cap, "most": watch.most})
        for what in harm_at.get(number, []):
            story.append({"number": number, what: damage(folder, what, dice)})
            counts["flips" if what == "flip" else "cuts"] += 1
    t.value("kills", n_kills)
    t.value("flips", counts["flips"])
    t.value("cuts", counts["cuts"])
    t.value("served", 100 * counts["served"] / (n_kills + 1))
    t.value("wrong", counts["wrong"])
    t.value("most_share", 100 * most_share)
    t.value("from_disk", counts["from_disk"])
    t.value("writing", 100 * counts["writing"] / n_kills)
    if counts["from_disk"] == 0:
        raise Invalid("nothing was ever read from the disk: this shows nothing")


def kill_while_writing(t: Turn, server: Running, watch: Watch, dice: random.Random) -> bool:
    """New prompts one after the other, so that pages go to the disk; SIGKILL a moment after the folder changed. Whether it
    did change: else the kill comes after five seconds."""
    after_s, changed = dice.random() * 0.3, []

    def kill() -> None:
        watch.changed.clear()
        changed.append(watch.changed.wait(timeout=5))
        time.sleep(after_s)
        server.kill()

    killer = threading.Thread(target=kill)
    killer.start()
    with contextlib.suppress(httpx.HTTPError):
        drive(server.port, one_by_one([completion(t.prompts.fresh(dice.randrange(64, 300)), 4) for _ in range(200)]))
    killer.join()
    return changed[0]


def damage(folder: Path, what: str, dice: random.Random) -> str:
    files = [f for f in sorted(folder.rglob("*")) if f.is_file() and f.stat().st_size > 0]
    if not files:
        return "no file"
    file = dice.choice(files)
    data = bytearray(file.read_bytes())
    if what == "cut":
        data = data[:dice.randrange(len(data))]
    else:
        data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
    file.write_bytes(data)
    return f"{file.suffix} of {len(data)} bytes"


WORKLOADS = [
    Workload("restart", "Restart", "a prompt of 5,120 tokens, 64 tokens of reply; the server is ended with SIGTERM and started "
             "again; the same request is the first that it gets", {
                 "cold_ms": Cell("first token, cold", "ms"),
                 "stop_s": Cell("SIGTERM until gone", "s", None),
                 "first_ms": Cell("first token of the first request after the restart", "ms"),
                 "first_share": Cell("... as a share of the cold one", "%"),
                 "from_disk": Cell("of its prompt, served from disk", "%", True),
                 "same_text": Cell("the text is the cold one's, byte for byte", "%", None)}, restart,
             (at_most("at most 15 % of the cold time", "first_share", 15),
              at_least("the same text, byte for byte", "same_text", 100))),
    Workload("kills", "Kills and damage", "SIGKILL at a random moment while pages are being written, again and again on one "
             "folder whose cap changes from start to start; in between bytes are flipped and files cut short. After each start "
             "two of four known prompts are asked and compared with what a server without the folder said", {
                 "kills": Cell("kills", "", None), "flips": Cell("flipped bytes", "", None),
                 "cuts": Cell("files cut short", "", None),
                 "served": Cell("starts that served", "%", None),
                 "wrong": Cell("wrong replies", "", None),
                 "most_share": Cell("most bytes in the folder, as a share of the cap", "%", None),
                 "from_disk": Cell("tokens served from disk", "", None),
                 "writing": Cell("kills that found the folder changing", "%", None)}, kills,
             (at_most("no wrong byte", "wrong", 0), at_most("the cap is never exceeded", "most_share", 100),
              at_least("every restart serves", "served", 100),
              Claim("pages did come from disk", ("from_disk",), lambda v: min(v.ours("from_disk")) > 0, False)),
             engines=(OURS,)),
]
