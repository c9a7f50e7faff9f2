"""Prefill, decode and many streams."""

from load import completion, effective_rate, one_by_one, together, together_rate
from spec import Cell, Claim, Workload, share_of_the_peer, times_the_peer
from turn import Turn

LENGTHS = {"512": 512, "4k": 4096, "16k": 16384}


def cold(t: Turn) -> None:
    with t.server(context=16640, streams=1, prompt_cache=False) as server:
        for name, n in LENGTHS.items():
            n = t.q(n, n // 16)
            for _ in range(t.q({"512": 3, "4k": 2, "16k": 1}[name], 1)):
                (timed,) = t.run(f"prefill_{name}", server, together([completion(t.prompts.fresh(n), 1)]), cold=True)
                t.value(f"prefill_{name}", n / timed.ttft)
        t.value("peak_mib", server.memory()["peak"] / 2**20)


def decode(t: Turn) -> None:
    with t.server(prompt_cache=False) as server:
        for _ in range(t.q(2, 1)):
            (timed,) = t.run("decode_1", server, together([completion(t.prompts.fresh(64), t.q(276, 24))]), cold=True)
            t.value("decode_1", timed.decode_rate())
        timed = t.run("decode_8", server, together([completion(t.prompts.fresh(64), t.q(160, 64)) for _ in range(8)]),
                      cold=True)
        t.value("decode_8", together_rate(timed))
        t.value("resident_mib", server.memory()["resident"] / 2**20)


def follow_up(t: Turn) -> None:
    with t.server(context=16640, streams=1) as server:
        for name, n in (("4k", 4096), ("16k", 16384)):
            n, n_new = t.q(n, n // 16), t.q(64, 16)
            prompt = t.prompts.fresh(n)
            (lone,) = t.run(f"lone_{name}", server, together([completion(t.prompts.fresh(n_new), 1)]), cold=True)
            (first,) = t.run(f"cold_{name}", server, together([completion(prompt, 1)]), cold=True)
            (then,) = t.run(f"follow_up_{name}", server, together([completion(prompt + t.prompts.text(n_new), 1)]))
            t.value(f"follow_up_{name}_ms", 1000 * then.ttft)
            t.value(f"follow_up_{name}_share", 100 * then.ttft / first.ttft)
            t.value(f"follow_up_{name}_over_ms", 1000 * (then.ttft - lone.ttft))


STREAM_CELLS = [(name, n, n_streams, kind) for n_streams in (1, 8) for name, n in (("1k", 1024), ("2.4k", 2458), ("7k", 7168))
                for kind in (("distinct",) if n_streams == 1 else ("shared", "distinct"))]


def streams(t: Turn) -> None:
    n_new = t.q(128, 8)
    for wanted in (1, 8):
        with t.server(context=8192, streams=wanted, total=wanted * 8192) as server:
            for name, n, n_streams, kind in STREAM_CELLS:
                if n_streams != wanted:
                    continue
                n = t.q(n, n // 64)
                shared = t.prompts.fresh(n // 2) if kind == "shared" else []
                requests = [completion(shared + t.prompts.fresh(n - len(shared)), n_new) for _ in range(n_streams)]
                cell = f"{kind}_{name}_x{n_streams}"
                t.value(cell, effective_rate(t.run(cell, server, together(requests), cold=kind == "distinct")))


def second_session(t: Turn) -> None:
    own = t.q(64, 16)
    with t.server(context=16384, streams=2, total=32768) as server:
        shared = t.prompts.fresh(t.q(15360, 512))
        one, two = (completion(shared + t.prompts.text(own), t.q(32, 4)) for _ in range(2))
        first, second = t.run("second_session", server, one_by_one([one, two]))
        t.value("first_session_ms", 1000 * first.ttft)
        t.value("second_session_ms", 1000 * second.ttft)
        t.value("second_session_share", 100 * second.ttft / first.ttft)


def _follow_up_claim(name: str) -> list[Claim]:
    share, over = f"follow_up_{name}_share", f"follow_up_{name}_over_ms"
    return [Claim(f"a follow-up turn behind {name.upper()} takes less than a tenth of the cold one", (share,),
                  lambda v: max(v.ours(share)) < 10, beside_peer=False),
            Claim(f"... and at most 30 ms more than its new tokens alone ({name.upper()})", (over,),
                  lambda v: max(v.ours(over)) <= 30, beside_peer=False)]


WORKLOADS = [
    Workload("cold", "Cold prefill", "a prompt that nobody asked before; tokens / time to the first one of the reply, HTTP "
             "and sampling included", {
                 **{f"prefill_{name}": Cell(f"cold prefill, {n:,} tokens", "tok/s", True) for name, n in LENGTHS.items()},
                 "peak_mib": Cell("most memory resident", "MiB")}, cold),
    Workload("decode", "Decode", "276 greedy tokens behind a prompt of 64, the first 16 and the last 4 left out; then eight "
             "requests of 160 tokens at once, all streams' tokens while all eight were decoding", {
                 "decode_1": Cell("decode, one stream", "tok/s", True),
                 "decode_8": Cell("decode, eight streams together", "tok/s", True),
                 "resident_mib": Cell("memory resident at the end", "MiB")}, decode),
    Workload("follow_up", "Follow-up turn", "a prompt of 4,096 or 16,384 tokens, then the same with 64 more behind it; beside "
             "it, 64 tokens alone", {
                 f"follow_up_{name}_{kind}": Cell(words.format(n), unit) for name, n in (("4k", "4,096"), ("16k", "16,384"))
                 for kind, words, unit in (("ms", "first token, 64 new behind {} cached", "ms"),
                                           ("share", "... as a share of the cold prompt's ({})", "%"),
                                           ("over_ms", "... above that of 64 tokens alone ({})", "ms"))},
             follow_up, (*_follow_up_claim("4k"), *_follow_up_claim("16k"))),
    Workload("streams", "One and eight streams", "prompts of 1,024, 2,458 or 7,168 tokens, all sent at once, 128 tokens of "
             "reply each; prompts and replies together / time from the first one sent to the last one done. \"Shared\": the "
             "first half of all prompts is the same", {
                 f"{kind}_{name}_x{n_streams}": Cell(
                     f"{n_streams} stream{'s' if n_streams > 1 else ''} of {n:,} tokens"
                     + (f", {'half shared' if kind == 'shared' else 'distinct'}" if n_streams > 1 else ""), "tok/s", True)
                 for name, n, n_streams, kind in STREAM_CELLS}, streams,
             (*(times_the_peer(f"eight streams of {n}, half shared: at least 4x llama.cpp's", f"shared_{n}_x8", 4)
                for n in ("1k", "2.4k", "7k")),
              *(times_the_peer(f"eight streams of {n}, distinct: at least 2.5x llama.cpp's", f"distinct_{n}_x8", 2.5)
                for n in ("1k", "2.4k", "7k")),
              *(times_the_peer(f"one stream of {n}: ahead of llama.cpp", f"distinct_{n}_x1", 1) for n in ("1k", "7k")))),
    Workload("second_session", "A second session with the same head", "two sessions whose prompts share their first 15,360 "
             "tokens, one after the other; 64 tokens of their own each", {
                 "first_session_ms": Cell("first token, first session", "ms"),
                 "second_session_ms": Cell("first token, second session", "ms"),
                 "second_session_share": Cell("... as a share of the first session's", "%")}, second_session,
             (Claim("the second session's first token comes in at most 5 % of the cold time", ("second_session_share",),
                    lambda v: max(v.ours("second_session_share")) <= 5, beside_peer=False),
              share_of_the_peer("... and no later than llama.cpp's", "second_session_ms", 1))),
]
