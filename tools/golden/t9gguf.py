"""Writes small GGUF files from numpy arrays, for the generators in this folder. Uses the gguf package's own writer.

    from t9gguf import write_gguf
    write_gguf("tiny.gguf", "llama", {"llama.block_count": 2, ...}, {"token_embd.weight": array, ...},
               types={"token_embd.weight": "Q8_0"})

Arrays are in numpy order: shape [rows, columns], so ne[0] in the file is the last axis. Metadata: str, bool, int (u32, or
i32 if negative), float (f32), lists of these, or (value, GGUFValueType) for another kind.
"""
from __future__ import annotations

import pathlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from gguf import GGMLQuantizationType, GGUFValueType, GGUFWriter, quants


def scalar_kind(value: Any) -> GGUFValueType:
    if isinstance(value, bool):
        return GGUFValueType.BOOL
    if isinstance(value, int):
        return GGUFValueType.INT32 if value < 0 else GGUFValueType.UINT32
    if isinstance(value, float):
        return GGUFValueType.FLOAT32
    if isinstance(value, (str, bytes)):
        return GGUFValueType.STRING
    raise TypeError(f"no GGUF kind for {type(value)}: give (value, GGUFValueType)")


def add_metadata(writer: GGUFWriter, key: str, value: Any) -> None:
    if isinstance(value, tuple):
        value, kind = value
        if isinstance(value, list):
            writer.add_key_value(key, value, GGUFValueType.ARRAY, sub_type=kind)
        else:
            writer.add_key_value(key, value, kind)
    elif isinstance(value, list):
        kinds = {scalar_kind(v) for v in value}
        if kinds == {GGUFValueType.UINT32, GGUFValueType.INT32}:
            kinds = {GGUFValueType.INT32}
        (kind,) = kinds
        writer.add_key_value(key, value, GGUFValueType.ARRAY, sub_type=kind)
    else:
        writer.add_key_value(key, value, scalar_kind(value))


def encode(array: np.ndarray, type_name: str) -> tuple[np.ndarray, GGMLQuantizationType]:
    """The bytes (or floats) that the writer takes, and the type. Formats the package cannot quantise: give bytes."""
    qtype = GGMLQuantizationType[type_name]
    if array.dtype == np.uint8:
        return array, qtype
    if qtype == GGMLQuantizationType.F32:
        return np.ascontiguousarray(array, dtype=np.float32), qtype
    return quants.quantize(np.ascontiguousarray(array, dtype=np.float32), qtype), qtype


def write_gguf(
    path: str | pathlib.Path,
    arch: str,
    metadata: Mapping[str, Any],
    tensors: Mapping[str, np.ndarray],
    types: Mapping[str, str] | None = None,
    **writer_options: Any,
) -> None:
    """types: per tensor, default F32. writer_options go to GGUFWriter (split_max_tensors=2 writes shards)."""
    writer = GGUFWriter(path, arch, **writer_options)
    for key, value in metadata.items():
        add_metadata(writer, key, value)
    for name, array in tensors.items():
        data, qtype = encode(array, (types or {}).get(name, "F32"))
        writer.add_tensor(name, data, raw_dtype=qtype)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
