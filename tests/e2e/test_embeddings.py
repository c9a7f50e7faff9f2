"""Embeddings through the official clients, on a tiny random model (tools/golden)."""

import sys

import httpx
import numpy as np
import ollama
import openai
import pytest
from conftest import ROOT, Server

sys.path.insert(0, str(ROOT / "tools/golden"))

from models_cases import CASES  # noqa: E402
from models_gguf import cached  # noqa: E402

CASE = CASES["qwen3_gqa3_d80"]  # a byte-level vocabulary: a token a letter or two
TEXTS = ["The cat sat on the mat.", "def main():", "An embedding is a list of numbers."]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return cached(CASE, tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def server(tiny):
    server = Server("--gguf", tiny, "--pooling", "mean", "--max-length", 512)
    yield server
    assert server.stop() == 0


def vectors(reply) -> np.ndarray:
    return np.array([entry.embedding for entry in reply.data], np.float32)


def create(server, **fields):
    return server.client.embeddings.create(**{"model": "m", "input": TEXTS} | fields)


def test_openai_package(server):
    plain = create(server, encoding_format="float")
    assert plain.object == "list" and plain.model == "m"
    assert [e.index for e in plain.data] == [0, 1, 2] and {e.object for e in plain.data} == {"embedding"}
    assert vectors(plain).shape == (3, CASE.E)
    assert np.allclose(np.linalg.norm(vectors(plain), axis=1), 1, atol=1e-6)
    assert plain.usage.prompt_tokens == plain.usage.total_tokens > 10
    # The package asks for base64 by itself.
    assert [e.embedding for e in create(server).data] == [e.embedding for e in plain.data]
    alone = create(server, input=TEXTS[1])
    assert alone.data[0].embedding == plain.data[1].embedding


def test_token_ids(server):
    def tokens(text):
        return httpx.post(server.url + "/tokenize", json={"prompt": text}, verify=False).json()["tokens"]

    ids = [tokens(text) for text in TEXTS]
    expected = vectors(create(server))
    assert np.array_equal(vectors(create(server, input=ids)), expected)
    assert np.array_equal(vectors(create(server, input=ids[0])), expected[:1])


def test_dimensions(server):
    full, cut = vectors(create(server)), vectors(create(server, dimensions=10))
    expected = full[:, :10] / np.linalg.norm(full[:, :10], axis=1, keepdims=True)
    assert cut.shape == (3, 10) and np.abs(cut - expected).max() < 1e-6


@pytest.mark.parametrize("fields, words", [
    ({"input": ""}, "input: found an empty string"),
    ({"input": []}, "input: found"),
    ({"input": ["a", ""]}, "input[1]: found an empty string"),
    ({"input": [[1], "a", 3]}, "input[2]: found"),
    ({"input": [0, CASE.V]}, "input"),
    ({"input": ["a"] * 2049}, "input: found 2049 inputs, expected at most 2048"),
    ({"input": "x" * 3000}, "This model's maximum context length is 512 tokens, however you requested"),
    ({"dimensions": 0}, "dimensions"),
    ({"dimensions": CASE.E + 1}, "dimensions"),
    ({"extra_body": {"encoding_format": "int8"}}, "encoding_format: found"),
])
def test_openai_errors(server, fields, words):
    with pytest.raises(openai.BadRequestError) as caught:
        create(server, **fields)
    assert words in caught.value.body["message"]
    if "maximum context" in words:
        assert caught.value.code == "context_length_exceeded"


def test_many_inputs(server):
    reply = create(server, input=["a", "b"] * 1024)
    found = vectors(reply)
    assert found.shape == (2048, CASE.E)
    assert (found[::2] == found[0]).all() and (found[1::2] == found[1]).all() and (found[0] != found[1]).any()


def test_ollama_package(server):
    client = ollama.Client(host=server.url, timeout=60)
    expected = vectors(create(server))
    reply = client.embed("m", TEXTS)
    assert np.array_equal(np.array(reply.embeddings, np.float32), expected)
    assert reply.model == "m" and reply.prompt_eval_count > 10 and reply.total_duration > 0
    assert np.array_equal(np.array(client.embed("m", TEXTS[0]).embeddings, np.float32), expected[:1])
    assert len(client.embed("m", TEXTS[0], dimensions=7).embeddings[0]) == 7
    assert client.embed("m", "").embeddings == [] and client.embed("m", []).embeddings == []
    # The older route gives the vector as it was pooled.
    old = np.array(client.embeddings("m", TEXTS[0]).embedding)
    assert np.linalg.norm(old) > 2 and np.abs(old / np.linalg.norm(old) - expected[0]).max() < 1e-6
    assert list(client.embeddings("m", "").embedding) == []


def test_ollama_truncates(server):
    client = ollama.Client(host=server.url, timeout=60)
    cut = client.embed("m", "q" * 3000)
    assert cut.prompt_eval_count == 512
    assert cut.embeddings == client.embed("m", "q" * 4000).embeddings
    for call in (lambda: client.embed("m", "q" * 3000, truncate=False), lambda: client.embed("m", "a", dimensions=9999)):
        with pytest.raises(ollama.ResponseError) as caught:
            call()
        assert caught.value.status_code == 400


def test_capabilities(server, tiny):
    client = ollama.Client(host=server.url)
    assert "embedding" in client.show("m").capabilities and "completion" in client.show("m").capabilities
    model = httpx.get(server.url + "/v1/models", verify=False).json()["data"][0]
    assert model["supports_embeddings"] and model["embedding_length"] == CASE.E


def test_a_chat_model_names_the_flag(tiny):
    server = Server("--gguf", tiny)
    with pytest.raises(openai.InternalServerError, match="--pooling") as refused:
        create(server)
    assert refused.value.status_code == 501
    client = ollama.Client(host=server.url)
    for call in (client.embed, client.embeddings):
        with pytest.raises(ollama.ResponseError, match="--pooling") as caught:
            call("m", "x")
        assert caught.value.status_code == 501
    assert "embedding" not in client.show("m").capabilities
    assert server.stop() == 0
