#!/usr/bin/env python3
"""Writes a GGUF file's tokenizer as the folder that Hugging Face's library reads. Run by the load tool's own Python.

  tokenizer_folder.py MODEL.gguf FOLDER

Byte-level BPE only, and split into words as GPT-2 did: enough to make prompts of about the right length.
"""

import sys

from gguf import GGUFReader
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast


def main() -> None:
    reader = GGUFReader(sys.argv[1])

    def field(name: str):
        return reader.fields[f"tokenizer.ggml.{name}"].contents()

    if field("model") != "gpt2":
        sys.exit(f"{sys.argv[1]}: found tokenizer {field('model')}, expected gpt2 (byte-level BPE)")
    tokens = field("tokens")
    merges = [tuple(pair.split(" ", 1)) for pair in field("merges")]
    tokenizer = Tokenizer(models.BPE({token: i for i, token in enumerate(tokens)}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    end = tokens[field("eos_token_id")]
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=end, pad_token=end).save_pretrained(sys.argv[2])


if __name__ == "__main__":
    main()
