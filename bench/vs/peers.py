"""The engines of bench/vs: what each is asked for a cell, in each setting worth trying, and how its answer is read."""

import json
import os
import re
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

TIMEOUT_S = 1200


class CannotRun(Exception):
    """An engine does not run a cell; in its own words."""


@dataclass(frozen=True)
class Cell:
    """prefill:512 | decode:1 | decode:8@512 (rows @ tokens of context before each) | busy"""

    name: str
    kind: str  # prefill or decode
    n: int  # tokens of the prompt, or of each reply
    rows: int = 1
    depth: int = 0
    once: bool = False  # a model so large that a turn is long enough without repeats

    @staticmethod
    def parse(text: str, once: bool = False) -> "Cell":
        m = re.fullmatch(r"prefill:([1-9]\d*)|decode:([1-9]\d*)(?:@(\d+))?|busy", text)
        if not m:
            raise ValueError(f"found cell '{text}', expected prefill:N, decode:ROWS, decode:ROWS@DEPTH or busy")
        if m[1]:
            return Cell(text, "prefill", int(m[1]), once=once)
        n = 32 if text == "busy" or once else 64 if m[3] else 128
        return Cell(text, "decode", n, int(m[2] or 1), int(m[3] or 0), once)

    @property
    def words(self) -> str:
        if self.kind == "prefill":
            return f"prefill, {self.n} tokens"
        rows = "1 row" if self.rows == 1 else f"{self.rows} rows together"
        context = f", {self.depth} tokens of context" if self.depth else ""
        return f"decode, {rows}{context}" + (", two other busy processes, share" if self.name == "busy" else "")

    @property
    def repeats(self) -> int:
        return 1 if self.once or self.depth or self.kind == "prefill" and self.n > 1024 else 3


@dataclass
class Engine:
    """Those below say `command`, and `read`: tok/s of each repeat from what it printed (ValueError, KeyError: none there)."""

    name: str
    program: Path  # or the folder of the programs

    def settings(self, cell: Cell) -> dict[str, list]:
        """What is tried for this cell, by name: the best one counts."""
        return {"": []}

    def run(self, cell: Cell, setting: str, model: Path, threads: int) -> list[float]:
        command = [str(word) for word in (*self.command(cell, model, threads), *self.settings(cell)[setting])]
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("TEMPO9_", "LLAMA_", "GGML_", "OMP_"))}
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=TIMEOUT_S,
                                  env=environment, check=False)
            values = self.read(cell, done.stdout) if done.returncode == 0 else []
        except subprocess.TimeoutExpired:
            raise CannotRun(f"not done after {TIMEOUT_S} s") from None
        except (ValueError, KeyError):
            values = []
        if not values:
            raise CannotRun(last_words(done.returncode, done.stderr or done.stdout))
        return values


def last_words(code: int, text: str) -> str:
    """The last line that says what went wrong, else the last one, without the machine's folders."""
    lines = [line.strip() for line in text.splitlines() if re.search(r"\w", line)]
    telling = [line for line in lines if re.search("error|fail|abort|assert|unsupported|greater", line, re.IGNORECASE)]
    words = re.sub(r"(?:/[\w.+-]+)+/", "", (telling or lines or ["no words"])[-1])
    how = f"{signal.Signals(-code).name}: " if code < 0 else "" if code else "no figures: "
    return (how + words)[:200]


def read_llama_bench(text: str) -> list[float]:
    """llama-bench -o json, of either project; other lines may stand before it."""
    (test,) = json.loads(text[text.index("[\n"):])
    return test["samples_ts"]


def read_batched_bench(text: str, rows: int) -> list[float]:
    """llama-batched-bench's table: PP TG B N_KV T_PP S_PP T_TG S_TG T S; S_TG sums over the rows."""
    lines = [[word.strip() for word in line.split("|")[1:-1]] for line in text.splitlines()]
    return [float(words[7]) for words in lines if len(words) == 10 and words[2] == str(rows)]


class Tempo9(Engine):
    def command(self, cell, model, threads):
        decode = ["--decode", cell.n, "--rows", cell.rows, "--depth", cell.depth]
        return [self.program, "bench", "--gguf", model, "--threads", threads, "--repeat", cell.repeats,
                "--json", *(["--prefill", cell.n] if cell.kind == "prefill" else decode)]

    def read(self, cell, text):
        (result,) = json.loads(text)["results"]
        if (result["kind"], result["n"]) != (cell.kind, cell.n):
            raise ValueError("another cell")
        return [result["tok_s"]]


class LlamaCpp(Engine):
    no_warm_up = ["--no-warmup"]

    def settings(self, cell):
        unified = {"fa 1, unified KV": ["-fa", 1, "-kvu"]} if cell.rows > 1 else {}
        return {"fa 1": ["-fa", 1], "fa 0": ["-fa", 0]} | unified

    def command(self, cell, model, threads):
        if cell.rows > 1:
            prompt = max(1, cell.depth)
            return [self.program / "llama-batched-bench", "-m", model, "-t", threads, "-tb", threads, "-b", 2048, "-ub", 512,
                    "-c", cell.rows * (prompt + cell.n), "-npp", prompt, "-ntg", cell.n, "-npl", cell.rows]
        what = ["-p", cell.n, "-n", 0] if cell.kind == "prefill" else self.decode(cell)
        # A long prompt needs no warm-up of its own length, which is what llama-bench would run.
        warm_up = self.no_warm_up if cell.n > 4096 or cell.depth > 4096 or cell.once and cell.kind == "prefill" else []
        return [self.program / "llama-bench", "-m", model, "-t", threads, "-r", cell.repeats, "-o", "json", *warm_up, *what]

    def decode(self, cell: Cell) -> list:
        return ["-p", 0, "-n", cell.n, "-d", cell.depth]

    def read(self, cell, text):
        return read_batched_bench(text, cell.rows) if cell.rows > 1 else read_llama_bench(text)


class IkLlamaCpp(LlamaCpp):
    no_warm_up = ["-w", 0]

    def settings(self, cell):
        if cell.rows > 1:
            return {"rtr 1": ["-fa", "on", "-rtr"], "rtr 0": ["-fa", "on", "--no-mmap"]}
        return {f"rtr {x}": ["-fa", 1, "-mmp", 0, "-rtr", x] for x in (1, 0)}

    def decode(self, cell):
        return ["-p", 0, "-n", 0, "-gp", f"{cell.depth},{cell.n}"] if cell.depth else ["-p", 0, "-n", cell.n]


class OpenVino(Engine):
    def command(self, cell, model, threads):
        return [self.program, Path(__file__).with_name("openvino_run.py"), model, threads, cell.kind, cell.n, cell.repeats,
                cell.rows, cell.depth]

    def read(self, cell, text):
        return json.loads(text[text.rindex("["):])
