#!/usr/bin/env python3
"""Writes tests/data/quant/<FORMAT>.bin: blocks of random bytes and what the gguf package decodes them to.

Run from the repository root: python3 tools/golden/quant_golden.py   (gguf 0.19.0, numpy 2; deterministic)
File: u32 number of blocks | the blocks | the decoded f32, all little-endian.
The first blocks carry extreme scales (zeros of both signs, subnormals, the largest half); no scale is infinite or NaN,
because the bits of a computed NaN are the processor's choice. Q8_1, Q1_0 and Q2_0, which the package cannot decode, are
rewritten as the Q8_0 blocks of the same values (layouts: ggml-common.h) and decoded by it as those.
"""
import pathlib

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, quants

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests" / "data" / "quant"
EXTREME = [0x0000, 0x8000, 0x0001, 0x8001, 0x03FF, 0x0400, 0x7BFF, 0xFBFF, 0x3C00]
# Byte offsets of the half-precision fields of a block.
HALVES = {
    "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q8_1": [0, 2], "Q1_0": [0], "Q2_0": [0],
    "Q2_K": [80, 82], "Q3_K": [108], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208], "TQ1_0": [52], "TQ2_0": [64],
    "IQ2_XXS": [0], "IQ2_XS": [0], "IQ2_S": [0], "IQ3_XXS": [0], "IQ3_S": [0], "IQ1_S": [0], "IQ1_M": [],
    "IQ4_NL": [0], "IQ4_XS": [0], "MXFP4": [], "NVFP4": [], "F16": [0], "BF16": [], "F32": [],
}
SIZES = {t.name: size for t, size in GGML_QUANT_SIZES.items()} | {"Q8_1": (32, 36), "Q2_0": (64, 18)}


def finite(half: np.ndarray) -> np.ndarray:
    """Clears one exponent bit where all five are set: no infinities, no NaN."""
    return np.where((half & 0x7C00) == 0x7C00, half & ~np.uint16(0x0400), half)


def set_half(blocks: np.ndarray, offset: int, values: np.ndarray) -> None:
    blocks[:, offset : offset + 2] = values.astype("<u2").reshape(-1, 1).view(np.uint8)


def get_half(blocks: np.ndarray, offset: int) -> np.ndarray:
    return blocks[:, offset : offset + 2].copy().view("<u2").ravel()


def scales(rng: np.random.Generator, n: int, phase: int) -> np.ndarray:
    values = finite(rng.integers(0, 1 << 16, n, dtype=np.uint16))
    k = min(n, len(EXTREME))
    values[:k] = np.roll(EXTREME, phase)[:k]
    return values


def random_blocks(name: str, rng: np.random.Generator) -> np.ndarray:
    block_elements, block_bytes = SIZES[name]
    n = {256: 32, 128: 32, 64: 64, 32: 64, 1: 512}[block_elements]
    if name.startswith("IQ1"):
        n = 64  # the largest grid, 2048 vectors
    blocks = rng.integers(0, 256, (n, block_bytes), dtype=np.uint8)
    for phase, offset in enumerate(HALVES[name]):
        set_half(blocks, offset, scales(rng, n, 4 * phase))
    if name == "IQ1_M":  # the half lies in the upper nibbles of four 16-bit words
        d = scales(rng, n, 0)
        for k in range(4):
            word = get_half(blocks, 48 + 2 * k) & 0x0FFF
            set_half(blocks, 48 + 2 * k, word | (((d >> (4 * k)) & 0xF) << 12))
    if name in ("MXFP4", "NVFP4"):  # every scale byte
        every = np.arange(256, dtype=np.uint8)
        wide = blocks[rng.integers(0, n, 256)]
        blocks = wide
        width = 1 if name == "MXFP4" else 4
        for k in range(width):
            blocks[:, k] = np.roll(every, k)
    if name in ("F32", "BF16"):  # as they are: infinities and NaNs are copied, not computed
        special = np.array([0, 1 << 31, 1, 0x7F800000, 0xFF800000, 0x7FC00001, 0xFFC12345, 0x007FFFFF], np.uint32)
        if name == "F32":
            blocks[: len(special)] = special.astype("<u4").reshape(-1, 1).view(np.uint8)
        else:
            set_half(blocks[: len(special)], 0, (special >> 16).astype(np.uint16))
    if name == "F16":
        set_half(blocks[-6:], 0, np.array([0x7C00, 0xFC00, 0x7C01, 0xFDFF, 0x7E00, 0xFFFF], np.uint16))
    return blocks


def as_q8_0(name: str, blocks: np.ndarray) -> np.ndarray:
    if name == "Q8_1":
        q = blocks[:, 4:].view(np.int8)
    elif name == "Q1_0":
        q = np.unpackbits(blocks[:, 2:], axis=-1, bitorder="little").astype(np.int8) * 2 - 1
    else:
        q = ((blocks[:, 2:, None] >> np.array([0, 2, 4, 6], np.uint8)) & 3).reshape(len(blocks), -1).astype(np.int8) - 1
    parts = q.shape[1] // 32
    d = np.repeat(blocks[:, :2], parts, axis=0)
    return np.concatenate([d, q.astype(np.int8).reshape(-1, 32).view(np.uint8)], axis=1)


def decode(name: str, blocks: np.ndarray) -> np.ndarray:
    if name in ("Q8_1", "Q1_0", "Q2_0"):
        blocks, name = as_q8_0(name, blocks), "Q8_0"
    return quants.dequantize(np.ascontiguousarray(blocks), GGMLQuantizationType[name])


for index, name in enumerate(sorted(HALVES)):
    with np.errstate(all="ignore"):
        blocks = random_blocks(name, np.random.default_rng(index))
        values = decode(name, blocks).astype("<f4", copy=False).ravel()
    assert values.size == len(blocks) * SIZES[name][0], name
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / f"{name}.bin").write_bytes(np.uint32(len(blocks)).tobytes() + blocks.tobytes() + values.tobytes())
