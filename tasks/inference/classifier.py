"""What every pair classifier answers, and the frozen network behind it."""

import hashlib
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.resources.abc import Traversable
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from schemas.audit import PremiseWindows
from tasks.inference.pairs import Inputs

Logits = NDArray[np.float32]
Item = TypeVar("Item")


class PairClassifier(Protocol):
    """A frozen cross-encoder: the logits of a (text, statement) pair depend on the pair and on `facts` alone."""

    @property
    def labels(self) -> tuple[str, ...]:
        """Lower-case names in the order of the logits; one of them is `entailment`."""

    @property
    def premise_windows(self) -> PremiseWindows:
        """What is read of a premise that is too long."""

    def facts(self) -> dict[str, str]:
        """Everything that a logit's bits may depend on besides the pair, as public strings."""

    def logits(self, texts: Sequence[str], statements: Sequence[str]) -> Logits:
        """Logits of every pair; shape (len(texts), len(statements), len(labels)).

        With windows, those of the window that leads most for entailment, the first of equals. A text without a single
        word piece (empty, or made of control characters only) has -infinity everywhere: no model was asked. Equal
        texts and equal statements are scored once.

        Raises: UserError for a statement that is empty or longer than two thirds of a pair; ValueError for a text
        that is not valid Unicode; BrokenLogitsError for NaN or infinity from the model; EngineUnavailableError when
        the process that runs it keeps dying.
        """


class Job(NamedTuple):
    """One row for a network: a pair, or a window of one.

    place: text, statement and window, counted from 0.
    """

    place: tuple[int, int, int]
    inputs: Inputs


Put = Callable[[Job, Logits], None]


class Network(Protocol):
    """A frozen network on one engine: rows of word pieces to logits."""

    def facts(self, row: str) -> dict[str, str]:
        """Files, engine, device, threads and shape of a call, as public strings; row: what a row is, for people."""

    def run(self, jobs: Iterator[Job], put: Put) -> None:
        """Call `put` once for each job, with logits of shape (labels,); from any thread, in any order.

        A row's bits must not depend on the other jobs. Raises what `put` raises.
        """


def run_in_threads(items: Iterator[Item], workers: Sequence[Callable[[Item], None]]) -> None:
    """Hand every item to one of the workers, each on a thread of its own; a failure stops them all and is raised."""
    shared = _Shared(items)

    def work(worker: Callable[[Item], None]) -> None:
        try:
            for item in shared:
                worker(item)
        except BaseException:  # an interrupt too: the other threads must not go on; it is raised again
            shared.end()
            raise

    with ThreadPoolExecutor(len(workers), thread_name_prefix="encoder") as pool:
        list(pool.map(work, workers))


class _Shared(Iterator[Item]):
    """An iterator that several threads may draw from, until one of them ends it."""

    def __init__(self, source: Iterator[Item]) -> None:
        self._source, self._lock, self._ended = source, threading.Lock(), False

    def __next__(self) -> Item:
        with self._lock:
            if self._ended:
                raise StopIteration
            return next(self._source)

    def end(self) -> None:
        """Nothing more is drawn."""
        with self._lock:
            self._ended = True


def sha256(file: Traversable) -> str:
    """SHA-256 (hex) of a file's content."""
    digest = hashlib.sha256()
    with file.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
