"""The original tokenizers, built with Hugging Face's `tokenizers` (0.23.3) from a GGUF file's vocabulary.

The splitting rules are copied from the published tokenizer.json of each family; nothing here comes from our code.
"""
import mmap
import struct

from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
LLAMA3 = CONTRACTION + (
    r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN2 = CONTRACTION + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN35 = CONTRACTION + (
    r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
GPT4O = (
    rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+{CONTRACTION}?|[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*{CONTRACTION}?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
TEKKEN = (
    rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+|[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*"
    r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
DEEPSEEK_V3 = [
    r"\p{N}{1,3}",
    "[一-龥\u3040-ゟ゠-ヿ]+",
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
    "| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
]
DEEPSEEK_LLM_LETTERS = (
    "A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗ"
    "ὙὛὝ\u1f5f-\u1f7dᾀ-ᾴᾶ-ᾼ\u1fbeῂ-ῄῆ-ῌῐ-\u1fd3ῖ-\u1fdbῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤ\u2126ℨ\u212a-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄ"
    "Ⰰ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃"
)
EAST_ASIAN = "[一-龥ࠀ-一가-\ud7ff]+"
DEEPSEEK_LLM = [
    "[\r\n]", rf"\s?[{DEEPSEEK_LLM_LETTERS}]+", r"\s?[!-/:-~！-／：-～‘-‟　-。]+", r"\s+$", EAST_ASIAN, r"\p{N}",
]  # fmt: skip
DEEPSEEK_CODER = ["[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", EAST_ASIAN, r"\p{N}"]
# llama.cpp's rule for files that name none; no other source has the name. Falcon's in Hugging Face's words.
DEFAULT = [r"[\p{P}\$\+<=>\^~\|]+", GPT2, r"\p{N}+", "[0-9][0-9][0-9]"]

# tokenizer.ggml.pre: (expressions, one stage each; NFC first; whole pieces taken at once)
RULES = {
    "default": (DEFAULT, False, False),
    "gpt-2": ([GPT2], False, False),
    "smollm": ([r"\p{N}", GPT2], False, False),
    "qwen2": ([QWEN2], True, False),
    "qwen35": ([QWEN35], True, False),
    "llama-bpe": ([LLAMA3], False, True),
    "dbrx": ([LLAMA3], False, False),
    "glm4": ([LLAMA3], False, True),
    "chatglm-bpe": ([LLAMA3], False, True),
    "gpt-4o": ([GPT4O], False, True),
    "tekken": ([TEKKEN], False, True),
    "deepseek-v3": (DEEPSEEK_V3, False, False),
    "deepseek-llm": (DEEPSEEK_LLM, False, False),
    "deepseek-coder": (DEEPSEEK_CODER, False, False),
}


def splitter(pre):
    stages = [pre_tokenizers.Split(Regex(r), "isolated") for r in RULES[pre][0]]
    return pre_tokenizers.Sequence(stages + [pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def read_metadata(path):
    """The key-value section of a GGUF file. (The gguf package's reader takes a minute for a large vocabulary.)"""
    with open(path, "rb") as f:
        data = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)
    at = 0

    def scalar(code):
        nonlocal at
        (value,) = struct.unpack_from("<" + code, data, at)
        at += struct.calcsize(code)
        return value

    def string():
        nonlocal at
        n = scalar("Q")
        at += n
        return data[at - n : at].decode()

    codes = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}

    def value(kind):
        nonlocal at
        if kind == 8:
            return string()
        if kind != 9:
            return scalar(codes[kind])
        kind, n = scalar("I"), scalar("Q")
        if kind in codes:
            found = struct.unpack_from(f"<{n}{codes[kind]}", data, at)
            at += struct.calcsize(f"<{n}{codes[kind]}")
            return list(found)
        return [value(kind) for _ in range(n)]

    magic, _, _, n_keys = scalar("I"), scalar("I"), scalar("Q"), scalar("Q")
    assert magic == 0x46554747, path
    return {string(): value(scalar("I")) for _ in range(n_keys)}


class Vocabulary:
    """tokenizer.* of a GGUF file."""

    def __init__(self, path):
        metadata = read_metadata(path)

        def get(key, default=None):
            return metadata.get("tokenizer.ggml." + key, default)

        self.model, self.pre = get("model"), get("pre", "")
        self.tokens, self.merges = get("tokens"), get("merges", [])
        self.types = get("token_type", [NORMAL] * len(self.tokens))
        self.scores = get("scores", [])
        self.add_space_prefix = get("add_space_prefix", self.model == "llama")


def sentencepiece_merges(pieces, scores):
    """The merges that transformers' converter (generate_merges) derives from a SentencePiece vocabulary."""
    merges = []
    for piece in sorted(pieces, key=pieces.get):
        local = [
            (piece[:i], piece[i:], scores[piece])
            for i in range(1, len(piece))
            if piece[:i] in pieces and piece[i:] in pieces
        ]
        merges += sorted(local, key=lambda m: (pieces[m[0]], pieces[m[1]]))
    merges.sort(key=lambda m: (m[2], len(m[0]), len(m[1])), reverse=True)
    return [(a, b) for a, b, _ in merges]


def build(vocabulary, pre=None):
    """A tokenizers.Tokenizer that gives the original ids; control tokens in a text are plain text for it until
    encode_special_tokens is set to False."""
    v = vocabulary
    ids = {}
    if v.model == "gpt2":
        stages, nfc, whole = RULES[pre or v.pre]
        for i, token in enumerate(v.tokens):
            ids.setdefault(token, i)
        # Each merge is cut at the first space that leaves two tokens.
        merges = [tuple(m.split(" ", 1)) for m in v.merges]
        tokenizer = Tokenizer(models.BPE(vocab=ids, merges=merges, ignore_merges=whole))
        if nfc:
            tokenizer.normalizer = normalizers.NFC()
        tokenizer.pre_tokenizer = splitter(pre or v.pre)
        spelling = v.tokens
    elif v.model == "bert":
        # Files mark what begins a word; the original marks what does not.
        for i, (token, kind) in enumerate(zip(v.tokens, v.types)):
            plain = token[1:] if token.startswith("▁") else "##" + token
            ids.setdefault(token if kind == CONTROL else plain, i)
        tokenizer = Tokenizer(models.WordPiece(vocab=ids, unk_token="[UNK]", max_input_chars_per_word=100))
        cased = any("A" <= c <= "Z" for token, kind in zip(v.tokens, v.types) if kind != CONTROL for c in token)
        tokenizer.normalizer = normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=True, strip_accents=None,
                                                          lowercase=not cased)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        spelling = v.tokens
    else:
        # Files write user-defined runs of spaces as spaces; the model holds U+2581.
        spelling = [t.replace(" ", "▁") if k == USER_DEFINED else t for t, k in zip(v.tokens, v.types)]
        for i, token in enumerate(spelling):
            ids.setdefault(token, i)
        if v.model == "llama":
            text = {t: i for t, i in ids.items() if v.types[i] in (NORMAL, USER_DEFINED)}
            top = max(v.scores) + 1
            merges = sentencepiece_merges(text, {t: top if v.types[i] == USER_DEFINED else v.scores[i]
                                                 for t, i in text.items()})  # fmt: skip
        else:
            merges = []
            for m in v.merges:
                cut = next(i for i, c in enumerate(m) if i and c == " " and m[:i] in ids and m[i + 1 :] in ids)
                merges.append((m[:cut], m[cut + 1 :]))
        unk = next((t for t, k in zip(v.tokens, v.types) if k == UNKNOWN or t == "<unk>"), None)
        tokenizer = Tokenizer(models.BPE(vocab=ids, merges=merges, unk_token=unk, fuse_unk=True, byte_fallback=True))
        steps = [normalizers.Prepend("▁")] if v.add_space_prefix else []
        tokenizer.normalizer = normalizers.Sequence(steps + [normalizers.Replace(" ", "▁")])
    special = [AddedToken(spelling[i], normalized=False, special=True) for i, k in enumerate(v.types)
               if k in (CONTROL, UNKNOWN) and not (k == UNKNOWN and spelling[i].startswith("[PAD"))]  # fmt: skip
    user = [AddedToken(spelling[i], normalized=False) for i, k in enumerate(v.types) if k == USER_DEFINED]
    tokenizer.add_tokens(user)
    tokenizer.add_special_tokens(special)
    tokenizer.encode_special_tokens = True
    return tokenizer
