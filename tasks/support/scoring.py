"""Score what the cache does not know yet: records of one version against statements, once each."""

import math
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

import numpy as np

from schemas.errors import UserError
from schemas.statements import Statement
from tasks.storage.home import Home
from tasks.storage.objects import AnyPath
from tasks.support.bits import empty, full
from tasks.support.cache import ScoreCache
from tasks.support.chunks import Chunk, ChunkOutcome, score_chunk
from tasks.support.models import ModelReference
from tasks.support.placement import Place, describe_model, place_of
from tasks.support.plan import Plan
from tasks.support.texts import VersionTexts, forget_texts, index_texts

Progress = Callable[[float], None]
CHUNK_SECONDS = 2.0  # what a killed run scores again, at most
LONG_CHUNK_SECONDS = 30.0  # of a run of days, where handing out chunks would keep the driver busy
CHUNKS_OF_A_LONG_RUN = 5_000
IN_PROCESS_SECONDS = 8.0  # two Dask workers, started in about 4 s, are not sooner done with less
CHUNKS_IN_ENGINE = 2
_FIRST_PAIRS = 8
_TELLING_SECONDS = 0.25  # shorter chunks say more about the overhead than about the model
_GROWTH = 4
_COMPACT_EVERY_CHUNKS = 256


class ScoringError(Exception):
    """Scoring stopped for a reason that is not the user's fault; `str` is public, details are in private/logs."""


@dataclass(frozen=True, slots=True)
class ScoringSummary:
    """Private numbers, for the operator: distinct (text, statement) pairs scored now, and found in the cache."""

    pairs_scored: int
    pairs_reused: int


def score_version(
    version_path: AnyPath,
    statements: Sequence[Statement],
    reference: ModelReference,
    home: Home,
    progress: Progress | None = None,
) -> ScoringSummary:
    """Bring the cache to hold every verdict of these statements on the readable records of a registered version.

    Small work is done in this process, more of it on Dask (see tasks/support/cluster.py); killed anywhere, the same
    call continues and scores again at most what was in flight. Where nothing is missing, Dask is not imported.
    progress: called with the share of the missing pairs that are done, 0 to 1; for the operator's terminal only.

    Raises UserError (disk full, no such model, no cluster), ScoringError (a model that fails) and
    ContradictoryVerdictsError; none holds a private value. ValueError for statements that are not distinct.
    """
    if len({statement.statement_id for statement in statements}) < len(statements):
        raise ValueError("statements must be distinct")
    fingerprint, place = describe_model(reference, home).fingerprint, place_of(reference)
    cache, texts = ScoreCache.of(home, fingerprint), index_texts(version_path)
    template = Chunk(
        version_path, cache.folder, cache.logs, reference, fingerprint, (), np.empty((0, 3), np.int64), empty(0, 0)
    )
    plan = _plan(template, cache, texts, statements)
    run = _Run(plan, plan.remaining, progress or (lambda share: None), cache)
    if plan.remaining:
        try:
            if place is Place.DRIVER and reference.language is not None:
                run.in_engine(reference.found_entry().pairs_a_call)
            else:
                run.in_process(everything_below=_seconds_in_process(place))
            if plan.remaining:
                run.on_dask(home, needs_gpu=place is Place.GPU_WORKERS)
        finally:
            forget_texts()
        cache.compact()
    return ScoringSummary(run.scored, len(texts.keys) * len(statements) - run.missing)


def _seconds_in_process(place: Place) -> float:
    """Work that takes longer goes to Dask."""
    return {Place.DRIVER: math.inf, Place.GPU_WORKERS: 0.0}.get(place, IN_PROCESS_SECONDS)


def _plan(template: Chunk, cache: ScoreCache, texts: VersionTexts, statements: Sequence[Statement]) -> Plan:
    known = cache.read(texts.keys, [statement.statement_id for statement in statements]).known
    missing = full(len(texts.keys), len(statements)) & ~known
    return Plan(template, statements, texts.where, missing)


@dataclass(slots=True)
class _Run:
    """The state of one call: what is left, how fast the model has been, how many pairs are done."""

    plan: Plan
    missing: int
    progress: Progress
    cache: ScoreCache
    scored: int = 0
    chunks: int = 0
    rate: float = field(default=0.0)  # pairs per second and process

    def in_process(self, everything_below: float) -> None:
        """Score here, in chunks that grow, until all is done or the rest would take `everything_below` seconds."""
        pairs = _FIRST_PAIRS
        while everything_below and (chunk := self.plan.take(pairs)) is not None:
            outcome = score_chunk(chunk)
            self.finished(outcome)
            seconds_left = self.plan.remaining * outcome.seconds / outcome.pairs
            if outcome.seconds >= _TELLING_SECONDS and seconds_left > everything_below:
                return
            pairs = min(pairs * _GROWTH, max(self._pairs_of_a_chunk(), _FIRST_PAIRS))

    def in_engine(self, pairs_a_call: int) -> None:
        """Score all here, chunks overlapping: the engine, which is parallel itself, never waits for us."""
        with ThreadPoolExecutor(CHUNKS_IN_ENGINE) as threads:
            running = set[Future[ChunkOutcome]]()
            while True:
                wanted = max(pairs_a_call, self._pairs_of_a_chunk())
                while len(running) < CHUNKS_IN_ENGINE and (chunk := self.plan.take(wanted)) is not None:
                    running.add(threads.submit(score_chunk, chunk))
                if not running:
                    return
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    self.finished(future.result())

    def on_dask(self, home: Home, *, needs_gpu: bool) -> None:
        """Score the rest on Dask."""
        from tasks.support.cluster import score_on_dask

        score_on_dask(lambda: self.plan.take(self._pairs_of_a_chunk()), self.finished, home, needs_gpu=needs_gpu)

    def finished(self, outcome: ChunkOutcome) -> None:
        """Count a chunk. Raises what its failure asks for."""
        if outcome.failure is not None:
            raise (UserError if outcome.is_users_fault else ScoringError)(outcome.failure)
        self.scored += outcome.pairs
        self.chunks += 1
        now = outcome.pairs / max(outcome.seconds, 1e-9)
        self.rate = math.sqrt(self.rate * now) if self.rate else now
        self.progress(self.scored / self.missing)
        if self.chunks % _COMPACT_EVERY_CHUNKS == 0:
            self.cache.compact()

    def _pairs_of_a_chunk(self) -> int:
        if not self.rate:
            return _FIRST_PAIRS
        return max(1, int(self.rate * chunk_seconds(self.plan.remaining / self.rate)))


def chunk_seconds(seconds_left: float) -> float:
    """How long a chunk should last, of a run that one process would end in this time."""
    return min(max(CHUNK_SECONDS, seconds_left / CHUNKS_OF_A_LONG_RUN), LONG_CHUNK_SECONDS)
