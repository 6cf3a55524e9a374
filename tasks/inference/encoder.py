"""Pair classifier on ONNX Runtime whose logits depend on the pair alone.

One pair (or one window of it) is one call at its exact length, so no other text or statement is ever in the tensor; one
thread inside a call, one calling thread per core. Nothing is padded, bucketed or scaled over a batch: order, number and
neighbours of the pairs cannot change a bit.
"""

import hashlib
import json
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Self

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray

from schemas.audit import PremiseWindows
from tasks.inference.cpu import cpu_kernel_class
from tasks.inference.pairs import MAX_PAIR_TOKENS, Frame, Inputs, PairTokenizer, Pieces

PROVIDER = "CPUExecutionProvider"
INTEGERS: Mapping[str, type[np.signedinteger[Any]]] = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}


class BrokenLogitsError(RuntimeError):
    """The model answered a pair with NaN or infinity: its file or the engine is broken; there is no verdict."""


@dataclass(frozen=True, slots=True)
class EncoderFiles:
    """The three files that define a pair classifier.

    model: ONNX graph with inputs among input_ids, attention_mask, token_type_ids, of any length, and logits of shape
    (1, labels), by that name or as its first output; all weights inside.
    tokenizer: `tokenizer.json`. config: `config.json`, whose `id2label` gives the order of the labels.
    """

    model: Traversable
    tokenizer: Traversable
    config: Traversable

    def digests(self) -> dict[str, str]:
        """SHA-256 (hex) of each file's content, by role."""
        return {role: _sha256(getattr(self, role)) for role in ("model", "tokenizer", "config")}


class PairEncoder:
    """Logits of (text, statement) pairs from a frozen cross-encoder.

    labels: lower-case names in the order of the logits, read from the model's own config.
    premise_windows: what is read of a premise that is too long.
    """

    def __init__(
        self,
        files: EncoderFiles,
        workers: int | None = None,
        premise_windows: PremiseWindows = PremiseWindows.TRUNCATE,
    ) -> None:
        """workers: calling threads; default one per core that this process may use. It never changes a value.

        Raises ValueError for a checkpoint that is no pair classifier with an entailment label, or reads too little.
        """
        self._files, self.premise_windows = files, premise_windows
        self._workers = workers or usable_cores()
        self.labels = read_labels(files.config)
        self._entailment = self.labels.index("entailment")
        check_positions(files.config)
        self._pairs = PairTokenizer(files.tokenizer, premise_windows)
        self._session = open_session(files.model)
        self._inputs = read_inputs(self._session)
        outputs = [item.name for item in self._session.get_outputs()]
        self._output = "logits" if "logits" in outputs else outputs[0]

    def __reduce__(self) -> tuple[type[Self], tuple[EncoderFiles, int, PremiseWindows]]:
        # an open session cannot travel; its files can
        return type(self), (self._files, self._workers, self.premise_windows)

    def facts(self) -> dict[str, str]:
        """Everything that a logit's bits may depend on besides the pair, as public strings."""
        unit = "window" if self.premise_windows is PremiseWindows.MAX else "pair"
        return {
            **{f"{role}_sha256": digest for role, digest in self._files.digests().items()},
            "engine": f"onnxruntime {ort.__version__}, {PROVIDER}, all graph optimisations, deterministic compute",
            **self._pairs.facts(),
            "batch_shape": f"one {unit} per call at its exact length",
            "threads": "1 per call",
            "cpu": cpu_kernel_class(),
        }

    def logits(self, texts: Sequence[str], statements: Sequence[str]) -> NDArray[np.float32]:
        """Logits of every pair; shape (len(texts), len(statements), len(labels)).

        With windows, those of the window that leads most for entailment, the first of equals. A text without a single
        word piece (empty, or made of control characters only) has -infinity everywhere: no model was asked. Equal
        texts and equal statements are scored once.

        Raises: UserError for a statement that is empty or longer than MAX_STATEMENT_TOKENS; ValueError for a text
        that is not valid Unicode; BrokenLogitsError for NaN or infinity from the model.
        """
        premises, hypotheses = list(dict.fromkeys(texts)), list(dict.fromkeys(statements))
        frames = [self._pairs.frame(statement) for statement in hypotheses]
        pieces = [self._pairs.premise(text) for text in premises]
        scores = np.full((len(premises), len(hypotheses), len(self.labels)), -np.inf, dtype=np.float32)
        self._fill(scores, pieces, frames)
        rows = {text: row for row, text in enumerate(premises)}
        columns = {statement: column for column, statement in enumerate(hypotheses)}
        shape = np.ix_([rows[text] for text in texts], [columns[statement] for statement in statements])
        return scores[shape]

    def _fill(self, scores: NDArray[np.float32], premises: list[Pieces], frames: list[Frame]) -> None:
        readable = [row for row, premise in enumerate(premises) if len(premise) > 0]
        readable.sort(key=lambda row: -len(premises[row]))  # longest first: the workers end together
        jobs = _Shared((row, column) for row in readable for column in range(len(frames)))

        def work(_: int) -> None:
            for row, column in jobs:
                scores[row, column] = self._pair(premises[row], frames[column])

        with ThreadPoolExecutor(self._workers, thread_name_prefix="encoder") as pool:
            list(pool.map(work, range(self._workers)))

    def _pair(self, premise: Pieces, frame: Frame) -> NDArray[np.float32]:
        windows = np.stack([self._run(inputs) for inputs in self._pairs.inputs(premise, frame)])
        best: NDArray[np.float32] = windows[np.argmax(margin(windows, self._entailment))]
        return best

    def _run(self, inputs: Inputs) -> NDArray[np.float32]:
        feed = {name: inputs[name].astype(integers, copy=False) for name, integers in self._inputs.items()}
        logits: NDArray[np.float32] = self._session.run([self._output], feed)[0][0]
        if logits.shape != (len(self.labels),):
            raise ValueError(f"the model gives {logits.shape} logits, its config names {len(self.labels)} labels")
        if not np.isfinite(logits).all():
            raise BrokenLogitsError("the support model gave logits that are NaN or infinite; no verdict can be had")
        return logits


class _Shared(Iterator[tuple[int, int]]):
    """An iterator that several threads may draw from."""

    def __init__(self, source: Iterator[tuple[int, int]]) -> None:
        self._source, self._lock = source, threading.Lock()

    def __next__(self) -> tuple[int, int]:
        with self._lock:
            return next(self._source)


def margin(logits: NDArray[np.float32], entailment: int) -> NDArray[np.float32]:
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


def check_positions(config: Traversable) -> None:
    """Raises ValueError where the config says that the model has fewer positions than a pair may have pieces."""
    positions = json.loads(config.read_text(encoding="utf-8")).get("max_position_embeddings")
    if isinstance(positions, int) and 0 < positions < MAX_PAIR_TOKENS:
        raise ValueError(f"the model reads {positions} word pieces; a pair may have {MAX_PAIR_TOKENS}")


def open_session(model: Traversable) -> ort.InferenceSession:
    """A session on one CPU thread that computes the same bits at every call.

    Raises ValueError for a graph that keeps weights in a second file: no digest would cover them.
    """
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.use_deterministic_compute = True
    options.enable_mem_pattern = False  # patterns pay for repeated shapes only
    # no folder: a second file with weights is looked for below a path that holds no files, and so refused
    options.add_session_config_entry("session.model_external_initializers_file_folder_path", os.devnull)
    source = str(model) if isinstance(model, Path) else model.read_bytes()
    try:
        return ort.InferenceSession(source, options, providers=[PROVIDER])
    except Exception as error:  # the runtime's own classes are not public
        if "External data" not in str(error):
            raise
        raise ValueError("the model keeps weights in a second file: export it as one") from None


def read_inputs(session: ort.InferenceSession) -> dict[str, type[np.signedinteger[Any]]]:
    """The inputs of a graph and the whole numbers that each takes.

    Raises ValueError for an input that a pair classifier does not have, and for one that is no row of any length.
    """
    inputs = {item.name: item for item in session.get_inputs()}
    unknown = set(inputs) - {"input_ids", "attention_mask", "token_type_ids"}
    if unknown:
        raise ValueError(f"the model asks for inputs that a pair classifier does not have: {sorted(unknown)}")
    for name, item in inputs.items():
        one_row = len(item.shape) == 2 and (item.shape[0] == 1 or not isinstance(item.shape[0], int))
        if item.type not in INTEGERS or not one_row or isinstance(item.shape[1], int):
            raise ValueError(f"the model's input {name} must be one row of whole numbers of any length")
    return {name: INTEGERS[item.type] for name, item in inputs.items()}


def usable_cores() -> int:
    """Cores that this process may use; at least 1."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _sha256(file: Traversable) -> str:
    digest = hashlib.sha256()
    with file.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
