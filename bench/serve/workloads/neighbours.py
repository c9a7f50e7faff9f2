"""Requests beside each other, and a machine that others use too."""

import asyncio

from load import Request, Timed, completion, percentile, send, together
from spec import Cell, Claim, Workload, at_least, at_most, share_of_the_peer
from turn import Invalid, Turn


def beside(running: list[Request], newcomer: Request, alone_s: float):
    """A job: the newcomer is sent alone_s after all of the others began; they are ended when it has been answered.
    Gives the others and last the newcomer."""

    async def job(client):
        begun, stop = [asyncio.Event() for _ in running], asyncio.Event()
        tasks = [asyncio.create_task(send(client, r, b, stop)) for r, b in zip(running, begun)]
        for event in begun:
            await event.wait()
        await asyncio.sleep(alone_s)
        new = await send(client, newcomer)
        stop.set()
        replies = [await task for task in tasks]
        if not all(r.stopped for r in replies):
            raise Invalid("a reply was done before the newcomer was")
        return [*replies, new]

    return job


def gaps_ms(replies: list[Timed], begin: float, end: float) -> list[float]:
    """Between two events of one reply, those that lie in part or whole between begin and end."""
    return [1000 * (b - a) for r in replies for a, b in zip(r.at(), r.at()[1:]) if b > begin and a < end]


def long_prompt(t: Turn) -> None:
    n, alone_s = t.q(16384, 512), t.q(5, 0.3)
    with t.server(context=n + 8192, streams=4, total=n + 3 * 8192, prompt_cache=False) as server:
        (lone,) = t.run("lone", server, together([completion(t.prompts.fresh(n), 1)]), cold=True)
        running = [completion(t.prompts.fresh(64), 4096) for _ in range(3)]
        job = beside(running, completion(t.prompts.fresh(n), 1), alone_s)
        *replies, new = t.run("beside", server, job, cold=True)
    begin, end = new.sent_at, new.sent_at + new.ttft
    before, during = gaps_ms(replies, begin - alone_s, begin), gaps_ms(replies, begin, end)
    p99 = percentile(during, 99)
    t.value("gap_before_p50_ms", percentile(before, 50))
    t.value("gap_p99_ms", p99)
    t.value("gap_max_ms", max(during))
    t.value("gap_share_of_bound", 100 * p99 / max(120, 3 * percentile(before, 50)))
    t.value("prefill_share", 100 * lone.ttft / new.ttft)
    t.value("tokens_meanwhile", sum(begin < x < end for r in replies for x in r.at()))


def newcomer(t: Turn) -> None:
    alone_s = t.q(2, 0.3)
    with t.server(streams=8, total=16384, prompt_cache=False) as server:
        for _ in range(t.q(5, 1)):
            running = [completion(t.prompts.fresh(t.q(1024, 64)), 2048) for _ in range(4)]
            job = beside(running, completion(t.prompts.fresh(50), 8), alone_s)
            *replies, new = t.run("newcomer", server, job, cold=True)
            begin, end = new.sent_at, new.sent_at + new.ttft
            t.value("newcomer_ms", 1000 * new.ttft)
            # A step gives each running reply a token: the most that one got before the newcomer's own first.
            t.value("newcomer_steps", max(sum(begin < x <= end for x in r.at()) for r in replies))
            t.value("lone_step_ms", percentile(gaps_ms(replies, begin - alone_s, begin), 50))


def busy(t: Turn) -> None:
    with t.server(streams=1, prompt_cache=False) as server:
        def both() -> tuple[float, float]:
            n = t.q(1024, 64)
            (prompt,) = t.run("busy_prefill", server, together([completion(t.prompts.fresh(n), 1)]), cold=True)
            (reply,) = t.run("busy_decode", server, together([completion(t.prompts.fresh(64), t.q(96, 24))]), cold=True)
            return n / prompt.ttft, reply.decode_rate()

        alone = both()
        with t.busy_machine():
            shared = both()
        for name, a, b in zip(("prefill", "decode"), alone, shared):
            t.value(f"busy_{name}", b)
            t.value(f"busy_{name}_share", 100 * b / a)


WORKLOADS = [
    Workload("long_prompt", "A long prompt beside running replies", "three replies are being written when a prompt of 16,384 "
             "tokens arrives. Gaps between two tokens of a reply from then until its first token; its speed beside that of "
             "such a prompt alone. The promised bound: 120 ms, or three times the median gap before", {
                 "gap_before_p50_ms": Cell("gap between tokens before, p50", "ms"),
                 "gap_p99_ms": Cell("gap between tokens meanwhile, p99", "ms"),
                 "gap_max_ms": Cell("gap between tokens meanwhile, longest", "ms"),
                 "gap_share_of_bound": Cell("p99 as a share of the promised bound", "%"),
                 "prefill_share": Cell("the prompt's speed, as a share of alone", "%", True),
                 "tokens_meanwhile": Cell("tokens of the replies meanwhile", "", True)}, long_prompt,
             (at_most("p99 of the gap is within the promised bound", "gap_share_of_bound", 100),
              at_least("the prompt keeps at least 70 % of its speed alone", "prefill_share", 70))),
    Workload("newcomer", "A newcomer behind four replies", "four replies are being written behind prompts of 1,024 tokens when "
             "a request with 50 tokens arrives, five times a round. Steps: tokens that a running reply got meanwhile", {
                 "newcomer_ms": Cell("the newcomer's first token", "ms"),
                 "newcomer_steps": Cell("steps until then", ""),
                 "lone_step_ms": Cell("gap between tokens before, p50", "ms")}, newcomer,
             (at_most("the first token comes within 3 steps", "newcomer_steps", 3),
              share_of_the_peer("... and no later than llama.cpp's", "newcomer_ms", 1))),
    Workload("busy", "A busy machine", "1,024 tokens of prompt and 96 of reply, alone and then while two other processes spin, "
             "pinned to no core", {
                 "busy_prefill": Cell("cold prefill beside two busy processes", "tok/s", True),
                 "busy_prefill_share": Cell("... as a share of alone", "%", True),
                 "busy_decode": Cell("decode beside two busy processes", "tok/s", True),
                 "busy_decode_share": Cell("... as a share of alone", "%", True)}, busy,
             (Claim("ahead of llama.cpp in both", ("busy_prefill", "busy_decode"),
                    lambda v: all(min(v.ours(c)) > max(v.theirs(c)) for c in ("busy_prefill", "busy_decode"))),)),
]
