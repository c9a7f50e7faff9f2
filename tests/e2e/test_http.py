"""HTTP itself: bodies, limits, methods, hosts, origins, keys."""

import http.client
import json
import re
import socket

import httpx
import pytest

CHAT = {"messages": [{"role": "user", "content": "hi"}]}


def error(answer):
    body = answer.json()
    assert set(body) == {"error"} and set(body["error"]) == {"message", "type", "param", "code"}
    return body["error"]


def raw(server, request: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        connection.sendall(request)
        answer = b""
        while part := connection.recv(65536):
            answer += part
        return answer


@pytest.mark.parametrize("body, says", [
    (b"", "nothing"), (b"{", "byte"), (b"[]", "array"), (b"5", "number"), (b"nonsense", "byte"),
    (b'{"messages": \xff}', "0xFF"), (b'{"a":"\xff"}', "UTF-8"), ('{"a":1}'.encode("utf-16"), "UTF-8"),
    (b'{"a":' + b"[" * 100000 + b"]" * 100000 + b"}", "nested"), (b'{"a":1e999}', "number"), (b'{"a":"\\ud800"}', ""),
    (b'{"messages": [], "prompt": "x"}\0', "0x00"),
])
def test_bodies_that_are_none(echo, body, says):
    for path in ("/v1/chat/completions", "/v1/completions", "/tokenize", "/detokenize", "/apply-template"):
        answer = httpx.post(echo.url + path, content=body)
        assert answer.status_code == 400 and says in error(answer)["message"], path


def test_byte_order_mark(echo):
    answer = httpx.post(echo.url + "/v1/chat/completions", content=b"\xef\xbb\xbf" + json.dumps(CHAT).encode())
    assert answer.status_code == 200


def test_content_type_does_not_matter(echo):
    answer = httpx.post(echo.url + "/v1/chat/completions", content=json.dumps(CHAT), headers={"Content-Type": "text/plain"})
    assert answer.status_code == 200


def test_unknown_route_and_method(echo):
    answer = httpx.get(echo.url + "/v1/nothing")
    assert answer.status_code == 404 and "/v1/chat/completions" in error(answer)["message"]
    answer = httpx.get(echo.url + "/v1/chat/completions")
    assert answer.status_code == 405 and answer.headers["allow"] == "POST" and error(answer)
    assert httpx.delete(echo.url + "/v1/models").status_code == 405


def test_query_is_ignored(echo):
    assert httpx.post(echo.url + "/v1/chat/completions?beta=true&x=%zz", json=CHAT).status_code == 200


def test_too_large(echo):
    head = b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999999999999\r\n\r\n"
    assert raw(echo, head).startswith(b"HTTP/1.1 413 ")
    head = b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 200_000 + b"\r\n\r\n"
    assert raw(echo, head).startswith(b"HTTP/1.1 431 ")


def test_large_prompt_is_read(echo):
    answer = httpx.post(echo.url + "/tokenize", json={"prompt": "x" * 3_000_000}, timeout=60)
    assert answer.json()["count"] == 3_000_000


@pytest.mark.parametrize("request_bytes", [b"\r\n\r\n\r\n", b"GET\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 10,
                                           b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n", b"GET /health HTTP/1.1\r\n\r\n"])
def test_what_is_no_http(echo, request_bytes):
    assert raw(echo, request_bytes)[:12] in (b"HTTP/1.1 400", b"")
    assert httpx.get(echo.url + "/health").status_code == 200


def test_kept_connections(echo):
    with httpx.Client() as client:
        for _ in range(3):
            assert client.post(echo.url + "/v1/chat/completions", json=CHAT).status_code == 200
            assert client.get(echo.url + "/nothing").status_code == 404
            assert client.post(echo.url + "/v1/chat/completions", content=b"{").status_code == 400


def test_an_empty_line_before_a_request_is_passed_over(echo):
    assert raw(echo, b"\r\nGET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("version", [b"1.0", b"1.1"])
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages", "/v1/responses", "/api/chat"])
def test_a_half_closed_client_gets_its_answer(serve, path, version, stream):
    server = serve([{"text": "said to the end", "prefill_ms": 300, "delay_ms": 10}])
    body = json.dumps(CHAT | {"input": "hi", "max_tokens": 50, "stream": stream}).encode()
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        head = b"POST %s HTTP/%s\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % (path.encode(), version, len(body))
        connection.sendall(head + body)
        connection.shutdown(socket.SHUT_WR)
        reader = http.client.HTTPResponse(connection)
        reader.begin()  # it passes over what is no answer yet
        answer = reader.read().decode()
    pieces = re.findall(r'"(?:content|text|delta|response)":"([^"]*)"', answer)
    assert reader.status == 200 and "said to the end" in "".join(pieces), answer


def test_pipelined_requests_keep_their_order(echo):
    ask = b"GET /v1/models/%d HTTP/1.1\r\nHost: localhost\r\n%s\r\n"
    answer = raw(echo, b"".join(ask % (i, b"Connection: close\r\n" if i == 9 else b"") for i in range(10)))
    assert answer.count(b"HTTP/1.1 200 OK") == 10
    places = [answer.index(b'"id":"%d"' % i) for i in range(10)]
    assert places == sorted(places)


@pytest.mark.parametrize("host, status", [("localhost", 200), ("127.0.0.1:1", 200), ("[::1]", 200), ("evil.example", 403),
                                          ("localhost.evil.example", 403), ("10.0.0.1", 403)])
def test_host_header(echo, host, status):
    answer = httpx.get(echo.url + "/v1/models", headers={"Host": host})
    assert answer.status_code == status
    if status == 403:
        assert error(answer)["code"] == "host_not_allowed"


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost:3000"])
def test_foreign_origins(echo, origin):
    headers = {"Origin": origin}
    answer = httpx.post(echo.url + "/v1/chat/completions", json=CHAT, headers=headers)
    assert answer.status_code == 403 and error(answer)["code"] == "origin_not_allowed"
    assert "access-control-allow-origin" not in answer.headers
    preflight = {**headers, "Access-Control-Request-Method": "POST"}
    answer = httpx.options(echo.url + "/v1/chat/completions", headers=preflight)
    assert answer.status_code == 403 and "access-control-allow-origin" not in answer.headers
    assert "access-control-allow-origin" not in httpx.get(echo.url + "/v1/models", headers=headers).headers


def test_own_and_allowed_origins(serve):
    server = serve([], "--allow-origin", "http://localhost:3000", "--allow-host", "box.lan")
    for origin in (server.url, "http://localhost:3000"):
        answer = httpx.post(server.url + "/v1/chat/completions", json=CHAT, headers={"Origin": origin})
        assert answer.status_code == 200 and answer.headers["access-control-allow-origin"] == origin
        assert "access-control-allow-credentials" not in answer.headers
        answer = httpx.options(server.url + "/v1/chat/completions", headers={"Origin": origin})
        assert answer.status_code == 204 and "POST" in answer.headers["access-control-allow-methods"]
    assert httpx.get(server.url + "/v1/models", headers={"Host": "box.lan"}).status_code == 200


@pytest.mark.parametrize("how", ["flag", "environment"])
def test_api_key(serve, how):
    server = serve([], "--api-key", "secret") if how == "flag" else serve([], TEMPO9_API_KEY="secret")
    url = server.url + "/v1/models"
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"x-api-key": "secre"}, {"Authorization": "secret"}):
        answer = httpx.get(url, headers=headers)
        assert answer.status_code == 401 and error(answer)["code"] == "invalid_api_key"
    for headers in ({"Authorization": "Bearer secret"}, {"x-api-key": "secret"}):
        assert httpx.get(url, headers=headers).status_code == 200
    assert httpx.get(server.url + "/health").status_code == 200
