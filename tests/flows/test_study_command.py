"""`privcert study`: wrong requests are refused before anything starts; a right one says what it found and where."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from flows.cli.study_text import MOST_ROWS, print_study
from schemas.building import build
from schemas.studies import StudySettings
from tasks.reporting.projection import build_release_database
from tasks.studies.plots import mean_by_epsilon
from tasks.studies.results import study_results
from tasks.studies.study import open_study, plan_study, read_request, write, write_request
from tests.audits import write_corpus
from tests.projections import few_releases
from tests.small_studies import preset, small_settings, tables_of


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("sweep", "study: give a .yaml file or one of comparison, synthetic-sweep, whole-report"),
        ("missing.yaml", "settings file: there is none at 'missing.yaml'"),
        ("synthetic-sweep --epsilon 1,nan", "epsilon, value 2: must be a number, not NaN"),
        ("synthetic-sweep --epsilon 1,,2", "epsilon, value 2: must be a number, not text"),
        ("synthetic-sweep --statements 5,2.5", "statements, value 2: must be a whole number"),
        ("synthetic-sweep --scope candidate,everything", "scope, value 2: must be 'candidate'"),
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


def printed(results: dict[str, object], capsys) -> str:
    print_study(results)
    return capsys.readouterr().out


def test_results_say_worst_and_mean_cell_beside_what_was_published(home, capsys):
    settings = preset("synthetic-sweep", statements=(1000,), seeds=1)
    results = finished(home, settings)
    out = printed(results, capsys)
    assert results["cells"] == results["exact_rates"] == 36
    assert results["exact_rates_outside_theorem4"] == results["exact_rates_of_samples_outside_interval"] == 0
    assert 0 < results["mean_unsupported_emit"] < results["max_unsupported_emit"] < 0.2
    assert f"largest: {results['max_unsupported_emit']:.4f} (published: 0.038)" in out
    assert f"mean: {results['mean_unsupported_emit']:.4f} (published: 0.002)" in out
    assert all(path in out for path in results["files"])
    assert out.count("36 of 36") == 2
    assert "emits most" not in out  # nobody to compare with
    assert json.loads(json.dumps(results)) == results


OWN_GRID = {"epsilon": (40, 4), "theta": ("0.1", "0.3"), "statements": 20, "selected": (1, 6),
            "selection_share": ("0.25", "0.5"), "contributions": (1, 5)}  # fmt: skip


def test_means_are_those_of_the_picture_at_best_own_parameters_not_over_all(home, capsys):
    settings = small_settings(**OWN_GRID)
    results = finished(home, settings)
    cells = tables_of(plan_study(home, settings))[1].to_pylist()
    lines = {(line["mechanism"], line["epsilon"]): line for line in results["by_epsilon"]}
    out = printed(results, capsys)
    for metric in ("emit_rate_share", "supported_recall_share"):
        drawn = mean_by_epsilon(cells, metric)
        for (mechanism, epsilon), line in lines.items():
            assert line[f"mean_{metric}"] == dict(drawn[mechanism])[float(epsilon)]
            assert f"{line[f'mean_{metric}']:.4f}" in out
    svt = lines["svt", "40"]
    assert (svt["questions"], svt["cells"], len(svt["best"])) == (2, 8, 2)
    everything = [cell["emit_rate_share"] for cell in cells if cell["mechanism"] == "svt" and cell["epsilon"] == "40"]
    assert svt["mean_emit_rate_share"] > sum(everything) / 8 + 0.01


def test_the_best_is_chosen_within_one_question_as_in_the_database_and_says_all_that_varies(home):
    grid = OWN_GRID | {"beta": ("0.05", "0.1"), "scope": ("report", "candidate"), "delta": ("0.01", "0.1")}
    settings = small_settings(
        **grid, mechanisms=("gaussian", "svt", "topk", "hist"), universes=("synthetic", "worst_case")
    )
    results = finished(home, settings)
    build_release_database(few_releases(), home)
    with duckdb.connect(str(home.release / "release.duckdb"), read_only=True) as connection:
        view = connection.sql("select * from study_by_question").to_arrow_table().to_pylist()
    best = [{"mechanism": line["mechanism"]} | cell for line in results["by_epsilon"] for cell in line["best"]]
    names = [*best[0], "delta", "selected", "selection_share", "contributions"]
    assert set(names) >= {"universe", "statements", "epsilon", "theta", "beta", "scope", "emit_rate_share"}

    def plain(row: dict[str, object]) -> tuple[str, ...]:
        return tuple(str(row.get(name)) for name in names if "false_emission" not in name)

    assert len({plain(row) for row in view}) == len(view) == len(best) == 5 * 2**5
    assert {plain(row) for row in best} == {plain(row) for row in view}


def test_who_emits_most_is_said_for_each_question_and_counted_where_there_are_many(home, capsys):
    out = printed(finished(home, small_settings(**OWN_GRID | {"epsilon": 40})), capsys)
    assert "(universe=synthetic, epsilon=40, m=20, beta=0.05," in out
    rows = [line.split() for line in out.splitlines() if line.strip().startswith(("theta=0.1 ", "theta=0.3 "))]
    assert len(rows) == 2 and all("hist," in row or "frontier" in row for row in rows)
    many = printed(finished(home, small_settings(**OWN_GRID | {"beta": ("0.01", "0.05", "0.1")})), capsys)
    assert "What emits most" in many and "of 12 questions, a tie counted for each" in many and "theta=0.1 " not in many


def test_whole_reports_are_told_apart_and_summarised_where_there_are_many(home, capsys):
    few = small_settings(epsilon=40, statements=20, selected=(1, 3), scope="report_independent")
    results = finished(home, few)
    lines = results["whole_reports"]
    assert {line["promised"] for line in lines} == {"0.05"} and {line["reports"] for line in lines} == {12}
    out = printed(results, capsys)
    assert (
        "Reports with an unsupported statement, of 12 each" in out and "cells that break their promise: 0 of 7" in out
    )
    told = out[out.index("Reports with") :]
    assert all(f"{name} " in told for name in ("frontier", "svt, k=1, share=0.5", "topk, k=3, share=0.5", "hist, C=2"))
    own = ("mechanism", "delta", "selected", "selection_share", "contributions")
    grid = small_settings(**OWN_GRID, scope=("report", "candidate"), beta=("0.05", "0.1"), delta=("0.01", "0.1"),
                          mechanisms=("gaussian", "svt", "hist"))  # fmt: skip
    results = finished(home, grid)
    lines = results["whole_reports"]
    asked = [tuple(line.get(name) for name in (*own, "epsilon", "theta", "beta", "scope")) for line in lines]
    assert len(set(asked)) == len(lines) == 2**3 * (2 + 4 + 2)
    results["whole_reports"][40] |= {"any_unsupported_lower_share": 0.70009, "any_unsupported_upper_share": 0.80001}
    out = printed(results, capsys)
    assert out.count("0.7000") == 1 and "cells that break their promise: 1 of 64" in out
    assert f"shown are the {MOST_ROWS} nearest" in out
    first = out[out.index("Reports with") :].splitlines()
    ends = next(line for line in first if ", epsilon=" in line).split()[-2:]
    assert ends == ["0.7000", "0.8001"]  # an interval is rounded outwards


def test_tables_cut_nothing_at_80_columns(home, capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # a terminal
    monkeypatch.setenv("TERM", "dumb")  # of 80 columns without colours
    settings = small_settings(
        mechanisms=("discrete_gaussian", "laplace_rounded", "svt"), delta="0.0000123", epsilon=(40, "10.25"),
        contributions=(), scope=("report_independent", "report"), beta=("0.05", "0.0125"),
    )  # fmt: skip
    results = finished(home, settings)
    out = printed(results, capsys)
    tables = out[: out.index("UnsupportedEmit of all cells")]
    assert max(map(len, tables.splitlines())) <= 80 and "…" not in tables
    words = set(re.findall(r"[^\s,]+", tables))
    assert words >= {
        "discrete_gaussian",
        "laplace_rounded",
        "svt",
        "10.25",
        "delta=0.0000123",
        "scope=report_independent",
    }
    shares = [
        line[f"mean_{name}_share"] for line in results["by_epsilon"] for name in ("emit_rate", "supported_recall")
    ]
    assert words >= {f"{share:.4f}" for share in shares}


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
