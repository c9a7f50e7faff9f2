#!/usr/bin/env python3
"""Perplexity and first choices of a real model on a public text, beside llama.cpp on the same file.

  bench/vs/build_peers.py llama.cpp
  bench/quality/compare.py ~/.cache/tempo9/models/*.gguf            # writes docs/models.md and bench/results/quality
  bench/quality/compare.py --tokens 4096 --out /tmp/q MODEL.gguf    # a look

The text is the Debian Policy Manual as Debian's package debian-policy has it (apt-get download; nothing is installed). It is cut at
paragraphs into pieces, because llama-perplexity writes the logits of all it scores: 300 kB a token for a large
vocabulary. Both engines cut each piece into chunks of 512 tokens and score the second half of each; `tempo9 quality`
says how. A first choice is the same when llama.cpp's own logits, which it writes in 16 bits, have none above ours.
"""

import argparse
import gzip
import hashlib
import json
import math
import os
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench/vs"))

from build_peers import program_folder  # noqa: E402

CONTEXT = 512
PIECE_BYTES = 24_000
RESULTS, PAGE = ROOT / "bench/results/quality", ROOT / "docs/models.md"
BEGIN, END = "<!-- quality: written by bench/quality/compare.py -->", "<!-- end of quality -->"


def public_text() -> str:
    with tempfile.TemporaryDirectory() as folder:
        # apt's own user may not write into a folder of ours, and says so.
        subprocess.run(["apt-get", "download", "-q", "debian-policy"], cwd=folder, check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        (package,) = Path(folder).glob("debian-policy_*.deb")
        subprocess.run(["dpkg", "-x", package, folder], check=True)
        (text,) = Path(folder).rglob("policy.txt.gz")
        return gzip.decompress(text.read_bytes()).decode()


def pieces(text: str) -> list[str]:
    out = [""]
    for paragraph in re.split(r"(?<=\n\n)", text):
        if len(out[-1]) + len(paragraph) > PIECE_BYTES:
            out.append("")
        out[-1] += paragraph
    return out


def ours(args, gguf: Path, piece: Path) -> dict:
    done = subprocess.run([args.tempo9, "quality", gguf, "--text", piece, "--context", str(CONTEXT), "--json", "--positions"],
                          capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def theirs(args, gguf: Path, piece: Path) -> tuple[float, np.ndarray]:
    """llama.cpp's perplexity, and its 16-bit log-probabilities [scored tokens, vocabulary]."""
    with tempfile.TemporaryDirectory() as folder:
        logits = Path(folder) / "logits"
        done = subprocess.run([args.llama_perplexity, "-m", gguf, "-f", piece, "-c", str(CONTEXT), "-b", str(CONTEXT),
                               "-t", str(args.threads), "--kl-divergence-base", logits], capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stderr[-2000:])
        perplexity = float(re.search(r"Final estimate: PPL = ([\d.]+)", done.stdout + done.stderr)[1])
        raw = logits.read_bytes()
    assert raw[:8] == b"_logits_", raw[:8]
    n_context, n_vocab, n_chunks = struct.unpack_from("<iii", raw, 8)
    assert n_context == CONTEXT, n_context
    width = 2 * ((n_vocab + 1) // 2) + 4  # two floats stand before the numbers of a row
    rows = np.frombuffer(raw, np.uint16, offset=20 + 4 * n_chunks * n_context).reshape(-1, width)
    return perplexity, rows[:, 4:4 + n_vocab]


def compare(args, gguf: Path, text: str) -> dict:
    nll, their_nll, n_scored, n_same, n_read = 0.0, 0.0, 0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for number, piece in enumerate(pieces(text)):
            path = Path(folder) / "piece.txt"
            path.write_text(piece)
            own = ours(args, gguf, path)
            perplexity, rows = theirs(args, gguf, path)
            assert len(rows) == own["n_scored"], f"{len(rows)} tokens scored by llama.cpp, {own['n_scored']} by tempo9"
            first = np.array([p["top_1"] for p in own["positions"]])
            n_same += int((rows[np.arange(len(rows)), first] == rows.max(axis=1)).sum())
            nll += -sum(p["logprob"] for p in own["positions"])
            their_nll += own["n_scored"] * math.log(perplexity)
            n_scored += own["n_scored"]
            n_read += own["n_chunks"] * CONTEXT
            print(f"{gguf.name}: piece {number + 1}, {n_read} tokens: {math.exp(nll / n_scored):.4f} beside "
                  f"{math.exp(their_nll / n_scored):.4f}, {100 * n_same / n_scored:.2f} % the same", flush=True)
            if n_read >= args.tokens:
                break
    return {"model": gguf.name, "text": "debian-policy", "text_sha256": hashlib.sha256(text.encode()).hexdigest(),
            "tokens": n_read, "scored": n_scored, "perplexity": math.exp(nll / n_scored),
            "llama_cpp_perplexity": math.exp(their_nll / n_scored), "same_top_1": n_same / n_scored}


def table(results: list[dict]) -> str:
    lines = ["| file | tokens | perplexity | llama.cpp's | ratio | same first choice |", "| --- | --- | --- | --- | --- | --- |"]
    lines += [f"| {r['model']} | {r['tokens']:,} | {r['perplexity']:.3f} | {r['llama_cpp_perplexity']:.3f} "
              f"| {r['perplexity'] / r['llama_cpp_perplexity']:.4f} | {100 * r['same_top_1']:.2f} % |" for r in results]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL.gguf")
    parser.add_argument("--tokens", type=int, default=65536, help="of the text, at least (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--tempo9", default=os.environ.get("TEMPO9_BIN", ROOT / "build/release/tempo9"))
    parser.add_argument("--llama-perplexity", default=program_folder("llama.cpp") / "llama-perplexity")
    parser.add_argument("--out", type=Path, help="results there, and docs/models.md is left as it is")
    args = parser.parse_args()
    text = public_text()
    out = args.out or RESULTS
    out.mkdir(parents=True, exist_ok=True)
    for gguf in args.models:
        (out / f"{gguf.stem}.json").write_text(json.dumps(compare(args, gguf, text), indent=1) + "\n")
    results = [json.loads(path.read_text()) for path in sorted(out.glob("*.json"))]
    print(table(results))
    if not args.out:
        page = PAGE.read_text()
        before, rest = page.split(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}\n\n{table(results)}\n\n{END}{rest.split(END)[1]}")


if __name__ == "__main__":
    main()
