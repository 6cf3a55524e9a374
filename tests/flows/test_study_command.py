"""`privcert study`: wrong requests are refused before anything starts; a right one says what it found and where."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from flows.cli import study as study_command
from schemas.building import build
from schemas.studies import StudySettings
from tasks.studies.results import study_results
from tasks.studies.study import open_study, plan_study, read_request, write, write_request
from tests.audits import write_corpus
from tests.small_studies import preset, small_settings, tables_of


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("sweep", "study: give a .yaml file or one of comparison, synthetic-sweep, whole-report"),
        ("missing.yaml", "settings file: there is none"),
        ("synthetic-sweep --epsilon 1,nan", "epsilon.1: must be a number, not NaN"),
        ("synthetic-sweep --epsilon 1,,2", "epsilon.1: must be a number, not str"),
        ("synthetic-sweep --statements 5,2.5", "statements.1: must be a whole number"),
        ("synthetic-sweep --scope candidate,everything", "scope.1: "),
        ("synthetic-sweep --mechanisms gauss", "mechanisms: unknown mechanism 'gauss'"),
        ("synthetic-sweep --mechanisms hist", "contributions: hist needs it"),
        ("synthetic-sweep --delta 0.1", "delta: none of laplace takes it"),
        ("synthetic-sweep --universes corpus:reviews", "universes: reviews/all is not registered"),
        ("synthetic-sweep --workers -1", "--workers"),
        ("comparison --statements 2000", "statements: 2000 distinct ones are asked"),
        ("whole-report --theta 0", "theta: at 0 everything is supported"),
    ],
)
def test_a_wrong_request_is_refused_by_name_before_prefect_starts(privcert, tmp_path, arguments, says):
    answer = privcert("study", *arguments.split())
    assert (answer.code, answer.err.count("\n")) == (2, 1), answer
    assert says in answer.err
    assert not (tmp_path / "home" / "private" / "prefect").exists()


def test_a_private_corpus_is_refused_by_name(privcert, tmp_path):
    privcert("init")
    write_corpus(tmp_path / "reviews.parquet")
    privcert("budget", "set", "reviews", "--epsilon", "8")
    assert privcert("ingest", "reviews.parquet", "--corpus", "reviews", "--unit", "author").code == 0
    answer = privcert("study", "synthetic-sweep", "--universes", "synthetic,corpus:reviews")
    assert (answer.code, answer.err.count("\n")) == (2, 1), answer
    assert "universes: reviews is registered private" in answer.err
    assert not (tmp_path / "home" / "private" / "prefect").exists()


def test_a_request_survives_its_file_exactly(home):
    settings = small_settings(epsilon=("0.30000000000000000000000000000000001", "4"), scope=("report", "candidate"))
    assert open_study(home, write_request(home, settings)).settings == settings
    for name in ("synthetic-sweep", "comparison", "whole-report"):
        assert open_study(home, write_request(home, preset(name))).settings == build(StudySettings, read_request(name))


def finished(home, settings: StudySettings) -> dict[str, object]:
    study = plan_study(home, settings)
    write(study, *tables_of(study))
    return study_results(home, study.stem, settings)


def test_results_say_worst_and_mean_cell_beside_what_was_published(home, capsys):
    settings = preset("synthetic-sweep", statements=(1000,), seeds=1)
    results = finished(home, settings)
    study_command._print(results)
    out = capsys.readouterr().out
    assert results["cells"] == results["exact_rates"] == 36
    assert results["exact_rates_outside_theorem4"] == 0
    assert 0 < results["mean_unsupported_emit"] < results["max_unsupported_emit"] < 0.2
    assert f"largest: {results['max_unsupported_emit']:.4f} (published: 0.038)" in out
    assert f"mean: {results['mean_unsupported_emit']:.4f} (published: 0.002)" in out
    assert all(path in out for path in results["files"])
    assert "36 of 36" in out
    assert json.loads(json.dumps(results)) == results


def test_results_compare_mechanisms_at_their_best_cell_and_whole_reports_with_their_promise(home, capsys):
    results = finished(home, small_settings(epsilon=40, statements=20, selected=(1, 3), scope="report_independent"))
    study_command._print(results)
    out = capsys.readouterr().out
    lines = {line["mechanism"]: line for line in results["by_epsilon"]}
    assert lines["svt"]["cells"] == 2
    assert lines["svt"]["best"]["selected"] in (1, 3)
    assert lines["svt"]["best"]["emit_rate_share"] >= lines["svt"]["mean_emit_rate_share"]
    assert {line["promised"] for line in results["whole_reports"]} == {"0.05"}
    assert {line["reports"] for line in results["whole_reports"]} == {12}
    assert "Reports with an unsupported statement" in out


@pytest.mark.slow
def test_a_study_is_run_by_one_command_and_lies_in_the_release_database(tmp_path):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    environment |= {"PRIVCERT_HOME": str(tmp_path / "home")}

    def privcert(*arguments: str) -> dict[str, object]:
        command = [str(Path(sys.executable).parent / "privcert"), *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    arguments = "study synthetic-sweep --statements 200 --seeds 2 --json"
    first, again = privcert(*arguments.split()), privcert(*arguments.split(), "--workers", "1")
    assert first == again
    assert first["cells"] == 36
    answer = privcert("sql", "select cells, worst_unsupported_emit_share as worst from study_by_mechanism", "--json")
    assert answer["rows"] == [{"cells": 36, "worst": first["max_unsupported_emit"]}]
    rebuilt = privcert("warehouse", "rebuild", "--json")
    assert str(tmp_path / "home" / "release" / "release.duckdb") in rebuilt["files"]
    answer = privcert("sql", "select count(*) as n from study_runs", "--json")
    assert answer["rows"] == [{"n": 72}]
