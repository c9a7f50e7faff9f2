"""Checks models_gguf.py and models_hf.py against llama.cpp's converter: for one transformers checkpoint per case the file
that convert_hf_to_gguf would write must hold the same tensors, bit for bit, and the same hyperparameters.

  PYTHONPATH=$DIR:$DIR/gguf-py python tools/golden/models_check_converter.py [case ...]

DIR is a llama.cpp source tree (see docs/benchmarks.md for where ours comes from); the converter needs the gguf package
beside it. Needs torch and transformers.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import gguf
import numpy as np

from models_cases import CASES, F32_CASES
from models_gguf import write
from models_hf import build

# Known differences: written by one of the two only, and why it does not matter.
IGNORED = ("general.", "tokenizer.", "GGUF.", ".attention.sliding_window_pattern", ".rope.freq_base_swa",
           ".rope.dimension_count", ".vocab_size")


def read(path):
    reader = gguf.GGUFReader(path)
    fields = {k: f.contents() for k, f in reader.fields.items() if not any(i in k for i in IGNORED)}
    return fields, {t.name: np.array(t.data) for t in reader.tensors}


def convert(case, model, folder: Path) -> Path:
    from conversion import get_model_class
    model.save_pretrained(folder)
    (folder / "tokenizer.json").write_text('{"model": {"vocab": {%s}}, "added_tokens": []}' % ", ".join(
        f'"{i}": {i}' for i in range(case.V)))
    import torch
    with torch.inference_mode():
        cls = get_model_class(case.hf_class)
        cls.set_vocab = lambda self: None
        out = folder / "converted.gguf"
        extra = dict(fuse_qkv=True) if case.fused_qkv else {}
        cls(folder, gguf.LlamaFileType.ALL_F32, out, eager=True, **extra).write()
    return out


def compare(case) -> list[str]:
    problems = []
    with tempfile.TemporaryDirectory() as tmp:
        ours = Path(tmp) / "ours.gguf"
        write(case, ours)
        (Path(tmp) / "hf").mkdir()
        theirs = convert(case, build(case), Path(tmp) / "hf")
        our_fields, our_tensors = read(ours)
        their_fields, their_tensors = read(theirs)
    for key in sorted(our_fields.keys() | their_fields.keys()):
        a, b = our_fields.get(key), their_fields.get(key)
        if a != b and not (isinstance(a, float) and isinstance(b, float) and np.isclose(a, b, rtol=1e-7)):
            problems.append(f"{key}: ours {a}, converter {b}")
    if our_tensors.keys() != their_tensors.keys():
        problems.append(f"tensor names differ: {sorted(our_tensors.keys() ^ their_tensors.keys())}")
    for name in our_tensors.keys() & their_tensors.keys():
        a, b = our_tensors[name], their_tensors[name]
        equal = np.allclose(a, b, rtol=1e-6) if name == "rope_freqs.weight" else np.array_equal(a, b)
        if not equal:
            problems.append(f"{name}: shapes {a.shape} {b.shape}, values differ")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*")
    args = parser.parse_args()
    failed = 0
    for case in [CASES[n] for n in args.cases] or F32_CASES:
        problems = compare(case)
        failed += bool(problems)
        print(case.name, "equal" if not problems else "DIFFERS")
        for line in problems:
            print("   ", line)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
