"""The table of support models."""

import pickle
from pathlib import Path

import pytest
from scripted_models import Scripted

from schemas.audit import Device
from schemas.errors import UserError
from tasks.support.models import SUPPORT_MODELS, ModelReference, load_support_model


def test_an_unknown_name_is_refused_with_the_names_that_are_known() -> None:
    with pytest.raises(UserError) as refusal:
        load_support_model(ModelReference(name="gpt-9"))
    assert all(name in str(refusal.value) for name in ("gpt-9", "nli-mini", "keyword", "nli-deberta-v3-base"))
    assert set(SUPPORT_MODELS) == {"nli-mini", "keyword", "judge", "cross-encoder/nli-deberta-v3-base"}


def test_a_model_is_loaded_once_a_process_also_through_a_pickled_reference() -> None:
    reference = Scripted(seconds=0.125).reference("loaded-once")
    model = load_support_model(reference)
    assert load_support_model(pickle.loads(pickle.dumps(reference))) is model
    assert load_support_model(Scripted(seconds=0.25).reference("loaded-once")) is not model


def test_keyword_asks_for_a_domain() -> None:
    with pytest.raises(UserError, match="--domain"):
        load_support_model(ModelReference(name="keyword"))


def test_keyword_loads_from_the_table_with_the_rules_of_its_domain() -> None:
    model = load_support_model(ModelReference(name="keyword", domain="restaurant-reviews"))
    assert model.name == "keyword"
    other = load_support_model(ModelReference(name="keyword", domain="airline-reviews"))
    assert model.fingerprint != other.fingerprint


def test_nli_mini_has_one_fingerprint_for_every_number_of_threads() -> None:
    one, many = (load_support_model(ModelReference(name="nli-mini", threads=threads)) for threads in (1, 4))
    assert one.fingerprint == many.fingerprint


def test_a_hub_model_that_cannot_be_had_names_the_models_that_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(UserError, match=r"nli-mini.*keyword"):
        load_support_model(ModelReference(name="cross-encoder/nli-deberta-v3-base", cache_dir=tmp_path))


def test_a_device_is_chosen_for_nli_models_only() -> None:
    with pytest.raises(UserError, match="device: keyword is no NLI model"):
        load_support_model(ModelReference(name="keyword", domain="restaurant-reviews", device=Device.CUDA))
