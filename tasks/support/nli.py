"""Support by natural language inference: premise = record, hypothesis = statement (spec 1.9)."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib import resources
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from schemas.audit import Device, PremiseWindows
from schemas.errors import UserError
from tasks.inference.classifier import PairClassifier
from tasks.inference.encoder import EncoderFiles, PairEncoder
from tasks.inference.engine import engine_folder, find_engine
from tasks.inference.transformers_network import TorchFiles, TransformersEncoder
from tasks.storage.home import default_home
from tasks.support.default_model import CROSS_ENCODER, CROSS_ENCODER_REVISION
from tasks.support.hub import GRAPHS, SHARDS, WEIGHTS, CheckpointFiles, HubCheckpoint, shard_names

DECISION_RULE = (
    "supports if the entailment logit is strictly above every other; a tie is no support; a text without word pieces "
    "supports nothing"
)
WINDOWS_RULE = "; of several windows, the one where it leads most (the first of equals) decides"


class NliModel:
    """The predicate 1[argmax = entailment] of a frozen 3-way (or 2-way) cross-encoder, as a `SupportModel`."""

    def __init__(self, name: str, revision: str, encoder: PairClassifier) -> None:
        """name, revision: public, for the certificate. encoder: the frozen classifier."""
        self._name, self._revision, self._encoder = name, revision, encoder
        self._entailment = encoder.labels.index("entailment")

    @property
    def name(self) -> str:
        """Public name, as in `--model`."""
        return self._name

    @cached_property
    def description(self) -> Mapping[str, str]:
        """Public facts for the certificate; with the name, all that the fingerprint covers."""
        rule = DECISION_RULE
        if self._encoder.premise_windows is PremiseWindows.MAX:
            rule += WINDOWS_RULE
        labels = ", ".join(self._encoder.labels)
        return {"revision": self._revision, **self._encoder.facts(), "labels": labels, "decision_rule": rule}

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of the canonical JSON of the description: files, engine, CPU class, truncation, rule."""
        return hashlib.sha256(json.dumps(self.description, sort_keys=True).encode()).hexdigest()

    def logits(self, texts: Sequence[str], statements: Sequence[str]) -> NDArray[np.float32]:
        """Logits of every pair; shape (len(texts), len(statements), labels). For studies; not released."""
        return self._encoder.logits(texts, statements)

    def verdicts(self, texts: Sequence[str], statements: Sequence[str]) -> NDArray[np.bool_]:
        """Which text supports which statement; shape (len(texts), len(statements)).

        Raises: UserError for a statement that is empty or too long; ValueError for a text that is not valid Unicode.
        """
        return self.decide(self._encoder.logits(texts, statements))

    def decide(self, logits: NDArray[np.float32]) -> NDArray[np.bool_]:
        """The verdicts that follow from logits; shape without the last axis."""
        return decide(logits, self._entailment)


def decide(logits: NDArray[np.float32], entailment: int) -> NDArray[np.bool_]:
    """Whether the entailment logit is strictly above every other, along the last axis."""
    others = np.delete(logits, entailment, axis=-1).max(axis=-1)
    verdicts: NDArray[np.bool_] = logits[..., entailment] > others
    return verdicts


def nli_mini_files() -> EncoderFiles:
    """The files of the packaged model."""
    folder = resources.files("tasks.support") / "nli_mini"
    return EncoderFiles(folder / "model.onnx", folder / "tokenizer.json", folder / "config.json")


def load_nli_mini(
    workers: int | None = None,
    premise_windows: PremiseWindows = PremiseWindows.TRUNCATE,
    device: Device = Device.CPU,
) -> NliModel:
    """The packaged model `nli-mini`; needs neither network nor files besides the package."""
    files = nli_mini_files()
    revision = json.loads(files.config.read_text(encoding="utf-8"))["version"]
    return NliModel("nli-mini", revision, PairEncoder(files, workers, premise_windows, device))


def load_cross_encoder(
    name: str = CROSS_ENCODER,
    revision: str = CROSS_ENCODER_REVISION,
    cache_dir: Path | None = None,
    workers: int | None = None,
    premise_windows: PremiseWindows = PremiseWindows.TRUNCATE,
    device: Device = Device.CPU,
) -> NliModel:
    """A cross-encoder of the model hub, at a pinned revision; see HubCheckpoint.

    Raises: UserError for a revision that is not a commit hash, where the files cannot be had, for a checkpoint that is
    no NLI model, and for one without a graph where the engine that runs it is not installed.
    """
    files = HubCheckpoint(name, revision, cache_dir).fetched()
    return NliModel(name, revision, _encoder(name, files, workers, premise_windows, device))


def load_folder(
    folder: Path,
    workers: int | None = None,
    premise_windows: PremiseWindows = PremiseWindows.TRUNCATE,
    device: Device = Device.CPU,
) -> NliModel:
    """A cross-encoder in a folder: tokenizer.json, config.json, and model.onnx (or onnx/model.onnx), else
    model.safetensors (or its shards and their index).

    Its public name is that of the folder, without the path. Raises UserError where a file is missing, for a checkpoint
    that is no NLI model, and for one without a graph where the engine that runs it is not installed.
    """
    name = folder.resolve().name
    files = _files_of_folder(folder)
    missing = [path.name for path in files.files if not path.is_file()]
    if missing:
        raise UserError(f"model: the folder {name!r} has no {', no '.join(missing)}")
    return NliModel(name, "none: files of a folder", _encoder(name, files, workers, premise_windows, device))


def _files_of_folder(folder: Path) -> CheckpointFiles:
    """The files that should be there; a graph where there is one, or where there are no weights either."""
    tokenizer, config = folder / "tokenizer.json", folder / "config.json"
    graph = next((folder / graph for graph in reversed(GRAPHS) if (folder / graph).is_file()), None)
    if graph is None and (folder / WEIGHTS).is_file():
        return TorchFiles((folder / WEIGHTS,), tokenizer, config)
    if graph is None and (folder / SHARDS).is_file():
        return TorchFiles(tuple(folder / shard for shard in shard_names(folder / SHARDS)), tokenizer, config)
    return EncoderFiles(graph or folder / GRAPHS[-1], tokenizer, config)


def _encoder(
    name: str, files: CheckpointFiles, workers: int | None, premise_windows: PremiseWindows, device: Device
) -> PairClassifier:
    try:
        if isinstance(files, EncoderFiles):
            return PairEncoder(files, workers, premise_windows, device)
        return _torch_encoder(files, workers, premise_windows, device)
    except UserError as error:
        raise UserError(f"model {name}: {error}") from None
    except ValueError as error:  # says which rule the checkpoint breaks; JSON that cannot be read is one too
        raise UserError(f"model {name}: {error}") from None
    except Exception as error:  # the runtime and the tokenizer raise classes of their own
        raise UserError(f"model {name}: its files cannot be read ({type(error).__name__})") from error


def _torch_encoder(
    files: TorchFiles, workers: int | None, premise_windows: PremiseWindows, device: Device
) -> TransformersEncoder:
    if device is not Device.CPU:
        raise UserError("device: a checkpoint without an ONNX graph runs on the CPU; export it to ONNX")
    try:
        engine = find_engine(engine_folder(default_home() / "private"))
    except UserError as error:
        raise UserError(f"it has no ONNX graph, so transformers must run it, and there is {error}") from None
    return TransformersEncoder(engine, files, workers, premise_windows)
