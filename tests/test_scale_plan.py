"""The simulated schedule against what can be said without simulating."""

import math
from dataclasses import replace

import pytest

from benchmarks.scaling.simulation import Cluster, simulate

STEADY = Cluster(
    workers=8, rate=1.0, unlike=0.0, chunk_seconds=30.0, hours_between_deaths=math.inf, restart_seconds=180.0
)


@pytest.mark.parametrize("chunks", [1, 8, 9, 80])
def test_equal_workers_that_never_die_take_rounds(chunks: int) -> None:
    assert simulate(STEADY, 0.0, [chunks], 0).wall_seconds == 30 * math.ceil(chunks / 8)


def test_partitions_wait_for_each_other() -> None:
    assert simulate(STEADY, 0.0, [9, 9, 9], 0).wall_seconds == 3 * 60


def test_a_driver_that_is_too_slow_decides() -> None:
    """Forty seconds of the driver for each chunk, and the last chunk's thirty."""
    seen = simulate(STEADY, 40.0, [20], 0)
    assert seen.wall_seconds == 20 * 40 + 30
    assert seen.driver_seconds == 20 * 40


def test_a_slow_worker_holds_up_the_end_alone() -> None:
    """Its one chunk takes 300 seconds; of 80, it takes a second one when seven others have scored 70."""
    assert simulate(replace(STEADY, slow=1), 0.0, [8], 0).wall_seconds == 300
    assert simulate(replace(STEADY, slow=1), 0.0, [80], 0).wall_seconds == 600


def test_stalls_lengthen_every_chunk_where_all_stall() -> None:
    assert simulate(replace(STEADY, stalled=1.0), 0.0, [16], 0).wall_seconds == 2 * 300


def test_lost_chunks_are_as_many_as_deaths_and_all_come_back() -> None:
    """One worker dies at rate 1/h while it scores: over 1,000 hours of scoring 1,000 deaths, within 4 deviations."""
    mortal = replace(STEADY, workers=1, hours_between_deaths=1.0)
    seen = simulate(mortal, 0.0, [120_000], 7)
    scoring_hours = (seen.wall_seconds - 180 * seen.lost) / 3600
    assert abs(seen.lost - scoring_hours) < 4 * math.sqrt(scoring_hours)
    assert scoring_hours > 1000


def test_deaths_of_others_are_scored_by_whoever_is_free() -> None:
    """A chunk that died goes to a free worker at once, and does not wait for its own to restart."""
    mortal = replace(STEADY, workers=2, hours_between_deaths=0.02, restart_seconds=1e9)
    seen = simulate(mortal, 0.0, [2], 3)
    assert seen.lost == 1 and seen.wall_seconds < 120
