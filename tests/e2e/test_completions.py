"""Text completions through the official client, with scripted replies. Tokens of script mode are bytes."""

import openai
import pytest


def complete(server, prompt="go", **fields):
    return server.client.completions.create(model="any/model:name", prompt=prompt, **fields)


def test_plain(serve):
    server = serve([{"text": "Hello"}])
    reply = complete(server)
    assert reply.object == "text_completion" and reply.id.startswith("cmpl-") and reply.model == "any/model:name"
    choice = reply.choices[0]
    assert (choice.text, choice.finish_reason, choice.index, choice.logprobs) == ("Hello", "stop", 0, None)
    assert reply.usage.prompt_tokens == 2 and reply.usage.total_tokens == 2 + reply.usage.completion_tokens


def test_default_is_16_tokens(serve):
    server = serve([{"text": "x" * 40}])
    reply = complete(server)
    assert reply.choices[0].text == "x" * 16 and reply.choices[0].finish_reason == "length"


def test_streamed(serve):
    server = serve([{"text": "Hello"}])
    chunks = list(complete(server, stream=True, stream_options={"include_usage": True}))
    assert "".join(c.choices[0].text for c in chunks if c.choices) == "Hello"
    assert [c.choices[0].finish_reason for c in chunks if c.choices and c.choices[0].finish_reason] == ["stop"]
    assert chunks[-1].choices == [] and chunks[-1].usage.prompt_tokens == 2


@pytest.mark.parametrize("prompt", ["ab", ["ab"], [97, 98], [[97, 98]]])
def test_prompt_forms_are_one(echo, prompt):
    reply = complete(echo, prompt, echo=True)
    assert reply.choices[0].text == "abab" and reply.usage.prompt_tokens == 2


@pytest.mark.parametrize("stream", [False, True])
def test_many_prompts(echo, stream):
    reply = complete(echo, ["a", "bc", "d"], n=2, stream=stream)
    texts = [""] * 6
    for chunk in reply if stream else [reply]:
        for choice in chunk.choices:
            texts[choice.index] += choice.text
    assert texts == ["a", "a", "bc", "bc", "d", "d"]
    if not stream:
        assert reply.usage.prompt_tokens == 4, "a prompt counts once for all its choices"


@pytest.mark.parametrize("stream", [False, True])
def test_echo_with_logprobs(serve, stream):
    server = serve([{"text": "yz"}])
    reply = complete(server, "abc", echo=True, logprobs=3, max_tokens=2, stream=stream)
    chunks = list(reply) if stream else [reply]
    lists = {"tokens": [], "token_logprobs": [], "top_logprobs": [], "text_offset": []}
    for chunk in chunks:
        if chunk.choices[0].logprobs:
            for key, values in lists.items():
                values.extend(getattr(chunk.choices[0].logprobs, key))
    assert "".join(c.choices[0].text for c in chunks) == "abcyz"
    assert lists["tokens"] == list("abcyz") and lists["text_offset"] == [0, 1, 2, 3, 4]
    assert lists["token_logprobs"][0] is None and lists["top_logprobs"][0] is None
    assert all(p <= 0 for p in lists["token_logprobs"][1:])
    assert all(token in top for token, top in list(zip(lists["tokens"], lists["top_logprobs"]))[1:])


def test_prompt_alone(echo):
    choice = complete(echo, "abc", echo=True, logprobs=1, max_tokens=0).choices[0]
    assert choice.text == "abc" and choice.logprobs.tokens == ["a", "b", "c"] and choice.finish_reason == "length"


def test_token_ids(serve):
    server = serve([{"text": "yz"}])
    reply = complete(server, "ab", logprobs=1, max_tokens=2,
                     extra_body={"return_tokens_as_token_ids": True, "return_token_ids": True})
    choice = reply.choices[0].model_dump()
    assert choice["token_ids"] == [121, 122] and choice["prompt_token_ids"] == [97, 98]
    assert choice["logprobs"]["tokens"] == ["token_id:121", "token_id:122"]
    assert [list(top) for top in choice["logprobs"]["top_logprobs"]] == [["token_id:121"], ["token_id:122"]]


def test_streamed_token_ids(serve):
    server = serve([{"text": "xyz"}])
    chunks = [c.choices[0].model_dump() for c in complete(server, stream=True, max_tokens=3,
                                                          extra_body={"return_token_ids": True})]
    assert sum((c["token_ids"] for c in chunks), []) == [120, 121, 122]


def test_control_tokens_in_raw_prompts(echo):
    assert complete(echo, "<|im_start|>a").usage.prompt_tokens == 2


def test_stop(serve):
    server = serve([{"text": "one\ntwo"}])
    choice = complete(server, stop="\n").choices[0]
    assert (choice.text, choice.finish_reason) == ("one", "stop")


@pytest.mark.parametrize("fields, param", [
    ({"prompt": []}, "prompt"), ({"prompt": ""}, "prompt"), ({"prompt": [1, "a"]}, "prompt[1]"),
    ({"prompt": [99999]}, "prompt[0]"), ({"prompt": [[1], [-2]]}, "prompt[1][0]"), ({"logprobs": 21}, "logprobs"),
    ({"max_tokens": -5}, "max_tokens"), ({"echo": "yes"}, "echo"), ({"n": 0}, "n"), ({"temperature": 1e9}, "temperature"),
])
def test_wrong_values_are_named(echo, fields, param):
    with pytest.raises(openai.BadRequestError) as caught:
        complete(echo, **fields)
    assert caught.value.body["param"] == param, caught.value.body


def test_best_of(serve):
    server = serve([{"text": "ab"}, {"text": "cd"}, {"text": "ef"}])
    reply = complete(server, best_of=3)
    assert len(reply.choices) == 1 and reply.choices[0].text in ("ab", "cd", "ef") and reply.choices[0].logprobs is None
    assert reply.usage.completion_tokens >= 6, "what was written is counted"
    for fields in ({"n": 3, "best_of": 2}, {"best_of": 2, "stream": True}):
        with pytest.raises(openai.BadRequestError) as caught:
            complete(server, **fields)
        assert caught.value.body["param"] == "best_of"


def test_suffix_needs_a_model_that_was_trained_on_it(echo):
    with pytest.raises(openai.BadRequestError) as caught:
        complete(echo, suffix="tail")
    assert caught.value.body["param"] == "suffix" and "fill-in-the-middle" in caught.value.body["message"]


@pytest.mark.model
def test_a_real_model_fills_in_the_middle(qwen):
    reply = complete(qwen, "def add(a, b):\n    return ", suffix="\n\nprint(add(1, 2))\n", temperature=0, max_tokens=24)
    assert "a + b" in reply.choices[0].text


def test_unused_forms_of_refused_fields(echo):
    assert complete(echo, suffix="", best_of=1).choices[0].text == "go"
