"""Writes a tiny model's GGUF file. Needs numpy and the pinned gguf package only; the same bytes each time."""

import hashlib
import math
from pathlib import Path

import gguf
import numpy as np

from models_blocks import encode
from models_cases import Case
from models_weights import float_tensors, noise

SMALL = (["ssm_conv1d"], ["ssm_a"], ["ssm_d"], ["ssm_norm"])  # F32 in every quantisation
_NORMAL, _UNKNOWN, _CONTROL, _BYTE = 1, 2, 3, 6


def gpt2_vocabulary(n: int):
    """256 bytes, then merges of letter pairs, three control tokens last. The last one ends the text."""
    letters = {}
    extra = 0
    for b in range(256):  # GPT-2's printable stand-in for each byte
        if 33 <= b <= 126 or 161 <= b <= 172 or 174 <= b <= 255:
            letters[b] = chr(b)
        else:
            letters[b] = chr(256 + extra)
            extra += 1
    tokens = [letters[b] for b in range(256)]
    pairs = [a + b for a in "etaoinshr" for b in "etaoinsh"][: n - 259]
    types = [_NORMAL] * (256 + len(pairs)) + [_CONTROL] * 3
    tokens += pairs + ["<|im_start|>", "<|im_end|>", "<|endoftext|>"]
    return tokens, types, [f"{p[0]} {p[1]}" for p in pairs]


def spm_vocabulary(n: int):
    """SentencePiece style: pad, eos, bos, unk, 256 byte tokens, then pieces with falling scores."""
    tokens = ["<pad>", "<eos>", "<bos>", "<unk>"] + [f"<0x{b:02X}>" for b in range(256)]
    types = [_CONTROL] * 3 + [_UNKNOWN] + [_BYTE] * 256
    pieces = ["\u2581"] + [a + b for a in "\u2581etaoinshr" for b in ("", *"etaoinsh") if a + b != "\u2581"]
    tokens += pieces[: n - 260]
    types += [_NORMAL] * (n - 260)
    scores = [0.0] * 260 + [-float(i) for i in range(n - 260)]
    return tokens, types, scores


def add_spm_tokenizer(w: gguf.GGUFWriter, n: int, pad: int | None, adds_eos: bool) -> tuple[list[bytes], list[int]]:
    """Gemma's, of n tokens; gives them and their types, which the caller adds."""
    tokens, types, scores = spm_vocabulary(n)
    w.add_tokenizer_model("llama")
    w.add_token_scores(scores)
    w.add_bos_token_id(2)
    w.add_eos_token_id(1)
    w.add_unk_token_id(3)
    if pad is not None:
        w.add_pad_token_id(pad)
    w.add_add_bos_token(True)
    w.add_add_eos_token(adds_eos)
    w.add_add_space_prefix(False)
    return tokens, types


def gemma4_vocabulary(n: int):
    """The same pieces in the order of their merges, which are listed."""
    tokens, types, _ = spm_vocabulary(n)
    pieces = tokens[260:]
    return tokens, types, [f"{t[0]} {t[1]}" for t in pieces if len(t) == 2 and {*t} <= {*pieces}]


def _add_tokenizer(w: gguf.GGUFWriter, case: Case) -> None:
    if case.arch in ("gemma2", "gemma3"):
        tokens, types = add_spm_tokenizer(w, case.V, pad=0, adds_eos=False)
    elif case.arch == "gemma4":
        tokens, types, merges = gemma4_vocabulary(case.V)
        w.add_tokenizer_model("gemma4")
        w.add_token_merges(merges)
        w.add_bos_token_id(2)
        w.add_eos_token_id(1)
        w.add_unk_token_id(3)
        w.add_pad_token_id(0)
        w.add_add_bos_token(True)
        w.add_add_space_prefix(False)
    else:
        tokens, types, merges = gpt2_vocabulary(case.V)
        w.add_tokenizer_model("gpt2")
        w.add_tokenizer_pre("default")
        w.add_token_merges(merges)
        w.add_eos_token_id(case.V - 1)
        w.add_add_bos_token(False)
    assert len(tokens) == len(types) == case.V, (case.name, len(tokens), case.V)
    w.add_token_list(tokens)
    w.add_token_types(types)


def _add_hyperparameters(w: gguf.GGUFWriter, case: Case) -> None:
    w.add_name(case.name)
    w.add_context_length(case.context)
    w.add_embedding_length(case.E)
    w.add_block_count(case.n_layers + case.drafts)
    if case.drafts:
        w.add_nextn_predict_layers(case.drafts)
    # Arrays in hybrids: a feed-forward length or KV heads of 0 say what a layer lacks.
    kinds = case.layers and case.layers + "*" * case.drafts
    alone = case.arch.startswith("nemotron_h")  # a mixer or an MLP
    if case.gemma4:
        _add_gemma4(w, case)
    elif case.arch != "qwen35moe":
        w.add_feed_forward_length([case.F if k in "-E" else 0 for k in kinds] if alone else case.F)
    w.add_head_count(case.H)
    if case.mla:
        _add_latent(w, case)
    elif not case.gemma4:
        w.add_head_count_kv([case.K if k == "*" else 0 for k in kinds] if kinds and not case.delta else case.K)
    if case.arch.startswith("lfm2"):
        w.add_vocab_size(case.V)
        w.add_shortconv_l_cache(case.taps)
    elif not case.gemma4 and not case.mla:
        w.add_key_length(case.D)
        w.add_value_length(case.D)
    if alone:
        w.add_layer_norm_eps(case.eps)  # so the converter names it; the norms are RMS norms
    else:
        w.add_layer_norm_rms_eps(case.eps)
    w.add_rope_freq_base(case.rope_base)
    if case.arch == "llama":
        w.add_vocab_size(case.V)
        w.add_rope_dimension_count(case.D)
    if case.rope_scaling and case.rope_scaling["rope_type"] == "linear":
        w.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        w.add_rope_scaling_factor(case.rope_scaling["factor"])
    if case.arch != "llama" and case.rope_dims:
        w.add_rope_dimension_count(case.rope_dims)
    if case.rope_scaling and case.rope_scaling["rope_type"] == "longrope":
        original = case.rope_scaling["original_max_position_embeddings"]
        factor = case.context / original
        w.add_rope_scaling_orig_ctx_len(original)
        w.add_rope_scaling_attn_factors(math.sqrt(1 + math.log(factor) / math.log(original)))
    if case.rope_scaling and case.rope_scaling["rope_type"] == "yarn":
        w.add_rope_scaling_type(gguf.RopeScalingType.YARN)
        w.add_rope_scaling_factor(case.rope_scaling["factor"])
        w.add_rope_scaling_orig_ctx_len(case.rope_scaling["original_max_position_embeddings"])
        if case.mla:
            w.add_rope_scaling_yarn_log_mul(0.1 * case.rope_scaling["mscale_all_dim"])
        if "beta_fast" in case.rope_scaling:
            w.add_rope_scaling_yarn_beta_fast(case.rope_scaling["beta_fast"])
            w.add_rope_scaling_yarn_beta_slow(case.rope_scaling["beta_slow"])
    if case.growth:
        w.add_attn_temperature_scale(case.growth)
        w.add_rope_scaling_yarn_log_mul(case.rope_scaling["mscale_all_dim"])
    for key, value in case.multipliers.items():
        w.add_float32(f"{case.arch}.{key}", value)
    if case.mamba:
        m = case.mamba
        w.add_ssm_conv_kernel(m.taps)
        w.add_ssm_state_size(m.S)
        w.add_ssm_group_count(m.groups)
        w.add_ssm_inner_size(m.heads * m.P)
        w.add_ssm_time_step_rank(m.heads)
        w.add_rope_scaling_finetuned(False)  # read as: no rope
    if case.delta:
        d = case.delta
        w.add_ssm_conv_kernel(d.taps)
        w.add_ssm_state_size(d.S)
        w.add_ssm_group_count(d.key_heads)
        w.add_ssm_time_step_rank(d.value_heads)
        w.add_ssm_inner_size(d.value_heads * d.S)
        w.add_array(f"{case.arch}.attention.recurrent_layers", [k == "D" for k in kinds])
        w.add_full_attention_interval(4)  # the flags win
        if case.arch != "qwen3next":
            w.add_rope_dimension_sections(mrope_sections(case) + [0])
    if case.latent:
        w.add_moe_latent_size(case.latent)
    if case.softcaps:
        w.add_attn_logit_softcapping(case.softcaps[0])
        w.add_final_logit_softcapping(case.softcaps[1])
    if case.experts:
        _add_experts(w, case)
    if case.arch.startswith("qwen3vl"):
        w.add_rope_dimension_sections(mrope_sections(case) + [0])
        w.add_num_deepstack_layers(0)
    if case.window:
        w.add_sliding_window(case.window)
    if case.pattern is not None:
        w.add_sliding_window_pattern(case.pattern)
    if case.pooling:
        w.add_pooling_type(gguf.PoolingType(case.pooling))


def _add_gemma4(w: gguf.GGUFWriter, case: Case) -> None:
    own = case.gemma4
    wide = [case.F * (2 if case.shares_kv(i) else 1) for i in range(case.n_layers)]
    w.add_feed_forward_length(wide if own.wide else case.F)
    w.add_head_count_kv([case.kv_heads(i) for i in range(case.n_layers)] if own.K != case.K else case.K)
    w.add_key_length(own.D)
    w.add_value_length(own.D)
    w.add_key_length_swa(case.D)
    w.add_value_length_swa(case.D)
    w.add_rope_dimension_count(own.D)
    w.add_rope_dimension_count_swa(case.D)
    w.add_rope_freq_base_swa(10000.0)
    w.add_shared_kv_layers(own.shared)
    w.add_embedding_length_per_layer_input(own.P)
    if own.softcap:
        w.add_final_logit_softcapping(own.softcap)


def _add_latent(w: gguf.GGUFWriter, case: Case) -> None:
    n = case.mla
    w.add_kv_lora_rank(n.rank)
    if n.q_rank:
        w.add_q_lora_rank(n.q_rank)
    w.add_rope_dimension_count(n.rope)
    if n.joined:
        w.add_head_count_kv(case.H)
        w.add_key_length(n.nope + n.rope)
        w.add_value_length(n.value)
        return
    w.add_head_count_kv(1)
    w.add_key_length(n.rank + n.rope)
    w.add_value_length(n.rank)
    w.add_key_length_mla(n.nope + n.rope)
    w.add_value_length_mla(n.value)


def mrope_sections(case: Case) -> list[int]:
    """Pairs that turn by time, height and width."""
    pairs = (case.rope_dims or case.D) // 2
    return [pairs - 2 * (pairs // 3), pairs // 3, pairs // 3]


def _add_experts(w: gguf.GGUFWriter, case: Case) -> None:
    x = case.experts
    w.add_expert_count(x.n)
    w.add_expert_used_count(x.used)
    with_width = ("gemma4", "qwen3moe", "qwen3vlmoe", "glm4moe", "gpt-oss", "lfm2moe", "nemotron_h_moe", "deepseek2")
    if case.arch in with_width or case.delta:
        w.add_expert_feed_forward_length(x.F)
    if case.delta:
        w.add_expert_shared_feed_forward_length(x.shared)
    if case.arch == "nemotron_h_moe":
        w.add_expert_shared_feed_forward_length(x.shared)
        w.add_expert_shared_count(1)
        w.add_expert_weights_norm(x.normalise)
        w.add_expert_weights_scale(x.scale)
        w.add_expert_group_count(x.groups[0])
    if case.arch in ("granitemoe", "granitehybrid") and x.shared:
        w.add_expert_shared_feed_forward_length(x.shared)
    if case.arch == "lfm2moe":
        w.add_leading_dense_block_count(x.lead)
        w.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID)
    if case.arch in ("glm4moe", "deepseek2"):
        w.add_expert_shared_count(x.shared // x.F)
        w.add_leading_dense_block_count(x.lead)
        if not case.hf_class.startswith("DeepseekV2"):
            w.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID)
        w.add_expert_weights_scale(x.scale)
        if x.normalise or case.arch != "deepseek2":
            w.add_expert_weights_norm(x.normalise)
        w.add_expert_group_count(x.groups[0])
        w.add_expert_group_used_count(x.groups[1])


def encoded_tensors(case: Case) -> dict[str, tuple[np.ndarray, str]]:
    """GGUF name -> (bytes or f32 values, type name), in file order."""
    out = {}
    for name, values in float_tensors(case).items():
        if values.ndim == 1 or name.endswith(".bias") or name.split(".")[2:3] in SMALL:
            out[name] = (values, "F32")
            continue
        role = name.removesuffix(".weight").split(".")[-1]
        type_name = case.type_of(role)
        data = encode(f"{case.name}/{name}#{type_name}", values.reshape(-1, values.shape[-1]), type_name)
        out[name] = (data.reshape(*values.shape[:-1], -1), type_name)
        if case.scales and name.startswith("blk."):
            stem = name.removesuffix(".weight")
            out[f"{stem}.scale"] = (1.0 + 0.3 * noise(f"{case.name}/{stem}.scale", (1,)).astype(np.float32), "F32")
    return out


def _fuse_qkv(tensors: dict, n_layers: int) -> dict:
    out = dict(tensors)
    for i in range(n_layers):
        parts = [out.pop(f"blk.{i}.attn_{p}.weight")[0] for p in "qkv"]
        out[f"blk.{i}.attn_qkv.weight"] = (np.concatenate(parts), "F32")
    return out


def _join_kv_b(tensors: dict, case: Case) -> dict:
    out, n = dict(tensors), case.mla
    for i in range(case.n_layers):
        k = out.pop(f"blk.{i}.attn_k_b.weight")[0].swapaxes(1, 2)
        v = out.pop(f"blk.{i}.attn_v_b.weight")[0]
        out[f"blk.{i}.attn_kv_b.weight"] = (np.ascontiguousarray(np.concatenate([k, v], axis=1)).reshape(-1, n.rank), "F32")
    return out


def write(case: Case, path: Path) -> None:
    tensors = encoded_tensors(case)
    if case.mla and case.mla.joined:
        tensors = _join_kv_b(tensors, case)
    if case.fused_qkv:
        tensors = _fuse_qkv(tensors, case.n_layers)
    w = gguf.GGUFWriter(path, case.arch)
    _add_hyperparameters(w, case)
    _add_tokenizer(w, case)
    for name, (data, type_name) in tensors.items():
        w.add_tensor(name, data, raw_dtype=None if type_name == "F32" else gguf.GGMLQuantizationType[type_name])
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def file_hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def source_key() -> str:
    """Changes when anything that shapes a file changes: the key of the test's cache folder."""
    here = Path(__file__).parent
    sources = ("models_cases.py", "models_weights.py", "models_blocks.py", "models_gguf.py")
    digest = hashlib.sha256()
    for source in sources:
        digest.update((here / source).read_bytes())
    return digest.hexdigest()[:16]


def cached(case: Case, folder: Path) -> Path:
    """The case's file under folder, written if it is not there."""
    path = folder / source_key() / f"{case.name}.gguf"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        write(case, part)
        part.rename(path)
    return path
