"""The template environment that Hugging Face's apply_chat_template uses, and how a rendering is written down.

Built from the documented settings: an immutable sandbox with trim_blocks and lstrip_blocks, loop controls, a
`generation` tag that marks assistant text, a tojson without HTML escaping, raise_exception and strftime_now.
"""

import datetime
import functools
import json

import jinja2
import jinja2.ext
import jinja2.sandbox


class GenerationTag(jinja2.ext.Extension):
    """{% generation %}...{% endgeneration %}: its body is printed as it is."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        call = self.call_method("_print")
        return jinja2.nodes.CallBlock(call, [], [], body).set_lineno(line)

    def _print(self, caller):
        return caller()


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


@functools.cache
def environment(now: str | None = None):
    env = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[GenerationTag, jinja2.ext.loopcontrols]
    )
    moment = datetime.datetime.fromisoformat(now) if now else None
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = lambda format: (moment or datetime.datetime.now()).strftime(format)
    return env


def render(template: str, variables: dict, now: str | None = None) -> dict:
    """{"text": ...}, or {"stage": "compile" | "render", "error": ...} with the words of the exception."""
    try:
        compiled = environment(now).from_string(template)
    except (jinja2.TemplateSyntaxError, SyntaxError) as e:
        return {"stage": "compile", "error": str(e)}
    try:
        return {"text": compiled.render(**variables)}
    except jinja2.TemplateError as e:
        return {"stage": "render", "error": str(e)}
    except Exception as e:  # noqa: BLE001: whatever the template provokes is its result
        return {"stage": "render", "error": f"{type(e).__name__}: {e}"}
