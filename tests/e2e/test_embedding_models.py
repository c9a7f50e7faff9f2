"""A model that only embeds, behind every door: a tiny random BERT (tools/golden/embedders.py)."""

import sys

import httpx
import numpy as np
import ollama
import openai
import pytest
from conftest import ROOT, Server, run_binary

sys.path.insert(0, str(ROOT / "tools/golden"))

from embedders import EMBEDDERS, cached  # noqa: E402

CASE = EMBEDDERS["bert_mean"]
WRITERS = {
    "/v1/chat/completions": {"model": "m", "messages": [{"role": "user", "content": "x"}]},
    "/v1/completions": {"model": "m", "prompt": "x"},
    "/v1/responses": {"model": "m", "input": "x"},
    "/v1/messages": {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "x"}]},
    "/api/chat": {"model": "m", "messages": [{"role": "user", "content": "x"}]},
    "/api/generate": {"model": "m", "prompt": "x"},
}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return cached(CASE, tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def server(tiny):
    server = Server("--gguf", tiny)
    yield server
    assert server.stop() == 0


def test_text_becomes_words_between_cls_and_sep(server):
    def vectors(inputs):
        return np.array([e.embedding for e in server.client.embeddings.create(model="m", input=inputs).data], np.float32)

    tokens = httpx.post(server.url + "/tokenize", json={"prompt": "Cat, CÄT!"}).json()["tokens"]
    assert (tokens[0], tokens[-1]) == (2, 3), "[CLS] and [SEP]"
    by_text = vectors(["Cat, CÄT!", "cat , cat !"])
    assert np.array_equal(by_text[0], by_text[1]), "case, accents and spaces before punctuation do not count"
    assert np.array_equal(vectors([tokens])[0], by_text[0])
    client = ollama.Client(host=server.url)
    assert np.array_equal(np.array(client.embed("m", "Cat, CÄT!").embeddings[0], np.float32), by_text[0])


@pytest.mark.parametrize("path", WRITERS)
def test_what_writes_text_is_refused_in_the_dialect(server, path):
    reply = httpx.post(server.url + path, json=WRITERS[path], headers={"anthropic-version": "2023-06-01"})
    assert reply.status_code == 501
    error = reply.json()["error"]
    message = error if path.startswith("/api/") else error["message"]
    assert "embedding model" in message and "/v1/embeddings" in message


def test_show_and_models_say_so(server):
    assert ollama.Client(host=server.url).show("m").capabilities == ["embedding"]
    model = httpx.get(server.url + "/v1/models").json()["data"][0]
    assert model["supports_embeddings"] and model["embedding_length"] == CASE.E


def test_too_long_is_refused_with_the_limit(server):
    with pytest.raises(openai.BadRequestError) as caught:
        server.client.embeddings.create(model="m", input=[[7] * (CASE.context + 1)])
    assert caught.value.code == "context_length_exceeded" and f"{CASE.context} tokens" in caught.value.body["message"]
    assert len(server.client.embeddings.create(model="m", input=[[7] * CASE.context]).data[0].embedding) == CASE.E


def test_more_positions_than_the_model_has(tiny):
    done = run_binary("--gguf", tiny, "--max-length", 1000, "--port", 0)
    assert done.returncode == 1
    assert f"positions for {CASE.context} tokens" in done.stderr and "1000" in done.stderr
