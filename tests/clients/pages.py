"""What docs/connect says is what runs: the configuration of a client is read out of its page.

A fenced block belongs to the configuration if a second word stands behind its language:

    ```sh env                   exports, before the command
    ```json ~/.config/x.json    a file; ~ is the user's home, other paths are the project's
    ```sh run                   the command, headless

What differs from run to run is written in the pages as a reader would have it, and replaced: see fill().
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "docs/connect"
URL = "http://127.0.0.1:11435"
TASK = "Say what this folder is for."
CONTEXT = "32768"

BLOCK = re.compile(r"^```(\w+) (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass
class Page:
    text: str
    env: str = ""
    run: str = ""
    files: dict[str, str] = field(default_factory=dict)

    def fill(self, url: str, task: str, context: int, replace: dict[str, str]) -> "Page":
        def filled(text: str) -> str:
            for old, new in replace.items():
                text = text.replace(old, new)
            return text.replace(URL, url).replace(TASK, task).replace(CONTEXT, str(context))

        return Page(self.text, filled(self.env), filled(self.run), {k: filled(v) for k, v in self.files.items()})

    def script(self) -> str:
        return f"{self.env}\n{self.run}"

    def write_files(self, home: Path, project: Path) -> None:
        for name, text in self.files.items():
            path = home / name[2:] if name.startswith("~/") else project / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)


def read(name: str) -> Page:
    page = Page((FOLDER / f"{name}.md").read_text())
    for language, word, body in BLOCK.findall(page.text):
        if (language, word) == ("sh", "env"):
            page.env += body
        elif (language, word) == ("sh", "run"):
            page.run += body
        else:
            page.files[word] = body
    return page
