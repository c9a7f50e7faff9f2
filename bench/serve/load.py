"""The load generator: streamed completions of token-id prompts, timed at the client, the same for every server."""

import asyncio
import json
import os
import random
import time
from dataclasses import asdict, dataclass

import httpx


@dataclass
class Timed:
    """One request as the client saw it. Times are seconds from its sending."""

    n_prompt: int
    n_new: int
    cached: int | None
    arrivals: list[float]  # of each event that carried text
    sent_at: float  # on the run's clock
    end: float
    text: str

    @property
    def ttft(self) -> float:
        return self.arrivals[0]

    def decode_rate(self, skip_first: int = 16, skip_last: int = 4) -> float:
        """Tokens a second, without the first and last few. By events when there is one a token, else over all."""
        a = self.arrivals
        if len(a) == self.n_new and len(a) > skip_first + skip_last + 1:
            a = a[skip_first:len(a) - skip_last]
            return (len(a) - 1) / (a[-1] - a[0])
        return (self.n_new - 1) / (a[-1] - a[0])

    def as_json(self) -> dict:
        record = asdict(self)
        record["arrivals"] = [round(t, 5) for t in self.arrivals]
        record["text"] = self.text[:200]
        record["loops"] = has_loop(self.text)
        return record


def has_loop(text: str) -> bool:
    """Whether the last quarter is a repetition of some 4 words."""
    words = text.split()[-len(text.split()) // 4 or None:]
    grams = [tuple(words[i:i + 4]) for i in range(len(words) - 3)]
    return len(grams) >= 8 and len(set(grams)) <= len(grams) // 3


async def complete(client: httpx.AsyncClient, prompt: list[int], n_new: int) -> Timed:
    body = {"model": "bench", "prompt": prompt, "max_tokens": n_new, "temperature": 0, "ignore_eos": True, "stream": True,
            "stream_options": {"include_usage": True}, "cache_prompt": True}
    lines: list[tuple[float, str]] = []
    sent = time.perf_counter()
    async with client.stream("POST", "/v1/completions", json=body) as reply:
        if reply.status_code != 200:
            raise SystemExit(f"/v1/completions answered {reply.status_code}: {(await reply.aread())[:500]!r}")
        async for line in reply.aiter_lines():  # parsed afterwards: the client shares the machine
            lines.append((time.perf_counter(), line))
    end = time.perf_counter()
    arrivals, text, usage = [], [], {}
    for at, line in lines:
        if not line.startswith("data: {"):
            continue
        event = json.loads(line[6:])
        usage = event.get("usage") or usage
        for choice in event.get("choices", []):
            if choice.get("text"):
                arrivals.append(at - sent)
                text.append(choice["text"])
    if not arrivals:
        arrivals = [end - sent]  # a token that ends inside a character and is the only one
    details = usage.get("prompt_tokens_details") or {}
    return Timed(usage["prompt_tokens"], usage["completion_tokens"], details.get("cached_tokens"), arrivals, sent,
                 end - sent, "".join(text))


def run(port: int, requests: list[tuple[list[int], int]]) -> list[Timed]:
    """All requests at once, each on its own connection."""

    async def go():
        limits = httpx.Limits(max_connections=len(requests) + 1)
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=600, limits=limits,
                                     trust_env=False) as client:
            return await asyncio.gather(*(complete(client, p, n) for p, n in requests))

    return asyncio.run(go())


def together_rate(streams: list[Timed]) -> float:
    """Tokens a second of all streams while all of them were decoding."""
    begin = max(s.sent_at + s.arrivals[0] for s in streams)
    end = min(s.sent_at + s.arrivals[-1] for s in streams)
    if end <= begin:
        return float("nan")
    n = sum(sum(begin < s.sent_at + t <= end for t in s.arrivals) * s.n_new / len(s.arrivals) for s in streams)
    return n / (end - begin)


def own_cpu_s() -> float:
    times = os.times()
    return times.user + times.system


class Prompts:
    """Token ids of running text with fresh ids in front. The same for every server, round by round."""

    def __init__(self, ids: list[int], seed: int):
        self._ids, self._rng = ids, random.Random(seed)

    def fresh(self, n: int) -> list[int]:
        """n tokens that no earlier prompt shares a beginning with."""
        nonce = self._rng.choices(self._ids, k=8)
        start = self._rng.randrange(len(self._ids))
        body = (self._ids[start:] + self._ids * (n // len(self._ids) + 1))[: n - len(nonce)]
        return nonce + body

    def text(self, n: int) -> list[int]:
        start = self._rng.randrange(len(self._ids))
        return (self._ids[start:] + self._ids * (n // len(self._ids) + 1))[:n]
