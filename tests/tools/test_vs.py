"""bench/vs reads what the peers' own programs print, and its medians and ratios are right."""

import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench/vs"))

import peers  # noqa: E402
import run  # noqa: E402
from peers import Cell  # noqa: E402

# llama-bench -p 0 -n 16 -r 2 -o json, llama-cpp-python 0.3.36; fields that nothing reads left out.
LLAMA_BENCH = """[
  {
    "cpu_info": "Intel(R) Xeon(R) Processor @ 2.80GHz",
    "model_type": "llama 256M Q4_1",
    "n_threads": 2,
    "flash_attn": 0,
    "tensor_split": "0.00",
    "n_prompt": 0,
    "n_gen": 16,
    "n_depth": 0,
    "avg_ns": 7751696511,
    "avg_ts": 2.785099,
    "samples_ns": [ 11695855676, 3807537347 ],
    "samples_ts": [ 1.36801, 4.20219 ]
  }
]
"""
# The same of ik-llama-cpp-python 0.1.5, -n 0 -gp 32,16 -rtr 1.
IK_LLAMA_BENCH = """[
  {
    "model_type": "llama ?B Q4_1",
    "flash_attn": true,
    "repack": true,
    "n_prompt": 32,
    "n_gen": 16,
    "avg_ts": 10.872203,
    "test": "tg16@pp32",
    "samples_ns": [ 2073732953, 1140506765 ],
    "samples_ts": [ 7.71555, 14.0289 ]
  }
]
"""
# llama-batched-bench -npl 8 of the same package, with its backtrace cut short.
IK_ABORTS = """/home/me/ik_llama.cpp/ggml/src/./iqk/fa/iqk_fa_templates.h:1157: GGML_ASSERT(S > 0) failed
ptrace: Operation not permitted.
No stack.
The program is not being run.
30 ../sysdeps/unix/sysv/linux/wait4.c: No such file or directory.
"""
# llama-batched-bench -npp 16 -ntg 8 -npl 2 of llama-cpp-python.
BATCHED_BENCH = """
llama_batched_bench: n_kv_max = 256, n_batch = 2048, n_ubatch = 512, flash_attn = 1, is_pp_shared = 0, is_tg_separate = 0, \
n_gpu_layers = -1, n_threads = 2, n_threads_batch = 2

|    PP |     TG |    B |   N_KV |   T_PP s | S_PP t/s |   T_TG s | S_TG t/s |      T s |    S t/s |
|-------|--------|------|--------|----------|----------|----------|----------|----------|----------|
|    16 |      8 |    2 |     48 |   12.144 |     2.63 |   44.717 |     0.36 |   56.862 |     0.84 |

"""
# tempo9 bench --decode 16 --rows 8 --depth 32 --json
TEMPO9 = """{"results":[{"kind":"decode","n":16,"rows":8,"depth":32,"tok_s":97.21783186029394,\
"range":[90.07986518850056,356.8469151545999],"share_of_roof":0.11164479442792818}]}
"""
# openvino-genai 2026.4.1.0 on a file of Q4_K_M
OPENVINO_REFUSES = """Traceback (most recent call last):
  File "openvino_run.py", line 25, in <module>
RuntimeError: Check 'data != nullptr' failed at \
/home/jenkins/agent/workspace/private-ci/ie/build/repos/openvino.genai/src/cpp/src/gguf_utils/gguf.cpp:84:
[load_gguf] gguf_tensor_to_f16 failed

"""


def engine(kind, name="x"):
    return kind(name, pathlib.Path("/peers/bin"))


def test_each_output_is_read():
    one, two = Cell.parse("decode:1"), Cell.parse("decode:2@16")
    assert engine(peers.LlamaCpp).read(one, LLAMA_BENCH) == [1.36801, 4.20219]
    assert engine(peers.IkLlamaCpp).read(one, IK_LLAMA_BENCH) == [7.71555, 14.0289]
    assert engine(peers.LlamaCpp).read(two, BATCHED_BENCH) == [0.36]
    assert engine(peers.Tempo9).read(Cell("", "decode", 16, 8, 32), TEMPO9) == [97.21783186029394]
    assert engine(peers.OpenVino).read(one, "[INFO] loaded\n[16.25, 16.5]\n") == [16.25, 16.5]


def test_what_has_no_figures_is_none():
    one = Cell.parse("decode:1")
    assert engine(peers.LlamaCpp).read(Cell.parse("decode:8@512"), BATCHED_BENCH) == []
    for kind, text in ((peers.LlamaCpp, ""), (peers.LlamaCpp, LLAMA_BENCH[:300]), (peers.Tempo9, '{"results": []}'),
                       (peers.Tempo9, "{}"), (peers.Tempo9, TEMPO9), (peers.OpenVino, "")):
        with pytest.raises((ValueError, KeyError)):
            engine(kind).read(one, text)


def test_last_words_name_the_fault_and_no_folder():
    assert peers.last_words(1, OPENVINO_REFUSES) == "[load_gguf] gguf_tensor_to_f16 failed"
    assert peers.last_words(-6, IK_ABORTS) == "SIGABRT: iqk_fa_templates.h:1157: GGML_ASSERT(S > 0) failed"
    assert peers.last_words(-11, "loading\n/home/me/x/y.cpp:12: GGML_ASSERT(n > 0) failed\ndone\n") == (
        "SIGSEGV: y.cpp:12: GGML_ASSERT(n > 0) failed")
    assert peers.last_words(1, "") == "no words"


def test_an_engine_that_fails_has_its_words_recorded(tmp_path):
    program = tmp_path / "tempo9"
    program.write_text("#!/bin/sh\necho 'error: no such option' >&2\nexit 2\n")
    program.chmod(0o755)
    turn = run.measure(peers.Tempo9("tempo9", program), Cell.parse("prefill:8"), "", tmp_path / "m.gguf", 1)
    assert turn["failed"] == "error: no such option" and "value" not in turn


def test_cells():
    assert Cell.parse("prefill:512") == Cell("prefill:512", "prefill", 512)
    assert Cell.parse("decode:1") == Cell("decode:1", "decode", 128)
    assert Cell.parse("decode:8@512") == Cell("decode:8@512", "decode", 64, 8, 512)
    assert Cell.parse("busy").kind == "decode"
    for text in ("prefill", "prefill:0", "decode:0", "decode:1@", "decode:x", "busy:1", ""):
        with pytest.raises(ValueError, match="expected prefill:N"):
            Cell.parse(text)


def test_commands():
    def words(kind, cell):
        return " ".join(map(str, engine(kind).command(Cell.parse(cell), pathlib.Path("m.gguf"), 2)))
    assert words(peers.Tempo9, "decode:8@512").endswith("--decode 64 --rows 8 --depth 512")
    assert words(peers.LlamaCpp, "decode:1@16384").endswith("-p 0 -n 64 -d 16384")
    assert words(peers.IkLlamaCpp, "decode:1@16384").endswith("-p 0 -n 0 -gp 16384,64")
    assert "-c 4608 -npp 512 -ntg 64 -npl 8" in words(peers.LlamaCpp, "decode:8@512")


def test_the_best_setting_is_that_of_the_greatest_median():
    def turns(*values):
        return [{"value": v} if v else {"failed": "no"} for v in values]
    assert run.best({"a": turns(1, 9, 2), "b": turns(3, 4, 3), "c": turns(0, 0, 0)}) == ("b", [3, 4, 3])
    assert run.best({"a": turns(0), "b": []}) is None
    found = {"tempo9": ("", [4, 6, 100]), "a": ("", [3, 1, 2]), "b": ("", [4, 4, 5]), "c": None}
    assert run.ratio(found) == "1.50x"
    assert run.ratio({"tempo9": None, "a": ("", [1])}) == run.ratio({"tempo9": ("", [1]), "a": None}) == "-"


def test_table():
    def cell(ours, theirs):
        return {"tempo9": {"": [{"value": v, "other_load": 0.01} for v in ours]},
                "ik": {"rtr 1": [{"value": v, "other_load": 0.03} for v in theirs] or [{"failed": "SIGSEGV: why", "other_load": 0}],
                       "rtr 0": [{"failed": "SIGSEGV: why", "other_load": 0.5}]}}
    text = run.table({"model": "m.gguf", "machine": {"cpu": "C", "cores": 2, "memory_gib": 4}, "threads": 2, "date": "2026-01-02T",
                      "commit": "abc", "rounds": 3, "cells": {"prefill:512": cell([300, 200, 100], [150, 100, 50]),
                                                              "decode:8@512": cell([8], []), "busy": cell([0.45], [0.3])}})
    assert "| prefill, 512 tokens | 200 (100-300) | 100 (50.0-150), rtr 1 | 2.00x |" in text
    assert "| decode, 8 rows together, 512 tokens of context | 8.0 (8.0-8.0) | - | - |" in text
    assert "| decode, 1 row, two other busy processes, share | 45% (45%-45%) | 30% (30%-30%), rtr 1 | 1.50x |" in text
    assert "at most 50%" in text
    assert text.endswith("- ik: `SIGSEGV: why` (decode:8@512)\n")
