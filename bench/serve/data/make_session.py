#!/usr/bin/env python3
"""Writes session.json: a coding agent's session on this project, with what its tools really printed.

  bench/serve/data/make_session.py

The agent's own words are below; the tools' results are taken from the files of the commit that is checked out. Made
once: a session that changes with the project could not be compared with last month's.
"""

import json
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SIZE = 4300  # most characters of one result

SYSTEM = """You are a coding agent that works in a project folder with the tools you are given. Rules:
- Look before you change: read the file that you are about to edit, and the tests beside it.
- One step at a time. Say in a sentence what you found or will do, then call one tool.
- Keep changes small. Follow the style of the code around: names, comments, line length.
- Never invent the content of a file. When a search finds nothing, say so and look elsewhere.
- After a change run the tests that concern it, and read what they print before you go on.
- When everything passes, end with a summary of what is different now, in at most five sentences.

"""
TASK = ("Our scheduler should say in its README how long a newcomer waits behind running replies, and the number must come "
        "from the code. Find where the bound is set, check that a test holds it, and propose the text.")

# What the agent says, and the command whose output it gets.
STEPS = [
    ("I will look at the layout of the project first.", "ls src src/sched src/kv src/engine"),
    ("The scheduler has a README of its own; I will read it.", "cat src/sched/README.md src/kv/README.md"),
    ("It names step_cost.h as the place of the bound. I will read that header.", "cat src/sched/step_cost.h"),
    ("The constants are there: 120 ms, or three steps. Next, how they are used.", "cat src/sched/step_cost.cc"),
    ("Now the interface of the scheduler itself.", "cat src/sched/scheduler.h"),
    ("I need to see how plan() orders newcomers.", "sed -n 1,110p src/sched/scheduler.cc"),
    ("The order is shortest first, with a share for the oldest. The rest of the file shows when it is applied.",
     "sed -n 110,220p src/sched/scheduler.cc"),
    ("I will check the tests for a case about newcomers.", "grep -n TEST src/sched/scheduler_test.cc src/sched/step_cost_test.cc"),
    ("Several cases fit. I will read the first part of the scheduler's test.", "sed -n 1,100p src/sched/scheduler_test.cc"),
    ("That holds the order. The cost model has a test too.", "sed -n 1,100p src/sched/step_cost_test.cc"),
    ("The engine calls the scheduler; I want to see with which times.", "sed -n 1,100p src/engine/step_loop.cc"),
    ("The time of a step is measured around the executor. The header says what one step may do.", "cat src/engine/step_loop.h"),
    ("I will see how the documentation speaks of it, so that the words agree.", "cat docs/architecture.md"),
    ("The determinism page may say why rows can be mixed freely.", "cat docs/determinism.md"),
    ("Let me check how a page of the prefix cache is lent to a newcomer.", "cat src/kv/cache.h"),
    ("A follower waits for a leader's pages. The state machine of that is in the cache's source.", "sed -n 1,100p src/kv/cache.cc"),
    ("I will look at the style of the rooms' READMEs for the length of a line.", "cat src/engine/README.md src/sampling/README.md"),
    ("There may be rules for such texts.", "cat docs/HACKING.md"),
    ("And a check of their length.", "cat tools/check_sources.py"),
]
LAST = ("The bound is in src/sched/step_cost.h: 120 ms or three lone steps, whichever is longer, for 99 of 100 gaps, and "
        "step_cost_test.cc holds it. I propose one line for the README: a newcomer's short prompt goes first, so that its first "
        "token comes within three steps of the replies that run.")

TOOLS = [{"type": "function", "function": {
    "name": name, "description": words,
    "parameters": {"type": "object", "properties": {key: {"type": "string", "description": what}}, "required": [key]}}}
    for name, words, key, what in (
        ("run", "Runs a shell command in the project's folder and returns what it printed.", "command", "The command line."),
        ("read_file", "Returns the text of a file.", "path", "Path inside the project."),
        ("edit_file", "Applies a unified diff to the project.", "diff", "The diff."))]


def main() -> None:
    messages = [{"role": "system", "content": SYSTEM + (ROOT / "CONTRIBUTING.md").read_text()[:SIZE]},
                {"role": "user", "content": TASK}]
    for number, (words, command) in enumerate(STEPS):
        done = subprocess.run(command, shell=True, cwd=ROOT, capture_output=True, text=True, check=True)
        call = {"id": f"call_{number:02}", "type": "function",
                "function": {"name": "run", "arguments": json.dumps({"command": command})}}
        messages.append({"role": "assistant", "content": words, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": done.stdout[:SIZE]})
    messages.append({"role": "assistant", "content": LAST})
    text = json.dumps({"tools": TOOLS, "messages": messages}, indent=1, ensure_ascii=False)
    Path(__file__).with_name("session.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
