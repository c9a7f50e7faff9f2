"""Texts that are hard to tokenise: a fixed list, and a generator for random ones. Both are deterministic."""
import itertools
import random

WORDS = """the of and to Hello World hello world tokenizer don't can't I'll you've WE'RE it's IT'S they'd I'm 'tis rock'n'roll
O'Reilly camelCase PascalCase snake_case SCREAMING_CASE kebab-case HTTPServer iPhone eBay ﬁne ﬂow Straße STRASSE naïve café
Ünïcödé Ærøskøbing œuvre Łódź İstanbul ıspanak ſtraße dž ǅ ǈ привет Москва ЁЛКА київ ελληνικά Σίσυφος ΟΔΥΣΣΕΥΣ עברית שָׁלוֹם العربية
مَرْحَبًا فارسی‌ها हिन्दी नमस्ते தமிழ் తెలుగు বাংলা ไทยแลนด์ สวัสดีครับ ພາສາລາວ မြန်မာ ភាសាខ្មែរ 中文 漢字 简体 日本語 ひらがな カタカナ ｶﾀｶﾅ
한국어 안녕하세요 ᄒᆞᆫ 글 ქართული Հայերեն አማርኛ ᏣᎳᎩ ᠮᠣᠩᠭᠣᠯ ꦗꦮ 𐐀𐐨 𝔘𝔫𝔦 𝟘𝟙𝟚 𠮷𠮶 ʰʷ ˈaɪ ªº Ⅷ ⅷ ½ ¼ ٣ ۴ ५ ๕ ㊿ ① ⑴ 五""".split()
EMOJI = ["😀", "👍🏽", "👨‍👩‍👧‍👦", "🏳️‍🌈", "🇩🇪", "🇯🇵🇺🇸", "❤️", "☎︎", "1️⃣", "#️⃣", "🧑🏿‍💻", "🫠", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "⌨️", "©️", "🤷🏻‍♀️"]
SPACES = [" ", "  ", "   ", "    ", " " * 7, " " * 16, " " * 33, "\t", "\t\t", "\n", "\n\n", "\n\n\n", "\r\n", "\r\n\r\n", "\r", " \n",
          "\n ", "  \n  ", "\t\n", "\v", "\f", "\x1c", "\x85", "\u00a0", "\u00a0\u00a0", "\u1680", "\u2003", "\u2009", "\u2028",
          "\u2029", "\u202f", "\u205f", "\u3000", "\u3000\u3000", "\u200b", "\u200c", "\u200d", "\u2060", "\ufeff", "▁", "▁▁", "▁ ▁"]  # fmt: skip
MARKS = ["e\u0301", "\u00e9", "a\u030a", "\u212b", "o\u0302\u0323", "o\u0323\u0302", "\u1ed9", "q\u0307\u0323", "\u0344", "\u0958", "\u0915\u093c",
         "\u1100\u1161\u11a8", "\uac00\u11a8", "\uac01", "\u2126", "\u212a", "\uf900", "\ufb1d", "\u0f73", "\u0301", "\u0301\u0301", "\u0300a",
         "x\u0336y\u0336", "Z\u0351\u0343\u034a\u0323\u0345", "\u05e9\u05c1\u05bc", "\u0e01\u0e33", "\u1e9b\u0323", "\u3099", "か\u3099", "\u0cc6\u0cc2",
         "\u0dd9\u0dcf\u0dca", "\U0001d15e", "\u0338", "<\u0338", "=\u0338", "\u0897\u0301", "a\u0898\u0325", "\U000105d2\u0307", "\u0c3c\u0301"]  # fmt: skip
PUNCTUATION = list("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~") + [
    "...", "!!!", "?!", "--", "->", "=>", "==", "!=", "&&", "||", "/*", "*/", "//", "///", "://", "#!/", "\\n", "\\u0041", "{{", "}}",
    "“", "”", "‘", "’", "«", "»", "—", "…", "、", "。", "！", "？", "「", "」", "（", "）", "・", "～", "〜", "€", "£", "¥", "₿", "×", "÷",
    "±", "∑", "√", "≠", "→", "⇒", "■", "★", "☃", "©", "®", "™", "§", "¶", "†", "‰", "№", "℃", "¿", "¡", "·", "՞", "؟", "।", "༄",
]  # fmt: skip
NUMBERS = ["0", "7", "42", "123", "1234", "12345", "123456", "3.14159", "1,234,567.89", "1e-10", "0x1F4A9", "2024-02-29", "23:59:59",
           "+1-555-0100", "192.168.0.1", "100%", "$9.99", "٠١٢٣٤", "１２３４", "3rd", "a1b2c3", "v2.0.1-rc1", "1234567890" * 4]  # fmt: skip
CONTROL_LIKE = ["<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|begin_of_text|>", "<|start_header_id|>", "<s>", "</s>", "<unk>",
                "<pad>", "<bos>", "<eos>", "<start_of_turn>", "<end_of_turn>", "<|turn>", "<turn|>", "<think>", "</think>", "<tool_call>",
                "</tool_call>", "<｜User｜>", "<｜end▁of▁sentence｜>", "[INST]", "[/INST]", "<0x0A>", "<0xFF>", "<unused0>", "<h1>", "</h1>",
                "<|im_start", "im_end|>", "<|", "|>", "<|fim_prefix|>", "<mask>", "[gMASK]", "<|return|>", "<|\"|>", "<start_of_image>"]  # fmt: skip
CONTROL_CHARACTERS = ["\0", "\0\0\0", "a\0b", "\x01", "\x07", "\x08", "\x1b[31m", "\x7f", "\x80", "\x9f", "\ufffd", "\ufffe", "\uffff", "\U0010ffff",
                      "\ue000", "\U000f0000", "\u00ad", "\u061c", "\u202e", "\u2066", "\u2069", "\u0378", "\U000e0001"]  # fmt: skip
CONTRACTIONS = ["'" + c + t for c in ("s", "t", "re", "ve", "m", "ll", "d", "S", "T", "RE", "Ve", "M", "LL", "lL", "D", "ſ", "x", "l", "r")
                for t in ("", "x", " ")] + ["''s", "'’s", "’s", "a's", "1's", " 's", "\n's", "'s's", "é's", "中's", "A'S"]  # fmt: skip
CODE = ["for (int i = 0; i < n; ++i) {\n\tsum += a[i];\n}\n", "def f(x):\n    return x ** 2  # square\n\n\nclass A(B):\n        pass\n",
        "SELECT * FROM t WHERE a<>'b' AND c>=1;", "<div class=\"a\">&nbsp;</div>\r\n", "{\"a\": [1, 2.5e3, null], \"b\": \"\\u00e9\"}",
        "https://example.com/path?q=1&r=%20#frag", "user.name+tag@example.co.uk", "C:\\Users\\x\\file.txt", "a+b=c;d--;e!==f",
        "SGVsbG8gV29ybGQhIFRoaXMgaXMgYmFzZTY0IQ==", "deadbeefDEADBEEF0123456789", "| a | b |\n|---|:-:|\n", "\\frac{a}{b}^{2}_{i}",
        "@decorator\nasync def x(*, y=None) -> None: ...", "#include <vector>\n#define X(a) (a##b)\n", "$ git log --oneline | head -n 5\n"]  # fmt: skip
REPEATS = ["a" * 70, "A" * 51, "ab" * 40, " " * 70, "\n" * 50, "\t" * 40, "=" * 80, "-" * 33, "." * 100, "1" * 50, "中" * 40, "ก" * 30, "😀" * 20,
           "\u0301" * 40, "aA" * 30, "Aa" * 30, "é" * 30, "<" * 30, "▁" * 35, " \n" * 20, "ha" * 25 + "!", "\u3000" * 20, "0" * 300, "\r\n" * 12,
           "__" * 20, "xyz " * 20, "(((((((((())))))))))", "\u200d" * 12, "가나다" * 12, "ไม่" * 15]  # fmt: skip
POOLS = [WORDS, EMOJI, SPACES, MARKS, PUNCTUATION, NUMBERS, CONTROL_LIKE, CONTROL_CHARACTERS, CONTRACTIONS, CODE, REPEATS]
SAMPLE = ["a", "A", "é", "中", "1", ".", " ", "\n", "'s", "\u0301", "😀", "ก"]


def hard_strings():
    """At least 500, all different."""
    texts = [t for pool in POOLS for t in pool]
    texts += [" " + t for t in WORDS[::2] + NUMBERS + EMOJI[::3]] + [t + "\n" for t in PUNCTUATION[::3]]
    texts += ["".join(p) for p in itertools.permutations(SAMPLE, 2)]
    texts += [a + s + b for a, s, b in zip(itertools.cycle(WORDS), SPACES, itertools.cycle(PUNCTUATION))]
    texts += random_strings(150, seed=1)
    return list(dict.fromkeys(t for t in texts if t))


def random_character(rng):
    ranges = [(0x20, 0x7F), (0xA0, 0x250), (0x250, 0x370), (0x370, 0x530), (0x590, 0x780), (0x900, 0xE00), (0xE00, 0x1000), (0x1000, 0x2000),
              (0x2000, 0x2C00), (0x3000, 0x3100), (0x4E00, 0xA000), (0xAC00, 0xD7A4), (0xF900, 0x10000), (0x10000, 0x12000), (0x1D100, 0x1D800),
              (0x1F300, 0x1FB00), (0, 0x20), (0x300, 0x370), (0, 0x110000)]  # fmt: skip
    while True:
        low, high = rng.choice(ranges)
        code = rng.randrange(low, high)
        if not 0xD800 <= code < 0xE000:
            return chr(code)


def random_strings(n, seed):
    """Pieces of the pools and random characters in random order, 1 to about 200 characters."""
    rng = random.Random(seed)
    texts = []
    for _ in range(n):
        parts = []
        for _ in range(rng.choice((1, 2, 3, 4, 6, 9, 14, 20))):
            kind = rng.random()
            if kind < 0.70:
                parts.append(rng.choice(rng.choice(POOLS[:10])))
            elif kind < 0.75:
                parts.append(rng.choice(SPACES + ["a", "1", "!", "中", "\u0301"]) * rng.randrange(1, 20))
            else:
                parts += [random_character(rng) for _ in range(rng.randrange(1, 6))]
            if rng.random() < 0.35:
                parts.append(rng.choice((" ", " ", "\n", "  ", "'", "\u0301", "")))
        texts.append("".join(parts))
    return texts


def invalid_utf8(n, seed):
    """Byte strings that are no valid UTF-8 (most of them): text with bytes dropped, doubled, replaced."""
    rng = random.Random(seed)
    texts = []
    for text in random_strings(n, seed):
        data = bytearray(text.encode())
        for _ in range(rng.randrange(1, 5)):
            at = rng.randrange(len(data) + 1)
            data[at : at + rng.randrange(0, 3)] = bytes(rng.randrange(128, 256) for _ in range(rng.randrange(0, 3)))
        texts.append(bytes(data))
    return texts
