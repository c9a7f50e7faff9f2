"""The load generator: streamed requests, timed at the client, the same for every server."""

import asyncio
import json
import os
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, field

import httpx


@dataclass
class Request:
    path: str
    body: dict
    n_prompt: int | None = None  # tokens that the server must report; None: its own template decides


def completion(prompt: list[int], n_new: int, **fields) -> Request:
    """Token ids, so that neither tokenizers nor templates count."""
    body = {"model": "bench", "prompt": prompt, "max_tokens": n_new, "temperature": 0, "ignore_eos": True, **fields}
    return Request("/v1/completions", body, len(prompt))


def chat(messages: list[dict], n_new: int, **fields) -> Request:
    return Request("/v1/chat/completions", {"model": "bench", "messages": messages, "max_tokens": n_new, "temperature": 0,
                                            "chat_template_kwargs": {"enable_thinking": False}, **fields})


@dataclass
class Timed:
    """One request as the client saw it. Times are seconds from its sending."""

    sent_at: float  # on the run's clock
    status: int = 0
    n_prompt: int = 0
    n_new: int = 0
    cached: int | None = None  # tokens of the prompt; None: the server does not say
    arrivals: list[float] = field(default_factory=list)  # of each event that carried text or a part of a call
    end: float = 0
    text: str = ""
    calls: list[dict] = field(default_factory=list)  # {"id", "name", "arguments"}
    finish: str | None = None  # None: the stream was cut, by us or by the server
    retry_after: str | None = None
    tries: int = 1
    asked: tuple[int, int] | None = None  # tokens of prompt and reply, where the request fixes them
    stopped: bool = False  # by us, in the middle

    @property
    def ttft(self) -> float:
        return self.arrivals[0]

    def at(self) -> list[float]:
        """Arrivals on the run's clock."""
        return [self.sent_at + t for t in self.arrivals]

    def decode_rate(self, skip_first: int = 16, skip_last: int = 4) -> float:
        """Tokens a second, without the first and last few. By events when there is one a token, else over all."""
        a = self.arrivals
        if len(a) < 2:
            raise ValueError(f"{len(a)} events of text: no rate in that")
        if len(a) == self.n_new and len(a) > skip_first + skip_last + 1:
            a = a[skip_first:len(a) - skip_last]
            return (len(a) - 1) / (a[-1] - a[0])
        return (self.n_new - 1) / (a[-1] - a[0])

    def as_json(self) -> dict:
        record = {k: v for k, v in asdict(self).items() if v is not None and v != [] and v != ""}
        record["arrivals"] = [round(t, 4) for t in self.arrivals]
        record["text"] = self.text[:200]
        record["loops"] = has_loop(self.text)
        return record


def has_loop(text: str) -> bool:
    """Whether the last quarter is a repetition of some 4 words."""
    words = text.split()[-len(text.split()) // 4 or None:]
    grams = [tuple(words[i:i + 4]) for i in range(len(words) - 3)]
    return len(grams) >= 8 and len(set(grams)) <= len(grams) // 3


async def send(client: httpx.AsyncClient, request: Request, begun: asyncio.Event | None = None,
               stop: asyncio.Event | None = None) -> Timed:
    """begun is set when a few tokens have come; once stop is set the connection is closed and what came is returned."""
    body = {**request.body, "stream": True, "stream_options": {"include_usage": True}, "cache_prompt": True}
    lines: list[tuple[float, str]] = []
    fixed = request.n_prompt is not None and request.body.get("ignore_eos")
    asked = (request.n_prompt, request.body["max_tokens"]) if fixed else None
    timed = Timed(sent_at=time.perf_counter(), asked=asked)
    async with client.stream("POST", request.path, json=body) as reply:
        timed.status, timed.retry_after = reply.status_code, reply.headers.get("retry-after")
        if reply.status_code != 200:
            timed.text = (await reply.aread()).decode(errors="replace")[:500]
        else:
            async for line in reply.aiter_lines():  # parsed afterwards: the client shares the machine
                lines.append((time.perf_counter(), line))
                if begun and len(lines) > 16:
                    begun.set()
                if stop and stop.is_set():
                    timed.stopped = True
                    break
    timed.end = time.perf_counter() - timed.sent_at
    if begun:
        begun.set()
    _read(timed, lines)
    return timed


def _read(timed: Timed, lines: list[tuple[float, str]]) -> None:
    text, usage, timings = [], {}, {}
    for at, line in lines:
        if not line.startswith("data: {"):
            continue
        event = json.loads(line[6:])
        usage, timings = event.get("usage") or usage, event.get("timings") or timings
        for choice in event.get("choices", []):
            delta = choice.get("delta") or {}
            if piece := choice.get("text") or delta.get("content") or delta.get("reasoning_content"):
                text.append(piece)
            if piece or delta.get("tool_calls"):
                timed.arrivals.append(at - timed.sent_at)
            for call in delta.get("tool_calls") or []:
                _add_call(timed.calls, call)
            timed.finish = choice.get("finish_reason") or timed.finish
    timed.text = timed.text or "".join(text)
    if timed.status == 200 and not timed.arrivals:
        timed.arrivals = [timed.end]  # a token that ends inside a character and is the only one
    timed.n_prompt = usage.get("prompt_tokens", 0)
    timed.n_new = usage.get("completion_tokens", 0) or len(text)
    details = usage.get("prompt_tokens_details") or {}
    timed.cached = details.get("cached_tokens", timings.get("cache_n"))


def _add_call(calls: list[dict], delta: dict) -> None:
    while len(calls) <= delta.get("index", 0):
        calls.append({"id": "", "name": "", "arguments": ""})
    call, function = calls[delta.get("index", 0)], delta.get("function") or {}
    call["id"] = delta.get("id") or call["id"]
    call["name"] += function.get("name") or ""
    call["arguments"] += function.get("arguments") or ""


def drive(port: int, job: Callable[[httpx.AsyncClient], Awaitable], timeout_s: float = 3600):
    """What job returns, given a client of as many connections as it likes."""

    async def go():
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=timeout_s, trust_env=False,
                                     limits=httpx.Limits(max_connections=None, max_keepalive_connections=0)) as client:
            return await job(client)

    return asyncio.run(go())


def together(requests: list[Request]):
    """A job: all at once, each on its own connection."""

    async def job(client):
        return list(await asyncio.gather(*(send(client, r) for r in requests)))

    return job


def one_by_one(*sessions: list[Request]):
    """A job: the sessions beside each other, each asking its requests one after the other."""

    async def session(client, requests):
        return [await send(client, r) for r in requests]

    async def job(client):
        return [t for s in await asyncio.gather(*(session(client, requests) for requests in sessions)) for t in s]

    return job


def together_rate(streams: list[Timed]) -> float:
    """Tokens a second of all streams while all of them were decoding."""
    begin = max(s.at()[0] for s in streams)
    end = min(s.at()[-1] for s in streams)
    if end <= begin:
        raise ValueError("the streams were never decoding all at once")
    n = sum(sum(begin < t <= end for t in s.at()) * s.n_new / len(s.arrivals) for s in streams)
    return n / (end - begin)


def effective_rate(streams: list[Timed]) -> float:
    """Tokens a second, those of the prompts included, from the first one's sending to the last one's end."""
    begin, end = min(s.sent_at for s in streams), max(s.sent_at + s.end for s in streams)
    return sum(s.n_prompt + s.n_new for s in streams) / (end - begin)


def percentile(values: list[float], share: float) -> float:
    """By linear interpolation between the two nearest."""
    ordered = sorted(values)
    place = share / 100 * (len(ordered) - 1)
    low = int(place)
    return ordered[low] + (place - low) * (ordered[min(low + 1, len(ordered) - 1)] - ordered[low])


def own_cpu_s() -> float:
    times = os.times()
    return times.user + times.system


class Prompts:
    """Token ids of running text with random ids in front. The same for every server, round by round."""

    PASSAGE = 96  # tokens; short, so that no server finds a long stretch of one prompt again in another

    def __init__(self, ids: list[int], seed: int):
        self._passages = [ids[i:i + self.PASSAGE] for i in range(0, len(ids) - self.PASSAGE, self.PASSAGE)]
        self._ids, self._rng = ids, random.Random(seed)

    def text(self, n: int) -> list[int]:
        text: list[int] = []
        while len(text) < n:
            text += self._rng.choice(self._passages)
        return text[:n]

    def fresh(self, n: int) -> list[int]:
        """n tokens that no earlier prompt shares a beginning with."""
        nonce = self._rng.choices(self._ids, k=8)
        return nonce + self.text(n - len(nonce))
