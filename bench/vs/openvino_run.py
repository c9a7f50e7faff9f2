"""One cell with OpenVINO GenAI, run by the Python of its own environment. Prints tok/s of each repeat as JSON.

  openvino_run.py MODEL.gguf THREADS prefill|decode N REPEATS ROWS DEPTH
"""

import json
import sys

import numpy as np
import openvino as ov
import openvino_genai as genai


def generate(pipeline, rows: int, n_prompt: int, n_new: int):
    """Random token ids in, new ones each time (the pipeline caches prefixes), greedy ones out; the pipeline's own times in ms:
    to the first token, to the last one."""
    ids = random.integers(1000, 20000, (rows, n_prompt)).astype(np.int64)
    config = genai.GenerationConfig(max_new_tokens=n_new, min_new_tokens=n_new, ignore_eos=True, do_sample=False)
    times = pipeline.generate(genai.TokenizedInputs(ov.Tensor(ids), ov.Tensor(np.ones_like(ids))), config).perf_metrics
    return times.get_ttft().mean, times.get_generate_duration().mean


model, threads, kind, *numbers = sys.argv[1:]
n, repeats, rows, depth = map(int, numbers)
random = np.random.default_rng(0)
pipe = genai.LLMPipeline(model, "CPU", INFERENCE_NUM_THREADS=int(threads))
generate(pipe, 1, 64, 4)  # warm-up
values = []
for _ in range(repeats):
    first, last = generate(pipe, rows, n, 1) if kind == "prefill" else generate(pipe, rows, max(1, depth), n + 1)
    values.append(1000 * n / first if kind == "prefill" else 1000 * rows * n / (last - first))
print(json.dumps(values))
