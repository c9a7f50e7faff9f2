"""Claude Code: /v1/messages with the configuration of docs/connect/claude-code.md."""

import json
from pathlib import Path

NAME = "claude_code"
PACKAGE = "@anthropic-ai/claude-code"
VERSION = "2.1.332"
ROUTE = "/v1/messages"
MODEL = "local"


def call(name, **arguments) -> str:
    return "<tool_call>\n" + json.dumps({"name": name, "arguments": arguments}) + "\n</tool_call>"


SCRIPT = [
    {"text": "I make the file.\n" + call("Bash", command="echo 'made by a tool' > made.txt", description="Make a file")},
    {"text": "The file is made."},
]


def prepare(url: str, project: Path, user: Path):
    environment = {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_AUTH_TOKEN": "none", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                   # A byte is a token here: with the usual context the client would compact after its first turn.
                   "CLAUDE_CODE_MAX_CONTEXT_TOKENS": "400000", "CLAUDE_CODE_SUBAGENT_MODEL": MODEL, "IS_SANDBOX": "1",
                   "DISABLE_AUTOUPDATER": "1"}
    environment.update({f"ANTHROPIC_DEFAULT_{size}_MODEL": MODEL for size in ("HAIKU", "SONNET", "OPUS")})
    command = ["claude", "-p", "Make the file made.txt.", "--model", MODEL, "--dangerously-skip-permissions"]
    return command, environment
