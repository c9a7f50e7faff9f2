"""tools/test_totals.py counts what ran, and does not call a run good that was not."""

import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CTEST = """<testsuite>
<testcase name="a.one" classname="a.one" status="run"/>
<testcase name="a.two" classname="a.two" status="notrun"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>
<system-out>[ RUN      ] a.two
/src/a_test.cc:12: Skipped
this machine has no AVX-512

[  SKIPPED ] a.two (0 ms)</system-out></testcase>
<testcase name="a.three" classname="a.three" status="fail"><failure message=""/></testcase>
<testcase name="a.four" classname="a.four" status="disabled"/>
<testcase name="a.five" classname="a.five" status="notrun"><skipped message="Unable to find executable"/></testcase>
</testsuite>"""
PYTEST = """<testsuites><testsuite>
<testcase classname="tests.x" name="ok"/>
<testcase classname="tests.x" name="bad"><failure message="assert"/></testcase>
<testcase classname="tests.x" name="broken"><error message="at set-up"/></testcase>
<testcase classname="tests.x" name="skip"><skipped type="pytest.skip" message="no model"/></testcase>
</testsuite></testsuites>"""


@pytest.fixture
def totals(tmp_path):
    (tmp_path / "ctest.xml").write_text(CTEST)
    (tmp_path / "pytest.xml").write_text(PYTEST)
    (tmp_path / "good.xml").write_text('<testsuite><testcase name="a" classname="a"/></testsuite>')
    (tmp_path / "empty.xml").write_text("<testsuite/>")
    (tmp_path / "cut.xml").write_text("<testsuite><testcase")

    def run(*args):
        command = [sys.executable, str(ROOT / "tools/test_totals.py"), *args]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout.splitlines()

    return run


def test_counts_both_formats(totals):
    status, lines = totals("--passed", "2", "--failed", "format", "ctest.xml", "pytest.xml")
    assert status == 1
    assert lines[-1] == "4 passed, 5 failed, 3 skipped"
    for name in ("a.three", "a.five", "tests.x::bad", "tests.x::broken", "format"):
        assert f"  {name}" in lines
    for reason in ("this machine has no AVX-512", "no model", "not run"):
        assert any(reason in line for line in lines), reason


def test_all_good_is_status_0(totals):
    assert totals("good.xml") == (0, ["", "1 passed, 0 failed, 0 skipped"])


@pytest.mark.parametrize("args", [(), ("empty.xml",), ("good.xml", "cut.xml"), ("good.xml", "gone.xml")])
def test_what_is_not_there_is_a_failure(totals, args):
    status, lines = totals(*args)
    assert status == 1
    assert ", 1 failed," in lines[-1]
