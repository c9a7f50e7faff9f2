"""What a declared context costs, and the memory cap under load."""

import asyncio

from load import completion, percentile, send
from spec import OURS, Cell, Claim, Workload, at_most
from turn import Turn

DECLARED = {"8k": 8192, "128k": 131072}


def start(t: Turn) -> None:
    t.server(warm=False).close()  # the file's pages are warm
    for name, n in DECLARED.items():
        for _ in range(t.q(3, 1)):
            with t.server(warm=False, context=n, streams=1) as server:
                t.value(f"start_{name}_s", server.start_s)
                t.value(f"memory_{name}_mib", server.memory()["resident"] / 2**20)
    t.value("memory_share", 100 * t.values["memory_128k_mib"][-1] / t.values["memory_8k_mib"][-1])


def memory_cap(t: Turn) -> None:
    mib, n_prompt, n_requests = t.q(1500, 380), t.q(8192, 400), t.q(16, 6)
    with t.server(context=t.q(16384, 1024), streams=16, memory=f"{mib}M") as server:
        requests = [completion(t.prompts.fresh(n_prompt), t.q(64, 8)) for _ in range(n_requests)]
        refusals = []

        async def until_answered(client, request):
            tries = 1
            while (timed := await send(client, request)).status == 503:
                refusals.append(timed)
                tries += 1
                await asyncio.sleep(float(timed.retry_after or 1))
            timed.tries = tries
            return timed

        async def job(client):
            return list(await asyncio.gather(*(until_answered(client, r) for r in requests)))

        timed = t.run("memory_cap", server, job)  # each is answered whole, or this raises
        t.raw[-1]["refusals"] = [r.as_json() for r in refusals]
        t.value("peak_share", 100 * server.memory()["peak"] / 2**20 / mib)
        t.value("answered_whole", 100 * len(timed) / n_requests)
        t.value("refused", len(refusals))
        t.value("refused_unclearly", sum(not r.retry_after or "memory" not in r.text.lower() for r in refusals))
        t.value("wait_p50_s", percentile([r.ttft for r in timed], 50))
        t.value("seconds", t.raw[-1]["seconds"])


WORKLOADS = [
    Workload("start", "Start, and what a declared context costs", "8,192 or 131,072 tokens declared, the file's pages warm; "
             "time until /health says 200, and memory resident then", {
                 f"{kind}_{name}_{unit}": Cell(words.format(n), {"mib": "MiB"}.get(unit, unit))
                 for kind, words, unit in (("start", "start, {:,} tokens declared", "s"),
                                           ("memory", "memory then, {:,} tokens declared", "mib"))
                 for name, n in DECLARED.items()} | {
                 "memory_share": Cell("memory at 131,072 as a share of that at 8,192", "%")}, start,
             (at_most("128 K declared starts within 5 % of the memory of 8 K", "memory_share", 105),
              Claim("serving begins in less than 1.5 s", ("start_8k_s", "start_128k_s"),
                    lambda v: max(v.ours("start_8k_s") + v.ours("start_128k_s")) < 1.5, beside_peer=False))),
    Workload("memory_cap", "A cap on memory", "`--memory 1500M`, 16 requests of 8,192 tokens at once, 64 tokens of reply each; a "
             "client that is told 503 comes again after `Retry-After`", {
                 "peak_share": Cell("most memory resident, as a share of the cap", "%", None),
                 "answered_whole": Cell("requests answered whole", "%", None),
                 "refused": Cell("503s on the way", "", None),
                 "refused_unclearly": Cell("of those without Retry-After or a reason", "", None),
                 "wait_p50_s": Cell("p50 of the wait", "s", None),
                 "seconds": Cell("all of them done", "s", None)}, memory_cap,
             (at_most("the cap holds within 3 %", "peak_share", 103),
              at_most("every 503 has Retry-After and says why", "refused_unclearly", 0),
              Claim("nothing is lost", ("answered_whole",), lambda v: min(v.ours("answered_whole")) == 100, False)),
             engines=(OURS,)),
]
