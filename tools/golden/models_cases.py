"""The tiny models that the golden tests use: shapes only, one line each.

A case is a legal shape that a real checkpoint could have, chosen to be awkward: head counts that share KV heads
1, 2, 3, 4 and 7 to one, heads of 64, 80, 128 and 256, widths that no vector length divides, vocabularies that are not
multiples of 16, windows shorter than the prompts. Weights come from models_weights.py, references from
models_reference.py.
"""

from dataclasses import dataclass, field

PROMPT_LENGTHS = (1, 17, 200, 1100)
QUANT_PROMPT_LENGTHS = (17, 120)
N_GREEDY = 64
N_TOP = 24  # logprobs kept per position; the server gives 20

# Served with f32 activations: held to the F32 tolerance.
EXACT_TYPES = ("F32", "F16", "BF16")


@dataclass(frozen=True)
class Case:
    name: str
    arch: str  # general.architecture
    hf_class: str  # the transformers class that is the reference
    n_layers: int
    E: int  # embedding length
    F: int  # feed-forward length
    H: int  # query heads
    K: int  # KV heads
    D: int  # head length
    V: int  # vocabulary
    tied: bool = False
    qkv_bias: bool = False
    out_bias: bool = False  # attn_output and the three MLP matrices
    qk_norm: bool = False
    rope_base: float = 10000.0
    rope_scaling: dict | None = None  # transformers' words: rope_type, factor, ...
    window: int = 0
    pattern: int | list[bool] | None = None  # attention.sliding_window_pattern as stored; None: key absent
    eps: float = 1e-5
    context: int = 2048
    fused_qkv: bool = False  # one attn_qkv tensor, as the converter's --fuse-qkv writes
    scales: bool = False  # each layer matrix X has a multiplier X.scale beside it, as NVFP4 exports do
    types: dict = field(default_factory=dict)  # tensor role -> GGML type name; "*" is the default
    prompt_lengths: tuple = PROMPT_LENGTHS
    n_greedy: int = N_GREEDY

    def type_of(self, role: str) -> str:
        """GGML type of a matrix; role is the tensor's name without layer and '.weight'."""
        return self.types.get(role, self.types.get("*", "F32"))

    def sliding(self, layer: int) -> bool:
        if not self.window:
            return False
        if isinstance(self.pattern, list):
            return self.pattern[layer]
        n = 6 if self.pattern is None else self.pattern
        return (layer + 1) % n != 0

    @property
    def exact(self) -> bool:
        return all(t in EXACT_TYPES for t in (self.types or {"*": "F32"}).values())


LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 128,
}
LINEAR8 = {"rope_type": "linear", "factor": 8.0}
YARN4 = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 256}
LINEAR4 = {"rope_type": "linear", "factor": 4.0}


def llama(name, **shape):
    return Case(name, "llama", "LlamaForCausalLM", **shape)


def qwen2(name, eps=1e-6, **shape):
    return Case(name, "qwen2", "Qwen2ForCausalLM", qkv_bias=True, eps=eps, **shape)


def qwen3(name, eps=1e-6, **shape):
    return Case(name, "qwen3", "Qwen3ForCausalLM", qk_norm=True, eps=eps, **shape)


def gemma3(name, eps=1e-6, **shape):
    return Case(name, "gemma3", "Gemma3ForCausalLM", tied=True, qk_norm=True, rope_base=1e6, eps=eps, **shape)


F32_CASES = [
    llama("llama_gqa1_d64", n_layers=3, E=144, F=200, H=3, K=3, D=64, V=261),
    llama("llama_gqa3_tied", n_layers=3, E=192, F=328, H=3, K=1, D=64, V=301, tied=True, eps=1e-3),
    llama("llama_gqa2_d80_llama3", n_layers=3, E=200, F=264, H=4, K=2, D=80, V=301, rope_base=5e5, rope_scaling=LLAMA3),
    llama("llama_gqa4_d128_llama3_tied", n_layers=2, E=136, F=392, H=4, K=1, D=128, V=277, tied=True, rope_base=5e5,
          rope_scaling=LLAMA3 | {"factor": 32.0, "original_max_position_embeddings": 256}),
    llama("llama_gqa7_d64", n_layers=2, E=252, F=184, H=7, K=1, D=64, V=293),
    llama("llama_d256", n_layers=2, E=160, F=248, H=2, K=1, D=256, V=271),
    llama("llama_bias_linear", n_layers=2, E=176, F=212, H=4, K=2, D=64, V=261, qkv_bias=True, out_bias=True,
          rope_scaling=LINEAR4),
    llama("llama_fused_qkv", n_layers=2, E=168, F=220, H=6, K=2, D=64, V=263, fused_qkv=True),
    Case("mistral_gqa4_d128", "llama", "MistralForCausalLM", n_layers=2, E=168, F=300, H=4, K=1, D=128, V=269,
         rope_base=1e6),
    Case("mistral_gqa3_d80", "llama", "MistralForCausalLM", n_layers=3, E=186, F=180, H=6, K=2, D=80, V=307,
         rope_base=1e4),
    qwen2("qwen2_gqa7_d64_tied", n_layers=3, E=448, F=304, H=7, K=1, D=64, V=301, tied=True, rope_base=1e6),
    qwen2("qwen2_gqa1_d128", n_layers=2, E=256, F=228, H=2, K=2, D=128, V=261, rope_base=1e6),
    qwen2("qwen2_gqa3_d80", n_layers=2, E=240, F=172, H=3, K=1, D=80, V=283, rope_base=1e4),
    qwen3("qwen3_gqa2_d128", n_layers=3, E=144, F=232, H=4, K=2, D=128, V=261, rope_base=1e6),
    qwen3("qwen3_gqa4_d64_tied", n_layers=3, E=200, F=276, H=8, K=2, D=64, V=301, tied=True, rope_base=1e6,
          eps=1e-3),
    qwen3("qwen3_gqa3_d80", n_layers=2, E=156, F=204, H=3, K=1, D=80, V=319, rope_base=1e4),
    qwen2("qwen2_yarn", n_layers=2, E=192, F=188, H=3, K=1, D=64, V=273, rope_base=1e6, rope_scaling=YARN4),
    qwen3("qwen3_yarn", n_layers=2, E=156, F=220, H=4, K=2, D=80, V=281, rope_base=1e4,
          rope_scaling=YARN4 | {"beta_fast": 24.0, "beta_slow": 2.0}),
    gemma3("gemma3_d256", n_layers=7, E=144, F=232, H=4, K=1, D=256, V=301, window=64),
    gemma3("gemma3_d64_linear", n_layers=7, E=200, F=260, H=4, K=2, D=64, V=283, window=100, rope_scaling=LINEAR8),
    gemma3("gemma3_d128_pattern", n_layers=4, E=156, F=196, H=3, K=1, D=128, V=309, window=33, pattern=2),
    gemma3("gemma3_d80_array", n_layers=4, E=168, F=180, H=2, K=2, D=80, V=291, window=512, eps=1e-2,
           pattern=[True, False, False, True]),
    gemma3("gemma3_62_layers", n_layers=62, E=96, F=88, H=2, K=1, D=64, V=287, window=48),
]

# Every block format that a weight may have; "*" sets all matrices, the embedding and the head included.
BLOCK32_TYPES = ("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "IQ4_NL", "MXFP4", "NVFP4")
BLOCK256_TYPES = ("Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS",
                  "IQ3_S", "IQ4_NL", "IQ4_XS", "TQ1_0", "TQ2_0")


def _quant(name, types, **change):
    shape = dict(arch="llama", hf_class="LlamaForCausalLM", n_layers=2, E=256, F=512, H=4, K=2, D=64, V=301,
                 prompt_lengths=QUANT_PROMPT_LENGTHS, n_greedy=0, types=types)
    return Case(name, **(shape | change))


QUANT_CASES = [
    *(_quant(f"quant_{t.lower()}", {"*": t}) for t in ("F16", "BF16", *BLOCK32_TYPES, *BLOCK256_TYPES[:12],
                                                       *BLOCK256_TYPES[13:])),
    # Rows that are multiples of 32 (64 for NVFP4) only.
    *(_quant(f"quant_{t.lower()}_k32", {"*": t}, E=224, F=352, H=7, K=1, D=64) for t in ("Q4_0", "Q5_0", "Q8_0")),
    *(_quant(f"quant_{t.lower()}_k32", {"*": t}, E=160, F=288, H=2, K=1, D=80) for t in ("Q4_1", "Q5_1", "IQ4_NL", "MXFP4")),
    _quant("quant_nvfp4_scale", {"*": "NVFP4", "token_embd": "Q8_0", "output": "Q8_0"}, scales=True),
    # What common files hold: a "Q4_K_M", the same for rows of 224, and one per other architecture.
    _quant("quant_mix_q4_k_m", {"*": "Q4_K", "attn_v": "Q6_K", "ffn_down": "Q6_K", "output": "Q6_K"}),
    _quant("quant_mix_q5_0_q8_0", {"*": "Q5_0", "token_embd": "Q8_0", "attn_v": "Q8_0", "ffn_down": "Q4_K"},
           arch="qwen2", hf_class="Qwen2ForCausalLM", qkv_bias=True, E=448, H=7, K=1, eps=1e-6, tied=True,
           rope_base=1e6),
    _quant("quant_qwen3_q4_k", {"*": "Q4_K", "token_embd": "Q6_K"}, arch="qwen3", hf_class="Qwen3ForCausalLM",
           qk_norm=True, D=128, tied=True, eps=1e-6, rope_base=1e6),
    _quant("quant_gemma3_q8_0", {"*": "Q5_0", "token_embd": "Q8_0", "attn_v": "Q8_0", "ffn_down": "Q4_K"},
           arch="gemma3", hf_class="Gemma3ForCausalLM", qk_norm=True, tied=True, E=160, H=4, K=1, D=256, eps=1e-6,
           rope_base=1e6, window=50, n_layers=6),
]

CASES = {case.name: case for case in F32_CASES + QUANT_CASES}
