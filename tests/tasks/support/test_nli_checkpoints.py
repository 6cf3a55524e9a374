"""NLI checkpoints of any kind: a folder or a hub's commit, label orders from the config, windows as a setting."""

import json
import shutil
from decimal import Decimal
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

from schemas.audit import AuditSettings, PremiseWindows, ScoringSettings
from schemas.errors import UserError
from tasks.audits.preflight import model_reference
from tasks.storage.home import Home
from tasks.support.models import ModelReference, checkpoint_of, load_support_model
from tasks.support.nli import NliModel, load_folder, load_nli_mini
from tests.tasks.inference.tiny_onnx import constant_model, counting_model, write_encoder

PACKAGED = Path(str(resources.files("tasks.support") / "nli_mini"))
TOKENIZER = (PACKAGED / "tokenizer.json").read_text(encoding="utf-8")
COMMIT = "0123456789abcdef0123456789abcdef01234567"
EVIDENCE = "We asked for our money back because the soup was cold, and the waiter was rude to us."
STATEMENT = "The reviewer complains about the staff."
SILENCE = "The building has two floors and a red door. "


def named(*labels: str) -> dict[str, dict[str, str]]:
    """A config with these labels, in this order."""
    return {"id2label": {str(place): label for place, label in enumerate(labels)}}


@pytest.mark.parametrize(
    ("labels", "logits", "supports"),
    [
        (("contradiction", "entailment", "neutral"), (0.0, 2.0, 1.0), True),
        (("contradiction", "neutral", "entailment"), (0.0, 2.0, 1.0), False),
        (("ENTAILMENT", "NEUTRAL", "CONTRADICTION"), (2.0, 1.0, 0.0), True),
        (("entailment", "neutral", "contradiction"), (1.0, 2.0, 0.0), False),
        (("entailment", "not_entailment"), (0.5, 0.25), True),
        (("not_entailment", "entailment"), (0.5, 0.25), False),
        (("entailment", "not_entailment"), (0.5, 0.5), False),
    ],
)
def test_the_order_of_the_labels_is_the_configs_own(
    tmp_path: Path, labels: tuple[str, ...], logits: tuple[float, ...], supports: bool
) -> None:
    write_encoder(tmp_path, constant_model(logits), TOKENIZER, named(*labels))
    model = load_folder(tmp_path)
    assert model.verdicts(["soup"], ["It was cheap."]).tolist() == [[supports]]
    assert model.description["labels"] == ", ".join(label.lower() for label in labels)


@pytest.mark.parametrize("labels", [("LABEL_0", "LABEL_1", "LABEL_2"), ("positive", "negative"), ("entailment",), ()])
def test_a_checkpoint_without_an_entailment_label_is_refused_by_its_name(
    tmp_path: Path, labels: tuple[str, ...]
) -> None:
    folder = tmp_path / "sentiment-model"
    folder.mkdir()
    write_encoder(folder, constant_model((0.0, 1.0)), TOKENIZER, named(*labels))
    with pytest.raises(UserError, match=r"model sentiment-model: .*entailment"):
        load_support_model(ModelReference(name=str(folder)))


def test_files_that_are_no_checkpoint_are_refused_by_the_models_name(tmp_path: Path) -> None:
    write_encoder(tmp_path, b"no graph", TOKENIZER, named("entailment", "neutral"))
    with pytest.raises(UserError, match=f"model {tmp_path.name}: its files cannot be read"):
        load_folder(tmp_path)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(UserError, match=f"model {tmp_path.name}:"):
        load_folder(tmp_path)
    (tmp_path / "tokenizer.json").unlink()
    with pytest.raises(UserError, match=r"has no tokenizer\.json"):
        load_folder(tmp_path)


@pytest.mark.parametrize("graph", ["model.onnx", "onnx/model.onnx"])
def test_a_folder_is_a_model_with_the_same_verdicts_and_a_fingerprint_of_its_own(tmp_path: Path, graph: str) -> None:
    folder = tmp_path / "copy"
    (folder / "onnx").mkdir(parents=True)
    shutil.copyfile(PACKAGED / "model.onnx", folder / graph)
    for name in ("tokenizer.json", "config.json"):
        shutil.copyfile(PACKAGED / name, folder / name)
    model, packaged = load_support_model(ModelReference(name=f"{folder}/")), load_nli_mini()
    assert isinstance(model, NliModel)
    assert (model.name, str(tmp_path) in str(dict(model.description))) == ("copy", False)
    assert np.array_equal(model.logits([EVIDENCE], [STATEMENT]), packaged.logits([EVIDENCE], [STATEMENT]))
    assert model.description["model_sha256"] == packaged.description["model_sha256"]
    assert model.fingerprint != packaged.fingerprint


def test_a_commit_of_a_hub_is_named_in_full(tmp_path: Path) -> None:
    found = checkpoint_of(ModelReference(name=f"owner/some.model-2@{COMMIT}", cache_dir=tmp_path))
    assert found is not None
    assert (found.name, found.revision) == ("owner/some.model-2", COMMIT)
    assert checkpoint_of(ModelReference(name="nli-mini")) is None
    for name in ("owner/model", "owner/model@main", f"owner/model@{COMMIT[:12]}", f"a/b/c@{COMMIT}", "OWNER", ""):
        with pytest.raises(UserError, match="OWNER/NAME@COMMIT"):
            load_support_model(ModelReference(name=name))


def test_the_setting_is_part_of_the_fingerprint_and_of_the_description() -> None:
    plain, windowed = (load_nli_mini(premise_windows=setting) for setting in PremiseWindows)
    assert plain.fingerprint != windowed.fingerprint
    changed = {name for name in plain.description if plain.description[name] != windowed.description[name]}
    assert changed == {"truncation", "batch_shape", "decision_rule"}
    assert load_nli_mini(1, PremiseWindows.MAX).fingerprint == windowed.fingerprint


def test_a_model_that_reads_whole_records_takes_no_windows() -> None:
    reference = ModelReference(name="keyword", domain="restaurant-reviews", premise_windows=PremiseWindows.MAX)
    with pytest.raises(UserError, match="premise_windows: keyword"):
        load_support_model(reference)


def test_the_setting_of_an_audit_reaches_its_model(home: Home) -> None:
    asked = {"source": "a.csv", "corpus": "a", "domain": "court-cases", "epsilon": 1, "theta": Decimal("0.1")}
    for setting in PremiseWindows:
        settings = AuditSettings.model_validate({**asked, "model": "nli-mini", "premise_windows": setting.value})
        assert load_support_model(model_reference(settings, home)).fingerprint == load_nli_mini(1, setting).fingerprint


def test_the_setting_is_truncate_unless_it_is_said() -> None:
    assert ScoringSettings().premise_windows is PremiseWindows.TRUNCATE
    with pytest.raises(ValidationError, match="truncate"):
        ScoringSettings(premise_windows="mean")


def test_evidence_at_the_end_of_10_000_words_is_found_in_windows_only(tmp_path: Path) -> None:
    piece = json.loads(TOKENIZER)["model"]["vocab"]["rude"]
    graph = counting_model(piece, (2.0, 0.0, 0.0), (-1.0, 0.0, 0.0))
    write_encoder(tmp_path, graph, TOKENIZER, named("entailment", "neutral", "contradiction"))
    text = SILENCE * 1_150 + EVIDENCE
    assert len(text.split()) > 10_000
    said = {
        setting: load_support_model(ModelReference(name=str(tmp_path), premise_windows=setting)).verdicts(
            [text, SILENCE * 1_150], [STATEMENT]
        )
        for setting in PremiseWindows
    }
    assert said[PremiseWindows.TRUNCATE].tolist() == [[False], [False]]
    assert said[PremiseWindows.MAX].tolist() == [[True], [False]]


def test_the_packaged_model_in_windows_supports_what_any_window_supports() -> None:
    plain, windowed = (load_nli_mini(premise_windows=setting) for setting in PremiseWindows)
    alone = plain.logits([EVIDENCE], [STATEMENT])
    texts = [SILENCE * 60 + EVIDENCE, EVIDENCE + SILENCE * 60, SILENCE * 60]
    leads = [plain.logits([text], [STATEMENT])[0, 0] for text in texts]
    logits = windowed.logits(texts, [STATEMENT])
    place = plain.description["labels"].split(", ").index("entailment")
    lead = [row[place] - np.delete(row, place).max() for row in logits[:, 0]]
    assert windowed.verdicts(texts, [STATEMENT])[:, 0].tolist() == [value > 0 for value in lead]
    for windows, cut in zip(lead, leads, strict=True):  # the beginning is one of the windows
        assert windows >= cut[place] - np.delete(cut, place).max()
    assert np.array_equal(windowed.logits([EVIDENCE], [STATEMENT]), alone)
