"""What is still to be scored, cut into chunks of a wanted number of pairs."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from schemas.statements import Statement
from tasks.support.bits import Bits, pack, population_of_rows, take_columns, unpack
from tasks.support.chunks import Chunk

MOST_PAIRS = 1 << 23  # of a chunk: bounds its memory, one byte a pair unpacked


class Plan:
    """Hands out the missing pairs once, in the order in which the texts lie in the files."""

    def __init__(
        self, template: Chunk, statements: Sequence[Statement], where: NDArray[np.int64], missing: Bits
    ) -> None:
        """template: a chunk with the paths and the model. where, missing: all texts, as in Chunk."""
        self._template, self._statements, self._where, self._missing = template, list(statements), where, missing
        pairs = population_of_rows(missing)
        rows = np.flatnonzero(pairs)
        self._order = rows[np.lexsort(where[rows].T[::-1])]
        self._ends = np.cumsum(pairs[self._order])
        self._row, self._columns_taken = 0, 0
        self.remaining = int(pairs.sum())

    def take(self, pairs: int) -> Chunk | None:
        """The next chunk of about this many pairs (at least one), or None at the end."""
        if self._row == len(self._order):
            return None
        wanted = min(max(pairs, 1), MOST_PAIRS)
        start = int(self._ends[self._row - 1]) if self._row else 0
        end = int(np.searchsorted(self._ends, start + wanted, side="right"))
        if self._columns_taken or end == self._row:  # one text alone holds more than is wanted
            return self._take_of_one_text(wanted)
        rows = self._order[self._row : end]
        self._row = end
        return self._chunk(rows, self._missing[rows])

    def _take_of_one_text(self, wanted: int) -> Chunk:
        row = self._order[self._row : self._row + 1]
        columns = np.flatnonzero(unpack(self._missing[row], len(self._statements)))
        taken = columns[self._columns_taken : self._columns_taken + wanted]
        self._columns_taken += len(taken)
        if self._columns_taken == len(columns):
            self._row, self._columns_taken = self._row + 1, 0
        cells = np.zeros((1, len(self._statements)), np.bool_)
        cells[0, taken] = True
        return self._chunk(row, pack(cells))

    def _chunk(self, rows: NDArray[np.int64], missing: Bits) -> Chunk:
        m = len(self._statements)
        needed = np.flatnonzero(unpack(np.bitwise_or.reduce(missing, axis=0, keepdims=True), m))
        chosen = take_columns(missing, needed, np.arange(len(needed)), len(needed)) if len(needed) < m else missing
        chunk = replace(
            self._template,
            statements=tuple(self._statements[column] for column in needed),
            where=self._where[rows],
            missing=chosen,
        )
        self.remaining -= chunk.pairs
        return chunk
