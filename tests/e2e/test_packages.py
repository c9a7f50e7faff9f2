"""What `cmake --install` puts where, and what `tempo9 completion` prints against every --help. tests/packages/run starts the packages."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT, run_binary

BUILD = Path(os.environ.get("TEMPO9_BUILD_DIR", ROOT / "build/release"))
COMMANDS = re.findall(r'T9_SUBCOMMAND\("(\w+)"', (ROOT / "src/cli/list.inc").read_text())
VERSION = re.search(r"project\(tempo9 VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]


def printed(*args) -> str:
    done = run_binary(*args)
    assert done.returncode == 0, done.stderr
    return done.stdout


def help_flags(command: str) -> set[str]:
    lines = re.findall(r"^  (-[\w-]+(?:,--?[\w-]+)*)", printed(command, "--help"), re.M)
    return {name for names in lines for name in names.split(",")}


@pytest.fixture(scope="module")
def complete(tmp_path_factory):
    """complete(word...): what bash offers for the last one."""
    file = tmp_path_factory.mktemp("completion") / "tempo9"
    file.write_text(printed("completion", "bash"))
    script = 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tempo9 2>/dev/null; printf "%s\\n" "${COMPREPLY[@]}"'

    def run(*words: str) -> list[str]:
        done = subprocess.run(["bash", "-c", script, file, *words], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    return run


@pytest.mark.parametrize("command", COMMANDS)
def test_bash_offers_what_help_names(complete, command):
    assert set(complete("tempo9", command, "-")) == help_flags(command)


def test_bash_offers_commands_values_and_files(complete):
    assert set(complete("tempo9", "")) >= set(COMMANDS) and complete("tempo9", "comp") == ["completion"]
    assert set(complete("tempo9", "--")) == {f for f in help_flags("serve") if f.startswith("--")} | {"--version"}
    assert complete("tempo9", "serve", "--log-format", "") == ["text", "json"]
    assert complete("tempo9", "--log-format", "=", "j") == ["json"]
    assert complete("tempo9", "serve", "--port", "") == []
    assert complete("tempo9", "show", str(ROOT / "CMakeL")) == [str(ROOT / "CMakeLists.txt")]
    assert complete("tempo9", "completion", "f") == ["fish"]


def test_zsh_and_fish_know_every_flag():
    zsh, fish = printed("completion", "zsh"), printed("completion", "fish")
    for command in COMMANDS:
        branch = re.search(rf"^    {command}\)\n      _arguments(.*?) ;;$", zsh, re.M | re.S)[1]
        assert {re.match(r"\*?(-[\w-]+)", spec)[1] for spec in re.findall(r"^        '(\*?-.*)", branch, re.M)} == help_flags(command)
        lines = [line for line in fish.splitlines() if f"'__tempo9_command {command}'" in line]
        long = {f"--{name}" for line in lines for name in re.findall(r" -l ([\w-]+)", line)}
        short = {f"-{name}" for line in lines for name in re.findall(r" -s (\w)", line)}
        assert long | short == help_flags(command)


def test_shells_can_read_their_scripts(tmp_path):
    for shell in ("bash", "zsh", "fish"):
        if shutil.which(shell):
            script = tmp_path / shell
            script.write_text(printed("completion", shell))
            assert subprocess.run([shell, "-n", script], capture_output=True).returncode == 0


def test_the_manual_page_names_everything(tmp_path):
    page = printed("completion", "man")
    text = page.replace(r"\-", "-")
    assert f"tempo9 {VERSION}" in text.splitlines()[0]
    sections = dict(re.findall(r"^\.SS tempo9 (\w+)\n(.*?)(?=^\.S[SH])", text, re.M | re.S))
    assert list(sections) == COMMANDS
    for command, section in sections.items():
        named = {name for names in re.findall(r"^\\fB(-.*?)\\fR", section, re.M) for name in names.split(", ")}
        assert named == help_flags(command)
    if shutil.which("groff"):
        path = tmp_path / "tempo9.1"
        path.write_text(page)
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", path], capture_output=True, text=True)
        assert done.returncode == 0 and not done.stderr, done.stderr


@pytest.fixture
def install():
    """install(prefix, DESTDIR): what the build's manifest says is left as it was."""
    if not (BUILD / "pages").is_dir():
        pytest.skip(f"{BUILD} has no pages; builds with sanitizers are not for installing")
    manifest = BUILD / "install_manifest.txt"
    before = manifest.read_bytes() if manifest.exists() else None

    def run(prefix, destdir=""):
        subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix], check=True, capture_output=True,
                       env={**os.environ, "DESTDIR": str(destdir)})

    yield run
    manifest.write_bytes(before) if before is not None else manifest.unlink(missing_ok=True)


def files_below(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def documents() -> set[str]:
    pages = {str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md")}
    return {f"share/doc/tempo9/{name}" for name in pages | {"README.md", "SECURITY.md", "CHANGELOG.md", "LICENSE"}}


def test_install(install, tmp_path):
    prefix = tmp_path / "prefix"
    install(prefix)
    assert files_below(prefix) == documents() | {
        "bin/tempo9", "etc/tempo9/serve.conf", "lib/systemd/system/tempo9.service", "share/man/man1/tempo9.1.gz",
        "share/bash-completion/completions/tempo9", "share/zsh/site-functions/_tempo9",
        "share/fish/vendor_completions.d/tempo9.fish", "share/doc/tempo9/copyright",
        "share/doc/tempo9/packaging/grafana/tempo9.json",
    }
    version = subprocess.run([prefix / "bin/tempo9", "--version"], capture_output=True, text=True)
    assert version.stdout == f"tempo9 {VERSION}\n"
    unit = (prefix / "lib/systemd/system/tempo9.service").read_text()
    assert f"ExecStart={prefix}/bin/tempo9 " in unit and f"EnvironmentFile={prefix}/etc/tempo9/serve.conf\n" in unit
    conf = prefix / "etc/tempo9/serve.conf"
    conf.write_text("ARGS=mine\n")
    install(prefix)
    assert conf.read_text() == "ARGS=mine\n"


def test_install_for_the_system(install, tmp_path):
    install("/usr", tmp_path)
    found = files_below(tmp_path)
    assert {"usr/bin/tempo9", "etc/tempo9/serve.conf", "usr/lib/systemd/system/tempo9.service"} <= found
    unit = (tmp_path / "usr/lib/systemd/system/tempo9.service").read_text()
    assert "ExecStart=/usr/bin/tempo9 " in unit and "EnvironmentFile=/etc/tempo9/serve.conf\n" in unit
