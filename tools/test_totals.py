#!/usr/bin/env python3
"""Adds up JUnit files (CTest's and pytest's): names what failed, groups what was skipped by its reason, and closes with
'N passed, N failed, N skipped' alone on a line. Fails when anything failed, or when nothing ran at all.

    tools/test_totals.py [--passed N] [--failed NAME]... [--skipped REASON]... RESULT.xml...

--passed, --failed and --skipped count checks that write no such file. A result file that is missing or broken is a failure.
"""

import argparse
import collections
import re
import sys
import xml.etree.ElementTree as ElementTree


def skip_reason(case: ElementTree.Element, skipped: ElementTree.Element) -> str:
    """pytest gives the reason in the message. CTest only knows that the output matched; GoogleTest's words are in there:
    'file.cc:12: Skipped' and the reason on the line below."""
    output = case.findtext("system-out") or ""
    if match := re.search(r": Skipped\n+(.+)", output):
        return match.group(1).strip()
    return (skipped.get("message") or "no reason given").strip()


class Totals:
    def __init__(self, passed: int, failed: list[str], skipped: list[str]):
        self.passed = passed
        self.failed = list(failed)
        self.skipped: dict[str, list[str]] = collections.defaultdict(list)
        for reason in skipped:
            self.skipped[reason].append("a whole run")

    def add_file(self, path: str) -> None:
        try:
            root = ElementTree.parse(path).getroot()
        except (OSError, ElementTree.ParseError) as error:
            self.failed.append(f"{path}: {error}")
            return
        for case in root.iter("testcase"):
            name = "::".join(filter(None, (case.get("classname"), case.get("name"))))
            if case.get("classname") == case.get("name"):  # CTest writes the name twice
                name = case.get("name")
            skipped = case.find("skipped")
            could_not_run = skipped is not None and "Unable to find executable" in (skipped.get("message") or "")
            if case.find("failure") is not None or case.find("error") is not None or could_not_run:
                self.failed.append(name)
            elif skipped is not None:
                self.skipped[skip_reason(case, skipped)].append(name)
            elif case.get("status") in ("disabled", "notrun"):
                self.skipped["not run"].append(name)
            else:
                self.passed += 1

    def print(self) -> None:
        n_skipped = sum(map(len, self.skipped.values()))
        if self.skipped:
            print("\nskipped:")
        for reason, names in sorted(self.skipped.items()):
            print(f"  {len(names):4} {reason}   (such as {names[0]})")
        if self.failed:
            print("\nfailed:")
        for name in self.failed:
            print(f"  {name}")
        print(f"\n{self.passed} passed, {len(self.failed)} failed, {n_skipped} skipped")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passed", type=int, default=0)
    parser.add_argument("--failed", action="append", default=[], metavar="NAME")
    parser.add_argument("--skipped", action="append", default=[], metavar="REASON")
    parser.add_argument("results", nargs="*", metavar="RESULT.xml")
    args = parser.parse_args()
    totals = Totals(args.passed, args.failed, args.skipped)
    for path in args.results:
        totals.add_file(path)
    if totals.passed == 0 and not totals.failed:
        totals.failed.append("no test ran")
    totals.print()
    return 1 if totals.failed else 0


if __name__ == "__main__":
    sys.exit(main())
