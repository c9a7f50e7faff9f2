"""A conversation with one tool call over /v1/chat/completions, streamed, with nothing but Python's own library."""

import dataclasses
import http.client
import json
import pathlib
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
TIMEOUT_S = 300
# A model of half a billion parameters likes to go on in JSON once it has begun.
INSTRUCTIONS = (
    "Call a tool only once. After its response, answer the user in a plain English sentence, without JSON."
)
QUESTION = "How many lines does the file README.md have?"
# The same for a model that is too small to decide by itself.
EXAMPLE = 'You call tools. Example: {"name": "count_lines", "arguments": {"path": "notes.txt"}}'
ORDER = "Count the lines of the file README.md"
WANTED_NAME, WANTED_ARGUMENTS = "count_lines", {"path": "README.md"}
TOOL = {
    "type": "function",
    "function": {
        "name": "count_lines",
        "description": "Counts the lines of a text file",
        "parameters": {
            "type": "object",
            "properties": {"path": {"type": "string", "description": "Path of the file"}},
            "required": ["path"],
        },
    },
}


class Failure(Exception):
    """The server did not do its part."""


@dataclasses.dataclass
class Reply:
    text: str = ""
    calls: list[dict] = dataclasses.field(default_factory=list)  # as the API has them, arguments joined
    finish_reason: str | None = None
    n_prompt_tokens: int = 0
    n_cached_tokens: int = 0
    n_tokens: int = 0
    first_token_s: float = 0.0
    total_s: float = 0.0

    def speed(self) -> str:
        """First-token time and tokens/s after it. A call comes in one piece when it is whole: then only the time in all
        can be seen from here."""
        if self.calls:
            return f"the call after {self.total_s:.2f} s, {self.n_tokens} tokens"
        seconds = self.total_s - self.first_token_s
        rate = (self.n_tokens - 1) / seconds if seconds > 0 and self.n_tokens > 1 else 0.0
        return f"first token after {self.first_token_s:.2f} s, {self.n_tokens} tokens at {rate:.1f} tokens/s"

    def add(self, delta: dict) -> None:
        self.text += delta.get("content") or ""
        for part in delta.get("tool_calls") or []:
            while len(self.calls) <= part["index"]:
                self.calls.append({"id": "", "type": "function", "function": {"name": "", "arguments": ""}})
            call = self.calls[part["index"]]
            call["id"] = part.get("id") or call["id"]
            call["function"]["name"] += part.get("function", {}).get("name") or ""
            call["function"]["arguments"] += part.get("function", {}).get("arguments") or ""


def count_lines(path: str) -> dict:
    """The tool. A model wrote the path: it may name files of this repository only."""
    file = (REPOSITORY / path).resolve()
    if not file.is_relative_to(REPOSITORY) or not file.is_file():
        return {"error": f"no file {path} in the repository"}
    return {"path": path, "lines": len(file.read_bytes().splitlines())}


def server_sent_events(response: http.client.HTTPResponse) -> Iterator[dict]:
    """The JSON objects of a stream, up to [DONE]."""
    for line in response:
        field, _, value = line.decode().rstrip("\r\n").partition(": ")
        if field != "data":
            continue
        if value == "[DONE]":
            return
        yield json.loads(value)
    raise Failure("the stream ended without [DONE]")


def model_name(url: str) -> str:
    with urllib.request.urlopen(url + "/v1/models", timeout=TIMEOUT_S) as response:
        return json.load(response)["data"][0]["id"]


def complete(url: str, model: str, messages: list[dict], tool_choice: str | dict = "auto") -> Reply:
    body = {
        "model": model, "messages": messages, "tools": [TOOL], "tool_choice": tool_choice, "temperature": 0,
        "max_tokens": 256, "stream": True, "stream_options": {"include_usage": True},
    }  # fmt: skip
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc, timeout=TIMEOUT_S)
    reply = Reply()
    start = time.monotonic()
    try:
        connection.request("POST", "/v1/chat/completions", json.dumps(body), {"Content-Type": "application/json"})
        response = connection.getresponse()
        if response.status != 200:
            raise Failure(f"status {response.status}: {response.read().decode(errors='replace')}")
        for event in server_sent_events(response):
            if usage := event.get("usage"):
                reply.n_prompt_tokens, reply.n_tokens = usage["prompt_tokens"], usage["completion_tokens"]
                reply.n_cached_tokens = (usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0)
            for choice in event["choices"]:
                delta = choice["delta"]
                if reply.first_token_s == 0.0 and (delta.get("content") or delta.get("tool_calls")):
                    reply.first_token_s = time.monotonic() - start
                reply.add(delta)
                reply.finish_reason = choice.get("finish_reason") or reply.finish_reason
    except (OSError, http.client.HTTPException, KeyError, ValueError) as error:
        raise Failure(f"{type(error).__name__}: {error}") from error
    finally:
        connection.close()
    reply.total_s = time.monotonic() - start
    return reply


def is_right_call(reply: Reply) -> bool:
    if len(reply.calls) != 1 or reply.finish_reason != "tool_calls":
        return False
    function = reply.calls[0]["function"]
    try:
        return function["name"] == WANTED_NAME and json.loads(function["arguments"]) == WANTED_ARGUMENTS
    except ValueError:
        return False


def run_tool(call: dict) -> dict:
    try:
        return count_lines(json.loads(call["function"]["arguments"])["path"])
    except (ValueError, TypeError, KeyError) as error:
        return {"error": f"arguments: {error}"}


def say_speed(what: str, reply: Reply) -> None:
    print(f"  {what}: {reply.n_prompt_tokens} tokens read ({reply.n_cached_tokens} of them cached), {reply.speed()}")


def ask_for_call(url: str, model: str, messages: list[dict]) -> Reply:
    """The model decides whether to call the tool. One that is too small for that is told to, and shown how."""
    reply = complete(url, model, messages)
    if reply.calls:
        return reply
    print(f"Answer       {reply.text.strip()}")
    print("             The model did not call the tool by itself. Once more, with tool_choice and an example:")
    messages[:] = [{"role": "system", "content": EXAMPLE}, {"role": "user", "content": ORDER}]
    print(f"Question     {ORDER}")
    return complete(url, model, messages, {"type": "function", "function": {"name": WANTED_NAME}})


def converse(url: str) -> bool:
    """Asks, runs the tool, prints the answer. True when the model called the tool as it should."""
    model = model_name(url)
    messages = [{"role": "system", "content": INSTRUCTIONS}, {"role": "user", "content": QUESTION}]
    print(f"\nQuestion     {QUESTION}")
    first = ask_for_call(url, model, messages)
    messages.append({"role": "assistant", "content": first.text or None, "tool_calls": first.calls})
    for call in first.calls:
        result = json.dumps(run_tool(call))
        print(f"Tool call    {call['function']['name']}({call['function']['arguments']})")
        print(f"Tool result  {result}")
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
    if first.calls:
        second = complete(url, model, messages)
        print(f"Answer       {second.text.strip()}")
        say_speed("tool call", first)
        say_speed("answer", second)
    else:
        print(f"Answer       {first.text.strip()}")
        say_speed("answer", first)
    if not (is_right := is_right_call(first)):
        print(f"That is not the call that the question needs: {WANTED_NAME}({json.dumps(WANTED_ARGUMENTS)}).")
    return is_right
