#!/usr/bin/env python3
"""Writes fuzz/corpus/gguf/: small files by the `gguf` package, one of each thing that a reader can meet.

    .venv/bin/python tools/make_fuzz_corpus.py        (gguf 0.19.0, numpy 2.4.6)
"""

import pathlib

import gguf
import numpy

CORPUS = pathlib.Path(__file__).resolve().parent.parent / "fuzz" / "corpus" / "gguf"


def write(name: str, fill, version: int = 3) -> None:
    writer = gguf.GGUFWriter(str(CORPUS / f"{name}.gguf"), "llama")
    fill(writer)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    if version != 3:
        path = CORPUS / f"{name}.gguf"
        path.write_bytes(b"GGUF" + version.to_bytes(4, "little") + path.read_bytes()[8:])


def all_kinds(writer: gguf.GGUFWriter) -> None:
    for kind in ("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"):
        getattr(writer, f"add_{kind}")(f"test.{kind}", 7)
    writer.add_float32("test.float32", 0.5)
    writer.add_float64("test.float64", 0.25)
    writer.add_bool("test.bool", True)
    writer.add_string("test.string", "text \u00fc")
    writer.add_array("test.strings", ["a", "", "bc"])
    writer.add_array("test.ints", [1, -2, 3])
    writer.add_array("test.floats", [1.5, -2.5])
    writer.add_array("test.nested", [[1, 2], [3]])


def tensors(writer: gguf.GGUFWriter) -> None:
    writer.add_tensor("f32.weight", numpy.arange(12, dtype=numpy.float32).reshape(3, 4))
    writer.add_tensor("f16.weight", numpy.arange(8, dtype=numpy.float16))
    for kind in (gguf.GGMLQuantizationType.Q8_0, gguf.GGMLQuantizationType.Q4_0):
        data = gguf.quants.quantize(numpy.linspace(-1, 1, 64, dtype=numpy.float32).reshape(2, 32), kind)
        writer.add_tensor(f"{kind.name.lower()}.weight", data, raw_dtype=kind)


def aligned(writer: gguf.GGUFWriter) -> None:
    writer.add_custom_alignment(64)
    tensors(writer)


def main() -> None:
    CORPUS.mkdir(parents=True, exist_ok=True)
    write("empty", lambda writer: None)
    write("all_kinds", all_kinds)
    write("tensors", tensors)
    write("aligned", aligned)
    write("version_2", tensors, version=2)


if __name__ == "__main__":
    main()
