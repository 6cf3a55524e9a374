"""Support by natural language inference: premise = record, hypothesis = statement (spec 1.9)."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib import resources
from pathlib import Path

import numpy as np
from huggingface_hub import get_hf_file_metadata, hf_hub_download, hf_hub_url, try_to_load_from_cache
from numpy.typing import NDArray

from schemas.errors import UserError
from tasks.inference.encoder import EncoderFiles, PairEncoder

CROSS_ENCODER = "cross-encoder/nli-deberta-v3-base"
CROSS_ENCODER_REVISION = "6c749ce3425cd33b46d187e45b92bbf96ee12ec7"
DECISION_RULE = (
    "supports if the entailment logit is strictly above every other; a tie is no support; a text without word pieces "
    "supports nothing"
)


class NliModel:
    """The predicate 1[argmax = entailment] of a frozen 3-way (or 2-way) cross-encoder, as a `SupportModel`."""

    def __init__(self, name: str, revision: str, encoder: PairEncoder) -> None:
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
        labels = ", ".join(self._encoder.labels)
        return {"revision": self._revision, **self._encoder.facts(), "labels": labels, "decision_rule": DECISION_RULE}

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
        return decide(self._encoder.logits(texts, statements), self._entailment)


def decide(logits: NDArray[np.float32], entailment: int) -> NDArray[np.bool_]:
    """Whether the entailment logit is strictly above every other, along the last axis."""
    others = np.delete(logits, entailment, axis=-1).max(axis=-1)
    verdicts: NDArray[np.bool_] = logits[..., entailment] > others
    return verdicts


def nli_mini_files() -> EncoderFiles:
    """The files of the packaged model."""
    folder = resources.files("tasks.support") / "nli_mini"
    return EncoderFiles(folder / "model.onnx", folder / "tokenizer.json", folder / "config.json")


def load_nli_mini(workers: int | None = None) -> NliModel:
    """The packaged model `nli-mini`; needs neither network nor files besides the package."""
    files = nli_mini_files()
    revision = json.loads(files.config.read_text(encoding="utf-8"))["version"]
    return NliModel("nli-mini", revision, PairEncoder(files, workers))


def load_cross_encoder(
    name: str = CROSS_ENCODER,
    revision: str = CROSS_ENCODER_REVISION,
    cache_dir: Path | None = None,
    workers: int | None = None,
) -> NliModel:
    """A cross-encoder of the model hub that ships onnx/model.onnx, at a pinned revision.

    revision: full commit hash; a branch or tag could change under a certificate. cache_dir: default the hub's own.

    Raises: UserError for a revision that is not a commit hash, and where the files cannot be had.
    """
    if re.fullmatch(r"[0-9a-f]{40}", revision) is None:
        raise UserError("a model's revision must be a full commit hash of 40 hexadecimal digits")
    try:
        model, tokenizer, config = (
            _fetch(name, file, revision, cache_dir) for file in ("onnx/model.onnx", "tokenizer.json", "config.json")
        )
    except Exception as error:  # each version of the hub's client brings the errors of its own HTTP library
        raise UserError(
            f"{name} at revision {revision[:12]} is not on this machine and cannot be fetched from the hub: connect "
            "once to fetch it, or choose a model that is there with --model nli-mini or --model keyword"
        ) from error
    return NliModel(name, revision, PairEncoder(EncoderFiles(model, tokenizer, config), workers))


def _fetch(name: str, file: str, revision: str, cache_dir: Path | None) -> Path:
    cached = try_to_load_from_cache(name, file, cache_dir=cache_dir, revision=revision)
    if isinstance(cached, str):
        return Path(cached)
    # Fails at once where the hub is out of reach; the download itself would retry for half a minute.
    get_hf_file_metadata(hf_hub_url(name, file, revision=revision), timeout=10)
    return Path(hf_hub_download(name, file, revision=revision, cache_dir=cache_dir))
