"""The reference: transformers' own model classes, fp32, eager attention, holding the weights of a tiny GGUF."""

import numpy as np
import torch
import transformers
from gguf import GGMLQuantizationType
from gguf.quants import dequantize

from models_cases import Case
from models_gguf import encoded_tensors, mrope_sections

_LAYER_NAMES = {
    "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm",
    "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
    "attn_qkv": "self_attn.qkv_proj", "attn_output": "self_attn.o_proj",
    "attn_q_a": "self_attn.q_a_proj", "attn_q_a_norm": "self_attn.q_a_layernorm", "attn_q_b": "self_attn.q_b_proj",
    "attn_kv_a_mqa": "self_attn.kv_a_proj_with_mqa", "attn_kv_a_norm": "self_attn.kv_a_layernorm",
    "attn_q_norm": "self_attn.q_norm", "attn_k_norm": "self_attn.k_norm",
    "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
    "ffn_gate_inp": "mlp.gate",
    "ffn_gate_shexp": "mlp.shared_experts.gate_proj", "ffn_up_shexp": "mlp.shared_experts.up_proj",
    "ffn_down_shexp": "mlp.shared_experts.down_proj",
}
_GEMMA_NAMES = {
    "post_attention_norm": "post_attention_layernorm", "ffn_norm": "pre_feedforward_layernorm",
    "post_ffw_norm": "post_feedforward_layernorm",
}
_GEMMA4_NAMES = _GEMMA_NAMES | {
    "inp_gate": "per_layer_input_gate", "proj": "per_layer_projection", "post_norm": "post_per_layer_input_norm",
    "post_ffw_norm_1": "post_feedforward_layernorm_1", "pre_ffw_norm_2": "pre_feedforward_layernorm_2",
    "post_ffw_norm_2": "post_feedforward_layernorm_2", "ffn_gate_inp": "router.proj",
}
_LFM2_NAMES = {
    "attn_norm": "operator_norm", "ffn_norm": "ffn_norm", "attn_output": "self_attn.out_proj",
    "attn_q_norm": "self_attn.q_layernorm", "attn_k_norm": "self_attn.k_layernorm",
    "shortconv.in_proj": "conv.in_proj", "shortconv.conv": "conv.conv", "shortconv.out_proj": "conv.out_proj",
    "ffn_gate": "feed_forward.w1", "ffn_up": "feed_forward.w3", "ffn_down": "feed_forward.w2",
    "ffn_gate_inp": "feed_forward.gate",
}
# What a family calls otherwise.
_OTHER_NAMES = {
    "lfm2": _LFM2_NAMES, "lfm2moe": _LFM2_NAMES,
    "gemma2": _GEMMA_NAMES, "gemma3": _GEMMA_NAMES, "gemma4": _GEMMA4_NAMES,
    "phi3": {"ffn_up": "mlp.gate_up_proj"},
    "glm4": {"ffn_up": "mlp.gate_up_proj", "post_attention_norm": "post_self_attn_layernorm",
             "post_ffw_norm": "post_mlp_layernorm"},
    "glm4moe": {"post_attention_norm": "post_attention_layernorm"},
    "gpt-oss": {"post_attention_norm": "post_attention_layernorm", "ffn_gate_inp": "mlp.router"},
    "granitemoe": {"ffn_gate_inp": "block_sparse_moe.router", "ffn_down_shexp": "shared_mlp.output_linear"},
}
_MAMBA_NAMES = {"ssm_in": "in_proj", "ssm_out": "out_proj", "ssm_conv1d": "conv1d", "ssm_norm": "norm"}
_OTHER_NAMES["granitehybrid"] = {"ffn_gate_inp": "block_sparse_moe.router", "ffn_down": "shared_mlp.output_linear",
                                 "ffn_down_shexp": "shared_mlp.output_linear"} | {
    role: f"mamba.{name}" for role, name in _MAMBA_NAMES.items()}
_NEMOTRON_NAMES = {"attn_norm": "norm"} | {role: f"mixer.{name}" for role, name in _MAMBA_NAMES.items()} | {
    f"attn_{role}": f"mixer.{name}_proj" for role, name in zip(("q", "k", "v", "output"), "qkvo")} | {
    "ffn_up": "mixer.up_proj", "ffn_down": "mixer.down_proj", "ffn_gate_inp": "mixer.gate",
    "ffn_up_shexp": "mixer.shared_experts.up_proj", "ffn_down_shexp": "mixer.shared_experts.down_proj",
    "ffn_latent_down": "mixer.fc1_latent_proj", "ffn_latent_up": "mixer.fc2_latent_proj"}
_OTHER_NAMES["nemotron_h"] = _OTHER_NAMES["nemotron_h_moe"] = _NEMOTRON_NAMES
_DELTA_NAMES = {"post_attention_norm": "post_attention_layernorm", "ssm_out": "linear_attn.out_proj",
                "ssm_conv1d": "linear_attn.conv1d", "ssm_norm": "linear_attn.norm", "ssm_ba": "linear_attn.in_proj_ba",
                "ssm_alpha": "linear_attn.in_proj_a", "ssm_beta": "linear_attn.in_proj_b",
                "attn_qkv": "linear_attn.in_proj_qkv", "attn_qkvz": "linear_attn.in_proj_qkvz",
                "attn_gate": "linear_attn.in_proj_z", "ffn_gate_inp_shexp": "mlp.shared_expert_gate"} | {
    f"ffn_{part}_shexp": f"mlp.shared_expert.{part}_proj" for part in ("gate", "up", "down")}
_OTHER_NAMES["qwen3next"] = _OTHER_NAMES["qwen35"] = _OTHER_NAMES["qwen35moe"] = _DELTA_NAMES
_GLOBAL_NAMES = {"token_embd": "model.embed_tokens", "output": "lm_head", "output_norm": "model.norm",
                 "token_embd_norm": "model.embedding_norm", "per_layer_token_embd": "model.embed_tokens_per_layer",
                 "per_layer_model_proj": "model.per_layer_model_projection",
                 "per_layer_proj_norm": "model.per_layer_projection_norm"}
_GEMMA4_WHOLE_NAMES = {"layer_output_scale.weight": "layer_scalar", "ffn_gate_inp.scale": "router.scale",
                       "ffn_down_exps.scale": "router.per_expert_scale",
                       "ffn_gate_up_exps.weight": "experts.gate_up_proj", "ffn_down_exps.weight": "experts.down_proj"}
# Whose q and k rows the converter permutes, so that rotary pairs lie side by side.
_PAIRED = ("llama", "mistral3", "smollm3", "granite", "granitemoe", "granitehybrid")


def hf_name(case: Case, name: str) -> str:
    """GGUF tensor name -> transformers parameter name."""
    stem, kind = name.rsplit(".", 1)
    nemotron = case.arch.startswith("nemotron_h")
    if not stem.startswith("blk."):
        names = _GLOBAL_NAMES | ({"token_embd": "model.embeddings", "output_norm": "model.norm_f"} if nemotron else {})
        return f"{names[stem]}.{kind}"
    mixer = "mixer" if nemotron else "linear_attn" if case.delta else "mamba"
    if kind in ("ssm_a", "ssm_d"):
        return f"model.layers.{stem.split('.')[1]}.{mixer}.{'A_log' if kind == 'ssm_a' else 'D'}"
    _, layer, role = stem.split(".", 2)
    if case.gemma4 and f"{role}.{kind}" in _GEMMA4_WHOLE_NAMES:
        return f"model.layers.{layer}.{_GEMMA4_WHOLE_NAMES[f'{role}.{kind}']}"
    if role == "ssm_dt":
        return f"model.layers.{layer}.{mixer}.dt_bias"
    if role == "exp_probs_b" and nemotron:
        return f"model.layers.{layer}.mixer.gate.e_score_correction_bias"
    if role == "attn_sinks":
        return f"model.layers.{layer}.self_attn.sinks"
    if role == "exp_probs_b" and case.arch == "lfm2moe":
        return f"model.layers.{layer}.feed_forward.expert_bias"
    if role == "exp_probs_b":
        return f"model.layers.{layer}.mlp.gate.e_score_correction_bias"
    names = _LAYER_NAMES | _OTHER_NAMES.get(case.arch, {})
    return f"model.layers.{layer}.{names[role]}.{kind}"


def pairs_to_halves(rows: np.ndarray, n_heads: int) -> np.ndarray:
    """Undoes llama's GGUF row order: rotary pair i of a head lies in rows 2i, 2i+1 there, in i, i + D/2 here."""
    per_head = rows.reshape(n_heads, rows.shape[0] // n_heads // 2, 2, *rows.shape[1:])
    return per_head.swapaxes(1, 2).reshape(rows.shape)


def _join_experts(case: Case, values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Takes the experts' tensors out of values; gives them as transformers holds them, under its names."""
    out = {}
    for i in range(case.n_layers):
        def take(role):
            return values.pop(f"blk.{i}.{role}")

        granite = case.arch in ("granitemoe", "granitehybrid")
        place = "block_sparse_moe" if granite else "feed_forward" if case.arch == "lfm2moe" else "mlp"
        mlp = f"model.layers.{i}.{place}"
        for shared in ("_shexp", "") if case.arch == "granitehybrid" else ("_shexp",):
            if f"blk.{i}.ffn_gate{shared}.weight" in values and granite:
                both = np.concatenate([take(f"ffn_gate{shared}.weight"), take(f"ffn_up{shared}.weight")])
                out[f"model.layers.{i}.shared_mlp.input_linear.weight"] = both
        if case.gemma4 or not case.has_experts(i):
            continue
        if case.arch == "nemotron_h_moe":
            for part in ("up", "down"):
                out[f"model.layers.{i}.mixer.experts.{part}_proj"] = take(f"ffn_{part}_exps.weight")
            continue
        gate, up, down = (take(f"ffn_{part}_exps.weight") for part in ("gate", "up", "down"))
        if case.arch != "gpt-oss":
            out[f"{mlp}.experts.gate_up_proj"] = np.concatenate([gate, up], axis=1)
            out[f"{mlp}.experts.down_proj"] = down
            continue
        gate_bias, up_bias, down_bias = (take(f"ffn_{part}_exps.bias") for part in ("gate", "up", "down"))
        # x W, gate and up taking turns
        out[f"{mlp}.experts.gate_up_proj"] = np.stack([gate, up], axis=2).reshape(case.experts.n, -1, case.E).swapaxes(1, 2)
        out[f"{mlp}.experts.gate_up_proj_bias"] = np.stack([gate_bias, up_bias], axis=2).reshape(case.experts.n, -1)
        out[f"{mlp}.experts.down_proj"] = down.swapaxes(1, 2)
        out[f"{mlp}.experts.down_proj_bias"] = down_bias
    return out


def _untile(case: Case, values: np.ndarray, axis: int = 0) -> np.ndarray:
    """Value heads in Qwen3.5's files: those of one key head stand key_heads apart. Here they are neighbours."""
    d = case.delta
    split = (d.value_heads // d.key_heads, d.key_heads, -1)
    moved = np.moveaxis(values, axis, 0)
    shape = moved.shape
    return np.moveaxis(moved.reshape(*split, *shape[1:]).swapaxes(0, 1).reshape(shape), 0, axis)


def _delta_rows(case: Case, values: dict[str, np.ndarray]) -> None:
    """Puts the rows of DeltaNet layers in transformers' order, in place."""
    d = case.delta
    keys, shared = d.key_heads * d.S, d.value_heads // d.key_heads
    for i in [i for i, kind in enumerate(case.layers) if kind == "D"]:
        name = f"blk.{i}."
        if case.arch == "qwen3next":  # each key head's q, k, values and gates together
            qkv, z = values.pop(name + "attn_qkv.weight"), values.pop(name + "attn_gate.weight")
            parts = (qkv[:keys], qkv[keys:2 * keys], qkv[2 * keys:], z)
            by_head = [part.reshape(d.key_heads, -1, case.E) for part in parts]
            assert by_head[2].shape[1] == shared * d.S
            values[name + "attn_qkvz.weight"] = np.concatenate(by_head, axis=1).reshape(-1, case.E)
            continue
        for part in ("attn_qkv.weight", "ssm_conv1d.weight"):
            rows = values[name + part]
            values[name + part] = np.concatenate([rows[:2 * keys], _untile(case, rows[2 * keys:])])
        for part in ("attn_gate.weight", "ssm_alpha.weight", "ssm_beta.weight", "ssm_a", "ssm_dt.bias"):
            values[name + part] = _untile(case, values[name + part])
        values[name + "ssm_out.weight"] = _untile(case, values[name + "ssm_out.weight"], axis=1)


def _join_latent(case: Case, values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Takes the heads' own matrices out of values; gives them as the one that makes keys and values of latent rows."""
    out = {}
    for i in range(case.n_layers if case.mla else 0):
        k = values.pop(f"blk.{i}.attn_k_b.weight").swapaxes(1, 2)
        v = values.pop(f"blk.{i}.attn_v_b.weight")
        out[f"model.layers.{i}.self_attn.kv_b_proj.weight"] = np.concatenate([k, v], axis=1).reshape(-1, case.mla.rank)
    return out


def state_dict(case: Case) -> dict[str, torch.Tensor]:
    values = {}
    tensors = encoded_tensors(case)
    for name, (data, type_name) in tensors.items():
        if name.startswith("rope_f") or case.scales and name.endswith(".scale"):
            continue  # transformers computes the former from its configuration; scales go into their weights
        value = data if type_name == "F32" else dequantize(data, GGMLQuantizationType[type_name])
        scale = tensors.get(name.removesuffix("weight") + "scale")
        if case.scales and scale is not None:
            value = value * scale[0]
        if case.arch in _PAIRED and ".attn_q." in name:
            value = pairs_to_halves(value, case.H)
        if case.arch in _PAIRED and ".attn_k." in name:
            value = pairs_to_halves(value, case.K)
        if name.endswith("ssm_a"):
            value = np.log(-value)  # the file holds -exp of it
        if name.endswith(("ssm_a", "ssm_d", "ssm_norm.weight")):
            value = value.ravel()
        if name.endswith("ssm_conv1d.weight"):
            value = value[:, None]
        holds_1_more = case.arch in ("gemma2", "gemma3") or case.delta and not name.endswith("ssm_norm.weight")
        if holds_1_more and name.endswith("norm.weight"):
            value = value - np.float32(1.0)  # the file holds 1 + w
        if name.endswith("shortconv.conv.weight"):
            value = value[:, None, :]
        values[name] = value
    if case.delta:
        _delta_rows(case, values)
    joined = _join_experts(case, values) | _join_latent(case, values)
    joined |= {hf_name(case, name): value for name, value in values.items()}
    state = {name: torch.from_numpy(np.ascontiguousarray(value, np.float32)) for name, value in joined.items()}
    if case.arch.startswith("qwen3vl"):
        state = {name.replace("model.", "model.language_model.", 1): value for name, value in state.items()}
    if case.tied:
        state["lm_head.weight"] = state[hf_name(case, "token_embd.weight")]
    return state


def config(case: Case):
    rope = {"rope_theta": case.rope_base, "rope_type": "default"} | (case.rope_scaling or {})
    common = dict(
        vocab_size=case.V, hidden_size=case.E, intermediate_size=case.F, num_hidden_layers=case.n_layers,
        num_attention_heads=case.H, num_key_value_heads=case.K, head_dim=case.D, rms_norm_eps=case.eps,
        max_position_embeddings=case.context, tie_word_embeddings=case.tied, rope_parameters=rope,
        bos_token_id=None, eos_token_id=case.V - 1, pad_token_id=None, attn_implementation="eager", dtype="float32")
    if case.hf_class == "LlamaForCausalLM":
        common |= dict(attention_bias=case.qkv_bias, mlp_bias=case.out_bias)
    if case.hf_class in ("MistralForCausalLM", "MixtralForCausalLM"):
        common |= dict(sliding_window=None)
    if case.rope_dims:
        rope["partial_rotary_factor"] = case.rope_dims / case.D
    kinds = ["sliding_attention" if case.sliding(i) else "full_attention" for i in range(case.n_layers)]
    if case.arch == "phi3":
        common |= dict(sliding_window=case.window or None)
        if case.rope_scaling:
            common |= dict(original_max_position_embeddings=rope["original_max_position_embeddings"])
    if case.arch.startswith("lfm2"):
        common |= dict(norm_eps=case.eps, conv_L_cache=case.taps, block_auto_adjust_ff_dim=False,
                       layer_types=["full_attention" if k == "*" else "conv" for k in case.layers])
    if case.arch in ("glm4", "glm4moe"):
        common |= dict(attention_bias=case.qkv_bias)
    if case.arch == "gpt-oss":
        common |= dict(sliding_window=case.window, layer_types=kinds)
    if case.multipliers:
        m = case.multipliers
        common |= dict(embedding_multiplier=m["embedding_scale"], residual_multiplier=m["residual_scale"],
                       attention_multiplier=m["attention.scale"], logits_scaling=m["logit_scale"],
                       attention_bias=case.qkv_bias)
        if not case.experts and not case.layers:
            common |= dict(mlp_bias=case.out_bias)
    if case.arch == "granitehybrid":
        common |= _granite_hybrid_config(case)
    if case.arch.startswith("nemotron_h"):
        common |= _nemotron_h_config(case)
    if case.delta:
        d = case.delta
        common |= dict(layer_types=kinds_of_layers(case), linear_conv_kernel_dim=d.taps, linear_key_head_dim=d.S,
                       linear_value_head_dim=d.S, linear_num_key_heads=d.key_heads,
                       linear_num_value_heads=d.value_heads)
        if case.arch != "qwen3next":
            rope |= {"mrope_section": mrope_sections(case), "mrope_interleaved": True}
    if case.softcaps:
        scalar = case.E // case.H if case.n_layers == 46 else case.D  # the 27B's own rule
        common |= dict(sliding_window=case.window, layer_types=kinds, query_pre_attn_scalar=scalar, eos_token_id=1,
                       attn_logit_softcapping=case.softcaps[0], final_logit_softcapping=case.softcaps[1])
    if case.mla:
        n = case.mla
        common |= dict(q_lora_rank=n.q_rank or None, kv_lora_rank=n.rank, qk_nope_head_dim=n.nope, qk_rope_head_dim=n.rope,
                       v_head_dim=n.value, num_key_value_heads=case.H, head_dim=n.rope)
    if case.experts:
        common |= _experts_config(case)
    if case.arch.startswith("qwen3vl"):
        rope |= {"mrope_section": mrope_sections(case), "mrope_interleaved": True}
        tower = dict(depth=1, hidden_size=16, intermediate_size=16, num_heads=2, out_hidden_size=case.E,
                     deepstack_visual_indexes=[])
        name = case.hf_class.replace("ForConditionalGeneration", "Config")
        return getattr(transformers, name)(text_config=common, vision_config=tower, image_token_id=case.V,
                                           video_token_id=case.V, attn_implementation="eager", dtype="float32")
    if case.arch == "gemma3":
        scalar = case.E // case.H if case.n_layers == 62 else case.D  # the 27B's own rule, see architectures.md 7
        common |= dict(
            sliding_window=case.window, layer_types=kinds, query_pre_attn_scalar=scalar, eos_token_id=1,
            rope_parameters={"full_attention": rope,
                             "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}})
    if case.gemma4:
        common |= _gemma4_config(case, kinds, rope)
    if case.arch.startswith("nemotron_h"):
        del common["num_hidden_layers"]  # as many as there are kinds
    name = {"gemma3": "Gemma3TextConfig", "gemma4": "Gemma4TextConfig", "qwen35": "Qwen3_5TextConfig", "qwen35moe": "Qwen3_5MoeTextConfig"}.get(case.arch, case.hf_class.replace("ForCausalLM", "Config"))
    return getattr(transformers, name)(**common)


def _gemma4_config(case: Case, kinds: list[str], rope: dict) -> dict:
    own = case.gemma4
    full = {i: {"head_dim": own.D, "num_key_value_heads": own.K} for i, k in enumerate(kinds) if k == "full_attention"}
    return dict(
        sliding_window=case.window, layer_types=kinds, eos_token_id=1, per_layer_config=full,
        attention_k_eq_v=own.k_is_v, num_kv_shared_layers=own.shared, use_double_wide_mlp=own.wide,
        hidden_size_per_layer_input=own.P, vocab_size_per_layer_input=case.V,
        final_logit_softcapping=own.softcap or None, enable_moe_block=case.experts is not None,
        rope_parameters={"full_attention": rope | {"rope_type": "proportional", "partial_rotary_factor": own.rotated},
                         "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}})


_LAYER_TYPES = {"M": "linear_attention", "D": "linear_attention", "*": "full_attention", "-": "mlp", "E": "moe"}


def kinds_of_layers(case: Case) -> list[str]:
    return [_LAYER_TYPES[k] for k in case.layers]


def _granite_hybrid_config(case: Case) -> dict:
    m, x = case.mamba, case.experts
    return dict(
        layer_types=kinds_of_layers(case), position_embedding_type=None, mamba_n_heads=m.heads,
        mamba_d_head=m.P, mamba_d_state=m.S, mamba_n_groups=m.groups, mamba_d_conv=m.taps, mamba_expand=2,
        mamba_conv_bias=m.bias, mamba_chunk_size=64, num_local_experts=x.n if x else 0,
        shared_intermediate_size=x.shared if x else case.F)


def _nemotron_h_config(case: Case) -> dict:
    m, x = case.mamba, case.experts
    config = dict(
        layers_block_type=kinds_of_layers(case), layer_norm_epsilon=case.eps, ssm_state_size=m.S,
        mamba_num_heads=m.heads, mamba_head_dim=m.P, n_groups=m.groups, conv_kernel=m.taps, use_conv_bias=m.bias,
        chunk_size=64, time_step_min=1e-30)  # no bound, as in decoding; its logarithm is asked for
    if x:
        config |= dict(moe_latent_size=case.latent or None, moe_shared_expert_intermediate_size=x.shared)
    return config


def _experts_config(case: Case) -> dict:
    x = case.experts
    config = dict(num_experts_per_tok=x.used, experts_implementation="eager")
    if case.gemma4:
        return dict(num_experts=x.n, top_k_experts=x.used, moe_intermediate_size=x.F, experts_implementation="eager")
    if case.arch in ("qwen3moe", "qwen3vlmoe"):
        return config | dict(num_experts=x.n, moe_intermediate_size=x.F, norm_topk_prob=x.normalise)
    if case.arch == "lfm2moe":
        return config | dict(num_experts=x.n, moe_intermediate_size=x.F, norm_topk_prob=x.normalise,
                             num_dense_layers=x.lead, use_expert_bias=True, routed_scaling_factor=x.scale)
    if case.arch == "deepseek2":
        config |= dict(n_routed_experts=x.n, moe_intermediate_size=x.F, norm_topk_prob=x.normalise, n_group=x.groups[0],
                       topk_group=x.groups[1], n_shared_experts=x.shared // x.F, first_k_dense_replace=x.lead,
                       routed_scaling_factor=x.scale)
        if case.hf_class.startswith("DeepseekV2"):
            return config | dict(topk_method="group_limited_greedy" if x.groups[0] > 1 else "greedy")
        return config | dict(scoring_func="sigmoid")  # only the converter reads it
    if case.arch == "glm4moe":
        return config | dict(
            n_routed_experts=x.n, moe_intermediate_size=x.F, norm_topk_prob=x.normalise, n_group=x.groups[0],
            topk_group=x.groups[1], n_shared_experts=x.shared // x.F, first_k_dense_replace=x.lead,
            routed_scaling_factor=x.scale, use_qk_norm=case.qk_norm)
    if case.delta:
        return config | dict(num_experts=x.n, moe_intermediate_size=x.F, shared_expert_intermediate_size=x.shared)
    if case.arch == "nemotron_h_moe":
        return config | dict(
            n_routed_experts=x.n, moe_intermediate_size=x.F, norm_topk_prob=x.normalise, n_group=x.groups[0],
            topk_group=x.groups[1], routed_scaling_factor=x.scale)
    if x.shared:
        config |= dict(shared_intermediate_size=x.shared)
    return config | dict(num_local_experts=x.n)


def build(case: Case):
    model = getattr(transformers, case.hf_class)(config(case)).eval()
    missing, unexpected = model.load_state_dict(state_dict(case), strict=False)
    assert not unexpected, (case.name, unexpected)
    missing = [name for name in missing if not name.startswith("model.visual.")]  # no pictures here
    assert not missing, (case.name, missing)
    return model


def quantise_activations(x: torch.Tensor, block: int = 32) -> torch.Tensor:
    """What a linear's input becomes in an int8 engine: a block of 32 has the scale max|block| / 127."""
    rows = x.reshape(-1, x.shape[-1] // block, block)
    scale = rows.abs().amax(dim=2, keepdim=True).clamp_min(1e-30) / 127.0
    return (torch.round(rows / scale).clamp(-127, 127) * scale).reshape(x.shape)


def _simulated_experts(module):
    """The experts' own forward, but for quantise_activations in front of both products."""
    def forward(hidden, index, weights):
        hidden, out = quantise_activations(hidden), torch.zeros_like(hidden)
        for slot in range(index.shape[1]):
            for expert in index[:, slot].unique():
                rows = torch.where(index[:, slot] == expert)[0]
                if not hasattr(module, "gate_up_proj"):  # Nemotron-H's have no gate
                    inner = quantise_activations(module.act_fn(hidden[rows] @ module.up_proj[expert].T))
                    result = inner @ module.down_proj[expert].T
                elif hasattr(module, "gate_up_proj_bias"):
                    both = hidden[rows] @ module.gate_up_proj[expert] + module.gate_up_proj_bias[expert]
                    inner = quantise_activations(module._apply_gate(both))
                    result = inner @ module.down_proj[expert] + module.down_proj_bias[expert]
                else:
                    gate, up = (hidden[rows] @ module.gate_up_proj[expert].T).chunk(2, dim=-1)
                    inner = quantise_activations(module.act_fn(gate) * up)
                    result = inner @ module.down_proj[expert].T
                out[rows] += result * weights[rows, slot, None]
        return out
    return forward


def simulate_int8(model) -> None:
    """Puts quantise_activations in front of every linear, the head included; routers and gates of one column have none."""
    for name, module in model.named_modules():
        if isinstance(module, torch.nn.Linear) and module.out_features > 1 and not name.endswith("router.proj"):
            module.register_forward_pre_hook(lambda _, args: (quantise_activations(args[0]),))
        if type(module).__name__.endswith("Experts"):
            module.forward = _simulated_experts(module)
