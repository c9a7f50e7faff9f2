"""A server that speaks what `tempo9 pull` asks: Hugging Face's tree and resolve, Ollama's registry, and the store of
files that both send their clients on to. Real bytes, real redirects, ranges, and faults on demand."""

import hashlib
import json
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit


class Hub:
    def __init__(self):
        self.repos = {}    # "owner/repo": {path: bytes}, what the branch is now
        self.commits = {}  # (owner/repo, commit): what it was when somebody asked for the commit
        self.before_file = None   # called before each file is sent
        self.library = {}  # ("library/name", tag): bytes
        self.token = None  # that the repositories ask for
        self.ranges = True
        self.page_size = 1000
        self.corrupt = False
        self.cut_after = None     # bytes of each answer, then the connection breaks
        self.fail_first = 0       # so many requests for files get 503
        self.delay = 0.0          # before each 64 KB of a file
        self.files_seen = []      # (path, range, had a token) of requests to the file store
        self.bytes_sent = 0
        self.lock = threading.Lock()
        self.front, self.front_thread = self._start(self._front)
        self.files, self.files_thread = self._start(self._files)
        self.url = f"http://127.0.0.1:{self.front.server_port}"
        self.files_url = f"http://localhost:{self.files.server_port}"  # another host, by its name

    def _start(self, answer):
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                try:
                    answer(self)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

            def log_message(self, *args):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        return server, thread

    def stop(self):
        for server, thread in ((self.front, self.front_thread), (self.files, self.files_thread)):
            server.shutdown()
            server.server_close()
            thread.join()

    @staticmethod
    def _send(handler, status, body=b"", **headers):
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def _front(self, handler):
        url = urlsplit(handler.path)
        if found := re.fullmatch(r"/v2/(.+)/manifests/(.+)", url.path):
            data = self.library.get((found[1], found[2]))
            if data is None:
                return self._send(handler, 404, b'{"errors":[{"code":"MANIFEST_UNKNOWN"}]}')
            digest = hashlib.sha256(data).hexdigest()
            layers = [{"mediaType": "application/vnd.ollama.image.license", "digest": "sha256:" + "0" * 64, "size": 3},
                      {"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:" + digest, "size": len(data)}]
            return self._send(handler, 200, json.dumps({"schemaVersion": 2, "layers": layers}).encode())
        if found := re.fullmatch(r"/v2/(.+)/blobs/sha256:([0-9a-f]{64})", url.path):
            return self._send(handler, 307, Location=f"{self.files_url}/blob/{found[2]}?Signature=secret")
        if self.token and handler.headers.get("Authorization") != f"Bearer {self.token}":
            return self._send(handler, 401, b'{"error":"Invalid username or password."}')
        if found := re.fullmatch(r"/api/models/([^/]+/[^/]+)/revision/main", url.path):
            if found[1] not in self.repos:
                return self._send(handler, 404, b'{"error":"Repository not found"}')
            files = dict(self.repos[found[1]])
            commit = hashlib.sha1(b"".join(p.encode() + d for p, d in files.items())).hexdigest()
            self.commits[found[1], commit] = files
            return self._send(handler, 200, json.dumps({"id": found[1], "sha": commit}).encode())
        if found := re.fullmatch(r"/api/models/([^/]+/[^/]+)/tree/([^/]+)", url.path):
            files = self._at(found[1], found[2])
            return self._send(handler, 404) if files is None else self._tree(handler, files, url.query)
        if found := re.fullmatch(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", url.path):
            return self._send(handler, 302, Location=f"{self.files_url}/{found[1]}/{found[2]}/{found[3]}?Signature=secret")
        return self._send(handler, 404)

    def _at(self, repo, revision):
        return self.repos.get(repo) if revision == "main" else self.commits.get((repo, revision))

    def _tree(self, handler, files, query):
        entries = [{"type": "directory", "path": "sub", "oid": "0", "size": 0}]
        for path, data in files.items():
            entry = {"type": "file", "path": path, "oid": "1" * 40, "size": len(data)}
            if path.endswith(".gguf"):
                entry["lfs"] = {"oid": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 130}
            entries.append(entry)
        start = int((re.search(r"cursor=(\d+)", query) or [0, 0])[1])
        more = {}
        if start + self.page_size < len(entries):
            path = handler.path.split("&cursor")[0]
            more["Link"] = f'<{self.url}{path}&cursor={start + self.page_size}>; rel="next"'
        self._send(handler, 200, json.dumps(entries[start:start + self.page_size]).encode(), **more)

    def _files(self, handler):
        path = unquote(urlsplit(handler.path).path)
        if not path.startswith("/blob/"):
            owner, repo, revision, name = path[1:].split("/", 3)
            path = f"/{owner}/{repo}/{name}"
        asked = handler.headers.get("Range")
        if self.before_file:
            self.before_file()
        with self.lock:
            self.files_seen.append((path, asked, "Authorization" in handler.headers))
            failing = self.fail_first > 0
            self.fail_first -= failing
        if failing:
            return self._send(handler, 503)
        if path.startswith("/blob/"):
            data = next(d for d in self.library.values() if hashlib.sha256(d).hexdigest() == path[6:])
        else:
            data = self._at(f"{owner}/{repo}", revision)[name]
        begin, end, status = 0, len(data), 200
        if asked and self.ranges:
            first, last = re.fullmatch(r"bytes=(\d+)-(\d*)", asked).groups()
            begin, end, status = int(first), int(last or len(data) - 1) + 1, 206
        body = data[begin:end]
        if self.corrupt:
            body = bytes([body[0] ^ 1]) + body[1:]
        handler.send_response(status)
        if status == 206:
            handler.send_header("Content-Range", f"bytes {begin}-{end - 1}/{len(data)}")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        whole = len(body)
        if self.cut_after is not None:
            body = body[:self.cut_after]
        for at in range(0, len(body), 65536):
            time.sleep(self.delay)
            handler.wfile.write(body[at:at + 65536])
            with self.lock:
                self.bytes_sent += len(body[at:at + 65536])
        if len(body) < whole:
            handler.close_connection = True
