"""The console over plain HTTP: what is served to whom, and that no file of it could load or run anything from elsewhere."""

import re
from html.parser import HTMLParser

import httpx
import pytest
from conftest import ROOT

BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
         ".svg": "image/svg+xml", ".md": "text/markdown; charset=utf-8"}
WEB = sorted((ROOT / "web").iterdir())
FILES = {f"/console/{file.name}": file for file in WEB} | {
    f"/console/connect/{file.name}": file for file in (ROOT / "docs/connect").glob("*.md")}
POLICY = {"default-src": "'none'", "script-src": "'self'", "style-src": "'self'", "connect-src": "'self'",
          "img-src": "'self' data:", "base-uri": "'none'", "form-action": "'none'", "frame-ancestors": "'none'",
          "require-trusted-types-for": "'script'", "trusted-types": "'none'"}


@pytest.mark.parametrize("path", FILES)
def test_each_file_is_served_as_it_is(echo, path):
    answer = httpx.get(echo.url + path)
    assert answer.status_code == 200 and answer.content == FILES[path].read_bytes()
    assert answer.headers["content-type"] == TYPES[FILES[path].suffix]
    assert dict(part.split(" ", 1) for part in answer.headers["content-security-policy"].split("; ")) == POLICY
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cache-control"] == "no-cache"
    head = httpx.head(echo.url + path)
    assert head.content == b"" and head.headers["content-length"] == str(len(answer.content))
    assert head.headers["etag"] == answer.headers["etag"] and re.fullmatch(r'"[0-9a-f]{32}"', head.headers["etag"])


def test_what_the_browser_has_is_not_sent_again(echo):
    with httpx.Client(base_url=echo.url) as client:  # one connection: what follows a 304 is read right
        etag = client.get("/console/app.js").headers["etag"]
        for method in ("GET", "HEAD"):
            again = client.request(method, "/console/app.js", headers={"If-None-Match": etag})
            assert again.status_code == 304 and again.content == b"" and again.headers["etag"] == etag
            assert "content-length" not in again.headers
        assert client.get("/console/app.js", headers={"If-None-Match": '"other"'}).status_code == 200


def test_the_page_is_for_those_who_want_html(echo):
    for path in ("/", "/console", "/console/"):
        page = httpx.get(echo.url + path, headers=BROWSER)
        assert page.content == (ROOT / "web/index.html").read_bytes() and "Accept" in page.headers["vary"], path
    assert httpx.head(echo.url + "/", headers=BROWSER).headers["content-type"] == TYPES[".html"]
    for headers in ({}, {"Accept": "*/*"}, {"Accept": "application/json"}):
        probe = httpx.get(echo.url + "/", headers=headers)
        assert probe.status_code == 200 and "Ollama is running" in probe.text
        assert httpx.head(echo.url + "/", headers=headers).status_code == 200


def test_nothing_else_is_below_it(echo):
    for path in ("/console/nothing.js", "/console/connect/", "/console/%61pp.js", "/console/app.js/", "/console/..%2froutes"):
        answer = httpx.get(echo.url + path, headers=BROWSER)
        assert answer.status_code == 404 and answer.json()["error"]["code"] == "unknown_route", path
    for method in ("POST", "DELETE", "PUT"):
        answer = httpx.request(method, echo.url + "/console/app.js")
        assert answer.status_code == 405 and answer.headers["allow"] == "GET, HEAD"


def test_the_page_needs_no_key_and_opens_nothing_else(serve):
    server = serve([], "--api-key", "secret")
    for path in ("/", *FILES):
        assert httpx.get(server.url + path, headers=BROWSER).status_code == 200, path
    for path in ("/v1/models", "/metrics", "/debug/cache", "/api/tags", "/consoles", "/console/../metrics"):
        assert httpx.get(server.url + path, headers=BROWSER).status_code in (401, 404), path
        assert b"secret" not in httpx.get(server.url + path).content
    assert httpx.get(server.url + "/metrics", headers=BROWSER).status_code == 401
    assert httpx.get(server.url + "/").status_code == 401, "a program shows its key, as ever"
    assert httpx.post(server.url + "/", headers=BROWSER).status_code == 405


def test_other_names_and_pages_are_kept_out(echo):
    for path in ("/", "/console/app.js"):
        rebound = httpx.get(echo.url + path, headers={**BROWSER, "Host": "evil.example"})
        assert rebound.status_code == 403, path
        foreign = httpx.get(echo.url + path, headers={**BROWSER, "Origin": "http://evil.example"})
        assert "access-control-allow-origin" not in foreign.headers
        assert foreign.headers["cross-origin-resource-policy"] == "same-origin"
        assert httpx.post(echo.url + path, headers={**BROWSER, "Origin": "http://evil.example"}).status_code == 403


class Inline(HTMLParser):
    """Collects what a page loads, and whatever of it the policy would have to allow as inline."""

    def __init__(self):
        super().__init__()
        self.loads, self.faults, self.tag = [], [], ""

    def handle_starttag(self, tag, attrs):
        self.tag = tag
        for name, value in attrs:
            if name.startswith("on") or name in ("style", "srcdoc", "action", "formaction") or tag in ("style", "iframe", "base", "object"):
                self.faults.append((tag, name))
            if name in ("src", "href") and not value.startswith("#"):
                self.loads.append(value)

    def handle_data(self, data):
        if self.tag == "script" and data.strip():
            self.faults.append(("script", data))

    def handle_endtag(self, tag):
        self.tag = ""


def test_the_page_holds_no_code_and_loads_its_own_files_only():
    page = Inline()
    page.feed((ROOT / "web/index.html").read_text())
    assert page.faults == []
    assert len(page.loads) >= 4 and set(page.loads) <= set(FILES), set(page.loads) - set(FILES)


@pytest.mark.parametrize("file", [file for file in WEB if file.suffix != ".html"], ids=lambda file: file.name)
def test_no_file_loads_from_elsewhere_or_makes_code_of_text(file):
    text = file.read_text()
    allowed = {"http://www.w3.org/2000/svg", "http://127.0.0.1:11435"}  # a name, and what the connect page replaces
    assert set(re.findall(r"(?:https?|wss?)://[\w.:/]+", text)) <= allowed
    assert not re.search(r"""["'(]//\w""", text), "an address without a scheme"
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|\bFunction\(|\bimport\(|DOMParser|"
                         r"setHTML|createContextualFragment|srcdoc|WebSocket|sendBeacon|EventSource|XMLHttpRequest|url\(|@import", text)
    for module in re.findall(r'from "(.*?)"', text):
        assert module.startswith("./") and (ROOT / "web" / module).is_file(), module


def test_each_clients_page_is_in_the_list():
    listed = re.findall(r"^\| [^|]+ \| \[[^\]]+\]\(([\w-]+\.md)\) \|$", (ROOT / "docs/connect/README.md").read_text(), re.M)
    assert sorted([*listed, "README.md"]) == sorted(path.name for path in (ROOT / "docs/connect").glob("*.md"))
