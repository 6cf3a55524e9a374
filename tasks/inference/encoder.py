"""Pair classifiers whose logits depend on the pair alone: tokenised here, computed by a frozen network."""

import json
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from typing import Self

import numpy as np
from numpy.typing import NDArray

from schemas.audit import Device, PremiseWindows
from tasks.inference.classifier import Job, Logits, Network, sha256
from tasks.inference.onnx_batches import BatchShapes, OnnxBatches
from tasks.inference.onnx_session import OnnxPairs
from tasks.inference.pairs import MAX_PAIR_TOKENS, MIN_PAIR_TOKENS, Frame, PairTokenizer, Pieces


class BrokenLogitsError(RuntimeError):
    """The model answered a pair with NaN or infinity: its file or the engine is broken; there is no verdict."""


@dataclass(frozen=True, slots=True)
class EncoderFiles:
    """The three files that define a pair classifier in ONNX form.

    model: ONNX graph with inputs among input_ids, attention_mask, token_type_ids, of any length, and logits of shape
    (rows, labels), by that name or as its first output; all weights inside.
    tokenizer: `tokenizer.json`. config: `config.json`, whose `id2label` gives the order of the labels.
    """

    model: Traversable
    tokenizer: Traversable
    config: Traversable

    @property
    def files(self) -> tuple[Traversable, ...]:
        """All of them."""
        return self.model, self.tokenizer, self.config


class NetworkClassifier:
    """A `PairClassifier` on any `Network`: tokenises, scores equal pairs once, takes the leading window."""

    def __init__(
        self,
        open_network: Callable[[], Network],
        tokenizer: Traversable,
        config: Traversable,
        premise_windows: PremiseWindows,
    ) -> None:
        """Raises ValueError for a checkpoint that is no pair classifier with an entailment label, or reads too little.

        open_network: called when the small files are found to be right; answers in the order of the config's labels.
        """
        self.labels, self.premise_windows = read_labels(config), premise_windows
        pair_pieces = read_pair_pieces(config)
        self._tokenizer, self._config = tokenizer, config
        self._pairs = PairTokenizer(tokenizer, premise_windows, pair_pieces)
        self._network = open_network()

    def facts(self) -> dict[str, str]:
        """Everything that a logit's bits may depend on besides the pair, as public strings."""
        return {
            "tokenizer_sha256": sha256(self._tokenizer),
            "config_sha256": sha256(self._config),
            **self._pairs.facts(),
            **self._network.facts("window" if self.premise_windows is PremiseWindows.MAX else "pair"),
        }

    def logits(self, texts: Sequence[str], statements: Sequence[str]) -> Logits:
        """Logits of every pair; see PairClassifier."""
        premises, hypotheses = list(dict.fromkeys(texts)), list(dict.fromkeys(statements))
        frames = [self._pairs.frame(statement) for statement in hypotheses]
        pieces = [self._pairs.premise(text) for text in premises]
        best = _Leading(len(premises), len(hypotheses), self.labels)
        self._network.run(self._jobs(pieces, frames), best.put)
        rows = {text: row for row, text in enumerate(premises)}
        columns = {statement: column for column, statement in enumerate(hypotheses)}
        shape = np.ix_([rows[text] for text in texts], [columns[statement] for statement in statements])
        return best.logits[shape]

    def _jobs(self, premises: list[Pieces], frames: list[Frame]) -> Iterator[Job]:
        readable = [row for row, premise in enumerate(premises) if len(premise) > 0]
        readable.sort(key=lambda row: -len(premises[row]))  # longest first: workers end together, batches are full
        for row in readable:
            for column, frame in enumerate(frames):
                for window, inputs in enumerate(self._pairs.inputs(premises[row], frame)):
                    yield Job((row, column, window), inputs)


class PairEncoder(NetworkClassifier):
    """A cross-encoder on ONNX Runtime.

    On a CPU one pair (or one window of it) is one call at its exact length, so no other text or statement is ever in
    the tensor. On a GPU calls have one of a few fixed shapes.
    """

    def __init__(
        self,
        files: EncoderFiles,
        workers: int | None = None,
        premise_windows: PremiseWindows = PremiseWindows.TRUNCATE,
        device: Device = Device.CPU,
        shapes: BatchShapes | None = None,
    ) -> None:
        """workers: calling threads; default one per core that this process may use. It never changes a value.

        shapes: of the calls, part of the fingerprint; None: exact lengths on a CPU, BatchShapes() on a GPU.
        Raises ValueError for a checkpoint that is no pair classifier with an entailment label, or reads too little;
        UserError for a device that is not there.
        """
        self._arguments = (files, workers, premise_windows, device, shapes)

        def open_network() -> Network:
            if shapes is None and device is Device.CPU:
                return OnnxPairs(files.model, workers or usable_cores())
            pad_piece = read_pad_piece(files.config)
            return OnnxBatches(files.model, workers or usable_cores(), device, shapes or BatchShapes(), pad_piece)

        super().__init__(open_network, files.tokenizer, files.config, premise_windows)

    def __reduce__(self) -> tuple[type[Self], tuple[object, ...]]:
        # an open session cannot travel; its files can
        return type(self), self._arguments


class _Leading:
    """The logits of each pair's leading window, put in any order, by several threads.

    logits: shape (texts, statements, labels); -infinity where nothing was put.
    """

    def __init__(self, texts: int, statements: int, labels: tuple[str, ...]) -> None:
        self.logits = np.full((texts, statements, len(labels)), -np.inf, dtype=np.float32)
        self._lead = np.full((texts, statements), -np.inf, dtype=np.float32)
        self._window = np.full((texts, statements), np.iinfo(np.int64).max)
        self._entailment, self._putting = labels.index("entailment"), threading.Lock()

    def put(self, job: Job, logits: Logits) -> None:
        """Keep these where they lead more than what is there, or as much and stand before it."""
        labels = self.logits.shape[2]
        if logits.shape != (labels,):
            raise ValueError(f"the model gives {logits.shape} logits, its config names {labels} labels")
        if not np.isfinite(logits).all():
            raise BrokenLogitsError("the support model gave logits that are NaN or infinite; no verdict can be had")
        *pair, window = job.place
        at, lead = tuple(pair), margin(logits, self._entailment)
        with self._putting:
            if lead > self._lead[at] or (lead == self._lead[at] and window < self._window[at]):
                self.logits[at], self._lead[at], self._window[at] = logits, lead, window


def margin(logits: Logits, entailment: int) -> NDArray[np.float32]:
    """By how much the entailment logit leads the greatest other, along the last axis; exactly 0 for a tie."""
    others = np.delete(logits, entailment, axis=-1).max(axis=-1)
    lead: NDArray[np.float32] = logits[..., entailment] - others
    return lead


def read_labels(config: Traversable) -> tuple[str, ...]:
    """Lower-case label names in the order of the logits, from `id2label`.

    Raises: ValueError where they are missing or fewer than two, have gaps, name entailment not exactly once, or
    contradict `label2id`.
    """
    facts = json.loads(config.read_text(encoding="utf-8"))
    id2label = facts.get("id2label") or {}
    if sorted(map(int, id2label)) != list(range(len(id2label))):
        raise ValueError("the model's config numbers its labels with gaps")
    labels = tuple(str(id2label[str(place)]).strip().lower() for place in range(len(id2label)))
    if labels.count("entailment") != 1 or len(labels) < 2:
        raise ValueError(f"the model's config names the labels {labels}; one of two or more must be entailment")
    places = {str(label).strip().lower(): place for label, place in (facts.get("label2id") or {}).items()}
    if any(places.get(label, place) != place for place, label in enumerate(labels)):
        raise ValueError("the model's config contradicts itself: id2label and label2id give different orders")
    return labels


def read_pair_pieces(config: Traversable) -> int:
    """How many word pieces a pair may have: `max_pair_pieces` of a model that was trained on shorter ones, or 384.

    Raises ValueError where that is out of range, or where the model has fewer positions.
    """
    facts = json.loads(config.read_text(encoding="utf-8"))
    pieces, positions = facts.get("max_pair_pieces", MAX_PAIR_TOKENS), facts.get("max_position_embeddings")
    if type(pieces) is not int or not MIN_PAIR_TOKENS <= pieces <= MAX_PAIR_TOKENS:
        raise ValueError(f"max_pair_pieces in the model's config must lie from {MIN_PAIR_TOKENS} to {MAX_PAIR_TOKENS}")
    if isinstance(positions, int) and 0 < positions < pieces:
        raise ValueError(f"the model reads {positions} word pieces; a pair may have {pieces}")
    return pieces


def read_pad_piece(config: Traversable) -> int:
    """The word piece that stands where there is none; models that count positions by it name it."""
    piece = json.loads(config.read_text(encoding="utf-8")).get("pad_token_id")
    return piece if isinstance(piece, int) else 0


def usable_cores() -> int:
    """Cores that this process may use; at least 1."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
