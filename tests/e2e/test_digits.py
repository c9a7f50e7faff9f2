"""Numbers keep the digits that were written, through every door and in both directions."""

import json
import re

import httpx
import pytest
from doors import CHAT, DOORS, MESSAGES, OLLAMA, Call, Turn, body

NUMBERS = ["0", "-0", "1", "1.0", "2.50", "1e3", "1E-7", "18446744073709551616", "123456789012345678901234567890",
           "-99999999999999999999", "0.1000000000000000055", "3.14159265358979323846", "1e400", "-1.5e-400"]
WRITTEN = "{" + ",".join(f'"n{i}":{number}' for i, number in enumerate(NUMBERS)) + "}"
TOOL = {"name": "add", "parameters": {"type": "object", "properties": {"n": {"type": "number", "maximum": "@"}}}}
SCRIPT = [{"text": '<tool_call>{"name":"add","arguments":' + WRITTEN + "}</tool_call>"}]


def request(door: str, turns, **more) -> bytes:
    """The body with WRITTEN for the arguments {"@": 1}, and 1.50 for the schema's "@"."""
    text = json.dumps(body(door, turns, tools=[TOOL], **more))
    for quote in ('"', '\\"'):
        text = re.sub("{ *" + re.escape(f"{quote}@{quote}") + ": *1}", lambda _: WRITTEN.replace('"', quote), text)
    return text.replace('"maximum": "@"', '"maximum": 1.50').encode()


def post(server, door: str, data: bytes) -> str:
    answer = httpx.post(server.url + door, content=data, timeout=60)
    assert answer.status_code == 200, answer.text
    return answer.text


def arguments(door: str, text: str, streamed: bool) -> str:
    """As JSON text, from the bytes of the reply: no JSON library may come between."""
    if not streamed and door in (MESSAGES, OLLAMA) or door == OLLAMA:
        return re.search(r'"(?:input|arguments)":({[^{}]+})', text)[1]
    if not streamed:
        return json.loads(re.search(r'"arguments":("(?:[^"\\]|\\.)*")', text)[1])
    key = {CHAT: "arguments", MESSAGES: "partial_json"}.get(door, "delta")
    events = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]
    found: list[str] = []

    def collect(value):
        if isinstance(value, dict):
            found.extend(v for k, v in value.items() if k == key and isinstance(v, str))
            for v in value.values():
                collect(v)
        elif isinstance(value, list):
            for v in value:
                collect(v)

    for event in events:
        collect(event)
    return "".join(found)


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("door", DOORS)
def test_from_the_model(serve, door, streamed):
    server = serve(SCRIPT)
    text = post(server, door, request(door, [Turn("user", "add")], stream=streamed))
    assert arguments(door, text, streamed) == WRITTEN


def test_to_the_model(serve):
    server = serve([{"text": "ok"}])
    turns = [Turn("user", "add"), Turn("assistant", "", calls=[Call("add", {"@": 1})]), Turn("tool", "3"), Turn("user", "so?")]
    prompt = json.loads(post(server, "/apply-template", request(CHAT, turns)))["prompt"]
    assert '"maximum": 1.50' in prompt
    for i, number in enumerate(NUMBERS):
        assert re.search(rf'"n{i}": {re.escape(number)}[,}}]', prompt), number
    counts = {}
    for door in DOORS:
        raw = json.loads(post(server, door, request(door, turns)))
        usage = raw.get("usage", {})
        counts[door] = raw.get("prompt_eval_count") or usage.get("prompt_tokens") or sum(
            v for k, v in usage.items() if k.endswith("input_tokens"))
    assert len(set(counts.values())) == 1, counts
    counted = json.loads(post(server, MESSAGES + "/count_tokens", request(MESSAGES, turns)))["input_tokens"]
    assert counted == counts[MESSAGES]


@pytest.mark.parametrize("door", DOORS)
def test_elsewhere_a_number_is_its_value(serve, door):
    server = serve([{"text": "ok"}])
    place = {OLLAMA: '"options": {"temperature": 0.50, "num_predict": 10.0}'}.get(door, '"temperature": 0.50, "top_p": 1.0')
    data = request(door, [Turn("user", "x")])[:-1].decode() + ", " + place + "}"
    post(server, door, data.encode())
    broken = data.replace("0.50", "1e400").encode()
    answer = httpx.post(server.url + door, content=broken)
    assert answer.status_code == 400 and "too large" in answer.text
    kind = request(door, [Turn("user", "x")]).decode().replace('"x"', "2.50").encode()
    answer = httpx.post(server.url + door, content=kind)
    assert answer.status_code == 400 and "number" in answer.text and "binary" not in answer.text, answer.text
