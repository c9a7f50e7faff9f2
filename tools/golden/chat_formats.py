"""Calls as the models' own templates write them, for the output parsers: tests/data/chat/format_cases.json.

Jinja2 renders a conversation with calls through each template of llama-cpp-python's source package (--templates:
vendor/llama.cpp/models/templates in it). What follows the generation prompt is what such a model writes, so the parser of
the format must read the same calls, text and thinking from it. Only our own words and the format's marks are kept.

    python tools/golden/chat_formats.py --templates DIR
"""

import argparse
import copy
import hashlib
import json
from pathlib import Path

import chat_environment

OUT = Path(__file__).resolve().parents[2] / "tests/data/chat/format_cases.json"
NOW = "2026-05-04T10:11:12"
TOOLS = [
    {"type": "function", "function": {"name": "get_weather", "description": "The weather.", "parameters": {
        "type": "object", "required": ["city"], "properties": {
            "city": {"type": "string"}, "days": {"type": "integer"}, "on": {"type": "boolean"},
            "opts": {"type": "object"}, "rows": {"type": "array"}}}}},
    {"type": "function", "function": {"name": "now", "description": "The time.", "parameters": {
        "type": "object", "properties": {}}}},
]
ARGUMENTS = {"city": "Lu \"nd\"\n</x> }] é", "days": 2, "on": True, "opts": {"a": [1, None, True], "b": "c"},
             "rows": [1.5, "x"]}
THINKING, TEXT = "Hm, the weather.", "Let me see."

# template, format, what the template can hold beside calls: n calls, text, the key that thinking is taken from
CASES = [
    ("Qwen3-Coder", "qwen3-coder", 2, TEXT, None),
    ("Qwen3.5-4B", "qwen3-coder", 2, TEXT, "reasoning_content"),
    ("NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "qwen3-coder", 2, TEXT, "reasoning_content"),
    ("Qwen-Qwen2.5-7B-Instruct", "hermes", 2, TEXT, None),
    ("Qwen-Qwen3-0.6B", "hermes", 2, TEXT, "reasoning_content"),
    ("NousResearch-Hermes-3-Llama-3.1-8B-tool_use", "hermes", 2, "", None),
    ("meta-llama-Llama-3.1-8B-Instruct", "llama3-json", 1, "", None),
    ("meta-llama-Llama-3.2-3B-Instruct", "llama3-json", 1, "", None),
    ("meta-llama-Llama-3.3-70B-Instruct", "llama3-json", 1, "", None),
    ("mistralai-Mistral-Nemo-Instruct-2407", "mistral-v3", 2, "", None),
    ("Mistral-Small-3.2-24B-Instruct-2506", "mistral", 2, "", None),
    ("unsloth-mistral-Devstral-Small-2507", "mistral", 2, TEXT, None),
    ("mistralai-Ministral-3-14B-Reasoning-2512", "mistral", 2, TEXT, None),
    ("openai-gpt-oss-120b", "harmony", 1, "", "thinking"),
    ("google-gemma-4-31B-it", "gemma4", 2, "", "reasoning_content"),
    ("deepseek-ai-DeepSeek-R1-Distill-Qwen-32B", "deepseek-v3", 2, "", None),
    ("deepseek-ai-DeepSeek-V3.1", "deepseek-v3.1", 2, TEXT, None),
    ("deepseek-ai-DeepSeek-V3.2", "deepseek-v3.2", 2, TEXT, "reasoning_content"),
    ("GLM-4.6", "glm4", 2, TEXT, "reasoning_content"),
    ("GLM-4.7-Flash", "glm4", 2, TEXT, "reasoning_content"),
    ("NVIDIA-Nemotron-Nano-v2", "nemotron", 2, "", None),
    ("MiniMax-M2", "minimax-m2", 2, TEXT, "reasoning_content"),
    ("MiniMax-M1", "minimax-m1", 2, "", None),
    ("LFM2.5-8B-A1B", "lfm2", 2, TEXT, "thinking"),
    ("moonshotai-Kimi-K2", "kimi-k2", 2, TEXT, None),
    ("google-gemma-2-2b-it", "gemma3", 0, TEXT, None),
]
ENDS = ["<|im_end|>", "<EOS>", "<|eot_id|>", "<|call|>", "<|tool_response>", "<turn|>", "<｜end▁of▁sentence｜>", "[e~[",
        "<end_of_sentence>", "<SPECIAL_12>", "<end_of_turn>"]


def render(source: str, messages: list, prompt: bool, thinking: bool) -> str:
    variables = {"messages": messages, "tools": TOOLS, "add_generation_prompt": prompt, "bos_token": "<BOS>",
                 "eos_token": "<EOS>", "enable_thinking": thinking}
    answer = chat_environment.render(source, copy.deepcopy(variables), NOW)
    if "text" not in answer:
        raise SystemExit(f"{answer}")
    return answer["text"]


def reply_of(source: str, message: dict, thinking: bool) -> tuple[str, str]:
    user = [{"role": "user", "content": "Question?"}]
    prompt = render(source, user, True, thinking)
    whole = render(source, user + [message], False, thinking)
    if not whole.startswith(prompt):  # the prompt opens thinking, and history drops it
        for opening in ("<think>\n</think>", "\n<think></think>", "<think></think>", "<think>\n", "<think>",
                        "<|channel>thought\n<channel|>"):
            bare = prompt.removesuffix(opening)
            if bare != prompt and whole.startswith(bare):
                prompt = bare
                break
        else:
            raise SystemExit(f"prompt: {prompt[-200:]!r}\nwhole: {whole[-600:]!r}")
    reply = whole[len(prompt):]
    ends = [reply.find(end) for end in ENDS if end in reply]
    return prompt, (reply[:min(ends)] if ends else reply).removeprefix("\n<SPECIAL_11>Assistant\n")


def case(templates: Path, name: str, format_name: str, n_calls: int, text: str, key: str | None) -> dict:
    source = (templates / f"{name}.jinja").read_text()
    calls = [("get_weather", ARGUMENTS), ("now", {})][:n_calls]
    message = {"role": "assistant", "content": text, "tool_calls": [
        {"id": f"abcdef12{i}", "type": "function", "function": {"name": n, "arguments": a}}
        for i, (n, a) in enumerate(calls)]}
    if key:
        message[key] = THINKING
    if not calls:
        del message["tool_calls"]
    prompt, reply = reply_of(source, message, key is not None)
    return {"template": name, "sha256": hashlib.sha256(source.encode()).hexdigest(), "format": format_name,
            "opens_thinking": prompt.rstrip().endswith("<think>"), "reply": reply, "text": text,
            "thinking": THINKING if key else "", "calls": [{"name": n, "arguments": a} for n, a in calls]}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--templates", type=Path, required=True)
    templates = parser.parse_args().templates
    cases = [case(templates, *line) for line in CASES]
    body = {"generator": "tools/golden/chat_formats.py", "templates": "llama-cpp-python 0.3.36 (source package)",
            "tools": TOOLS, "cases": cases}
    OUT.write_text(json.dumps(body, ensure_ascii=False, indent=1) + "\n")


if __name__ == "__main__":
    main()
