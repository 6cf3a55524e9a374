"""NLI support models: the protocol, the fingerprint, the packaged files, the refusals."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from schemas.errors import UserError
from tasks.inference.encoder import EncoderFiles, PairEncoder
from tasks.support.default_model import CROSS_ENCODER_REVISION
from tasks.support.nli import NliModel, decide, load_cross_encoder, load_nli_mini
from tasks.support.protocol import SupportModel

FOLDER = resources.files("tasks.support") / "nli_mini"
SUPPORTED = [
    ("We waited an hour for our food and nobody said sorry.", "The reviewer complains about slow service."),
    ("The pasta was delicious and the dessert even better.", "The review praises the food."),
    ("The waitress was rude to us from the start.", "The reviewer says that the staff was unfriendly."),
    ("Two cocktails for fifty dollars is a rip-off.", "The reviewer says that the prices were too high."),
    ("My flight left four hours late. The crew was kind.", "The passenger complains about a delay."),
    ("Hi, I would like my money back for order 1182.", "The customer asks for a refund."),
    ("Why does this Python loop never stop? for i in x: x.append(i)", "The user asks for help with code."),
    (
        "The applicant complained that the trial took eleven years.",
        "The case concerns the length of proceedings.",
    ),
]
UNSUPPORTED = [
    ("The pasta was delicious and the dessert even better.", "The reviewer complains about slow service."),
    ("The soup was awful.", "The review praises the food."),
    ("The waitress was so kind and helpful.", "The reviewer says that the staff was unfriendly."),
    ("Cheap and cheerful, a great deal.", "The reviewer says that the prices were too high."),
    ("We landed ten minutes early.", "The passenger complains about a delay."),
    ("How do I change my password?", "The customer asks for a refund."),
    ("Give me a recipe for banana bread.", "The user asks for help with code."),
    ("The applicant's house was demolished by the authorities.", "The case concerns the length of proceedings."),
]


@pytest.fixture(scope="module")
def model() -> NliModel:
    """The packaged model."""
    return load_nli_mini()


def run_python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The code in a fresh interpreter."""
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **environment}, check=False
    )


def test_the_packaged_model_is_a_support_model(model: NliModel) -> None:
    typed: SupportModel = model
    verdicts = typed.verdicts(["soup", "rice"], ["It was cheap."])
    assert (typed.name, verdicts.dtype, verdicts.shape) == ("nli-mini", np.dtype(bool), (2, 1))


def test_plain_statements_about_plain_records_get_the_right_verdict(model: NliModel) -> None:
    pairs = [(pair, True) for pair in SUPPORTED] + [(pair, False) for pair in UNSUPPORTED]
    right = [bool(model.verdicts([text], [statement])[0, 0]) == truth for (text, statement), truth in pairs]
    assert sum(right) >= 15, [pair for pair, is_right in zip(pairs, right, strict=True) if not is_right]


def test_verdicts_stay_when_neighbours_are_removed_reordered_or_duplicated(model: NliModel) -> None:
    texts, statements = [text for text, _ in SUPPORTED + UNSUPPORTED], [statement for _, statement in SUPPORTED]
    whole = model.verdicts(texts, statements)
    order = [9, 3, 3, 0, 15, 7]
    assert np.array_equal(model.verdicts([texts[row] for row in order], statements), whole[order])
    assert np.array_equal(model.verdicts(texts[::-1], statements[::-1]), whole[::-1, ::-1])


def test_an_empty_text_supports_nothing(model: NliModel) -> None:
    assert not model.verdicts(["", "\0"], [statement for _, statement in SUPPORTED]).any()


def test_a_tie_is_no_support() -> None:
    logits = np.array([[[1.0, 1.0, 0.0], [0.5, 1.0, 1.0], [0.0, 1.0, 0.5], [-np.inf] * 3]], dtype=np.float32)
    assert decide(logits, entailment=1).tolist() == [[False, False, True, False]]


def test_the_fingerprint_is_the_hash_of_the_public_description(model: NliModel) -> None:
    expected = hashlib.sha256(json.dumps(dict(model.description), sort_keys=True).encode()).hexdigest()
    assert model.fingerprint == expected
    content = hashlib.sha256((FOLDER / "model.onnx").read_bytes()).hexdigest()
    assert model.description["model_sha256"] == content
    assert "onnxruntime" in model.description["engine"]
    assert all("\n" not in value for value in model.description.values())


def test_equal_files_give_equal_fingerprints_and_any_changed_file_gives_another(
    tmp_path: Path, model: NliModel
) -> None:
    names = {role: f"{role}.{'onnx' if role == 'model' else 'json'}" for role in ("model", "tokenizer", "config")}
    prints = set()
    for changed in (None, *names):
        folder = tmp_path / str(changed)
        shutil.copytree(Path(str(FOLDER)), folder)
        if changed == "model":
            content = (folder / "model.onnx").read_bytes()
            place = len(content) // 2
            (folder / "model.onnx").write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        elif changed is not None:
            with (folder / names[changed]).open("a", encoding="utf-8") as stream:
                stream.write(" \n")
        files = EncoderFiles(*(folder / name for name in names.values()))
        copy = NliModel("nli-mini", model.description["revision"], PairEncoder(files, workers=1))
        assert (copy.fingerprint == model.fingerprint) == (changed is None)
        prints.add(copy.fingerprint)
    assert len(prints) == 4


def test_the_packaged_model_loads_without_network_torch_or_transformers() -> None:
    code = """
import socket, sys
def refuse(*a, **k): raise OSError("no network in this test")
socket.socket.connect = socket.getaddrinfo = refuse
from tasks.support.nli import load_nli_mini
assert load_nli_mini().verdicts(["The soup was cold."], ["It was cheap."]).shape == (1, 1)
assert not {"torch", "transformers", "prefect", "duckdb"} & set(sys.modules)
"""
    done = run_python(code)
    assert done.returncode == 0, done.stderr


def test_the_packaged_files_are_small_and_come_with_card_and_licence() -> None:
    assert len((FOLDER / "model.onnx").read_bytes()) <= 30_000_000
    card = (FOLDER / "MODEL_CARD.md").read_text(encoding="utf-8")
    assert all(word in card for word in ("SNLI", "MNLI", "SciTail", "QNLI", "MIT", "bad at"))
    assert "Permission is hereby granted" in (FOLDER / "LICENSE").read_text(encoding="utf-8")


def test_a_cross_encoder_out_of_reach_names_the_models_that_are_there(tmp_path: Path) -> None:
    code = f"""
from pathlib import Path
from schemas.errors import UserError
from tasks.support.nli import load_cross_encoder
try:
    load_cross_encoder(cache_dir=Path({str(tmp_path)!r}))
except UserError as error:
    print(error)
"""
    done = run_python(code, HF_ENDPOINT="http://127.0.0.1:9")
    assert done.stdout.count("\n") == 1, done.stderr
    assert "--model nli-mini" in done.stdout
    assert "--model keyword" in done.stdout


@pytest.mark.parametrize("revision", ["main", "v1.0", "6c749ce", "G" * 40, ""])
def test_a_revision_that_could_move_is_refused(revision: str) -> None:
    with pytest.raises(UserError, match="full commit hash"):
        load_cross_encoder(revision=revision)


def test_a_cross_encoder_in_the_cache_loads_without_network(tmp_path: Path, model: NliModel) -> None:
    snapshot = tmp_path / "models--some--encoder" / "snapshots" / CROSS_ENCODER_REVISION
    (snapshot / "onnx").mkdir(parents=True)
    for name, place in (("model.onnx", "onnx/model.onnx"), ("tokenizer.json",) * 2, ("config.json",) * 2):
        shutil.copyfile(Path(str(FOLDER / name)), snapshot / place)
    cached = load_cross_encoder("some/encoder", CROSS_ENCODER_REVISION, tmp_path)
    assert (cached.name, cached.description["revision"]) == ("some/encoder", CROSS_ENCODER_REVISION)
    texts, statements = [text for text, _ in SUPPORTED], [statement for _, statement in SUPPORTED]
    assert np.array_equal(cached.verdicts(texts, statements), model.verdicts(texts, statements))
    assert cached.fingerprint != model.fingerprint
