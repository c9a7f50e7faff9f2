#!/usr/bin/env python3
"""Writes tests/data/tokenizer: small vocabularies, hard strings, and the ids that the original tokenizers give them.

Needs tokenizers==0.23.3, gguf==0.19.0, and for --vocabularies sentencepiece==0.2.3.

    tokenizer_goldens.py --vocabularies   train the small vocabularies anew (their ids change, so do all goldens)
    tokenizer_goldens.py                  strings.hex and *.ids
    tokenizer_goldens.py --models DIR     the same, and *.ids of the real models' vocabularies (gemma3, qwen2, smollm)

bpe.gguf     byte-level; trained with no splitting at all, so that its tokens reach over every border that a splitting
             rule may set. It serves all families of tokenizer.ggml.pre.
llama.gguf   SentencePiece with space prefix, as Llama 2 and Mistral
gemma.gguf   SentencePiece without it, with user-defined runs of spaces, newlines, tabs, and tags, as Gemma 2 and 3
gemma4.gguf  the same vocabulary with its merges listed, as Gemma 4
bert.gguf    WordPiece without case and accents, bert-cased.gguf with them
*.ids        one line a string: the ids; behind a "|" the ids with control tokens parsed, where they differ
"""
import argparse
import io
import pathlib
import random

import tokenizer_oracle as oracle
import tokenizer_texts
import tokenizer_vocabularies as files

DATA = pathlib.Path(__file__).resolve().parents[2] / "tests" / "data" / "tokenizer"
SMALL = {"llama": "llama.gguf", "gemma": "gemma.gguf", "gemma4": "gemma4.gguf", "bert": "bert.gguf",
         "bert-cased": "bert-cased.gguf"}  # fmt: skip
MODELS = {"qwen2": "qwen2.5-coder-0.5b-q4_k_m.gguf", "smollm": "smollm2-135m-q4_1.gguf", "gemma3": "gemma3-270m-q4_k_m.gguf"}
CONTROL = ["<|im_start|>", "<|im_end|>", "<|endoftext|>", "<s>", "</s>", "[INST]", "<|eot_id|>", "<start_of_turn>"]
USER_DEFINED = ["<tool_call>", "</tool_call>", "<think>", "</think>", '<|"|>', "<h1>", "</h1>", "<tool"]


def corpus():
    texts = tokenizer_texts.hard_strings() + tokenizer_texts.random_strings(3000, seed=2)
    words = [w for w in tokenizer_texts.WORDS + tokenizer_texts.PUNCTUATION + tokenizer_texts.NUMBERS]
    rng = random.Random(3)
    return texts + [" ".join(rng.choices(words, k=12)) for _ in range(3000)]


def train_byte_level():
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    trainer = trainers.BpeTrainer(vocab_size=3000, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), max_token_length=12,
                                  show_progress=False)  # fmt: skip
    # No token that merges make may be spelled like one of the others.
    texts = [t for t in corpus() if not any(special in t for special in CONTROL + USER_DEFINED)]
    tokenizer.train_from_iterator(texts, trainer)
    vocabulary = tokenizer.get_vocab()
    tokens = sorted(vocabulary, key=vocabulary.get)
    import json

    merges = [m if isinstance(m, str) else " ".join(m) for m in json.loads(tokenizer.to_str())["model"]["merges"]]
    types = [oracle.NORMAL] * len(tokens) + [oracle.CONTROL] * len(CONTROL) + [oracle.USER_DEFINED] * len(USER_DEFINED)
    files.write(DATA / "bpe.gguf", "gpt2", "default", tokens + CONTROL + USER_DEFINED, types, merges=merges)


def train_sentencepiece(gemma):
    """A model trained by SentencePiece, (tokens, types, scores) as the converter writes them."""
    import sentencepiece

    runs = [c * n for c in ("\n", "\t", "▁") for n in range(1 if c != "▁" else 2, 9)] if gemma else []
    tags = ["<h1>", "</h1>", "<tool_call>"] if gemma else []
    # Without the random characters: each would have to become a token.
    texts = [t.replace("\n", " ") for t in tokenizer_texts.CODE + tokenizer_texts.REPEATS]
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(corpus()[-3000:] + texts), model_writer=out, model_type="bpe",
        vocab_size=2000, byte_fallback=True, character_coverage=0.98, normalization_rule_name="identity",
        add_dummy_prefix=not gemma, remove_extra_whitespaces=False, user_defined_symbols=runs + tags, max_sentence_length=8192,
        split_by_whitespace=True, split_by_unicode_script=False, split_by_number=False, minloglevel=2, num_threads=1,
        control_symbols=["<start_of_turn>", "<end_of_turn>", "[INST]"])  # fmt: skip
    model = sentencepiece.SentencePieceProcessor(model_proto=out.getvalue())
    tokens, types, scores = [], [], []
    for i in range(model.get_piece_size()):
        piece = model.id_to_piece(i)
        defined = piece in runs + tags
        tokens.append(piece.replace("▁", " ") if defined else piece)
        types.append(oracle.USER_DEFINED if defined else oracle.UNKNOWN if model.is_unknown(i) else oracle.CONTROL
                     if model.is_control(i) else oracle.BYTE if model.is_byte(i) else oracle.NORMAL)  # fmt: skip
        scores.append(-1000.0 if defined else model.get_score(i))
    return model, tokens, types, scores


def train_word_piece(name, lowercase):
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    # Not every character of the random texts is to be known.
    trainer = trainers.WordPieceTrainer(vocab_size=2500, limit_alphabet=400, special_tokens=special, show_progress=False)
    tokenizer.train_from_iterator(corpus(), trainer)
    vocabulary = tokenizer.get_vocab()
    tokens = sorted(vocabulary, key=vocabulary.get)
    types = [oracle.CONTROL if t in special else oracle.NORMAL for t in tokens]
    spelled = [t if t in special else t[2:] if t.startswith("##") else "▁" + t for t in tokens]
    files.write(DATA / f"{name}.gguf", "bert", "jina-v2-en", spelled, types)


def train_vocabularies():
    train_byte_level()
    train_word_piece("bert", True)
    train_word_piece("bert-cased", False)
    for name in ("llama", "gemma"):
        model, tokens, types, scores = train_sentencepiece(name == "gemma")
        files.write(DATA / f"{name}.gguf", "llama", "default", tokens, types, scores=scores, add_space_prefix=name == "llama")
        # The oracle that makes the goldens is Hugging Face's; here it has to agree with SentencePiece itself, on texts
        # that do not spell control tokens. (In it, U+2581 and space are one; in Hugging Face's not quite.)
        hf = oracle.build(oracle.Vocabulary(DATA / f"{name}.gguf"))
        texts = [t for t in corpus() if "<" not in t and "▁" not in t and "\0" not in t and "[" not in t]
        wrong = [t for t in texts if hf.encode(t, add_special_tokens=False).ids != model.encode(t)]
        print(f"{name}: Hugging Face and SentencePiece differ on {len(wrong)} of {len(texts)} texts", *map(ascii, wrong[:3]))
    vocabulary = oracle.Vocabulary(DATA / "gemma.gguf")
    spelling = [t.replace(" ", "▁") if k == oracle.USER_DEFINED else t for t, k in zip(vocabulary.tokens, vocabulary.types)]
    text = {t: i for i, t in enumerate(spelling) if vocabulary.types[i] in (oracle.NORMAL, oracle.USER_DEFINED)}
    merges = oracle.sentencepiece_merges(text, {t: 1e9 if vocabulary.types[i] == oracle.USER_DEFINED else vocabulary.scores[i]
                                                for t, i in text.items()})  # fmt: skip
    types = [oracle.NORMAL if k == oracle.USER_DEFINED and not t.startswith("<") else k for t, k in zip(spelling, vocabulary.types)]
    files.write(DATA / "gemma4.gguf", "gemma4", "gemma4", spelling, types, merges=[f"{a} {b}" for a, b in merges])


def write_ids(name, path, pre=None):
    tokenizer = oracle.build(oracle.Vocabulary(path), pre)
    texts = tokenizer_texts.hard_strings()
    lines = []
    for text in texts:
        tokenizer.encode_special_tokens = True
        plain = tokenizer.encode(text, add_special_tokens=False).ids
        tokenizer.encode_special_tokens = False
        parsed = tokenizer.encode(text, add_special_tokens=False).ids
        line = " ".join(map(str, plain))
        lines.append(line if plain == parsed else line + "|" + " ".join(map(str, parsed)))
    (DATA / f"{name}.ids").write_text("\n".join(lines) + "\n")
    print(f"{name}.ids: {len(lines)} strings")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vocabularies", action="store_true")
    parser.add_argument("--models", type=pathlib.Path)
    args = parser.parse_args()
    DATA.mkdir(parents=True, exist_ok=True)
    if args.vocabularies:
        train_vocabularies()
    texts = tokenizer_texts.hard_strings()
    assert len(texts) >= 500
    (DATA / "strings.hex").write_text("".join(t.encode().hex() + "\n" for t in texts))
    for pre in oracle.RULES:
        write_ids(pre, DATA / "bpe.gguf", pre)
    for name, file in SMALL.items():
        write_ids(name, DATA / file)
    if args.models:
        for name, file in MODELS.items():
            write_ids(f"model-{name}", args.models / file)


if __name__ == "__main__":
    main()
