"""A partition once all its records are known: units in order, duplicates found."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from schemas.corpora import CorpusSettings, UnitRule
from schemas.values import decimal_text
from tasks.corpora.problems import SourceError
from tasks.corpora.spool import Spool
from tasks.corpora.texts import OK, STATUSES
from tasks.corpora.units import check_no_look_alikes


@dataclass(frozen=True, slots=True)
class Resolved:
    """Rows of a spool, in its order.

    unit_ids: distinct, ascending; its length is n. unit_index: unit of each record, shape (records,).
    kept: false for an exact duplicate, shape (records,). statuses: codes, shape (records,).
    """

    unit_ids: pa.Array
    unit_index: NDArray[np.int64]
    kept: NDArray[np.bool_]
    statuses: NDArray[np.int8]

    @property
    def unreadable(self) -> dict[str, int]:
        """Status -> records, for what cannot be read, duplicates counted once."""
        counts = np.bincount(self.statuses[self.kept], minlength=len(STATUSES))
        return {
            str(status): int(count)
            for status, count in zip(STATUSES, counts, strict=True)
            if count and status != STATUSES[OK]
        }


def resolve(spool: Spool) -> Resolved:
    """Order the units and find the duplicates."""
    unit_ids, unit_index = spool.units()
    return Resolved(unit_ids, unit_index, first_of_each(spool.identities()), spool.statuses())


def first_of_each(identities: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """True for the first row with each value; identities has shape (rows, 2)."""
    order = np.lexsort((identities[:, 1], identities[:, 0]))
    ordered = identities[order]
    kept = np.ones(len(order), np.bool_)
    kept[order[1:][(ordered[1:] == ordered[:-1]).all(axis=1)]] = False
    return kept


def check_corpus(settings: CorpusSettings, partitions: list[Resolved]) -> None:
    """What only the whole corpus can tell: repeated ids, units in two partitions, look-alikes, too much unreadable.

    Raises SourceError. Duplicates count once, so that repeating a record changes nothing.
    """
    units = pa.chunked_array([partition.unit_ids for partition in partitions], pa.large_string())
    distinct = pc.unique(units)
    if settings.unit is None and len(distinct) != sum(len(partition.kept) for partition in partitions):
        raise SourceError("id: a record id occurs twice, and every record is a unit; mend the ids or declare a unit")
    if not settings.units_recur and len(distinct) != len(units):
        raise SourceError("partition_column: a unit lies in two partitions of the list, so the two are not disjoint")
    if settings.unit_rule is UnitRule.EXACT:
        check_no_look_alikes(distinct)
    records = sum(int(partition.kept.sum()) for partition in partitions)
    unreadable = sum(sum(partition.unreadable.values()) for partition in partitions)
    if records and Fraction(unreadable, records) > Fraction(settings.max_unreadable):
        raise SourceError(
            "max_unreadable: a larger share of the records than the declared "
            f"{decimal_text(settings.max_unreadable)} cannot be read; declare another by --max-unreadable",
            unreadable={status: sum(p.unreadable.get(status, 0) for p in partitions) for status in map(str, STATUSES)},
            records=records,
        )
