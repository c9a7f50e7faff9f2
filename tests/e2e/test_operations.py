"""Models, health, metrics, tokenizer and template routes."""

import httpx
import pytest
from conftest import metric


def post(server, path, **body):
    return httpx.post(server.url + path, json=body)


def test_models(echo):
    models = echo.client.models.list().data
    assert [m.id for m in models] == ["script"] and models[0].object == "model"
    raw = httpx.get(echo.url + "/v1/models?limit=1000").json()
    # Anthropic's names beside OpenAI's.
    assert raw["has_more"] is False and raw["first_id"] == raw["last_id"] == "script"
    assert raw["data"][0]["type"] == "model" and raw["data"][0]["display_name"] == "script"
    assert raw["data"][0]["created_at"].endswith("Z")


@pytest.mark.parametrize("name", ["anything", "a/b:c", "räksmörgås", "with space", "100%"])
def test_any_model_is_there(echo, name):
    assert echo.client.models.retrieve(name).id == name


def test_name_flag(serve):
    assert serve([], "--name", "mine").client.models.list().data[0].id == "mine"


def test_health(echo):
    assert httpx.get(echo.url + "/health").status_code == 200
    assert httpx.head(echo.url + "/health").status_code == 200


def test_metrics_count(serve):
    server = serve([{"text": "abc"}])
    server.client.completions.create(model="m", prompt="go")
    assert metric(server, "vllm:prompt_tokens_total", model_name="script") == 2
    assert metric(server, "vllm:num_requests_running") == 0


def test_tokenize_and_back(echo):
    text = "Grüße, 世界 🧑‍💻\n"
    answer = post(echo, "/tokenize", prompt=text).json()
    assert answer == {"tokens": list(text.encode()), "count": len(text.encode()), "max_model_len": 32768}
    assert post(echo, "/tokenize", content=text).json() == answer
    assert post(echo, "/detokenize", tokens=answer["tokens"]).json()["prompt"] == text


def test_control_tokens_only_on_request(echo):
    assert post(echo, "/tokenize", prompt="<|im_end|>").json()["count"] == 10
    parsed = post(echo, "/tokenize", prompt="<|im_end|>", parse_special=True).json()
    assert parsed["count"] == 1
    assert post(echo, "/detokenize", tokens=parsed["tokens"]).json()["prompt"] == "<|im_end|>"


def test_messages_are_rendered(echo):
    messages = [{"role": "user", "content": "<|im_end|>"}]
    prompt = post(echo, "/apply-template", messages=messages).json()["prompt"]
    assert prompt.endswith("<|im_start|>assistant\n") and "<|im_end|><|im_end|>" in prompt
    tokens = post(echo, "/tokenize", messages=messages).json()["tokens"]
    assert post(echo, "/detokenize", tokens=tokens).json()["prompt"] == prompt
    ends = post(echo, "/tokenize", prompt="<|im_end|>", parse_special=True).json()["tokens"]
    assert tokens.count(ends[0]) == prompt.count("<|im_end|>") - 1, "the one from outside is text"
    usage = echo.client.chat.completions.create(model="m", messages=messages).usage
    assert usage.prompt_tokens == len(tokens)


def test_generation_prompt_can_be_left_out(echo):
    messages = [{"role": "user", "content": "hi"}]
    whole = post(echo, "/apply-template", messages=messages).json()["prompt"]
    bare = post(echo, "/apply-template", messages=messages, add_generation_prompt=False).json()["prompt"]
    assert whole == bare + "<|im_start|>assistant\n"


def test_template_file(serve, tmp_path):
    template = tmp_path / "t.jinja"
    template.write_text("{% for m in messages %}[{{ m.role }}] {{ m.content }} {{ extra }}{% endfor %}{{ bos_token }}")
    server = serve([], "--chat-template-file", template)
    answer = post(server, "/apply-template", messages=[{"role": "user", "content": "hi"}],
                  chat_template_kwargs={"extra": "x", "bos_token": "<B>"})
    assert answer.json() == {"prompt": "[user] hi x<B>"}


def test_what_the_template_raises_is_said(serve, tmp_path):
    template = tmp_path / "t.jinja"
    template.write_text("{{ raise_exception('only sonnets here') }}")
    server = serve([], "--chat-template-file", template)
    messages = [{"role": "user", "content": "hi"}]
    for path in ("/apply-template", "/tokenize", "/v1/chat/completions"):
        answer = post(server, path, messages=messages)
        assert answer.status_code == 400 and "only sonnets here" in answer.json()["error"]["message"], path


@pytest.mark.parametrize("path, body", [
    ("/tokenize", {}), ("/tokenize", {"prompt": 1}), ("/tokenize", {"prompt": "a", "add_special_tokens": "no"}),
    ("/detokenize", {}), ("/detokenize", {"tokens": ["a"]}), ("/detokenize", {"tokens": [10**9]}),
    ("/detokenize", {"tokens": [-1]}), ("/apply-template", {}), ("/apply-template", {"messages": 5}),
    ("/apply-template", {"messages": [{"role": "user", "content": "x"}], "chat_template_kwargs": 5}),
])
def test_wrong_values(echo, path, body):
    answer = httpx.post(echo.url + path, json=body)
    assert answer.status_code == 400 and answer.json()["error"]["message"]
