#!/usr/bin/env python3
"""A model file of a real architecture and size with random weights: as fast as the real one, and it needs no download.

  bench/vs/random_model.py --shape qwen3-4b --type Q4_K_M --tokenizer-from MODEL.gguf --out FILE.gguf

The vocabulary and the template are those of MODEL.gguf (of the shape's size, as Qwen2.5's). Types within a Q4_K_M file follow
llama.cpp's recipe, so that each product has the format that it has in files people run. Needs numpy and the pinned gguf package.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from gguf import GGMLQuantizationType, GGUFReader, LlamaFileType
from gguf.constants import GGML_QUANT_SIZES

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools/golden"))

from t9gguf import write_gguf  # noqa: E402

# architecture, layers, hidden, heads, kv heads, head size, ffn (of an expert, where there are experts), experts, experts used
SHAPES = {
    "qwen3-4b": ("qwen3", 36, 2560, 32, 8, 128, 9728, 0, 0),
    "qwen3-30b-a3b-cut": ("qwen3moe", 12, 2048, 32, 4, 128, 768, 128, 8),  # of 48 layers
    "small": ("qwen3", 6, 2048, 16, 8, 128, 6144, 0, 0),
}
# Where a block's f16 scales stand, and values that make weights of about 0.02.
SCALES = {
    "Q4_0": {0: 5e-3}, "Q4_1": {0: 3e-3, 2: -2e-2}, "Q5_0": {0: 2e-3}, "Q5_1": {0: 1.5e-3, 2: -2e-2}, "Q8_0": {0: 2e-4},
    "Q2_K": {80: 2e-3, 82: 3e-3}, "Q3_K": {108: 3e-4}, "Q4_K": {0: 2e-4, 2: 1.5e-3}, "Q5_K": {0: 1e-4, 2: 1.5e-3}, "Q6_K": {208: 1e-5},
    "IQ4_NL": {0: 3e-4}, "IQ4_XS": {0: 2e-5}, "TQ1_0": {52: 2e-2}, "TQ2_0": {64: 2e-2}, "IQ1_S": {0: 3e-3}, "IQ2_XXS": {0: 2e-4},
    "IQ2_XS": {0: 2e-4}, "IQ2_S": {0: 2e-4}, "IQ3_XXS": {0: 1e-4}, "IQ3_S": {0: 1e-4}, "F16": {}, "BF16": {},
}  # fmt: skip
MIXED = {"Q4_K_M": ("Q4_K", "Q6_K")}
PERIOD = 1 << 14  # blocks, then the same again


def random_tensor(rng: np.random.Generator, kind: str, shape: tuple[int, ...]) -> np.ndarray:
    """The bytes of a tensor, [..., bytes of a row]."""
    block, n_bytes = GGML_QUANT_SIZES[GGMLQuantizationType[kind]]
    if shape[-1] % block:
        raise SystemExit(f"{kind}: found rows of {shape[-1]}, expected a multiple of {block}")
    if kind in ("F16", "BF16"):
        values = (rng.standard_normal(PERIOD * 32, np.float32) * 0.02).astype(np.float32)
        data = values.astype(np.float16).view(np.uint8) if kind == "F16" else (values.view(np.uint32) >> 16).astype(np.uint16).view(np.uint8)
        return np.resize(data, int(np.prod(shape)) * 2).reshape(*shape[:-1], shape[-1] * 2)
    blocks = rng.integers(0, 256, (PERIOD, n_bytes), dtype=np.uint8)
    for at, value in SCALES.get(kind, {}).items():
        blocks[:, at : at + 2] = np.full((PERIOD, 1), value, np.float16).view(np.uint8)
    if kind == "MXFP4":
        blocks[:, 0] = 119  # an exponent
    if kind == "IQ1_M":  # its scale, about 0.01, is scattered over the upper halves of four bytes
        for n in range(4):
            blocks[:, 49 + 2 * n] = (blocks[:, 49 + 2 * n] & 15) | ((0x2100 >> 4 * n) << 4 & 0xF0)
    return np.resize(blocks, (int(np.prod(shape)) // block, n_bytes)).reshape(*shape[:-1], shape[-1] // block * n_bytes)


def more_bits(layer: int, n_layers: int) -> bool:
    return layer < n_layers // 8 or layer >= 7 * n_layers // 8 or (layer - n_layers // 8) % 3 == 2


def tokenizer_of(path: Path) -> dict:
    """The metadata tokenizer.* of a file, as write_gguf takes it."""
    fields = [field for field in GGUFReader(path).fields.values() if field.name.startswith("tokenizer.")]
    return {field.name: (field.contents(), field.types[-1]) for field in fields}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", choices=SHAPES, required=True)
    parser.add_argument("--type", choices=(*MIXED, *SCALES, "MXFP4", "IQ1_M"), required=True)
    parser.add_argument("--tokenizer-from", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    arch, n_layers, hidden, heads, kv_heads, head, ffn, experts, used = SHAPES[args.shape]
    low, high = MIXED.get(args.type, (args.type, args.type))
    rng = np.random.default_rng(1)

    tokenizer = tokenizer_of(args.tokenizer_from)
    n_tokens = len(tokenizer["tokenizer.ggml.tokens"][0])
    metadata = {"general.name": f"{args.shape} with random weights", f"{arch}.block_count": n_layers,
                f"{arch}.context_length": 40960, f"{arch}.embedding_length": hidden, f"{arch}.feed_forward_length": ffn,
                f"{arch}.attention.head_count": heads, f"{arch}.attention.head_count_kv": kv_heads,
                f"{arch}.attention.key_length": head, f"{arch}.attention.value_length": head,
                f"{arch}.rope.freq_base": 1e6, f"{arch}.attention.layer_norm_rms_epsilon": 1e-6} | tokenizer
    if file_type := LlamaFileType.__members__.get(f"MOSTLY_{args.type}"):
        metadata["general.file_type"] = int(file_type)
    if experts:
        metadata |= {f"{arch}.expert_count": experts, f"{arch}.expert_used_count": used,
                     f"{arch}.expert_feed_forward_length": ffn}
    tensors, types = {}, {}

    def add(name: str, kind: str, *shape: int) -> None:
        types[name] = kind
        if kind != "F32":
            tensors[name] = random_tensor(rng, kind, shape)
        elif len(shape) == 1:
            tensors[name] = np.ones(shape, np.float32)
        else:
            tensors[name] = rng.standard_normal(shape, np.float32) * 0.02

    add("token_embd.weight", high, n_tokens, hidden)
    add("output_norm.weight", "F32", hidden)
    for i in range(n_layers):
        best = high if more_bits(i, n_layers) else low
        at = f"blk.{i}."
        add(at + "attn_norm.weight", "F32", hidden)
        add(at + "attn_q.weight", low, heads * head, hidden)
        add(at + "attn_k.weight", low, kv_heads * head, hidden)
        add(at + "attn_v.weight", best, kv_heads * head, hidden)
        add(at + "attn_q_norm.weight", "F32", head)
        add(at + "attn_k_norm.weight", "F32", head)
        add(at + "attn_output.weight", low, hidden, heads * head)
        add(at + "ffn_norm.weight", "F32", hidden)
        each = (experts,) if experts else ()
        suffix = "_exps.weight" if experts else ".weight"
        if experts:
            add(at + "ffn_gate_inp.weight", "F32", experts, hidden)
        add(at + "ffn_gate" + suffix, low, *each, ffn, hidden)
        add(at + "ffn_up" + suffix, low, *each, ffn, hidden)
        add(at + "ffn_down" + suffix, best, *each, hidden, ffn)
    write_gguf(args.out, arch, metadata, tensors, types)


if __name__ == "__main__":
    main()
