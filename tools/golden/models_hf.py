"""The reference: transformers' own model classes, fp32, eager attention, holding the weights of a tiny GGUF."""

import numpy as np
import torch
import transformers
from gguf import GGMLQuantizationType
from gguf.quants import dequantize

from models_cases import Case
from models_gguf import encoded_tensors

_LAYER_NAMES = {
    "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm",
    "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj", "attn_q_norm": "self_attn.q_norm", "attn_k_norm": "self_attn.k_norm",
    "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
}
_GEMMA_NAMES = _LAYER_NAMES | {
    "post_attention_norm": "post_attention_layernorm", "ffn_norm": "pre_feedforward_layernorm",
    "post_ffw_norm": "post_feedforward_layernorm",
}
_GLOBAL_NAMES = {"token_embd": "model.embed_tokens", "output": "lm_head", "output_norm": "model.norm"}


def hf_name(case: Case, name: str) -> str:
    """GGUF tensor name -> transformers parameter name."""
    stem, kind = name.rsplit(".", 1)
    if not stem.startswith("blk."):
        return f"{_GLOBAL_NAMES[stem]}.{kind}"
    _, layer, role = stem.split(".")
    names = _GEMMA_NAMES if case.arch == "gemma3" else _LAYER_NAMES
    return f"model.layers.{layer}.{names[role]}.{kind}"


def pairs_to_halves(rows: np.ndarray, n_heads: int) -> np.ndarray:
    """Undoes llama's GGUF row order: rotary pair i of a head lies in rows 2i, 2i+1 there, in i, i + D/2 here."""
    per_head = rows.reshape(n_heads, rows.shape[0] // n_heads // 2, 2, *rows.shape[1:])
    return per_head.swapaxes(1, 2).reshape(rows.shape)


def state_dict(case: Case) -> dict[str, torch.Tensor]:
    state = {}
    tensors = encoded_tensors(case)
    for name, (data, type_name) in tensors.items():
        if name == "rope_freqs.weight" or name.endswith(".scale"):
            continue  # transformers computes the former from its configuration; scales go into their weights
        values = data if type_name == "F32" else dequantize(data, GGMLQuantizationType[type_name])
        scale = tensors.get(name.removesuffix("weight") + "scale")
        if scale is not None:
            values = values * scale[0]
        if case.arch == "llama" and ".attn_q." in name:
            values = pairs_to_halves(values, case.H)
        if case.arch == "llama" and ".attn_k." in name:
            values = pairs_to_halves(values, case.K)
        if case.arch == "gemma3" and name.endswith("norm.weight"):
            values = values - np.float32(1.0)  # the file holds 1 + w
        state[hf_name(case, name)] = torch.from_numpy(np.ascontiguousarray(values, np.float32))
    if case.tied:
        state["lm_head.weight"] = state["model.embed_tokens.weight"]
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
    if case.hf_class == "MistralForCausalLM":
        common |= dict(sliding_window=None)
    if case.arch == "gemma3":
        kinds = ["sliding_attention" if case.sliding(i) else "full_attention" for i in range(case.n_layers)]
        scalar = case.E // case.H if case.n_layers == 62 else case.D  # the 27B's own rule, see architectures.md 7
        common |= dict(
            sliding_window=case.window, layer_types=kinds, query_pre_attn_scalar=scalar, eos_token_id=1,
            rope_parameters={"full_attention": rope,
                             "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}})
    name = {"gemma3": "Gemma3TextConfig"}.get(case.arch, case.hf_class.replace("ForCausalLM", "Config"))
    return getattr(transformers, name)(**common)


def build(case: Case):
    model = getattr(transformers, case.hf_class)(config(case)).eval()
    missing, unexpected = model.load_state_dict(state_dict(case), strict=False)
    assert not unexpected, (case.name, unexpected)
    assert not missing, (case.name, missing)
    return model


def quantise_activations(x: torch.Tensor, block: int = 32) -> torch.Tensor:
    """What a linear's input becomes in an int8 engine: one scale a row, one power-of-two exponent a block of 32.

    The row scale is max|row| / 127; a block's exponent is the smallest for which its largest element still fits.
    """
    rows = x.reshape(-1, x.shape[-1] // block, block)
    row_max = rows.abs().amax(dim=(1, 2), keepdim=True).clamp_min(1e-30)
    block_max = rows.abs().amax(dim=2, keepdim=True)
    exponent = torch.ceil(torch.log2((block_max / row_max).clamp_min(2.0**-20)))
    scale = row_max / 127.0 * torch.exp2(exponent)
    return (torch.round(rows / scale).clamp(-127, 127) * scale).reshape(x.shape)


def simulate_int8(model) -> None:
    """Puts quantise_activations in front of every linear, the head included."""
    for module in model.modules():
        if isinstance(module, torch.nn.Linear):
            module.register_forward_pre_hook(lambda _, args: (quantise_activations(args[0]),))
