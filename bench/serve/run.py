#!/usr/bin/env python3
"""Tempo9's server beside others: same file, same machine, same load, turn by turn. Method: docs/benchmarks.md.

  bench/serve/run.py --list                     the workloads
  bench/serve/run.py agents --gguf MODEL.gguf   one of them; also several, or all
  bench/serve/run.py all --quick --engines tempo9 --gguf MODEL.gguf   only to try the scripts: seconds, nothing is kept
  bench/serve/run.py --pages                    writes docs/benchmarks.md and its pictures anew from the results there

Writes everything measured to bench/results/serve/WORKLOAD/MODEL.json and the tables and pictures of docs/benchmarks.md.
Ends with 1 when Tempo9 did not play a workload to its end. Also from the environment: TEMPO9_BIN, LLAMA_SERVER,
IK_LLAMA_SERVER.
"""

import argparse
import json
import os
import re
import sys
import tempfile
from datetime import datetime, timezone
from pathlib import Path

import httpx

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "vs")]

from build_peers import program_folder  # noqa: E402
from engines import CannotRun, IkLlamaCpp, LlamaCpp, Tempo9  # noqa: E402
from machine import ROOT, commit, machine, the_only_run  # noqa: E402
from report import write_page  # noqa: E402
from spec import OURS, Workload  # noqa: E402
from turn import Invalid, Turn  # noqa: E402
from workloads import WORKLOADS  # noqa: E402

RESULTS = ROOT / "bench/results/serve"


def compare(workload: Workload, model: Path, engines: list, args, folder: Path, ids: dict) -> dict:
    """Plays the workload by turns, A-B-C-A-B-C, and gives all that was measured."""
    engines = [e for e in engines if e.name in workload.engines]
    result = {"workload": workload.name, "model": model.name, "file_bytes": model.stat().st_size, "machine": machine(),
              "commit": commit(), "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
              "settings": {"threads": args.threads, "rounds": args.rounds, "quick": args.quick},
              "engines": {e.name: {"version": e.version(), "rounds": []} for e in engines}}
    for number in range(args.rounds):
        for engine in engines:
            say(f"{workload.name}, {model.name}, round {number + 1} of {args.rounds}: {engine.name}")
            turn = Turn(engine, model, args.threads, number, args.quick, folder, ids, say)
            played = {"values": turn.values, "raw": turn.raw, "commands": turn.commands}
            try:
                workload.turn(turn)
            except (CannotRun, Invalid, ValueError, OSError, LookupError, httpx.HTTPError) as words:
                played["failed"] = re.sub(r"(?:/[\w.+-]+)+/", "", f"{words or type(words).__name__}")[:300]
                say(f"    failed: {played['failed']}")
            finally:
                turn.close()
            result["engines"][engine.name]["rounds"].append(played | {"load_average": os.getloadavg()})
    return result


def say(words: str) -> None:
    print(words, flush=True)


def failed(result: dict, engine: str) -> bool:
    return any("failed" in r for r in result["engines"].get(engine, {"rounds": []})["rounds"])


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help="all, or " + ", ".join(WORKLOADS))
    parser.add_argument("--gguf", type=Path, action="append", default=[], help="again for one more")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--engines", default="tempo9,llama.cpp,ik_llama.cpp", help="with commas between; those not there "
                        "are left out with a word (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help="tiny prompts, one round: to try the scripts, not to measure")
    parser.add_argument("--out", type=Path, help="results there, and docs/benchmarks.md is left as it is")
    parser.add_argument("--tempo9", type=Path, default=os.environ.get("TEMPO9_BIN", ROOT / "build/release/tempo9"))
    parser.add_argument("--llama-server", type=Path,
                        default=os.environ.get("LLAMA_SERVER", program_folder("llama.cpp") / "llama-server"))
    parser.add_argument("--ik-llama-server", type=Path,
                        default=os.environ.get("IK_LLAMA_SERVER", program_folder("ik_llama.cpp") / "llama-server"))
    for name in ("tempo9", "llama", "ik-llama"):
        parser.add_argument(f"--{name}-flags", default="", help="added to its command, in one argument")
    parser.add_argument("--list", action="store_true", help="name the workloads")
    parser.add_argument("--pages", action="store_true", help="only write docs/benchmarks.md anew")
    args = parser.parse_args()
    if args.workloads == ["all"]:
        args.workloads = list(WORKLOADS)
    if unknown := set(args.workloads) - set(WORKLOADS):
        parser.error(f"found {', '.join(sorted(unknown))}, expected all or some of {', '.join(WORKLOADS)}")
    if not (args.list or args.pages) and not (args.workloads and args.gguf):
        parser.error("expected workloads and --gguf, or --list, or --pages")
    if args.quick:
        args.rounds = 1
    args.gguf = [path.resolve() for path in args.gguf]
    args.tempo9, args.llama_server, args.ik_llama_server = (
        Path(path).resolve() for path in (args.tempo9, args.llama_server, args.ik_llama_server))
    return args


def engines_there(args) -> list:
    engines = [Tempo9(OURS, args.tempo9, args.tempo9_flags.split()),
               LlamaCpp("llama.cpp", args.llama_server, args.llama_flags.split()),
               IkLlamaCpp("ik_llama.cpp", args.ik_llama_server, args.ik_llama_flags.split())]
    wanted = args.engines.split(",")
    if unknown := set(wanted) - {e.name for e in engines}:
        raise SystemExit(f"--engines: found {', '.join(unknown)}, expected some of {', '.join(e.name for e in engines)}")
    engines = [e for e in engines if e.name in wanted]
    for engine in [e for e in engines if not Path(e.binary).is_file()]:
        say(f"{engine.name} is left out: no program at {engine.binary}; bench/vs/build_peers.py builds it")
        engines.remove(engine)
    if OURS in wanted and OURS not in [e.name for e in engines]:
        raise SystemExit(f"tempo9: no program at {args.tempo9}")
    return engines


def main() -> None:
    args = parse_arguments()
    if args.list:
        return print("\n".join(f"{w.name:15} {w.title}" for w in WORKLOADS.values()))
    worked = True
    with the_only_run(), tempfile.TemporaryDirectory(prefix="tempo9-bench-") as scratch:
        folder, ids = Path(scratch), {}
        out = args.out or (folder / "results" if args.quick else RESULTS)
        engines = [] if args.pages else engines_there(args)
        for workload in (WORKLOADS[name] for name in args.workloads):
            for model in args.gguf:
                result = compare(workload, model, engines, args, folder, ids)
                path = out / workload.name / f"{model.stem}.json"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(json.dumps(result) + "\n")
                worked = worked and not failed(result, OURS)
        if not args.out and not args.quick:
            write_page(RESULTS, ROOT / "docs/benchmarks.md", WORKLOADS)
    sys.exit(0 if worked else 1)


if __name__ == "__main__":
    main()
