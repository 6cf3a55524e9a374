"""Universes of statements whose supports are known: synthetic ones, the worst case, and public corpora from a file."""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from schemas.corpora import Visibility
from schemas.errors import UserError
from tasks.privacy.thresholds import threshold_units

RARE_SHARE = Fraction(3, 5)  # of the statements, from Beta(1, 30); the others from Beta(4, 12) (spec 1.11)
RARE, COMMON = (1, 30), (4, 12)
MOST_VERDICTS = 1 << 28  # of units times statements, three bytes each


@dataclass(frozen=True, slots=True)
class Universe:
    """Where a worker finds or makes a universe; small, picklable, public.

    identity: text that says everything the supports depend on. n: units. statements: M.
    seed: of a synthetic one. counts: of the worst case, all equal. path: Parquet file with counts and, packed over
    units, verdicts.
    """

    identity: str
    n: int
    statements: int
    visibility: Visibility = Visibility.SYNTHETIC
    seed: int | None = None
    count: int | None = None
    path: Path | None = None

    def counts(self) -> NDArray[np.int64]:
        """How many units support each statement, shape (M,)."""
        return _counts(self)

    def verdicts(self) -> NDArray[np.bool_]:
        """Which unit supports which statement, shape (n, M)."""
        return _verdicts(self)

    def priorities(self) -> NDArray[np.uint16]:
        """Random, of unit and statement: which statements a unit counts for, lowest first; shape (n, M)."""
        return _priorities(self)


def check_verdicts(n: int, statements: int) -> None:
    """Refuse, by name, universes where who supports what does not fit into memory. Raises UserError."""
    if n * statements > MOST_VERDICTS:
        raise UserError("n: hist needs to know who supports what; n times the statements must be at most 2^28")


def synthetic(n: int, statements: int, seed: int) -> Universe:
    """Supports from a mixture of two Beta distributions, rounded to the grid k / n."""
    return Universe(f"synthetic {n} {statements} {seed}", n, statements, seed=seed)


def worst_case(n: int, statements: int, theta: Fraction) -> Universe:
    """Every support one unit below theta. Raises UserError where nothing lies below theta."""
    threshold = threshold_units(n, theta)
    if threshold == 0:
        raise UserError("theta: at 0 everything is supported, so the universe worst_case has no statement")
    return Universe(f"worst_case {n} {statements} {threshold - 1}", n, statements, seed=0, count=threshold - 1)


@lru_cache(maxsize=64)
def _counts(universe: Universe) -> NDArray[np.int64]:
    if universe.path is not None:
        counts: NDArray[np.int64] = pq.ParquetFile(universe.path).read(["support_units"])["support_units"].to_numpy()
        return counts
    if universe.count is not None:
        return np.full(universe.statements, universe.count, np.int64)
    rng = np.random.default_rng(np.random.SeedSequence(universe.seed))
    rare = round(RARE_SHARE * universe.statements)
    supports = np.concatenate([rng.beta(*RARE, size=rare), rng.beta(*COMMON, size=universe.statements - rare)])
    rounded: NDArray[np.int64] = np.rint(supports * universe.n).astype(np.int64)
    return rounded


@lru_cache(maxsize=2)
def _verdicts(universe: Universe) -> NDArray[np.bool_]:
    if universe.path is not None:
        packed = pq.ParquetFile(universe.path).read(["verdicts"])["verdicts"].to_pylist()
        rows = [np.unpackbits(np.frombuffer(bits, np.uint8), count=universe.n).view(np.bool_) for bits in packed]
        return np.ascontiguousarray(np.stack(rows, axis=1))
    supported = np.zeros((universe.statements, universe.n), np.bool_)
    rng = np.random.default_rng(np.random.SeedSequence((universe.seed or 0, 1)))
    for row, count in zip(supported, universe.counts(), strict=True):
        row[rng.choice(universe.n, int(count), replace=False, shuffle=False)] = True
    return np.ascontiguousarray(supported.T)


@lru_cache(maxsize=2)
def _priorities(universe: Universe) -> NDArray[np.uint16]:
    rng = np.random.default_rng(np.random.SeedSequence((universe.seed or 0, 2)))
    return rng.integers(1 << 16, size=(universe.n, universe.statements), dtype=np.uint16)
