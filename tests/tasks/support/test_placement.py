"""Which process runs a model follows from the model and from what the user named."""

from pathlib import Path

import pytest
from scripted_models import Scripted

from tasks.cluster.address import ADDRESS
from tasks.inference.language import LanguageReference
from tasks.inference.onnx_device import Device
from tasks.support import placement
from tasks.support.models import ModelReference
from tasks.support.placement import Place, describe_model, facts_here, place_of

NOWHERE = Path("nowhere")
OWN_ENGINE = LanguageReference((), None, True, 2048, NOWHERE, NOWHERE)
SERVERS = LanguageReference(("http://127.0.0.1:9",), "served", True, 2048, NOWHERE, NOWHERE)


@pytest.mark.parametrize(
    ("reference", "alone", "with_a_cluster"),
    [
        (ModelReference("nli-mini"), Place.ANYWHERE, Place.ANYWHERE),
        (ModelReference("keyword", "restaurant-reviews"), Place.ANYWHERE, Place.ANYWHERE),
        (ModelReference("nli-mini", device=Device.CUDA), Place.DRIVER, Place.GPU_WORKERS),
        (ModelReference("judge", language=OWN_ENGINE), Place.DRIVER, Place.GPU_WORKERS),
        (ModelReference("judge", language=SERVERS), Place.DRIVER, Place.DRIVER),
        (Scripted().reference(needs_gpu=True), Place.GPU_WORKERS, Place.GPU_WORKERS),
    ],
    ids=["encoder", "keyword", "encoder on CUDA", "judge", "judge on servers", "model that needs a GPU"],
)
def test_where_a_model_runs(
    reference: ModelReference, alone: Place, with_a_cluster: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(ADDRESS, raising=False)
    assert place_of(reference) is alone
    monkeypatch.setenv(ADDRESS, "tcp://127.0.0.1:9")
    assert place_of(reference) is with_a_cluster


def test_a_model_of_this_process_is_described_here(home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement, "_answers", {})
    reference = Scripted().reference()
    assert describe_model(reference, home) == facts_here(reference)
    assert placement._answers == {}
