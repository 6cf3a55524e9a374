"""Golden values of spec 1, computed by others with exact rationals or 40 to 60 digits."""

import json
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from schemas.audit import Scope
from schemas.values import Beta, Epsilon, Theta
from tasks.privacy.discrete_laplace import DiscreteLaplace, Interval
from tasks.privacy.limits import frontier_recursion, half_emission_distance
from tasks.privacy.mechanisms import Frontier, Geometric, Laplace
from tasks.privacy.planning import plan
from tasks.privacy.scope import beta_per_statement
from tasks.privacy.thresholds import distance, threshold_units

Case = dict[str, Any]

# Belong to later issues; a function that is in neither list fails the test below.
NOT_YET = {
    "delta_group", "emit_probability_dl_clamped", "emit_probability_gaussian", "emit_rate_laplace",
    "estimation_lower_bound", "estimation_lower_bound_lecam", "frontier_switch", "fw_failure_exact", "fw_margin_paper",
    "gaussian_delta", "gaussian_margin", "gaussian_sigma", "gaussian_sigma_joint", "gaussian_sigma_split",
    "hist_decide", "hist_l1_sensitivity", "hist_params", "laplace_margin_two_sided", "metrics", "min_replacements",
    "pf_decide", "proxy_certificate", "rho", "svt_certify", "svt_decide", "svt_emit_probabilities",
    "svt_optimal_split", "svt_scales", "svt_scales_dwork_roth", "theorem4_interval", "theorem5_bound",
    "theorem5_distance", "truncate_records", "tv_bound", "tv_sharp_path", "z_upper",
    "clip_certificate",  # of a real L; a release clips whole units, see test_noise
}  # fmt: skip
NOT_YET_CASES = {"emit_probability_laplace": "grid_round"}  # laplace_rounded is a mechanism of its own


def _epsilon(case: Case, name: str = "eps") -> Fraction:
    return Fraction(TypeAdapter(Epsilon).validate_python(Decimal(case[name])))


def _beta(case: Case, name: str = "beta") -> Fraction:
    return Fraction(TypeAdapter(Beta).validate_python(Decimal(case[name])))


def _theta(case: Case) -> Fraction:
    return Fraction(TypeAdapter(Theta).validate_python(Decimal(case["theta"])))


def _law(case: Case) -> DiscreteLaplace:
    return DiscreteLaplace(_epsilon(case))


def _at_distance(mechanism: Geometric, d: int) -> float:
    n = 10**9
    return mechanism.emit_probability(d, n, Fraction(1, n))  # t = 1, so that N = d


def _whole_report_margin(case: Case, scope: Scope) -> float:
    n, m = case["n"], case["m"]
    made = plan("laplace", n, m, Fraction(1, 2), _epsilon(case, "eps_tot"), _beta(case, "beta_tot"), scope)
    assert made.beta_per_statement == beta_per_statement(_beta(case, "beta_tot"), m, scope)
    return made.margin_support


def _half_distance_laplace(case: Case) -> Case:
    n, theta, epsilon, beta = case["n"], _theta(case), _epsilon(case), _beta(case)
    made = plan("laplace", n, 1, theta, epsilon, beta, Scope.CANDIDATE)
    count = made.smallest_count_emitted["0.5"]
    assert count is not None
    return {
        "distance": distance(count, n, theta),
        "count": count,
        "kstar": half_emission_distance(epsilon, beta),
        "A": float(made.margin_units),
        "feasible": count <= n,
    }


def _half_distance_geometric(case: Case) -> int:
    made = plan("geometric", 10**6, 1, Fraction(1, 2), _epsilon(case), _beta(case), Scope.CANDIDATE)
    count = made.smallest_count_emitted["0.5"]
    assert count is not None
    return distance(count, 10**6, Fraction(1, 2))


def _equal_allocation(case: Case) -> Case:
    made = plan(
        "laplace", case["n"], case["m"], Fraction(1, 2), _epsilon(case, "eps_tot"), _beta(case), Scope.CANDIDATE
    )
    epsilon = made.epsilon_per_statement
    return {
        "eps_s": float(epsilon),
        "b": float(1 / (case["n"] * epsilon)),
        "tau": made.margin_support,
        "w_pf": 2 * made.margin_support,
    }


FUNCTIONS: dict[str, Callable[[Case], object]] = {
    "t_theta": lambda case: threshold_units(case["n"], _theta(case)),
    "d_s": lambda case: distance(case["count"], case["n"], _theta(case)),
    "supported": lambda case: distance(case["count"], case["n"], _theta(case)) > 0,
    "frontier": lambda case: frontier_recursion(float(_epsilon(case)), float(_beta(case)), case["kmax"]),
    "frontier_closed": lambda case: _at_distance(Frontier(1 / _epsilon(case), _beta(case)), case["k"]),
    "frontier_bound": lambda case: Frontier(1 / _epsilon(case), _beta(case)).emit_probability(
        case["count"], case["n"], _theta(case)
    ),
    "kstar": lambda case: half_emission_distance(_epsilon(case), _beta(case)),
    "laplace_margin": lambda case: float(
        Laplace.calibrated(_epsilon(case, "eps_s"), _beta(case)).margin_units(case["n"]) / case["n"]
    ),
    "emit_probability_laplace": lambda case: Laplace.calibrated(_epsilon(case, "eps_s"), _beta(case)).emit_probability(
        case["count"], case["n"], _theta(case)
    ),
    "half_emission_distance_laplace": _half_distance_laplace,
    "dl_margin": lambda case: _law(case).margin(_beta(case)),
    "dl_attained_beta": lambda case: _law(case).upper_tail(_law(case).margin(_beta(case)) + 1),
    "dl_half_distance": _half_distance_geometric,
    "dl_randomized_margin": lambda case: [
        Frontier(1 / _epsilon(case), _beta(case)).margin,
        float(Frontier(1 / _epsilon(case), _beta(case)).coin),
    ],
    "dl_tail": lambda case: _law(case).upper_tail(case["t"] + 1),
    "emit_probability_dl": lambda case: Geometric(1 / _epsilon(case, "eps_s"), _beta(case)).emit_probability(
        case["count"], case["n"], _theta(case)
    ),
    "dl_emit_randomized": lambda case: _at_distance(Frontier(1 / _epsilon(case), _beta(case)), case["d"]),
    "equal_allocation": _equal_allocation,
    "fw_margin_sharp": lambda case: _whole_report_margin(case, Scope.REPORT),
    "fw_margin_sidak": lambda case: _whole_report_margin(case, Scope.REPORT_INDEPENDENT),
}
# The raw law at theta = 0; the product clips first and emits for certain (spec 1.3).
CLIPPED_FIRST = {"emit_probability_laplace#12": 1.0}


@pytest.fixture(scope="module")
def golden(shared_dir: Path) -> list[Case]:
    return list(json.loads((shared_dir / "golden" / "support.json").read_text())["cases"])


def test_every_golden_function_is_tested_or_named_as_not_there_yet(golden: list[Case]) -> None:
    known = {case["fn"] for case in golden}
    assert known == FUNCTIONS.keys() | NOT_YET
    assert not FUNCTIONS.keys() & NOT_YET


@pytest.mark.parametrize("fn", FUNCTIONS)
def test_golden_values_of(fn: str, golden: list[Case]) -> None:
    cases = [case for case in golden if case["fn"] == fn and not case["args"].get(NOT_YET_CASES.get(fn, ""))]
    assert cases
    for case in cases:
        if "raises" in case:
            with pytest.raises((ValueError, ArithmeticError)):
                FUNCTIONS[fn](case["args"])
        else:
            found = FUNCTIONS[fn](case["args"])
            _compare(found, CLIPPED_FIRST.get(case["id"], case["expect"]), case.get("rtol", 1e-9), case["id"])
            if "expect_log" in case and isinstance(found, Interval):
                assert float(found.high.ln()) == pytest.approx(case["expect_log"], rel=case["rtol"])


def _compare(found: object, expected: object, rtol: float, name: str) -> None:
    if isinstance(found, Interval):
        found = float(found)
    if isinstance(expected, list) and isinstance(found, list):
        for one, other in zip(found, expected, strict=True):
            _compare(one, other, rtol, name)
    elif isinstance(expected, dict) and isinstance(found, dict):
        for key, value in found.items():
            _compare(value, expected[key], rtol, f"{name} {key}")
    elif isinstance(expected, float):
        assert isinstance(found, float | int) and math.isclose(found, expected, rel_tol=rtol, abs_tol=0), (name, found)
    else:
        assert found == expected and type(found) is type(expected), (name, found)
