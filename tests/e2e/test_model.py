"""A real model behind the routes: the starter model (marker "model")."""

import concurrent.futures
import json
import math
import re
import socket
import time
from pathlib import Path

import httpx
import pytest
from conftest import CLOCK, WEATHER, Server, metric, model_path, text_chunks

pytestmark = pytest.mark.model

QUESTION = [{"role": "user", "content": "Name the capital of France. Answer with one word."}]
STORY = "Once upon a time, in a small village by the sea, there lived"


def chat(server, messages=QUESTION, **fields):
    return server.client.chat.completions.create(model="qwen", messages=messages, **{"temperature": 0, **fields})


def complete(server, prompt=STORY, **fields):
    return server.client.completions.create(model="qwen", prompt=prompt, **{"temperature": 0, "max_tokens": 32, **fields})


def test_memory_stays_under_its_cap():
    """While loading too: the file's pages and the packed weights are not both held."""
    server = Server("--gguf", model_path("qwen"), "--memory", "800M")
    chat(server, max_tokens=16)
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    assert server.stop() == 0
    peak_kib = int(re.search(r"VmHWM:\s+(\d+) kB", status)[1])
    assert peak_kib < 800 * 1024


def test_answers(qwen):
    reply = chat(qwen, max_tokens=16)
    assert "Paris" in reply.choices[0].message.content and reply.choices[0].finish_reason == "stop"


def test_responses_are_chat_in_other_words(qwen):
    question = QUESTION[0]["content"]
    whole = qwen.client.responses.create(model="qwen", input=question, temperature=0, max_output_tokens=16)
    assert whole.status == "completed" and whole.output_text == chat(qwen, max_tokens=16).choices[0].message.content
    with qwen.client.responses.stream(model="qwen", input=question, temperature=0, max_output_tokens=16) as stream:
        deltas = [event.delta for event in stream if event.type == "response.output_text.delta"]
        assert "".join(deltas) == stream.get_final_response().output_text == whole.output_text
    more = qwen.client.responses.create(model="qwen", input="And of Italy?", previous_response_id=whole.id, temperature=0,
                                        max_output_tokens=16)
    assert "Rome" in more.output_text
    assert more.usage.input_tokens_details.cached_tokens >= whole.usage.input_tokens


def test_forced_call_in_responses(qwen):
    tool = {"type": "function", "name": "get_weather", "description": "The weather in a city.", "strict": False,
            "parameters": WEATHER["function"]["parameters"]}
    reply = qwen.client.responses.create(model="qwen", input="How is the weather in Oslo?", tools=[tool], temperature=0,
                                         tool_choice={"type": "function", "name": "get_weather"}, max_output_tokens=64)
    assert [item.type for item in reply.output] == ["function_call"]
    assert json.loads(reply.output[0].arguments)["city"] == "Oslo"


def test_streamed_equals_whole(qwen):
    whole = chat(qwen, max_tokens=60, messages=[{"role": "user", "content": "Count from 1 to 15, with emojis 🧑‍💻."}])
    chunks = list(chat(qwen, max_tokens=60, messages=[{"role": "user", "content": "Count from 1 to 15, with emojis 🧑‍💻."}],
                       stream=True, stream_options={"include_usage": True}))
    assert "".join(text_chunks(chunks)) == whole.choices[0].message.content
    assert chunks[-1].usage.completion_tokens == whole.usage.completion_tokens
    assert chunks[-1].usage.prompt_tokens == whole.usage.prompt_tokens


def test_text_does_not_depend_on_neighbours(qwen):
    alone = complete(qwen, max_tokens=48).choices[0].text
    prompts = [STORY, "def fibonacci(n):", STORY, "The three laws of motion are", STORY, "SELECT name FROM", STORY, "# README\n"]
    with concurrent.futures.ThreadPoolExecutor(len(prompts)) as pool:
        texts = list(pool.map(lambda p: complete(qwen, p, max_tokens=48).choices[0].text, prompts))
    assert [t for p, t in zip(prompts, texts) if p == STORY] == [alone] * 4


def test_seeds(qwen):
    def sample(**fields):
        return complete(qwen, temperature=1.0, max_tokens=24, **fields).choices[0].text

    assert sample(seed=7) == sample(seed=7)
    assert sample(seed=7) != sample(seed=8)
    assert len({sample() for _ in range(3)}) > 1, "without a seed each reply is another"
    texts = [c.text for c in complete(qwen, temperature=1.0, n=3, seed=7).choices]
    assert len(set(texts)) == 3


def test_prefix_is_found_again(qwen):
    prompt = "".join(f"Line {i} of the notes says nothing new. " for i in range(60))
    first = complete(qwen, prompt + "First:", max_tokens=1).usage
    second = complete(qwen, prompt + "Second:", max_tokens=1).usage
    assert second.prompt_tokens_details.cached_tokens > 0.9 * first.prompt_tokens
    again = complete(qwen, prompt + "First:", max_tokens=8)
    assert again.choices[0].text == complete(qwen, prompt + "First:", max_tokens=8).choices[0].text


def test_logprobs_are_raw(qwen):
    def logprobs(**fields):
        return complete(qwen, max_tokens=1, logprobs=20, **fields).choices[0].logprobs.top_logprobs[0]

    greedy = logprobs()
    assert 20 <= len(greedy) <= 21 and sum(math.exp(p) for p in greedy.values()) <= 1.0001
    warm = logprobs(temperature=1.7, top_p=0.3, presence_penalty=1.0, seed=1)
    for token, value in greedy.items():
        if token in warm:
            assert warm[token] == value
    # log p(a) - log p(b) is the same whatever else is asked for.
    assert len(set(greedy) & set(warm)) >= 20


def test_echo_scores_the_prompt(qwen):
    answer = httpx.post(qwen.url + "/tokenize", json={"prompt": STORY}).json()
    choice = complete(qwen, echo=True, logprobs=2, max_tokens=4,
                      extra_body={"return_tokens_as_token_ids": True}).choices[0]
    tokens = choice.logprobs.tokens
    assert [int(t.removeprefix("token_id:")) for t in tokens[:answer["count"]]] == answer["tokens"]
    assert len(tokens) == answer["count"] + 4 == len(choice.logprobs.top_logprobs)
    assert choice.logprobs.token_logprobs[0] is None and choice.logprobs.top_logprobs[0] is None
    assert choice.text.startswith(STORY)
    # What the prompt's last position says about the first generated token, and greedy: it is the likeliest.
    assert choice.logprobs.token_logprobs[answer["count"]] == max(choice.logprobs.top_logprobs[answer["count"]].values())
    assert choice.logprobs.text_offset[answer["count"]] == len(STORY)


def test_ids_and_text_are_one_prompt(qwen):
    ids = httpx.post(qwen.url + "/tokenize", json={"prompt": STORY}).json()["tokens"]
    assert complete(qwen, ids).choices[0].text == complete(qwen).choices[0].text


def test_rendered_prompt_is_what_chat_uses(qwen):
    prompt = httpx.post(qwen.url + "/apply-template", json={"messages": QUESTION}).json()["prompt"]
    raw = complete(qwen, prompt, max_tokens=16).choices[0].text
    assert raw == chat(qwen, max_tokens=16).choices[0].message.content


def test_control_tokens_in_user_text(qwen):
    answer = httpx.post(qwen.url + "/tokenize", json={"messages": [{"role": "user", "content": "<|im_end|>"}]}).json()
    end = httpx.post(qwen.url + "/tokenize", json={"prompt": "<|im_end|>", "parse_special": True}).json()["tokens"]
    assert len(end) == 1 and answer["tokens"].count(end[0]) == 2, "system's and user's own"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("choice", ["auto", "required", {"type": "function", "function": {"name": "get_weather"}}])
def test_tool_call(qwen, choice, stream):
    question = [{"role": "user", "content": "What is the weather in Lund right now?"}]
    reply = chat(qwen, question, tools=[WEATHER, CLOCK], tool_choice=choice, max_tokens=200, stream=stream)
    if stream:
        chunks = list(reply)
        deltas = [d for c in chunks if c.choices for d in c.choices[0].delta.tool_calls or []]
        name = deltas[0].function.name
        arguments = "".join(d.function.arguments or "" for d in deltas)
        finish = [c.choices[0].finish_reason for c in chunks if c.choices and c.choices[0].finish_reason]
    else:
        call = reply.choices[0].message.tool_calls[0]
        name, arguments, finish = call.function.name, call.function.arguments, [reply.choices[0].finish_reason]
    assert name == "get_weather" and json.loads(arguments)["city"].startswith("Lund") and finish == ["tool_calls"]


def test_named_tool_is_called_whatever_is_asked(qwen):
    reply = chat(qwen, tools=[WEATHER, CLOCK], max_tokens=100,
                 tool_choice={"type": "function", "function": {"name": "get_time"}})
    assert [c.function.name for c in reply.choices[0].message.tool_calls] == ["get_time"]


def test_tool_result_is_used(qwen):
    question = [{"role": "user", "content": "What is the weather in Lund right now?"}]
    call = chat(qwen, question, tools=[WEATHER], max_tokens=200).choices[0].message
    result = {"role": "tool", "tool_call_id": call.tool_calls[0].id, "content": '{"weather": "hail", "temperature": 3}'}
    reply = chat(qwen, [*question, call.model_dump(exclude_none=True), result], tools=[WEATHER], max_tokens=100)
    assert "hail" in reply.choices[0].message.content.lower()


def test_stop_and_limit(qwen):
    text = complete(qwen, max_tokens=40).choices[0].text
    stop = text[10:14]
    choice = complete(qwen, max_tokens=40, stop=[stop]).choices[0]
    assert choice.text == text[:text.index(stop)] and choice.finish_reason == "stop"
    assert complete(qwen, max_tokens=5).usage.completion_tokens == 5


def test_ignore_eos(qwen):
    prompt = httpx.post(qwen.url + "/apply-template", json={"messages": QUESTION}).json()["prompt"]
    reply = complete(qwen, prompt, max_tokens=40, extra_body={"ignore_eos": True})
    assert reply.usage.completion_tokens == 40 and reply.choices[0].finish_reason == "length"


def test_logit_bias_forbids_and_forces(qwen):
    ids = httpx.post(qwen.url + "/tokenize", json={"prompt": " ocean"}).json()["tokens"]
    assert complete(qwen, max_tokens=3, logit_bias={str(ids[0]): 100}).choices[0].text == " ocean" * 3


def test_context_overflow(qwen):
    answer = httpx.post(qwen.url + "/v1/completions", json={"prompt": "word " * 9000}, timeout=60)
    assert answer.status_code == 400 and answer.json()["error"]["code"] == "context_length_exceeded"


def test_client_that_leaves_frees_the_machine(qwen):
    data = json.dumps({"prompt": "word " * 7000, "max_tokens": 500}).encode()
    with socket.create_connection(("127.0.0.1", qwen.port)) as connection:
        connection.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(data) + data)
        while metric(qwen, "vllm:num_requests_running") == 0:
            time.sleep(0.01)
        before = metric(qwen, "tempo9:engine_steps_total")
    end = time.monotonic() + 300
    while metric(qwen, "vllm:num_requests_running") > 0:
        assert time.monotonic() < end
        time.sleep(0.01)
    # In steps, not in seconds: those depend on what else the machine does. The whole request has hundreds.
    assert metric(qwen, "tempo9:engine_steps_total") - before <= 3
