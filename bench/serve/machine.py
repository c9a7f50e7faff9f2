"""The machine that a measurement ran on: what it is, what else it does, and that only one measurement runs."""

import contextlib
import fcntl
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SPIN = "import os\nparent = os.getppid()\nwhile os.getppid() == parent:\n    for _ in range(10**6): pass"


def machine() -> dict:
    cpu = re.search(r"model name\s*:\s*(.*)", Path("/proc/cpuinfo").read_text())
    memory = re.search(r"MemTotal:\s*(\d+)", Path("/proc/meminfo").read_text())
    return {"cpu": cpu[1] if cpu else platform.machine(), "cores": len(os.sched_getaffinity(0)),
            "memory_gib": round(int(memory[1]) / 2**20, 1), "system": platform.release()}


def commit() -> str:
    def git(*args):
        return subprocess.run(["git", "-C", ROOT, *args], capture_output=True, text=True, check=False).stdout.strip()
    changed = git("status", "--porcelain", "--untracked-files=no", "--", "src", "CMakeLists.txt", "cmake")
    return git("rev-parse", "--short=12", "HEAD") + ("+changes" if changed else "")


def busy_s() -> float:
    """CPU seconds that all processes together used since the machine started."""
    user, nice, system, _, _, irq, softirq, *_ = map(int, Path("/proc/stat").read_text().split("\n")[0].split()[1:])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def cpu_s_of(pid: int) -> float:
    """CPU seconds of one process that is still there."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def busy_processes(n: int = 2):
    """n processes that spin, on whatever cores the system gives them; gone at the end, and with us. Gives their ids."""
    spinning = [subprocess.Popen([sys.executable, "-c", SPIN]) for _ in range(n)]
    try:
        time.sleep(0.5)  # all run
        yield [p.pid for p in spinning]
    finally:
        for process in spinning:
            process.kill()
            process.wait()


@contextlib.contextmanager
def the_only_run():
    with open(Path(tempfile.gettempdir()) / "tempo9-bench.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
