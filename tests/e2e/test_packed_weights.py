"""`--graph F`: weights that are read packed serve what packed ones do, and F is never trusted nor taken from anybody."""

import os
import shutil
import sys

import pytest
from conftest import ROOT, Server, run_binary

sys.path.insert(0, str(ROOT / "tools/golden"))

from models_cases import CASES  # noqa: E402
from models_gguf import cached  # noqa: E402


@pytest.fixture
def tiny(tmp_path):
    return cached(CASES["quant_mix_q5_0_q8_0"], tmp_path)


def reply_of(*args) -> tuple[str, str]:
    """A greedy reply with its logprobs, and what the server logged."""
    server = Server("--gguf", *args, "--max-length", 256)
    reply = server.client.completions.create(model="m", prompt="the rain", max_tokens=16, temperature=0, logprobs=5)
    assert server.stop() == 0
    return reply.choices[0].model_dump_json(), server.process.stderr.read()


def test_written_once_then_read(tiny, tmp_path):
    packed = tmp_path / "weights.packed"
    plain, _ = reply_of(tiny)
    first, log = reply_of(tiny, "--graph", packed)
    assert first == plain and f"packed weights written to {packed}" in log
    written = packed.stat()
    second, log = reply_of(tiny, "--graph", packed)
    assert second == plain and log == ""
    assert packed.stat().st_mtime_ns == written.st_mtime_ns and packed.stat().st_ino == written.st_ino
    assert [p.name for p in tmp_path.iterdir() if ".part" in p.name] == []


def test_what_is_read_is_what_serves(tiny, tmp_path):
    """The second start does read the file: with another model's weights under this key the reply is another."""
    packed = tmp_path / "weights.packed"
    plain, _ = reply_of(tiny, "--graph", packed)
    other = bytearray(tiny.read_bytes())
    stamp = tiny.stat()
    middle = len(other) // 2
    other[middle:middle + 4096] = bytes(4096)  # weights only: the head of the file stands before
    tiny.write_bytes(other)
    os.utime(tiny, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert reply_of(tiny)[0] != plain
    assert reply_of(tiny, "--graph", packed)[0] == plain


def test_another_model_or_damage(tiny, tmp_path):
    packed = tmp_path / "weights.packed"
    plain, _ = reply_of(tiny, "--graph", packed)
    again = shutil.copy(tiny, tmp_path / "again.gguf")
    os.utime(again, ns=(1, 1))
    assert "packed weights written" in reply_of(again, "--graph", packed)[1]
    content = bytearray(packed.read_bytes())
    content[len(content) - 100] ^= 1
    packed.write_bytes(content)
    reply, log = reply_of(again, "--graph", packed)
    assert reply == plain and "are damaged, and packed anew" in log and "packed weights written" in log
    assert reply_of(again, "--graph", packed) == (plain, "")


def test_a_file_of_another_kind_stays(tiny, tmp_path):
    notes = tmp_path / "notes.txt"
    notes.write_text("mine")
    for path in (notes, tiny, tmp_path):
        done = run_binary("--gguf", tiny, "--graph", path, "--port", 0)
        assert done.returncode == 1 and str(path) in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert notes.read_text() == "mine"


def test_a_folder_that_is_not_there(tiny, tmp_path):
    plain, _ = reply_of(tiny)
    reply, log = reply_of(tiny, "--graph", tmp_path / "no/folder/weights.packed")
    assert reply == plain and "packed weights are not kept" in log and "No such file or directory" in log
