"""tests/clients: the pages of docs/connect are what runs, and the network of a run is loopback only."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tests/clients"
sys.path.insert(0, str(FOLDER))

import pages  # noqa: E402
import sandbox  # noqa: E402
import table  # noqa: E402
from clients import CLIENTS  # noqa: E402

each = pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)


@each
def test_every_client_has_a_page_that_can_be_run(client):
    page = pages.read(client.name)
    everything = page.script() + "".join(page.files.values())
    assert page.run.strip() and pages.TASK in page.run
    assert pages.URL in everything, "a reader's server"
    filled = page.fill("http://127.0.0.1:1", "the 'task'", 99, {})
    assert pages.URL not in filled.script() + "".join(filled.files.values()) and "the 'task'" in filled.run
    assert subprocess.run(["bash", "-n"], input=filled.script(), text=True).returncode == 0
    assert f"({client.name}.md)" in (pages.FOLDER / "README.md").read_text()


@each
def test_every_route_is_said_on_the_page(client):
    page = pages.read(client.name)
    for route in client.routes[1:]:
        changed = page.fill(pages.URL, pages.TASK, int(pages.CONTEXT), route.replace)
        assert (changed.script(), changed.files) != (page.script(), page.files), f"{route.replace} changes nothing"
        for new in route.replace.values():
            assert new in page.text, f"the page does not say {new}"


def test_blocks_without_a_second_word_are_not_run():
    assert pages.BLOCK.findall("```sh run\na\n```\n\n```sh\nb\n```\n") == [("sh", "run", "a\n")]


def test_the_table_has_a_row_for_every_run():
    keys = table.lines_there((pages.FOLDER / "README.md").read_text()).keys()
    for client in CLIENTS:
        rows = {key[1:] for key in keys if key[0] == client.title}
        wanted = {(route.path, "script") for route in client.routes}
        assert rows == {("", "")} or wanted <= rows, f"{client.title}: {rows}; run tests/clients/run --write"
    assert {key[0] for key in keys} == {client.title for client in CLIENTS}


def test_nothing_but_loopback():
    try:
        words = sandbox.command()
    except sandbox.Unavailable as error:
        pytest.skip(str(error))
    program = ("import socket, sandbox; sandbox.bring_loopback_up()\n"
               "with socket.create_server(('127.0.0.1', 0)) as s: socket.create_connection(s.getsockname()).close()\n"
               "print('loopback')\n"
               "socket.create_connection(('192.0.2.1', 80), 5)\n")
    done = subprocess.run([*words, sys.executable, "-c", program], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(FOLDER)})
    assert done.stdout == "loopback\n" and "Network is unreachable" in done.stderr
