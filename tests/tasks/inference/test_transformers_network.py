"""A torch checkpoint in processes of the engine's environment: the same network as on ONNX Runtime, owned by us."""

import contextlib
import io
import json
import os
import pickle
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import psutil
import pytest
from tiny_bert import CONFIG, as_onnx, as_torch, seeded_weights

from schemas.errors import UserError
from tasks.inference import transformers_child, transformers_network
from tasks.inference.encoder import PairEncoder
from tasks.inference.engine import Engine
from tasks.inference.protocol import EngineError, EngineUnavailableError
from tasks.inference.transformers_child import read_frame, write_frame
from tasks.inference.transformers_network import TransformersChild, TransformersEncoder, TransformersPairs
from tasks.support.models import ModelReference, load_support_model
from tasks.support.nli import NliModel, decide, load_folder

TEXTS = ["", "\0", "soup", "The soup was cold, and we waited for an hour. " * 3, "😀 המרק היה קר", "soup bread " * 300]
STATEMENTS = ["The food was good.", "It was cheap.", "Nobody waited."]
OWNER = """
import sys
from pathlib import Path
from tasks.inference.engine import find_engine
from tasks.inference.transformers_network import TorchFiles, TransformersPairs
folder = Path(sys.argv[2])
files = TorchFiles((folder / "model.safetensors",), folder / "tokenizer.json", folder / "config.json")
network = TransformersPairs(find_engine(Path(sys.argv[1])), files, 1)
print(network._children[0]._process.pid, flush=True)
sys.stdin.read()
"""


def wait_for(condition: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def processes(encoder: TransformersEncoder) -> list[subprocess.Popen[bytes]]:
    """The children that are started."""
    network = encoder._network
    assert isinstance(network, TransformersPairs)
    return [child._process for child in network._children if child._process is not None]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small BERT as safetensors."""
    path = tmp_path_factory.mktemp("small-bert")
    as_torch(path, seeded_weights())
    return path


@pytest.fixture(scope="module")
def encoder(engine: Engine, folder: Path) -> TransformersEncoder:
    """It on one process."""
    return TransformersEncoder(engine, as_torch(folder, seeded_weights()), workers=1)


@pytest.fixture(scope="module")
def on_onnx(tmp_path_factory: pytest.TempPathFactory) -> PairEncoder:
    """The same weights as a graph."""
    return PairEncoder(as_onnx(tmp_path_factory.mktemp("graph"), seeded_weights()), 2)


def test_the_same_weights_give_the_same_logits_on_both_engines(
    encoder: TransformersEncoder, on_onnx: PairEncoder
) -> None:
    assert encoder.labels == on_onnx.labels
    ours, theirs = (model.logits(TEXTS, STATEMENTS) for model in (encoder, on_onnx))
    assert np.isneginf(ours[:2]).all()
    assert np.abs(ours[2:] - theirs[2:]).max() < 1e-4
    margins = np.sort(theirs[2:], axis=-1)
    clear = margins[..., -1] - margins[..., -2] > 1e-3
    assert clear.sum() >= 10
    assert np.array_equal(decide(ours[2:], 1)[clear], decide(theirs[2:], 1)[clear])


def test_facts_name_weights_engine_kernels_and_no_path(engine: Engine, encoder: TransformersEncoder) -> None:
    facts = encoder.facts()
    assert facts["engine_recipe_sha256"] == engine.recipe_sha256
    assert all(word in facts["engine"] for word in ("transformers", "torch", "fp32", "deterministic"))
    assert (facts["threads"], facts["batch_shape"]) == ("1 per call", "one pair per call at its exact length")
    assert {"model_sha256", "tokenizer_sha256", "config_sha256", "kernels", "cpu", "truncation"} <= set(facts)
    assert "/" not in facts["architecture"] + facts["kernels"] + facts["engine"]


def test_a_process_that_is_killed_is_replaced_and_no_bit_changes(encoder: TransformersEncoder) -> None:
    before = encoder.logits(TEXTS, STATEMENTS)
    killed = processes(encoder)
    for process in killed:
        process.kill()
    assert encoder.logits(TEXTS, STATEMENTS).tobytes() == before.tobytes()
    assert not {process.pid for process in killed} & {process.pid for process in processes(encoder)}


def test_a_row_that_always_kills_is_an_engine_failure_and_no_verdict(
    encoder: TransformersEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    logits = TransformersChild.logits

    def killed_first(child: TransformersChild, inputs: dict[str, np.ndarray]) -> np.ndarray:
        assert child._process is not None
        child._process.kill()
        return logits(child, inputs)

    monkeypatch.setattr(TransformersChild, "logits", killed_first)
    monkeypatch.setattr(transformers_network, "_TRIES", 2)
    with pytest.raises(EngineUnavailableError, match="again and again") as failure:
        encoder.logits(["canary"], STATEMENTS[:1])
    assert "canary" not in str(failure.value)


def test_a_model_that_fails_on_a_pair_says_how_and_not_on_what(encoder: TransformersEncoder) -> None:
    network = encoder._network
    assert isinstance(network, TransformersPairs)
    beyond = np.full((1, 5), 10**6)
    child = network._children[0]
    child.start()
    with pytest.raises(EngineError, match="failed on a pair: IndexError") as failure:
        child.logits({"input_ids": beyond, "token_type_ids": np.zeros_like(beyond)})
    assert "1000000" not in str(failure.value)
    assert np.isfinite(encoder.logits(["soup"], STATEMENTS)).all()  # and the process goes on


def test_processes_end_with_the_encoder(engine: Engine, folder: Path) -> None:
    encoder = TransformersEncoder(engine, as_torch(folder, seeded_weights()), workers=1)
    (process,) = processes(encoder)
    copy = pickle.loads(pickle.dumps(encoder))
    assert copy.facts() == encoder.facts()
    assert copy.logits(TEXTS, STATEMENTS).tobytes() == encoder.logits(TEXTS, STATEMENTS).tobytes()
    del encoder
    wait_for(lambda: process.poll() is not None)


def test_a_process_ends_when_its_owner_is_killed(engine: Engine, folder: Path) -> None:
    command = [sys.executable, "-c", OWNER, str(engine.folder), str(folder)]
    owner = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    child = psutil.Process(int(owner.stdout.readline()))
    assert child.is_running()
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    wait_for(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE)


def test_a_process_that_does_not_read_ends_when_its_owner_is_gone(engine: Engine, folder: Path) -> None:
    """The other end of its standard input may be open in a third process."""
    script = (
        f"import os, subprocess, sys; p = subprocess.Popen({[str(engine.python), '-I']!r} + sys.argv[1:], stdin=0); "
    )
    script += "print(p.pid, flush=True); os._exit(0)"
    read, write = os.pipe()
    middle = subprocess.Popen(
        [sys.executable, "-c", script, transformers_child.__file__], stdin=read, stdout=subprocess.PIPE, text=True
    )
    os.close(read)
    with os.fdopen(write, "wb") as pipe:
        asked = {"config": str(folder / "config.json"), "weights": [str(folder / "model.safetensors")]}
        write_frame(pipe, json.dumps({"owner": middle.pid, **asked}).encode())
        assert middle.stdout is not None
        pid = int(middle.stdout.readline())
        middle.wait()
        wait_for(lambda: not psutil.pid_exists(pid))


def test_the_process_has_no_network_and_only_the_environment_that_it_needs(encoder: TransformersEncoder) -> None:
    encoder.logits(["soup"], STATEMENTS)
    (process,) = processes(encoder)
    environment = psutil.Process(process.pid).environ()
    assert set(environment) <= {*transformers_network._KEPT, *transformers_network._SETTINGS, "LC_CTYPE"}
    assert (environment["OMP_NUM_THREADS"], environment["HF_HUB_OFFLINE"]) == ("1", "1")
    assert psutil.Process(process.pid).net_connections() == []
    code = (
        "import sys, socket; sys.path.insert(0, sys.argv[1]); import transformers_child as c\n"
        "sys.addaudithook(c._refuse_network)\nsocket.create_connection(('127.0.0.1', 9))"
    )
    here = str(Path(transformers_child.__file__).parent)
    done = subprocess.run([sys.executable, "-c", code, here], capture_output=True, text=True, check=False)
    assert "PermissionError: the process that reads private texts has no network" in done.stderr


def test_weights_without_a_head_are_refused_since_it_would_be_random(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = {name: values for name, values in seeded_weights().items() if not name.startswith("classifier")}
    as_torch(tmp_path, weights)
    monkeypatch.setenv("PRIVCERT_ENGINE", str(engine.folder))
    with pytest.raises(UserError, match=f"model {tmp_path.name}: .*lack 2 tensors .* such as classifier.bias"):
        load_folder(tmp_path, workers=1)


def test_shards_and_the_configs_own_order_of_labels_are_read(
    engine: Engine, encoder: TransformersEncoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    turned = CONFIG | {"id2label": {"0": "ENTAILMENT", "1": "neutral", "2": "contradiction"}, "label2id": {}}
    files = as_torch(tmp_path, seeded_weights(), turned, shards=3)
    monkeypatch.setenv("PRIVCERT_ENGINE", str(engine.folder))
    model = load_support_model(ModelReference(name=str(tmp_path), threads=1))
    assert isinstance(model, NliModel)
    ours, whole = model.logits(TEXTS, STATEMENTS), encoder.logits(TEXTS, STATEMENTS)
    assert ours.tobytes() == whole.tobytes()
    assert model.verdicts(TEXTS, STATEMENTS).tolist() == decide(whole, 0).tolist() != decide(whole, 1).tolist()
    assert model.description["labels"] == "entailment, neutral, contradiction"
    assert (len(files.weights), model.description["model_sha256"].count(",")) == (3, 2)


def test_a_graph_is_taken_before_weights_and_weights_without_an_engine_are_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRIVCERT_ENGINE", str(tmp_path / "nothing"))
    as_torch(tmp_path, seeded_weights())
    with pytest.raises(UserError, match=rf"model {tmp_path.name}: it has no ONNX graph.*privcert engine install"):
        load_folder(tmp_path)
    as_onnx(tmp_path, seeded_weights())
    assert "onnxruntime" in load_folder(tmp_path).description["engine"]


def test_frames_are_whole_or_the_end() -> None:
    pipe = io.BytesIO()
    for body in (b"", b"abc", b"\n\0"):
        write_frame(pipe, body)
    pipe.seek(0)
    assert [read_frame(pipe) for _ in range(4)] == [b"", b"abc", b"\n\0", None]
    assert read_frame(io.BytesIO(struct.pack("<I", 5) + b"abc")) is None
    with contextlib.suppress(OSError):
        pipe.close()
