"""Backfills without an orchestrator: each partition once and in order, whatever kills them; what they tell."""

import datetime
import json
from concurrent.futures import ThreadPoolExecutor

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

from schemas.backfills import BackfillSettings
from schemas.errors import UserError
from tasks.audits import backfill_survey
from tasks.audits.backfill_results import backfill_results
from tasks.audits.backfill_survey import check_parallel
from tasks.audits.backfilling import plan_stage
from tasks.ledger import verifier
from tasks.ledger.export import public_key
from tasks.ledger.log import ReleaseLog
from tasks.privacy import noise
from tasks.reporting.rejects import read_rejects
from tests.audits import KILLED, capped, in_child, release_files

pytestmark = pytest.mark.usefixtures("autumn")


def test_every_quarter_is_audited_once_in_order_and_skipped_ever_after(home, corpus, monkeypatch):
    first = backfill(capped(home), by_quarter(corpus), published=True)
    assert standings(first) == dict.fromkeys(QUARTERS, "audited") | {"2026-Q3": "open"}
    assert released(home) == list(QUARTERS)
    assert spent(home) == "8"
    assert {row["partition"]: row["n"] for row in first["partitions"]} == QUARTERS | {"2026-Q3": None}
    assert [row["emitted"] is None for row in first["partitions"]] == [False] * 4 + [True]
    before = release_files(home)
    certificates = [content for name, content in before.items() if name.startswith("certificates/")]
    assert len(certificates) == 4
    for content in certificates:
        assert verifier.verify(content, public_key(home))[-1] == "signature: made with the trusted key"
    monkeypatch.setattr(noise, "draw", None)
    second = backfill(home, by_quarter(corpus), published=True)
    assert standings(second) == dict.fromkeys(QUARTERS, "sealed") | {"2026-Q3": "open"}
    assert (second["complete"], second["operator"]["pairs_scored"]) == (True, 0)
    assert release_files(home) == before
    assert [row["release_key"] for row in first["partitions"]] == [row["release_key"] for row in second["partitions"]]


def test_a_quarter_that_appears_is_audited_when_it_is_over(home, corpus, monkeypatch):
    definition = by_quarter(corpus, first="2026-Q2")
    write_dated(corpus, {"2026-Q2": 10})
    backfill(capped(home), definition)
    write_dated(corpus, {"2026-Q2": 10, "2026-Q3": 12})
    assert standings(backfill(home, definition))["2026-Q3"] == "open"
    monkeypatch.setattr(backfill_survey, "today", lambda: datetime.date(2026, 10, 1))
    assert standings(backfill(home, definition)) == {"2026-Q2": "sealed", "2026-Q3": "audited"}
    assert spent(home) == "4"


def test_a_quarter_is_audited_before_it_is_over_where_that_is_said(home, corpus):
    write_dated(corpus, QUARTERS | {"2026-Q3": 12})
    assert standings(backfill(capped(home), by_quarter(corpus), **{"from": "2026-Q3", "to": "2026-Q3"})) == {
        "2026-Q3": "audited"
    }


def test_from_and_to_choose_partitions_and_the_rest_is_not_even_registered(home, corpus):
    done = backfill(capped(home), by_quarter(corpus), **{"from": "2025-Q4", "to": "2026-Q1"})
    assert standings(done) == {"2025-Q4": "audited", "2026-Q1": "audited"}
    assert [part.partition for part in ReleaseLog(home).partitions("reviews")] == ["2025-Q4", "2026-Q1"]
    for options, says in (
        ({"from": "2024-Q1"}, "from: no such partition is declared; the first is 2025-Q3, the last 2026-Q3"),
        ({"from": "2026-Q1", "to": "2025-Q4"}, "to: it lies before --from"),
    ):
        with pytest.raises(UserError, match=says):
            backfill(home, by_quarter(corpus), **options)


@pytest.mark.parametrize("point", ["after_register", "after_draw:3", "after_commit:4", "before_rename:30"])
def test_killed_anywhere_the_same_command_goes_on_and_charges_once(home, corpus, monkeypatch, point):
    capped(home)
    assert in_child(lambda: backfill(home, by_quarter(corpus), published=True), crash_at=point) == KILLED
    before = released(home)
    draws = []
    real = noise.draw
    monkeypatch.setattr(noise, "draw", lambda *asked: draws.append(1) or real(*asked))
    done = backfill(home, by_quarter(corpus), published=point == "before_rename:30")
    assert done["complete"]
    assert released(home) == list(QUARTERS)
    assert released(home)[: len(before)] == before and len(draws) == len(QUARTERS) - len(before)
    assert spent(home) == "8"
    if point == "before_rename:30":  # while it was published
        assert sum(name.startswith("certificates/") for name in release_files(home)) == 4


def test_what_was_scored_before_a_kill_is_not_scored_again(home, corpus):
    capped(home)
    assert in_child(lambda: backfill(home, by_quarter(corpus)), crash_at="after_draw:3") == KILLED
    operator = backfill(home, by_quarter(corpus))["operator"]
    assert (operator["pairs_scored"], operator["pairs_reused"]) == (2 * 12, 2 * 12)  # two texts a quarter


def test_audits_are_told_as_they_end(home, corpus):
    backfill(capped(home), by_quarter(write_dated(corpus, TWO), last="2025-Q4"))  # killed before it was published
    assert len(list(home.runs.glob("*/summary.json"))) == 2


def test_rejects_of_a_released_text_are_published_though_a_kill_came_before(home, corpus, tmp_path):
    (tmp_path / "released").mkdir()
    report = tmp_path / "released" / "news.md"
    report.write_text("The food was delicious. Was it worth it?")
    told = {"report": str(report), "report_origin": "our blog", "declare_released": True}
    definition = by_quarter(write_dated(corpus, TWO), last="2025-Q4", domain=None, model="nli-mini", **told)
    backfill(capped(home), definition)  # sealed, and killed before it was published
    second = backfill(home, definition, published=True)
    assert set(standings(second).values()) == {"sealed"}
    proposer = ReleaseLog(home).payload(second["partitions"][0]["release_key"])["described"]["proposer"]
    assert [(one["text"], one["reason"]) for one in read_rejects(home.release, proposer)] == [
        ("Was it worth it?", "question")
    ]


def test_the_operator_sees_which_partition_each_stage_was_about(home, corpus):
    run = new_backfill(capped(home), by_quarter(write_dated(corpus, TWO), last="2025-Q4"))
    audit_due(run, plan_stage(run))
    lines = [json.loads(line) for line in (home.private / "logs" / "events.jsonl").read_text().splitlines()]
    audits = [line["run"] for line in lines if line["stage"] == "propose" and line["event"] == "began"]
    stages = [("propose", None), ("score", "2025-Q3"), ("certify", "2025-Q3")]
    first = [(line["stage"], line["partition"], line["event"]) for line in lines if line["run"] == audits[0]]
    assert first == [(*stage, event) for stage in stages for event in ("began", "ended")]
    outer = [(line["stage"], line["partition"], line["event"]) for line in lines if line["run"] == run.run_id]
    assert outer == [("audit", quarter, event) for quarter in TWO for event in ("began", "ended")]


def test_several_at_once_seal_what_one_after_the_other_seals(home, corpus):
    run = new_backfill(capped(home), by_quarter(corpus), parallel=3)
    with ThreadPoolExecutor(3) as threads:
        list(threads.map(lambda number: audit_due(run, [number]), plan_stage(run)))
    assert set(standings(backfill_results(run)).values()) == {"audited", "open"}
    assert (sorted(released(home)), spent(home)) == (list(QUARTERS), "8")


def test_a_model_that_takes_a_device_for_itself_is_not_asked_by_several(home, corpus):
    judge = {"model": "judge", "engine_url": ("http://127.0.0.1:9",), "language_model": "some/model"}
    with pytest.raises(UserError, match="parallel: judge takes its device or server for itself"):
        check_parallel(by_quarter(corpus, **judge), BackfillSettings(parallel=2), home)
