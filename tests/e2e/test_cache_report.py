"""Why a prompt was not found in the cache: the header, the route, the sources in usage."""

import httpx
from conftest import USER


def ask(server, system, **headers):
    messages = [{"role": "system", "content": system}, *USER]
    reply = server.client.chat.completions.create(model="m", messages=messages, max_tokens=4, extra_headers=headers)
    return reply.usage


def test_a_clock_in_the_system_text_is_named(serve):  # B51
    server = serve([])
    rest = " The rules follow." + " Be kind." * 400
    ask(server, "Now: 10:00:01." + rest)
    usage = ask(server, "Now: 10:00:02." + rest, **{"X-Tempo9-Explain": "cache"})
    report = usage.cache_report
    assert report["likely_cause"] == "a time stamp that changes in system text"
    difference = report["first_difference"]
    assert difference["was"].startswith("1. The") and difference["now"].startswith("2. The")
    assert difference["before"].endswith("Now: 10:00:0") and difference["place"] == "system"
    assert usage.prompt_tokens_details.cached_tokens == difference["token"]


def test_tools_become_the_same_bytes_each_time(serve):  # B38
    words = "zone apple yield query last 10 9 _x B a unit Z".split()
    properties = {word: {"type": "string", "description": f"the {word}"} for word in words}
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": properties, "required": words[:3]}}}
    body = {"messages": [{"role": "system", "content": "Be kind."}, *USER], "tools": [tool]}
    rendered = set()
    for _ in range(2):  # a restart between
        server = serve([])
        for i in range(20):
            rendered.add(httpx.post(server.url + "/apply-template", json=body).json()["prompt"])
            usage = server.client.chat.completions.create(model="m", max_tokens=2, **body).usage
            assert i == 0 or usage.prompt_tokens_details.cached_tokens >= 0.99 * usage.prompt_tokens
    (prompt,) = rendered
    places = [prompt.index(f'"{word}": {{"type"') for word in words]
    assert places == sorted(places), "in the client's order"


def test_usage_says_where_from_and_reports_only_when_asked(serve):
    server = serve([])
    first, second = ask(server, "Be kind." * 50), ask(server, "Be kind." * 50)
    assert first.prompt_tokens_details.cached_tokens_by_source == {"live": 0, "ram": 0, "ssd": 0}
    assert second.prompt_tokens_details.cached_tokens_by_source == {"live": 0, "ram": second.prompt_tokens - 1, "ssd": 0}
    assert "cache_report" not in second.model_dump()


def test_debug_cache_lists_the_last_requests(serve):
    server = serve([])
    for text in ("one", "two", "one"):
        ask(server, text * 60)
    reports = httpx.get(server.url + "/debug/cache").json()["requests"]
    assert [r["cached_tokens"] > 100 for r in reports] == [False, False, True]
    assert reports[2]["likely_cause"] is None and reports[0]["likely_cause"] == "nothing alike was asked lately"
