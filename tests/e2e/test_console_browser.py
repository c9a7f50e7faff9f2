"""The console in real Chromium: conversations in script mode, hostile replies, each page, the keyboard alone.

Screenshots lie in build/test-results/console.
"""

import json
import re
import shutil
import time

import httpx
import pytest
from conftest import ROOT, WEATHER, call_text, metric

api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed: scripts/setup --browser")
CHROMIUM = shutil.which("chromium")
pytestmark = [pytest.mark.browser, pytest.mark.skipif(CHROMIUM is None, reason="no chromium in PATH: scripts/setup --browser")]
SHOTS = ROOT / "build/test-results/console"
PATIENCE_MS = 60_000
PAGES = ["chat", "live", "connect"]

REPLY = ("<think>Somebody greets me; I **think** first.</think>Hello!\n\n## What I can do\n\n- write *code*\n- explain `things`\n"
         "  1. small\n  2. large\n\n| word | value |\n| --- | --- |\n| one | `a|b` |\n\n```python\nprint(\"<b>\")\n```\n\n"
         "> said\n\nSee [the page](https://example.com/a?b=1) or https://example.com/c.")


@pytest.fixture(scope="module")
def chromium():
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM)
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium):
    """open_page(server, "live"): that page, ready. Afterwards: it asked nobody but its server, and nothing went wrong in it."""
    seen, faults, contexts = [], [], []

    def start(server, page="chat", ready=True, **options):
        context = chromium.new_context(viewport={"width": 1280, "height": 800}, **options)
        context.set_default_timeout(PATIENCE_MS)
        contexts.append(context)
        tab = context.new_page()
        tab.on("request", lambda request: seen.append((server.url, request.url)))
        tab.on("pageerror", lambda error: faults.append(str(error)))
        tab.on("console", lambda message: faults.append(message.text) if "Content Security" in message.text else None)
        tab.on("dialog", lambda dialog: (faults.append(dialog.message), dialog.dismiss()))
        tab.goto(f"{server.url}/#{page}")
        if ready:
            tab.wait_for_selector('#dot[data-state="ok"]')
            until(tab, "document.querySelector('#state').textContent.includes('tokens')")
        return tab

    yield start
    for context in contexts:
        context.close()
    assert faults == []
    assert [url for own, url in seen if not url.startswith(own + "/")] == []


def until(page, expression):
    """Playwright's own wait_for_function() evaluates strings in the page, which its policy forbids."""
    end = time.monotonic() + PATIENCE_MS / 1000
    while not page.evaluate(expression):
        assert time.monotonic() < end, expression
        page.wait_for_timeout(50)


def shot(page, name):
    SHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SHOTS / f"{name}.png")


def say(page, text):
    page.fill("#prompt", text)
    page.press("#prompt", "Enter")
    page.wait_for_selector("#send:visible")


def bodies(page):
    """The chat requests that the page sends, as they go out."""
    out = []
    page.on("request", lambda request: out.append(request.post_data_json) if "chat/completions" in request.url else None)
    return out


def test_a_conversation(serve, open_page):
    server = serve([{"text": REPLY, "when": "hello"}, {"text": "Second."}])
    page = open_page(server)
    sent = bodies(page)
    page.fill("#system", "Be brief.")
    page.fill("#temperature", "0.5")
    page.fill("#max-tokens", "900")
    page.select_option("#effort", "high")
    say(page, "hello\n<b>you</b>")
    reply = page.locator(".assistant").last
    assert reply.locator(".thinking summary").inner_text() == "Thought"
    assert not reply.locator(".thinking .prose").is_visible(), "it folds when the reply begins"
    reply.locator(".thinking summary").click()
    assert reply.locator(".thinking strong").inner_text() == "think"
    text = reply.locator("> .prose")
    assert text.locator("h4").inner_text() == "What I can do"
    assert text.locator("> ul > li").all_inner_texts()[0] == "write code" and text.locator("ul ol li").count() == 2
    assert text.locator("tbody td").all_inner_texts() == ["one", "a|b"]
    assert text.locator("pre").inner_text() == 'print("<b>")' and text.locator("blockquote").inner_text() == "said"
    links = text.locator("a")
    assert [link.get_attribute("href") for link in links.all()] == ["https://example.com/a?b=1", "https://example.com/c"]
    assert {link.get_attribute("rel") for link in links.all()} == {"noopener noreferrer"}
    assert re.search(r"\d+ tokens, .* a second · prompt \d+", reply.locator("footer").inner_text())
    assert page.locator(".user .said").inner_text() == "hello\n<b>you</b>"
    shot(page, "chat-light")
    say(page, "more")
    assert page.locator(".assistant").last.locator("> .prose").inner_text() == "Second."
    first, second = sent
    assert (first["temperature"], first["max_tokens"], first["reasoning_effort"], first["model"]) == (0.5, 900, "high", "script")
    assert first["messages"] == [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hello\n<b>you</b>"}]
    assert [m["role"] for m in second["messages"]] == ["system", "user", "assistant", "user"]
    assert second["messages"][2]["reasoning_content"].startswith("Somebody") and second["messages"][2]["content"].endswith("/c.")
    page.click("#again")
    page.wait_for_selector("#send:visible")
    assert len(sent) == 3 and sent[2] == second and page.locator(".assistant").count() == 2


def test_stop_ends_the_reply_and_keeps_what_came(serve, open_page):
    server = serve([{"text": "word " * 2000, "delay_ms": 20}, {"text": "After."}])
    page = open_page(server)
    page.fill("#prompt", "go")
    page.click("#send")
    until(page, "document.querySelector('.assistant > .prose').textContent.includes('word')")
    assert page.locator(".assistant").get_attribute("aria-busy") == "true"
    page.click("#stop")
    page.wait_for_selector("#send:visible")
    assert page.inner_text("#progress") == "Stopped" and "word" in page.inner_text(".assistant > .prose")
    assert page.locator(".assistant").get_attribute("aria-busy") == "false"
    until(page, "fetch('/metrics').then(a => a.text()).then(text => /requests_cancelled_total\\{.*\\} 1/.test(text))")
    say(page, "and now")
    assert page.locator(".assistant").last.locator("> .prose").inner_text() == "After."


def test_a_tool_call_and_its_result(serve, open_page):
    server = serve([{"text": "Let me look." + call_text("get_weather", city="Lund <b>", unit="C")}, {"text": "Sunny."}])
    page = open_page(server)
    sent = bodies(page)
    page.fill("#tools", json.dumps([WEATHER]))
    say(page, "weather?")
    call = page.locator(".call")
    assert call.locator("h3").inner_text() == "Tool call get_weather"
    assert json.loads(call.locator("pre").inner_text()) == {"city": "Lund <b>", "unit": "C"}
    shot(page, "chat-tool-call")
    call.locator("textarea").fill("21 degrees")
    page.click("text=Send the result")
    page.wait_for_selector(".assistant:nth-of-type(4)")
    page.wait_for_selector("#send:visible")
    assert page.locator(".assistant").last.locator("> .prose").inner_text() == "Sunny."
    asked, answered = sent[1]["messages"][1:]
    assert sent[0]["tools"] == [WEATHER] and asked["tool_calls"][0]["function"]["name"] == "get_weather"
    assert answered == {"role": "tool", "tool_call_id": asked["tool_calls"][0]["id"], "content": "21 degrees"}


HOSTILE = """<script>window.hacked = 1</script><img src=x onerror="window.hacked = 2"><svg onload=window.hacked=3>
<iframe src="http://127.0.0.1:9/"></iframe><style>body { display: none }</style><link rel=stylesheet href=http://127.0.0.1:9/x.css>

[a](javascript:window.hacked=4) [b](data:text/html,<script>window.hacked=5</script>) [c](vbscript:x) [d](/api/tags) <a href=javascript:window.hacked=6>e</a>
![f](http://127.0.0.1:9/f.png "t") <javascript:window.hacked=7> [g](JaVaScRiPt:window.hacked=8) [h]( javascript:window.hacked=9)

| <img src=x onerror=window.hacked=10> | b |
| --- | --- |
| <script>window.hacked=11</script> | </td><script>window.hacked=12</script> |

```html"><script>window.hacked=13</script>
</code></pre><script>window.hacked=14</script>
```

- <details open ontoggle=window.hacked=15>
> # <script>window.hacked=16</script>"""


def test_what_a_model_writes_stays_text(serve, open_page):
    call = call_text("x</code><img src=x onerror=window.hacked=17>", a="</pre><script>window.hacked=18</script>")
    server = serve([{"text": f"<think>{HOSTILE}</think>{HOSTILE}\n\nend {call}"}])
    page = open_page(server)
    page.fill("#tools", json.dumps([WEATHER]))
    say(page, HOSTILE)
    page.locator(".thinking summary").click()
    assert page.evaluate("window.hacked") is None
    assert page.locator("#log").locator("script, img, iframe, style, link, svg, object, details details").count() == 0
    assert page.evaluate("[...document.querySelectorAll('#log *')].flatMap(e => [...e.attributes])"
                         ".filter(a => a.name.startsWith('on') || a.name === 'style' || a.name === 'src').length") == 0
    hrefs = page.evaluate("[...document.querySelectorAll('#log a')].map(a => a.href)")
    assert hrefs and {href.split(":")[0] for href in hrefs} == {"http"}, hrefs
    shown = page.inner_text("#log")
    for i in (1, 2, 3, 6, 10, 11, 13, 14, 15, 16):
        assert re.search(rf"window\.hacked ?= ?{i}\b", shown), i
    for hopeless in ("*" * 5000, "[" * 5000, "> " * 3000, "`a" * 5000, "**a _b " * 3000, "- " * 3000 + "x", "|-" * 3000):
        page.evaluate("async text => (await import('/console/markdown.js')).show(document.createElement('div'), text)", hopeless)


def test_errors_are_shown_in_the_servers_words(serve, open_page):
    server = serve([{"text": "half", "finish": "error"}, {"text": "Whole."}], "--max-length", "600")
    page = open_page(server)
    say(page, "x" * 800)
    words = httpx.post(server.url + "/v1/chat/completions", json={"messages": [{"role": "user", "content": "x" * 800}]}).json()
    assert page.inner_text(".assistant .error") == words["error"]["message"]
    page.click("#fresh")
    page.fill("#tools", '{"no": "array"}')
    say(page, "go")
    assert "tools" in page.inner_text(".assistant .error")
    page.fill("#tools", "[")
    page.fill("#prompt", "kept")
    page.press("#prompt", "Enter")
    assert "no JSON" in page.inner_text("#progress") and page.input_value("#prompt") == "kept"
    page.fill("#tools", "")
    page.click("#fresh")
    say(page, "go")
    assert "was cut before the reply was whole" in page.inner_text(".assistant .error")
    shot(page, "chat-error")
    page.click("#again")
    until(page, "document.querySelector('.assistant > .prose').textContent === 'Whole.'")


def test_live_shows_what_the_server_counts(serve, open_page):
    server = serve([{"text": "abcdef", "delay_ms": 5}] * 9)
    for _ in range(3):
        httpx.post(server.url + "/v1/chat/completions", json={"messages": [{"role": "user", "content": "a long prompt " * 20}]}, timeout=60)
    page = open_page(server, "live")
    until(page, "document.querySelectorAll('#cards .legend td')[1].textContent !== '–'")
    cards = {card.locator("h2").inner_text(): card.inner_text() for card in page.locator(".card").all()}
    assert len(cards) == 8
    hits = metric(server, "tempo9:prefix_cache_hit_tokens_total", source="ram")
    assert f"{hits:,.0f} (" in cards["Prompt tokens by where they were found"]
    assert re.search(r"ended by themselves\s+3\b", cards["Replies"])
    assert "nothing alike was asked lately" in cards["Cache misses by likely cause"]
    assert re.search(r"KV cache: [\d.]+ .?B of [\d.]+ .?B", cards["Memory"]) and re.search(r"process: [\d.]+ .?B of [\d.]+ .?B", cards["Memory"])
    assert re.search(r"half within\s+[\d.]+ m?s", cards["Time to the first token"])
    for plot in page.locator(".chart svg").all():
        assert "the last five minutes: now" in plot.get_attribute("aria-label")
    shot(page, "live-light")
    asked = []
    page.on("request", lambda request: asked.append(request.url) if request.url.endswith("/metrics") else None)
    page.wait_for_timeout(2500)
    assert asked, "it goes on by itself"
    page.evaluate("Object.defineProperty(document, 'hidden', {value: true}); document.dispatchEvent(new Event('visibilitychange'))")
    page.wait_for_timeout(1000)  # one may be on its way
    asked.clear()
    page.wait_for_timeout(3000)
    assert asked == [], "nobody sees it"


def test_connect_names_this_server_and_its_model(serve, open_page):
    server = serve([], "--name", "my-model:4b", "--max-length", "12345")
    page = open_page(server, "connect")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.wait_for_selector("#clients a")
    clients = page.locator("#clients a").all_inner_texts()
    assert len(clients) == len(list((ROOT / "docs/connect").glob("*.md"))) - 1
    for client in clients:
        page.click(f"#clients a:text-is('{client}')")
        page.wait_for_selector(f"#client h2:text('{client}')")  # in whatever case
        shown = "\n".join(page.locator("#client code").all_inner_texts())
        assert server.url in shown, client
        assert "11435" not in shown and "32768" not in shown, client
        assert not re.search(r"[\s/\"=]local[\"\s,]", re.sub(r"#.*", "", shown)), client
    page.goto(f"{server.url}/#connect/codex")
    page.wait_for_selector("#client h2:text-is('Codex')")
    fence = page.locator("#client pre").first.inner_text()
    assert 'model = "my-model:4b"' in fence and f'base_url = "{server.url}/v1"' in fence and "model_context_window = 12345" in fence
    page.locator("#client figure button").first.click()
    page.wait_for_selector("#client button:text-is('Copied')")
    assert page.evaluate("navigator.clipboard.readText()") == fence
    shot(page, "connect-light")


def test_the_key_is_asked_for_and_kept_in_the_tab(serve, open_page):
    server = serve([{"text": "Hi."}], "--api-key", "right-key")
    page = open_page(server, ready=False)
    page.wait_for_selector("#key-dialog[open]")
    shot(page, "key")
    page.fill("#key", "wrong-key")
    page.press("#key", "Enter")
    until(page, "document.querySelector('#key-why').textContent.includes('wrong one')")
    page.fill("#key", "right-key")
    page.click("text=Use it")
    until(page, "document.querySelector('#state').textContent.includes('script')")
    say(page, "hello")
    assert page.inner_text(".assistant > .prose") == "Hi."
    assert page.evaluate("Object.values(sessionStorage)") == ["right-key"]
    assert page.evaluate("Object.keys(localStorage)") == [] and page.evaluate("document.cookie") == ""
    page.click("header >> text=Connect")
    page.wait_for_selector("#client figure")
    assert "YOUR-KEY" in page.inner_text("#client") and "right-key" not in page.content()
    other = page.context.new_page()
    other.goto(server.url)
    other.wait_for_selector("#key-dialog[open]")


def test_themes_and_narrow_windows(serve, open_page):
    server = serve([{"text": REPLY}])
    page = open_page(server, color_scheme="dark")
    ground = lambda: page.evaluate("getComputedStyle(document.body).backgroundColor")
    dark = ground()
    say(page, "hello")
    for name in PAGES:
        page.click(f"header nav a[href='#{name}']")
        page.wait_for_selector(f"#{name}:visible")
        if name == "connect":
            page.wait_for_selector("#client figure")
        shot(page, f"{name}-dark")
        page.set_viewport_size({"width": 400, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= 400, name
        shot(page, f"{name}-narrow")
        page.set_viewport_size({"width": 1280, "height": 800})
    page.click("#theme")
    assert page.inner_text("#theme") == "Theme: light" and ground() != dark
    page.reload()
    page.wait_for_selector("#theme")
    assert page.inner_text("#theme") == "Theme: light" and ground() != dark, "it is remembered"
    page.click("#theme")
    assert ground() == dark


def test_nothing_is_kept_unless_asked_for(serve, open_page):
    server = serve([{"text": "One."}])
    page = open_page(server)
    say(page, "hello")
    assert page.evaluate("localStorage.length + sessionStorage.length") == 0
    page.check("#keep")
    page.reload()
    page.wait_for_selector(".assistant")
    assert page.inner_text(".assistant > .prose") == "One." and page.is_checked("#keep")
    page.click("#fresh")
    assert page.evaluate("localStorage.length") == 0 and page.locator(".message").count() == 0


def test_everything_is_reached_by_keyboard_and_has_a_name(serve, open_page):
    server = serve([{"text": REPLY}])
    page = open_page(server)
    say(page, "hello")
    reached = []
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("(() => { const e = document.activeElement; return e.id || e.textContent.trim() || e.tagName })()"))
        if len(reached) > 3 and reached[-1] == reached[0]:
            break
    else:
        raise AssertionError(f"the focus does not come round: {reached}")
    assert {"skip", "Chat", "Live", "Connect", "theme", "log", "prompt", "send", "again", "fresh", "system", "temperature", "max-tokens",
            "effort", "tools", "keep", "Thought"} <= set(reached), reached
    page.focus("#skip")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main", "the skip link skips"
    nameless = page.evaluate("""[...document.querySelectorAll('button, a, input, textarea, select, [role=img], [role=region]')].filter(e =>
        !(e.textContent.trim() || e.getAttribute('aria-label') || e.labels?.length)).map(e => e.outerHTML)""")
    assert nameless == []
    assert page.evaluate("document.documentElement.lang") == "en"
    assert page.locator("main").count() == 1 and page.locator("h1:visible").count() == 1
    assert page.get_attribute("#log", "aria-live") == "polite"
    page.focus("header nav a[href='#live']")
    page.keyboard.press("Enter")
    page.wait_for_selector("#live:visible")
    assert page.evaluate("document.activeElement.id") == "live-title" and page.title() == "Live · Tempo9"
