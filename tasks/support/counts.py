"""Support counts: how many units support each statement. Private until a mechanism has certified them."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from schemas.audit import UnitSupport
from schemas.statements import Statement
from tasks.storage.home import Home
from tasks.support.bits import Bits, empty, full, population_of_columns, row_blocks, unpack, width_of
from tasks.support.cache import ScoreCache
from tasks.support.texts import VersionTexts, index_texts

_BIT_MATRIX_BYTES = 1 << 30  # of one block of statements, over texts and units


class MissingVerdictError(Exception):
    """A pair was never scored. It is no "no": counting stops."""

    def __init__(self) -> None:
        super().__init__("a verdict is missing from the score cache: repeat the command to score it")


def support_counts(
    version_path: Path, statements: Sequence[Statement], fingerprint: str, unit_support: UnitSupport, home: Home
) -> NDArray[np.int64]:
    """N_s of spec 1.1 for each statement: how many units support it; shape (len(statements),), each in [0, n].

    any: at least one readable record of the unit supports. all: every record does, and an unreadable one never does.
    A unit without a readable record supports nothing. Whatever the records of one unit say, each count moves by at
    most 1: every unit is one bit.

    Raises MissingVerdictError when a pair was not scored, ContradictoryVerdictsError, ValueError for statements that
    are not distinct.
    """
    blocks = _unit_bits(version_path, statements, fingerprint, unit_support, home)
    counts = [population_of_columns(supported, columns) for supported, columns in blocks]
    return np.concatenate([np.empty(0, np.int64), *counts])


def unit_verdicts(
    version_path: Path, statements: Sequence[Statement], fingerprint: str, unit_support: UnitSupport, home: Home
) -> NDArray[np.bool_]:
    """Which unit supports which statement; shape (n, len(statements)). Private; raises as `support_counts` does."""
    blocks = _unit_bits(version_path, statements, fingerprint, unit_support, home)
    return np.concatenate([unpack(supported, columns) for supported, columns in blocks], axis=1)


def _unit_bits(
    version_path: Path, statements: Sequence[Statement], fingerprint: str, unit_support: UnitSupport, home: Home
) -> Iterator[tuple[Bits, int]]:
    """Packed rows of units for one block of statements after another, with the number of statements in it."""
    if len({statement.statement_id for statement in statements}) < len(statements):
        raise ValueError("statements must be distinct")
    texts, cache = index_texts(version_path), ScoreCache.of(home, fingerprint)
    ids = [statement.statement_id for statement in statements]
    step = _statements_at_once(len(texts.keys) * 2 + texts.units)
    for start in range(0, len(ids), step):
        block = ids[start : start + step]
        found = cache.read(texts.keys, block)
        if not np.array_equal(found.known, full(len(texts.keys), len(block))):
            raise MissingVerdictError
        yield _supported_by_units(texts, found.verdict, len(block), unit_support), len(block)


def _supported_by_units(texts: VersionTexts, verdict: Bits, columns: int, unit_support: UnitSupport) -> Bits:
    """One row a unit: which statements it supports."""
    combine = np.bitwise_or if unit_support == UnitSupport.ANY else np.bitwise_and
    has_records = np.zeros(texts.units, np.bool_)
    has_records[texts.unit_of_record] = True
    units = empty(texts.units, columns)
    if unit_support == UnitSupport.ALL:
        units[has_records] = 0xFF  # neutral for `and`; every such unit meets a record below
    for records in row_blocks(len(texts.unit_of_record), 8 * width_of(columns)):
        unit, text = texts.unit_of_record[records], texts.text_of_record[records]
        order = np.argsort(unit, kind="stable")
        unit, text = unit[order], text[order]
        rows = empty(len(text), columns)  # an unreadable record supports nothing
        rows[text >= 0] = verdict[text[text >= 0]]
        first = np.flatnonzero(np.r_[True, unit[1:] != unit[:-1]])
        units[unit[first]] = combine(units[unit[first]], combine.reduceat(rows, first, axis=0))
    return units


def _statements_at_once(rows: int) -> int:
    return max(8, _BIT_MATRIX_BYTES // max(rows, 1) * 8)
