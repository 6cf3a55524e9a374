"""Registered corpora as universes: public ones by their score cache, private ones never."""

from pathlib import Path

import numpy as np
import pytest

from schemas.audit import AuditSettings, UnitSupport
from schemas.errors import UserError
from schemas.statements import Statement
from tasks.audits.stages import certify_stage, ingest_stage, propose_stage, score_stage
from tasks.ledger.log import ReleaseLog
from tasks.storage.home import Home
from tasks.studies import corpora
from tasks.studies.study import plan_study
from tasks.support.counts import support_counts, unit_verdicts
from tests.audits import capped, new_run, settings_for, write_corpus
from tests.small_studies import small_settings, tables_of

ALONE = {"mechanisms": ("frontier", "hist"), "selected": (), "selection_share": (), "statements": (5, 12)}


def audited(home: Home, tmp_path: Path, visibility: str, **changes: object) -> AuditSettings:
    source = write_corpus(tmp_path / "reviews.parquet")
    settings = settings_for(source, visibility=visibility, **changes)
    run = new_run(home, settings)
    ingest_stage(run)
    propose_stage(run)
    score_stage(run, "all")
    certify_stage(run, "all")
    return settings


def statements_of(home: Home) -> tuple[Path, list[Statement], str]:
    log = ReleaseLog(home)
    payload = log.payload(log.release_keys()[0])
    question = payload["question"]
    statements = [Statement.of(text) for text in payload["described"]["statements"]]
    return home.corpora / "reviews" / question["partition_version"], statements, question["model_fingerprint"]


def test_a_public_corpus_has_the_supports_of_its_scored_statements(home, tmp_path):
    audited(home, tmp_path, "public", statements=40)
    study = plan_study(home, small_settings(universes="corpus:reviews", **ALONE))
    universe, where = study.cells[0].universe, statements_of(home)
    assert (universe.n, universe.statements) == (40, 40)
    assert np.array_equal(universe.counts(), support_counts(*where, UnitSupport.ANY, home))
    assert np.array_equal(universe.verdicts(), unit_verdicts(*where, UnitSupport.ANY, home))
    assert universe.counts().max() > 0


def test_a_study_of_a_public_corpus_counts_like_any_other(home, tmp_path):
    audited(home, tmp_path, "synthetic")
    study = plan_study(home, small_settings(universes=("corpus:reviews", "synthetic"), n=40, **ALONE))
    rows = tables_of(study)[1].to_pylist()
    assert {(row["universe"], row["n"]) for row in rows} == {("corpus:reviews", 40), ("synthetic", 40)}
    assert {row["universe_statements"] for row in rows} == {12, 40}


def test_statements_of_several_releases_are_one_universe(home, tmp_path):
    audited(home, tmp_path, "public")
    audited(home, tmp_path, "public", seed=1)
    universe = plan_study(home, small_settings(universes="corpus:reviews", **ALONE)).cells[0].universe
    assert 12 < universe.statements <= 24
    assert universe.counts().shape == (universe.statements,)


def test_a_private_corpus_is_refused_by_name_before_anything_is_read(home, tmp_path, monkeypatch):
    capped(home)
    audited(home, tmp_path, "private")

    def refuse(*arguments: object, **options: object) -> None:
        raise AssertionError("something was read")

    for name in ("support_counts", "unit_verdicts", "corpus_universe"):
        monkeypatch.setattr(corpora, name, refuse)
    monkeypatch.setattr("tasks.studies.study.corpus_universe", refuse)
    monkeypatch.setattr(ReleaseLog, "payload", refuse)
    with pytest.raises(UserError, match="universes: reviews is registered private") as refusal:
        plan_study(home, small_settings(universes=("synthetic", "corpus:reviews"), **ALONE))
    assert "\n" not in str(refusal.value)
    assert not (home.private / "studies").exists()


@pytest.mark.parametrize(
    ("universe", "says"),
    [
        ("corpus:others", "universes: others/all is not registered"),
        ("corpus:reviews/lisbon", "universes: reviews/lisbon is not registered"),
    ],
)
def test_what_is_not_registered_is_refused_by_name(home, tmp_path, universe, says):
    audited(home, tmp_path, "public")
    with pytest.raises(UserError, match=says):
        plan_study(home, small_settings(universes=universe, **ALONE))


def test_a_corpus_that_was_never_scored_is_refused_by_name(home, tmp_path):
    from tasks.audits.registering import register_source

    settings = settings_for(write_corpus(tmp_path / "reviews.parquet"), visibility="public")
    register_source(home, settings)
    with pytest.raises(UserError, match="universes: nothing of reviews/all was scored yet"):
        plan_study(home, small_settings(universes="corpus:reviews", **ALONE))
