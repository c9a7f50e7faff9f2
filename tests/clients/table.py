"""The table of what was run, in docs/connect/README.md."""

import re
from dataclasses import dataclass

import pages
from clients import CLIENTS, Client

BEGIN, END = "<!-- results: written by tests/clients/run -->", "<!-- end of results -->"
HEAD = "| client | package | route | on | result | |\n| --- | --- | --- | --- | --- | --- |\n"


@dataclass(frozen=True)
class Row:
    client: Client
    route: str
    on: str  # "script" or the model's name
    result: str
    seen: str

    def key(self) -> tuple[str, str, str]:
        return (self.client.title, self.route, self.on)

    def line(self) -> str:
        cells = (self.client.title, str(self.client.package), self.route, self.on, self.result, self.seen)
        return "| " + " | ".join(re.sub(r"\s+", " ", cell).replace("|", "/") for cell in cells) + " |"


def markdown(rows: list[Row]) -> str:
    return HEAD + "".join(row.line() + "\n" for row in rows)


def lines_there(text: str) -> dict[tuple[str, str, str], str]:
    lines = [line for line in text.split(BEGIN)[1].split(END)[0].splitlines() if line.startswith("| ")][2:]
    cells = {line: [cell.strip() for cell in line.strip("|").split("|")] for line in lines}
    return {(c[0], c[2], c[3]): line for line, c in cells.items()}


def write(rows: list[Row]) -> None:
    """The rows that were run take the place of those that are there; others stay."""
    page = pages.FOLDER / "README.md"
    text = page.read_text()
    known = lines_there(text)
    for row in rows:
        if row.result != "not run":
            known.pop((row.client.title, "", ""), None)
        known[row.key()] = row.line()
    titles = [client.title for client in CLIENTS]
    lines = sorted(known.items(), key=lambda item: titles.index(item[0][0]) if item[0][0] in titles else len(titles))
    head, tail = text.split(BEGIN)[0], text.split(END)[1]
    page.write_text(f"{head}{BEGIN}\n\n{HEAD}" + "".join(line + "\n" for _, line in lines) + f"\n{END}{tail}")
