"""A minimal Debian in a folder, made with debootstrap, and programs that run in it as their root."""

import json
import os
import re
import select
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

MIRROR = os.environ.get("TEMPO9_DEBIAN_MIRROR", "http://deb.debian.org/debian")
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "tempo9"
# What package indexes and certificates are reached by, where a machine has a way of its own.
HOST_FILES = ["/etc/resolv.conf", "/etc/hosts", "/etc/pip.conf", "/etc/ssl/certs/ca-certificates.crt"]
HOST_FOLDERS = ["/etc/apt/apt.conf.d", "/etc/xdg/pip", "/usr/local/share/ca-certificates"]
HOST_VARIABLES = re.compile(r"(https?|no)_proxy|PIP_.*|SSL_CERT_FILE", re.IGNORECASE)
# Written by the package tools themselves, whatever is installed.
NOT_COMPARED = ("dev", "proc", "sys", "run", "tmp", "root", "var/lib/dpkg", "var/lib/apt", "var/cache", "var/log",
                "etc/ld.so.cache")
NOBODY = "65534:65534"


class CannotRun(Exception):
    """This machine lacks what the tests need; says what."""


def suite() -> str:
    release = dict(line.strip().split("=", 1) for line in open("/etc/os-release") if "=" in line)
    if release.get("ID") != "debian":
        raise CannotRun("this is not Debian, and the program is linked with this system's libraries")
    return release["VERSION_CODENAME"]


def base_folder() -> Path:
    """What debootstrap makes, once: later roots are copies of it."""
    if os.geteuid() != 0:
        raise CannotRun("debootstrap and chroot need root")
    for tool in ("debootstrap", "unshare", "dpkg-shlibdeps"):
        if not shutil.which(tool):
            raise CannotRun(f"{tool} is not installed")
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode != 0:
        raise CannotRun("mount namespaces are not allowed here")
    folder = CACHE / f"debian-{suite()}"
    if not folder.is_dir():
        part = folder.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        part.parent.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(["debootstrap", "--variant=minbase", suite(), part, MIRROR], capture_output=True, text=True)
        if done.returncode != 0:
            raise CannotRun("debootstrap failed: " + (done.stderr or done.stdout).strip().splitlines()[-1])
        part.rename(folder)
    return folder


class Root:
    def __init__(self, folder: Path):
        self.folder = folder
        subprocess.run(["cp", "-a", "--reflink=auto", base_folder(), folder], check=True)
        for name in HOST_FOLDERS:
            if Path(name).is_dir():
                shutil.copytree(name, self.path(name), dirs_exist_ok=True)
        for name in HOST_FILES:
            if Path(name).is_file():
                self.path(name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(name, self.path(name))
        security = MIRROR.rstrip("/") + "-security"
        self.path("/etc/apt/sources.list").write_text(
            f"deb {MIRROR} {suite()} main\ndeb {security} {suite()}-security main\n")
        self.path("/script.jsonl").write_text(json.dumps({"text": "It runs."}) + "\n")

    def path(self, name: str) -> Path:
        return self.folder / name.lstrip("/")

    def command(self, args, user="0:0", cwd="/", **environment) -> tuple[list, dict]:
        """args run in the root, in place of the process that is started: no process stands between."""
        inside = {k: v for k, v in os.environ.items() if HOST_VARIABLES.fullmatch(k)}
        inside |= {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8",
                   "DEBIAN_FRONTEND": "noninteractive", "HOME": "/root" if user == "0:0" else "/tmp", **environment}
        mounts = 'for f in dev proc sys; do mount --rbind /$f "$0/$f"; done; exec chroot "$@"'
        start = ["unshare", "--mount", "bash", "-ec", mounts, str(self.folder), f"--userspec={user}", str(self.folder)]
        change = ["env", f"--chdir={cwd}"] if cwd != "/" else []
        return [*start, *change, *map(str, args)], inside

    def run(self, *args, timeout=1800, expect=0, **kwargs) -> str:
        command, environment = self.command(args, **kwargs)
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=timeout)
        assert done.returncode == expect, f"{' '.join(map(str, args))}: exit code {done.returncode}\n{done.stdout[-3000:]}"
        return done.stdout

    def files(self) -> set[str]:
        found = set()
        for folder, folders, names in os.walk(self.folder):
            inside = os.path.relpath(folder, self.folder)
            folders[:] = [f for f in folders if os.path.normpath(f"{inside}/{f}") not in NOT_COMPARED]
            found |= {os.path.normpath(f"{inside}/{name}") for name in names}
        return {name for name in found if name not in NOT_COMPARED and not name.endswith(".pyc")}

    def serve_and_ask(self, *program, key="", **kwargs) -> None:
        """Starts it on a script, asks once, and ends it as a service manager would."""
        kwargs.setdefault("user", NOBODY)
        with Served(self, program, **kwargs) as served:
            assert served.ask(key) == "It runs."
        assert served.exit_code == 0, f"exit code {served.exit_code} after SIGTERM"


class Served:
    def __init__(self, root: Root, program, flags=(), **kwargs):
        command, environment = root.command([*program, "serve", "--script", "/script.jsonl", "--port", "0", *flags],
                                            AS_KV_OFFLOAD="0", **kwargs)
        self.process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.port = self.wait_for_port(time.monotonic() + 120)
        self.exit_code = None

    def wait_for_port(self, deadline: float) -> int:
        text = b""
        while time.monotonic() < deadline:
            if not select.select([self.process.stdout], [], [], 1)[0]:
                continue
            chunk = os.read(self.process.stdout.fileno(), 4096)
            text += chunk
            if found := re.search(rb"https?://[^ :]+:(\d+)", text):
                return int(found[1])
            if not chunk:
                break
        self.process.kill()
        raise AssertionError(f"it did not start: {text.decode(errors='replace')}")

    def ask(self, key: str) -> str:
        body = json.dumps({"messages": [{"role": "user", "content": "Does it?"}]}).encode()
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/v1/chat/completions", body, headers)
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as reply:
            return json.load(reply)["choices"][0]["message"]["content"]

    def refuses(self, key: str) -> bool:
        try:
            self.ask(key)
        except urllib.error.HTTPError as error:
            return error.code == 401
        return False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.exit_code = self.process.wait(30)
        finally:
            self.process.kill()
            self.process.stdout.close()
