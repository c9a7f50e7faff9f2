"""Weights of the tiny models, from names alone: numpy and hashlib, the same bytes on every machine and version.

A tensor's values are SHAKE-256 of "<case>/<tensor>", read as four 16-bit numbers a value whose centred sum is close to
normal. The gains keep the logits' standard deviation at about 2 and q.k scores at about 2, so that attention is far from
uniform and an error anywhere reaches the output.
"""

import hashlib
import math

import numpy as np

from models_cases import Case

Q_GAIN = K_GAIN = 1.4
OUT_GAIN = 2.0
ROUTER_GAIN = 1.5  # so that few choices of experts are near


def noise(key: str, shape) -> np.ndarray:
    """Values of mean 0 and variance 1, float64, a function of key only."""
    n = math.prod(shape)
    words = np.frombuffer(hashlib.shake_256(key.encode()).digest(8 * n), "<u2").reshape(n, 4)
    centred = words.astype(np.int64).sum(axis=1) - 2 * 65535
    return (centred / (65536.0 * math.sqrt(4.0 / 12.0))).reshape(shape)


def token_ids(key: str, n: int, vocab: int) -> list[int]:
    words = np.frombuffer(hashlib.shake_256(key.encode()).digest(4 * n), "<u4")
    return [int(w) % vocab for w in words]


def matrix_gain(case: Case, role: str) -> float:
    if role in ("attn_q_b", "attn_kv_a_mqa"):
        return Q_GAIN
    if role in ("attn_q", "attn_k", "attn_qkv"):
        return 1.0 if case.qk_norm else Q_GAIN
    if role == "ffn_gate_inp":
        return ROUTER_GAIN
    if role == "per_layer_token_embd":
        return math.sqrt(case.n_layers)  # unit elements, once multiplied by the root of a layer's width
    if role == "token_embd":
        return OUT_GAIN if case.tied else math.sqrt(case.E)  # rows of unit elements when untied
    return OUT_GAIN if role == "output" else 1.0


def matrix_shapes(case: Case, layer: int) -> dict[str, tuple[int, ...]]:
    """Role -> shape of the matrices of one layer, in numpy order (rows are outputs, experts come first)."""
    E, F, q, kv = case.E, case.F, case.H * case.D, case.K * case.D
    if case.mamba or case.delta:
        return hybrid_shapes(case, layer)
    if case.gemma4:
        return gemma4_shapes(case, layer)
    if case.arch == "phi3":
        return {"attn_qkv": (q + 2 * kv, E), "attn_output": (E, q), "ffn_up": (2 * F, E), "ffn_down": (E, F)}
    shapes = {"attn_q": (q, E), "attn_k": (kv, E), "attn_v": (kv, E), "attn_output": (E, q)}
    if case.mla:
        n = case.mla
        shapes = {"attn_q_a": (n.q_rank, E), "attn_q_b": (q, n.q_rank)} if n.q_rank else {"attn_q": (q, E)}
        shapes |= {"attn_kv_a_mqa": (n.rank + n.rope, E), "attn_k_b": (case.H, n.rank, n.nope),
                   "attn_v_b": (case.H, n.value, n.rank), "attn_output": (E, case.H * n.value)}
    if case.kind(layer) == "c":
        shapes = {"shortconv.in_proj": (3 * E, E), "shortconv.conv": (E, case.taps), "shortconv.out_proj": (E, E)}
    if case.has_experts(layer):
        x = case.experts
        shapes |= {"ffn_gate_inp": (x.n, E), "ffn_gate_exps": (x.n, x.F, E), "ffn_up_exps": (x.n, x.F, E),
                   "ffn_down_exps": (x.n, E, x.F)}
        if x.shared:
            shapes |= {"ffn_gate_shexp": (x.shared, E), "ffn_up_shexp": (x.shared, E), "ffn_down_shexp": (E, x.shared)}
    elif case.arch == "glm4":
        shapes |= {"ffn_up": (2 * F, E), "ffn_down": (E, F)}
    else:
        shapes |= {"ffn_gate": (F, E), "ffn_up": (F, E), "ffn_down": (E, F)}
    return shapes


def gemma4_shapes(case: Case, layer: int) -> dict[str, tuple[int, ...]]:
    own, E, x = case.gemma4, case.E, case.experts
    q, kv = case.H * case.head_dim(layer), case.kv_heads(layer) * case.head_dim(layer)
    F = case.F * (2 if own.wide and case.shares_kv(layer) else 1)
    shapes = {"attn_q": (q, E), "attn_output": (E, q), "ffn_gate": (F, E), "ffn_up": (F, E), "ffn_down": (E, F)}
    if not case.shares_kv(layer):
        shapes["attn_k"] = (kv, E)
        if case.sliding(layer) or not own.k_is_v:
            shapes["attn_v"] = (kv, E)
    if own.P:
        shapes |= {"inp_gate": (own.P, E), "proj": (E, own.P)}
    if x:
        shapes |= {"ffn_gate_inp": (x.n, E), "ffn_gate_up_exps": (x.n, 2 * x.F, E), "ffn_down_exps": (x.n, E, x.F)}
    return shapes


def gemma4_tensors(case: Case, layer: int) -> dict[str, np.ndarray]:
    """The small ones. The router's inputs are divided by the root of their number."""
    def values(name, n, centre, size):
        return centre * (1.0 + size * noise(f"{case.name}/blk.{layer}.{name}", (n,))).astype(np.float32)

    out = {f"blk.{layer}.layer_output_scale.weight": values("layer_output_scale", 1, 0.8, 0.2)}
    if case.experts:
        out[f"blk.{layer}.ffn_gate_inp.scale"] = values("ffn_gate_inp.scale", case.E, np.float32(math.sqrt(case.E)), 0.2)
        out[f"blk.{layer}.ffn_down_exps.scale"] = values("ffn_down_exps.scale", case.experts.n, 1.0, 0.3)
    return out


def hybrid_shapes(case: Case, layer: int) -> dict[str, tuple[int, ...]]:
    E, F, q, kv, x = case.E, case.F, case.H * case.D, case.K * case.D, case.experts
    mixers = {"*": {"attn_q": (q, E), "attn_k": (kv, E), "attn_v": (kv, E), "attn_output": (E, q)}}
    if case.mamba:
        m = case.mamba
        inner = m.heads * m.P
        mixers["M"] = {"ssm_in": (2 * inner + 2 * m.groups * m.S + m.heads, E), "ssm_out": (E, inner)}
    if case.delta:
        d = case.delta
        value = d.value_heads * d.S
        mixers["*"]["attn_q"] = (2 * q, E)  # a gate behind each head's query
        mixers["D"] = {"attn_qkv": (2 * d.key_heads * d.S + value, E), "attn_gate": (value, E), "ssm_out": (E, value)}
        if case.arch == "qwen3next":
            mixers["D"]["ssm_ba"] = (2 * d.value_heads, E)
        else:
            mixers["D"] |= {"ssm_alpha": (d.value_heads, E), "ssm_beta": (d.value_heads, E)}
    if case.arch == "granitehybrid" or case.delta:
        shapes = mixers[case.kind(layer)]
        if case.delta and x:
            shapes["ffn_gate_inp_shexp"] = (1, E)
        if not x:
            return shapes | {"ffn_gate": (F, E), "ffn_up": (F, E), "ffn_down": (E, F)}
        return shapes | {
            "ffn_gate_inp": (x.n, E), "ffn_gate_exps": (x.n, x.F, E), "ffn_up_exps": (x.n, x.F, E),
            "ffn_down_exps": (x.n, E, x.F), "ffn_gate_shexp": (x.shared, E), "ffn_up_shexp": (x.shared, E),
            "ffn_down_shexp": (E, x.shared)}
    mixers["-"] = {"ffn_up": (F, E), "ffn_down": (E, F)}
    if x:
        seen = case.latent or E
        latent = {"ffn_latent_down": (seen, E), "ffn_latent_up": (E, seen)} if case.latent else {}
        mixers["E"] = {"ffn_gate_inp": (x.n, E), "ffn_up_exps": (x.n, x.F, seen), "ffn_down_exps": (x.n, seen, x.F),
                       "ffn_up_shexp": (x.shared, E), "ffn_down_shexp": (E, x.shared)} | latent
    return mixers[case.kind(layer)]


def draft_shapes(case: Case, layer: int) -> dict[str, tuple[int, ...]]:
    """A layer for drafts: attention and MLP or experts, also where the other layers have one of the two, and what joins
    the next token's embedding with the last hidden state."""
    shapes = matrix_shapes(case, layer)
    if case.arch.startswith("nemotron_h"):
        shapes |= matrix_shapes(case, case.layers.index("E"))
    return shapes | {"nextn.eh_proj": (case.E, 2 * case.E)}


def draft_norms(case: Case, layer: int) -> dict[str, int]:
    joint = {f"nextn.{name}": case.E for name in ("enorm", "hnorm", "shared_head_norm")}
    return vector_shapes(case, layer) | {"post_attention_norm": case.E} | joint


def mlp_norm(case: Case) -> str:
    """The norm in front of the MLP: its name is another family's norm behind attention."""
    return "post_attention_norm" if case.arch in ("glm4moe", "gpt-oss") or case.delta else "ffn_norm"


def final_norm(case: Case) -> str:
    return "token_embd_norm" if case.arch.startswith("lfm2") else "output_norm"


def vector_shapes(case: Case, layer: int) -> dict[str, int]:
    """Role -> length of the norm weights of one layer."""
    if case.arch.startswith("nemotron_h"):
        return {"attn_norm": case.E}  # one mixer a layer
    norms = {"attn_norm": case.E, mlp_norm(case): case.E}
    if case.mla:
        norms |= {"attn_kv_a_norm": case.mla.rank}
        if case.mla.q_rank:
            norms |= {"attn_q_a_norm": case.mla.q_rank}
    if case.qk_norm and case.kind(layer) == "*":
        norms["attn_q_norm"] = case.head_dim(layer)
        if not case.shares_kv(layer):
            norms["attn_k_norm"] = case.head_dim(layer)
    if case.arch in ("gemma2", "gemma3", "gemma4", "glm4"):
        norms |= {"post_attention_norm": case.E, "post_ffw_norm": case.E}
    if case.gemma4 and case.experts:
        norms |= {"post_ffw_norm_1": case.E, "pre_ffw_norm_2": case.E, "post_ffw_norm_2": case.E}
    if case.gemma4 and case.gemma4.P:
        norms["post_norm"] = case.E
    return norms


def norm_weight(case: Case, name: str, n: int) -> np.ndarray:
    """Multiples of 2^-16, so that Gemma's w - 1 and 1 + w are exact."""
    centre = Q_GAIN if "attn_q_norm" in name or "attn_k_norm" in name else 1.0
    if case.gemma4 and centre != 1.0:
        centre /= n ** 0.25  # there the norms alone scale the scores
    values = centre * (1.0 + 0.2 * noise(f"{case.name}/{name}", (n,)))
    return (np.round(values * 65536.0) / 65536.0).astype(np.float32)


def rope_freqs(case: Case) -> np.ndarray:
    """Divisors of the inverse frequencies, as the converter stores them for Llama 3 and Gemma 4."""
    if case.gemma4:  # pairs that do not turn
        n = case.gemma4.D // 2
        n_turning = int(case.gemma4.D * case.gemma4.rotated / 2)
        return np.array([1.0] * n_turning + [1e30] * (n - n_turning), np.float32)
    s = case.rope_scaling
    freqs = 1.0 / case.rope_base ** (np.arange(0, case.D, 2) / case.D)
    wavelength = 2.0 * math.pi / freqs
    n_old = s["original_max_position_embeddings"]
    smooth = (n_old / wavelength - s["low_freq_factor"]) / (s["high_freq_factor"] - s["low_freq_factor"])
    middle = 1.0 / ((1.0 - smooth) / s["factor"] + smooth)
    divisors = np.where(wavelength < n_old / s["high_freq_factor"], 1.0,
                        np.where(wavelength > n_old / s["low_freq_factor"], s["factor"], middle))
    return divisors.astype(np.float32)


def mamba_tensors(case: Case, layer: int) -> dict[str, np.ndarray]:
    """The small ones: decays between 0.99 and 0.2 a token, steps around 0.5."""
    m, name = case.mamba, f"blk.{layer}"
    inner = m.heads * m.P
    width = inner + 2 * m.groups * m.S

    def values(part, shape, size, centre=0.0):
        return (centre + size * noise(f"{case.name}/{name}.{part}", shape)).astype(np.float32)

    out = {f"{name}.ssm_conv1d.weight": values("ssm_conv1d", (width, m.taps), 0.6),
           f"{name}.ssm_dt.bias": values("ssm_dt.bias", (m.heads,), 0.5, -0.5),
           f"{name}.ssm_a": -np.exp(values("ssm_a", (m.heads, 1), 0.8, -0.5)),
           f"{name}.ssm_d": values("ssm_d", (m.heads, 1), 0.5, 1.0),
           f"{name}.ssm_norm.weight": norm_weight(case, f"{name}.ssm_norm", inner).reshape(m.groups, -1)}
    if m.bias:
        out[f"{name}.ssm_conv1d.bias"] = values("ssm_conv1d.bias", (width,), 0.3)
    return out


def delta_tensors(case: Case, layer: int) -> dict[str, np.ndarray]:
    """The small ones, as above."""
    d, name = case.delta, f"blk.{layer}"

    def values(part, shape, size, centre=0.0):
        return (centre + size * noise(f"{case.name}/{name}.{part}", shape)).astype(np.float32)

    width = (2 * d.key_heads + d.value_heads) * d.S
    return {f"{name}.ssm_conv1d.weight": values("ssm_conv1d", (width, d.taps), 0.6),
            f"{name}.ssm_dt.bias": values("ssm_dt.bias", (d.value_heads,), 0.5, -0.5),
            f"{name}.ssm_a": -np.exp(values("ssm_a", (d.value_heads,), 0.8, -0.5)),
            f"{name}.ssm_norm.weight": norm_weight(case, f"{name}.ssm_norm", d.S)}


def has_bias(case: Case, role: str) -> bool:
    if role in ("attn_q", "attn_k", "attn_v"):
        return case.qkv_bias
    return case.out_bias


def float_tensors(case: Case) -> dict[str, np.ndarray]:
    """GGUF name -> f32 values, in file order, before any quantisation. Llama's Q and K rows are in GGUF (pair) order."""
    out = {}

    def matrix(name, role, shape):
        scale = matrix_gain(case, role) / math.sqrt(shape[-1])
        out[f"{name}.weight"] = (scale * noise(f"{case.name}/{name}", shape)).astype(np.float32)

    def bias(name, shape):
        out[f"{name}.bias"] = (0.5 * noise(f"{case.name}/{name}.bias", shape)).astype(np.float32)

    def vector(name, n, size):
        out[name] = (size * noise(f"{case.name}/{name}", (n,))).astype(np.float32)

    if case.rope_scaling and case.rope_scaling["rope_type"] == "longrope":
        out["rope_factors_long.weight"] = np.array(case.rope_scaling["long_factor"], np.float32)
        out["rope_factors_short.weight"] = np.array(case.rope_scaling["short_factor"], np.float32)
    if case.gemma4 or case.rope_scaling and case.rope_scaling["rope_type"] == "llama3":
        out["rope_freqs.weight"] = rope_freqs(case)
    matrix("token_embd", "token_embd", (case.V, case.E))
    if not case.tied:
        matrix("output", "output", (case.V, case.E))
    if case.gemma4 and case.gemma4.P:
        all_layers = case.n_layers * case.gemma4.P
        matrix("per_layer_token_embd", "per_layer_token_embd", (case.V, all_layers))
        matrix("per_layer_model_proj", "per_layer_model_proj", (all_layers, case.E))
        out["per_layer_proj_norm.weight"] = norm_weight(case, "per_layer_proj_norm", case.gemma4.P)
    out[f"{final_norm(case)}.weight"] = norm_weight(case, final_norm(case), case.E)
    for i in range(case.n_layers + case.drafts):
        norms, shapes = vector_shapes, matrix_shapes
        if i >= case.n_layers:
            norms, shapes = draft_norms, draft_shapes
        for role, n in norms(case, i).items():
            out[f"blk.{i}.{role}.weight"] = norm_weight(case, f"blk.{i}.{role}", n)
        for role, shape in shapes(case, i).items():
            matrix(f"blk.{i}.{role}", role, shape)
            if has_bias(case, role):
                bias(f"blk.{i}.{role}", shape[:-1])
        if case.arch == "gpt-oss":
            vector(f"blk.{i}.attn_sinks.weight", case.H, 1.5)
        if case.gemma4:
            out |= gemma4_tensors(case, i)
        if case.kind(i) == "M":
            out |= mamba_tensors(case, i)
        if case.kind(i) == "D":
            out |= delta_tensors(case, i)
        biased = case.arch in ("glm4moe", "lfm2moe", "nemotron_h_moe") or case.hf_class == "DeepseekV3ForCausalLM"
        if biased and case.has_experts(i):
            vector(f"blk.{i}.exp_probs_b.bias", case.experts.n, 0.1)
    return out
