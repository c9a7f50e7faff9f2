#!/usr/bin/env python3
"""The demo's second half: starts the server (or finds the one that an earlier demo left), talks to it, says what next.

Called by scripts/demo, which builds the binary and fetches the model.
"""

import argparse
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import demo_client

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
STATE = REPOSITORY / "build" / "demo"
START_TIMEOUT_S = 120
STOP_TIMEOUT_S = 15


class Server:
    """The demo's server on a port, as a process id in a file: it outlives the demo."""

    def __init__(self, binary: pathlib.Path, model_file: pathlib.Path, port: int):
        self.binary = binary.resolve()
        self.command = [str(self.binary), "--gguf", str(model_file), "--port", str(port),
                        "--name", model_file.stem]  # a name that needs no quotes on a command line
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self.pid_file = STATE / f"server-{port}.pid"
        self.log = STATE / f"server-{port}.log"

    def running_pid(self) -> int | None:
        """The process that an earlier demo left on this port, if it is still ours."""
        try:
            pid = int(self.pid_file.read_text())
            command = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except (OSError, ValueError):
            return None
        is_ours = len(command) > 4 and command[0].decode().endswith("/tempo9") and str(self.port).encode() in command
        return pid if is_ours else None

    def is_as_wanted(self, pid: int) -> bool:
        """Whether that process runs today's binary on today's model."""
        words = [word.decode() for word in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")]
        program = os.readlink(f"/proc/{pid}/exe")  # ends in " (deleted)" once the binary was built anew
        return words[:-1] == self.command and program == str(self.binary)

    def is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(self.url + "/health", timeout=5) as response:
                return response.status == 200
        except OSError:  # URLError, also with a status such as 503, is one
            return False

    def start(self) -> int:
        if port_is_taken(self.port):
            sys.exit(f"demo: port {self.port} is taken by another program; choose one with --port")
        STATE.mkdir(parents=True, exist_ok=True)
        with self.log.open("w") as log:
            process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                       start_new_session=True)  # fmt: skip
        self.pid_file.write_text(str(process.pid))
        give_up = time.monotonic() + START_TIMEOUT_S
        try:
            while not self.is_ready():
                if process.poll() is not None:
                    sys.exit(f"demo: the server ended with status {process.returncode}:\n{self.log.read_text()}")
                if time.monotonic() > give_up:
                    raise TimeoutError
                time.sleep(0.05)
        except (KeyboardInterrupt, TimeoutError):
            self.stop(process.pid)
            sys.exit(f"demo: the server was not ready, and is stopped; its log is {self.log}")
        return process.pid

    def stop(self, pid: int) -> None:
        os.kill(pid, signal.SIGTERM)
        give_up = time.monotonic() + STOP_TIMEOUT_S
        while is_alive(pid):
            if time.monotonic() > give_up:
                os.kill(pid, signal.SIGKILL)
                sys.exit(f"demo: the server was still there {STOP_TIMEOUT_S} s after SIGTERM, and was killed")
            time.sleep(0.05)
        self.pid_file.unlink(missing_ok=True)

    def ensure_running(self) -> int:
        pid = self.running_pid()
        if pid is not None and self.is_as_wanted(pid) and self.is_ready():
            print(f"The server is running already (pid {pid}).")
            return pid
        if pid is not None:
            print(f"Stopping the server of an earlier demo (pid {pid}): its program or model is another.")
            self.stop(pid)
        started = time.monotonic()
        pid = self.start()
        print(f"The server is ready after {time.monotonic() - started:.1f} s (pid {pid}, log {relative(self.log)}).")
        return pid


def is_alive(pid: int) -> bool:
    try:
        os.waitpid(pid, os.WNOHANG)  # a child that has ended is there until it is asked for
    except ChildProcessError:
        pass
    return pathlib.Path(f"/proc/{pid}").exists()


def port_is_taken(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(2)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def relative(path: pathlib.Path) -> str:
    return os.path.relpath(path)


def is_served(url: str) -> bool:
    """Whether a door is there at all; what it says to an empty body does not matter."""
    request = urllib.request.Request(url, data=b"{}", headers={"Content-Type": "application/json"})
    try:
        urllib.request.urlopen(request, timeout=10).close()
    except urllib.error.HTTPError as error:
        return error.code != 404
    except OSError:
        return False
    return True


def say_how_to_connect(url: str, model: str) -> None:
    later = "   [this version does not serve {} yet]"
    messages = "" if is_served(url + "/v1/messages") else later.format("/v1/messages, which Claude Code needs,")
    responses = "" if is_served(url + "/v1/responses") else later.format("/v1/responses, which Codex needs,")
    provider = f'model_providers.tempo9={{name="tempo9",base_url="{url}/v1",wire_api="responses"}}'
    print(f"""
Point your client at it:
  OpenAI client   OPENAI_BASE_URL={url}/v1 OPENAI_API_KEY=none   (model {model}, or any name)
  Claude Code     ANTHROPIC_BASE_URL={url} ANTHROPIC_AUTH_TOKEN=none claude --model {model}{messages}
  Codex           codex -c model={model} -c model_provider=tempo9 -c '{provider}'{responses}""")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=pathlib.Path, required=True)
    parser.add_argument("--model-file", type=pathlib.Path, required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--once", action="store_true")
    args = parser.parse_args()

    server = Server(args.binary, args.model_file, args.port)
    pid = server.ensure_running()
    try:
        is_right = demo_client.converse(server.url)
    except demo_client.Failure as failure:
        print(f"demo: {failure}; the server's log is {relative(server.log)}", file=sys.stderr)
        is_right = False
    if args.once:
        server.stop(pid)
        print("\nThe server is stopped.")
    else:
        say_how_to_connect(server.url, demo_client.model_name(server.url))
        print(f"\nThe server keeps running at {server.url}; stop it with: kill {pid}")
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
