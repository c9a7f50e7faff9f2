"""Who may ask, and over what: keys, origins, TLS, Unix sockets, slow clients, what logs hold."""

import contextlib
import json
import os
import re
import socket
import ssl
import stat
import subprocess
import time

import anthropic
import httpx
import openai
import pytest
from conftest import USER, Server, binary, clean_environment, metric, run_binary

CHAT = {"messages": USER}


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_text("")
    return path


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A self-signed certificate for localhost and its key."""
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
                    "-keyout", folder / "key.pem", "-out", folder / "cert.pem"], check=True, capture_output=True)
    for file in folder.iterdir():
        file.chmod(0o600)  # what others can read is warned of
    return folder / "cert.pem", folder / "key.pem"


def start(*args, **environment):
    """For servers whose address is none that conftest.Server knows. Returns the process and the ready line."""
    process = subprocess.Popen([binary(), *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=clean_environment(**environment))
    line = process.stdout.readline()
    assert line, process.stderr.read()
    return process, line


def stop(process) -> str:
    process.terminate()
    assert process.wait(30) == 0
    return process.stderr.read()


# ---------------------------------------------------------------- keys


def test_any_key_of_the_file_will_do_in_each_dialects_header(serve, tmp_path):
    keys = tmp_path / "keys"
    keys.write_text("first-key\r\n\nsecond-key\n")
    server = serve([{"text": "hi"}] * 9, "--api-key-file", keys)
    for key in ("first-key", "second-key"):
        client = openai.OpenAI(base_url=server.url + "/v1", api_key=key, max_retries=0)
        assert client.chat.completions.create(model="m", messages=USER).choices[0].message.content == "hi"
        for login in ({"api_key": key}, {"auth_token": key}):
            client = anthropic.Anthropic(base_url=server.url, max_retries=0, **login)
            assert client.messages.create(model="m", max_tokens=9, messages=USER).content[0].text == "hi"
    both = {"Authorization": "Bearer for-another-service", "x-api-key": "first-key"}
    assert httpx.get(server.url + "/v1/models", headers=both).status_code == 200
    for path in ("/v1/models", "/metrics", "/api/tags", "/debug/cache", "/", "/nothing"):
        answer = httpx.get(server.url + path, headers={"x-api-key": "third-key"})
        assert answer.status_code == 401 and answer.headers["www-authenticate"] == "Bearer", path


@pytest.mark.parametrize("content, says", [(None, "cannot read"), ("", "found no key"), ("\n\n", "found no key"),
                                           ("a b\n", "spaces"), ("käse\n", "ASCII")])
def test_key_files_that_hold_none(script, tmp_path, content, says):
    path = tmp_path / "keys"
    if content is not None:
        path.write_text(content)
    done = run_binary("--script", script, "--api-key-file", path, "--port", 0)
    assert done.returncode in (1, 2) and says in done.stderr and str(path) in done.stderr


def test_a_key_file_opens_the_door_to_other_machines(script, tmp_path):
    (tmp_path / "keys").write_text("k\n")
    process, line = start("--script", script, "--host", "0.0.0.0", "--port", 0, "--api-key-file", tmp_path / "keys")
    port = re.search(r":(\d+)/", line)[1]
    assert httpx.get(f"http://127.0.0.1:{port}/v1/models").status_code == 401
    assert httpx.get(f"http://127.0.0.1:{port}/v1/models", headers={"x-api-key": "k"}).status_code == 200
    stop(process)


@pytest.mark.parametrize("mode, warns", [(0o600, False), (0o640, False), (0o644, True), (0o604, True)])
def test_a_key_file_that_all_can_read_is_said(script, tmp_path, mode, warns):
    keys = tmp_path / "keys"
    keys.write_text("top-secret\n")
    keys.chmod(mode)
    process, _ = start("--script", script, "--port", 0, "--api-key-file", keys)
    said = stop(process)
    assert (str(keys) in said and "every user" in said) == warns and "top-secret" not in said
    assert warns or said == ""


# ---------------------------------------------------------------- browsers


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages", "/api/chat", "/api/generate", "/v1/responses",
                                  "/tokenize", "/v1/nothing"])
def test_no_simple_request_gets_past_the_origin_check(echo, path, content_type):
    """Browsers send these without asking first; the origin is in them all the same."""
    headers = {"Origin": "http://evil.example", "Content-Type": content_type}
    answer = httpx.post(echo.url + path, content=json.dumps(CHAT), headers=headers)
    assert answer.status_code == 403 and "access-control-allow-origin" not in answer.headers


def test_preflights_say_what_is_allowed(serve):
    server = serve([], "--allow-origin", "https://app.example")
    asked = {"Origin": "https://app.example", "Access-Control-Request-Method": "POST",
             "Access-Control-Request-Headers": "authorization, content-type", "Access-Control-Request-Private-Network": "true"}
    answer = httpx.options(server.url + "/v1/chat/completions", headers=asked)
    assert answer.status_code == 204 and answer.content == b""
    assert answer.headers["access-control-allow-origin"] == "https://app.example" and "Origin" in answer.headers["vary"]
    assert answer.headers["access-control-allow-private-network"] == "true"
    assert "authorization" in answer.headers["access-control-allow-headers"].lower()
    assert "access-control-allow-credentials" not in answer.headers
    for origin in ("http://app.example", "https://app.example.evil.example", "https://app.example:8443"):
        answer = httpx.options(server.url + "/v1/chat/completions", headers={**asked, "Origin": origin})
        assert answer.status_code == 403 and "access-control-allow-origin" not in answer.headers, origin


def test_rebound_names_are_refused_on_every_route(echo):
    with httpx.Client(base_url=echo.url, headers={"Host": "rebound.example"}) as client:
        for path in ("/", "/health", "/metrics", "/v1/models", "/api/tags", "/nothing"):
            assert client.get(path).status_code == 403, path


@pytest.mark.parametrize("address", ["http://127.0.0.1:{port}/a.png", "http://localhost:{port}/a.png", "http://[::ffff:127.0.0.1]:{port}/",
                                     "http://2130706433:{port}/", "http://169.254.169.254/latest/meta-data", "http://10.0.0.1/",
                                     "file:///etc/passwd", "ftp://127.0.0.1:{port}/"])
def test_no_address_in_a_message_is_fetched(echo, address):  # B88
    with socket.create_server(("127.0.0.1", 0)) as trap:
        trap.setblocking(False)
        url = address.format(port=trap.getsockname()[1])
        parts = {
            "/v1/chat/completions": {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}]},
            "/v1/messages": {"model": "m", "max_tokens": 9, "messages": [
                {"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": url}}]}]},
            "/v1/responses": {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": url}]}]},
            "/api/chat": {"messages": [{"role": "user", "content": "look", "images": [url]}]},
        }
        for path, body in parts.items():
            answer = httpx.post(echo.url + path, json=body)
            assert answer.status_code in (400, 501) and "/etc/passwd" not in answer.text.replace(url, ""), (path, answer.text)
        # In a history it becomes a note, and is not fetched either.
        body = parts["/v1/chat/completions"]
        answer = httpx.post(echo.url + "/v1/chat/completions", json={"messages": [*body["messages"], {"role": "assistant", "content": "a"}, *USER]})
        assert answer.status_code == 200, answer.text
        with pytest.raises(BlockingIOError):
            trap.accept()


# ---------------------------------------------------------------- TLS and Unix sockets


def test_https(script, certificate):
    cert, key = certificate
    process, line = start("--script", script, "--port", 0, "--tls-cert", cert, "--tls-key", key)
    url = re.search(r"https://127\.0\.0\.1:\d+", line)[0]
    trusted = ssl.create_default_context(cafile=str(cert))
    with httpx.Client(verify=trusted, base_url=url) as client:
        for _ in range(3):  # on one connection
            assert client.post("/v1/chat/completions", json=CHAT).json()["choices"][0]["message"]["content"] == "go"
        with client.stream("POST", "/v1/chat/completions", json={**CHAT, "stream": True}) as answer:
            assert answer.read().endswith(b"data: [DONE]\n\n")
        big = "x" * 3_000_000
        assert client.post("/tokenize", json={"prompt": big}, timeout=60).json()["count"] == len(big)
        assert client.post("/v1/chat/completions", json=CHAT, headers={"Origin": url}).status_code == 200
        assert client.post("/v1/chat/completions", json=CHAT, headers={"Origin": "https://evil.example"}).status_code == 403
    with pytest.raises(httpx.HTTPError):  # plain HTTP is no TLS
        httpx.get(url.replace("https", "http") + "/health")
    port = int(url.rsplit(":", 1)[1])
    old = ssl.create_default_context(cafile=str(cert))
    old.minimum_version, old.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
    old.set_ciphers("ALL:@SECLEVEL=0")
    with socket.create_connection(("127.0.0.1", port)) as plain, pytest.raises((ssl.SSLError, ConnectionError)):
        old.wrap_socket(plain, server_hostname="localhost")
    # The end is told: what was read is all there was.
    with socket.create_connection(("127.0.0.1", port)) as plain, trusted.wrap_socket(plain, server_hostname="localhost") as tls:
        tls.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        answer = b""
        while part := tls.recv(65536):
            answer += part
        assert answer.endswith(b'{"status":"ok"}')
    stop(process)


def test_a_client_that_leaves_is_noticed_over_tls(tmp_path, certificate):
    cert, key = certificate
    script = tmp_path / "slow.jsonl"
    script.write_text(json.dumps({"text": "x" * 4000, "delay_ms": 50}) + "\n")
    process, line = start("--script", script, "--port", 0, "--tls-cert", cert, "--tls-key", key)
    url = re.search(r"https://127\.0\.0\.1:\d+", line)[0]
    client = httpx.Client(verify=ssl.create_default_context(cafile=str(cert)), base_url=url)
    with client.stream("POST", "/v1/chat/completions", json={**CHAT, "stream": True}) as answer:
        next(answer.iter_bytes())
    deadline = time.monotonic() + 5
    while not re.search(r"^tempo9:requests_cancelled_total\{.*\} 1$", client.get("/metrics").text, re.M):
        assert time.monotonic() < deadline
    client.close()
    stop(process)


@pytest.mark.parametrize("says_end", [True, False], ids=["close_notify", "without"])
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_a_half_closed_client_gets_its_answer_over_tls(slow_https, certificate, version, stream, says_end):
    """Python's own TLS sockets cannot: the bytes of TLS go through memory here."""
    received, to_send = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = ssl.create_default_context(cafile=str(certificate[0])).wrap_bio(received, to_send, server_hostname="localhost")
    body = json.dumps(CHAT | {"stream": stream}).encode()
    with socket.create_connection(("127.0.0.1", slow_https), timeout=20) as connection:
        def until_done(step):
            while True:
                try:
                    return step()
                except ssl.SSLWantReadError:
                    connection.sendall(to_send.read())
                    part = connection.recv(65536)
                    received.write(part) if part else received.write_eof()
        until_done(tls.do_handshake)
        tls.write(f"POST /v1/chat/completions HTTP/{version}\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        if says_end:
            with pytest.raises(ssl.SSLWantReadError):  # its own is written, the server's is to come
                tls.unwrap()
        connection.sendall(to_send.read())
        connection.shutdown(socket.SHUT_WR)
        while part := connection.recv(65536):
            received.write(part)
    received.write_eof()
    answer = b""
    with contextlib.suppress(ssl.SSLZeroReturnError, ssl.SSLEOFError):
        while part := tls.read(65536):
            answer += part
    text = "".join(re.findall(r'"content":"([^"]*)"', answer.decode()))
    assert answer.startswith(b"HTTP/1.1 200 ") and text == "said to the end", answer


@pytest.fixture(scope="module")
def slow_https(certificate, tmp_path_factory):
    script = tmp_path_factory.mktemp("slow") / "slow.jsonl"
    script.write_text(json.dumps({"text": "said to the end", "prefill_ms": 300, "delay_ms": 5}) + "\n")
    process, line = start("--script", script, "--port", 0, "--tls-cert", certificate[0], "--tls-key", certificate[1])
    yield int(re.search(r"https://127\.0\.0\.1:(\d+)", line)[1])
    stop(process)


@pytest.mark.parametrize("flags, says", [(["--tls-cert", "{cert}"], "--tls-key"), (["--tls-key", "{key}"], "--tls-cert"),
                                         (["--tls-cert", "/none", "--tls-key", "{key}"], "/none"),
                                         (["--tls-cert", "{key}", "--tls-key", "{key}"], "--tls-cert"),
                                         (["--tls-cert", "{cert}", "--tls-key", "{cert}"], "--tls-key")])
def test_certificates_that_are_none(script, certificate, flags, says):
    flags = [flag.format(cert=certificate[0], key=certificate[1]) for flag in flags]
    done = run_binary("--script", script, "--port", 0, *flags)
    assert done.returncode in (1, 2) and says in done.stderr and done.stderr.count("\n") == 1


def test_a_key_with_a_pass_phrase_is_refused_and_not_asked_for(script, certificate, tmp_path):
    locked = tmp_path / "locked.pem"
    subprocess.run(["openssl", "pkcs8", "-topk8", "-in", certificate[1], "-passout", "pass:x", "-out", locked], check=True,
                   capture_output=True)
    done = run_binary("--script", script, "--port", 0, "--tls-cert", certificate[0], "--tls-key", locked, timeout=20)
    assert done.returncode == 1 and "pass phrase" in done.stderr


def test_unix_socket(script, tmp_path):
    path = tmp_path / "t.sock"
    process, line = start("--script", script, "--unix-socket", path)
    assert f"unix:{path}" in line
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    with httpx.Client(transport=httpx.HTTPTransport(uds=str(path)), base_url="http://localhost") as client:
        assert client.post("/v1/chat/completions", json=CHAT).json()["choices"][0]["message"]["content"] == "go"
        assert client.get("/v1/models", headers={"Host": "evil.example"}).status_code == 403
    second = run_binary("--script", script, "--unix-socket", path)
    assert second.returncode == 1 and "in use" in second.stderr and path.exists()
    stop(process)
    assert not path.exists()


def test_a_socket_left_behind_is_replaced_and_a_file_is_not(script, tmp_path):
    path = tmp_path / "t.sock"
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(path))
    left.close()
    process, _ = start("--script", script, "--unix-socket", path)
    stop(process)
    path.write_text("precious")
    done = run_binary("--script", script, "--unix-socket", path)
    assert done.returncode == 1 and "no socket" in done.stderr and path.read_text() == "precious"
    done = run_binary("--script", script, "--unix-socket", tmp_path / ("x" * 200))
    assert done.returncode == 1 and "--unix-socket" in done.stderr
    assert run_binary("--script", script, "--unix-socket", path, "--port", 0).returncode == 2


# ---------------------------------------------------------------- slow clients


def test_a_reader_that_reads_nothing_holds_up_nobody(serve):
    server = serve([{"text": "x" * 400_000}, {"text": "quick"}], "--max-batch", 1)
    body = json.dumps({**CHAT, "stream": True}).encode()
    with socket.create_connection(("127.0.0.1", server.port)) as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        slow.recv(1)
        answer = httpx.post(server.url + "/v1/chat/completions", json=CHAT, timeout=30)
        assert answer.json()["choices"][0]["message"]["content"] == "quick"


def test_half_sent_requests_hold_up_nobody(echo):
    started = [b"", b"POST /v1/chat/comp", b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n{"]
    connections = []
    for i in range(60):
        connections.append(socket.create_connection(("127.0.0.1", echo.port)))
        connections[-1].sendall(started[i % 3])
    start_time = time.monotonic()
    for _ in range(5):
        assert httpx.post(echo.url + "/v1/chat/completions", json=CHAT).status_code == 200
    assert time.monotonic() - start_time < 5
    for connection in connections:
        connection.close()


# ---------------------------------------------------------------- logs and request ids


def read_log(server) -> str:
    assert server.stop() == 0
    return server.process.stderr.read()


SECRETS = ("my-secret-key", "in-the-body", "in-the-query")


def ask_with_secrets(server):
    headers = {"Authorization": "Bearer my-secret-key", "X-Request-Id": "mine-1"}
    text = {"messages": [{"role": "user", "content": "in-the-body"}]}
    assert httpx.post(server.url + "/v1/chat/completions?key=in-the-query", json=text, headers=headers).status_code == 200
    assert httpx.post(server.url + "/v1/chat/completions", content=b"in-the-body", headers=headers).status_code == 400
    assert httpx.get(server.url + "/v1/models", headers={"x-api-key": "my-secret-kez"}).status_code == 401


def test_the_default_log_holds_nothing(serve):
    server = serve([], "--api-key", "my-secret-key")
    ask_with_secrets(server)
    assert read_log(server) == ""


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("level", ["info", "debug"])
def test_no_log_holds_bodies_keys_or_queries(serve, level, form):
    server = serve([], "--api-key", "my-secret-key", "--log-level", level, "--log-format", form)
    ask_with_secrets(server)
    httpx.get(server.url + "/health")
    log = read_log(server)
    assert not any(secret in log for secret in SECRETS), log
    lines = log.splitlines()
    if form == "json":
        events = [json.loads(line) for line in lines]
        asked = [e for e in events if e["message"] == "request" and e["path"] != "/health"]
        assert [e["status"] for e in asked] == [200, 400, 401]
        assert asked[0]["request_id"] == "mine-1" and asked[0]["path"] == "/v1/chat/completions"
        assert asked[0]["generated_tokens"] > 0 and asked[0]["ms"] >= asked[0]["first_token_ms"]
        assert [e["message"] for e in events if e["message"] != "request"] == ["ready", "draining"]
        assert ("/health" in [e.get("path") for e in events]) == (level == "debug")
    else:
        assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z tempo9 info: ready model=script", lines[0])
        assert sum(" request method=POST path=/v1/chat/completions status=200 " in line for line in lines) == 1


def test_a_path_cannot_forge_a_line(serve):
    server = serve([], "--log-level", "info")
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.sendall(b"GET /a%0Ab\xc3\x28\"c HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        while connection.recv(65536):
            pass
    assert read_log(server).count("\n") == 3  # ready, the request, draining


def test_request_ids(echo):
    given = httpx.get(echo.url + "/health", headers={"X-Request-Id": "a-1_b.c:D"})
    assert given.headers["x-request-id"] == "a-1_b.c:D"
    made = [httpx.get(echo.url + "/health", headers=h).headers["x-request-id"] for h in ({}, {}, {"X-Request-Id": "a b"})]
    assert len(set(made)) == 3 and all(re.fullmatch(r"req_[0-9a-f]{32}", m) for m in made)
    client = openai.OpenAI(base_url=echo.url + "/v1", api_key="k", default_headers={"X-Request-Id": "mine"})
    assert client.chat.completions.create(model="m", messages=USER)._request_id == "mine"
    client = anthropic.Anthropic(base_url=echo.url, api_key="k", default_headers={"X-Request-Id": "mine"})
    assert client.messages.create(model="m", max_tokens=9, messages=USER)._request_id == "mine"
    refused = httpx.get(echo.url + "/v1/models", headers={"Host": "evil.example"})
    assert refused.status_code == 403 and refused.headers["x-request-id"].startswith("req_")
