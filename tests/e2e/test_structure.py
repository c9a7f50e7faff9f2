"""Structured output through the OpenAI door, with the official package: in script mode and on a real model."""

import json
import re
import subprocess
from typing import Literal

import httpx
import openai
import pytest
from conftest import WEATHER, binary, clean_environment
from pydantic import BaseModel

CITY = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1}},
        "required": ["city"], "additionalProperties": False}


def ask(server, text="Where?", **fields):
    messages = [{"role": "user", "content": text}]
    return server.client.chat.completions.create(model="m", messages=messages, **fields)


def json_schema(schema, strict=True):
    return {"type": "json_schema", "json_schema": {"name": "answer", "strict": strict, "schema": schema}}


@pytest.mark.parametrize("said, content, finish", [
    ('{"city": "Lund"}', '{"city": "Lund"}', "stop"),
    ('{"city": "Lund"} and more', '{"city": "Lund"}', "stop"),
    ('{"city": 5}', '{"city": ', "length"),
    ('{"city": "Lund", "days": 0}', '{"city": "Lund", "days": ', "length"),
    ("Lund.", "", "length"),
    ('<think>{"x": 1}?</think>\n\n{"city": "Lund"}', '{"city": "Lund"}', "stop"),
])
@pytest.mark.parametrize("stream", [False, True])
def test_a_script_is_held_to_the_schema(serve, said, content, finish, stream):
    server = serve([{"text": said}])
    reply = ask(server, response_format=json_schema(CITY), stream=stream)
    if stream:
        choices = [c.choices[0] for c in reply if c.choices]
        got = "".join(c.delta.content or "" for c in choices)
        ends = [c.finish_reason for c in choices if c.finish_reason]
    else:
        got, ends = reply.choices[0].message.content or "", [reply.choices[0].finish_reason]
    assert (got.strip(), ends) == (content.strip(), [finish])


@pytest.mark.parametrize("fields, said, content", [
    ({"response_format": {"type": "json_object"}}, '{"a": [1]}x', '{"a": [1]}'),
    ({"extra_body": {"guided_regex": r"\d{3}-[a-c]+"}}, "123-abd", "123-ab"),
    ({"extra_body": {"guided_choice": ["yes", "no"]}}, "no way", "no"),
    ({"extra_body": {"guided_grammar": 'root ::= "a"+ "b"'}}, "aab!", "aab"),
    ({"extra_body": {"guided_grammar": 'start: "a" "b"\n'}}, "ab!", "ab"),
    ({"extra_body": {"guided_json": json.dumps({"type": "integer"})}}, "12 apples", "12"),
    ({"extra_body": {"structured_outputs": {"regex": "[a-c]+"}}}, "abcd", "abc"),
    ({"extra_body": {"structured_outputs": {"choice": ["left", "right"]}}}, "right!", "right"),
])
def test_every_form(serve, fields, said, content):
    reply = ask(serve([{"text": said}]), **fields).choices[0]
    assert (reply.message.content, reply.finish_reason) == (content, "stop")


@pytest.mark.parametrize("fields, words", [
    ({"response_format": json_schema({"properties": {"a": {"type": "strnig"}}})},
     ["response_format.json_schema.schema", "#/properties/a", "type", "strnig"]),
    ({"response_format": json_schema({"$ref": "#/$defs/no"})}, ["$ref", "#/$defs/no"]),
    ({"response_format": json_schema({"type": "string", "pattern": "(?=x)"})}, ["pattern", "look-around"]),
    ({"response_format": json_schema({"type": "integer", "minimum": 3, "maximum": 2})}, ["no value keeps"]),
    ({"response_format": {"type": "json_schema", "json_schema": {"name": "x"}}}, ["schema"]),
    ({"response_format": {"type": "yaml"}}, ["response_format"]),
    ({"extra_body": {"guided_grammar": "root ::= ("}}, ["guided_grammar", "line 1"]),
    ({"extra_body": {"guided_regex": "a)"}}, ["guided_regex", "offset"]),
    ({"extra_body": {"guided_choice": []}}, ["guided_choice"]),
    ({"extra_body": {"guided_regex": "a", "guided_choice": ["a"]}}, ["guided_choice", "guided_regex"]),
    ({"tools": [{"type": "function", "function": {"name": "f", "strict": True,
                                                   "parameters": {"type": "object", "$dynamicRef": "#x"}}}]},
     ["tools[0].function.parameters", "$dynamicRef"]),
])
def test_what_cannot_be_held_is_a_400_with_its_place(echo, fields, words):
    with pytest.raises(openai.BadRequestError) as caught:
        ask(echo, **fields)
    for word in words:
        assert word in caught.value.body["message"]


def test_an_ordinary_tools_odd_schema_is_no_error(echo):
    odd = {"type": "object", "properties": {"a": {"type": "dict", "pattern": "(?!x)"}, "b": {"$ref": "#/no"}}}
    tools = [{"type": "function", "function": {"name": "f", "parameters": odd}}]
    assert ask(echo, tools=tools).choices[0].message.content == "Where?"


STRICT = {"type": "function", "function": {"name": "find", "strict": True, "parameters": CITY}}


@pytest.mark.parametrize("said, arguments", [
    ('<tool_call>\n{"name": "find", "arguments": {"city": "Lund"}}\n</tool_call>', {"city": "Lund"}),
    ('```json\n{"name": "find", "arguments": {"city": "Lund", "days": 2}}\n```', {"city": "Lund", "days": 2}),
    ('<tool_call>\n{"name": "find", "arguments": {"town": "Lund"}}\n</tool_call>', None),
])
def test_a_strict_tools_call(serve, said, arguments):
    reply = ask(serve([{"text": said}]), tools=[STRICT]).choices[0]
    calls = reply.message.tool_calls or []
    assert [json.loads(c.function.arguments) for c in calls] == ([arguments] if arguments else [])
    assert reply.finish_reason == ("tool_calls" if arguments else "length")


@pytest.mark.parametrize("said, n_calls", [
    ('<tool_call>\n{"name": "get_weather", "arguments": {"city": "Lund"}}\n</tool_call>', 1),
    ("I would rather talk.", 0),
])
def test_required_in_script_mode(serve, said, n_calls):
    reply = ask(serve([{"text": said}]), tools=[WEATHER], tool_choice="required").choices[0]
    assert len(reply.message.tool_calls or []) == n_calls and not (reply.message.content or "").strip()


@pytest.mark.parametrize("said, content, n_calls", [
    ('{"city": "Lund"} and more', '{"city": "Lund"}', 0),
    ('<tool_call>\n{"name": "get_weather", "arguments": {"city": "Lund"}}\n</tool_call>', None, 1),
    ("I would rather talk.", None, 0),
])
def test_a_form_beside_tools_leaves_calls_possible(serve, said, content, n_calls):
    reply = ask(serve([{"text": said}]), tools=[WEATHER], response_format=json_schema(CITY)).choices[0].message
    assert (reply.content or None, len(reply.tool_calls or [])) == (content, n_calls)


@pytest.mark.parametrize("path, body", [
    ("/v1/responses", {"input": "x", "text": {"format": {"type": "json_schema", "name": "n", "schema": CITY}}}),
    ("/v1/messages", {"max_tokens": 99, "messages": [{"role": "user", "content": "x"}],
                      "output_config": {"format": {"type": "json_schema", "schema": CITY}}}),
    ("/api/chat", {"stream": False, "messages": [{"role": "user", "content": "x"}], "format": CITY}),
    ("/api/generate", {"stream": False, "prompt": "x", "format": CITY}),
])
def test_the_other_doors(serve, path, body):
    server = serve([{"text": '{"city": "Lund"} and more'}])
    reply = httpx.post(server.url + path, json={"model": "m", **body}).json()
    text = {"/v1/responses": lambda r: r["output"][-1]["content"][0]["text"],
            "/v1/messages": lambda r: r["content"][-1]["text"],
            "/api/chat": lambda r: r["message"]["content"], "/api/generate": lambda r: r["response"]}[path](reply)
    assert text.strip() == '{"city": "Lund"}'
    refused = httpx.post(server.url + path, json=json.loads(json.dumps({"model": "m", **body}).replace(
        '"type": "string"', '"type": "strnig"')))
    assert refused.status_code == 400 and "#/properties/city: type" in refused.text


def check(tmp_path, schema, instance):
    (tmp_path / "s.json").write_text(json.dumps(schema))
    (tmp_path / "i.json").write_text(json.dumps(instance))
    return subprocess.run([binary(), "schema", "check", "--schema", tmp_path / "s.json", "--instance",
                           tmp_path / "i.json"], capture_output=True, text=True, timeout=60, env=clean_environment())


def test_schema_check(tmp_path):
    assert check(tmp_path, CITY, {"days": 2, "city": "Lund"}).returncode == 0
    assert check(tmp_path, CITY, {"days": 2}).returncode == 1
    refused = check(tmp_path, {"items": {"type": "strnig"}}, [])
    assert refused.returncode == 2 and "#/items: type" in refused.stderr


# ---- a real model


class Step(BaseModel):
    explanation: str
    output: str


class Solution(BaseModel):
    steps: list[Step]
    unit: Literal["m", "km"]
    answer: int


@pytest.mark.model
def test_parse(qwen):
    reply = qwen.client.chat.completions.parse(
        model="m", temperature=0, max_tokens=400, response_format=Solution,
        messages=[{"role": "user", "content": "A car drives 3 km and then 4 km. How far? One short step each."}])
    assert isinstance(reply.choices[0].message.parsed, Solution)


@pytest.mark.model
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_every_reply_keeps_its_schema(qwen, temperature):
    schema = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 12},
                                               "age": {"type": "integer", "minimum": 18, "maximum": 99},
                                               "tags": {"type": "array", "items": {"type": "string", "maxLength": 8},
                                                        "uniqueItems": True, "minItems": 1, "maxItems": 3}},
              "required": ["name", "age", "tags"], "additionalProperties": False}
    reply = ask(qwen, "Invent a person.", response_format=json_schema(schema), temperature=temperature, n=4, seed=3,
                max_tokens=200)
    for choice in reply.choices:
        person = json.loads(choice.message.content)
        assert choice.finish_reason == "stop" and list(person) == ["name", "age", "tags"]
        assert len(person["name"]) <= 12 and 18 <= person["age"] <= 99 and len(set(person["tags"])) == len(person["tags"])
    again = ask(qwen, "Invent a person.", response_format=json_schema(schema), temperature=temperature, n=4, seed=3,
                max_tokens=200)
    assert [c.message.content for c in again.choices] == [c.message.content for c in reply.choices]


@pytest.mark.model
def test_regex_choice_and_logprobs(qwen):
    reply = ask(qwen, "Is water wet?", temperature=0, logprobs=True, top_logprobs=5,
                extra_body={"guided_choice": ["certainly", "never"]}).choices[0]
    assert reply.message.content in ("certainly", "never")
    for token in reply.logprobs.content:
        assert -9999 <= token.logprob <= 0 and len(token.top_logprobs) == 5
    date = ask(qwen, "When did the second world war end?", temperature=0,
               extra_body={"guided_regex": r"\d{4}-\d{2}-\d{2}"}).choices[0].message.content
    assert re.fullmatch(r"\d{4}-\d{2}-\d{2}", date)


@pytest.mark.model
@pytest.mark.parametrize("choice", ["required", {"type": "function", "function": {"name": "find"}}])
def test_forced_calls_keep_their_schema(qwen, choice):
    for seed in range(3):
        reply = ask(qwen, "Tell me a joke.", tools=[WEATHER, STRICT], tool_choice=choice, temperature=0.8, seed=seed,
                    parallel_tool_calls=False, max_tokens=200).choices[0]
        assert reply.finish_reason == "tool_calls"
        for call in reply.message.tool_calls:
            arguments = json.loads(call.function.arguments)
            if call.function.name == "find":
                assert isinstance(arguments["city"], str) and set(arguments) <= {"city", "days"}
            else:
                assert call.function.name == "get_weather"


@pytest.mark.model
def test_arguments_are_held_once_a_name_is_read(qwen):
    odd = {"type": "object", "properties": {"place_code": {"enum": ["L-1", "L-2"]}, "sure": {"type": "boolean"}},
           "required": ["place_code", "sure"]}
    tool = {"type": "function", "function": {"name": "get_weather", "description": "Weather of a place",
                                              "parameters": odd}}
    reply = ask(qwen, "Use get_weather for the city of Lund.", tools=[tool], temperature=0, max_tokens=200).choices[0]
    for call in reply.message.tool_calls:
        arguments = json.loads(call.function.arguments)
        assert set(arguments) == {"place_code", "sure"} and arguments["place_code"] in ("L-1", "L-2")
