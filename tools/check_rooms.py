#!/usr/bin/env python3
"""Checks that #includes follow the rooms' one direction. Reads the t9_room() lines that CMake reads.

- A room includes itself, what it names in DEPS, and what those name. A room's DEPS stand above it in the list.
- Every folder of src/ is a room, every quoted #include is an existing file of a room, written room/file.
- cpu/ and cuda/ are backends: outside tests and benchmarks only engine/build.cc includes them, whatever DEPS say.
- Only cuda/ sees CUDA's headers, only cli/env.cc calls getenv, our code throws nothing, and in server/ no Json begins as null.
"""

import argparse
import pathlib
import re
import sys

SOURCE_SUFFIXES = {".h", ".cc", ".inc", ".cu", ".cuh"}
BACKENDS = {"cpu", "cuda"}
BACKEND_INCLUDER = "engine/build.cc"
ROOM_LINE = re.compile(r"t9_room\(\s*([^)]*)\)")
KEYWORDS = {"DEPS", "LIBS", "EXCLUDE"}
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')
NULL_JSON = re.compile(r"^\s+Json [a-z_]*[a-z];")  # members end with _
CUDA_HEADER = re.compile(r"^(cuda|cublas|cudnn|nccl|curand|cub/|thrust/)")


def read_rooms(source: pathlib.Path) -> dict[str, list[str]]:
    """Room -> DEPS, in the order in which CMake sees them. A folder that is added with add_subdirectory() and builds by
    rules of its own is a room too: its DEPS are the rooms above it whose targets (t9_<room>) its file names."""
    rooms: dict[str, list[str]] = {}

    text = re.sub(r"#[^\n]*", "", (source / "CMakeLists.txt").read_text())
    for match in re.finditer(r"add_subdirectory\(\s*([\w/]+)[^)]*\)|" + ROOM_LINE.pattern, text):
        if match.group(1):
            inner = (source / match.group(1) / "CMakeLists.txt").read_text()
            named = re.findall(r"\bt9_(\w+)", re.sub(r"#[^\n]*", "", inner))
            rooms[match.group(1)] = [room for room in rooms if room in named]
            continue
        name, *words = match.group(2).split()
        deps, keyword = [], None
        for word in words:
            keyword = word if word in KEYWORDS else keyword
            if keyword == "DEPS" and word != "DEPS":
                deps.append(word)
        rooms[name] = deps
    return rooms


def closure(room: str, rooms: dict[str, list[str]]) -> set[str]:
    seen, todo = set(), [room]
    while todo:
        if (name := todo.pop()) not in seen:
            seen.add(name)
            todo += rooms.get(name, [])
    return seen


def check_order(rooms: dict[str, list[str]]) -> list[str]:
    faults, above = [], set()
    for room, deps in rooms.items():
        faults += [
            f"src/CMakeLists.txt: {room} names {dep} in DEPS, which is no room above it" for dep in deps if dep not in above
        ]
        above.add(room)
    return faults


def code_of(line: str) -> str:
    """The line without // comment and string literals, roughly: enough to look for a word."""
    return re.sub(r'"(\\.|[^"\\])*"', '""', line).split("//")[0]


def check_file(path: pathlib.Path, source: pathlib.Path, allowed: set[str]) -> list[str]:
    name = path.relative_to(source).as_posix()
    room = name.split("/")[0]
    is_test = path.stem.endswith(("_test", "_test_util")) or "/testing/" in name
    faults = []
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), start=1):
        at = f"src/{name}:{number}"
        if match := INCLUDE.match(line):
            quote, header = match.groups()
            other = header.split("/")[0]
            is_ours = (source / header).is_file()
            if quote == "<":
                if is_ours:
                    faults.append(f'{at}: <{header}> is ours, write "{header}"')
                if room != "cuda" and CUDA_HEADER.match(header):
                    faults.append(f"{at}: <{header}> is CUDA's, only cuda/ may see it")
                continue
            if not is_ours:
                faults.append(f'{at}: "{header}" is no file under src/ (write room/file)')
            elif other in BACKENDS and other != room:
                if name != BACKEND_INCLUDER and not is_test:
                    faults.append(f'{at}: "{header}": only {BACKEND_INCLUDER} and tests include a backend')
            elif other not in allowed:
                faults.append(f'{at}: "{header}": {room} may include {", ".join(sorted(allowed))}')
            continue
        code = code_of(line)
        if name != "cli/env.cc" and not is_test and re.search(r"\b(secure_)?getenv\s*\(", code):
            faults.append(f"{at}: getenv outside cli/env.cc: take an option instead")
        if re.search(r"\bthrow\b", code) and not is_test:
            faults.append(f"{at}: throw: return a Result instead")
        if room == "server" and path.suffix == ".cc" and not is_test and NULL_JSON.search(code):
            faults.append(f"{at}: begin it with Json::object() or Json::array(): made of a null later, where there is no "
                          "memory for it, it cannot be destroyed")
    return faults


def check(source: pathlib.Path) -> list[str]:
    rooms = read_rooms(source)
    faults = check_order(rooms)
    for folder in sorted(path for path in source.iterdir() if path.is_dir()):
        files = [path for path in sorted(folder.rglob("*")) if path.suffix in SOURCE_SUFFIXES]
        if files and folder.name not in rooms:
            faults.append(f"src/{folder.name}: no t9_room({folder.name} ...) in src/CMakeLists.txt")
            continue
        for path in files:
            faults += check_file(path, source, closure(folder.name, rooms))
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", nargs="?", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    faults = check(parser.parse_args().root / "src")
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
