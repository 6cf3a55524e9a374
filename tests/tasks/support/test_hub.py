"""Checkpoints of a hub (a server of the test): what lies on this machine, what is fetched, what is refused."""

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from schemas.errors import UserError
from tasks.inference.encoder import EncoderFiles
from tasks.inference.transformers_network import TorchFiles
from tasks.support.catalogue import model_rows, pull_model
from tasks.support.default_model import CROSS_ENCODER, CROSS_ENCODER_REVISION
from tasks.support.hub import HubCheckpoint, checkpoints_here, shard_names
from tasks.support.models import ModelReference
from tests.tasks.inference.tiny_onnx import constant_model

COMMIT = "0123456789abcdef0123456789abcdef01234567"
NAME = f"owner/tiny@{COMMIT}"
TOKENIZER = (Path(__file__).parents[3] / "tasks" / "support" / "nli_mini" / "tokenizer.json").read_bytes()
CONFIG = b'{"id2label": {"0": "entailment", "1": "neutral"}}'
FILES = {"onnx/model.onnx": constant_model((1.0, 0.0)), "tokenizer.json": TOKENIZER, "config.json": CONFIG}


def put_in_cache(cache: Path, name: str, commit: str, files: dict[str, bytes]) -> None:
    """The files as the hub's client leaves them."""
    for file, content in files.items():
        path = cache / f"models--{name.replace('/', '--')}" / "snapshots" / commit / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


@pytest.fixture
def hub() -> Iterator[tuple[str, dict[str, bytes], list[str]]]:
    """A hub with one checkpoint: its address, its files, and a log of what was asked."""
    files, asked = dict(FILES), list[str]()

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.answer(with_body=False)

        def do_GET(self) -> None:
            self.answer(with_body=True)

        def answer(self, *, with_body: bool) -> None:
            asked.append(f"{self.command} {self.path}")
            content = files.get(self.path.removeprefix(f"/owner/tiny/resolve/{COMMIT}/"))
            self.send_response(200 if content is not None else 404)
            self.send_header("X-Repo-Commit", COMMIT)
            self.send_header("Content-Length", str(len(content or b"")))
            if content is None:
                self.send_header("X-Error-Code", "EntryNotFound")
            else:
                self.send_header("ETag", f'"{abs(hash(content)):040x}"')
            self.end_headers()
            if with_body and content is not None:
                self.wfile.write(content)

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}", files, asked
    server.shutdown()
    server.server_close()
    thread.join()


def run_privcert(cache: Path, endpoint: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own: the hub's client reads its settings once."""
    code = f"import sys; sys.argv = {['privcert', *arguments]!r}; import flows.cli; flows.cli.main()"
    here = os.environ | {
        "HF_ENDPOINT": endpoint, "HF_HUB_CACHE": str(cache), "HF_HUB_OFFLINE": "0", "HF_HUB_DISABLE_XET": "1"
    }  # fmt: skip
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=here, check=False)


def test_the_named_models_are_listed_without_a_network_or_a_load(tmp_path: Path) -> None:
    rows = {row.name: row for row in model_rows(tmp_path)}
    assert (rows[CROSS_ENCODER].kind, rows[CROSS_ENCODER].available_offline) == ("nli", False)
    assert (rows["nli-mini"].kind, rows["nli-mini"].available_offline) == ("nli", True)
    assert (rows["keyword"].kind, rows["keyword"].available_offline) == ("keyword", True)
    assert rows[CROSS_ENCODER].revision == CROSS_ENCODER_REVISION
    assert (rows["nli-mini"].takes_windows, rows["keyword"].takes_windows) == (True, False)


def test_what_lies_whole_in_the_cache_is_available(tmp_path: Path) -> None:
    put_in_cache(tmp_path, CROSS_ENCODER, CROSS_ENCODER_REVISION, FILES)
    put_in_cache(tmp_path, CROSS_ENCODER, COMMIT, FILES)
    for missing in FILES:
        rest = {file: content for file, content in FILES.items() if file != missing}
        put_in_cache(tmp_path, f"owner/without-{Path(missing).stem}", COMMIT, rest)
    root_graph = {"model.onnx": FILES["onnx/model.onnx"], "tokenizer.json": TOKENIZER, "config.json": CONFIG}
    put_in_cache(tmp_path, "owner/tiny", COMMIT, root_graph)
    rows = [row for row in model_rows(tmp_path) if row.available_offline and row.kind == "nli"]
    assert [row.name for row in rows] == [CROSS_ENCODER, "nli-mini", f"{CROSS_ENCODER}@{COMMIT}", NAME]
    assert [found.name for found in checkpoints_here(tmp_path)] == [CROSS_ENCODER, CROSS_ENCODER, "owner/tiny"]
    pulled = pull_model(ModelReference(name=NAME, cache_dir=tmp_path))
    assert (pulled.name, pulled.revision, pulled.fetched) == ("owner/tiny", COMMIT, False)
    assert sorted(pulled.files.values()) == sorted(map(len, root_graph.values()))


def test_pull_fetches_the_pinned_commit_once_and_then_needs_no_hub(
    tmp_path: Path, hub: tuple[str, dict[str, bytes], list[str]]
) -> None:
    endpoint, _, asked = hub
    first = run_privcert(tmp_path, endpoint, "models", "pull", NAME, "--json")
    assert first.returncode == 0, first.stderr
    facts = json.loads(first.stdout)
    assert (facts["name"], facts["revision"], facts["fetched"]) == ("owner/tiny", COMMIT, True)
    assert {file["bytes"] for file in facts["files"]} == {len(content) for content in FILES.values()}
    of_the_model = [line for line in asked if "owner" in line]
    assert of_the_model
    assert all(f"/resolve/{COMMIT}/" in line for line in of_the_model)
    again = run_privcert(tmp_path, "http://127.0.0.1:9", "models", "pull", NAME, "--json")
    assert json.loads(again.stdout)["fetched"] is False
    listed = json.loads(run_privcert(tmp_path, "http://127.0.0.1:9", "models", "list", "--json").stdout)["models"]
    assert {row["name"]: row["available_offline"] for row in listed}[NAME] is True


def test_a_graph_at_the_root_is_fetched_where_there_is_no_onnx_folder(
    tmp_path: Path, hub: tuple[str, dict[str, bytes], list[str]]
) -> None:
    endpoint, files, _ = hub
    files["model.onnx"] = files.pop("onnx/model.onnx")
    assert run_privcert(tmp_path, endpoint, "models", "pull", NAME).returncode == 0
    assert HubCheckpoint("owner/tiny", COMMIT, tmp_path).cached() is not None


def test_a_checkpoint_that_the_hub_does_not_have_in_onnx_form_is_refused(
    tmp_path: Path, hub: tuple[str, dict[str, bytes], list[str]]
) -> None:
    endpoint, files, _ = hub
    del files["onnx/model.onnx"]
    answer = run_privcert(tmp_path, endpoint, "models", "pull", NAME)
    assert (answer.returncode, answer.stderr.count("\n")) == (2, 1)
    assert "the hub has no such model, or not all of onnx/model.onnx or model.onnx" in answer.stderr


@pytest.mark.parametrize("shards", [1, 2])
def test_weights_are_fetched_where_there_is_no_graph_and_need_the_engine(
    tmp_path: Path, hub: tuple[str, dict[str, bytes], list[str]], monkeypatch: pytest.MonkeyPatch, shards: int
) -> None:
    endpoint, files, _ = hub
    del files["onnx/model.onnx"]
    names = ["model.safetensors"] if shards == 1 else [f"model-{part}-of-2.safetensors" for part in (1, 2)]
    files |= {name: f"weights in {name}".encode() for name in names}
    if shards > 1:
        files["model.safetensors.index.json"] = json.dumps({"weight_map": dict(zip("ab", names, strict=True))}).encode()
    monkeypatch.setenv("PRIVCERT_ENGINE", str(tmp_path / "no-engine"))
    answer = run_privcert(tmp_path, endpoint, "models", "pull", NAME)
    assert (answer.returncode, answer.stderr.count("\n")) == (2, 1)
    assert "owner/tiny: it has no ONNX graph, so transformers must run it" in answer.stderr
    assert "privcert engine install" in answer.stderr
    found = HubCheckpoint("owner/tiny", COMMIT, tmp_path).cached()
    assert isinstance(found, TorchFiles)
    assert [path.name for path in found.files] == [*names, "tokenizer.json", "config.json"]
    assert [checkpoint.name for checkpoint in checkpoints_here(tmp_path)] == ["owner/tiny"]


def test_a_graph_is_taken_before_weights(tmp_path: Path) -> None:
    put_in_cache(tmp_path, "owner/tiny", COMMIT, FILES | {"model.safetensors": b""})
    assert isinstance(HubCheckpoint("owner/tiny", COMMIT, tmp_path).cached(), EncoderFiles)


def test_weights_of_other_kinds_of_models_are_not_listed(tmp_path: Path) -> None:
    others = {"model.safetensors": b"", "tokenizer.json": TOKENIZER}
    put_in_cache(tmp_path, "owner/chat", COMMIT, others | {"config.json": b"{}"})
    put_in_cache(tmp_path, "owner/broken", COMMIT, others | {"config.json": b"{"})
    put_in_cache(tmp_path, "owner/nli", COMMIT, others | {"config.json": CONFIG})
    assert [checkpoint.name for checkpoint in checkpoints_here(tmp_path)] == ["owner/nli"]


@pytest.mark.parametrize("index", [b"{", b"{}", b'{"weight_map": {"a": "../../secret"}}', b'{"weight_map": {"a": 1}}'])
def test_an_index_that_names_no_files_beside_it_is_refused(tmp_path: Path, index: bytes) -> None:
    (tmp_path / "index.json").write_bytes(index)
    with pytest.raises(UserError, match=r"model\.safetensors\.index\.json"):
        shard_names(tmp_path / "index.json")


def test_a_checkpoint_that_decides_no_entailment_is_refused_when_it_is_pulled(
    tmp_path: Path, hub: tuple[str, dict[str, bytes], list[str]]
) -> None:
    endpoint, files, _ = hub
    files["config.json"] = b'{"id2label": {"0": "POSITIVE", "1": "NEGATIVE"}}'
    answer = run_privcert(tmp_path, endpoint, "models", "pull", NAME)
    assert (answer.returncode, "owner/tiny" in answer.stderr, "entailment" in answer.stderr) == (2, True, True)


def test_offline_pull_says_what_it_would_fetch(tmp_path: Path) -> None:
    answer = run_privcert(tmp_path, "http://127.0.0.1:9", "models", "pull", NAME)
    assert (answer.returncode, answer.stdout, answer.stderr.count("\n")) == (2, "", 1)
    assert all(text in answer.stderr for text in ("owner/tiny", COMMIT[:12], "onnx/model.onnx", "tokenizer.json"))


def test_what_comes_from_no_hub_has_nothing_to_fetch(tmp_path: Path) -> None:
    assert pull_model(ModelReference(name="nli-mini")).files == {}
    with pytest.raises(UserError, match="nothing to fetch"):
        pull_model(ModelReference(name=str(tmp_path)))
    with pytest.raises(UserError, match="unknown support model"):
        pull_model(ModelReference(name="gpt-9"))
    shutil.rmtree(tmp_path)
