"""Writes tests/data/chat/jinja_cases.json: templates, variables, and what Jinja2 makes of them.

A template or variables that begin with "@" stand for an entry of "shared".

Run: python tools/golden/chat_jinja.py > tests/data/chat/jinja_cases.json
"""

import json
import sys

import chat_environment
import chat_jinja_cases
import chat_styles


def main() -> None:
    shared = {"@V": chat_jinja_cases.V} | {"@" + name: text for name, text in chat_styles.STYLES.items()}
    names_of = {id(value): name for name, value in shared.items()}
    cases = []
    for name, template, variables, now in chat_jinja_cases.all_cases() + chat_styles.all_cases():
        expect = chat_environment.render(template, variables, now)
        assert " at 0x" not in expect.get("text", ""), f"{name}: prints an address"
        case = {"name": name, "template": names_of.get(id(template), template)}
        if variables:
            case["variables"] = names_of.get(id(variables), variables)
        if now:
            case["now"] = now
        cases.append(case | {"expect": expect})
    names = [case["name"] for case in cases]
    assert len(names) == len(set(names)), sorted(n for n in names if names.count(n) > 1)
    out = {"jinja2": chat_environment.jinja2.__version__, "python": sys.version.split()[0], "cases": cases}
    print("{")
    print(f'"jinja2": {json.dumps(out["jinja2"])}, "python": {json.dumps(out["python"])},')
    print(f'"shared": {json.dumps(shared, ensure_ascii=False)},\n"cases": [')
    print(",\n".join(json.dumps(case, ensure_ascii=False) for case in cases))
    print("]}")


if __name__ == "__main__":
    main()
