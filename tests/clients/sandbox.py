"""The network of a run: loopback, and nothing else."""

import fcntl
import os
import shutil
import socket
import struct
import subprocess
import sys

MARK = "TEMPO9_CLIENTS_SANDBOX"


class Unavailable(Exception):
    """No namespace is to be had here; says why."""


def command() -> list[str]:
    """What a command is put behind to have a network of its own. Raises Unavailable."""
    unshare = shutil.which("unshare")
    if unshare is None:
        raise Unavailable("unshare (util-linux) is not in PATH")
    words = [unshare, "--net"] if os.geteuid() == 0 else [unshare, "--net", "--map-root-user"]
    tried = subprocess.run([*words, "true"], capture_output=True, text=True)
    if tried.returncode:
        raise Unavailable(f"unshare --net: {tried.stderr.strip()}")
    return words


def enter() -> None:
    """Starts this program again in a network namespace, unless it is in one. Raises Unavailable."""
    if os.environ.get(MARK) == "1":
        bring_loopback_up()
        return
    words = command()
    sys.stdout.flush()
    os.execve(words[0], [*words, sys.executable, *sys.argv], {**os.environ, MARK: "1"})


def bring_loopback_up() -> None:
    siocgifflags, siocsifflags, iff_up = 0x8913, 0x8914, 1
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = struct.pack("16sH14s", b"lo", 0, b"")
        flags = struct.unpack("16sH14s", fcntl.ioctl(control, siocgifflags, request))[1]
        fcntl.ioctl(control, siocsifflags, struct.pack("16sH14s", b"lo", flags | iff_up, b""))
