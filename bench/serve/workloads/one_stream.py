"""The protocol for one stream: everything that one person with one agent meets."""

import json

from load import chat, completion, one_by_one, together
from spec import Cell, Workload, share_of_the_peer, times_the_peer
from turn import ROOT, Turn

from .agents import TOOLS, is_object

SESSION = ROOT / "bench/serve/data/session.json"  # made by make_session.py beside it


def one_stream(t: Turn) -> None:
    n_new = t.q(512, 24)
    with t.server(context=32768, streams=2) as server:
        for _ in range(t.q(5, 1)):
            for name, fields in (("greedy", {}), ("sampled", {"temperature": 0.6, "seed": 7})):
                request = completion(t.prompts.fresh(64), n_new, **fields)
                (timed,) = t.run(f"decode_{name}", server, together([request]), cold=True)
                t.value(f"decode_{name}", timed.decode_rate())
        for name, n in (("4k", 4096), ("16k", 16384)):
            prompt = t.prompts.fresh(t.q(n, n // 64))
            (cold,) = t.run(f"cold_{name}", server, together([completion(prompt, 1)]), cold=True)
            (then,) = t.run(f"follow_up_{name}", server, together([completion(prompt + t.prompts.text(t.q(64, 16)), 1)]))
            t.value(f"cold_{name}", len(prompt) / cold.ttft)
            t.value(f"follow_up_{name}_ms", 1000 * then.ttft)
        tool_call(t, server)
        session(t, server)
        t.value("peak_mib", server.memory()["peak"] / 2**20)


def tool_call(t: Turn, server) -> None:
    choice = {"type": "function", "function": {"name": "read_file"}}
    for path in t.q(("src/main.c", "README.md", "docs/build.md"), ("README.md",)):
        messages = [{"role": "user", "content": f"Show me the file {path}."}]
        (timed,) = t.run("tool_call", server, together([chat(messages, 64, tools=TOOLS, tool_choice=choice)]))
        t.value("tool_call_ms", 1000 * timed.end)
        whole = [c for c in timed.calls if c["name"] == "read_file" and is_object(c["arguments"])]
        t.value("tool_call_right", 100.0 * any(path in c["arguments"] for c in whole))


def session(t: Turn, server) -> None:
    """Each request has all messages up to an assistant's turn, as it was recorded: every server gets the same prompts."""
    recorded = json.loads(SESSION.read_text())
    requests = [chat(recorded["messages"][:i], 32, tools=recorded["tools"], tool_choice="none", ignore_eos=True)
                for i, m in enumerate(recorded["messages"]) if m["role"] == "assistant"]
    requests = requests[:t.q(len(requests), 2)]
    timed = t.run("session", server, one_by_one(requests))
    waits = sorted(r.ttft for r in timed[1:])
    t.value("session_s", t.raw[-1]["seconds"])
    t.value("session_first_ms", 1000 * timed[0].ttft)
    t.value("session_p50_ms", 1000 * waits[len(waits) // 2])
    t.value("session_tokens", timed[-1].n_prompt)


WORKLOADS = [
    Workload("one_stream", "One stream", "five greedy replies of 512 tokens and five at temperature 0.6, the first 16 and last "
             "4 tokens of each left out; cold prompts with random tokens at the front and 64 tokens more behind them; three "
             "calls of a named tool; a coding agent's session of 20 requests (`bench/serve/data/session.json`) replayed with "
             "32 tokens of reply each", {
                 "decode_greedy": Cell("decode, greedy", "tok/s", True),
                 "decode_sampled": Cell("decode, temperature 0.6", "tok/s", True),
                 "cold_4k": Cell("cold prefill, 4,096 tokens", "tok/s", True),
                 "cold_16k": Cell("cold prefill, 16,384 tokens", "tok/s", True),
                 "follow_up_4k_ms": Cell("first token, 64 new behind 4,096 cached", "ms"),
                 "follow_up_16k_ms": Cell("first token, 64 new behind 16,384 cached", "ms"),
                 "tool_call_ms": Cell("a tool call, whole", "ms"),
                 "tool_call_right": Cell("calls with whole arguments that name the file", "%", True),
                 "session_s": Cell("the recorded session, all requests", "s"),
                 "session_first_ms": Cell("... first token of its first request", "ms"),
                 "session_p50_ms": Cell("... first token of the others, p50", "ms"),
                 "session_tokens": Cell("... tokens of its last prompt", "", None),
                 "peak_mib": Cell("most memory resident", "MiB")}, one_stream,
             (times_the_peer("decode ahead of llama.cpp's", "decode_greedy", 1),
              times_the_peer("cold prefill of 16,384 tokens ahead of llama.cpp's", "cold_16k", 1),
              share_of_the_peer("the session is done before llama.cpp's", "session_s", 1))),
]
