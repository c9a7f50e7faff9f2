#!/usr/bin/env python3
"""Fetches the source packages of requirements-sources.txt into the cache, each checked against its hash.

pip takes them from the index that it is set up for. On a source package it also asks the package's build backend for
metadata, which would first install that backend and may build things. So pip is told not to isolate the build and
gets a stand-in backend that answers with the name and version only: no code of the package runs.
"""

import hashlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
STAND_IN = '''
import os
def get_requires_for_build_wheel(config_settings=None):
    return []
def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    folder = "{name}-{version}.dist-info"
    os.mkdir(os.path.join(metadata_directory, folder))
    with open(os.path.join(metadata_directory, folder, "METADATA"), "w") as file:
        file.write("Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n")
    return folder
'''
BACKENDS = ("scikit_build_core.build", "setuptools.build_meta", "hatchling.build")


def cache_folder() -> pathlib.Path:
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return pathlib.Path(home) / "tempo9" / "sources"


def sha256_of(path: pathlib.Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write_stand_ins(folder: pathlib.Path, name: str, version: str) -> None:
    name = name.replace("-", "_")  # in the name of a .dist-info folder a dash ends the package's name
    for backend in BACKENDS:
        package, module = backend.split(".")
        (folder / package).mkdir(exist_ok=True)
        (folder / package / "__init__.py").touch()
        (folder / package / f"{module}.py").write_text(STAND_IN.format(name=name, version=version))


def fetch(name: str, version: str, sha256: str, target: pathlib.Path) -> None:
    print(f"setup: fetching {target.name}", flush=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        folder = pathlib.Path(scratch)
        write_stand_ins(folder, name, version)
        (folder / "pin.txt").write_text(f"{name}=={version} --hash=sha256:{sha256}\n")
        command = [
            sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check",
            "--no-deps", "--no-build-isolation", "--no-binary", name, "--require-hashes",
            "-r", str(folder / "pin.txt"), "-d", str(folder / "out"),
        ]  # fmt: skip
        environment = dict(os.environ, PYTHONPATH=str(folder))
        subprocess.run(command, check=True, timeout=600, env=environment)
        (fetched,) = (folder / "out").iterdir()
        if (found := sha256_of(fetched)) != sha256:
            raise SystemExit(f"{fetched.name}: found sha256 {found}, expected {sha256}")
        fetched.rename(target)


def main() -> None:
    for line in (REPOSITORY / "requirements-sources.txt").read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        pin = re.fullmatch(r"([\w.-]+)==([\w.]+) +--hash=sha256:([0-9a-f]{64})", line)
        if not pin:
            raise SystemExit(f"requirements-sources.txt: found '{line}', expected name==version --hash=sha256:...")
        name, version, sha256 = pin.groups()
        target = cache_folder() / f"{name}-{version}.tar.gz"
        if not target.exists() or sha256_of(target) != sha256:
            fetch(name, version, sha256, target)


if __name__ == "__main__":
    try:
        main()
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        sys.exit(f"setup: a source package could not be fetched: {error}")
