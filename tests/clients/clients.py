"""The clients: package, page of docs/connect, routes, and what the script says to each.

Task and check are the same for all: a tool call has to write made.txt, and the last reply has to be shown.
"""

import json
from dataclasses import dataclass, field

from packages import Package

TASK = "Make the file made.txt."
CONTENT = "made by a tool"
WRITTEN = "made.txt is written"  # what the tool says, for the script's next line
COMMAND = f"echo '{CONTENT}' > made.txt; echo {WRITTEN}"
REPLY = "The file is made."


def call(name: str, **arguments) -> str:
    return "<tool_call>\n" + json.dumps({"name": name, "arguments": arguments}) + "\n</tool_call>"


def by_shell(name: str, key: str = "command", **more) -> list[dict]:
    """One call of the client's shell, then the reply. Titles and the like find the same lines and take none away."""
    first = f"<think>One command does it.</think>I make the file.\n{call(name, **{key: COMMAND}, **more)}"
    return [{"when": TASK, "text": first}, {"when": WRITTEN, "text": REPLY}]


@dataclass(frozen=True)
class Route:
    path: str
    replace: dict[str, str] = field(default_factory=dict)  # in the page's configuration


@dataclass(frozen=True)
class Client:
    name: str
    title: str
    package: Package
    routes: list[Route]  # the first is the page's own
    script: list[dict]
    note: str = ""


MESSAGES, CHAT, RESPONSES = "/v1/messages", "/v1/chat/completions", "/v1/responses"
WITHOUT_V1 = {"http://127.0.0.1:11435/v1": "http://127.0.0.1:11435"}

CLIENTS = [
    Client("claude-code", "Claude Code", Package("@anthropic-ai/claude-code", "2.1.332"), [Route(MESSAGES)],
           by_shell("Bash", description="Make a file")),
    Client("codex", "Codex", Package("@openai/codex", "0.171.0"), [Route(RESPONSES)], by_shell("exec_command", "cmd")),
    Client("opencode", "OpenCode", Package("opencode-ai", "1.18.33"),
           [Route(CHAT), Route(RESPONSES, {"@ai-sdk/openai-compatible": "@ai-sdk/openai"}),
            Route(MESSAGES, {"@ai-sdk/openai-compatible": "@ai-sdk/anthropic"})],
           by_shell("bash", description="Make a file")),
    Client("openclaw", "OpenClaw", Package("openclaw", "2026.9.6", with_node=True),
           [Route(CHAT), Route(RESPONSES, {"openai-completions": "openai-responses"}),
            Route(MESSAGES, {"openai-completions": "anthropic-messages", **WITHOUT_V1}),
            Route("/api/chat", {"openai-completions": "ollama", **WITHOUT_V1})],
           # A message of its own stands last on every turn, so the lines cannot look for the task.
           [{"text": line["text"]} for line in by_shell("exec")]),
    Client("qwen-code", "Qwen Code", Package("@qwen-code/qwen-code", "0.24.4", with_node=True),
           [Route(CHAT)], by_shell("run_shell_command", is_background=False)),
    Client("pi", "pi", Package("@mariozechner/pi-coding-agent", "0.73.1"),
           [Route(CHAT), Route(RESPONSES, {"openai-completions": "openai-responses"}),
            Route(MESSAGES, {"openai-completions": "anthropic-messages", **WITHOUT_V1})],
           by_shell("bash")),
    Client("aider", "aider", Package("aider-chat", "0.86.2", "pypi"),
           [Route(CHAT), Route("/api/chat", {"openai/local": "ollama_chat/local"})],
           [{"text": f"{REPLY}\n\nmade.txt\n```\n{CONTENT}\n```\n"}],
           note="it has no tools: its edit block is what has to be carried out"),
    Client("mini-swe-agent", "mini-swe-agent", Package("mini-swe-agent", "2.4.6", "pypi"), [Route(CHAT)],
           [{"when": TASK, "text": "I make the file.\n" + call("bash", command=COMMAND)},
            {"text": REPLY + "\n" + call("bash", command="echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT")}]),
]
