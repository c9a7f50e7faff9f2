"""The template language against Jinja2 itself: random programs, and the real models' templates.

The program under test is t9_render_template, which stands beside the tempo9 binary (TEMPO9_BIN).
"""

import copy
import itertools
import json
import os
import random
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/golden"))

import chat_environment  # noqa: E402
import chat_styles  # noqa: E402

SEED = int(os.environ.get("TEMPO9_TEST_SEED", "20260504"))
PROGRAMS = int(os.environ.get("TEMPO9_TEST_PROGRAMS", "1000"))
NOW = "2026-05-04T10:11:12"


def renderer() -> Path:
    binary = Path(os.environ.get("TEMPO9_BIN", ROOT / "build/release/tempo9")).parent / "t9_render_template"
    if not binary.exists():
        pytest.skip(f"{binary} is not built (target t9_render_template)")
    return binary


def ours(requests: list) -> list:
    lines = "".join(json.dumps(r) + "\n" for r in requests)
    done = subprocess.run([renderer()], input=lines, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    answers = [json.loads(line) for line in done.stdout.split("\n") if line]
    assert len(answers) == len(requests)
    return answers


PYTHON_ERROR = re.compile(r"^([A-Z]\w*(?:Error|Exception)): ")


def same(expected: dict, got: dict) -> bool:
    """Texts are equal; template errors too; of Python's own exceptions the type is (their words differ by version)."""
    if "text" in expected:
        return "segments" in got and "".join(text for text, _ in got["segments"]) == expected["text"]
    if got.get("stage") != expected["stage"]:
        return False
    if expected["stage"] == "compile":
        return True
    wanted, found = PYTHON_ERROR.match(expected["error"]), PYTHON_ERROR.match(got["error"])
    if wanted:
        return bool(found) and wanted.group(1) == found.group(1)
    return expected["error"] == got["error"]


class Programs:
    """Random templates from a grammar, over fixed data. Most run; some fail, and must fail alike."""

    DATA = {
        "n": 5, "m": -2, "f": 2.5, "s": "Hello wörld", "e": "", "t": True, "z": None,
        "xs": [3, 1, 2], "ws": ["b", "A", "c d"], "mix": [1, "a", None, 2.5, True],
        "d": {"a": 1, "b": [1, 2], "c": {"k": "v <x>"}}, "rows": [
            {"name": "Ann", "age": 3, "tags": ["x"]}, {"name": "bob", "age": 1}, {"name": "Cé", "age": 3, "tags": []}],
    }
    NAMES = ["n", "m", "f", "s", "e", "t", "z", "xs", "ws", "mix", "d", "rows", "v", "w", "missing"]

    def __init__(self, rng: random.Random):
        self.rng = rng

    def pick(self, *options):
        option = self.rng.choice(options)
        return option() if callable(option) else option

    def literal(self):
        return self.pick("0", "1", "-3", "7", "2.5", "'a'", "'x y'", "''", "\"q'q\"", "true", "none", "[]", "[1, 2]", "['b', 'a']",
                         "{}", "{'k': 1}", "(1, 2)", "'é🙂'", "'<b>&'", "'a\\nb'")

    def atom(self):
        return self.pick(self.literal, lambda: self.rng.choice(self.NAMES), lambda: self.rng.choice(self.NAMES),
                         "d.a", "d.c.k", "d['b']", "rows[0].name", "rows[1].tags", "xs[0]", "ws[-1]", "s[1:4]", "range(3)", "d.nope")

    def expr(self, depth: int) -> str:
        if depth <= 0:
            return self.atom()
        sub = lambda: self.expr(depth - 1)  # noqa: E731
        return self.pick(
            self.atom,
            lambda: f"({sub()} {self.rng.choice(['+', '-', '*', '/', '//', '%', '~', '~', '~'])} {sub()})",
            lambda: f"({sub()} {self.rng.choice(['==', '!=', '<', '<=', '>', '>=', 'in', 'not in', 'and', 'or'])} {sub()})",
            lambda: f"(not {sub()})",
            lambda: f"({sub()} if {sub()} else {sub()})",
            lambda: f"({sub()} if {sub()})",
            lambda: f"{sub()}|{self.filter(depth)}",
            lambda: f"{sub()}|{self.filter(depth)}",
            lambda: f"({sub()} is {self.rng.choice(['', 'not '])}{self.test(depth)})",
            lambda: f"[{sub()}, {sub()}]",
            lambda: f"({sub()}, {sub()})",
            lambda: f"{{'p': {sub()}, 'q': {sub()}}}",
            # Not of a constant: Jinja2 folds it, and then an index that is none is undefined and no error.
            lambda: f"{self.rng.choice(self.NAMES)}[{self.rng.choice(['0', '-1', '1:', ':2', '::-1', '1:3', '::2', chr(39) + 'k' + chr(39)])}]",
            lambda: f"({sub()}|string).{self.method(depth)}",
            lambda: f"({sub()}).{self.rng.choice(['k', 'name', 'a', 'items()', 'keys()|list', 'upper()', 'get(' + chr(39) + 'k' + chr(39) + ')'])}",
        )

    def filter(self, depth):
        sub = lambda: self.expr(depth - 2)  # noqa: E731
        return self.pick("upper", "lower", "title", "capitalize", "trim", "length", "first", "last", "list", "string", "int", "float", "abs",
                         "sort", "unique|list", "join", "join(', ')", "reverse|list", "sum", "min", "max", "tojson", "tojson(indent=2)",
                         "tojson(separators=(',', ':'))", "map('upper')|list", "map(attribute='name')|list", "select|list", "reject('none')|list",
                         "selectattr('tags')|list", "selectattr('age', 'eq', 3)|map(attribute='name')|join('+')", "rejectattr('age', 'gt', 1)|list",
                         "dictsort", "items|list", "batch(2)|list", "slice(2)|list", "groupby('age')|list", "default('dd')", "d('x', true)",
                         "replace('a', 'Z')", "indent(2)", "indent(1, true, true)", "truncate(5)", "wordcount", "center(9)", "e", "safe|length", "round",
                         "round(1, 'floor')", "urlencode", "striptags", "count", "format", "sort(reverse=true)", "sort(attribute='age')|map(attribute='name')|list",
                         lambda: f"default({sub()})", lambda: f"join({sub()})", lambda: f"replace('b', {sub()})")

    def test(self, depth):
        return self.pick("defined", "undefined", "none", "string", "number", "mapping", "sequence", "iterable", "boolean", "integer", "float",
                         "odd", "even", "true", "false", "upper", "lower", "callable", lambda: f"in {self.atom()}", lambda: f"eq {self.atom()}",
                         lambda: f"gt({self.atom()})", lambda: f"sameas none", lambda: f"divisibleby({self.rng.choice(['2', '0', '3'])})")

    def method(self, depth):
        return self.pick("upper()", "strip()", "split()", "split(' ', 1)", "title()", "startswith('a')", "endswith('d')", "find('l')", "count('l')",
                         "replace('l', 'L')", "lstrip('H')", "rstrip('d')", "splitlines()", "isdigit()", "swapcase()", "zfill(9)", "partition(' ')",
                         "rsplit('l', 1)", "join(['x', 'y'])", "capitalize()", "isupper()", "removeprefix('H')", "index('zz')")

    def body(self, depth: int) -> str:
        return "".join(self.statement(depth) for _ in range(self.rng.randint(1, 3)))

    def space(self):
        return self.rng.choice(["", "", " ", "\n", "\n  ", "  \n", "x", "\t", " \n\n "])

    def tag(self, inside: str) -> str:
        return "{%" + self.rng.choice(["", "", "", "-", "+"]) + " " + inside + " " + self.rng.choice(["", "", "", "-", "+"]) + "%}" + self.space()

    def statement(self, depth: int) -> str:
        sub = lambda: self.body(depth - 1)  # noqa: E731
        e = lambda: self.expr(1)  # noqa: E731
        if depth <= 0:
            return self.space() + "{{" + self.rng.choice(["", "-"]) + " " + e() + " " + self.rng.choice(["", "-"]) + "}}"
        return self.space() + self.pick(
            lambda: "{{ " + self.expr(2) + " }}",
            lambda: "{{ " + self.expr(2) + " }}",
            lambda: self.tag(f"if {e()}") + sub() + self.tag("endif"),
            lambda: self.tag(f"if {e()}") + sub() + self.tag(f"elif {e()}") + sub() + self.tag("else") + sub() + self.tag("endif"),
            lambda: self.tag(f"for v in {self.pick('xs', 'ws', 'rows', 'd', 'mix', e)}") + "{{ loop.index }}" + sub() + self.tag("endfor"),
            lambda: self.tag(f"for v in {self.pick('xs', 'rows', 'mix')} if {e()}") + "{{ loop.length }}{{ loop.last }}" + sub() + self.tag("else") + sub() + self.tag("endfor"),
            lambda: self.tag("for v, w in d.items()") + "{{ loop.first }}" + sub() + self.tag("endfor"),
            lambda: self.tag("for v in xs") + sub() + self.tag(f"if {e()}") + self.tag(self.rng.choice(["break", "continue"])) + self.tag("endif") + sub() + self.tag("endfor"),
            lambda: self.tag(f"set {self.rng.choice(['v', 'w', 's', 'n'])} = {e()}"),
            lambda: self.tag(f"set {self.rng.choice(['v', 'w', 's', 'n'])} = {e()}"),
            lambda: self.tag("set v") + sub() + self.tag("endset") + "{{ v }}",
            lambda: self.tag("set w | upper") + sub() + self.tag("endset") + "{{ w|length }}",
            lambda: self.tag(f"set ns = namespace(a={e()})") + self.tag("for w in xs") + self.tag("set ns.a = ns.a ~ w") + self.tag("endfor") + "{{ ns.a }}",
            lambda: self.tag(f"macro g(p, q={e()})") + sub() + "{{ p }}{{ q }}" + self.tag("endmacro") + "{{ g(" + e() + ") }}{{ g(1, q=2)|length }}",
            lambda: self.tag("macro h()") + "[{{ caller() }}]" + self.tag("endmacro") + self.tag("call h()") + sub() + self.tag("endcall"),
            lambda: self.tag("filter upper") + sub() + self.tag("endfilter"),
            lambda: self.tag(f"with v = {e()}, w = {e()}") + sub() + self.tag("endwith"),
            lambda: "{#" + self.rng.choice(["", "-"]) + " c " + self.rng.choice(["", "-", "+"]) + "#}" + self.space(),
            lambda: "{% raw %}{{ n }}{% endraw %}",
            lambda: self.tag("generation") + sub() + self.tag("endgeneration"),
        )


def is_comparable(expected: dict) -> bool:
    if " at 0x" in expected.get("text", ""):
        return False  # an address
    # Ours has 64-bit integers and says so; a limit of the reference is no rule of the language.
    return "OverflowError" not in expected.get("error", "")


def test_random_programs():
    rng = random.Random(SEED)
    programs = Programs(rng)
    templates = [programs.body(2) for _ in range(PROGRAMS)]
    answers = ours([{"template": t, "variables": Programs.DATA, "now": NOW} for t in templates])
    n_texts, failures = 0, []
    warnings.simplefilter("ignore", SyntaxWarning)  # Python's remarks on what Jinja2 compiles these to
    for template, got in zip(templates, answers):
        # A copy: the reference's indent filter changes a list that it is given.
        expected = chat_environment.render(template, copy.deepcopy(Programs.DATA), NOW)
        if not is_comparable(expected) or "64 bits" in got.get("error", "") or "limit" in got.get("error", ""):
            continue
        n_texts += "text" in expected
        if not same(expected, got):
            failures.append((template, expected, got))
    shown = "\n\n".join(f"{t}\n  Jinja2: {e}\n  ours:   {g}" for t, e, g in sorted(failures, key=lambda f: len(f[0]))[:5])
    assert not failures, f"seed {SEED}: {len(failures)} of {PROGRAMS} differ, the shortest:\n{shown}"
    assert n_texts > PROGRAMS // 5, "too few of the random programs run to their end to mean anything"


def gguf_template(name: str) -> str:
    gguf = pytest.importorskip("gguf")
    folder = Path(os.environ.get("TEMPO9_MODELS", Path.home() / ".cache/tempo9/models"))
    files = sorted(folder.glob(f"*{name}*.gguf"))
    if not files:
        pytest.skip(f"no {name} model in {folder}")
    field = gguf.GGUFReader(files[0]).fields["tokenizer.chat_template"]
    return bytes(field.parts[field.data[0]]).decode()


@pytest.mark.parametrize("model", ["qwen2.5", "smollm2"])
def test_templates_of_real_models(model):
    template = gguf_template(model)
    cases = []
    for (name, messages), tools, prompt in itertools.product(chat_styles.CONVERSATIONS.items(), (None, chat_styles.TOOLS), (True, False)):
        variables = {"messages": messages, "tools": tools, "add_generation_prompt": prompt, "bos_token": "<s>", "eos_token": "</s>"}
        cases.append((name, variables))
    answers = ours([{"template": template, "variables": v} for _, v in cases])
    for (name, variables), got in zip(cases, answers):
        expected = chat_environment.render(template, variables)
        assert same(expected, got), f"{name}: Jinja2 {expected}, ours {got}"
