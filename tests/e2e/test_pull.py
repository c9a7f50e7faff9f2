"""`tempo9 pull`, `list` and `rm` against a server that speaks the same protocols."""

import hashlib
import json
import os
import random
import re
import signal
import subprocess
import time

import pytest
from conftest import ROOT, Server, binary, clean_environment, model_path, run_binary
from model_hub import Hub

MB = 1 << 20


def weights(n_bytes: int, seed: int = 1) -> bytes:
    return b"GGUF" + random.Random(seed).randbytes(n_bytes - 4)


@pytest.fixture
def hub():
    hub = Hub()
    yield hub
    hub.stop()


@pytest.fixture
def home(tmp_path):
    """An environment with a store of its own and no token."""
    return {"XDG_DATA_HOME": str(tmp_path / "data"), "HOME": str(tmp_path), "HF_TOKEN": "", "HF_HOME": str(tmp_path / "hf"),
            "http_proxy": "", "https_proxy": "", "no_proxy": "*"}


def pull(hub, home, name, *flags, **more):
    return run_binary("pull", name, *flags, **{"HF_ENDPOINT": hub.url, **home, **more})


def listed(home) -> dict[str, str]:
    done = run_binary("list", **home)
    assert done.returncode == 0
    return {line.split()[0]: line.split()[-1] for line in done.stdout.splitlines()}


def test_hugging_face(hub, home):
    data = weights(40 * MB)
    hub.repos["owner/Repo-GGUF"] = {"README.md": b"hi", "Repo-Q8_0.gguf": weights(9), "Repo-Q4_K_M.gguf": data,
                                    "mmproj-Q4_K_M.gguf": weights(7)}
    hub.page_size = 2
    done = pull(hub, home, "owner/Repo-GGUF")
    assert done.returncode == 0, done.stderr
    path = listed(home)["owner/Repo-GGUF:Q4_K_M"]
    assert open(path, "rb").read() == data and os.listdir(os.path.dirname(path)).count("model.json") == 1
    assert not [name for name in os.listdir(os.path.dirname(path)) if "part" in name]
    assert len({asked for _, asked, _ in hub.files_seen}) == 3, "three pieces of at most 16 MB"
    seen = len(hub.files_seen)
    assert pull(hub, home, "hf.co/owner/Repo-GGUF:q4_k_m").returncode == 0 and len(hub.files_seen) == seen, "it is there"
    assert pull(hub, home, "https://huggingface.co/owner/Repo-GGUF:Q8_0").returncode == 0
    assert sorted(listed(home)) == ["owner/Repo-GGUF:Q4_K_M", "owner/Repo-GGUF:Q8_0"]
    assert "--connections" in run_binary("pull", "--help").stdout


def test_ollamas_registry(hub, home):
    data = weights(3 * MB)
    hub.library = {("library/tiny", "latest"): data, ("someone/tuned", "v1"): weights(5)}
    done = pull(hub, home, "tiny", "--mirror", hub.url)
    assert done.returncode == 0, done.stderr
    assert open(listed(home)["tiny:latest"], "rb").read() == data
    assert pull(hub, home, "ollama.com/someone/tuned:v1", "--mirror", hub.url).returncode == 0
    assert "ollama.com/someone/tuned:v1" in listed(home)
    done = pull(hub, home, "tiny:70b", "--mirror", hub.url)
    assert done.returncode == 1 and "tiny" in done.stderr and "not there" in done.stderr


def test_split_models_come_whole_and_in_order(hub, home):
    parts = {f"sub/M-Q6_K-0000{i}-of-00003.gguf": weights(100_000 + i, i) for i in (2, 1, 3)}
    hub.repos["o/split"] = {**parts, "M-Q2_K.gguf": weights(4)}
    assert pull(hub, home, "o/split:Q6_K").returncode == 0
    first = listed(home)["o/split:Q6_K"]
    assert first.endswith("M-Q6_K-00001-of-00003.gguf")
    assert {open(os.path.join(os.path.dirname(first), p[4:]), "rb").read() for p in parts} == set(parts.values())
    del hub.repos["o/split"]["sub/M-Q6_K-00002-of-00003.gguf"]
    done = pull(hub, {**home, "XDG_DATA_HOME": home["HOME"] + "/other"}, "o/split:Q6_K")
    assert done.returncode == 1 and "part 2 of 3" in done.stderr


def test_a_push_in_between_does_not_mix_versions(hub, home):
    old, new = ({f"M-Q6_K-0000{i}-of-00002.gguf": weights(50_000 + i, i + seed) for i in (1, 2)} for seed in (0, 10))
    hub.repos["o/split"] = old
    hub.before_file = lambda: hub.repos.update({"o/split": new})
    done = pull(hub, home, "o/split:Q6_K", "--connections", "1")
    assert done.returncode == 0, done.stderr
    folder = os.path.dirname(listed(home)["o/split:Q6_K"])
    assert {name: open(os.path.join(folder, name), "rb").read() for name in old} == old


def break_off(hub, home, name, n_bytes):
    """Kills a pull once so many bytes were sent."""
    hub.delay = 0.004
    process = subprocess.Popen([binary(), "pull", name, "--connections", "2"], stderr=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, env=clean_environment(HF_ENDPOINT=hub.url, **home))
    end = time.monotonic() + 30
    while hub.bytes_sent < n_bytes:
        assert time.monotonic() < end and process.poll() is None
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    hub.delay = 0
    assert listed(home) == {}


def test_a_killed_pull_goes_on_where_it_was(hub, home):
    data = weights(64 * MB)
    hub.repos["o/big"] = {"big-Q4_0.gguf": data}
    break_off(hub, home, "o/big", 36 * MB)
    before = hub.bytes_sent
    assert pull(hub, home, "o/big").returncode == 0
    assert open(listed(home)["o/big:Q4_0"], "rb").read() == data
    assert hub.bytes_sent - before <= 48 * MB, "a whole piece is not fetched twice"


def test_a_killed_pull_starts_again_where_a_server_has_no_ranges(hub, home):
    data = weights(64 * MB)
    hub.repos["o/big"] = {"big-Q4_0.gguf": data}
    break_off(hub, home, "o/big", 36 * MB)
    hub.ranges = False
    done = pull(hub, home, "o/big")
    assert done.returncode == 0, done.stderr
    assert open(listed(home)["o/big:Q4_0"], "rb").read() == data
    paces = re.findall(r"([\d.]+) (\w+)/s", done.stderr)
    assert paces and all(unit in ("KiB", "MiB", "GiB") and float(pace) < 1024 for pace, unit in paces), done.stderr


def test_a_pull_that_broke_off_can_be_removed(hub, home, tmp_path):
    hub.repos["o/big"] = {"big-Q4_0.gguf": weights(64 * MB), "big-Q8_0.gguf": weights(9)}
    break_off(hub, home, "o/big:Q4_0", 20 * MB)
    assert pull(hub, home, "o/big:Q8_0").returncode == 0
    done = run_binary("rm", "o/big:q4_0", **home)
    assert done.returncode == 0 and "removed o/big:Q4_0" in done.stdout, done.stderr
    assert os.listdir(tmp_path / "data/tempo9/models/o/big") == ["Q8_0"]
    assert run_binary("rm", "o/big:q4_0", **home).returncode == 1


def test_a_damaged_file_of_the_same_size_is_not_the_model(hub, home, tmp_path):
    parts = {f"M-Q4_0-0000{i}-of-00002.gguf": weights(100_000, i) for i in (1, 2)}
    hub.repos["o/r"] = parts
    folder = tmp_path / "data/tempo9/models/o/r/Q4_0"
    folder.mkdir(parents=True)
    whole, damaged = parts
    (folder / whole).write_bytes(parts[whole])
    (folder / damaged).write_bytes(bytes(100_000))
    assert pull(hub, home, "o/r:Q4_0").returncode == 0
    assert {name: (folder / name).read_bytes() for name in parts} == parts
    assert {path for path, _, _ in hub.files_seen} == {f"/o/r/{damaged}"}, "the whole one is not fetched again"


@pytest.mark.parametrize("fault", ["cut", "busy", "no ranges"])
def test_servers_with_faults(hub, home, fault):
    data = weights(20 * MB)
    hub.repos["o/r"] = {"r-Q4_0.gguf": data}
    if fault == "cut":
        hub.cut_after = 3 * MB
    elif fault == "busy":
        hub.fail_first = 3
    else:
        hub.ranges = False
    done = pull(hub, home, "o/r")
    assert done.returncode == 0, done.stderr
    assert hashlib.sha256(open(listed(home)["o/r:Q4_0"], "rb").read()).digest() == hashlib.sha256(data).digest()


def test_another_hash_is_refused_and_removed(hub, home):
    hub.repos["o/r"] = {"r-Q4_0.gguf": weights(MB)}
    hub.corrupt = True
    done = pull(hub, home, "o/r")
    assert done.returncode == 1 and "SHA-256" in done.stderr and listed(home) == {}
    hub.corrupt = False
    assert pull(hub, home, "o/r").returncode == 0


def test_tokens_go_to_their_host_only(hub, home, tmp_path):
    hub.repos["o/gated"] = {"g-Q4_0.gguf": weights(1000)}
    hub.token = "hf_secret"
    done = pull(hub, home, "o/gated")
    assert done.returncode == 2 and "HF_TOKEN" in done.stderr
    assert pull(hub, home, "o/gated", "--mirror", hub.url, HF_TOKEN="hf_secret").returncode == 2, "not to a mirror"
    assert pull(hub, home, "o/gated", HF_TOKEN="hf_secret").returncode == 0
    assert hub.files_seen and not any(token for _, _, token in hub.files_seen), "nor to where files lie"
    (tmp_path / "hf").mkdir()
    (tmp_path / "hf/token").write_text("hf_secret\n")
    assert run_binary("rm", "o/gated", **home).returncode == 0
    assert pull(hub, home, "o/gated").returncode == 0
    assert "hf_secret" not in pull(hub, home, "o/none").stderr


@pytest.mark.parametrize("name, code, says", [
    ("o/none", 1, "not there"), ("o/r:Q9_X", 1, "there are r-Q2_K, r-Q3_K_S"), ("o/r", 1, "behind a colon"), ("o/docs", 1, "no GGUF"),
    ("", 2, "expected owner/repo"), ("../../etc", 2, "expected owner/repo"), ("o/..:x", 2, "expected owner/repo"),
    ("o/r:../x", 2, "expected owner/repo"), ("a/b/c", 2, "expected owner/repo"),
])
def test_names_that_lead_nowhere(hub, home, name, code, says):
    hub.repos = {"o/r": {"r-Q2_K.gguf": weights(9), "r-Q3_K_S.gguf": weights(9)}, "o/docs": {"a.md": b"x"}}
    done = pull(hub, home, name)
    assert done.returncode == code and says in done.stderr, done.stderr


def test_show_takes_names_of_both_stores(home, tmp_path):
    file = ROOT / "tests/data/gguf/kinds.gguf"
    own, manifests, blobs = (tmp_path / "data/tempo9/models/o/Kinds/F32", tmp_path / "ollama/manifests/registry.ollama.ai/library/kinds",
                             tmp_path / "ollama/blobs")
    for folder in (own, manifests, blobs):
        folder.mkdir(parents=True)
    (own / "m.gguf").symlink_to(file)
    (own / "model.json").write_text(json.dumps({"name": "o/Kinds:F32", "files": [{"name": "m.gguf"}]}))
    (blobs / f"sha256-{'a' * 64}").symlink_to(file)
    layer = {"mediaType": "application/vnd.ollama.image.model", "digest": f"sha256:{'a' * 64}"}
    (manifests / "latest").write_text(json.dumps({"layers": [layer]}))
    environment = {**home, "XDG_DATA_HOME": str(tmp_path / "data"), "OLLAMA_MODELS": str(tmp_path / "ollama")}
    whole = run_binary("show", file).stdout.splitlines()
    for name in ("o/kinds", "o/Kinds:F32", "kinds", "kinds:latest"):
        done = run_binary("show", name, **environment)
        assert done.returncode == 0 and done.stdout.splitlines()[1:] == whole[1:], done.stderr
    done = run_binary("show", "kindz", **environment)
    assert done.returncode == 1 and "kindz" in done.stderr and "--list-ollama" in done.stderr


def test_rm_removes_that_model_and_nothing_else(hub, home, tmp_path):
    hub.repos["o/r"] = {"r-Q2_K.gguf": weights(2000), "r-Q3_K_S.gguf": weights(3000)}
    for variant in ("Q2_K", "Q3_K_S"):
        assert pull(hub, home, f"o/r:{variant}").returncode == 0
    (tmp_path / "data/tempo9/models/mine.gguf").write_bytes(b"mine")
    done = run_binary("rm", "o/r", **home)
    assert done.returncode == 2 and "o/r:Q2_K, o/r:Q3_K_S" in done.stderr
    assert run_binary("rm", "O/R:q2_k", **home).returncode == 0
    assert list(listed(home)) == ["o/r:Q3_K_S"]
    assert run_binary("rm", "o/r", **home).returncode == 0 and run_binary("rm", "o/r", **home).returncode == 1
    assert os.listdir(tmp_path / "data/tempo9/models") == ["mine.gguf"]
    for name in ("../../..", "/etc", "."):
        assert run_binary("rm", name, **home).returncode == 1


@pytest.mark.model
def test_what_was_pulled_is_served_by_its_name(hub, home, tmp_path):
    hub.library[("library/smol", "latest")] = model_path("smollm2").read_bytes()
    assert pull(hub, home, "smol", "--mirror", hub.url).returncode == 0
    (tmp_path / "s.jsonl").write_text("")
    server = Server("serve", "smol:latest", "--script", tmp_path / "s.jsonl", **home)
    assert server.client.models.list().data[0].id == "smol:latest"
    assert server.stop() == 0
