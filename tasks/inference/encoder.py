"""Pair classifier on ONNX Runtime whose logits depend on the pair alone.

One pair is one call at its exact length, so no other text or statement is ever in the tensor; one thread inside a call,
one calling thread per core. Nothing is padded, bucketed or scaled over a batch: order, number and neighbours of the
pairs cannot change a bit.
"""

import hashlib
import json
import os
import re
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Self

import numpy as np
import onnxruntime as ort
import tokenizers
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from schemas.errors import UserError
from tasks.inference.cpu import cpu_kernel_class

MAX_PAIR_TOKENS = 384  # spec 1.9: joint length in word pieces; only the premise is cut
MAX_STATEMENT_TOKENS = 256  # so that at least about 120 pieces of every record are read
MAX_TEXT_CHARACTERS = 100_000  # read of a text; 384 pieces of prose are some 2,000, and memory stays bounded
PROVIDER = "CPUExecutionProvider"
SURROGATE = re.compile("[\ud800-\udfff]")  # asked first: the tokenizer's own error would hold the text


class BrokenLogitsError(RuntimeError):
    """The model answered a pair with NaN or infinity: its file or the engine is broken; there is no verdict."""


@dataclass(frozen=True, slots=True)
class EncoderFiles:
    """The three files that define a pair classifier.

    model: ONNX graph with inputs among input_ids, attention_mask, token_type_ids and logits of shape (1, labels).
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
    """

    def __init__(self, files: EncoderFiles, workers: int | None = None) -> None:
        """workers: calling threads; default one per core that this process may use. It never changes a value."""
        self._files = files
        self._workers = workers or usable_cores()
        self.labels = read_labels(files.config)
        self._tokenizer = load_tokenizer(files.tokenizer)
        self._session = open_session(files.model)
        self._inputs = [item.name for item in self._session.get_inputs()]
        unknown = set(self._inputs) - {"input_ids", "attention_mask", "token_type_ids"}
        if unknown:
            raise ValueError(f"the model asks for inputs that a pair classifier does not have: {sorted(unknown)}")

    def __reduce__(self) -> tuple[type[Self], tuple[EncoderFiles, int]]:
        return type(self), (self._files, self._workers)  # an open session cannot travel; its files can

    def facts(self) -> dict[str, str]:
        """Everything that a logit's bits may depend on besides the pair, as public strings."""
        return {
            **{f"{role}_sha256": digest for role, digest in self._files.digests().items()},
            "engine": f"onnxruntime {ort.__version__}, {PROVIDER}, all graph optimisations, deterministic compute",
            "tokenizer_build": f"tokenizers {tokenizers.__version__}, special tokens in texts read as plain text",
            "truncation": f"premise only: {MAX_TEXT_CHARACTERS} characters, then {MAX_PAIR_TOKENS} pieces for the pair",
            "batch_shape": "one pair per call at its exact length",
            "threads": "1 per call",
            "cpu": cpu_kernel_class(),
        }

    def logits(self, texts: Sequence[str], statements: Sequence[str]) -> NDArray[np.float32]:
        """Logits of every pair; shape (len(texts), len(statements), len(labels)).

        A text without a single word piece (empty, or made of control characters only) has -infinity everywhere: no
        model was asked. Equal texts and equal statements are scored once.

        Raises: UserError for a statement that is empty or longer than MAX_STATEMENT_TOKENS; ValueError for a text
        that is not valid Unicode; BrokenLogitsError for NaN or infinity from the model.
        """
        premises, hypotheses = list(dict.fromkeys(texts)), list(dict.fromkeys(statements))
        encoded_premises = [self._encode_text(text) for text in premises]
        encoded_hypotheses = [self._encode_statement(statement) for statement in hypotheses]
        scores = np.full((len(premises), len(hypotheses), len(self.labels)), -np.inf, dtype=np.float32)
        self._fill(scores, encoded_premises, encoded_hypotheses)
        rows = {text: row for row, text in enumerate(premises)}
        columns = {statement: column for column, statement in enumerate(hypotheses)}
        shape = np.ix_([rows[text] for text in texts], [columns[statement] for statement in statements])
        return scores[shape]

    def _fill(self, scores: NDArray[np.float32], premises: list[Encoding], hypotheses: list[Encoding]) -> None:
        readable = [row for row, premise in enumerate(premises) if len(premise.ids) > 0]
        readable.sort(key=lambda row: -len(premises[row].ids))  # longest first: the workers end together
        jobs = _Shared((row, column) for row in readable for column in range(len(hypotheses)))

        def work(_: int) -> None:
            for row, column in jobs:
                scores[row, column] = self._run(premises[row], hypotheses[column])

        with ThreadPoolExecutor(self._workers, thread_name_prefix="encoder") as pool:
            list(pool.map(work, range(self._workers)))

    def _run(self, premise: Encoding, hypothesis: Encoding) -> NDArray[np.float32]:
        pair = self._tokenizer.post_process(premise, hypothesis)
        columns = {
            "input_ids": pair.ids,
            "attention_mask": pair.attention_mask,
            "token_type_ids": pair.type_ids,
        }
        feed = {name: np.asarray([columns[name]], dtype=np.int64) for name in self._inputs}
        logits: NDArray[np.float32] = self._session.run(None, feed)[0][0]
        if logits.shape != (len(self.labels),):
            raise ValueError(f"the model gives {logits.shape} logits, its config names {len(self.labels)} labels")
        if not np.isfinite(logits).all():
            raise BrokenLogitsError("the support model gave logits that are NaN or infinite; no verdict can be had")
        return logits

    def _encode_text(self, text: str) -> Encoding:
        if SURROGATE.search(text):
            raise ValueError("a text is not valid Unicode; ingestion sets such records aside")
        return self._tokenizer.encode(text[:MAX_TEXT_CHARACTERS], add_special_tokens=False)

    def _encode_statement(self, statement: str) -> Encoding:
        if SURROGATE.search(statement):
            raise UserError("a statement is not valid Unicode: remove its broken characters")
        encoding = self._tokenizer.encode(statement, add_special_tokens=False)
        if not encoding.ids:
            raise UserError("a statement is empty: remove it")
        if len(encoding.ids) > MAX_STATEMENT_TOKENS:
            raise UserError(f"a statement is longer than {MAX_STATEMENT_TOKENS} word pieces: shorten it")
        return encoding


class _Shared(Iterator[tuple[int, int]]):
    """An iterator that several threads may draw from."""

    def __init__(self, source: Iterator[tuple[int, int]]) -> None:
        self._source, self._lock = source, threading.Lock()

    def __next__(self) -> tuple[int, int]:
        with self._lock:
            return next(self._source)


def read_labels(config: Traversable) -> tuple[str, ...]:
    """Lower-case label names in the order of the logits, from `id2label`.

    Raises: ValueError where they are missing, have gaps, or name entailment not exactly once.
    """
    id2label = json.loads(config.read_text(encoding="utf-8")).get("id2label") or {}
    if sorted(map(int, id2label)) != list(range(len(id2label))):
        raise ValueError("the model's config numbers its labels with gaps")
    labels = tuple(str(id2label[str(place)]).lower() for place in range(len(id2label)))
    if labels.count("entailment") != 1:
        raise ValueError(f"the model's config names the labels {labels}; one of them must be entailment")
    return labels


def load_tokenizer(path: Traversable) -> Tokenizer:
    """The tokenizer with premise-only truncation, no padding, and special tokens in a text read as plain text."""
    tokenizer = Tokenizer.from_str(path.read_text(encoding="utf-8"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_PAIR_TOKENS, strategy="only_first")
    tokenizer.encode_special_tokens = True  # a record that contains "[SEP]" must not end its own premise
    return tokenizer


def open_session(model: Traversable) -> ort.InferenceSession:
    """A session on one CPU thread that computes the same bits at every call."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.use_deterministic_compute = True
    options.enable_mem_pattern = False  # patterns pay for repeated shapes only
    source = str(model) if isinstance(model, Path) else model.read_bytes()
    return ort.InferenceSession(source, options, providers=[PROVIDER])


def usable_cores() -> int:
    """Cores that this process may use; at least 1."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _sha256(file: Traversable) -> str:
    digest = hashlib.sha256()
    with file.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
