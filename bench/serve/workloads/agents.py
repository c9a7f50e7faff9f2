"""Agents: several sessions with the same long head, and sessions that grow."""

import asyncio
import json

from load import Request, chat, completion, one_by_one, percentile, send
from spec import Cell, Claim, Workload, always_below, at_least, share_of_the_peer
from turn import ROOT, Invalid, Turn

HEADS = {"1.5k": (1536, 8), "10k": (10240, 15)}  # tokens; what share of llama.cpp's p95 ours is at most, as 1 / that
N_AGENTS, N_TURNS = 4, 3


def agents(t: Turn) -> None:
    for name, (n_head, _) in HEADS.items():
        with t.server(context=12288, streams=N_AGENTS, total=N_AGENTS * 12288) as server:
            head = t.prompts.fresh(t.q(n_head, n_head // 64))
            sessions = []
            for _ in range(N_AGENTS):
                history, requests = head, []
                for _ in range(N_TURNS):  # what the last turn's reply said stands in it as other tokens
                    history = history + t.prompts.text(t.q(128, 16))
                    requests.append(completion(history, t.q(64, 4)))
                sessions.append(requests)
            timed = t.run(f"agents_{name}", server, one_by_one(*sessions))
            waits = [r.ttft for r in timed]
            for share in (50, 95):
                t.value(f"p{share}_{name}_ms", 1000 * percentile(waits, share))
            t.value(f"round_{name}_s", max(r.sent_at + r.end for r in timed) - min(r.sent_at for r in timed))


def _agents_claims() -> list[Claim]:
    claims = []
    for name, (_, factor) in HEADS.items():
        for share in (50, 95):
            claims.append(always_below(f"{name}: the slowest round's p{share} lies below llama.cpp's fastest round's",
                                       f"p{share}_{name}_ms"))
        claims.append(share_of_the_peer(f"{name}: p50 at most half of llama.cpp's", f"p50_{name}_ms", 1 / 2))
        claims.append(share_of_the_peer(f"{name}: p95 at most 1/{factor} of llama.cpp's", f"p95_{name}_ms", 1 / factor))
    return claims


# 80 rounds of agents with tools.
N_SESSIONS, N_ROUNDS = 8, 10
FILES = ("docs/HACKING.md", "docs/architecture.md", "src/sched/README.md", "src/kv/README.md", "src/engine/README.md")
TOOLS = [{"type": "function", "function": {
    "name": name, "description": words,
    "parameters": {"type": "object", "properties": {key: {"type": "string"}}, "required": [key]}}}
    for name, words, key in (("read_file", "Reads a file of the project.", "path"),
                             ("run", "Runs a shell command and returns what it printed.", "command"))]
SYSTEM = ("You are a coding agent. Work step by step: call a tool to look, then say in one sentence what you found.\n\n"
          + (ROOT / "CONTRIBUTING.md").read_text()[:4000])


def file_piece(session: int, turn: int, size: int = 1200) -> str:
    text = (ROOT / FILES[(session + turn) % len(FILES)]).read_text()
    begin = (session * 977 + turn * 1511) % max(1, len(text) - size)
    return text[begin:begin + size]


def turn_request(messages: list[dict], n_new: int, must_call: bool) -> Request:
    choice = {"type": "function", "function": {"name": "read_file"}} if must_call else "none"
    return chat(messages, n_new, tools=TOOLS, tool_choice=choice)


async def agent(client, number: int, n_turns: int, n_new: int, after_turn) -> list:
    """A session: ask, the model's call, the tool's result, the model's sentence; all of it stays in the history."""
    messages, timed = [{"role": "system", "content": SYSTEM}], []
    for turn in range(n_turns):
        calls = turn % 2 == 0
        if calls:
            messages.append({"role": "user", "content": f"Session {number}, step {turn}: look at {FILES[turn % len(FILES)]}."})
        reply = await send(client, turn_request(messages, n_new, calls))
        timed.append(reply)
        after_turn()
        if reply.status != 200:
            break
        message = {"role": "assistant", "content": reply.text}
        if calls:
            if not reply.calls:
                raise Invalid(f"session {number}, turn {turn}: no call, though one was asked for: {reply.text[:200]!r}")
            call = reply.calls[0]
            arguments = call["arguments"] if is_object(call["arguments"]) else "{}"  # cut at max_tokens
            call_id = call["id"] or f"call_{number}_{turn}"
            message["tool_calls"] = [{"id": call_id, "type": "function",
                                      "function": {"name": call["name"], "arguments": arguments}}]
        messages.append(message)
        if calls:
            messages.append({"role": "tool", "tool_call_id": call_id, "content": file_piece(number, turn)})
    return timed


def is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def agent_rounds(t: Turn) -> None:
    n_sessions, n_rounds = t.q(N_SESSIONS, 2), t.q(N_ROUNDS, 2)
    with t.server(context=16384, streams=8, total=8 * 8192) as server:
        resident: list[int] = []

        async def job(client):
            sessions = (agent(client, i, n_rounds, t.q(96, 24), lambda: resident.append(server.memory()["resident"]))
                        for i in range(n_sessions))
            return [r for s in await asyncio.gather(*sessions) for r in s]

        timed = t.run("agent_rounds", server, job)
        t.raw[-1]["resident_after_each"] = resident
        t.value("finished", sum(r.finish in ("stop", "length", "tool_calls") for r in timed))
        t.value("seconds", t.raw[-1]["seconds"])
        t.value("whole_calls", 100 * sum(is_object(c["arguments"]) for r in timed for c in r.calls[:1])
                / max(1, sum(bool(r.calls) for r in timed)))
        early = max(resident[:len(resident) // 4])  # the first 20 of 80
        t.value("growth", 100 * (max(resident) / early - 1))
        t.value("peak_mib", server.memory()["peak"] / 2**20)


WORKLOADS = [
    Workload("agents", "Four agents with the same head", "four agents at once, three turns each (12 requests a round), whose "
             "prompts share a head of 1,536 or 10,240 tokens that is new in every round; 128 tokens of their own a turn, 64 "
             "tokens of reply. Time to the first token over the 12 requests", {
                 f"{kind}_{name}_{unit}": Cell(words.format(n), unit) for name, (n, _) in HEADS.items()
                 for kind, words, unit in (("p50", "p50 of the wait, head of {:,}", "ms"),
                                           ("p95", "p95 of the wait, head of {:,}", "ms"),
                                           ("round", "all 12 requests done, head of {:,}", "s"))},
             agents, tuple(_agents_claims())),
    Workload("agent_rounds", "80 agent rounds", "eight sessions of ten turns with tool calls and results; the history grows", {
                 "finished": Cell("rounds that finished, of 80", "", True),
                 "seconds": Cell("all of them done", "s"),
                 "whole_calls": Cell("calls whose arguments are a whole JSON object", "%", True),
                 "growth": Cell("growth of resident memory after the first 20", "%", None),
                 "peak_mib": Cell("most memory resident", "MiB")}, agent_rounds,
             (at_least("all 80 rounds finish", "finished", N_SESSIONS * N_ROUNDS),
              Claim("resident memory is flat after the first 20 (within 3 %)", ("growth",),
                    lambda v: max(v.ours("growth")) <= 3, beside_peer=False))),
]
