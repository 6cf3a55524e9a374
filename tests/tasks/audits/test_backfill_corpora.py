"""A backfill of many corpora, one for each file that a pattern matches."""

import pytest
from backfills import audit_due, backfill, new_backfill, spent

from schemas.errors import UserError
from tasks.audits.backfill_results import backfill_results
from tasks.audits.backfilling import plan_stage
from tests.audits import capped, settings_for, write_corpus


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
