"""Writes tests/data/embedders/<case>.npz: what transformers (fp32, eager attention) makes of embedders.py's models.

  python tools/golden/embedders_reference.py [case ...]

Needs torch and transformers; the tests need neither. Arrays, for a prompt of n tokens:

  ids_n     [n]      the prompt
  pooled_n  [width]  pooled as the file declares, through the dense modules where it has them; not scaled
  meta      JSON: versions, SHA-256 of the GGUF; of quantised cases the deviation that int8 activations alone make
"""

import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
import transformers

from embedders import EMBEDDERS, build, pooled, write
from models_gguf import file_hash
from models_hf import simulate_int8
from models_weights import token_ids

OUT = Path(__file__).resolve().parents[2] / "tests" / "data" / "embedders"


def main():
    torch.set_num_threads(1)
    OUT.mkdir(parents=True, exist_ok=True)
    for case in [EMBEDDERS[name] for name in sys.argv[1:]] or EMBEDDERS.values():
        model, dense = build(case)
        arrays, deviations = {}, []
        for n in case.lengths:
            ids = token_ids(f"{case.name}/{n}", n, case.V)
            arrays |= {f"ids_{n}": np.array(ids, np.uint16), f"pooled_{n}": pooled(case, model, dense, ids).astype(np.float32)}
        with tempfile.TemporaryDirectory() as tmp:
            write(case, Path(tmp) / "m.gguf")
            digest = file_hash(Path(tmp) / "m.gguf")
        meta = {"case": case.name, "gguf_sha256": digest, "torch": torch.__version__, "transformers": transformers.__version__}
        if case.types:
            simulate_int8(model)
            for n in case.lengths:
                deviations.append(pooled(case, model, dense, arrays[f"ids_{n}"].tolist()) - arrays[f"pooled_{n}"])
            d = np.concatenate(deviations)
            meta |= {"sim_rms": float(np.sqrt((d * d).mean())), "sim_max": float(np.abs(d).max())}
        arrays["meta"] = np.frombuffer(json.dumps(meta).encode(), np.uint8)
        np.savez_compressed(OUT / f"{case.name}.npz", **arrays)
        size = np.abs(arrays[f"pooled_{case.lengths[-1]}"]).mean()
        print(f"{case.name}: mean magnitude {size:.3f} {({k: v for k, v in meta.items() if k.startswith('sim')})}", flush=True)


if __name__ == "__main__":
    main()
