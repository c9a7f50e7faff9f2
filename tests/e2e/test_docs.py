"""The documents against the binary: every flag and route that is named is there, and every flag that is there is named."""

import re

import httpx
import pytest
from conftest import ROOT, run_binary

FLAG = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]+")
# Of our scripts and of other programs.
OTHERS = {"--model", "--once", "--write", "--sanitizers", "--full", "--tests", "--browser", "--version", "--help"}
PAGES = ["README.md", "SECURITY.md", *(f"docs/{name}.md" for name in ("cli", "security", "operations", "reliability"))]


def help_flags(command: str) -> set[str]:
    done = run_binary(command, "--help")
    assert done.returncode == 0
    listed = re.findall(r"^\s+(?:-\w,)?(--[\w-]+)", done.stdout, re.M) or FLAG.findall(done.stdout.splitlines()[0])
    return set(listed) - {"--help"}


def sections() -> dict[str, str]:
    parts = re.split(r"^## (?:tempo9 )?(.+)$", (ROOT / "docs/cli.md").read_text(), flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


COMMANDS = re.findall(r'T9_SUBCOMMAND\("(\w+)"', (ROOT / "src/cli/list.inc").read_text())


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_its_section_with_its_flags(command):
    first_cells = [line.split("|")[1] for line in sections()[command].splitlines() if line.startswith("| `")]
    assert set(FLAG.findall(" ".join(first_cells))) == help_flags(command)


@pytest.mark.parametrize("page", PAGES)
def test_flags_that_are_named_are_there(page):
    known = set().union(*(help_flags(command) for command in COMMANDS)) | OTHERS
    named = set(FLAG.findall((ROOT / page).read_text()))
    assert named <= known, named - known


def test_variables_that_are_named_are_read():
    named = set(re.findall(r"\b(?:TEMPO9|AS|OLLAMA|HF|XDG)_[A-Z_]+\b", sections()["Environment"]))
    read = set(re.findall(r'"([A-Z0-9_]+)"', (ROOT / "src/cli/env.cc").read_text() + (ROOT / "src/cli/cli.h").read_text()))
    assert len(named) > 8 and named - {"TEMPO9_", "AS_"} <= read


def test_routes_that_are_named_are_there(echo):
    named = set()
    for page in ("README.md", "docs/operations.md", "docs/security.md"):
        for span in re.findall(r"`(?:GET |POST )?(/[a-z][\w/-]*)`", (ROOT / page).read_text()):
            named.add(span)
    assert len(named) > 10
    with httpx.Client(base_url=echo.url) as client:
        for path in sorted(named):
            answers = {client.request(method, path).status_code for method in ("GET", "POST")}
            assert answers != {404}, path
