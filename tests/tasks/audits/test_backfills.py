"""Backfills without an orchestrator: each partition once, whatever happens; nothing where the caps do not suffice."""

import datetime
import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from backfills import QUARTERS, audit_due, backfill, by_quarter, new_backfill, standings, write_dated

from schemas.backfills import BackfillSettings
from schemas.errors import UserError
from tasks.audits import backfill_survey, backfilling
from tasks.audits.backfill_results import backfill_results
from tasks.audits.backfill_survey import check_parallel
from tasks.audits.backfilling import IncompleteBackfillError, check_complete, plan_stage
from tasks.audits.budget_plan import one_more_on
from tasks.audits.publishing import refresh_operator_database
from tasks.audits.stages import run_audit
from tasks.ledger import verifier
from tasks.ledger.export import public_key
from tasks.ledger.log import ReleaseLog
from tasks.privacy import noise
from tasks.privacy.accounting import Loss
from tasks.reporting.metrics import OperatorCollector, metrics_text
from tasks.reporting.rejects import read_rejects
from tasks.storage.home import Home
from tasks.support import keyword
from tests.audits import KILLED, LIKES, capped, in_child, new_run, release_files, settings_for, write_corpus


@pytest.fixture
def corpus(tmp_path):
    return write_dated(tmp_path / "reviews.parquet")


@pytest.fixture(autouse=True)
def _autumn(monkeypatch):
    """The third quarter of 2026 is not over."""
    monkeypatch.setattr(backfill_survey, "today", lambda: datetime.date(2026, 9, 30))


def spent(home: Home) -> str | None:
    return ReleaseLog(home).budget_lines()[0].epsilon.spent


def released(home: Home) -> list[str]:
    """Partitions in the order in which they were sealed."""
    return ReleaseLog(home).project().releases["partition"].to_pylist()


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


TWO = {"2025-Q3": 20, "2025-Q4": 30}


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


def test_audits_are_told_as_they_end_and_a_backfill_is_no_unfinished_run(home, corpus):
    backfill(capped(home), by_quarter(write_dated(corpus, TWO), last="2025-Q4"))  # killed before it was published
    assert len(list(home.runs.glob("*/summary.json"))) == 2
    assert "privcert_runs_unfinished 0.0" in metrics_text(
        OperatorCollector(home, lambda: refresh_operator_database(home), with_private=False)
    ).decode()  # fmt: skip


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


def test_n_is_told_of_registered_content_only(home, corpus):
    write_dated(corpus, {"2025-Q3": 20})
    backfill(capped(home), by_quarter(corpus, last="2025-Q3"))
    write_dated(corpus, {"2025-Q3": 25, "2026-Q3": 12})
    found = backfill(home, by_quarter(corpus))
    rows = [(row["partition"], row["standing"], row["n"]) for row in found["partitions"] if row["standing"] != "empty"]
    assert rows == [("2025-Q3", "changed", None), ("2026-Q3", "open", None)]


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


def test_rho_alone_is_no_cost_on_an_account_that_counts_epsilon(home, corpus):
    backfill(capped(home), by_quarter(write_dated(corpus, TWO), last="2025-Q4"))
    with pytest.raises(UserError, match="rho: account reviews counts epsilon"):
        one_more_on("reviews", Loss(Fraction(0), Fraction(0), Fraction(1, 10)), home)


def test_a_partition_that_fails_does_not_stop_the_others(home, corpus):
    run = new_backfill(capped(home), by_quarter(corpus))
    due = plan_stage(run)
    damaged = next(part for part in ReleaseLog(home).partitions("reviews") if part.partition == "2025-Q4")
    for path in (home.corpora / "reviews" / damaged.version / "records").iterdir():
        path.write_bytes(b"no table")
    audit_due(run, due)
    results = backfill_results(run)
    assert standings(results) == dict.fromkeys(QUARTERS, "audited") | {"2025-Q4": "failed", "2026-Q3": "open"}
    assert "the reason is in the operator's log" in results["partitions"][1]["reason"]
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


@pytest.fixture
def inbox(tmp_path):
    folder = tmp_path / "inbox"
    folder.mkdir()
    for name, opening in (("may", "In May: "), ("june", "In June: ")):
        write_corpus(folder / f"{name}.parquet", opening=opening)
    return folder


def test_each_file_that_a_pattern_matches_is_a_corpus_audited_once(home, inbox):
    definition = settings_for(inbox / "may.parquet", account="reviews")
    first = backfill(capped(home, "20"), definition, corpora=str(inbox / "*.parquet"))
    assert [(row["corpus"], row["standing"]) for row in first["partitions"]] == [
        ("june", "audited"),
        ("may", "audited"),
    ]
    assert spent(home) == "4"  # one account, so what it is charged adds up
    write_corpus(inbox / "july.parquet", opening="In July: ")
    second = backfill(home, definition, corpora=str(inbox / "*.parquet"))
    assert {row["corpus"]: row["standing"] for row in second["partitions"]} == {
        "july": "audited", "june": "sealed", "may": "sealed"
    }  # fmt: skip
    assert spent(home) == "6"


def test_a_corpus_that_cannot_be_read_does_not_stop_the_others(home, inbox):
    (inbox / "april.parquet").write_bytes(b"no table")
    run = new_backfill(capped(home), settings_for(inbox, account="reviews"), corpora=str(inbox / "*.parquet"))
    audit_due(run, plan_stage(run))
    results = backfill_results(run)
    assert {row["corpus"]: row["standing"] for row in results["partitions"]} == {
        "april": "unreadable", "june": "audited", "may": "audited"
    }  # fmt: skip
    assert results["complete"] is False


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("May 2026.parquet", "corpora: the name of a file, up to its first dot: must be 1 to 63"),
        ("may.csv", "two files are named may"),
    ],
)
def test_names_that_no_corpus_can_have_are_refused_before_anything_is_read(home, inbox, name, says):
    (inbox / name).write_text("")
    with pytest.raises(UserError, match=says):
        plan_stage(new_backfill(home, settings_for(inbox, account="reviews"), corpora=str(inbox / "*")))


def test_a_pattern_that_matches_nothing_is_refused(home, inbox):
    with pytest.raises(UserError, match="corpora: no such file"):
        plan_stage(new_backfill(home, settings_for(inbox), corpora=str(inbox / "*.csv")))
