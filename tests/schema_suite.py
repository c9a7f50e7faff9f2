#!/usr/bin/env python3
"""The official JSON Schema test suite (draft 2020-12) through `tempo9 schema check`.

    tests/schema_suite.py FOLDER [--binary build/release/tempo9]

FOLDER: a clone of json-schema-org/JSON-Schema-Test-Suite. Prints what was accepted, turned down and refused; exit
code 1 when an instance was accepted that the suite calls invalid. Also takes a folder of plain schemas
(--schemas FOLDER): how many compile, and in what time.
"""

import argparse
import collections
import concurrent.futures
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def check(binary, folder, number, schema, instance):
    schema_path, instance_path = folder / f"{number}.s.json", folder / f"{number}.i.json"
    schema_path.write_text(json.dumps(schema))
    instance_path.write_text(json.dumps(instance))
    start = time.monotonic()
    run = subprocess.run([binary, "schema", "check", "--schema", schema_path, "--instance", instance_path],
                         capture_output=True, text=True, timeout=120)
    return run.returncode, time.monotonic() - start, (run.stderr or run.stdout).strip()


def suite_cases(folder):
    for path in sorted((folder / "tests/draft2020-12").glob("*.json")):
        for group in json.loads(path.read_text()):
            for test in group["tests"]:
                yield f"{path.name}: {group['description']}: {test['description']}", group["schema"], test["data"], test["valid"]


def schema_cases(folder):
    for path in sorted(folder.rglob("*.json")):
        try:
            yield str(path), json.loads(path.read_text()), {}, None
        except ValueError:
            print(f"{path}: no JSON", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--schemas", type=Path)
    parser.add_argument("--binary", default=ROOT / "build/release/tempo9")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    cases = list(schema_cases(args.schemas) if args.schemas else suite_cases(args.folder))
    counts, seconds, wrong = collections.Counter(), [], []
    with tempfile.TemporaryDirectory() as temp, concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        runs = pool.map(lambda c: check(args.binary, Path(temp), c[0], *c[1][1:3]), enumerate(cases))
        for (name, _, _, valid), (code, took, said) in zip(cases, runs):
            counts[(valid, {0: "accepted", 1: "turned down", 2: "refused"}.get(code, f"exit code {code}"))] += 1
            seconds.append((took, name))
            if code not in (0, 1, 2) or (valid is False and code == 0):
                wrong.append(name)
            if code == 2:
                print(f"refused: {name}: {said}")
            elif valid and code == 1:
                print(f"turned down: {name}: {said}")
    seconds.sort()
    for (valid, verdict), n in sorted(counts.items(), key=str):
        print(f"{'' if valid is None else 'valid ' if valid else 'invalid '}{verdict}: {n}")
    print(f"compiled: {100 * (1 - sum(n for (_, v), n in counts.items() if v == 'refused') / len(cases)):.1f} %; "
          f"seconds: median {seconds[len(seconds) // 2][0]:.3f}, largest {seconds[-1][0]:.3f} ({seconds[-1][1]})")
    for name in wrong:
        print(f"WRONG: {name}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
