"""Bit matrices: one row a text, one bit a statement, little-endian within a byte, unused bits zero."""

import numpy as np
from numpy.typing import NDArray

Bits = NDArray[np.uint8]  # (rows, width_of(columns))
_CELLS_AT_ONCE = 1 << 26  # unpacked cells held at a time, one byte each


def width_of(columns: int) -> int:
    """Bytes of a row with this many bits."""
    return (columns + 7) // 8


def pack(cells: NDArray[np.bool_]) -> Bits:
    """Bits of a boolean matrix (rows, columns)."""
    return np.packbits(cells, axis=1, bitorder="little")


def unpack(bits: Bits, columns: int) -> NDArray[np.bool_]:
    """Boolean matrix (rows, columns) of bits."""
    return np.unpackbits(bits, axis=1, count=columns, bitorder="little").view(np.bool_)


def empty(rows: int, columns: int) -> Bits:
    """No bit set."""
    return np.zeros((rows, width_of(columns)), np.uint8)


def full(rows: int, columns: int) -> Bits:
    """Every bit set."""
    return np.broadcast_to(pack(np.ones((1, columns), np.bool_)), (rows, width_of(columns)))


def population(bits: Bits) -> int:
    """How many bits are set."""
    return sum(int(np.bitwise_count(bits[rows]).sum(dtype=np.int64)) for rows in row_blocks(len(bits), bits.shape[1]))


def population_of_rows(bits: Bits) -> NDArray[np.int64]:
    """How many bits are set in each row, shape (rows,)."""
    counts = np.empty(len(bits), np.int64)
    for rows in row_blocks(len(bits), bits.shape[1]):
        counts[rows] = np.bitwise_count(bits[rows]).sum(axis=1, dtype=np.int64)
    return counts


def population_of_columns(bits: Bits, columns: int) -> NDArray[np.int64]:
    """How many bits are set in each column, shape (columns,)."""
    counts = np.zeros(columns, np.int64)
    for rows in row_blocks(len(bits), columns):
        counts += unpack(bits[rows], columns).sum(axis=0, dtype=np.int64)
    return counts


def take_columns(bits: Bits, source: NDArray[np.int64], target: NDArray[np.int64], columns: int) -> Bits:
    """Bits with `columns` columns: column target[i] is column source[i] of `bits`, the others are zero."""
    taken = empty(len(bits), columns)
    for rows in row_blocks(len(bits), max(columns, 8 * bits.shape[1])):
        cells = np.zeros((len(bits[rows]), columns), np.bool_)
        cells[:, target] = unpack(bits[rows], 8 * bits.shape[1])[:, source]
        taken[rows] = pack(cells)
    return taken


def row_blocks(rows: int, cells_a_row: int) -> list[slice]:
    """The rows in blocks that bound the memory of an unpacked block."""
    step = max(1, _CELLS_AT_ONCE // max(cells_a_row, 1))
    return [slice(start, min(start + step, rows)) for start in range(0, rows, step)]
