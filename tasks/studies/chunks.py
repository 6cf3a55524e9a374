"""One chunk of a study, as it is run in the driver or in a Dask worker: a few cells and seeds, one Parquet part."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

import tasks
from schemas.errors import UserError
from schemas.study_tables import SEED_COUNTS
from tasks.ledger.canonical import digest
from tasks.privacy.contributions import truncate
from tasks.privacy.metrics import RunMetrics
from tasks.privacy.simulation import emitted, simulate
from tasks.privacy.thresholds import threshold_units
from tasks.storage.atomic import write_table
from tasks.studies.cells import Cell
from tasks.studies.disk import disk_errors_named

BLOCK_CERTIFICATES = 1 << 16  # drawn at a time: stays in a core's cache
OTHER_CODE = "a Dask worker runs another version of privcert or numpy than the driver: install the same on all"
Samples = dict[tuple[object, ...], NDArray[np.int64]]


@dataclass(frozen=True)
class Chunk:
    """Cells with seeds to simulate; small and picklable.

    jobs: in the order of their rows. seed: of the study. code: version of what simulates. folder: where the part goes.
    """

    jobs: tuple[tuple[Cell, int], ...]
    seed: int
    code: str
    folder: Path

    @cached_property
    def path(self) -> Path:
        """The part, named by the SHA-256 of all that defines it."""
        jobs = [[cell.key, seed] for cell, seed in self.jobs]
        return self.folder / f"{digest({'jobs': jobs, 'seed': self.seed, 'code': self.code})}.parquet"


@cache
def code_version() -> str:
    """SHA-256, hex, of the source of mathematics and studies, and of the libraries that draw."""
    root = Path(tasks.__file__).parent
    sources = sorted([*root.glob("privacy/**/*.py"), *root.glob("studies/*.py")])
    content = hashlib.sha256(" ".join(f"{name} {version(name)}" for name in ("numpy", "scipy")).encode())
    for path in sources:
        content.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes() + b"\0")
    return content.hexdigest()


def simulate_chunk(chunk: Chunk) -> Path:
    """Simulate and write the part, all or nothing; its path.

    Raises UserError where this process has other code, or the disk refuses.
    """
    if chunk.code != code_version():
        raise UserError(OTHER_CODE)
    table = pa.Table.from_pylist(list(_rows(chunk)), SEED_COUNTS)
    with disk_errors_named():
        write_table(chunk.path, table)
    return chunk.path


def read_part(chunk: Chunk) -> pa.Table | None:
    """The part of a chunk; None where there is none, or none that can be read and holds these jobs."""
    try:
        table = pq.ParquetFile(chunk.path).read()
    except (OSError, pa.ArrowException):
        return None
    if not table.schema.equals(SEED_COUNTS):
        return None
    rows = list(zip(table["cell_key"].to_pylist(), table["seed"].to_pylist(), strict=True))
    return table if rows == [(cell.key, seed) for cell, seed in chunk.jobs] else None


def sampled(cell: Cell, study_seed: int, seed: int) -> NDArray[np.int64]:
    """Which statements of the universe a report asks, shape (m,): the same for every mechanism and budget."""
    m, every = cell.statements, cell.universe.statements
    what = digest([cell.universe.identity, m, cell.distinct])
    rng = np.random.default_rng(np.random.SeedSequence((study_seed, int(what, 16), seed)))
    return rng.choice(every, m, replace=False) if cell.distinct else rng.integers(every, size=m)


def _rows(chunk: Chunk) -> Iterator[dict[str, object]]:
    samples: Samples = {}
    for cell, seed in chunk.jobs:
        counts, certified = _counts(cell, chunk.seed, seed, samples)
        rng = np.random.default_rng(np.random.SeedSequence((chunk.seed, int(cell.key, 16), seed)))
        tallies = np.zeros(4, np.int64)
        for runs in _blocks(cell):
            tallies += _tally(cell, counts, certified, runs, rng)
        yield {"cell_key": cell.key, "seed": seed} | _row(cell, counts, tallies.tolist())


def _counts(cell: Cell, study_seed: int, seed: int, samples: Samples) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """True counts of the sampled statements, and what the mechanism certifies of them."""
    what = (cell.universe.identity, cell.statements, cell.distinct, seed)
    if what not in samples:
        samples[what] = sampled(cell, study_seed, seed)
    chosen = samples[what]
    counts = cell.universe.counts()[chosen]
    if cell.contributions is None:
        return counts, counts
    bounded = (*what, cell.contributions)
    if bounded not in samples:
        verdicts, priorities = cell.universe.verdicts()[:, chosen], cell.universe.priorities()[:, chosen]
        samples[bounded] = truncate(verdicts, cell.contributions, priorities).sum(axis=0, dtype=np.int64)
    return counts, samples[bounded]


def _blocks(cell: Cell) -> Iterator[int]:
    """Runs drawn at a time."""
    step = max(1, BLOCK_CERTIFICATES // cell.statements)
    for start in range(0, cell.runs, step):
        yield min(step, cell.runs - start)


def _tally(
    cell: Cell, counts: NDArray[np.int64], certified: NDArray[np.int64], runs: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """emitted, unsupported emitted, sum of the emitted's counts, runs with an unsupported one: over `runs` runs."""
    n, theta, visibility = cell.universe.n, Fraction(cell.theta), cell.universe.visibility
    certificates = simulate(cell.designed, certified, n, runs, visibility=visibility, rng=rng)  # type: ignore[arg-type]
    metrics = RunMetrics.of(counts, n, theta, emitted(certificates, n, theta))
    wrong, every = metrics.false_emission.numerators, metrics.false_emission.denominators
    units = metrics.mean_support.numerators
    return np.array([every.sum(), wrong.sum(), units.sum(), metrics.any_unsupported.numerators.sum()])


def _row(cell: Cell, counts: NDArray[np.int64], tallies: list[int]) -> dict[str, object]:
    every, wrong, units, reports = tallies
    unsupported = int(np.count_nonzero(counts < threshold_units(cell.universe.n, Fraction(cell.theta))))
    return {
        "runs": cell.runs,
        "candidates": cell.statements * cell.runs,
        "unsupported_candidates": unsupported * cell.runs,
        "supported_candidates": (cell.statements - unsupported) * cell.runs,
        "emitted": every,
        "unsupported_emitted": wrong,
        "supported_emitted": every - wrong,
        "emitted_support_units": units,
        "runs_with_unsupported": reports,
    }
