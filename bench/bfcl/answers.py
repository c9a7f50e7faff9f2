"""The answer key as a script: what a model that is always right would say, for `tempo9 serve --script`.

Whoever serves it must score 1.0 in every category; whatever is less was lost between the model and the client.

    answers.py --n 40 --seed 9 --categories simple_python,parallel > script.jsonl     (in the package's environment)
"""

import argparse
import json
import os
import random
import sys
import tempfile

import run_bfcl

NO_CALL = "None of these tools can do that."


def acceptable(values):
    """One value of those that the key takes, and whether there is one: "" stands for leaving it out."""
    if not isinstance(values, list):
        return pick(values), True
    for value in values:
        if value != "":
            return pick(value), True
    return None, False


def pick(value):
    if isinstance(value, dict):
        return {key: chosen for key, values in value.items() for chosen, there in [acceptable(values)] if there}
    if isinstance(value, list):
        return [pick(item) if isinstance(item, (dict, list)) else item for item in value]
    return value


def call_text(name: str, arguments: dict) -> str:
    call = {"name": name.replace(".", "_"), "arguments": arguments}
    return "<tool_call>\n" + json.dumps(call, ensure_ascii=False) + "\n</tool_call>"


def reply(category: str, entry: dict, key: dict | None) -> str:
    if category.endswith("irrelevance"):
        return NO_CALL
    if key is None:  # relevance: any call is right
        return call_text(entry["function"][0]["name"], {})
    calls = [(name, pick(arguments)) for call in key["ground_truth"] for name, arguments in call.items()]
    return "\n".join(call_text(name, arguments) for name, arguments in calls)


def last_user_text(entry: dict) -> str:
    return [m["content"] for m in entry["question"][0] if m["role"] == "user"][-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=40)
    parser.add_argument("--seed", default="9")
    parser.add_argument("--categories", default=",".join(run_bfcl.DEFAULT_CATEGORIES))
    arguments = parser.parse_args()
    os.environ["BFCL_PROJECT_ROOT"] = tempfile.mkdtemp(prefix="bfcl-")
    sys.meta_path.append(run_bfcl._StandInFinder())
    out, sys.stdout = sys.stdout, sys.stderr
    from bfcl_eval.utils import load_dataset_entry, load_ground_truth_entry, sort_key

    cases = []
    for category in arguments.categories.split(","):
        entries = {e["id"]: e for e in load_dataset_entry(category, include_prereq=False)}
        ids = list(entries)
        random.Random(f"{arguments.seed}:{category}").shuffle(ids)
        ids = ids[: arguments.n] if arguments.n else ids
        has_key = category not in run_bfcl.DETECT_CATEGORIES
        keys = {k["id"]: k for k in load_ground_truth_entry(category)} if has_key else {}
        cases += [(entries[i], reply(category, entries[i], keys.get(i))) for i in ids]
    cases.sort(key=lambda case: sort_key(case[0]))  # as the package asks
    lines = [{"when": last_user_text(entry), "text": text} for entry, text in cases]
    # A line is taken by the first text that holds it, so longer ones come first; equal ones keep the order of the requests.
    lines.sort(key=lambda line: -len(line["when"]))
    for line in lines:
        out.write(json.dumps(line, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
