"""The documents against the binary: every flag, route and file that is named is there, every flag that is there is named,
and every command that is shown is run, or at least has a program with these flags."""

import json
import os
import re
import shlex
import socket

import httpx
import pytest
from conftest import ROOT, USER, Server, run_binary

FLAG = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]+")
# Of our scripts and of other programs.
OTHERS = {"--model", "--once", "--write", "--sanitizers", "--full", "--tests", "--browser", "--version", "--help"}
PAGES = ["README.md", "SECURITY.md", *(f"docs/{name}.md" for name in ("cli", "security", "operations", "reliability", "limits",
                                                                      "ollama-models", "quantisations"))]


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
    for page in ("README.md", "docs/operations.md", "docs/security.md", "docs/limits.md"):
        for span in re.findall(r"`(?:GET |POST )?(/[a-z][\w/-]*)`", (ROOT / page).read_text()):
            named.add(span)
    assert len(named) > 10
    with httpx.Client(base_url=echo.url) as client:
        for path in sorted(named):
            answers = {client.request(method, path).status_code for method in ("GET", "POST")}
            assert answers != {404}, path


def rows(page: str) -> list[list[str]]:
    lines = [line for line in (ROOT / page).read_text().splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def test_every_format_is_in_the_table_with_its_bits():
    told = {row[0]: row[1:3] for row in rows("docs/quantisations.md") if len(row) == 4}
    served = re.findall(r"^T9_QUANT\((\w+)\)", (ROOT / "src/quant/list.inc").read_text(), re.M)
    sizes = {name: (int(n), int(n_bytes)) for name, n, n_bytes in
             re.findall(r'T9_DTYPE\(\d+, \w+, "(\w+)", (\d+), (\d+)\)', (ROOT / "src/tensor/dtype.inc").read_text())}
    assert set(told) - {"format", "---"} == set(served) and len(served) > 25
    for name in served:
        n, n_bytes = sizes[name]
        assert (int(told[name][0]), float(told[name][1])) == (n, 8 * n_bytes / n), name


def stated(what: str) -> int:
    """The first number of that row's limit."""
    limit = next(row[1] for row in rows("docs/limits.md") if row[0].startswith(what))
    return int(re.search(r"[\d,]+", limit)[0].replace(",", ""))


# What the page states is taken, one more is not. Each gives path and body for a number.
REQUEST_LIMITS = {
    "nesting of its JSON": lambda n: ("/v1/completions", {"prompt": "a", "x_extra": json.loads("[" * (n - 1) + "]" * (n - 1))}),
    "keys of one object": lambda n: ("/v1/completions", {"prompt": "a", "x_extra": {str(i): 1 for i in range(n)}}),
    "stop strings": lambda n: ("/v1/chat/completions", {"messages": USER, "stop": [f"never {i}" for i in range(n)]}),
    "`n`": lambda n: ("/v1/chat/completions", {"messages": USER, "n": n, "max_tokens": 1}),
    "choices of a completion": lambda n: ("/v1/completions", {"prompt": ["a"] * n, "max_tokens": 1}),
    "`top_logprobs`": lambda n: ("/v1/chat/completions", {"messages": USER, "logprobs": True, "top_logprobs": n}),
}


@pytest.mark.parametrize("what", REQUEST_LIMITS)
def test_a_limit_is_where_the_page_says(echo, what):
    n = stated(what)
    for number, status in ((n, 200), (n + 1, 400)):
        path, body = REQUEST_LIMITS[what](number)
        answer = httpx.post(echo.url + path, json=body, timeout=120)
        assert answer.status_code == status, (number, answer.text[:300])


def test_the_server_is_bounded_as_the_page_says(echo):
    head = stated("head of a request") * 1024
    assert httpx.get(echo.url + "/health", headers={"X-A": "a" * (head - 1000)}).status_code == 200
    with httpx.Client() as client:
        assert client.get(echo.url + "/health", headers={"X-A": "a" * head}).status_code == 431
    body = stated("body") << 20
    with socket.create_connection(("127.0.0.1", echo.port), timeout=30) as connection:
        connection.sendall(b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % (body + 1))
        assert b" 413 " in connection.recv(4096).split(b"\r\n")[0]
    source = (ROOT / "src/server/http/listener.h").read_text() + (ROOT / "src/server/generation.cc").read_text() + \
        (ROOT / "src/engine/build.h").read_text() + (ROOT / "src/gguf/parse.h").read_text() + (ROOT / "src/server/response_store.h").read_text()
    for what, pattern in {"connections": r"max_connections = (\d+);", "requests that wait": r"kMaxWaiting = (\d+);",
                          "bodies of all": r"max_bodies_bytes = (\d+)ull << 20", "keys and tensors": r"kMaxKeys = ([\d']+);",
                          "elements of its arrays": r"kMaxArrayElements = ([\d']+);", "stored replies": r"kMaxCount = (\d+);"}.items():
        assert stated(what) == int(re.search(pattern, source)[1].replace("'", "")), what


# Every page, and what it shows.
ALL_PAGES = sorted({"README.md", "SECURITY.md", "CONTRIBUTING.md", *(str(p.relative_to(ROOT)) for p in (ROOT / "docs").rglob("*.md"))})
BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.M | re.S)
# Programs of others that pages show; what they say of clients is run by tests/clients.
FOREIGN = {"git", "cd", "cmake", "cpack", "ctest", "apt-get", "xargs", "pip", "docker", "umask", "openssl", "curl"}
ROUTE = re.compile(r"/(?:v1|api|health|metrics|tokenize|detokenize|apply-template|debug)(?:/[\w/-]*)?(?![\w./-])")
MODELS = re.compile(r"^(?:F|MODEL|NAME|F\.gguf|model\.gguf|[\w.-]+/[\w.-]+(?::[\w.]+)?|\w+:[\w.]+)$")


def shown_commands(page: str) -> list[list[str]]:
    """The words of each command: of blocks without a language or of the shell, and of spans that begin with tempo9."""
    text = (ROOT / page).read_text()
    lines = []
    for language, body in BLOCK.findall(text):
        if language.split(" ")[0] in ("", "sh") and "connect/" not in page:
            lines += re.sub(r"\\\n\s*", " ", body).splitlines()
    prose = re.sub(r"\s+", " ", BLOCK.sub("", text))
    lines += [span for span in re.findall(r"`([^`]+)`", prose) if span.startswith("tempo9 ")]
    commands = []
    for line in lines:
        line = re.split(r"\s#|\s{4}", line.strip())[0]  # the remark behind it
        for part in re.split(r"&&|;", line) if '"' not in line and "'" not in line else [line]:
            try:
                words = shlex.split(part)
            except ValueError:
                continue  # no command
            if words and re.fullmatch(r"(?:[\w./-]+/)?tempo9|(?:scripts|bench|tests|tools|fuzz)/[\w./-]+", words[0]) or \
                    words and words[0] in FOREIGN:
                commands.append(words)
    return commands


ALL_COMMANDS = sorted({tuple(words) for page in ALL_PAGES for words in shown_commands(page)})


def test_commands_are_found():
    programs = {os.path.basename(words[0]) for words in ALL_COMMANDS}
    assert programs >= {"tempo9", "demo", "test", "run.py", "curl", "cmake", "docker"} and len(ALL_COMMANDS) > 40


def subcommand(words: list[str]) -> str:
    """What stands first, or serve."""
    return words[0] if words and words[0] in COMMANDS else "serve"


@pytest.mark.parametrize("words", [w for w in ALL_COMMANDS if os.path.basename(w[0]) == "tempo9"], ids=shlex.join)
def test_commands_of_ours(words, tmp_path):
    """Run where that needs no model and no network; else known by name and flags."""
    words = [w for w in words[1:] if w not in ("...", "=")]
    if "COMMAND" in words:
        return
    command = subcommand(words)
    flags = {w.split("=")[0] for w in words if w.startswith("--")}
    assert flags <= help_flags(command) | {"--help", "--version"}
    models = [w for w in words if MODELS.fullmatch(w) and w not in COMMANDS]
    if command in ("list", "completion") or words in (["doctor"], ["pull"], ["schema", "check"]):
        done = run_binary(*words, HOME=tmp_path, XDG_DATA_HOME=tmp_path)
        assert done.returncode in ((0, 1) if command == "doctor" else (2,) if command == "schema" else (0,)), done.stderr
    elif command == "show":
        done = run_binary("show", ROOT / "tests/data/gguf/kinds.gguf", *flags)
        assert done.returncode == 0, done.stderr
    elif command in ("rm", "run") and models and not flags:
        done = run_binary(*words, HOME=tmp_path, XDG_DATA_HOME=tmp_path)
        assert done.returncode == 1 and models[0] in done.stderr, "none of that name is here"


@pytest.mark.parametrize("words", [w for w in ALL_COMMANDS if "/" in w[0] and os.path.basename(w[0]) != "tempo9"], ids=shlex.join)
def test_commands_of_the_repository(words):
    program = ROOT / words[0]
    assert os.access(program, os.X_OK), program
    text = program.read_text()
    for flag in (w for w in words[1:] if w.startswith("--")):
        assert flag in text, f"{words[0]} has no {flag}"


def test_what_the_readme_sends_is_answered(echo):
    sent = 0
    for words in ALL_COMMANDS:
        if words[0] != "curl" or "--unix-socket" in words:
            continue
        url = next(w for w in words if w.startswith("http"))
        body = words[words.index("-d") + 1] if "-d" in words else None
        headers = dict(words[i + 1].split(": ", 1) for i, w in enumerate(words) if w == "-H")
        answer = httpx.request("POST" if body else "GET", echo.url + "/" + url.split("/", 3)[3], content=body, headers=headers)
        assert answer.status_code == 200, (words, answer.text)
        sent += 1
    assert sent > 0


def test_the_script_that_is_shown_plays(tmp_path):
    blocks = [body for language, body in BLOCK.findall((ROOT / "docs/script-mode.md").read_text()) if '{"text"' in body]
    assert blocks
    script = tmp_path / "shown.jsonl"
    script.write_text("".join(blocks))
    server = Server("serve", "--script", script)
    assert httpx.get(server.url + "/health").status_code == 200 and server.stop() == 0


@pytest.mark.parametrize("page", ALL_PAGES)
def test_what_a_page_names_is_there(page, echo):
    text = (ROOT / page).read_text()
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        if "://" not in target:
            assert ((ROOT / page).parent / target).exists(), target
    for language, body in BLOCK.findall(text):
        if language.split(" ")[0] == "json":
            json.loads(body)
    spans = " ".join(re.findall(r"`([^`\n]+)`", text))
    for path in re.findall(r"(?<![\w./~-])(?:scripts|tools|tests|bench|packaging|fuzz|src)/[\w./-]+\w", spans):
        if not path.startswith("bench/results/"):  # which runs make
            assert list(ROOT.glob(path + "*")), path
    for path in sorted({route.rstrip("/") for route in ROUTE.findall(spans)} - {"/v1", "/api"}):
        answers = {httpx.request(method, echo.url + path).status_code for method in ("GET", "POST")}
        assert answers != {404}, path
