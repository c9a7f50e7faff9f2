"""Codex, by its Responses dialect."""

import json

NAME, PACKAGE, VERSION, ROUTE = "codex", "@openai/codex", "0.171.0", "/v1/responses"

CALL = {"name": "exec_command", "arguments": {"cmd": "printf 'made by a tool' > made.txt"}}
SCRIPT = [
    {"when": "make the file", "text": "<think>One command does it.</think>I make it.<tool_call>\n" + json.dumps(CALL) + "\n</tool_call>"},
    {"text": "The file is made."},
]

CONFIG = """\
model = "script"
model_provider = "tempo9"
model_context_window = 32768
check_for_update_on_startup = false

[model_providers.tempo9]
name = "Tempo9"
base_url = "{url}/v1"
wire_api = "responses"

[analytics]
enabled = false
"""


def prepare(url, project, home):
    folder = home / ".codex"
    folder.mkdir()
    (folder / "config.toml").write_text(CONFIG.format(url=url))
    command = ["codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "make the file"]
    return command, {"CODEX_HOME": str(folder)}
