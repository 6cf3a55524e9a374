"""Support counts: how many units support each statement. Private until a mechanism has certified them."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from schemas.audit import UnitSupport
from schemas.statements import Statement
from tasks.corpora.versions import UNITS_FILE
from tasks.privacy.contributions import truncate
from tasks.storage.home import Home
from tasks.storage.objects import AnyPath
from tasks.storage.parquet import read_parquet
from tasks.support.bits import (
    Bits,
    empty,
    full,
    population_of_columns,
    population_of_rows,
    row_blocks,
    unpack,
    width_of,
)
from tasks.support.cache import ScoreCache
from tasks.support.texts import VersionTexts, index_texts

_BIT_MATRIX_BYTES = 1 << 30  # of one block of statements, over texts and units, or of one block of units
_LAST = np.iinfo(np.uint64).max


class MissingVerdictError(Exception):
    """A pair was never scored. It is no "no": counting stops."""

    def __init__(self) -> None:
        super().__init__("a verdict is missing from the score cache: repeat the command to score it")


def support_counts(
    version_path: AnyPath, statements: Sequence[Statement], fingerprint: str, unit_support: UnitSupport, home: Home
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


def bounded_support_counts(
    version_path: AnyPath,
    statements: Sequence[Statement],
    fingerprint: str,
    unit_support: UnitSupport,
    home: Home,
    contributions: int,
) -> NDArray[np.int64]:
    """Support counts where each unit counts for at most C of the statements it supports (spec 1.6); shape as above.

    Which ones: those with the lowest keyed hash of unit and statement, after the unit's records were combined. What
    one unit says moves at most C counts up and C down, each by 1, and no other unit's choice. Raises as
    `support_counts` does.
    """
    texts, ids = index_texts(version_path), _distinct_ids(statements)
    keys, secret = _unit_keys(version_path), home.hash_key()
    counts = np.zeros(len(ids), np.int64)
    for units in _unit_blocks(texts, len(ids)):
        part = _of_units(texts, units)
        supported = _supported_by_units(part, _verdicts(part, ids, fingerprint, home), len(ids), unit_support)
        full_units = np.flatnonzero(population_of_rows(supported) > contributions)
        for rows in row_blocks(len(full_units), 16 * max(len(ids), 1)):
            chosen = full_units[rows]
            cells = unpack(supported[chosen], len(ids))
            order = _priorities(cells, [keys[units.start + unit] for unit in chosen], ids, secret)
            counts += truncate(cells, contributions, order).sum(axis=0, dtype=np.int64)
        supported[full_units] = 0
        counts += population_of_columns(supported, len(ids))
    return counts


def unit_verdicts(
    version_path: AnyPath, statements: Sequence[Statement], fingerprint: str, unit_support: UnitSupport, home: Home
) -> NDArray[np.bool_]:
    """Which unit supports which statement; shape (n, len(statements)). Private; raises as `support_counts` does."""
    blocks = _unit_bits(version_path, statements, fingerprint, unit_support, home)
    return np.concatenate([unpack(supported, columns) for supported, columns in blocks], axis=1)


def _unit_bits(
    version_path: AnyPath, statements: Sequence[Statement], fingerprint: str, unit_support: UnitSupport, home: Home
) -> Iterator[tuple[Bits, int]]:
    """Packed rows of units for one block of statements after another, with the number of statements in it."""
    texts, ids = index_texts(version_path), _distinct_ids(statements)
    step = _statements_at_once(len(texts.keys) * 2 + texts.units)
    for start in range(0, len(ids), step):
        block = ids[start : start + step]
        verdict = _verdicts(texts, block, fingerprint, home)
        yield _supported_by_units(texts, verdict, len(block), unit_support), len(block)


def _distinct_ids(statements: Sequence[Statement]) -> list[str]:
    ids = [statement.statement_id for statement in statements]
    if len(set(ids)) < len(ids):
        raise ValueError("statements must be distinct")
    return ids


def _verdicts(texts: VersionTexts, ids: Sequence[str], fingerprint: str, home: Home) -> Bits:
    """One row a text. Raises MissingVerdictError."""
    found = ScoreCache.of(home, fingerprint).read(texts.keys, ids)
    if not np.array_equal(found.known, full(len(texts.keys), len(ids))):
        raise MissingVerdictError
    return found.verdict


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


def _unit_blocks(texts: VersionTexts, columns: int) -> list[slice]:
    """The units in blocks whose texts and bits bound the memory."""
    rows = np.bincount(texts.unit_of_record, minlength=texts.units) * 2 + 1
    block = np.cumsum(rows) * width_of(columns) // _BIT_MATRIX_BYTES
    edges = [0, *(np.flatnonzero(np.diff(block)) + 1).tolist(), texts.units]
    return [slice(start, stop) for start, stop in pairwise(edges) if start < stop]


def _of_units(texts: VersionTexts, units: slice) -> VersionTexts:
    """The same version as if it had these units only."""
    mine = (texts.unit_of_record >= units.start) & (texts.unit_of_record < units.stop)
    text = texts.text_of_record[mine]
    used, place = np.unique(text[text >= 0], return_inverse=True)
    renumbered = np.full(len(text), -1, np.int64)
    renumbered[text >= 0] = place
    return replace(
        texts,
        keys=texts.keys[used],
        where=texts.where[used],
        text_of_record=renumbered,
        unit_of_record=texts.unit_of_record[mine] - units.start,
        units=units.stop - units.start,
    )


def _priorities(
    cells: NDArray[np.bool_], unit_keys: Sequence[bytes], ids: Sequence[str], secret: bytes
) -> NDArray[np.uint64]:
    """A keyed hash of unit and statement where the unit supports the statement; last elsewhere."""
    order = np.full(cells.shape, _LAST, np.uint64)
    names = [statement.encode() for statement in ids]
    for row, unit in enumerate(unit_keys):
        start = hashlib.blake2b(unit, digest_size=8, key=secret, person=b"contribution")
        for column in np.flatnonzero(cells[row]):
            state = start.copy()
            state.update(names[column])
            order[row, column] = int.from_bytes(state.digest(), "big")
    return order


def _unit_keys(version_path: AnyPath) -> list[bytes]:
    keys: list[bytes] = read_parquet(version_path / UNITS_FILE, columns=["unit_key"])["unit_key"].to_pylist()
    return keys
