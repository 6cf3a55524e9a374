"""Seconds of the synthetic sweep, and how many times a loop with one OpenDP measurement per query takes as long.

usage: synthetic_sweep.py [--mechanism laplace] [--share 0.05]

The sweep is `privcert study synthetic-sweep` without Prefect, plots and database: 108 cells, five seeds, 225,000
certificates; plan, draws, metrics, exact rates and intervals, parts on disk. The loop makes the draws of the Laplace
filter as OpenDP is used for one query: build the measurement, call it, subtract the margin; it runs for a share of them
and is scaled up. Prints medians.
"""

import argparse
import itertools
import math
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import opendp.prelude as dp

from schemas.building import build
from schemas.studies import StudySettings
from tasks.storage.home import initialise_home
from tasks.studies.cells import Cell
from tasks.studies.chunks import sampled
from tasks.studies.study import Study, plan_study, read_request, simulate, summarise


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mechanism", default="laplace")
    parser.add_argument("--share", type=float, default=0.05, help="of the draws that the loop makes")
    parser.add_argument("--runs", type=int, default=5)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        timed_sweep(Path(folder) / "warm", asked.mechanism)
        times = [timed_sweep(Path(folder) / str(run), asked.mechanism) for run in range(asked.runs)]
        study = planned(Path(folder) / "loop", asked.mechanism)
        draws, loop_seconds = timed_loop(study, asked.share)
    simulated, summarised = (statistics.median(column) for column in zip(*times, strict=True))
    whole = sum(cell.statements for cell in study.cells) * study.settings.seeds
    loop = loop_seconds * whole / draws
    print(f"sweep with {asked.mechanism}: {whole} draws, {len(study.cells)} cells, {study.settings.seeds} seeds")
    print(f"computation {simulated + summarised:.3f} s: draws and metrics {simulated:.3f} s, tables {summarised:.3f} s")
    print(f"one OpenDP measurement per query {loop:.1f} s ({loop_seconds:.1f} s for {draws} draws)")
    print(f"ratio {loop / (simulated + summarised):.0f}; of draws and metrics alone {loop / simulated:.0f}")


def planned(root: Path, mechanism: str) -> Study:
    """The study in a home of its own."""
    settings = build(StudySettings, read_request("synthetic-sweep"), {"mechanisms": mechanism})
    return plan_study(initialise_home(root, on_purpose=False), settings)


def timed_sweep(root: Path, mechanism: str) -> tuple[float, float]:
    """Seconds until everything is drawn and counted, and of the tables."""
    initialise_home(root, on_purpose=False)
    began = time.perf_counter()
    study = planned(root, mechanism)
    counted = simulate(study, workers=0)
    drawn = time.perf_counter()
    summarise(study, counted)
    return drawn - began, time.perf_counter() - drawn


def timed_loop(study: Study, share: float) -> tuple[int, float]:
    """Draws made and seconds taken."""
    dp.enable_features("contrib")
    queries = list(itertools.islice(all_queries(study), 0, None, max(1, round(1 / share))))  # from the whole grid
    began = time.perf_counter()
    emitted = sum(one_query(*query) for query in queries)
    assert 0 < emitted < len(queries)
    return len(queries), time.perf_counter() - began


def all_queries(study: Study) -> Iterator[tuple[float, float, float, float]]:
    """Support, scale, margin and threshold of every draw, as shares of the units."""
    for cell in study.cells:
        n, scale, margin = cell.universe.n, *laplace_shares(cell)
        for seed in range(study.settings.seeds):
            for count in cell.universe.counts()[sampled(cell, study.settings.seed, seed)].tolist():
                yield count / n, scale, margin, float(cell.theta)


def laplace_shares(cell: Cell) -> tuple[float, float]:
    """b = 1 / (n epsilon_s), and tau = b ln(1 / (2 beta))."""
    scale = cell.statements / (cell.universe.n * float(cell.epsilon))
    return scale, scale * math.log(1 / (2 * float(cell.beta)))


def one_query(support: float, scale: float, margin: float, theta: float) -> bool:
    """Is it emitted?"""
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    measurement = space >> dp.m.then_laplace(scale=scale)
    return bool(measurement(support) - margin >= theta)


if __name__ == "__main__":
    main()
