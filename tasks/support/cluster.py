"""Scoring on Dask. Imported only when there is more work than the driver does by itself, or none that it can do."""

import secrets
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from distributed import Client

from schemas.errors import StageError, UserError
from tasks.cluster.address import cluster_address
from tasks.cluster.client import dask_client
from tasks.cluster.code import code_digest
from tasks.cluster.running import run_on_dask
from tasks.cluster.workers import GPU, NO_GPU, OTHER_CODE, gpu_workers, require_same_code
from tasks.storage.home import Home
from tasks.support.chunks import Chunk, ChunkOutcome, score_chunk
from tasks.support.models import ModelReference
from tasks.support.operator_log import logs_folder, note_for_operator
from tasks.support.placement import ModelFacts, dask_scratch, facts_here

WORKERS_DIED = "the Dask workers that scored a chunk died or were lost, repeatedly; finished chunks are kept"
NO_FACTS = "a GPU worker could not load the support model; the operator finds the details in private/logs/scoring.log"


def score_on_dask(
    take: Callable[[], Chunk | None], finished: Callable[[ChunkOutcome], None], home: Home, *, needs_gpu: bool
) -> None:
    """Score chunks until `take` answers None; hand every outcome to `finished`, which may raise to stop.

    take: the next chunk, sized by what is known by then.
    needs_gpu: ask for the Dask resource GPU, one a chunk.
    Raises UserError when the user's cluster does not answer, has no fitting worker, or one with other code.
    """
    with dask_client(dask_scratch(home)) as client:
        _check(client, needs_gpu=needs_gpu)
        score = partial(_score_with_same_code, code_digest())
        run_on_dask(client, score, _Scoring(take, finished), {GPU: 1} if needs_gpu else None)


def describe_on_gpu_worker(reference: ModelReference, home: Home) -> ModelFacts:
    """What the model says of itself on a worker with the resource GPU.

    Raises UserError as score_on_dask, and for what the worker's user can mend; StageError where the worker fails.
    """
    if cluster_address() is None:
        raise UserError(NO_GPU)
    with dask_client(dask_scratch(home)) as client:
        _check(client, needs_gpu=True)
        ask = partial(_facts_or_failure, logs_folder(home))
        key = f"model-{secrets.token_hex(8)}"
        future = client.submit(ask, _on_a_worker(reference), key=key, pure=False, resources={GPU: 1})
        try:
            answer: ModelFacts | UserError | StageError = future.result()
        except Exception as error:  # of Dask: the worker died, or another came that does not have this package
            note_for_operator(logs_folder(home), f"Dask could not ask for a model: {error!r}")
            answer = StageError(NO_FACTS)
    if isinstance(answer, Exception):
        raise answer
    return answer


@dataclass(frozen=True, slots=True)
class _Scoring:
    """Chunks for workers, which bring their own parallelism: one thread in each model."""

    next_chunk: Callable[[], Chunk | None]
    finished: Callable[[ChunkOutcome], None]

    def take(self) -> Chunk | None:
        chunk = self.next_chunk()
        return None if chunk is None else replace(chunk, reference=_on_a_worker(chunk.reference))

    def lost(self, chunk: Chunk, error: Exception) -> None:  # its text goes to the operator only
        note_for_operator(chunk.logs, f"Dask lost a chunk: {error!r}")

    def given_up(self, chunk: Chunk) -> None:
        self.finished(ChunkOutcome(failure=WORKERS_DIED))


def _on_a_worker(reference: ModelReference) -> ModelReference:
    return replace(reference, threads=1)


def _check(client: Client, *, needs_gpu: bool) -> None:
    require_same_code(client, gpu_workers(client) if needs_gpu else None)


def _score_with_same_code(code: str, chunk: Chunk) -> ChunkOutcome:
    """For workers that joined after the check."""
    if code != code_digest():
        return ChunkOutcome(failure=OTHER_CODE, is_users_fault=True)
    return score_chunk(chunk)


def _facts_or_failure(logs: Path, reference: ModelReference) -> ModelFacts | UserError | StageError:
    """It returns what it would raise: Dask would log and ship the traceback."""
    try:
        return facts_here(reference)
    except UserError as error:
        return UserError(str(error))
    except Exception:  # whatever a model raises: for the operator's file only
        note_for_operator(logs, f"loading a model failed\n{traceback.format_exc()}")
        return StageError(NO_FACTS)
