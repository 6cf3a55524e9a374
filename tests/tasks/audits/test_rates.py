"""How long scoring may take: as this home has seen it, else as a table says."""

from decimal import Decimal

import pytest

from schemas.runs import PartitionSummary, RunSummary
from tasks.audits.rates import Rate, expected_rate
from tasks.storage.home import Home


def note_run(home: Home, run: str, model: str, pairs: int, seconds: float) -> None:
    facts = {"partition": "all", "partition_version": "v", "units": 1, "records": 1, "unreadable": {}, "duplicates": 0}
    part = PartitionSummary(**facts, pairs_scored=pairs, pairs_reused=0, release_key=None, was_sealed=False)
    summary = RunSummary(
        run_id=run, corpus="c", model=model, model_fingerprint="f", started_at="", seconds=seconds, partitions=(part,)
    )
    (home.runs / run).mkdir()
    (home.runs / run / "summary.json").write_text(summary.model_dump_json())


@pytest.mark.parametrize(("model", "rate"), [("keyword", Rate(Decimal(20_000), "assumed")), ("somebody/model", None)])
def test_a_model_that_never_ran_here_has_the_rate_of_the_table_or_none(home: Home, model: str, rate: object) -> None:
    note_run(home, "a", "another", pairs=5, seconds=1)
    note_run(home, "b", model, pairs=0, seconds=9)  # all of it was known
    assert expected_rate(home, model) == rate


def test_runs_of_the_model_that_scored_something_are_added_up_and_what_is_damaged_is_left_out(home: Home) -> None:
    note_run(home, "a", "keyword", pairs=100, seconds=10)
    note_run(home, "b", "keyword", pairs=300, seconds=10)
    (home.runs / "c").mkdir()
    (home.runs / "c" / "summary.json").write_text("{")
    assert expected_rate(home, "keyword") == Rate(Decimal(20), "measured", 2)


def test_a_measured_rate_has_two_figures(home: Home) -> None:
    note_run(home, "a", "keyword", pairs=1_000_000, seconds=8.1)
    assert expected_rate(home, "keyword") == Rate(Decimal(120_000), "measured", 1)
