#!/usr/bin/env python3
"""Gets the engines that bench/vs and bench/serve measure beside Tempo9, each from its PyPI package, pinned by version and hash.

  bench/vs/build_peers.py [llama.cpp] [ik_llama.cpp] [openvino]      (default: all three)

They go to ~/.cache/tempo9/peers (XDG_CACHE_HOME). What is there is not made again; a build that was stopped goes on
where it was. Needs cmake, ninja and a C++ compiler; uses ccache when it is there.
"""

import argparse
import shutil
import subprocess
import sys
import venv
from collections import namedtuple
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from fetch_sources import cache_folder, fetch, sha256_of  # noqa: E402

PEERS = cache_folder().parent / "peers"
OPENVINO_PYTHON = PEERS / "openvino/bin/python"
OPENVINO_DISK_GIB = 20  # with less free than that it is left out
FLAGS = ("-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DGGML_NATIVE=ON", "-DBUILD_SHARED_LIBS=OFF", "-DLLAMA_CURL=OFF",
         "-DLLAMA_BUILD_TESTS=OFF", "-DCMAKE_C_FLAGS=-w", "-DCMAKE_CXX_FLAGS=-w")


# sha256 is that of the source package, folder where in it the engine is.
Source = namedtuple("Source", "package version sha256 folder flags programs")
SOURCES = {
    "llama.cpp": Source(
        "llama-cpp-python", "0.3.36", "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e",
        "vendor/llama.cpp", ("-DLLAMA_OPENSSL=OFF", "-DLLAMA_BUILD_UI=OFF"),
        ("llama-bench", "llama-batched-bench", "llama-server", "llama-perplexity")),
    # Attention over 4-bit KV caches, which no cell here uses, would take most of the time to build.
    "ik_llama.cpp": Source(
        "ik-llama-cpp-python", "0.1.5", "33c67eb99e4dcab5e611050433243815709b8b3067753f9ce18375013cf002ad",
        "vendor/ik_llama.cpp", ("-DLLAMA_BUILD_SERVER=ON", "-DGGML_IQK_FA_ALL_QUANTS=OFF"),
        ("llama-bench", "llama-batched-bench", "llama-server")),
}
# ik_llama.cpp's package lacks this file of its build, which writes the version that the programs print.
MISSING, MISSING_TEXT = "common/cmake/build-info-gen-cpp.cmake", """\
file(WRITE "${CMAKE_CURRENT_LIST_DIR}/../build-info.cpp"
     "int LLAMA_BUILD_NUMBER = 0;\\nchar const *LLAMA_COMMIT = \\"\\";\\n"
     "char const *LLAMA_COMPILER = \\"\\";\\nchar const *LLAMA_BUILD_TARGET = \\"\\";\\n")
"""


def program_folder(name: str) -> Path:
    return PEERS / f"{name.replace('_', '-')}-build/bin"


def unpacked(source: Source) -> Path:
    folder = PEERS / f"{source.package.replace('-', '_')}-{source.version}"
    archive = folder.with_name(folder.name + ".tar.gz")
    if not archive.exists() or sha256_of(archive) != source.sha256:
        fetch(source.package, source.version, source.sha256, archive)
    if not folder.exists():  # appears whole or not at all
        scratch = PEERS / "unpacking"
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir()
        subprocess.run(["tar", "-xzf", archive, "-C", scratch], check=True)
        (scratch / folder.name).rename(folder)
        scratch.rmdir()
    return folder / source.folder


def build(name: str, jobs: int) -> None:
    source, programs = SOURCES[name], program_folder(name)
    if not all((programs / program).is_file() for program in source.programs):
        code = unpacked(source)
        if name == "ik_llama.cpp" and not (code / MISSING).exists():
            (code / MISSING).parent.mkdir(exist_ok=True)
            (code / MISSING).write_text(MISSING_TEXT)
        launcher = [f"-DCMAKE_{x}_COMPILER_LAUNCHER=ccache" for x in ("C", "CXX") if shutil.which("ccache")]
        subprocess.run(["cmake", "-S", code, "-B", programs.parent, *FLAGS, *source.flags, *launcher], check=True)
        subprocess.run(["cmake", "--build", programs.parent, "-j", str(jobs), "--target", *source.programs], check=True)
    print(f"{name}: {programs}")


def install_openvino() -> None:
    if not OPENVINO_PYTHON.exists():
        if (free := shutil.disk_usage(PEERS).free >> 30) < OPENVINO_DISK_GIB:
            return print(f"openvino: left out: {free} GiB of disk free, expected {OPENVINO_DISK_GIB}")
        venv.create(OPENVINO_PYTHON.parents[1], with_pip=True)
    subprocess.run([OPENVINO_PYTHON, "-m", "pip", "install", "--quiet", "--require-hashes", "-r",
                    ROOT / "requirements-peers.txt"], check=True)
    print(f"openvino: {OPENVINO_PYTHON}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peers", nargs="*", metavar="PEER", help=", ".join((*SOURCES, "openvino")))
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    if unknown := set(args.peers) - {*SOURCES, "openvino"}:
        parser.error(f"found {', '.join(unknown)}, expected {', '.join(SOURCES)} or openvino")
    PEERS.mkdir(parents=True, exist_ok=True)
    for name in args.peers or (*SOURCES, "openvino"):
        install_openvino() if name == "openvino" else build(name, args.jobs)


if __name__ == "__main__":
    main()
