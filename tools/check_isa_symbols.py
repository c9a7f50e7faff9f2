#!/usr/bin/env python3
"""Checks that objects built with wider instructions define no function that the linker could pick for other code.

    tools/check_isa_symbols.py --namespace tempo9::cpu::avx512 [--nm nm] OBJECT...

An inline function or template from std (or another room) that lands in such an object is a weak symbol. The linker keeps
one copy of each, maybe this one, and an older CPU then meets an instruction that it does not have. So every weak or
global function and every weak object must lie in the instruction set's own namespace. Local symbols ('t') are private
to their object and harmless.
"""

import argparse
import subprocess
import sys

# nm's letters for what may be shared: T text, W/V weak, u unique global, i indirect function, B D R data.
SHARED = set("TWVuiBDRG")
# What the compiler may emit around a namespace's name, and which carries no code.
PREFIXES = ("vtable for ", "typeinfo for ", "typeinfo name for ", "guard variable for ")


def shared_symbols(nm: str, objects: list[str]) -> list[tuple[str, str, str]]:
    """(object, letter, demangled name) of each symbol that is defined and visible to the linker."""
    output = subprocess.run([nm, "--demangle", "--defined-only", "--print-file-name", *objects],
                            check=True, capture_output=True, text=True).stdout  # fmt: skip
    found = []
    for line in output.splitlines():
        path, _, rest = line.partition(":")
        _, letter, name = rest.split(maxsplit=2)
        if letter in SHARED:
            found.append((path, letter, name))
    return found


def is_inside(name: str, namespace: str) -> bool:
    """Whether the symbol's own name (not a template argument or parameter of it) lies in the namespace."""
    for prefix in PREFIXES:
        name = name.removeprefix(prefix)
    if name.startswith(namespace + "::"):
        return True
    # A function template is printed with its return type: "Return ns::f<...>(...)". Cut at the first space outside <>.
    depth = 0
    for at, char in enumerate(name):
        depth += {"<": 1, "(": 1, ">": -1, ")": -1}.get(char, 0)
        if char == " " and depth == 0:
            return name[at + 1 :].startswith(namespace + "::")
    return False


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--namespace", required=True)
    parser.add_argument("--nm", default="nm")
    parser.add_argument("objects", nargs="+", metavar="OBJECT")
    args = parser.parse_args()
    symbols = shared_symbols(args.nm, args.objects)
    if not any(is_inside(name, args.namespace) for _, _, name in symbols):
        print(f"no symbol of {args.namespace} in {len(args.objects)} object(s): is this the right namespace?",
              file=sys.stderr)  # fmt: skip
        return 1
    faults = [symbol for symbol in symbols if not is_inside(symbol[2], args.namespace)]
    for path, letter, name in faults:
        print(f"{path}: '{letter}' {name} is outside {args.namespace}: make it T9_INLINE, or static", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
