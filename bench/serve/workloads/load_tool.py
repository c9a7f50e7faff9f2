"""AIPerf, a load tool that many use, against the server: what it measures, and that it finds no fault."""

import json
import os
import subprocess
import tempfile
import venv
from pathlib import Path

from build_peers import PEERS
from engines import CannotRun
from machine import ROOT
from spec import Cell, Claim, Workload
from turn import Invalid, Turn

FOLDER = PEERS.parent / "load-tool"
PROGRAM = FOLDER / "bin/aiperf"
REQUIREMENTS = ROOT / "requirements-load-tool.txt"
DOORS = {"chat": "/v1/chat/completions", "completions": "/v1/completions"}


def install() -> None:
    """Into an environment of its own, once for each list of requirements."""
    installed = FOLDER / "installed.txt"
    if installed.exists() and installed.read_bytes() == REQUIREMENTS.read_bytes():
        return
    venv.create(FOLDER, with_pip=True)
    done = subprocess.run([FOLDER / "bin/python", "-m", "pip", "install", "--quiet", "--require-hashes", "-r", REQUIREMENTS],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CannotRun(f"aiperf is not to be had: {done.stderr[-200:]}")
    installed.write_bytes(REQUIREMENTS.read_bytes())


def tokenizer_folder(t: Turn) -> Path:
    folder = t.folder / f"tokenizer-{t.model.stem}"
    if not folder.exists():
        script = ROOT / "bench/serve/tokenizer_folder.py"
        done = subprocess.run([FOLDER / "bin/python", script, t.model, folder], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise CannotRun(f"no tokenizer for aiperf: {done.stderr[-200:]}")
    return folder


def load_tool(t: Turn) -> None:
    install()
    tokenizer = tokenizer_folder(t)
    with t.server(context=4096, streams=8, total=16384) as server:
        for door in DOORS:
            report = profile(t, server.port, door, tokenizer)
            n = t.q(64, 6)
            if int(report["request_count"]["avg"]) != n or report.get("error_request_count", {}).get("avg"):
                raise Invalid(f"{door}: {report['request_count']} of {n} requests without an error")
            t.raw.append({"what": door, "report": report})
            t.value(f"{door}_requests", report["request_count"]["avg"])
            t.value(f"{door}_ttft_ms", report["time_to_first_token"]["p50"])
            t.value(f"{door}_itl_ms", report["inter_token_latency"]["avg"])
            t.value(f"{door}_rate", report["output_token_throughput"]["avg"])


def profile(t: Turn, port: int, door: str, tokenizer: Path) -> dict:
    out = Path(tempfile.mkdtemp(dir=t.folder))
    words = [PROGRAM, "profile", "--model", "bench", "--url", f"http://127.0.0.1:{port}", "--endpoint-type", door,
             "--streaming", "--concurrency", 8, "--request-count", t.q(64, 6), "--synthetic-input-tokens-mean", t.q(512, 64),
             "--synthetic-input-tokens-stddev", 0, "--output-tokens-mean", t.q(64, 8), "--output-tokens-stddev", 0,
             "--extra-inputs", "ignore_eos:true", "--tokenizer", tokenizer, "--random-seed", 7, "--ui", "none",
             "--output-artifact-dir", out, "--no-gpu-telemetry", "--no-server-metrics"]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=1800, check=False, cwd=out,
                          env={k: v for k, v in os.environ.items() if k != "HF_HUB_OFFLINE"})  # it would look up no folder
    reports = list(out.rglob("profile_export_aiperf.json"))
    if done.returncode != 0 or not reports:
        raise CannotRun(f"aiperf ended with {done.returncode}: {(done.stderr or done.stdout)[-300:]}")
    metrics = json.loads(reports[0].read_text())
    return {name: value for name, value in metrics.items() if isinstance(value, dict) and "avg" in value}


WORKLOADS = [
    Workload("load_tool", "AIPerf", "NVIDIA's load tool (`aiperf`, pinned in requirements-load-tool.txt), 64 requests of about "
             "512 tokens with 64 tokens of reply, eight at a time, through two routes; the numbers are the tool's own", {
                 f"{door}_{kind}": Cell(f"{words}, {route}", unit, better) for door, route in DOORS.items()
                 for kind, words, unit, better in (("requests", "requests answered", "", None),
                                                   ("ttft_ms", "first token, p50", "ms", False),
                                                   ("itl_ms", "between two tokens, mean", "ms", False),
                                                   ("rate", "tokens of replies together", "tok/s", True))}, load_tool,
             (Claim("it finds no fault", tuple(f"{d}_requests" for d in DOORS),
                    lambda v: all(n == 64 for d in DOORS for n in v.ours(f"{d}_requests")), beside_peer=False),)),
]
