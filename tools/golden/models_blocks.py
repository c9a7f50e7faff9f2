"""Weight matrices in every GGUF block format, for tests: quantised by the gguf package where it can, else made of random
valid blocks: random bytes for everything that carries weights, chosen values for the scales.
"""

import hashlib
import math

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType
from gguf.quants import dequantize, quantize

# Where a block's f16 scales lie: offset of d, offset of dmin, and dmin / d that puts the mean near zero.
_SCALES = {
    "Q2_K": (80, 82, 1.5), "Q3_K": (108, None, 0), "Q4_K": (0, 2, 7.5), "Q5_K": (0, 2, 15.5), "Q6_K": (208, None, 0),
    "IQ1_S": (0, None, 0), "IQ2_XXS": (0, None, 0), "IQ2_XS": (0, None, 0), "IQ2_S": (0, None, 0),
    "IQ3_XXS": (0, None, 0), "IQ3_S": (0, None, 0), "IQ4_NL": (0, None, 0), "IQ4_XS": (0, None, 0),
}
QUANTISED_BY_GGUF = ("F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "MXFP4", "TQ1_0", "TQ2_0")


def _random_bytes(key: str, shape) -> np.ndarray:
    return np.frombuffer(hashlib.shake_256(key.encode()).digest(math.prod(shape)), np.uint8).reshape(shape).copy()


def _put_f16(blocks: np.ndarray, offset: int, values: np.ndarray) -> None:
    blocks[:, offset:offset + 2] = values.astype("<f2").reshape(-1, 1).view(np.uint8)


def _spread(key: str, n: int) -> np.ndarray:
    """Per-block factors in [0.5, 1.5), so that a swapped or dropped scale shows."""
    return 0.5 + _random_bytes(key + "#scale", (n,)) / 256.0


def _random_blocks(key: str, type_name: str, n_blocks: int, std: float) -> np.ndarray:
    qtype = GGMLQuantizationType[type_name]
    blocks = _random_bytes(key, (n_blocks, GGML_QUANT_SIZES[qtype][1]))
    spread = _spread(key, n_blocks)
    if type_name == "NVFP4":  # four unsigned E4M3 scales, then 4-bit codes; a doubling is 8 steps of the scale byte
        steps = blocks[:, :4] % 12
        blocks[:, :4] = 8 + steps
        unit = float(dequantize(blocks.reshape(1, -1), qtype).std())
        blocks[:, :4] = max(1, 8 + round(8 * math.log2(std / unit))) + steps
        return blocks
    if type_name == "IQ1_M":  # the f16 scale lies in the high nibbles of the four scale words
        def put(values):
            words = blocks[:, 48:56].view("<u2")
            bits = values.astype("<f2").view("<u2").astype(np.uint16)
            for i in range(4):
                words[:, i] = (words[:, i] & 0x0FFF) | (((bits >> (4 * i)) & 0xF) << 12)
            blocks[:, 48:56] = words.view(np.uint8)
    else:
        d_at, min_at, ratio = _SCALES[type_name]

        def put(values):
            _put_f16(blocks, d_at, values)
            if min_at is not None:
                _put_f16(blocks, min_at, values * ratio)

    put(np.ones(n_blocks))
    unit = float(dequantize(blocks.reshape(1, -1), qtype).std())
    put(spread * (std / unit))
    return blocks


def encode(key: str, values: np.ndarray, type_name: str) -> np.ndarray:
    """values [rows, columns] f32 -> the tensor's bytes [rows, row_bytes] (f32 stays as it is).

    Formats that gguf cannot quantise keep only the values' standard deviation; the weights are then what
    gguf.quants.dequantize says the bytes mean.
    """
    if type_name == "F32":
        return values
    qtype = GGMLQuantizationType[type_name]
    if type_name in QUANTISED_BY_GGUF:
        return quantize(values, qtype)
    rows, columns = values.shape
    block_elements, block_bytes = GGML_QUANT_SIZES[qtype]
    assert columns % block_elements == 0, (key, type_name, columns)
    n_blocks = rows * columns // block_elements
    blocks = _random_blocks(key, type_name, n_blocks, float(values.std()))
    return blocks.reshape(rows, columns // block_elements * block_bytes)
