"""Tiny random embedding models whose rows see both ways: BERT, Nomic's BERT, EmbeddingGemma. Cases, files, originals.

The files need numpy and gguf only and are the same bytes each time; `build` and `pooled` need torch and transformers.
Weights are a function of names alone (models_weights.noise).
"""

import math
from dataclasses import dataclass, field
from pathlib import Path

import gguf
import numpy as np

from models_blocks import encode
from models_gguf import add_spm_tokenizer
from models_weights import noise

MEAN, CLS, LAST = 1, 2, 3
_NORMAL, _CONTROL = 1, 3


@dataclass(frozen=True)
class Embedder:
    name: str
    arch: str
    n_layers: int
    E: int
    F: int
    H: int
    V: int
    pooling: int
    K: int = 0  # EmbeddingGemma
    D: int = 0
    context: int = 512
    eps: float = 1e-12
    rope_base: float = 0.0
    window: int = 0  # as the file has it
    dense: tuple = ()  # widths behind dense_2 and dense_3
    fused_qkv: bool = False
    qkv_bias: bool = True
    types: dict = field(default_factory=dict)
    lengths: tuple = (1, 17, 200, 500)

    @property
    def is_gemma(self) -> bool:
        return self.arch == "gemma-embedding"

    @property
    def width(self) -> int:
        return self.dense[-1] if self.dense else self.E


EMBEDDERS = {case.name: case for case in [
    Embedder("bert_mean", "bert", n_layers=3, E=144, F=200, H=3, V=311, pooling=MEAN),
    Embedder("bert_cls", "bert", n_layers=2, E=128, F=300, H=2, V=293, pooling=CLS, context=600, fused_qkv=True,
             lengths=(1, 33, 600)),
    Embedder("bert_q8_0", "bert", n_layers=2, E=128, F=256, H=4, V=301, pooling=MEAN, types={"*": "Q8_0"},
             lengths=(17, 300)),
    Embedder("nomic_bert", "nomic-bert", n_layers=2, E=144, F=176, H=3, V=305, pooling=MEAN, context=2048,
             rope_base=1000.0, qkv_bias=False, fused_qkv=True, lengths=(1, 17, 200, 1100)),
    Embedder("gemma_embedding", "gemma-embedding", n_layers=7, E=144, F=232, H=3, K=1, D=64, V=301, pooling=MEAN,
             context=2048, eps=1e-6, rope_base=1e6, window=64, qkv_bias=False, lengths=(1, 17, 200, 1100)),
    Embedder("gemma_embedding_dense", "gemma-embedding", n_layers=6, E=96, F=120, H=2, K=1, D=48, V=283, pooling=MEAN,
             context=1024, eps=1e-6, rope_base=1e6, window=33, qkv_bias=False, dense=(160, 64), lengths=(17, 200)),
]}


def matrix_shapes(case: Embedder) -> dict[str, tuple[int, int]]:
    d = case.D or case.E // case.H
    q, kv = case.H * d, (case.K or case.H) * d
    shapes = {"attn_q": (q, case.E), "attn_k": (kv, case.E), "attn_v": (kv, case.E), "attn_output": (case.E, q)}
    if case.arch != "bert":
        shapes["ffn_gate"] = (case.F, case.E)
    return shapes | {"ffn_up": (case.F, case.E), "ffn_down": (case.E, case.F)}


def float_tensors(case: Embedder) -> dict[str, np.ndarray]:
    out = {}

    def matrix(name, shape, gain=1.0):
        out[f"{name}.weight"] = (gain / math.sqrt(shape[-1]) * noise(f"{case.name}/{name}", shape)).astype(np.float32)

    def vector(name, n, centre, spread):
        values = centre + spread * noise(f"{case.name}/{name}", (n,))
        out[name] = (np.round(values * 65536.0) / 65536.0).astype(np.float32)

    def norm(name, n=None):
        vector(f"{name}.weight", n or case.E, 1.0, 0.2)
        if not case.is_gemma:
            vector(f"{name}.bias", n or case.E, 0.0, 0.2)

    matrix("token_embd", (case.V, case.E), math.sqrt(case.E))
    if not case.is_gemma:
        matrix("token_types", (2, case.E), math.sqrt(case.E))
        norm("token_embd_norm")
    if case.arch == "bert":
        matrix("position_embd", (case.context, case.E), math.sqrt(case.E))
    for i in range(case.n_layers):
        for role, shape in matrix_shapes(case).items():
            matrix(f"blk.{i}.{role}", shape, 1.4 if role in ("attn_q", "attn_k") else 1.0)
            if case.arch == "bert":
                vector(f"blk.{i}.{role}.bias", shape[0], 0.0, 0.3)
        if case.is_gemma:
            for name in ("attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm"):
                norm(f"blk.{i}.{name}")
            norm(f"blk.{i}.attn_q_norm", case.D)
            norm(f"blk.{i}.attn_k_norm", case.D)
        else:
            norm(f"blk.{i}.attn_output_norm")
            norm(f"blk.{i}.layer_output_norm")
    if case.is_gemma:
        norm("output_norm")
    width = case.E
    for name, n_out in zip(("dense_2", "dense_3"), case.dense):
        matrix(name, (n_out, width))
        width = n_out
    return out


def encoded_tensors(case: Embedder) -> dict[str, tuple[np.ndarray, str]]:
    out = {}
    for name, values in float_tensors(case).items():
        kind = "F32" if values.ndim == 1 or name == "token_types.weight" else case.types.get("*", "F32")
        if name == "position_embd.weight":
            kind = "F32"
        out[name] = (encode(f"{case.name}/{name}#{kind}", values, kind) if values.ndim > 1 else values, kind)
    return out


def word_piece_vocabulary(n: int):
    """Control tokens, letters as beginnings and as continuations, then pairs."""
    letters = "abcdefghijklmnopqrstuvwxyz0123456789.,!?-"
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    types = [_CONTROL] * len(tokens)
    pieces = ["\u2581" + c for c in letters] + list(letters)
    pieces += [mark + a + b for a in "etaoinshrdl" for b in "etaoinshrdlu" for mark in ("\u2581", "")]
    tokens += pieces[: n - len(tokens)]
    return tokens, types + [_NORMAL] * (n - len(types))


def write(case: Embedder, path: Path) -> None:
    w = gguf.GGUFWriter(path, case.arch)
    w.add_name(case.name)
    w.add_context_length(case.context)
    w.add_embedding_length(case.E)
    w.add_block_count(case.n_layers)
    w.add_feed_forward_length(case.F)
    w.add_head_count(case.H)
    w.add_pooling_type(gguf.PoolingType(case.pooling))
    if case.is_gemma:
        w.add_layer_norm_rms_eps(case.eps)
        w.add_head_count_kv(case.K)
        w.add_key_length(case.D)
        w.add_value_length(case.D)
        w.add_sliding_window(case.window)
        tokens, types = add_spm_tokenizer(w, case.V, pad=None, adds_eos=True)
    else:
        w.add_layer_norm_eps(case.eps)
        w.add_causal_attention(False)
        w.add_token_type_count(2)
        tokens, types = word_piece_vocabulary(case.V)
        w.add_tokenizer_model("bert")
        w.add_tokenizer_pre("jina-v2-en")
        w.add_unk_token_id(1)
        w.add_sep_token_id(3)
        w.add_uint32("tokenizer.ggml.cls_token_id", 2)
    if case.rope_base:
        w.add_rope_freq_base(case.rope_base)
    w.add_token_list(tokens)
    w.add_token_types(types)
    tensors = encoded_tensors(case)
    if case.fused_qkv:
        for i in range(case.n_layers):
            for kind in ("weight", "bias") if case.arch == "bert" else ("weight",):
                parts = [tensors.pop(f"blk.{i}.attn_{p}.{kind}")[0] for p in "qkv"]
                tensors[f"blk.{i}.attn_qkv.{kind}"] = (np.concatenate(parts), "F32")
    for name, (data, kind) in tensors.items():
        w.add_tensor(name, data, raw_dtype=None if kind == "F32" else gguf.GGMLQuantizationType[kind])
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def cached(case: Embedder, folder: Path) -> Path:
    path = folder / f"{case.name}.gguf"
    if not path.exists():
        write(case, path)
    return path


_BERT_NAMES = {
    "attn_q": "attention.self.query", "attn_k": "attention.self.key", "attn_v": "attention.self.value",
    "attn_output": "attention.output.dense", "attn_output_norm": "attention.output.LayerNorm",
    "ffn_up": "intermediate.dense", "ffn_down": "output.dense", "layer_output_norm": "output.LayerNorm",
}
_NOMIC_NAMES = {
    "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj", "attn_output_norm": "post_attention_layernorm", "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj", "layer_output_norm": "post_mlp_layernorm",
}
_GEMMA_NAMES = {
    "attn_norm": "input_layernorm", "post_attention_norm": "post_attention_layernorm",
    "ffn_norm": "pre_feedforward_layernorm", "post_ffw_norm": "post_feedforward_layernorm",
    "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj", "attn_q_norm": "self_attn.q_norm", "attn_k_norm": "self_attn.k_norm",
    "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
}
_GLOBAL_NAMES = {
    "bert": {"token_embd": "embeddings.word_embeddings", "token_types": "embeddings.token_type_embeddings",
             "position_embd": "embeddings.position_embeddings", "token_embd_norm": "embeddings.LayerNorm"},
    "nomic-bert": {"token_embd": "embeddings.word_embeddings", "token_types": "embeddings.token_type_embeddings",
                   "token_embd_norm": "embeddings.LayerNorm"},
    "gemma-embedding": {"token_embd": "embed_tokens", "output_norm": "norm"},
}


def _state(case: Embedder):
    import torch
    from gguf.quants import dequantize
    state, dense = {}, []
    for name, (data, kind) in encoded_tensors(case).items():
        value = data if kind == "F32" else dequantize(data, gguf.GGMLQuantizationType[kind])
        if case.is_gemma and name.endswith("norm.weight"):
            value = value - np.float32(1.0)
        value = torch.from_numpy(np.ascontiguousarray(value, np.float32))
        stem, suffix = name.rsplit(".", 1)
        if stem.startswith("dense_"):
            dense.append(value)
            continue
        if not stem.startswith("blk."):
            state[f"{_GLOBAL_NAMES[case.arch][stem]}.{suffix}"] = value
            continue
        _, layer, role = stem.split(".")
        names = {"bert": _BERT_NAMES, "nomic-bert": _NOMIC_NAMES, "gemma-embedding": _GEMMA_NAMES}[case.arch]
        prefix = "encoder.layer" if case.arch == "bert" else "layers"
        state[f"{prefix}.{layer}.{names[role]}.{suffix}"] = value
    return state, dense


def build(case: Embedder):
    """(transformers' model, the dense matrices behind the pooling)"""
    import transformers
    common = dict(vocab_size=case.V, hidden_size=case.E, intermediate_size=case.F, num_hidden_layers=case.n_layers,
                  num_attention_heads=case.H, attn_implementation="eager", dtype="float32", pad_token_id=0)
    if case.arch == "bert":
        config = transformers.BertConfig(**common, max_position_embeddings=case.context, layer_norm_eps=case.eps,
                                         hidden_act="gelu")
        model = transformers.BertModel(config, add_pooling_layer=False)
    elif case.arch == "nomic-bert":
        config = transformers.NomicBertConfig(**common, max_position_embeddings=case.context, layer_norm_eps=case.eps,
                                              rope_parameters={"rope_type": "default", "rope_theta": case.rope_base})
        model = transformers.NomicBertModel(config, add_pooling_layer=False)
    else:
        config = transformers.Gemma3TextConfig(
            **common, num_key_value_heads=case.K, head_dim=case.D, rms_norm_eps=case.eps, sliding_window=case.window,
            max_position_embeddings=case.context, query_pre_attn_scalar=case.D, use_bidirectional_attention=True,
            rope_parameters={"full_attention": {"rope_type": "default", "rope_theta": case.rope_base},
                             "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}})
        model = transformers.Gemma3TextModel(config)
    state, dense = _state(case)
    missing, unexpected = model.eval().load_state_dict(state, strict=False)
    missing = [name for name in missing if "position_ids" not in name and "token_type_ids" not in name]
    assert not missing and not unexpected, (case.name, missing, unexpected)
    return model, dense


def pooled(case: Embedder, model, dense, ids) -> np.ndarray:
    """As sentence-transformers does it: pool, then the dense modules; not scaled."""
    import torch
    with torch.inference_mode():
        states = model(torch.tensor([ids]), attention_mask=torch.ones(1, len(ids), dtype=torch.long)).last_hidden_state[0]
        x = {MEAN: lambda: states.double().mean(0), CLS: lambda: states[0], LAST: lambda: states[-1]}[case.pooling]().float()
        for weight in dense:
            x = weight @ x
    return x.numpy()
