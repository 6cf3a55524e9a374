"""What a later backfill does about what is not as it was: records, builds of the model, periods without a unit."""

from decimal import Decimal

import pytest
from backfills import TWO, backfill, by_quarter, new_backfill, spent, standings, write_dated

from schemas.backfills import BackfillSettings
from schemas.errors import UserError
from tasks.audits import backfill_survey, backfilling
from tasks.audits.backfilling import plan_stage
from tasks.audits.stages import run_audit
from tasks.ledger.log import ReleaseLog
from tasks.support import keyword
from tests.audits import capped, new_run

pytestmark = pytest.mark.usefixtures("autumn")


def test_late_records_are_reported_and_left_alone_until_it_is_said(home, corpus):
    write_dated(corpus, TWO)
    definition = by_quarter(corpus, last="2025-Q4")
    backfill(capped(home), definition)
    write_dated(corpus, TWO, late={"2025-Q4": 3})
    second = backfill(home, definition)
    late = {"corpus": "reviews", "partition": "2025-Q4", "records": 33, "records_when_released": 30}
    assert (standings(second)["2025-Q4"], second["operator"]["changed"], second["complete"]) == (
        "changed",
        [late],
        True,
    )
    log = (home.private / "logs" / "backfills.log").read_text()
    assert "reviews 2025-Q4: 30 records when it was released, 33 now" in log
    assert spent(home) == "4"
    assert standings(backfill(home, definition, changed=True)) == {"2025-Q3": "sealed", "2025-Q4": "audited"}
    assert spent(home) == "6"
    assert set(standings(backfill(home, definition)).values()) == {"sealed"}


def test_changed_records_that_another_audit_registered_are_not_charged_to_this_one(home, corpus):
    write_dated(corpus, TWO)
    definition = by_quarter(corpus, last="2025-Q4")
    backfill(capped(home), definition)
    write_dated(corpus, TWO, late={"2025-Q4": 3})
    backfill(home, by_quarter(corpus, last="2025-Q4", statements=6), changed=True, **{"from": "2025-Q4"})
    assert spent(home) == "6"
    assert standings(backfill(home, definition))["2025-Q4"] == "changed"
    assert spent(home) == "6"


@pytest.fixture
def upgraded(monkeypatch):
    """The keyword model from here on is another build of it."""
    return lambda: monkeypatch.setattr(keyword, "ALGORITHM", f"{keyword.ALGORITHM} rebuilt")


def test_another_build_of_the_model_asks_nothing_again_until_it_is_said(home, corpus, upgraded):
    write_dated(corpus, TWO)
    first = backfill(capped(home, "10"), by_quarter(corpus, last="2025-Q4"), published=True)
    upgraded()
    write_dated(corpus, TWO | {"2026-Q1": 20})
    definition = by_quarter(corpus, last="2026-Q1")
    second = backfill(home, definition, published=True)
    assert standings(second) == {"2025-Q3": "other_model", "2025-Q4": "other_model", "2026-Q1": "audited"}
    for before, after in zip(first["partitions"][:2], second["partitions"][:2], strict=True):
        assert after | {"standing": "audited"} == before  # the sealed answer, as it was
    assert spent(home) == "6"
    assert standings(backfill(home, definition, new_model=True)) == {
        "2025-Q3": "audited",
        "2025-Q4": "audited",
        "2026-Q1": "sealed",
    }
    assert spent(home) == "10"
    assert set(standings(backfill(home, definition)).values()) == {"sealed"}


def test_another_question_is_due_whatever_the_build_that_answered_the_first(home, corpus, upgraded):
    write_dated(corpus, TWO)
    backfill(capped(home, "20"), by_quarter(corpus, last="2025-Q4"))
    upgraded()
    for change in ({"statements": 6}, {"epsilon": Decimal("1.5")}, {"edition": 2}):
        assert set(standings(backfill(home, by_quarter(corpus, last="2025-Q4", **change))).values()) == {"audited"}


def test_changed_records_stay_as_they_were_released_by_another_build_too(home, corpus, upgraded):
    write_dated(corpus, TWO)
    definition = by_quarter(corpus, last="2025-Q4")
    backfill(capped(home), definition)
    upgraded()
    write_dated(corpus, TWO, late={"2025-Q4": 3})
    expected = {"2025-Q3": "other_model", "2025-Q4": "changed"}
    assert standings(backfill(home, definition, new_model=False)) == expected
    backfill(home, by_quarter(corpus, last="2025-Q4", statements=6), changed=True, **{"from": "2025-Q4"})
    assert standings(backfill(home, definition)) == expected  # another audit registered the changed records


def test_records_that_change_before_anything_was_released_are_audited_as_they_are(home, corpus):
    write_dated(corpus, TWO)
    definition = by_quarter(corpus, last="2025-Q4")
    plan_stage(new_backfill(capped(home), definition))
    write_dated(corpus, TWO, late={"2025-Q4": 3})
    assert set(standings(backfill(home, definition)).values()) == {"audited"}
    versions = {part.partition: part.number for part in ReleaseLog(home).partitions("reviews")}
    assert versions == {"2025-Q3": 1, "2025-Q4": 2}


def test_a_period_without_a_unit_is_skipped_and_audited_when_it_has_one(home, corpus):
    write_dated(corpus, {"2025-Q3": 20, "2026-Q1": 20})
    first = backfill(capped(home), by_quarter(corpus))
    assert standings(first)["2025-Q4"] == "empty"
    write_dated(corpus, {"2025-Q3": 20, "2025-Q4": 5, "2026-Q1": 20})
    assert standings(backfill(home, by_quarter(corpus)))["2025-Q4"] == "audited"


def test_an_answer_about_no_unit_does_not_hold_back_a_period_whose_audit_was_interrupted(home, corpus):
    definition = by_quarter(write_dated(corpus, {"2025-Q3": 20}), last="2025-Q4")
    run_audit(new_run(capped(home), definition))  # of all that is declared, the empty quarter too
    write_dated(corpus, {"2025-Q3": 20, "2025-Q4": 5})
    plan_stage(new_backfill(home, definition))  # registered, and then killed
    assert standings(backfill(home, definition)) == {"2025-Q3": "sealed", "2025-Q4": "audited"}
    assert spent(home) == "4"


def test_records_that_another_process_released_meanwhile_are_not_replaced(home, corpus):
    definition = by_quarter(write_dated(corpus, TWO), last="2025-Q4")
    with backfill_survey.surveyed(definition, BackfillSettings(), capped(home)) as (seen,):
        write_dated(corpus, TWO, late={"2025-Q4": 3})
        backfill(home, definition)
        with pytest.raises(UserError, match="other content of partition 2025-Q4 of reviews was registered meanwhile"):
            backfilling._register(home, seen, alone=True)
    assert spent(home) == "4"
    assert {part.number for part in ReleaseLog(home).partitions("reviews")} == {1}


def test_n_is_told_of_registered_content_only(home, corpus):
    write_dated(corpus, {"2025-Q3": 20})
    backfill(capped(home), by_quarter(corpus, last="2025-Q3"))
    write_dated(corpus, {"2025-Q3": 25, "2026-Q3": 12})
    found = backfill(home, by_quarter(corpus))
    rows = [(row["partition"], row["standing"], row["n"]) for row in found["partitions"] if row["standing"] != "empty"]
    assert rows == [("2025-Q3", "changed", None), ("2026-Q3", "open", None)]
