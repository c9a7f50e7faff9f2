"""Script mode: which line is played, and what a line may say."""

import pytest
from conftest import run_binary


def say(server, text="go", role="user"):
    messages = [{"role": "user", "content": "first"}, {"role": role, "content": text}]
    if role == "tool":
        messages[1]["tool_call_id"] = "x"
    return server.client.chat.completions.create(model="m", messages=messages).choices[0].message.content


def test_lines_in_order_and_the_last_again(serve):
    server = serve([{"text": "one"}, {"text": "two"}])
    assert [say(server) for _ in range(4)] == ["one", "two", "two", "two"]


def test_when(serve):
    server = serve([{"text": "tea", "when": "drink"}, {"text": "bread", "when": "eat"}, {"text": "cake", "when": "eat"}])
    assert say(server, "what to eat") == "bread"
    assert say(server, "what to drink") == "tea"
    assert say(server, "eat", role="tool") == "cake"
    assert say(server, "eat more") == "cake"
    assert say(server, "neither") == "neither", "the last user text comes back"
    assert say(server, "neither", role="tool") == "first"


def test_model_name_and_context(serve):
    server = serve([])
    assert server.client.models.list().data[0].id == "script"
    assert "context 32768" in server.ready_line and "script" in server.ready_line


@pytest.mark.parametrize("line, says", [
    ("{", "1"), ('{"text": 5}', "text"), ('{"when": "x"}', "text"), ('{"text": "x", "finish": "never"}', "finish"),
    ('{"pieces": [{"b64": "!"}]}', "b64"), ('{"text": "x", "delay_ms": -1}', "delay_ms"),
    ('{"text": "x", "format": "klingon"}', "klingon"),
])
def test_bad_lines_are_start_up_errors(tmp_path, line, says):
    script = tmp_path / "bad.jsonl"
    script.write_text('{"text": "fine"}\n' + line + "\n")
    done = run_binary("--script", script, "--port", 0)
    assert done.returncode == 1 and done.stdout == ""
    assert "2" in done.stderr and says in done.stderr, done.stderr


def test_missing_script(tmp_path):
    done = run_binary("--script", tmp_path / "none.jsonl", "--port", 0)
    assert done.returncode == 1 and "none.jsonl" in done.stderr


def test_formats_are_a_lines_own(serve):
    call = '<tool_call>{"name": "f", "arguments": {}}</tool_call>'
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
    server = serve([{"text": call, "format": "none"}, {"text": call, "format": "hermes"}])
    ask = lambda: server.client.chat.completions.create(  # noqa: E731
        model="m", messages=[{"role": "user", "content": "go"}], tools=tools).choices[0]
    assert ask().message.content == call
    assert ask().message.tool_calls[0].function.name == "f"
