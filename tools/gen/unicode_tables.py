#!/usr/bin/env python3
"""Writes src/tokenizer/unicode_class.inc and src/tokenizer/unicode_nfc.inc.

Needs unicodedata2==16.0.0 and tokenizers==0.23.3. The tables follow what Hugging Face
tokenizers really does, and that is two Unicode versions at once.
  - Its regexes (Oniguruma) know the categories and white space of Unicode 16.0. Checked here over all code points.
  - Its NFC (an old fork of unicode-normalization) knows Unicode 9.0: marks and compositions added later stay as they
    are. Each code point with a combining class or a decomposition is put to it here, and left out where it does not
    know it; afterwards the result is compared with it on all code points and on pairs.

    unicode_tables.py            write the tables
    unicode_tables.py --check    fail if the files differ from what would be written
"""
import argparse
import pathlib
import sys

import tokenizers
import unicodedata2 as ud
from tokenizers import Regex, normalizers, pre_tokenizers

UNICODE = "16.0.0"
TOKENIZERS = "0.23.3"
OUT = pathlib.Path(__file__).resolve().parents[2] / "src" / "tokenizer"
CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]
BLOCK = 128
# Bit order of unicode.h.
BITS = {"Lu": 1, "Ll": 2, "Lt": 4, "Lm": 8, "Lo": 16, "M": 32, "N": 64, "P": 128, "S": 256}
WHITE, NOT_NFC_SAFE = 512, 1024
HANGUL = range(0xAC00, 0xAC00 + 11172)


def hf_class(pattern):
    """Code points that one character of the pattern matches in Hugging Face tokenizers."""
    found = set()
    split = pre_tokenizers.Split(Regex(pattern), "removed")
    for start in range(0, len(CODE_POINTS), 4096):
        block = CODE_POINTS[start : start + 4096]
        kept = set()
        for _, (a, b) in split.pre_tokenize_str("".join(map(chr, block))):
            kept.update(range(a, b))
        found.update(c for i, c in enumerate(block) if i not in kept)
    return found


def hf_normalization():
    """(ccc, decompositions, compositions) as Hugging Face's normalizers know them."""
    nfd, nfc = normalizers.NFD().normalize_str, normalizers.NFC().normalize_str
    # U+0323 has class 220 and U+0345 has 240, U+0334 has 1: a mark moves past one of them if its class is known.
    ccc = {}
    for c in CODE_POINTS:
        k = ud.combining(chr(c))
        if not k:
            continue
        low, high = ("\u0334", 1), ("\u0345", 240)
        moved = k > low[1] and nfd("a" + chr(c) + low[0])[1] == low[0]
        moved = moved or (k < high[1] and nfd("a" + high[0] + chr(c))[1:2] == nfd(chr(c))[:1])
        if moved or k in (1, 240):
            ccc[c] = k
    decompositions, compositions = {}, []
    for c in CODE_POINTS:
        if c in HANGUL:
            continue
        full = ud.normalize("NFD", chr(c))
        if full == chr(c) or nfd(chr(c)) != full:
            continue
        decompositions[c] = [ord(x) for x in full]
        if nfc(chr(c)) == chr(c):  # else excluded from composition
            pair = [int(x, 16) for x in ud.decomposition(chr(c)).split()]
            if len(pair) == 2:
                compositions.append((pair[0], pair[1], c))
    return ccc, decompositions, sorted(compositions)


def check_normalization(ccc, decompositions, compositions):
    """Our tables, run through the plain algorithm, against Hugging Face's NFC."""
    compose = {(a, b): c for a, b, c in compositions}

    def decompose(c):
        if c in HANGUL:
            s = c - HANGUL.start
            t = s % 28
            return [0x1100 + s // 588, 0x1161 + s % 588 // 28] + ([0x11A7 + t] if t else [])
        return decompositions.get(c, [c])

    def pair(a, b):
        if 0x1100 <= a < 0x1113 and 0x1161 <= b < 0x1176:
            return HANGUL.start + ((a - 0x1100) * 21 + b - 0x1161) * 28
        if a in HANGUL and (a - HANGUL.start) % 28 == 0 and 0x11A7 < b < 0x11C3:
            return a + b - 0x11A7
        return compose.get((a, b))

    def nfc(text):
        chars, run = [], []
        for c in (d for x in text for d in decompose(ord(x))):
            if ccc.get(c, 0) == 0:
                chars += sorted(run, key=lambda x: ccc.get(x, 0)) + [c]
                run = []
            else:
                run.append(c)
        chars += sorted(run, key=lambda x: ccc.get(x, 0))
        out, starter, last = [], -1, 0
        for c in chars:
            k = ccc.get(c, 0)
            if starter >= 0 and (last < k or starter == len(out) - 1):
                merged = pair(out[starter], c)
                if merged is not None:
                    out[starter] = merged
                    continue
            if k == 0:
                starter = len(out)
            last = k
            out.append(c)
        return "".join(map(chr, out))

    reference = normalizers.NFC().normalize_str
    marks = sorted({min(c for c in ccc if ccc[c] == k) for k in set(ccc.values())})
    texts = [chr(c) for c in CODE_POINTS]
    odd = [c for c in CODE_POINTS if ud.combining(chr(c)) or ud.category(chr(c))[0] == "M"]
    texts += ["a" + chr(c) + chr(m) for c in odd for m in marks[::5]] + ["a" + chr(m) + chr(c) for c in odd for m in marks[::5]]
    texts += [ud.normalize("NFD", chr(c)) for c in CODE_POINTS if ud.normalize("NFD", chr(c)) != chr(c)]
    wrong = [t for t in texts if nfc(t) != reference(t)]
    if wrong:
        sys.exit(f"NFC differs from tokenizers on {len(wrong)} texts: {[ascii(t) for t in wrong[:8]]}")


def mask(c, ccc, unsafe):
    category = ud.category(chr(c)) if not 0xD800 <= c <= 0xDFFF else "Cs"
    bits = BITS.get(category, BITS.get(category[0], 0))
    if c in WHITE_SPACE:
        bits |= WHITE
    if c in ccc or c in unsafe:
        bits |= NOT_NFC_SAFE
    return bits


def rows(values, per_line=24):
    return "".join("  " + ", ".join(str(v) for v in values[i : i + per_line]) + ",\n" for i in range(0, len(values), per_line))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    if ud.unidata_version != UNICODE or tokenizers.__version__ != TOKENIZERS:
        sys.exit(f"needs unicodedata2 {UNICODE} (found {ud.unidata_version}) and tokenizers {TOKENIZERS} "
                 f"(found {tokenizers.__version__})")
    global WHITE_SPACE
    WHITE_SPACE = hf_class(r"\s")
    for name in BITS:
        ours = {c for c in CODE_POINTS if ud.category(chr(c)).startswith(name)}
        if ours != hf_class(rf"\p{{{name}}}"):
            sys.exit(f"\\p{{{name}}} of tokenizers {TOKENIZERS} is not Unicode {UNICODE}")
    ccc, decompositions, compositions = hf_normalization()
    check_normalization(ccc, decompositions, compositions)
    # A text without these is its own NFC: anything that decomposes, reorders, or may combine with what stands before it.
    seconds = {b for _, b, _ in compositions} | set(range(0x1161, 0x1176)) | set(range(0x11A8, 0x11C3))
    composed = {c for _, _, c in compositions}
    unsafe = seconds | {c for c in decompositions if c not in composed}

    masks = [mask(c, ccc, unsafe) for c in range(0x110000)]
    kinds = sorted(set(masks))
    kind_of = {m: i for i, m in enumerate(kinds)}
    blocks, index = {}, []
    for start in range(0, 0x110000, BLOCK):
        block = tuple(kind_of[m] for m in masks[start : start + BLOCK])
        index.append(blocks.setdefault(block, len(blocks)))
    head = f"// Generated by tools/gen/unicode_tables.py: Unicode {UNICODE} as tokenizers {TOKENIZERS} sees it. Do not edit.\n"
    classes = head
    classes += f"inline constexpr uint16_t kClassMasks[{len(kinds)}] = {{\n{rows(kinds)}}};\n"
    classes += f"inline constexpr uint16_t kClassIndex[{len(index)}] = {{\n{rows(index, 32)}}};\n"
    flat = [v for b in blocks for v in b]
    classes += f"inline constexpr uint8_t kClassBlocks[{len(flat)}] = {{\n{rows(flat, 48)}}};\n"

    nfc = head.replace(f"Unicode {UNICODE}", "the NFC data (Unicode 9.0)")
    items = sorted(ccc.items())
    nfc += f"inline constexpr CombiningClass kCombiningClasses[{len(items)}] = {{\n"
    nfc += rows([f"{{0x{c:X}, {k}}}" for c, k in items], 10) + "};\n"
    expansion, entries = [], []
    for c, full in sorted(decompositions.items()):
        entries.append(f"{{0x{c:X}, {len(expansion)}, {len(full)}}}")
        expansion += [f"0x{x:X}" for x in full]
    nfc += f"inline constexpr Decomposition kDecompositions[{len(entries)}] = {{\n{rows(entries, 8)}}};\n"
    nfc += f"inline constexpr char32_t kExpansions[{len(expansion)}] = {{\n{rows(expansion, 16)}}};\n"
    nfc += f"inline constexpr Composition kCompositions[{len(compositions)}] = {{\n"
    nfc += rows([f"{{0x{a:X}, 0x{b:X}, 0x{c:X}}}" for a, b, c in compositions], 6) + "};\n"

    for name, text in (("unicode_class.inc", classes), ("unicode_nfc.inc", nfc)):
        path = OUT / name
        if args.check:
            if not path.exists() or path.read_text() != text:
                sys.exit(f"{path} is not what {pathlib.Path(__file__).name} writes; run it")
        else:
            path.write_text(text)
            print(f"{path}: {len(text)} bytes")


if __name__ == "__main__":
    main()
