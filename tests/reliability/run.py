#!/usr/bin/env python3
"""Loads a server and breaks things around it, and writes docs/reliability.md's table.

    tests/reliability/run.py build/release/tempo9 [--model F.gguf] [--write docs/reliability.md]

Each case starts a server of its own, says what it measured, and fails (exit code 1) when a promise is not kept.
Without --model the replies come from script mode: the same server, scheduler and cache, no weights.
"""

import argparse
import asyncio
import json
import os
import platform
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BEGIN, END = "<!-- begin: tests/reliability/run.py -->", "<!-- end -->"


class Server:
    def __init__(self, binary, model, folder, *flags, script=None, before=(), **environment):
        args = [*before, str(binary), "serve", "--port", "0", *map(str, flags)]
        if model:
            args += ["--gguf", str(model), "--max-length", "4096"]
        if script is not None or not model:
            path = Path(folder) / "script.jsonl"
            path.write_text("".join(json.dumps(line) + "\n" for line in script or []))
            args += ["--script", str(path)]
        environment = {**os.environ, "AS_KV_OFFLOAD": "0", **environment}
        self.process = subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        line = self.process.stdout.readline()
        found = re.search(r"127\.0\.0\.1:(\d+)", line)
        if not found:
            raise RuntimeError(f"no ready line: {line!r} {self.process.stderr.read()}")
        self.port = int(found[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        code = self.process.wait(20)
        self.said = self.process.stderr.read()
        if code != 0:
            raise RuntimeError(f"exit code {code}: {self.said}")

    def resident(self) -> int:
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def connect(server):
    return await asyncio.open_connection("127.0.0.1", server.port, limit=1 << 24)


async def send(writer, path, body=None):
    data = b"" if body is None else json.dumps(body).encode()
    head = f"{'GET' if body is None else 'POST'} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(data)}\r\n\r\n"
    writer.write(head.encode() + data)
    await writer.drain()


async def read_reply(reader) -> tuple[int, bytes]:
    head = await reader.readuntil(b"\r\n\r\n")
    status = int(head.split()[1])
    if found := re.search(rb"Content-Length: (\d+)", head):
        return status, await reader.readexactly(int(found[1]))
    body = b""
    while size := int(await reader.readline(), 16):
        body += await reader.readexactly(size)
        await reader.readline()
    await reader.readline()
    return status, body


async def ask(server, path, body=None) -> tuple[int, bytes]:
    reader, writer = await connect(server)
    try:
        await send(writer, path, body)
        return await read_reply(reader)
    finally:
        writer.close()


def chat(text, stream, max_tokens=None):
    return {"messages": [{"role": "user", "content": text}], "stream": stream, "temperature": 0,
            **({"max_tokens": max_tokens} if max_tokens else {})}


def text_of(body: bytes, stream: bool) -> str:
    if not stream:
        return json.loads(body)["choices"][0]["message"]["content"]
    events = [line[6:] for line in body.split(b"\n") if line.startswith(b"data: ")]
    assert events[-1] == b"[DONE]"
    return "".join(c["delta"].get("content") or "" for e in events[:-1] for c in json.loads(e)["choices"])


async def gauge(server, name) -> float:
    _, body = await ask(server, "/metrics")
    return sum(float(line.split()[-1]) for line in body.decode().splitlines() if re.match(name + r"[{ ]", line))


async def wait_until_idle(server, seconds=30):
    end = time.monotonic() + seconds
    while await gauge(server, "vllm:num_requests_running") + await gauge(server, "vllm:num_requests_waiting"):
        assert time.monotonic() < end, "requests are left over"
        await asyncio.sleep(0.02)


class Cases:
    def __init__(self, binary, model, scale):
        self.binary, self.model, self.scale = binary, model, scale

    def n(self, number: int) -> int:
        return max(4, number // self.scale)

    def server(self, *flags, **more):
        return Server(self.binary, self.model, self.folder, *flags, **more)

    async def replies(self, server, texts, stream) -> list[str]:
        """All at once; each must come."""
        async def one(text):
            status, body = await ask(server, "/v1/chat/completions", chat(text, stream, 24 if self.model else None))
            assert status == 200, body
            return text_of(body, stream)
        return await asyncio.gather(*(one(text) for text in texts))

    def canaries(self, n) -> list[str]:
        draw = random.Random(7)
        return [f"canary {i} {draw.getrandbits(64):016x} sings" * draw.randint(1, 3 if self.model else 40) for i in range(n)]

    async def check_own_texts(self, server, texts, replies):
        if not self.model:
            assert replies == texts, "a reply is not its request's"
            return
        for text, reply in list(zip(texts, replies))[::4]:
            alone = (await self.replies(server, [text], False))[0]
            assert alone == reply, "a reply depends on its neighbours"

    async def idle_connections(self):
        """500 idle connections"""
        with self.server() as server:
            before = server.resident()
            idle = [await connect(server) for _ in range(self.n(500))]
            start = time.monotonic()
            for _ in range(20):
                assert (await ask(server, "/v1/models"))[0] == 200
            each = (time.monotonic() - start) / 20
            grown = server.resident() - before
            for _, writer in idle:
                writer.close()
        assert each < 0.1 and grown < 100e6
        return f"the others are answered in {each * 1e3:.1f} ms; {grown / len(idle) / 1e3:.0f} KB a connection"

    async def streaming_clients(self):
        """64 streaming clients on 16 rows, each with a canary in its prompt"""
        with self.server("--max-batch", 16) as server:
            texts = self.canaries(self.n(64))
            start = time.monotonic()
            replies = await self.replies(server, texts, True)
            seconds = time.monotonic() - start
            await self.check_own_texts(server, texts, replies)
        return f"all {len(texts)} replies are their own, in {seconds:.1f} s"

    async def vanishing_clients(self):
        """1,000 clients that vanish at random moments"""
        draw = random.Random(11)
        script = None if self.model else [{"text": "x" * 2000, "delay_ms": 2}]
        n = self.n(1000)
        with self.server("--max-batch", 16, script=script) as server:
            async def vanish(gate):
                async with gate:
                    reader, writer = await connect(server)
                    await send(writer, "/v1/chat/completions", chat(f"{draw.random()} " * 30, draw.random() < 0.7, 200))
                    try:
                        await asyncio.wait_for(reader.read(1 << 20), draw.random() * 0.2)
                    except asyncio.TimeoutError:
                        pass
                    if draw.random() < 0.5:
                        writer.transport.abort()
                    else:
                        writer.close()
            gate = asyncio.Semaphore(48)
            await asyncio.gather(*(vanish(gate) for _ in range(n // 2)))  # buffers and caches find their size
            await wait_until_idle(server)
            before = server.resident()
            await asyncio.gather(*(vanish(gate) for _ in range(n)))
            await wait_until_idle(server)
            held = await gauge(server, "vllm:kv_cache_usage_perc")
            grown = server.resident() - before
        assert held == 0 and (self.model or grown < 24e6), grown
        return f"no request, row or page is left over; resident memory {grown / 1e6:+.1f} MB"

    async def stopped_and_continued(self):
        """SIGSTOP for 3 s in the middle of 16 streams, then SIGCONT"""
        texts = self.canaries(16)
        with self.server("--max-batch", 16) as server:
            running = asyncio.ensure_future(self.replies(server, texts, True))
            await asyncio.sleep(0.02)
            server.process.send_signal(signal.SIGSTOP)
            await asyncio.sleep(3)
            server.process.send_signal(signal.SIGCONT)
            await self.check_own_texts(server, texts, await running)
        return "all go on and end as they should"

    async def memory_over_requests(self):
        """5,000 requests (1,000 with a model) on 8 connections: resident memory"""
        n = self.n(5000 if not self.model else 1000)
        # With a model the prefix cache fills the memory that it may have: little, so that it is full after the first part.
        cap = ["--memory", f"{(self.model.stat().st_size >> 20) + 420}M"] if self.model else []
        with self.server(*cap) as server:
            async def run(count, seed):
                reader, writer = await connect(server)
                draw = random.Random(seed)
                for _ in range(count):
                    await send(writer, "/v1/chat/completions", chat(f"{draw.getrandbits(128)} hello", draw.random() < 0.5, 4))
                    assert (await read_reply(reader))[0] == 200
                writer.close()
            await asyncio.gather(*(run(n // 5 // 8, seed) for seed in range(8)))  # caches fill
            before = server.resident()
            await asyncio.gather(*(run(n * 4 // 5 // 8, 100 + seed) for seed in range(8)))
            grown = server.resident() - before
            pages = await gauge(server, "tempo9:kv_cache_resident_bytes")
        assert grown < 24e6, grown
        return f"{grown / 1e6:+.1f} MB over the last {n * 4 // 5:,} (KV pages in memory at the end: {pages / 1e6:.0f} MB)"

    def faults(self, **settings) -> dict:
        """An environment in which the server has them."""
        library = Path(self.folder) / "faults.so"
        source = Path(__file__).parent / "faults.c"
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, source], check=True)
        return {"LD_PRELOAD": str(library), **{name: str(value) for name, value in settings.items()}}

    async def refused_allocations(self):
        """One allocation in 300 is refused while 400 requests are asked, 16 at once"""
        texts = self.canaries(self.n(400))
        with self.server("--max-batch", 16, **self.faults(FAULT_ONE_IN=300, FAULT_MIN_BYTES=1)) as server:
            alone = (await self.replies(server, texts[:4], False)) if self.model else None
            gate, whole, failed, cut = asyncio.Semaphore(16), [], 0, 0

            async def one(i, text):
                nonlocal failed, cut
                async with gate:
                    try:
                        stream = i % 2 == 0
                        status, body = await asyncio.wait_for(ask(server, "/v1/chat/completions", chat(text, stream, 24 if self.model else None)), 60)
                        if status != 200:
                            assert status >= 500, (status, body)
                            failed += 1
                        else:
                            whole.append((i, text_of(body, stream)))
                    except (OSError, EOFError, ValueError):
                        cut += 1

            server.process.send_signal(signal.SIGUSR2)
            await asyncio.gather(*(one(i, text) for i, text in enumerate(texts)))
            server.process.send_signal(signal.SIGUSR2)
            assert server.process.poll() is None, "it ended"
            for i, reply in whole:
                assert reply == (texts[i] if not self.model else alone[i] if i < 4 else reply), "a reply is not its request's"
            await wait_until_idle(server)
            assert await gauge(server, "vllm:kv_cache_usage_perc") == 0
            await self.check_own_texts(server, texts[:16], await self.replies(server, texts[:16], True))
        return f"{len(whole)} replies whole and their own, {failed} refused with a 5xx, {cut} connections cut; afterwards all is well again"

    async def jumping_clock(self):
        """The wall clock is wrong by up to a day, otherwise at each look, in both directions"""
        texts = self.canaries(self.n(64))
        with self.server("--max-batch", 16, "--log-level", "info", **self.faults(FAULT_CLOCK_SECONDS=86400)) as server:
            idle = [await connect(server) for _ in range(8)]
            start = time.monotonic()
            replies = await self.replies(server, texts, True)
            seconds = time.monotonic() - start
            await self.check_own_texts(server, texts, replies)
            longest = await gauge(server, "vllm:e2e_request_latency_seconds_sum") / len(texts)
            assert 0 <= longest <= seconds, longest
            for reader, writer in idle:  # none was taken for one that is silent for hours
                await send(writer, "/v1/models")
                assert (await read_reply(reader))[0] == 200
                writer.close()
        return f"{len(texts)} streams are their own, no connection is dropped, measured times are those of a clock that does not jump"

    async def terminated(self):
        """SIGTERM in the middle of 16 streams"""
        script = None if self.model else [{"text": "x" * 4000, "delay_ms": 20}]
        ends = {"whole": 0, "cut": 0}
        with self.server("--max-batch", 16, script=script) as server:
            async def listen(i):
                reader, writer = await connect(server)
                await send(writer, "/v1/chat/completions", chat(f"{i}: count on", True, 2000))
                data = b""
                try:
                    while part := await reader.read(1 << 16):
                        data += part
                        started.release()
                except OSError:
                    pass
                writer.close()
                ends["whole" if data.endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n") else "cut"] += 1
                assert data.count(b"finish_reason\":\"") == data.count(b"[DONE]"), "an end that is none"

            started = asyncio.Semaphore(0)
            listening = [asyncio.ensure_future(listen(i)) for i in range(16)]
            for _ in range(16):
                await started.acquire()
            start = time.monotonic()
            server.process.terminate()
            await asyncio.gather(*listening)
            code = await asyncio.to_thread(server.process.wait, 20)
            seconds = time.monotonic() - start
        assert code == 0 and seconds < 10.5, (code, seconds)
        return f"exit code 0 after {seconds:.1f} s; {ends['whole']} ended by themselves, {ends['cut']} were cut, none had a false end"

    async def full_disk(self):
        """The disk of the KV cache is full (a file system of 8 MB)"""
        if not self.model:
            return None
        if os.geteuid() != 0:
            return "not run: to make a file system needs root"
        kv = Path(self.folder) / "kv"
        kv.mkdir()
        mount = ["unshare", "--mount", "sh", "-ec", f'mount -t tmpfs -o size=8m none "{kv}"; exec "$0" "$@"']
        prompts = [f"{i} is the number of this text. " + "It goes on for a while. " * 60 for i in range(12)]
        with self.server(before=mount, AS_KV_OFFLOAD="1", AS_KV_OFFLOAD_PATH=str(kv)) as server:
            replies = await self.replies(server, prompts, False)
            await asyncio.sleep(2)  # what was computed is being written
            again = await self.replies(server, prompts[:4], False)
        assert len(server.said.splitlines()) == 1, server.said
        with self.server() as server:
            alone = await self.replies(server, prompts[:4], False)
        assert replies[:4] == again == alone
        return f"all {len(prompts)} replies are what they are without; one line in the log says that the disk is full"

    async def idle_processor(self):
        """Idle for 10 s with 50 connections open: processor time"""
        with self.server() as server:
            await self.replies(server, ["warm"], False)
            idle = [await connect(server) for _ in range(50)]
            await asyncio.sleep(1)
            before = server.cpu_seconds()
            seconds = 10 if self.scale == 1 else 2
            await asyncio.sleep(seconds)
            share = (server.cpu_seconds() - before) / seconds
            for _, writer in idle:
                writer.close()
        assert share < 0.005, share
        return f"{share * 100:.2f} % of a core"

    async def cut_while_serving(self):
        """The model file is cut to half, then replaced by another, while it is served"""
        if not self.model:
            return None
        copy = Path(self.folder) / "copy.gguf"
        shutil.copyfile(self.model, copy)
        texts = self.canaries(4)
        original, self.model = self.model, copy
        try:
            with self.server() as server:
                before = await self.replies(server, texts, False)
                os.truncate(copy, copy.stat().st_size // 2)
                assert await self.replies(server, texts, False) == before
                copy.write_bytes(b"another file" * 1000)
                assert await self.replies(server, [t + "!" for t in texts], False)
                assert await self.replies(server, texts, False) == before
        finally:
            self.model = original
        return "nothing changes: the weights are in memory, the file is not looked at again"

    async def cut_while_loading(self):
        """The model file is cut while it is being loaded"""
        if not self.model:
            return None
        ends = set()
        for delay in (0.0, 0.02, 0.05, 0.1, 0.2):
            copy = Path(self.folder) / "cut.gguf"
            shutil.copyfile(self.model, copy)
            process = subprocess.Popen([str(self.binary), "--gguf", str(copy), "--port", "0"], stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True, env={**os.environ, "AS_KV_OFFLOAD": "0"})
            await asyncio.sleep(delay)
            os.truncate(copy, 1 << 20)
            line = process.stdout.readline()
            if line:  # it was loaded already
                process.terminate()
            code, said = process.wait(20), process.stderr.read()
            assert code >= 0, f"killed by signal {-code}"
            assert line or (code == 1 and said.startswith("tempo9: ")), said
            ends.add("served" if line else "exit 1 with a message")
        return " or ".join(sorted(ends)) + ", by how far it was"

    async def run(self, names) -> list[tuple[str, str, bool]]:
        rows = []
        for name in names:
            case = getattr(self, name)
            with tempfile.TemporaryDirectory() as self.folder:
                try:
                    result, good = await case(), True
                except Exception as error:  # a case that breaks is a row, too
                    result, good = f"{type(error).__name__}: {error}", False
            if result is not None:
                rows.append((case.__doc__, result, good))
                print(f"{'ok  ' if good else 'FAIL'}  {case.__doc__}: {result}", flush=True)
        return rows


NAMES = ("idle_connections", "streaming_clients", "vanishing_clients", "stopped_and_continued", "refused_allocations", "jumping_clock",
         "terminated", "full_disk", "memory_over_requests", "idle_processor", "cut_while_serving", "cut_while_loading")


def table(rows, mode) -> str:
    lines = [f"| {mode} | |", "| --- | --- |"]
    lines += [f"| {what} | {result if good else '**' + result + '**'} |" for what, result, good in rows]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=Path)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--scale", type=int, default=1, help="divide the numbers by this, for a short look")
    parser.add_argument("--case", action="append", choices=NAMES, help="only this one; may be given several times")
    parser.add_argument("--write", type=Path, help="put the tables between the marks in this file")
    args = parser.parse_args()
    tables, good = [], True
    for model in (None, args.model) if args.model else (None,):
        rows = asyncio.run(Cases(args.binary, model, args.scale).run(args.case or NAMES))
        tables.append(table(rows, f"Model: {model.name}" if model else "Script mode"))
        good = good and all(row[2] for row in rows)
    if args.write:
        version = subprocess.run([args.binary, "--version"], capture_output=True, text=True).stdout.strip()
        machine = f"{version}, {os.cpu_count()} processors, Linux {platform.release()}, {time.strftime('%Y-%m-%d')}."
        text = args.write.read_text()
        head, rest = text.split(BEGIN)
        args.write.write_text(head + BEGIN + "\n" + machine + "\n\n" + "\n\n".join(tables) + "\n" + END + rest.split(END)[1])
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
