"""Where a support model runs, and what it says of itself there."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path

from schemas.audit import Device
from tasks.cluster.address import cluster_address
from tasks.storage.home import Home
from tasks.support.models import ModelReference, load_support_model


class Place(Enum):
    """Which processes may load a model.

    ANYWHERE: each is light; more of them are sooner done. DRIVER: it takes a whole device, or servers that others run
    already, so that one process is enough. GPU_WORKERS: Dask workers that lend the resource GPU, one chunk a piece.
    """

    ANYWHERE = auto()
    DRIVER = auto()
    GPU_WORKERS = auto()


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What a support model says of itself (see SupportModel); public."""

    name: str
    fingerprint: str
    description: Mapping[str, str]


def place_of(reference: ModelReference) -> Place:
    """Where this model runs. Raises UserError for an unknown name."""
    if reference.found_entry().needs_gpu:
        return Place.GPU_WORKERS
    language = reference.language
    if language is not None and language.urls:
        return Place.DRIVER
    if language is not None or reference.device is not Device.CPU:
        return Place.GPU_WORKERS if cluster_address() else Place.DRIVER
    return Place.ANYWHERE


def describe_model(reference: ModelReference, home: Home) -> ModelFacts:
    """What the model says of itself where it runs: here, or on a GPU worker, asked once a process.

    So a driver needs neither the engine nor the device. Raises UserError when the model cannot be had there.
    """
    if place_of(reference) is not Place.GPU_WORKERS:
        return facts_here(reference)
    with _asking:
        if reference not in _answers:
            from tasks.support.cluster import describe_on_gpu_worker

            _answers[reference] = describe_on_gpu_worker(reference, home)
        return _answers[reference]


def facts_here(reference: ModelReference) -> ModelFacts:
    """What the model says of itself in this process, which loads it."""
    model = load_support_model(reference)
    return ModelFacts(model.name, model.fingerprint, dict(model.description))


def dask_scratch(home: Home) -> Path:
    """A private folder for Dask's own files, made when it is missing."""
    scratch = home.private / "dask"
    scratch.mkdir(exist_ok=True, mode=0o700)
    return scratch


_answers: dict[ModelReference, ModelFacts] = {}
_asking = threading.Lock()
