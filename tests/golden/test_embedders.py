"""Embedding models whose rows see both ways, against transformers in fp32, and their bits among others.

References: tools/golden/embedders_reference.py. F32 files: 5e-4 on each element of the pooled vector, whose elements are of
about 1. Quantised ones: as in test_models.py, within RMS_FACTOR and MAX_FACTOR of what int8 activations alone do.
"""

import base64
import json
import math
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/golden"))

from embedders import EMBEDDERS, cached  # noqa: E402
from models_gguf import file_hash  # noqa: E402
from models_server import Server, machine_runs, model_tables  # noqa: E402
from models_weights import token_ids  # noqa: E402

DATA = ROOT / "tests/data/embedders"
BOUND, RMS_FACTOR, MAX_FACTOR = 5e-4, 1.5, 2.5


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("embedders")


def server_of(case, folder, **options):
    return Server(cached(case, folder), max_length=case.context, **options)


def embed(server, inputs):
    status, raw = server.request("POST", "/v1/embeddings", {"model": "m", "input": inputs, "encoding_format": "base64"})
    assert status == 200, raw
    return [np.frombuffer(base64.b64decode(e["embedding"]), "<f4") for e in json.loads(raw)["data"]]


def tables():
    for isa in model_tables():
        skip = pytest.mark.skip(reason=f"this machine cannot run the {isa} kernels")
        yield pytest.param(isa, id=isa, marks=[] if machine_runs(isa) else skip)


@pytest.mark.parametrize("isa", list(tables()))
@pytest.mark.parametrize("case", EMBEDDERS.values(), ids=lambda c: c.name)
def test_reference(case, isa, folder):
    arrays = np.load(DATA / f"{case.name}.npz")
    meta = json.loads(arrays["meta"].tobytes())
    assert file_hash(cached(case, folder)) == meta["gguf_sha256"], "this is not the file that the reference was made for"
    lengths = [n for n in case.lengths if n <= 300 or isa != "scalar"]
    with server_of(case, folder, threads=2, isa=isa) as server:
        found = embed(server, [arrays[f"ids_{n}"].tolist() for n in lengths])
    errors = []
    for n, vector in zip(lengths, found):
        expected = arrays[f"pooled_{n}"]
        assert vector.shape == (case.width,) and abs(np.linalg.norm(vector) - 1) < 1e-6
        errors.append(vector * np.linalg.norm(expected) - expected)
    errors = np.concatenate(errors)
    rms, largest = math.sqrt((errors * errors).mean()), np.abs(errors).max()
    if case.types:
        assert rms <= RMS_FACTOR * meta["sim_rms"] and largest <= MAX_FACTOR * meta["sim_max"], (rms, largest, meta)
    else:
        assert largest <= BOUND, f"largest {largest:.2e}"


@pytest.mark.parametrize("name", ["bert_q8_0", "gemma_embedding"])
def test_equal_bits(name, folder):
    """Alone, in one call with others, beside other calls, again, on another number of threads."""
    case = EMBEDDERS[name]
    prompts = [token_ids(f"bits/{i}", n, case.V) for i, n in enumerate((400, 1, 33, 256, 90, 500))]
    runs = []
    for threads in (1, 2):
        with server_of(case, folder, threads=threads, kv_type="i16") as server:
            runs.append([embed(server, [prompt])[0] for prompt in prompts])
            runs.append(embed(server, prompts))
            with ThreadPoolExecutor(len(prompts)) as pool:
                runs.append([vectors[0] for vectors in pool.map(lambda p: embed(server, [p]), prompts)])
    assert len({v.tobytes() for v in runs[0]}) == len(prompts)
    for run in runs[1:]:
        assert [v.tobytes() for v in run] == [v.tobytes() for v in runs[0]]


def test_every_case_has_a_reference():
    assert {p.stem for p in DATA.glob("*.npz")} == set(EMBEDDERS)
