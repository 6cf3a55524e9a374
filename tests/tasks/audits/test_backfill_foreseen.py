"""What a backfill leaves out or refuses by itself is foreseen when it is planned, and so is known to a dry run."""

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from backfills import TWO, backfill, by_quarter, new_backfill, spent, standings, write_dated

from schemas.backfills import BackfillSettings
from schemas.errors import UserError
from tasks.audits.backfill_survey import surveyed
from tasks.audits.backfilling import IncompleteBackfillError, check_complete, plan_stage, said_of
from tasks.ledger.log import ReleaseLog
from tests.audits import capped, settings_for, write_corpus

pytestmark = pytest.mark.usefixtures("autumn")
SIZES = {"2025-Q3": 29, "2025-Q4": 30, "2026-Q1": 20}  # 30 units are the least for 12 statements at epsilon 2


def found(home, definition, **options):
    """Standings as a dry run finds them."""
    with surveyed(definition, BackfillSettings(**options), home) as corpora:
        return {one.partition: str(one.standing) for corpus in corpora for one in corpus.planned}


def test_a_period_that_is_too_small_is_skipped_and_said_and_the_cap_need_not_cover_it(home, corpus):
    definition = by_quarter(write_dated(corpus, SIZES), last="2026-Q1", allow_vacuous=False)
    expected = {"2025-Q3": "vacuous", "2025-Q4": "due", "2026-Q1": "vacuous"}
    assert found(capped(home, "2"), definition) == expected
    results = backfill(home, definition)
    assert standings(results) == expected | {"2025-Q4": "audited"}
    assert (results["complete"], spent(home)) == (True, "2")
    small = [(one["partition"], one["n"], one["reason"]) for one in results["operator"]["vacuous"]]
    assert small == [
        ("2025-Q3", 29, "n = 29, and the margin is 29"),
        ("2026-Q1", 20, "n = 20, and the margin is 29"),
    ]
    rows = {row["partition"]: (row["n"], row["reason"]) for row in results["partitions"]}
    assert rows["2025-Q3"] == rows["2026-Q1"] == (None, None)  # not registered, so not public
    assert [part.partition for part in ReleaseLog(home).partitions("reviews")] == ["2025-Q4"]
    log = (home.private / "logs" / "backfills.log").read_text()
    assert "reviews: 2 vacuous, nothing asked; 2025-Q3: n = 29, and the margin is 29" in log


def test_a_backfill_of_nothing_but_small_periods_ends_well_every_night(home, corpus):
    definition = by_quarter(write_dated(corpus, {"2025-Q3": 20}), last="2025-Q3", allow_vacuous=False)
    for _ in range(2):
        run = new_backfill(capped(home), definition)
        assert plan_stage(run) == []
        check_complete(str(home.root), run.run_id)
        assert said_of(str(home.root), run.run_id) == "nothing was due"
    assert standings(backfill(home, definition.model_copy(update={"allow_vacuous": True}))) == {"2025-Q3": "audited"}


def test_records_that_another_corpus_has_are_refused_before_they_are_registered(home, corpus):
    backfill(capped(home), by_quarter(write_dated(corpus, TWO), last="2025-Q4"))
    renamed = by_quarter(corpus, last="2025-Q4", corpus="renamed")
    with pytest.raises(UserError, match="account: records or units of this source are in another private corpus"):
        found(capped(home, account="renamed"), renamed)
    assert found(home, renamed.model_copy(update={"account": "reviews"})) == dict.fromkeys(TWO, "due")


def test_unit_ids_that_drift_are_refused_before_they_are_registered(home, corpus):
    definition = by_quarter(write_dated(corpus, TWO), last="2025-Q4")
    backfill(capped(home), definition)
    table = pq.read_table(corpus)
    padded = pc.binary_join_element_wise(table["author"], pa.scalar(" "), "")
    pq.write_table(table.set_column(table.schema.get_field_index("author"), "author", padded), corpus)
    assert found(home, definition) == dict.fromkeys(TWO, "changed")
    with pytest.raises(UserError, match="unit_rule: ambiguous unit ids"):
        found(home, definition, changed=True)


def test_of_two_copies_only_the_first_is_counted_unless_they_share_an_account(home, tmp_path):
    for name in ("a", "b"):
        write_corpus(tmp_path / f"{name}.parquet")
        capped(home, "2", name)
    definition, pattern = settings_for(tmp_path), str(tmp_path / "*.parquet")
    with surveyed(definition, BackfillSettings(corpora=pattern), home) as corpora:
        assert [(one.corpus, str(one.standing)) for each in corpora for one in each.planned] == [
            ("a", "due"),
            ("b", "unreadable"),
        ]
    shared = definition.model_copy(update={"account": "both"})
    with surveyed(shared, BackfillSettings(corpora=pattern), capped(home, "4", "both")) as corpora:
        assert {str(one.standing) for each in corpora for one in each.planned} == {"due"}
    run = new_backfill(home, definition, corpora=pattern)
    assert plan_stage(run) == ["0"]
    with pytest.raises(IncompleteBackfillError, match="once what the summary says of them is mended"):
        check_complete(str(home.root), run.run_id)
