"""The network on ONNX Runtime that takes batches of a few fixed shapes, for GPUs.

A row's length alone chooses its shape, and a shape has always the same number of rows: what is missing are padding
rows. So the device runs the same kernels whatever the neighbours are.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources.abc import Traversable

import numpy as np
from numpy.typing import NDArray

from schemas.audit import Device
from tasks.inference.classifier import Job, Put, run_in_threads, sha256
from tasks.inference.onnx_device import device_facts
from tasks.inference.onnx_session import OnnxSession, engine_fact
from tasks.inference.pairs import MAX_PAIR_TOKENS, Inputs

_PROBES = 3


@dataclass(frozen=True, slots=True)
class BatchShapes:
    """The shapes of all calls: (rows, length) for each length, in word pieces, ascending."""

    rows: int = 32
    lengths: tuple[int, ...] = (32, 64, 128, 256, MAX_PAIR_TOKENS)

    def __post_init__(self) -> None:
        if self.rows < 1 or list(self.lengths) != sorted(set(self.lengths)) or self.lengths[-1] < MAX_PAIR_TOKENS:
            raise ValueError("a batch has a row or more, and its lengths ascend to that of the longest pair")

    def length_for(self, pieces: int) -> int:
        """The shortest length that holds a row of so many pieces."""
        return next(length for length in self.lengths if length >= pieces)


class OnnxBatches:
    """A `Network` on batches of fixed shapes."""

    def __init__(self, model: Traversable, workers: int, device: Device, shapes: BatchShapes, pad_piece: int) -> None:
        """workers: calling threads of a CPU; a GPU has one. pad_piece: stands where a row has no word piece.

        Raises ValueError for a graph that is no pair classifier, takes one row only, has no attention mask, or whose
        answer to a row depends on the other rows here; UserError for a device that is not there.
        """
        self._model, self._device, self._shapes, self._pad_piece = model, device, shapes, pad_piece
        self._workers = workers if device is Device.CPU else 1
        self._session = OnnxSession(model, device)
        if self._session.rows is not None:
            raise ValueError("the model takes one row at a time; batches need a graph of any number of rows")
        if "attention_mask" not in self._session.takes:
            raise ValueError("the model has no attention_mask; in batches it would read the padding")
        if device is not Device.CPU:
            self.check_rows()

    def facts(self, row: str) -> dict[str, str]:
        """See Network."""
        lengths = ", ".join(map(str, self._shapes.lengths))
        return {
            "model_sha256": sha256(self._model),
            "engine": engine_fact(self._device),
            "batch_shape": (
                f"{self._shapes.rows} rows of {lengths} pieces, the least that holds the {row}; padding rows"
            ),
            "threads": "1 per call",
            **device_facts(self._device),
        }

    def run(self, jobs: Iterator[Job], put: Put) -> None:
        """See Network."""

        def answer(batch: list[Job]) -> None:
            rows = self._session.logits(pack([job.inputs for job in batch], self._shapes, self._pad_piece))
            for job, logits in zip(batch, rows, strict=False):  # the rest is padding
                put(job, logits)

        run_in_threads(batches(jobs, self._shapes), [answer] * self._workers)

    def check_rows(self) -> None:
        """Raises ValueError where a row's bits depend on its place or on the other rows, seen on made-up rows."""
        rng = np.random.default_rng(0)
        for length in self._shapes.lengths:
            rows = [_made_up(rng.integers(1, 1000, length)) for _ in range(self._shapes.rows)]
            before = self._bits(rows)
            for _ in range(_PROBES):
                order = rng.permutation(len(rows))[: max(1, len(rows) // 2)]
                if not np.array_equal(self._bits([rows[place] for place in order]), before[order]):
                    raise ValueError("the model's answer to a pair depends on its neighbours on this device")

    def _bits(self, rows: Sequence[Inputs]) -> NDArray[np.uint32]:
        logits = self._session.logits(pack(rows, self._shapes, self._pad_piece))[: len(rows)]
        return np.ascontiguousarray(logits).view(np.uint32)


def batches(jobs: Iterator[Job], shapes: BatchShapes) -> Iterator[list[Job]]:
    """Jobs of one shape together, up to `shapes.rows` of them; every job once."""
    waiting: dict[int, list[Job]] = {}
    for job in jobs:
        length = shapes.length_for(job.inputs["input_ids"].shape[1])
        batch = waiting.setdefault(length, [])
        batch.append(job)
        if len(batch) == shapes.rows:
            yield waiting.pop(length)
    yield from waiting.values()


def pack(rows: Sequence[Inputs], shapes: BatchShapes, pad_piece: int, pad_row: Inputs | None = None) -> Inputs:
    """Rows of one shape as a batch of it, each of the tensors of shape (shapes.rows, length).

    pad_row: what the rows that are missing hold; None: one word piece, since softmax over nothing is no number.
    """
    length = shapes.length_for(max(row["input_ids"].shape[1] for row in rows))
    filler = pad_row or _made_up(np.array([pad_piece]))
    batch = {name: np.zeros((shapes.rows, length), np.int64) for name in filler}
    batch["input_ids"][:] = pad_piece
    for place, row in enumerate([*rows, *[filler] * (shapes.rows - len(rows))]):
        for name, values in batch.items():
            values[place, : row[name].shape[1]] = row[name][0]
    return batch


def _made_up(pieces: NDArray[np.int64]) -> Inputs:
    ids = pieces[None]
    return {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
