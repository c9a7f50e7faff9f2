"""A bound on thinking, through every door and under every name that clients have for it."""

import httpx
import pytest
from conftest import playing

USER = [{"role": "user", "content": "go"}]


def chat(reply):
    message = reply["choices"][0]["message"]
    return message.get("reasoning_content") or "", message["content"]


def anthropic(reply):
    blocks = {block["type"]: block for block in reply["content"]}
    return blocks["thinking"]["thinking"] if "thinking" in blocks else "", blocks["text"]["text"]


def responses(reply):
    items = {item["type"]: item for item in reply["output"]}
    thinking = items["reasoning"]["summary"][0]["text"] if "reasoning" in items else ""
    return thinking, items["message"]["content"][0]["text"]


def ollama(reply):
    return reply["message"].get("thinking") or "", reply["message"]["content"]


CHAT = ("/v1/chat/completions", {"messages": USER}, chat)
ANTHROPIC = ("/v1/messages", {"messages": USER, "max_tokens": 1000}, anthropic)
RESPONSES = ("/v1/responses", {"input": "go"}, responses)
OLLAMA = ("/api/chat", {"messages": USER, "stream": False}, ollama)


@pytest.fixture(scope="module")
def thinker(tmp_path_factory):
    yield from playing(tmp_path_factory, '{"text": "<think>0123456789</think>\\n\\nDone."}\n')


@pytest.mark.parametrize("door, fields, thinking", [
    (CHAT, {}, "0123456789"),
    (CHAT, {"thinking_budget": 4}, "0123"),
    (CHAT, {"thinking_budget": 0}, ""),
    (CHAT, {"thinking_budget": -1}, "0123456789"),
    (CHAT, {"thinking_token_budget": 4}, "0123"),
    (CHAT, {"thinking_budget_tokens": 4}, "0123"),
    (CHAT, {"reasoning_budget_tokens": 4}, "0123"),
    (CHAT, {"reasoning": {"max_tokens": 4}}, "0123"),
    (CHAT, {"thinking": {"type": "enabled", "budget_tokens": 4}}, "0123"),
    (CHAT, {"chat_template_kwargs": {"thinking_budget": 4}}, "0123"),
    (CHAT, {"thinking_budget": 4, "guided_choice": ["Done."]}, "0123"),
    (ANTHROPIC, {"thinking": {"type": "enabled", "budget_tokens": 4}}, "0123"),
    (ANTHROPIC, {"thinking": {"type": "enabled", "budget_tokens": 31999}}, "0123456789"),
    (ANTHROPIC, {"thinking": {"type": "adaptive"}}, "0123456789"),
    (RESPONSES, {"reasoning": {"max_tokens": 4}}, "0123"),
    (RESPONSES, {"thinking_budget": 4}, "0123"),
    (OLLAMA, {"think": 4}, "0123"),
    (OLLAMA, {"think": True, "thinking_budget": 4}, "0123"),
    (OLLAMA, {"options": {"thinking_budget": 4}}, "0123"),
    (OLLAMA, {"think": True}, "0123456789"),
])
def test_the_budget_is_kept_and_the_reply_goes_on(thinker, door, fields, thinking):
    path, body, read = door
    reply = httpx.post(thinker.url + path, json={"model": "m", **body, **fields}, timeout=60)
    assert reply.status_code == 200, reply.text
    assert read(reply.json()) == (thinking, "Done.")


@pytest.mark.parametrize("door, fields, name", [
    (CHAT, {"thinking_budget": -2}, "thinking_budget"),
    (CHAT, {"thinking_budget": "much"}, "thinking_budget"),
    (CHAT, {"reasoning": {"max_tokens": -1}}, "reasoning.max_tokens"),
    (ANTHROPIC, {"thinking": {"type": "enabled", "budget_tokens": 0}}, "thinking.budget_tokens"),
    (OLLAMA, {"think": -1}, "think"),
    (OLLAMA, {"think": 0.5}, "think"),
])
def test_wrong_budgets_are_named(thinker, door, fields, name):
    path, body, _ = door
    reply = httpx.post(thinker.url + path, json={"model": "m", **body, **fields}, timeout=60)
    assert reply.status_code == 400 and name in reply.text, reply.text


# Ten tokens more where thinking is off: what reached the template is seen in the size of the prompt.
TEMPLATE = """{% for m in messages %}{{ m.content }}{% endfor %}
{%- if enable_thinking is defined and enable_thinking is false %}0123456789{% endif %}"""


@pytest.fixture(scope="module")
def switched(tmp_path_factory):
    from conftest import Server

    folder = tmp_path_factory.mktemp("switched")
    (folder / "script.jsonl").write_text('{"text": "Done."}\n')
    (folder / "template.jinja").write_text(TEMPLATE)
    server = Server("serve", "--script", folder / "script.jsonl", "--chat-template-file", folder / "template.jinja")
    yield server
    assert server.stop() == 0


def prompt_size(server, door, fields):
    path, body, read = door
    reply = httpx.post(server.url + path, json={"model": "m", **body, **fields}, timeout=60).json()
    assert read(reply)[1] == "Done."
    usage = reply.get("usage", {})
    if path == "/v1/messages":
        return sum(usage[key] for key in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"))
    return usage.get("prompt_tokens") or usage.get("input_tokens") or reply["prompt_eval_count"]


@pytest.mark.parametrize("door, fields", [
    (CHAT, {"reasoning_effort": "none"}),
    (CHAT, {"reasoning": {"effort": "none"}}),
    (CHAT, {"reasoning": {"enabled": False}}),
    (CHAT, {"enable_thinking": False}),
    (CHAT, {"chat_template_kwargs": {"enable_thinking": False}}),
    (CHAT, {"thinking": {"type": "disabled"}}),
    (RESPONSES, {"reasoning": {"effort": "none"}}),
    (ANTHROPIC, {"thinking": {"type": "disabled"}}),
    (ANTHROPIC, {}),
    (OLLAMA, {"think": False}),
    (OLLAMA, {"think": 0}),
])
def test_every_off_switch_reaches_the_template(switched, door, fields):
    on = {"thinking": {"type": "adaptive"}} if door is ANTHROPIC else {}
    assert prompt_size(switched, door, fields) == prompt_size(switched, door, on) + 10
