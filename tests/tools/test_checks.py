"""The checks of tools/ must fail on what they are there to find."""

import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def run(tool: str, *args) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, str(ROOT / "tools" / tool), *map(str, args)], capture_output=True, text=True, timeout=60
    )


@pytest.fixture
def tree(tmp_path):
    """A small project of three rooms and a backend, in which nothing is wrong."""
    source = tmp_path / "src"
    files = {
        "CMakeLists.txt": "# rooms\nt9_room(base)\nt9_room(ops DEPS base)\nadd_subdirectory(cpu)\n"
        "t9_room(engine DEPS ops cpu LIBS Boost::headers)\nt9_room(server DEPS engine)\n",
        "cpu/CMakeLists.txt": "add_library(t9_cpu c.cc)\ntarget_link_libraries(t9_cpu t9_ops)\n",
        "base/a.h": "#include <vector>\n",
        "base/README.md": "base\n",
        "ops/b.h": '#include "base/a.h"\n',
        "ops/README.md": "ops\n",
        "cpu/c.h": '#include "ops/b.h"\n',
        "cpu/README.md": "cpu\n",
        "engine/build.cc": '#include "base/a.h"\n#include "cpu/c.h"\n',
        "engine/e_test.cc": '#include "cpu/c.h"\n',
        "engine/README.md": "engine\n",
        "server/s.h": "#include <vector>\n",
        "server/README.md": "server\n",
    }
    for name, text in files.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(text)
    return tmp_path


def test_a_clean_tree_passes(tree):
    for tool in ("check_rooms.py", "check_sources.py"):
        done = run(tool, tree)
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "name, text, message",
    [
        ("base/a.h", '#include "ops/b.h"\n', 'src/base/a.h:1: "ops/b.h": base may include base'),
        ("ops/b.h", '#include "engine/build.cc"\n', "ops may include base, ops"),
        ("cpu/c.h", '#include "engine/build.cc"\n', "cpu may include base, cpu, ops"),
        ("ops/b.h", '#include "b.h"\n', "no file under src/"),
        ("ops/b.h", "#include <base/a.h>\n", 'write "base/a.h"'),
        ("engine/e.cc", '#include "cpu/c.h"\n', "only engine/build.cc and tests include a backend"),
        ("engine/e.cc", "#include <cuda_runtime.h>\n", "only cuda/ may see it"),
        ("base/new.cc", 'auto x = std::getenv("HOME");\n', "getenv outside cli/env.cc"),
        ("base/new.cc", "void f() { throw 1; }\n", "throw: return a Result"),
        ("server/new.cc", "void f() {\n  Json answer;\n}\n", "begin it with Json::object()"),
        ("stray/x.h", "\n", "no t9_room(stray"),
        ("CMakeLists.txt", "t9_room(ops DEPS base)\nt9_room(base)\n", "ops names base in DEPS, which is no room above it"),
    ],
)
def test_rooms_finds(tree, name, text, message):
    path = tree / "src" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    done = run("check_rooms.py", tree)
    assert done.returncode == 1
    assert message in done.stderr


def test_rooms_takes_no_offence_at_words_in_comments_and_strings(tree):
    (tree / "src/base/new.cc").write_text('// never throw\nauto x = "throw getenv(1)";\n')
    assert run("check_rooms.py", tree).returncode == 0


@pytest.mark.parametrize(
    "name, text, message",
    [
        ("src/base/long.cc", "int x;\n" * 501, "501 lines, at most 500"),
        ("src/base/tab.cc", "\tint x;\n", "tab.cc:1: a tab"),
        ("src/base/space.h", "int x; \n", "space.h:1: a tab, or spaces"),
        ("src/base/end.h", "int x;", "no newline at its end"),
        ("src/base/README.md", "x\n" * 31, "31 lines, at most 30"),
    ],
)
def test_sources_finds(tree, name, text, message):
    (tree / name).write_text(text)
    done = run("check_sources.py", tree)
    assert done.returncode == 1
    assert message in done.stderr


def test_sources_wants_a_readme_in_each_room(tree):
    (tree / "src/ops/README.md").unlink()
    done = run("check_sources.py", tree)
    assert done.returncode == 1
    assert "src/ops: no README.md" in done.stderr


def object_of(folder: pathlib.Path, text: str) -> pathlib.Path:
    (folder / "x.cc").write_text(text)
    command = ["g++", "-std=c++20", "-O0", "-c", str(folder / "x.cc"), "-o", str(folder / "x.o")]
    subprocess.run(command, check=True, timeout=60)
    return folder / "x.o"


INSIDE = "namespace n::avx2 { template <class T> T f(T a) { return a; } int g() { return f(1); } struct S { virtual ~S() {} } s; }"


@pytest.mark.skipif(not shutil.which("g++"), reason="no g++ here")
@pytest.mark.parametrize(
    "text, fault",
    [
        (INSIDE, None),
        (INSIDE + "static int hidden() { return 1; } namespace n::avx2 { int h() { return hidden(); } }", None),
        (INSIDE + "inline int shared() { return 1; } namespace n::avx2 { int h() { return shared(); } }", "shared()"),
        (INSIDE + "template <class T> T m(T a, n::avx2::S*) { return a; } template int m(int, n::avx2::S*);", " m<int>"),
        ("#include <vector>\n" + INSIDE + "namespace n::avx2 { void v(std::vector<int>* x) { x->push_back(1); } }", "std::"),
        ("int elsewhere() { return 0; }", "no symbol of n::avx2"),
    ],
)
def test_isa_symbols(tmp_path, text, fault):
    done = run("check_isa_symbols.py", "--namespace", "n::avx2", object_of(tmp_path, text))
    if fault is None:
        assert (done.returncode, done.stderr) == (0, "")
    else:
        assert done.returncode == 1
        assert fault in done.stderr
