"""Tables of a study: pooled metrics, exact intervals, exact rates, and what nothing can be said about."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from schemas.study_tables import METRICS, SEED_COUNTS, STUDY_CELLS, STUDY_RUNS
from tasks.privacy.coverage import hoeffding_slack, theorem4_interval
from tasks.studies import plan
from tasks.studies.chunks import sampled
from tasks.studies.study import Study, plan_study, simulate, summarise
from tasks.studies.summary import RATIOS
from tests.small_studies import small_settings, tables_of

COUNTED = {
    "runs": 4,
    "candidates": 20,
    "unsupported_candidates": 12,
    "supported_candidates": 8,
    "emitted": 6,
    "unsupported_emitted": 2,
    "supported_emitted": 4,
    "emitted_support_units": 300,
    "runs_with_unsupported": 1,
}


def one_cell(study: Study, *seeds: dict[str, int]) -> dict[str, object]:
    rows = [{"cell_key": study.cells[0].key, "seed": at} | COUNTED | row for at, row in enumerate(seeds)]
    return summarise(study, pa.Table.from_pylist(rows, SEED_COUNTS))[1].to_pylist()[0]


def laplace(home, **changes: object) -> Study:
    alone = {"mechanisms": "laplace", "selected": (), "selection_share": (), "contributions": (), "epsilon": 1}
    return plan_study(home, small_settings(**(alone | {"statements": 5, "seeds": 2} | changes)))


def test_metrics_pool_numerators_and_denominators_with_clopper_pearson_intervals(home):
    row = one_cell(laplace(home), {}, {"emitted": 4, "unsupported_emitted": 0, "emitted_support_units": 260})
    pooled = {
        "unsupported_emit": (2, 24),
        "emit_rate": (10, 40),
        "false_emission": (2, 10),
        "supported_recall": (8, 16),
        "any_unsupported": (2, 8),
    }
    assert set(pooled) == set(METRICS) == set(RATIOS)
    for metric, (good, every) in pooled.items():
        interval = stats.binomtest(good, every).proportion_ci(0.999, "exact")
        found = [row[f"{metric}{end}_share"] for end in ("", "_lower", "_upper")]
        assert found == pytest.approx([good / every, interval.low, interval.high], rel=1e-9), metric
    assert row["mean_support_share"] == 560 / (200 * 10)


def test_what_was_never_counted_is_null(home):
    nothing = {"emitted": 0, "unsupported_emitted": 0, "supported_emitted": 0, "emitted_support_units": 0,
               "unsupported_candidates": 0, "runs_with_unsupported": 0}  # fmt: skip
    row = one_cell(laplace(home), nothing, nothing)
    assert {name for name, value in row.items() if value is None} == {
        *(f"unsupported_emit{end}_share" for end in ("", "_lower", "_upper")),
        *(f"false_emission{end}_share" for end in ("", "_lower", "_upper")),
        "mean_support_share",
        "delta",
        "selected",
        "selection_share",
        "contributions",
    }
    assert row["emit_rate_share"] == row["emit_rate_lower_share"] == 0.0


def test_exact_rate_and_theorem_4_are_those_of_the_universe(home):
    study = laplace(home)
    row, cell = one_cell(study, {}, {}), study.cells[0]
    mechanism, theta = cell.designed, Fraction(cell.theta)
    counts = cell.universe.counts().tolist()
    chances = mechanism.emit_probabilities(counts, 200, theta)
    assert row["exact_emit_rate_share"] == pytest.approx(chances.mean(), rel=1e-12)
    supports = [Fraction(count, 200) for count in counts]
    bounds = theorem4_interval(supports, theta, mechanism.margin_units / 200, cell.design.beta_each)
    assert [row["theorem4_lower_share"], row["theorem4_upper_share"]] == pytest.approx(
        [float(bounds.lower), float(bounds.upper)], rel=1e-12
    )
    assert row["slack_hoeffding_999_share"] == hoeffding_slack(5)


@pytest.mark.parametrize("distinct", [True, False])
def test_the_exact_rate_of_the_sample_is_that_of_the_statements_that_the_seeds_drew(home, distinct):
    study = laplace(home, distinct=distinct, statements=30, seed=7, seeds=3)
    cell = study.cells[0]
    counts = np.concatenate([cell.universe.counts()[sampled(cell, 7, seed)] for seed in range(3)])
    chances = cell.designed.emit_probabilities(counts.tolist(), 200, Fraction(cell.theta))
    row = one_cell(study, {}, {}, {})
    assert row["exact_emit_rate_of_sample_share"] == pytest.approx(chances.mean(), rel=1e-12)
    assert row["exact_emit_rate_of_sample_share"] != pytest.approx(row["exact_emit_rate_share"], rel=1e-3)


def test_a_cell_says_what_was_asked_and_charged(home):
    study = plan_study(home, small_settings(mechanisms=("svt", "discrete_gaussian"), contributions=(), delta="0.00001",
                                            epsilon="0.30", statements=20))  # fmt: skip
    rows = {row["mechanism"]: row for row in tables_of(study)[1].to_pylist()}
    svt, gaussian = rows["svt"], rows["discrete_gaussian"]
    assert (svt["epsilon"], svt["epsilon_nats"], svt["theta"], svt["beta"]) == ("0.3", 0.3, "0.1", "0.05")
    assert (svt["selected"], svt["selection_share"], svt["delta"]) == (3, 0.5, None)
    assert (svt["charged_epsilon_nats"], svt["charged_delta"]) == (0.3, 0.0)
    assert (gaussian["charged_epsilon_nats"], gaussian["charged_delta"], gaussian["delta"]) == (0.3, 1e-5, "0.00001")
    assert (svt["n"], svt["universe_statements"], svt["statements"], svt["threshold_units"]) == (200, 40, 20, 20)
    assert svt["beta_per_statement"] == pytest.approx(0.05 / 3)
    assert gaussian["beta_per_statement"] == pytest.approx(0.05 / 20)
    assert gaussian["margin_share"] == gaussian["margin_units"] / 200


def test_only_mechanisms_that_look_at_one_count_have_an_exact_rate(home):
    rows = tables_of(plan_study(home, small_settings()))[1].to_pylist()
    exact = {row["mechanism"]: row["exact_emit_rate_share"] is not None for row in rows}
    bounded = {row["mechanism"]: row["theorem4_lower_share"] is not None for row in rows}
    of_sample = {row["mechanism"]: row["exact_emit_rate_of_sample_share"] is not None for row in rows}
    assert (
        of_sample == exact == bounded == {"frontier": True, "laplace": True, "svt": False, "topk": False, "hist": False}
    )


def test_tables_have_their_schemas_and_one_row_a_cell_and_a_seed(home, monkeypatch):
    monkeypatch.setattr(plan, "CHUNK_SECONDS", 0.002)
    study = plan_study(home, small_settings())
    counted = simulate(study, 0)
    runs, cells = summarise(study, counted)
    assert runs.schema.equals(STUDY_RUNS)
    assert cells.schema.equals(STUDY_CELLS)
    assert cells["cell"].to_pylist() == list(range(20))
    assert runs["cell"].to_pylist() == [cell for cell in range(20) for _ in range(3)]
    assert runs["cell_key"].to_pylist() == [cell.key for cell in study.cells for _ in range(3)]
    assert set(runs["study_key"].to_pylist()) == set(cells["study_key"].to_pylist()) == {study.key}


def test_the_key_of_a_study_covers_its_tables_and_not_its_name(home):
    one = plan_study(home, small_settings())
    assert plan_study(home, small_settings(name="renamed", published_max_unsupported_emit="0.1")).key == one.key
    others = [{"seeds": 2}, {"seed": 1}, {"confidence": "0.9"}, {"epsilon": 1}, {"n": 201}, {"runs": 3}]
    assert len({one.key, *(plan_study(home, small_settings(**change)).key for change in others)}) == 7
