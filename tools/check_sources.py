#!/usr/bin/env python3
"""Checks what a reader counts on: no file too long to take in, and every room described.

- Sources and headers have at most 500 lines (tables in *.inc are free).
- Every room of src/ has a README.md of at most 30 lines.
- No line of ours ends in spaces or holds a tab, and every file ends with a newline.
"""

import argparse
import pathlib
import subprocess
import sys

MAX_LINES = 500
MAX_README_LINES = 30
CODE = {".cc", ".h", ".py", ".cmake"}


def tracked_files(root: pathlib.Path) -> list[pathlib.Path]:
    """What git knows or would add; outside a repository everything but build/."""
    command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        return [path for path in root.rglob("*") if path.is_file() and "build" not in path.parts]
    return [path for name in done.stdout.split("\0") if name and (path := root / name).is_file()]


def check_text(path: pathlib.Path, name: str) -> list[str]:
    text = path.read_text(errors="replace")
    lines = text.splitlines()
    faults = []
    if len(lines) > MAX_LINES:
        faults.append(f"{name}: {len(lines)} lines, at most {MAX_LINES}: look for a second thing in it")
    if text and not text.endswith("\n"):
        faults.append(f"{name}: no newline at its end")
    for number, line in enumerate(lines, start=1):
        if line != line.rstrip() or "\t" in line:
            faults.append(f"{name}:{number}: a tab, or spaces at the line's end")
    return faults


def check(root: pathlib.Path) -> list[str]:
    faults = []
    rooms = set()
    for path in tracked_files(root):
        name = path.relative_to(root).as_posix()
        if path.suffix in CODE:
            faults += check_text(path, name)
        if name.startswith("src/") and path.suffix in {".cc", ".h"}:
            rooms.add(name.split("/")[1])
    for room in sorted(rooms):
        readme = root / "src" / room / "README.md"
        if not readme.is_file():
            faults.append(f"src/{room}: no README.md")
        elif (n_lines := len(readme.read_text().splitlines())) > MAX_README_LINES:
            faults.append(f"src/{room}/README.md: {n_lines} lines, at most {MAX_README_LINES}")
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", nargs="?", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    faults = check(parser.parse_args().root)
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
