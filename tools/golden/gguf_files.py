#!/usr/bin/env python3
"""Writes tests/data/gguf/: small files by the gguf package's writer, for src/gguf/file_test.cc.

Run from the repository root: python3 tools/golden/gguf_files.py   (gguf 0.19.0, numpy 2; deterministic)
kinds.gguf   every kind of metadata value; kinds_v2.gguf is the same under version 2, whose layout is equal.
types.gguf   a tensor of every type the package knows, with a checksum of each in its metadata
             ("sum.<tensor>": sum of (i + 1) * byte i, as u64), and an alignment of 64.
split-*.gguf a model in three shards.
"""
import pathlib

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, GGUFValueType as V
from t9gguf import write_gguf

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests" / "data" / "gguf"
OUT.mkdir(parents=True, exist_ok=True)

KINDS = {
    "s.u8": (255, V.UINT8), "s.i8": (-128, V.INT8), "s.u16": (65535, V.UINT16), "s.i16": (-32768, V.INT16),
    "s.u32": (4294967295, V.UINT32), "s.i32": (-2147483648, V.INT32), "s.u64": (18446744073709551615, V.UINT64),
    "s.i64": (-9223372036854775808, V.INT64), "s.f32": (0.1, V.FLOAT32), "s.f64": (0.1, V.FLOAT64),
    "s.true": True, "s.false": False, "s.string": "na\u00efve \U0001F600\n", "s.empty": "",
    "a.u8": ([0, 255], V.UINT8), "a.i8": ([-128, 127], V.INT8), "a.u16": ([1, 65535], V.UINT16),
    "a.i16": ([-1, 32767], V.INT16), "a.u32": ([4294967295], V.UINT32), "a.i32": ([-5, 5], V.INT32),
    "a.u64": ([18446744073709551615], V.UINT64), "a.i64": ([-1], V.INT64), "a.f32": ([0.5, -0.1], V.FLOAT32),
    "a.f64": ([0.1], V.FLOAT64), "a.bool": [True, False, True], "a.strings": ["", "a", "\u00e9\u00e8", "<|im_end|>"],
    "a.nested": ([[1, 2, 3], [4]], V.ARRAY),
}  # fmt: skip


def checksum(data: np.ndarray) -> int:
    raw = np.frombuffer(data.tobytes(), np.uint8).astype(np.uint64)
    return int((raw * np.arange(1, raw.size + 1, dtype=np.uint64)).sum())


def every_type() -> dict[str, tuple[np.ndarray, str]]:
    rng = np.random.default_rng(5)
    tensors = {}
    for qtype in GGMLQuantizationType:
        if qtype.name in ("Q8_K", "Q8_1"):  # not for weights; the package's size of Q8_1 is not ggml's
            continue
        elements, n_bytes = GGML_QUANT_SIZES[qtype]
        blocks = 3 if elements > 1 else 5
        tensors[f"t.{qtype.name}"] = (rng.integers(0, 256, (2, blocks * n_bytes), dtype=np.uint8), qtype.name)
    return tensors


def main() -> None:
    f32 = np.arange(6, dtype=np.float32).reshape(2, 3)
    write_gguf(OUT / "kinds.gguf", "test", KINDS, {"w": f32})
    data = bytearray((OUT / "kinds.gguf").read_bytes())
    data[4] = 2
    (OUT / "kinds_v2.gguf").write_bytes(data)

    typed = every_type()
    sums = {f"sum.{name}": (checksum(array), V.UINT64) for name, (array, _) in typed.items()}
    metadata = {"general.alignment": 64, "n_types": len(typed)} | sums
    # The writer divides bytes into elements itself only for whole quantised blocks; floats go in as floats.
    tensors = {}
    for name, (array, type_name) in typed.items():
        as_floats = {"F32": np.float32, "F16": np.float16, "F64": np.float64, "I8": np.int8, "I16": np.int16,
                     "I32": np.int32, "I64": np.int64}.get(type_name)  # fmt: skip
        tensors[name] = (array.view(as_floats) if as_floats else array, type_name)
    write_types(metadata, tensors)

    for old in OUT.glob("split-*.gguf"):
        old.unlink()
    names = {f"blk.{i}.weight": np.full((2, 4), i, dtype=np.float32) for i in range(5)}
    write_gguf(OUT / "split.gguf", "test", {"test.block_count": 5}, names, split_max_tensors=2)


def write_types(metadata: dict, tensors: dict) -> None:
    from gguf import GGUFWriter
    from t9gguf import add_metadata

    writer = GGUFWriter(OUT / "types.gguf", "test")
    writer.data_alignment = metadata["general.alignment"]
    for key, value in metadata.items():
        add_metadata(writer, key, value)
    for name, (array, type_name) in tensors.items():
        writer.add_tensor(name, array, raw_dtype=GGMLQuantizationType[type_name])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
