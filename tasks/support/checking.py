"""What a support model answers on labelled pairs, whether neighbours move it, and how fast it is.

Neighbours are the other texts and statements of a call. They are taken away one by one, shuffled and doubled; each
pair that stays must keep its verdict and, where the model has logits, their every bit (the release's sensitivity rests
on it).
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from schemas.errors import UserError
from tasks.statistics.intervals import clopper_pearson
from tasks.support.protocol import SupportModel

CONFIDENCE = Fraction(95, 100)
NEIGHBOUR_TEXTS = 8
NEIGHBOUR_STATEMENTS = 4

Order = Sequence[int]


class LabelledPair(NamedTuple):
    """A record's text, a statement, and whether the text supports it."""

    premise: str
    hypothesis: str
    entailed: bool


@dataclass(frozen=True, slots=True)
class Share:
    """hits of trials, with the exact two-sided 95 % interval of Clopper and Pearson; value is None without trials."""

    hits: int
    trials: int

    @property
    def value(self) -> float | None:
        """hits / trials."""
        return self.hits / self.trials if self.trials else None

    @property
    def interval(self) -> tuple[float, float]:
        """Lower and upper end; (0, 1) without trials."""
        low, high = clopper_pearson(self.hits, self.trials, CONFIDENCE)
        return float(low), float(high)


@dataclass(frozen=True, slots=True)
class Neighbours:
    """What changed when the other texts and statements of a call did.

    compared: pairs that were answered again, by change. flips: those with another verdict, by change.
    changed_bits: those whose logits differ in any bit, over all changes; None for a model without logits.
    pairs_per_second: over all these calls.
    """

    compared: dict[str, int]
    flips: dict[str, int]
    changed_bits: int | None
    pairs_per_second: float


@dataclass(frozen=True, slots=True)
class ModelCheck:
    """What came of a check.

    refused: pairs whose statement the model does not take; they count nowhere else.
    accuracy: verdicts that agree with the labels. recall: supported pairs that were found. precision: pairs found that
    are supported. characters: mean length of the texts, on which the speed depends.
    """

    refused: int
    accuracy: Share
    recall: Share
    precision: Share
    characters: float
    neighbours: Neighbours


@runtime_checkable
class HasLogits(Protocol):
    """A model that shows the numbers behind its verdicts."""

    def logits(self, texts: Sequence[str], statements: Sequence[str]) -> NDArray[np.float32]:
        """Shape (len(texts), len(statements), labels)."""

    def decide(self, logits: NDArray[np.float32]) -> NDArray[np.bool_]:
        """The verdicts that follow, shape (len(texts), len(statements))."""


def check_model(model: SupportModel, pairs: Sequence[LabelledPair]) -> ModelCheck:
    """Answer every pair, then test neighbours on a few of the texts and statements, evenly over the pairs.

    Raises ValueError without pairs, UserError when the model refuses every statement, and what the model raises.
    """
    if not pairs:
        raise ValueError("there are no labelled pairs")
    said, answered = answers(model, pairs)
    kept = [pair for pair, is_answered in zip(pairs, answered, strict=True) if is_answered]
    said, truth = said[answered], np.array([pair.entailed for pair in kept])
    hits = int(np.sum(said & truth))
    return ModelCheck(
        refused=len(pairs) - len(kept),
        accuracy=Share(int(np.sum(said == truth)), len(kept)),
        recall=Share(hits, int(truth.sum())),
        precision=Share(hits, int(said.sum())),
        characters=float(np.mean([len(pair.premise) for pair in kept])),
        neighbours=check_neighbours(
            model,
            spread([pair.premise for pair in kept], NEIGHBOUR_TEXTS),
            spread([pair.hypothesis for pair in kept], NEIGHBOUR_STATEMENTS),
        ),
    )


def answers(model: SupportModel, pairs: Sequence[LabelledPair]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """The verdict on each pair, and whether there is one; shapes (pairs,). A statement's texts are one call.

    Raises UserError, the model's own, when it refuses every statement.
    """
    said, answered = np.zeros(len(pairs), np.bool_), np.ones(len(pairs), np.bool_)
    places: dict[str, list[int]] = {}
    for place, pair in enumerate(pairs):
        places.setdefault(pair.hypothesis, []).append(place)
    for statement, rows in places.items():
        try:
            said[rows] = model.verdicts([pairs[row].premise for row in rows], [statement])[:, 0]
        except UserError:
            answered[rows] = False
            if not answered.any():
                raise
    return said, answered


def check_neighbours(model: SupportModel, texts: Sequence[str], statements: Sequence[str]) -> Neighbours:
    """Compare one call of all texts and statements with calls of fewer, shuffled and doubled ones."""
    model.verdicts(texts[:1], statements[:1])  # loads what is loaded late: it is not to be timed
    started = time.perf_counter()
    whole = _answer(model, texts, statements)
    compared: dict[str, int] = {}
    flips: dict[str, int] = {}
    asked, changed = whole.verdicts.size, 0
    for change, rows, columns in _changes(len(texts), len(statements)):
        again = _answer(model, [texts[row] for row in rows], [statements[column] for column in columns])
        before = whole.at(rows, columns)
        asked += len(set(rows)) * len(columns)  # equal texts are asked once
        compared[change] = compared.get(change, 0) + again.verdicts.size
        flips[change] = flips.get(change, 0) + int(np.sum(again.verdicts != before.verdicts))
        changed += again.differing(before)
    rate = asked / max(time.perf_counter() - started, 1e-9)
    return Neighbours(compared, flips, changed if isinstance(model, HasLogits) else None, rate)


def spread(values: Sequence[str], most: int) -> list[str]:
    """Up to `most` of the distinct values, evenly over their order."""
    distinct = list(dict.fromkeys(values))
    count = min(most, len(distinct))
    return [distinct[place * len(distinct) // count] for place in range(count)]


@dataclass(frozen=True, slots=True)
class _Answer:
    verdicts: NDArray[np.bool_]
    bits: NDArray[np.uint32]  # of the logits, no columns without

    def at(self, rows: Order, columns: Order) -> "_Answer":
        return _Answer(self.verdicts[np.ix_(rows, columns)], self.bits[np.ix_(rows, columns)])

    def differing(self, other: "_Answer") -> int:
        return int(np.sum(np.any(self.bits != other.bits, axis=-1)))


def _answer(model: SupportModel, texts: Sequence[str], statements: Sequence[str]) -> _Answer:
    if isinstance(model, HasLogits):
        logits = np.ascontiguousarray(model.logits(texts, statements))
        return _Answer(model.decide(logits), logits.view(np.uint32))
    verdicts = model.verdicts(texts, statements)
    return _Answer(verdicts, np.zeros((*verdicts.shape, 0), np.uint32))


def _changes(texts: int, statements: int) -> Iterator[tuple[str, Order, Order]]:
    """Names of changes, with the texts and statements that are asked, by their places."""
    every, columns = list(range(texts)), list(range(statements))
    for left_out in every if texts > 1 else []:
        yield "leave_one_out", [row for row in every if row != left_out], columns
    for step in (5, 7):  # a rotation and a reversal: fixed orders, so that a check can be repeated
        yield "shuffle", [every[(row + step) % texts] for row in every][::-1], columns[::-1]
    yield "duplicate", [row for row in every for _ in range(2)], columns
    yield "duplicate", [*every, *every[::-1]], columns
