"""How a study is cut into chunks of about a second, whatever the number of workers."""

from collections.abc import Sequence
from pathlib import Path

from tasks.studies.cells import Cell
from tasks.studies.chunks import Chunk, code_version

CHUNK_SECONDS = 1.0
# Seconds a core takes, an order of magnitude: it decides the size of chunks and whether Dask is worth its start
CERTIFICATE_SECONDS = 3e-8
JOB_SECONDS = 3e-4
VERDICT_SECONDS = 1e-8  # hist: a unit and statement


def seconds_of(cell: Cell) -> float:
    """Estimated time of one seed of a cell."""
    certificates = cell.runs * cell.statements * CERTIFICATE_SECONDS
    verdicts = 0.0 if cell.contributions is None else cell.universe.n * cell.statements * VERDICT_SECONDS
    return JOB_SECONDS + certificates + verdicts


def chunks_of(cells: Sequence[Cell], seeds: int, study_seed: int, folder: Path) -> list[Chunk]:
    """All cells with seeds 0, 1, ...; a cell and seed are never divided."""
    chunks, jobs, seconds = [], list[tuple[Cell, int]](), 0.0
    for cell in cells:
        for seed in range(seeds):
            if jobs and seconds + seconds_of(cell) > CHUNK_SECONDS:
                chunks.append(Chunk(tuple(jobs), study_seed, code_version(), folder))
                jobs, seconds = [], 0.0
            jobs.append((cell, seed))
            seconds += seconds_of(cell)
    return [*chunks, Chunk(tuple(jobs), study_seed, code_version(), folder)] if jobs else chunks
