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
class Experts:
    n: int  # experts
    used: int  # of them, a token
    F: int  # feed-forward length of one
    shared: int = 0  # feed-forward length of the shared experts together
    lead: int = 0  # layers in front that have none
    groups: tuple[int, int] | None = None  # expert_group_count, expert_group_used_count
    scale: float = 1.0  # expert_weights_scale
    normalise: bool = True


@dataclass(frozen=True)
class Mamba:
    """The Mamba2 layers of a hybrid."""
    heads: int
    P: int  # head length
    S: int  # state size
    groups: int = 1
    taps: int = 4
    bias: bool = True  # of the convolution


@dataclass(frozen=True)
class Delta:
    """The Gated DeltaNet layers of a hybrid."""
    key_heads: int
    value_heads: int
    S: int  # head length
    taps: int = 4


@dataclass(frozen=True)
class Gemma4:
    """What Gemma 4 has of its own. Case.D and Case.K are those of layers with a window."""
    D: int  # head length of layers without a window
    K: int  # their KV heads
    k_is_v: bool = False  # they have no matrix for values: the keys' own
    rotated: float = 0.25  # part of their heads' pairs that turns
    shared: int = 0  # layers at the end that read earlier layers' keys and values
    wide: bool = False  # and have MLPs twice as wide
    P: int = 0  # numbers of a row's token that enter each layer
    softcap: float = 0.0  # of the logits


@dataclass(frozen=True)
class Latent:
    rank: int  # of the latent rows
    nope: int  # of a head's query, what does not rotate
    rope: int  # and what does
    value: int  # of a head's output
    q_rank: int = 0  # 0: queries in one step
    joined: bool = False  # attn_kv_b in one tensor, as older files have it


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
    rope_dims: int = 0  # elements of a head that rotate; 0: all
    multipliers: dict = field(default_factory=dict)  # Granite's, by GGUF key
    softcaps: tuple | None = None  # of attention scores and of logits
    experts: Experts | None = None
    mla: Latent | None = None
    growth: float = 0.0  # Ministral 3: attention.temperature_scale
    layers: str = ""  # of hybrids, a letter each: * attention, M Mamba2, - MLP, E experts (Nemotron-H's letters), c a short
    # convolution, D Gated DeltaNet; in Nemotron-H that is all, others have an MLP or experts behind it
    mamba: Mamba | None = None
    delta: Delta | None = None
    gemma4: Gemma4 | None = None
    latent: int = 0  # experts see this many numbers of each row
    taps: int = 0  # of a short convolution
    drafts: int = 0  # layers behind the others, which predict tokens further ahead
    pooling: int = 0  # pooling_type as stored: 1 mean, 2 cls, 3 last; 0: key absent
    types: dict = field(default_factory=dict)  # tensor role -> GGML type name; "*" is the default
    prompt_lengths: tuple = PROMPT_LENGTHS
    n_greedy: int = N_GREEDY

    def type_of(self, role: str) -> str:
        """GGML type of a matrix; role is the tensor's name without layer and '.weight'."""
        if role in ("ffn_gate_inp", "ffn_gate_inp_shexp", "conv"):
            return "F32"  # as every quantisation leaves them
        return self.types.get(role, self.types.get("*", "F32"))

    def sliding(self, layer: int) -> bool:
        if not self.window:
            return False
        if isinstance(self.pattern, list):
            return self.pattern[layer]
        if self.arch == "phi3":
            return True
        default = 6 if self.arch == "gemma3" else 2
        n = default if self.pattern is None else self.pattern
        return (layer + 1) % n != 0

    def head_dim(self, layer: int) -> int:
        return self.D if not self.gemma4 or self.sliding(layer) else self.gemma4.D

    def kv_heads(self, layer: int) -> int:
        return self.K if not self.gemma4 or self.sliding(layer) else self.gemma4.K

    def shares_kv(self, layer: int) -> bool:
        return self.gemma4 is not None and layer >= self.n_layers - self.gemma4.shared

    def kind(self, layer: int) -> str:
        """A layer's letter."""
        return self.layers[layer] if self.layers and layer < self.n_layers else "*"

    def has_experts(self, layer: int) -> bool:
        if self.arch.startswith("nemotron_h"):
            return self.kind(layer) == "E"
        return self.experts is not None and layer >= self.experts.lead

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


def gemma4(name, layers, own, eps=1e-6, **shape):
    """layers: s with a window, f without."""
    return Case(name, "gemma4", "Gemma4ForCausalLM", n_layers=len(layers), pattern=[k == "s" for k in layers],
                gemma4=own, tied=True, qk_norm=True, rope_base=1e6, eps=eps, **shape)


LONGROPE_PAIRS = 24


def longrope(original):
    """Factors that grow with the pair, as Phi's do."""
    return {
        "rope_type": "longrope",
        "short_factor": [1.0 + 0.03 * i for i in range(LONGROPE_PAIRS)],
        "long_factor": [1.0 + 0.25 * i for i in range(LONGROPE_PAIRS)],
        "original_max_position_embeddings": original,
    }


MINISTRAL = {"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 128, "beta_fast": 32.0,
             "beta_slow": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0, "llama_4_scaling_beta": 0.1}
GPT_OSS_YARN = {"rope_type": "yarn", "factor": 32.0, "original_max_position_embeddings": 256, "beta_fast": 32.0,
                "beta_slow": 1.0, "truncate": False}
GRANITE = {"embedding_scale": 1.5, "residual_scale": 0.4, "attention.scale": 0.09, "logit_scale": 0.8}


def granite(name, arch="granite", hf="GraniteForCausalLM", **shape):
    return Case(name, arch, hf, multipliers=GRANITE, **shape)


def gemma2(name, eps=1e-6, **shape):
    return Case(name, "gemma2", "Gemma2ForCausalLM", tied=True, eps=eps, **shape)


def gpt_oss(name, **shape):
    return Case(name, "gpt-oss", "GptOssForCausalLM", qkv_bias=True, out_bias=True, rope_base=150000.0,
                rope_scaling=GPT_OSS_YARN, **shape)


def glm4moe(name, **shape):
    return Case(name, "glm4moe", "Glm4MoeForCausalLM", **shape)


def lfm2(name, arch="lfm2", hf="Lfm2ForCausalLM", **shape):
    return Case(name, arch, hf, tied=True, qk_norm=True, rope_base=1e6, **shape)
def nemotron_h(name, layers, arch="nemotron_h", **shape):
    return Case(name, arch, "NemotronHForCausalLM", n_layers=len(layers), layers=layers, **shape)


def granite_hybrid(name, layers, **shape):
    return granite(name, "granitehybrid", "GraniteMoeHybridForCausalLM", n_layers=len(layers), layers=layers, **shape)


def qwen_hybrid(name, arch, hf, layers, D, **shape):
    return Case(name, arch, hf, n_layers=len(layers), layers=layers, D=D, rope_dims=D // 4, qk_norm=True, eps=1e-6,
                rope_base=1e7, **shape)


def deepseek(name, version, latent, H, **shape):
    return Case(name, "deepseek2", f"DeepseekV{version}ForCausalLM", H=H, K=1, D=latent.nope + latent.rope, mla=latent,
                **({"eps": 1e-6} | shape))


DEEPSEEK_YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 256, "beta_fast": 32.0,
                 "beta_slow": 1.0, "mscale": 0.707, "mscale_all_dim": 0.707}

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
    # Dense ones of both kinds: a second embedding and shared keys and values, or keys that are values. In the third, what
    # is shared lies apart. Then experts beside the MLP.
    gemma4("gemma4", "ssfssf", Gemma4(D=96, K=1, shared=3, wide=True, P=24, softcap=6.0), E=144, F=120, H=4, K=1, D=48,
           V=301, window=64),
    gemma4("gemma4_k_is_v", "sssf", Gemma4(D=80, K=2, k_is_v=True, softcap=30.0), E=156, F=196, H=6, K=3, D=40, V=283,
           window=33),
    gemma4("gemma4_shared_apart", "fsssf", Gemma4(D=72, K=3, rotated=0.5, shared=2, P=20), E=136, F=148, H=6, K=2, D=64,
           V=309, window=100, eps=1e-3),
    gemma4("gemma4_moe", "ssfsf", Gemma4(D=512, K=1, k_is_v=True, softcap=8.0), E=144, F=100, H=4, K=2, D=64, V=291,
           window=90, experts=Experts(10, 3, 52)),
    Case("mistral3", "mistral3", "Ministral3ForCausalLM", n_layers=2, E=136, F=180, H=4, K=2, D=48, V=277,
         rope_base=1e6, rope_scaling=MINISTRAL, growth=0.1),
    Case("smollm3", "smollm3", "SmolLM3ForCausalLM", n_layers=5, E=144, F=152, H=3, K=1, D=48, V=283, tied=True,
         rope_base=2e6),
    granite("granite_tied", n_layers=2, E=192, F=172, H=4, K=2, D=48, V=291, tied=True),
    granite("granite_bias", n_layers=2, E=160, F=148, H=2, K=1, D=80, V=271, qkv_bias=True, out_bias=True),
    Case("phi3_window", "phi3", "Phi3ForCausalLM", n_layers=2, E=192, F=180, H=3, K=3, D=64, V=285, window=90),
    Case("phi3_longrope_short", "phi3", "Phi3ForCausalLM", n_layers=2, E=192, F=164, H=3, K=1, D=64, rope_dims=48,
         V=293, tied=True, rope_scaling=longrope(2048), context=8192),
    Case("phi3_longrope_long", "phi3", "Phi3ForCausalLM", n_layers=2, E=192, F=164, H=3, K=1, D=64, rope_dims=48,
         V=279, rope_scaling=longrope(128), prompt_lengths=(200, 1100)),
    Case("glm4", "glm4", "Glm4ForCausalLM", n_layers=2, E=144, F=156, H=4, K=2, D=64, rope_dims=32, V=297,
         qkv_bias=True),
    gemma2("gemma2_d64", n_layers=3, E=144, F=196, H=4, K=2, D=64, V=301, window=70, softcaps=(6.0, 5.0)),
    gemma2("gemma2_46_layers", n_layers=46, E=96, F=88, H=2, K=1, D=32, V=283, window=48, softcaps=(50.0, 30.0)),
    Case("mixtral", "llama", "MixtralForCausalLM", n_layers=2, E=136, F=120, H=4, K=2, D=48, V=273,
         experts=Experts(4, 2, 120)),
    Case("qwen3moe", "qwen3moe", "Qwen3MoeForCausalLM", n_layers=3, E=156, F=100, H=3, K=1, D=48, V=289, qk_norm=True,
         eps=1e-6, rope_base=1e6, experts=Experts(18, 4, 76)),
    Case("qwen3vl", "qwen3vl", "Qwen3VLForConditionalGeneration", n_layers=2, E=144, F=124, H=4, K=2, D=48, V=281,
         qk_norm=True, eps=1e-6, rope_base=5e6, prompt_lengths=(17, 200)),
    Case("qwen3vlmoe", "qwen3vlmoe", "Qwen3VLMoeForConditionalGeneration", n_layers=2, E=136, F=120, H=3, K=1, D=48,
         V=277, qk_norm=True, eps=1e-6, rope_base=5e6, experts=Experts(10, 3, 52), prompt_lengths=(17, 200)),
    granite("granitemoe", "granitemoe", "GraniteMoeForCausalLM", n_layers=2, E=192, F=84, H=4, K=2, D=48, V=281,
            tied=True, experts=Experts(7, 3, 84)),
    granite("granitemoe_shared", "granitemoe", "GraniteMoeSharedForCausalLM", n_layers=2, E=160, F=72, H=2, K=1, D=80,
            V=275, experts=Experts(5, 2, 72, shared=56)),
    glm4moe("glm4moe", n_layers=3, E=144, F=132, H=3, K=1, D=48, rope_dims=24, V=287, qkv_bias=True,
            experts=Experts(12, 3, 60, shared=60, lead=1, groups=(1, 1), scale=1.7)),
    glm4moe("glm4moe_groups_norm", n_layers=2, E=136, F=120, H=4, K=2, D=40, rope_dims=20, V=267, qk_norm=True,
            experts=Experts(12, 4, 52, shared=104, lead=0, groups=(4, 2), scale=1.2, normalise=False)),
    deepseek("deepseek_v2_lite", 2, Latent(64, 48, 16, 40), H=4, n_layers=3, E=144, F=132, V=287, rope_scaling=DEEPSEEK_YARN,
             experts=Experts(10, 3, 60, shared=120, lead=1, groups=(1, 1), scale=1.0, normalise=False)),
    deepseek("deepseek_v2_groups", 2, Latent(48, 32, 32, 32, q_rank=72, joined=True), H=4, n_layers=2, E=136, F=120, V=277,
             eps=1e-3,  # not of the norms inside attention
             experts=Experts(12, 4, 52, shared=52, lead=0, groups=(4, 2), scale=3.0, normalise=False)),
    deepseek("deepseek_v3", 3, Latent(80, 64, 32, 64, q_rank=96), H=5, n_layers=3, E=160, F=148, V=281,
             rope_scaling=DEEPSEEK_YARN | {"mscale": 1.0, "mscale_all_dim": 1.0},
             experts=Experts(12, 4, 56, shared=56, lead=1, groups=(4, 2), scale=2.5)),
    gpt_oss("gpt_oss", n_layers=4, E=136, F=96, H=4, K=2, D=48, V=295, window=50, experts=Experts(9, 4, 96)),
    lfm2("lfm2", n_layers=5, E=144, F=196, H=3, K=1, D=48, V=285, layers="c*cc*", taps=3),
    lfm2("lfm2_taps4", n_layers=3, E=200, F=152, H=5, K=5, D=40, V=279, layers="*cc", taps=4),
    lfm2("lfm2moe", "lfm2moe", "Lfm2MoeForCausalLM", n_layers=4, E=168, F=116, H=4, K=2, D=42, V=291, layers="cc*c",
         taps=3, experts=Experts(10, 3, 52, lead=1)),
    # Hybrids with Mamba2: states that are cut off in the last tile, groups, two and four taps, no bias.
    nemotron_h("nemotron_h", "M-*M-", E=144, F=172, H=4, K=2, D=48, V=288, mamba=Mamba(6, 24, 20, groups=2)),
    nemotron_h("nemotron_h_two_taps", "MM*-", E=136, F=180, H=3, K=1, D=40, V=296, tied=True, eps=1e-3,
               mamba=Mamba(4, 40, 33, groups=4, taps=2, bias=False)),
    nemotron_h("nemotron_h_moe", "ME*EM", arch="nemotron_h_moe", E=144, F=60, H=4, K=1, D=48, V=280,
               mamba=Mamba(5, 32, 16), experts=Experts(8, 3, 60, shared=76, groups=(1, 1), scale=2.5)),
    nemotron_h("nemotron_h_moe_latent", "ME*E", arch="nemotron_h_moe", E=160, F=52, H=2, K=2, D=64, V=272, latent=72,
               mamba=Mamba(4, 48, 24, groups=2),
               experts=Experts(10, 4, 52, shared=104, groups=(1, 1), scale=1.6, normalise=False)),
    # Gated DeltaNets whose value heads share key heads 2 and 3 to one; each file puts them in its own order.
    qwen_hybrid("qwen3next", "qwen3next", "Qwen3NextForCausalLM", "DD*D", E=144, F=88, H=4, K=2, D=48, V=281,
                delta=Delta(2, 6, 24), experts=Experts(10, 3, 52, shared=68)),
    qwen_hybrid("qwen35", "qwen35", "Qwen3_5ForCausalLM", "DD*D", E=160, F=148, H=4, K=1, D=64, V=287, tied=True,
                delta=Delta(3, 6, 20)),
    qwen_hybrid("qwen35moe", "qwen35moe", "Qwen3_5MoeForCausalLM", "D*D", E=136, F=0, H=2, K=2, D=80, V=293,
                delta=Delta(2, 4, 36), experts=Experts(8, 3, 60, shared=44)),
    granite_hybrid("granitehybrid", "MM*M", E=144, F=156, H=4, K=2, D=36, V=288, tied=True, mamba=Mamba(12, 24, 20)),
    granite_hybrid("granitehybrid_moe", "M*M", E=160, F=72, H=4, K=1, D=40, V=280, mamba=Mamba(8, 40, 32, groups=2),
                   experts=Experts(7, 3, 72, shared=84)),
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
    _quant("quant_gemma4_q8_0", {"*": "Q8_0"}, arch="gemma4", hf_class="Gemma4ForCausalLM", qk_norm=True, tied=True,
           eps=1e-6, rope_base=1e6, n_layers=4, E=160, F=192, K=1, window=50, pattern=[True, False, True, False],
           gemma4=Gemma4(D=128, K=1, shared=2, wide=True, P=32, softcap=8.0)),
    _quant("quant_gemma4_moe_q8_0", {"*": "Q8_0"}, arch="gemma4", hf_class="Gemma4ForCausalLM", qk_norm=True,
           tied=True, eps=1e-6, rope_base=1e6, n_layers=3, F=160, window=50, pattern=[True, True, False],
           gemma4=Gemma4(D=128, K=1, k_is_v=True, softcap=8.0), experts=Experts(8, 3, 96)),
    # One for each family with operations of its own.
    _quant("quant_phi3_q4_0", {"*": "Q4_0", "token_embd": "Q8_0"}, arch="phi3", hf_class="Phi3ForCausalLM", E=192, F=256,
           H=3, K=3),
    _quant("quant_granite_q8_0", {"*": "Q8_0"}, arch="granite", hf_class="GraniteForCausalLM", multipliers=GRANITE,
           tied=True),
    _quant("quant_glm4_q4_k", {"*": "Q4_K", "output": "Q6_K"}, arch="glm4", hf_class="Glm4ForCausalLM", rope_dims=32,
           qkv_bias=True),
    _quant("quant_gemma2_q8_0", {"*": "Q8_0"}, arch="gemma2", hf_class="Gemma2ForCausalLM", tied=True, eps=1e-6, E=160,
           window=50, softcaps=(8.0, 6.0)),
    _quant("quant_qwen3moe_q4_k", {"*": "Q4_K", "ffn_down_exps": "Q6_K", "output": "Q6_K"}, arch="qwen3moe",
           hf_class="Qwen3MoeForCausalLM", qk_norm=True, eps=1e-6, experts=Experts(8, 3, 256)),
    _quant("quant_glm4moe_q5_0", {"*": "Q5_0"}, arch="glm4moe", hf_class="Glm4MoeForCausalLM", qkv_bias=True, E=160,
           F=192, H=2, K=1, rope_dims=32, experts=Experts(8, 3, 96, shared=96, lead=1, groups=(1, 1), scale=1.5)),
    _quant("quant_lfm2_q4_k", {"*": "Q4_K", "token_embd": "Q6_K", "attn_v": "Q6_K"}, arch="lfm2",
           hf_class="Lfm2ForCausalLM", n_layers=4, tied=True, qk_norm=True, rope_base=1e6, layers="cc*c", taps=3),
    _quant("quant_deepseek_v3_q8_0", {"*": "Q8_0"}, arch="deepseek2", hf_class="DeepseekV3ForCausalLM", E=160, F=192, H=4,
           K=1, D=96, eps=1e-6, mla=Latent(128, 64, 32, 64, q_rank=96),
           experts=Experts(8, 3, 96, shared=96, lead=1, groups=(4, 2), scale=1.5)),
    _quant("quant_gpt_oss_mxfp4", {"*": "Q8_0", "ffn_gate_exps": "MXFP4", "ffn_up_exps": "MXFP4",
                                   "ffn_down_exps": "MXFP4"}, arch="gpt-oss", hf_class="GptOssForCausalLM",
           qkv_bias=True, out_bias=True, rope_base=150000.0, rope_scaling=GPT_OSS_YARN, window=50, E=192, F=160,
           experts=Experts(6, 3, 160)),
    _quant("quant_nemotron_h_q8_0", {"*": "Q8_0"}, arch="nemotron_h", hf_class="NemotronHForCausalLM", n_layers=4,
           layers="M-*M", E=192, F=256, H=3, K=1, V=304, mamba=Mamba(6, 32, 32, groups=2)),
    _quant("quant_nemotron_h_moe_q8_0", {"*": "Q8_0"}, arch="nemotron_h_moe", hf_class="NemotronHForCausalLM", n_layers=4,
           layers="ME*E", E=192, F=64, H=3, K=1, V=304, mamba=Mamba(6, 32, 32, groups=2),
           experts=Experts(6, 4, 64, shared=96, groups=(1, 1), scale=1.2)),
    _quant("quant_qwen3next_q8_0", {"*": "Q8_0"}, arch="qwen3next", hf_class="Qwen3NextForCausalLM", n_layers=3,
           layers="DD*", E=192, rope_dims=16, qk_norm=True, eps=1e-6, rope_base=1e7, delta=Delta(2, 4, 32),
           experts=Experts(8, 3, 64, shared=96)),
    _quant("quant_qwen35_q8_0", {"*": "Q8_0"}, arch="qwen35", hf_class="Qwen3_5ForCausalLM", n_layers=3, layers="DD*",
           E=192, F=256, rope_dims=16, qk_norm=True, eps=1e-6, rope_base=1e7, delta=Delta(2, 4, 32)),
    _quant("quant_granitehybrid_q4_k", {"*": "Q4_K", "output": "Q6_K"}, arch="granitehybrid",
           hf_class="GraniteMoeHybridForCausalLM", n_layers=3, layers="M*M", multipliers=GRANITE, E=256, F=256, V=304,
           mamba=Mamba(8, 64, 32), experts=Experts(6, 2, 256, shared=256)),
]

CASES = {case.name: case for case in F32_CASES + QUANT_CASES}
