"""Embeddings of tiny models against transformers in fp32, and their bits: equal with neighbours, threads and caches.

References: tools/golden/embeddings_reference.py. A state behind the last norm has elements of about 1, as logits have, and
is held to the logits' bound (test_models.py) element by element.
"""

import base64
import dataclasses
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/golden"))

from models_cases import CASES  # noqa: E402
from models_gguf import cached, file_hash, write  # noqa: E402
from models_server import Server  # noqa: E402
from models_weights import token_ids  # noqa: E402

DATA = ROOT / "tests/data/embeddings"
NAMES = sorted(p.stem for p in DATA.glob("*.npz"))
POOLING_TYPES = {"mean": 1, "cls": 2, "last": 3}
BOUND = 5e-4


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("embeddings")


def embed(server, inputs, **fields):
    body = {"model": "tiny", "input": inputs, "encoding_format": "base64"} | fields
    status, raw = server.request("POST", "/v1/embeddings", body)
    assert status == 200, raw
    reply = json.loads(raw)
    assert [e["index"] for e in reply["data"]] == list(range(len(reply["data"])))
    return [np.frombuffer(base64.b64decode(e["embedding"]), "<f4") for e in reply["data"]]


@pytest.mark.parametrize("pooling", POOLING_TYPES)
@pytest.mark.parametrize("name", NAMES)
def test_reference(name, pooling, folder):
    """By flag for one model, by the file's own pooling_type for the other."""
    case = CASES[name]
    arrays = np.load(DATA / f"{name}.npz")
    lengths = sorted(int(key[4:]) for key in arrays if key.startswith("ids_"))
    path = cached(case, folder)
    assert file_hash(path) == json.loads(arrays["meta"].tobytes())["gguf_sha256"], "not the reference's file"
    flags = ["--pooling", pooling]
    if name == NAMES[0]:
        path, flags = folder / f"{name}.{pooling}.gguf", []
        write(dataclasses.replace(case, pooling=POOLING_TYPES[pooling]), path)
    with Server(path, threads=2, flags=flags) as server:
        found = embed(server, [arrays[f"ids_{n}"].tolist() for n in lengths])
        half = embed(server, [arrays[f"ids_{lengths[-1]}"].tolist()], dimensions=case.E // 2)[0]
    for n, vector in zip(lengths, found):
        expected = arrays[f"{pooling}_{n}"]
        assert vector.shape == (case.E,) and abs(np.linalg.norm(vector) - 1) < 1e-6
        error = np.abs(vector * np.linalg.norm(expected) - expected)
        assert error.max() <= BOUND, f"{n} tokens: element {error.argmax()} is off by {error.max():.2e}"
    expected = arrays[f"{pooling}_{lengths[-1]}"][: case.E // 2]
    assert half.shape == expected.shape and abs(np.linalg.norm(half) - 1) < 1e-6
    assert np.abs(half * np.linalg.norm(expected) - expected).max() <= BOUND


@pytest.mark.parametrize("pooling", ["mean", "last"])
def test_equal_bits(pooling, folder):
    """Alone, beside others (in other slices), again from the cache, on another number of threads."""
    case = CASES["quant_qwen3_q4_k"]
    prompts = [token_ids(f"embedding/{i}", n, case.V) for i, n in enumerate((700, 1, 33, 256, 90, 511))]
    runs = []
    for threads in (1, 2):
        with Server(cached(case, folder), threads=threads, kv_type="i16", flags=["--pooling", pooling]) as server:
            alone = [embed(server, [prompt])[0] for prompt in prompts]
            runs.append(alone)
            runs.append(embed(server, prompts))  # now with every prefix in the cache
        with Server(cached(case, folder), threads=threads, kv_type="i16", flags=["--pooling", pooling]) as server:
            with ThreadPoolExecutor(2) as pool:
                reply = pool.submit(server.complete, token_ids("embedding/chat", 40, case.V), max_tokens=60)
                runs.append(pool.submit(embed, server, prompts).result())
                reply.result()
    assert len({v.tobytes() for v in runs[0]}) == len(prompts)
    for run in runs[1:]:
        assert [v.tobytes() for v in run] == [v.tobytes() for v in runs[0]]
