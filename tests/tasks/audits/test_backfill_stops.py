"""Backfills whose caps do not suffice, whose audits fail, or whose log is another: what stops, and what goes on."""

import shutil
from decimal import Decimal
from fractions import Fraction

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from backfills import (
    QUARTERS,
    TWO,
    audit_due,
    backfill,
    by_quarter,
    new_backfill,
    released,
    spent,
    standings,
    write_dated,
)

from schemas.errors import UserError
from tasks.audits import backfilling
from tasks.audits.backfill_results import backfill_results
from tasks.audits.backfilling import IncompleteBackfillError, check_complete, plan_stage
from tasks.audits.budget_plan import one_more_on
from tasks.audits.run import Run
from tasks.ledger.log import ReleaseLog
from tasks.privacy.accounting import Loss
from tests.audits import LIKES, capped, settings_for

pytestmark = pytest.mark.usefixtures("autumn")


def test_the_whole_backfill_is_refused_where_the_cap_covers_a_part_of_it(home, corpus):
    with pytest.raises(UserError, match="covers 3 of 4 audits, 2026-Q2 of reviews is the first that it does not") as no:
        backfill(capped(home, "7.5"), by_quarter(corpus))
    assert "epsilon 0.5 is missing for all; nothing was spent" in str(no.value)
    assert (released(home), spent(home), ReleaseLog(home).partitions("reviews")) == ([], "0", [])
    assert list(home.scores.iterdir()) == []
    ReleaseLog(home).set_cap("reviews", Decimal(8), "half a nat more")
    assert backfill(home, by_quarter(corpus))["complete"]


def test_partitions_of_a_list_have_a_cap_each(home, tmp_path):
    rows = [
        {"id": f"{place}{guest}", "author": f"{place}{guest}", "place": place, "text": f"{LIKES} In {place}."}
        for place in ("east", "west")
        for guest in range(8)
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "reviews.parquet")
    table = {"partition_column": "place", "partitions": ("east", "west")}
    done = backfill(capped(home, "2"), settings_for(tmp_path / "reviews.parquet", **table))
    assert set(standings(done).values()) == {"audited"} and len(done["budget"]) == 2
    with pytest.raises(UserError, match=r"0 of 1 audits, east of reviews is the first .* 0 of 1 audits, west of"):
        backfill(home, settings_for(tmp_path / "reviews.parquet", edition=2, **table))
    assert len(released(home)) == 2


def test_rho_alone_is_no_cost_on_an_account_that_counts_epsilon(home, corpus):
    backfill(capped(home), by_quarter(write_dated(corpus, TWO), last="2025-Q4"))
    with pytest.raises(UserError, match="rho: account reviews counts epsilon"):
        one_more_on("reviews", Loss(Fraction(0), Fraction(0), Fraction(1, 10)), home)


def test_a_partition_that_fails_does_not_stop_the_others_nor_tell_why(home, corpus, monkeypatch):
    run, score = new_backfill(capped(home), by_quarter(corpus)), backfilling.score_stage

    def failing(audit: Run, partition: str) -> None:
        if partition == "2025-Q4":
            raise RuntimeError("a private text")
        score(audit, partition)

    monkeypatch.setattr(backfilling, "score_stage", failing)
    audit_due(run, plan_stage(run))
    results = backfill_results(run)
    assert standings(results) == dict.fromkeys(QUARTERS, "audited") | {"2025-Q4": "failed", "2026-Q3": "open"}
    assert results["partitions"][1]["reason"] == "it failed; the reason is in the operator's log of this backfill"
    assert (results["complete"], results["stopped"], spent(home)) == (False, None, "6")
    with pytest.raises(IncompleteBackfillError, match="2025-Q4 of reviews; the same command again"):
        check_complete(str(home.root), run.run_id)


def test_a_cap_that_no_longer_covers_the_rest_stops_the_backfill(home, corpus):
    run = new_backfill(capped(home), by_quarter(corpus))
    due = plan_stage(run)
    audit_due(run, due[:1])
    ReleaseLog(home).set_cap("reviews", Decimal(3))
    audit_due(run, due[1:])
    results = backfill_results(run)
    assert list(standings(results).values()) == ["audited", "failed", "not_begun", "not_begun", "open"]
    assert "covers 0 of 2 audits" in str(results["stopped"]) and spent(home) == "2"


def test_a_log_that_was_restored_from_a_backup_stops_the_backfill(home, corpus, tmp_path):
    run = new_backfill(capped(home), by_quarter(corpus))
    due = plan_stage(run)
    shutil.copy(home.private / "release_log.sqlite", tmp_path / "backup")
    backfill(home, by_quarter(corpus), published=True)
    for left in home.private.glob("release_log.sqlite*"):
        left.unlink()
    shutil.copy(tmp_path / "backup", home.private / "release_log.sqlite")
    audit_due(run, due)
    results = backfill_results(run)
    assert list(standings(results).values()) == ["failed", "not_begun", "not_begun", "not_begun", "open"]
    assert "older than its own releases" in str(results["stopped"])
