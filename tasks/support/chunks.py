"""One chunk of scoring work, as it is run in the driver or in a Dask worker.

A chunk travels as paths, places and public statements; its worker reads the texts itself and writes the verdicts to
the cache itself. It never raises: Dask would log and ship the traceback and the arguments.
"""

import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from schemas.errors import UserError
from schemas.statements import Statement
from tasks.inference.protocol import EngineError
from tasks.storage.objects import AnyPath, StoreError
from tasks.support.bits import Bits, pack, population, unpack
from tasks.support.cache import ContradictoryVerdictsError, ScoreCache, Verdicts
from tasks.support.models import ModelReference, load_support_model
from tasks.support.operator_log import note_for_operator
from tasks.support.protocol import SupportModel
from tasks.support.texts import Keys, read_texts

FLUSH_SECONDS = 2.0  # about what a kill -9 may lose
CALLS_A_CHUNK = 8
SCORING_FAILED = "scoring failed on a chunk of records; the operator finds the details in private/logs/scoring.log"
START_AGAIN = "what is scored is kept: start the same command again"
OTHER_MODEL = "a worker's support model differs from the driver's (another build, processor class or domain file)"


@dataclass(frozen=True, slots=True, repr=False)
class Chunk:
    """Pairs to score. Its repr says nothing: schedulers and workers log arguments.

    version_path, cache_folder, logs: shared by all workers.
    reference, fingerprint: the model, and what it must be on every worker.
    statements: those that some text of the chunk needs.
    where: places of the texts (see VersionTexts.where), shape (t, 3).
    missing: pairs to score, bits of shape (t, statements), at least one a row.
    """

    version_path: AnyPath
    cache_folder: AnyPath
    logs: Path
    reference: ModelReference
    fingerprint: str
    statements: tuple[Statement, ...]
    where: NDArray[np.int64]
    missing: Bits

    @property
    def pairs(self) -> int:
        """How many pairs it holds."""
        return population(self.missing)


@dataclass(frozen=True, slots=True)
class ChunkOutcome:
    """What came of a chunk: pairs scored and seconds taken (private numbers), or why it failed (public words)."""

    pairs: int = 0
    seconds: float = 0.0
    failure: str | None = None
    is_users_fault: bool = False


def score_chunk(chunk: Chunk) -> ChunkOutcome:
    """Score the pairs of a chunk and write them to the cache, about every FLUSH_SECONDS; failures are values."""
    try:
        model = load_support_model(chunk.reference)
        if model.fingerprint != chunk.fingerprint:
            return ChunkOutcome(failure=OTHER_MODEL)
        return ChunkOutcome(pairs=chunk.pairs, seconds=_score(chunk, model))
    except UserError as error:
        if isinstance(error, StoreError):
            note_for_operator(chunk.logs, f"scoring stopped\n{traceback.format_exc()}")
        return ChunkOutcome(failure=str(error), is_users_fault=True)
    except ContradictoryVerdictsError as error:
        return ChunkOutcome(failure=str(error))
    except EngineError as error:  # it holds no text
        note_for_operator(chunk.logs, f"scoring stopped\n{traceback.format_exc()}")
        return ChunkOutcome(failure=f"{error}; {START_AGAIN}")
    except Exception:  # whatever a model raises may quote a text: for the operator's file only
        note_for_operator(chunk.logs, f"scoring failed\n{traceback.format_exc()}")
        return ChunkOutcome(failure=SCORING_FAILED)


def _score(chunk: Chunk, model: SupportModel) -> float:
    """Seconds that the model and the cache took; reading a row group once is no measure of a model."""
    cache = ScoreCache(chunk.cache_folder, chunk.fingerprint, chunk.logs)
    texts, keys = read_texts(chunk.version_path, chunk.where)
    m = len(chunk.statements)
    verdict, done = np.zeros((len(texts), m), np.bool_), np.zeros((len(texts), m), np.bool_)
    started = last_flush = time.monotonic()
    for rows, columns in _rectangles(chunk.missing, m, chunk.reference.found_entry().pairs_a_call):
        answer = model.verdicts([texts[row] for row in rows], [chunk.statements[column].text for column in columns])
        if answer.shape != (len(rows), len(columns)) or answer.dtype != np.bool_:
            raise ValueError("a support model must answer with booleans of shape (texts, statements)")
        verdict[np.ix_(rows, columns)], done[np.ix_(rows, columns)] = answer, True
        if time.monotonic() - last_flush > FLUSH_SECONDS:
            _flush(cache, keys, chunk.statements, done, verdict)
            done[:], last_flush = False, time.monotonic()
    _flush(cache, keys, chunk.statements, done, verdict)
    return time.monotonic() - started


def _rectangles(
    missing: Bits, columns: int, pairs_a_call: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Rows and columns of texts that miss the same statements, in about CALLS_A_CHUNK calls of the model.

    Fewer where a call would have less than `pairs_a_call`.
    """
    patterns, pattern_of_row = np.unique(missing, axis=0, return_inverse=True)
    limit = max(pairs_a_call, population(missing) // CALLS_A_CHUNK)
    for number, pattern in enumerate(unpack(patterns, columns)):
        wanted, rows = np.flatnonzero(pattern), np.flatnonzero(pattern_of_row.reshape(-1) == number)
        step = max(1, limit // len(wanted))
        yield from ((rows[start : start + step], wanted) for start in range(0, len(rows), step))


def _flush(
    cache: ScoreCache,
    keys: Keys,
    statements: tuple[Statement, ...],
    known: NDArray[np.bool_],
    verdict: NDArray[np.bool_],
) -> None:
    rows = np.flatnonzero(known.any(axis=1))
    rows = rows[np.argsort(keys[rows])]
    if len(rows):
        ids = tuple(statement.statement_id for statement in statements)
        cache.write(Verdicts(keys[rows], ids, pack(known[rows]), pack(verdict[rows] & known[rows])))
