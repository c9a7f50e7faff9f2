"""Clients as their packages have them, each in a folder of its own, at the version that is pinned."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

# OpenClaw refuses a Node below 24.16 and Qwen Code one below 22; the package holds the program.
NODE = "node@24.21.0"


class Missing(Exception):
    """The package is not installed, or could not be; says why."""


@dataclass(frozen=True)
class Package:
    name: str
    version: str
    registry: str = "npm"
    with_node: bool = False

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


def folder() -> Path:
    return Path(os.environ.get("TEMPO9_CLIENTS", Path.home() / ".cache/tempo9/clients"))


def programs(package: Package, home: Path) -> Path:
    return home / ("node_modules/.bin" if package.registry == "npm" else "venv/bin")


def installed_version(package: Package, home: Path) -> str | None:
    if package.registry == "npm":
        at = home / "node_modules" / package.name / "package.json"
        return json.loads(at.read_text())["version"] if at.exists() else None
    stamp = home / "version"
    return stamp.read_text().strip() if stamp.exists() else None


def find(package: Package, client: str, install: bool) -> Path:
    """The folder of its programs; installed first if that is wanted and due. Raises Missing."""
    home = folder() / client
    if installed_version(package, home) != package.version:
        if not install:
            raise Missing(f"{package} is not installed; --install gets it from {package.registry}")
        home.mkdir(parents=True, exist_ok=True)
        (install_npm if package.registry == "npm" else install_pypi)(package, home)
    return programs(package, home)


def install_npm(package: Package, home: Path) -> None:
    install = ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix", home]
    if package.with_node:  # first: the package's own install scripts ask for it
        run([*install, NODE])
    path = f"{home / 'node_modules/.bin'}:{os.environ['PATH']}"
    run([*install, f"{package.name}@{package.version}"], {**os.environ, "PATH": path})


def install_pypi(package: Package, home: Path) -> None:
    run([sys.executable, "-m", "venv", home / "venv"])
    run([home / "venv/bin/pip", "install", "--quiet", "--disable-pip-version-check", f"{package.name}=={package.version}"])
    (home / "version").write_text(package.version)


def run(command: list, environment: dict | None = None) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=1800, env=environment)
    except FileNotFoundError:
        raise Missing(f"{command[0]} is not in PATH") from None
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip() or "it failed").splitlines()[-1]
        raise Missing(f"{' '.join(map(str, command[:2]))} ...: {last}")
