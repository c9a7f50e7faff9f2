"""tempo9 doctor: the machine, a model on it before it is loaded or fetched, and the user's own proof (marker "model")."""

import json
import os
import re
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from conftest import Server, binary, clean_environment, model_path, run_binary
from model_hub import Hub

CHECKS = ["cpu", "threads", "memory", "gpu", "kv-disk", "port", "ollama", "models"]
MIB = 1 << 20


@pytest.fixture
def home(tmp_path):
    """An environment with stores of its own, no token and no proxy."""
    return {"XDG_DATA_HOME": str(tmp_path / "data"), "HOME": str(tmp_path), "HF_TOKEN": "", "HF_HOME": str(tmp_path / "hf"),
            "OLLAMA_MODELS": str(tmp_path / "ollama"), "XDG_CACHE_HOME": str(tmp_path / "cache"), "AS_KV_OFFLOAD": "1",
            "http_proxy": "", "https_proxy": "", "no_proxy": "*"}


@pytest.fixture
def free_port():
    server = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    server.server_close()
    return server.server_port


@pytest.fixture
def doctor(home, free_port):
    """doctor(*arguments): the report, with its checks by name, and the exit code."""
    def ask(*args, code=None, **environment):
        port = [] if "--port" in args else ["--port", free_port]
        done = run_binary("doctor", "--json", *port, *args, **{**home, **environment})
        assert done.returncode in (0, 1) and done.stderr == "", done.stderr
        report = json.loads(done.stdout)
        assert (report["status"] == "fail") == (done.returncode == 1)
        assert code is None or done.returncode == code, done.stdout
        for check in report["checks"]:
            assert list(check) == ["name", "status", "found", "expected", "advice", "details"]
            if check["status"] != "ok":
                assert check["found"] and check["advice"], check
        return {check["name"]: check for check in report["checks"]}
    return ask


def test_the_machine(doctor):
    checks = doctor()
    assert list(checks) == CHECKS
    assert checks["threads"]["details"]["threads"] == len(os.sched_getaffinity(0)) or "quota" in checks["threads"]["found"]
    assert checks["kv-disk"]["details"]["cap_bytes"] == 16_000_000_000
    assert checks["port"]["status"] == "ok" and checks["ollama"]["status"] == "ok"
    flags = set(re.search(r"^flags\s*: (.*)$", open("/proc/cpuinfo").read(), re.M)[1].split())
    tables = {table["name"]: table["missing"] for table in checks["cpu"]["details"]["tables"]}
    assert (checks["cpu"]["details"]["kernels"] == "avx512") == ({"avx512f", "avx512_vnni"} <= flags)
    assert tables["scalar"] == [] and (tables["avx2"] == []) == ({"avx2", "fma", "f16c"} <= flags)


def test_text_names_each_and_what_to_do(home, free_port, tmp_path):
    (tmp_path / "file").write_text("")
    done = run_binary("doctor", "--port", free_port, TEMPO9_CPU_ISA="scalar",
                      **{**home, "AS_KV_OFFLOAD_PATH": str(tmp_path / "file/kv")})
    heads = [line.split()[:2] for line in done.stdout.splitlines() if not line.startswith(" ")]
    assert [name for _, name in heads] == CHECKS
    assert ["warn", "cpu"] in heads and ["warn", "kv-disk"] in heads, "scalar is not the best; a file is no folder"
    assert done.stdout.count("do: ") == sum(level != "ok" for level, _ in heads)
    assert "unset TEMPO9_CPU_ISA" in done.stdout and "AS_KV_OFFLOAD_PATH" in done.stdout


def test_kernels_that_do_not_run_here_fail(doctor):
    check = doctor(code=1, TEMPO9_CPU_ISA="neon")["cpu"]
    assert check["status"] == "fail" and "neon" in check["found"] and "scalar" in check["expected"]


def test_threads_follow_affinity(home, free_port):
    one = {min(os.sched_getaffinity(0))}
    done = subprocess.run([binary(), "doctor", "--json", "--port", str(free_port)], capture_output=True, text=True,
                          env=clean_environment(**home), preexec_fn=lambda: os.sched_setaffinity(0, one), timeout=60)
    check = next(check for check in json.loads(done.stdout)["checks"] if check["name"] == "threads")
    assert check["details"]["threads"] == 1 and "affinity: 1" in check["found"]


def test_who_has_the_port(doctor, echo):
    check = doctor("--port", echo.port)["port"]
    assert check["status"] == "warn" and check["details"]["listener"] == "tempo9" and "serves script" in check["found"]

    class Ollama(BaseHTTPRequestHandler):
        def do_GET(self):
            body = b'{"version":"0.5.7"}'
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Ollama)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    check = doctor("--port", server.server_port, code=1, http_proxy="http://127.0.0.1:1")["port"]
    assert check["status"] == "fail" and check["details"]["listener"] == "ollama" and "0.5.7" in check["found"]
    server.shutdown()
    server.server_close()
    thread.join()


# SmolLM2-135M, from its config.json: 30 layers, 3 KV heads of 64.
def smol_kv_bytes(n_tokens: int) -> int:
    return n_tokens * 30 * 3 * 64 * 2 * 2


@pytest.mark.model
def test_a_model_that_fits(doctor):
    path = model_path("smollm2")
    found = doctor(path, "--max-length", 2048, code=0)["model"]
    details = found["details"]
    assert found["status"] == "ok" and details["place"] == "file" and details["length"] == 2048
    assert details["file_bytes"] == path.stat().st_size and details["declared_length"] == 8192
    assert 0.95 < details["weight_bytes"] / details["file_bytes"] < 1.15
    assert 1 <= details["kv_bytes"] / smol_kv_bytes(2048) < 1.1, "16 bits, and a scale per key and head"
    assert details["needed_bytes"] == details["weight_bytes"] + details["kv_bytes"] + details["working_bytes"]
    assert doctor(path, "--max-length", 9000)["model"]["status"] == "warn", "longer than the file declares"


@pytest.mark.model
def test_one_that_does_not_fit_says_what_would_and_serve_agrees(doctor):
    path = model_path("smollm2")
    asked = ["--max-length", 8192, "--memory", "420M"]
    check = doctor(path, *asked, code=1)["model"]
    assert check["status"] == "fail" and "--memory allows 420 MiB" in check["found"]
    shorter = re.search(r"--max-length (\d+), or", check["advice"])[1]
    assert int(shorter) == check["details"]["longest_that_fits"] and "--kv-type q8_0" in check["advice"]
    assert doctor(path, "--max-length", shorter, "--memory", "420M", code=0)["model"]["status"] == "ok"
    larger = re.search(r"--memory (\d+M)", check["advice"])[1]
    assert doctor(path, "--max-length", 8192, "--memory", larger, code=0)["model"]["status"] == "ok"
    assert doctor(path, "--memory", "420M", code=0)["model"]["status"] == "warn", "not asked for: it would start with less"
    server = Server("--gguf", path, "--memory", "420M")
    assert f"context {shorter}," in server.ready_line, "one arithmetic for both"
    assert server.stop() == 0
    refused = run_binary("serve", "--gguf", path, "--memory", "300M", "--port", 0)
    assert refused.returncode == 1 and "--memory allows 300 MiB; what fits: " in refused.stderr


@pytest.fixture
def hub():
    hub = Hub()
    yield hub
    hub.stop()


@pytest.mark.model
def test_a_model_that_is_not_fetched_yet(doctor, hub, home):
    path = model_path("smollm2")
    data = path.read_bytes()
    here = doctor(path)["model"]["details"]
    hub.repos["o/Smol-GGUF"] = {"Smol-Q4_1.gguf": data, "Smol-Q2_K.gguf": bytes(20 * MIB)}
    hub.library = {("library/tiny", "latest"): data}
    hub.token, hub.fail_first = "hf_secret", 2
    checks = doctor("o/Smol-GGUF:Q4_1", code=0, HF_ENDPOINT=hub.url, HF_TOKEN="hf_secret")
    there = checks["model"]["details"]
    assert there["place"] == "remote" and checks["models"]["details"]["needed_bytes"] == len(data)
    assert all(there[key] == here[key] for key in ("weight_bytes", "kv_bytes", "needed_bytes", "declared_length"))
    assert hub.bytes_sent == there["fetched_bytes"] < 8 * MIB, "the beginning only"
    assert not os.path.exists(home["XDG_DATA_HOME"]), "nothing is kept"
    assert not any(has_token for _, _, has_token in hub.files_seen), "the token stays with its host"
    hub.token, hub.ranges = None, False
    check = doctor("o/Smol-GGUF:Q4_1", "--mirror", hub.url, "--memory", "420M", "--max-length", 4096, code=1)["model"]
    assert check["details"]["variant_that_fits"] == "Q2_K" and "Q2_K" in check["advice"]
    hub.ranges = True
    assert doctor("tiny", "--mirror", hub.url, code=0)["model"]["details"]["needed_bytes"] == here["needed_bytes"]
    check = doctor("o/none", "--mirror", hub.url, code=1)["model"]
    assert "o/none" in check["found"] and "--known" in check["advice"]
    check = doctor("o/Smol-GGUF:Q2_K", "--mirror", hub.url, code=1)["model"]
    assert "Q2_K.gguf" in check["found"], "zeros are no model"


@pytest.mark.model
def test_a_name_of_a_store_here(doctor, home):
    path = model_path("smollm2")
    digest = "a" * 64
    manifests = os.path.join(home["OLLAMA_MODELS"], "manifests/registry.ollama.ai/library/smol")
    blobs = os.path.join(home["OLLAMA_MODELS"], "blobs")
    own = os.path.join(home["XDG_DATA_HOME"], "tempo9/models/o/Smol/Q4_1")
    for folder in (manifests, blobs, own):
        os.makedirs(folder)
    layer = {"mediaType": "application/vnd.ollama.image.model", "digest": f"sha256:{digest}"}
    with open(f"{manifests}/latest", "w") as manifest:
        json.dump({"layers": [layer]}, manifest)
    os.symlink(path, f"{blobs}/sha256-{digest}")
    os.symlink(path, f"{own}/m.gguf")
    with open(f"{own}/model.json", "w") as description:
        json.dump({"name": "o/Smol:Q4_1", "files": [{"name": "m.gguf"}]}, description)
    assert doctor("o/smol", code=0)["model"]["details"]["place"] == "store"
    for name in (["smol"], ["--ollama", "smol"]):
        checks = doctor(*name, code=0)
        assert checks["model"]["details"]["place"] == "ollama" and checks["ollama"]["details"]["models"] == ["smol:latest"]
    check = doctor("--ollama", "other", code=1)["model"]
    assert "smol:latest" in check["found"], "what is there is named"


@pytest.mark.model
def test_the_catalogue_tells_what_the_file_tells(doctor):
    known = run_binary("list", "--known").stdout
    line = next(line for line in known.splitlines() if line.startswith("Qwen/Qwen2.5-Coder-0.5B"))
    number, unit = re.search(r"MiB\s+([\d.]+) (MiB|GiB)", line).groups()
    told = float(number) * (MIB if unit == "MiB" else 1024 * MIB)
    needed = doctor(model_path("qwen"))["model"]["details"]["needed_bytes"]
    assert 0.9 < told / needed < 1.1


@pytest.mark.model
def test_one_text_always():
    done = run_binary("doctor", "--determinism", model_path("smollm2"), "--prompt", 300, timeout=280)
    lines = done.stdout.splitlines()
    assert "DIFFERENT" not in done.stdout and lines[-1].startswith("ok    determinism  One text, always"), done.stdout
    equal = {line.removeprefix("equal").strip() for line in lines if line.startswith("equal")}
    assert equal >= {"0 % of the prompt cached", "25 % of the prompt cached", "50 % of the prompt cached",
                     "99 % of the prompt cached", "beside 1 other", "beside 3 others", "beside 7 others", "1 thread", "2 threads",
                     "the prompt in slices of 64", "the prompt in slices of 512", "the prompt in slices of 2048",
                     "the prompt read from disk after a restart"}


@pytest.mark.model
def test_without_a_temporary_folder_the_restart_is_left_out_aloud(doctor):
    check = doctor(model_path("smollm2"), "--determinism", "--prompt", 8, "--max-length", 64, TMPDIR="/nonexistent")["determinism"]
    assert check["status"] == "warn" and "left out" in check["found"] and "TMPDIR" in check["advice"]
    assert check["details"]["left_out"] == ["the prompt read from disk after a restart"]
    assert len(check["details"]["cases"]) >= 10 and not any(case["different"] for case in check["details"]["cases"])


def test_the_proof_wants_a_model_that_is_here():
    done = run_binary("doctor", "--determinism")
    assert done.returncode == 2 and "--determinism F.gguf" in done.stderr
