"""Golden values of spec 1, computed by others with exact rationals or 40 to 60 digits: every case, every function."""

import json
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from pydantic import TypeAdapter

from schemas.audit import Scope
from schemas.corpora import Visibility
from schemas.values import Beta, Epsilon, Theta
from tasks.privacy import contributions, limits, sparse_vector
from tasks.privacy.analytic_gaussian import gaussian_delta, gaussian_sigma, joint_sigma, split_sigma
from tasks.privacy.coverage import emit_probabilities_laplace, emit_rate_laplace, theorem4_interval
from tasks.privacy.design import Design
from tasks.privacy.discrete_laplace import DiscreteLaplace, Interval
from tasks.privacy.mechanisms import Frontier, Gaussian, Geometric, Laplace, LaplaceRounded
from tasks.privacy.metrics import RunMetrics
from tasks.privacy.normal_tail import z_upper
from tasks.privacy.planning import plan
from tasks.privacy.proxy import proxy_certificate
from tasks.privacy.report_failure import any_failure_probability, laplace_margin_two_sided, tau_fw_paper
from tasks.privacy.scope import beta_per_statement
from tasks.privacy.simulation import emitted, per_count, simulate
from tasks.privacy.thresholds import distance, threshold_units

Case = dict[str, Any]

SIGMAS = {"gaussian_sigma", "gaussian_sigma_joint", "gaussian_sigma_split"}
# The raw law at theta = 0; the product clips first and emits for certain (spec 1.3).
CLIPPED_FIRST = {"emit_probability_laplace#12": 1.0}


def _fraction(case: Case, name: str) -> Fraction:
    return Fraction(str(case[name]))


def _fractions(case: Case, name: str) -> list[Fraction]:
    return [Fraction(str(value)) for value in case[name]]


def _epsilon(case: Case, name: str = "eps") -> Fraction:
    return Fraction(TypeAdapter(Epsilon).validate_python(Decimal(case[name])))


def _beta(case: Case, name: str = "beta") -> Fraction:
    return Fraction(TypeAdapter(Beta).validate_python(Decimal(case[name])))


def _theta(case: Case) -> Fraction:
    return Fraction(TypeAdapter(Theta).validate_python(Decimal(case["theta"])))


def _delta(case: Case) -> Fraction:
    return _fraction(case, "delta") if "delta" in case else Fraction(0)


def _law(case: Case) -> DiscreteLaplace:
    return DiscreteLaplace(_epsilon(case))


def _frontier(case: Case) -> Frontier:
    return Frontier(1 / _epsilon(case), _beta(case))


def _at_distance(mechanism: Geometric, d: int) -> float:
    n = 10**9
    return mechanism.emit_probability(d, n, Fraction(1, n))  # t = 1, so that N = d


def _candidate(n: int, epsilon: Fraction, beta: Fraction, m: int = 1, scope: Scope = Scope.CANDIDATE) -> Design:
    return Design(n, m, epsilon, beta, scope)


def _emit_laplace(case: Case) -> float:
    kind = LaplaceRounded if case["grid_round"] else Laplace
    return kind.calibrated(_epsilon(case, "eps_s"), _beta(case)).emit_probability(
        case["count"], case["n"], _theta(case)
    )


def _half_distance_laplace(case: Case) -> Case:
    n, theta, epsilon, beta = case["n"], _theta(case), _epsilon(case), _beta(case)
    made = plan("laplace_rounded" if case["grid_round"] else "laplace", _candidate(n, epsilon, beta), theta)
    count = made.smallest_count_emitted["0.5"]
    assert count is not None
    return {
        "distance": distance(count, n, theta),
        "count": count,
        "formula": limits.half_emission_distance(epsilon, beta)
        if case["grid_round"]
        else limits.half_emission_distance_laplace(n, theta, epsilon, beta),
        "kstar": limits.half_emission_distance(epsilon, beta),
        "rho": str(limits.rho(n, theta)),
        "A": float(made.margin_units),
        "feasible": count <= n,
    }


def _half_distance_geometric(case: Case) -> int:
    n, theta = 10**6, Fraction(1, 2)
    count = plan("geometric", _candidate(n, _epsilon(case), _beta(case)), theta).smallest_count_emitted["0.5"]
    assert count is not None
    return distance(count, n, theta)


def _emit_clamped(case: Case) -> float:
    """A broken mutant: the noisy count is clamped to [0, n] before the margin is taken off."""
    n, theta, mechanism = case["n"], _theta(case), Geometric(1 / _epsilon(case, "eps_s"), _beta(case))
    right = mechanism.emit_probability(case["count"], n, theta)
    if case["clamp"] != "before":
        return right
    assert right > 0
    return right if 0 < threshold_units(n, theta) + mechanism.margin <= n else 0.0


def _equal_allocation(case: Case) -> Case:
    n, m, epsilon, beta = case["n"], case["m"], _epsilon(case, "eps_tot"), _beta(case)
    made = plan("laplace", _candidate(n, epsilon, beta, m), Fraction(1, 2))
    assert made.epsilon_per_statement is not None
    return {
        "eps_s": float(made.epsilon_per_statement),
        "b": float(1 / (n * made.epsilon_per_statement)),
        "tau": made.margin_support,
        "w_pf": limits.privcert_width(m, n, epsilon, beta),
    }


def _whole_report_margin(case: Case, scope: Scope) -> float:
    n, m, beta = case["n"], case["m"], _beta(case, "beta_tot")
    made = plan("laplace", _candidate(n, _epsilon(case, "eps_tot"), beta, m, scope), Fraction(1, 2))
    assert made.beta_per_statement == beta_per_statement(beta, m, scope)
    return made.margin_support


def _report_failure(case: Case) -> float:
    n, theta = case["n"], _theta(case)
    unsupported = [Fraction(count, n) for count in case["counts"] if count < threshold_units(n, theta)]
    chances = emit_probabilities_laplace(unsupported, theta, _fraction(case, "b"), _fraction(case, "tau"))
    return any_failure_probability(chances)


def _emit_gaussian(case: Case) -> float:
    support = _fraction(case, "f")
    n = support.denominator
    return Gaussian(n * _fraction(case, "sigma"), _beta(case)).emit_probability(support.numerator, n, _theta(case))


def _theorem5_bound(case: Case) -> float:
    units = limits.fine_grained_bound(case["m"], _epsilon(case, "eps_tot"), _beta(case))
    return units / case["n"] if case.get("n") else units


def _given(noise: list[float]) -> np.random.Generator:
    """A generator that returns this noise, in units."""
    return cast(np.random.Generator, SimpleNamespace(laplace=lambda scale, size: np.array([noise])))


def _decide(case: Case) -> list[list[object]]:
    n, theta = case["n"], _theta(case)
    mechanism = cast(Laplace, SimpleNamespace(epsilon=1, margin_units=n * _fraction(case, "tau")))
    noise = [float(n * z) for z in _fractions(case, "noise")]
    certificates = per_count.laplace(mechanism, np.array(case["counts"]), 1, _given(noise))
    chosen = emitted(certificates.clip(0, n), n, theta)
    return [[float(c) / n, bool(emit)] for c, emit in zip(certificates[0], chosen[0], strict=True)]


def _clip(case: Case) -> float:
    mechanism = Laplace.calibrated(Fraction(1), Fraction("0.05"))
    noise = case["L"] + float(mechanism.margin_units)
    certificates = simulate(mechanism, [0], 1, 1, visibility=Visibility.SYNTHETIC, rng=_given([noise]))
    return float(certificates[0, 0])


def _truncate(case: Case) -> list[list[int]]:
    kept: list[list[int]] = contributions.truncate(np.array(case["sig"], dtype=bool), case["C"]).astype(int).tolist()
    return kept


def _hist_parameters(case: Case) -> Case:
    scale, margin = contributions.laplace_parameters(
        case["n"], case["m"], case["C"], _epsilon(case, "eps_tot"), _beta(case)
    )
    return {"b": float(scale), "tau": margin}


def _hist_decide(case: Case) -> list[list[object]]:
    verdicts, noise = np.array(case["sig"], dtype=bool), _fractions(case, "noise")
    assert case["b"]  # the noise is given, its scale is not needed
    certificates, chosen = contributions.laplace_decisions(
        verdicts, case["C"], _theta(case), _fraction(case, "tau"), noise
    )
    return [[float(certificate) for certificate in certificates], list(chosen)]


def _svt_emit(case: Case) -> list[float]:
    epsilons = _epsilon(case, "eps1"), _epsilon(case, "eps2"), _epsilon(case, "eps_cert")
    found: list[float] = sparse_vector.laplace_emit_probabilities(
        _fractions(case, "supports"), _theta(case), _fraction(case, "T"), case["n"], case["k"], epsilons, _beta(case)
    ).tolist()
    return found


def _svt_certify(case: Case) -> list[list[object]]:
    made = sparse_vector.certify_laplace(
        _fractions(case, "supports"),
        case["sel"],
        _theta(case),
        case["n"],
        _epsilon(case, "eps_cert") / case["k"],
        _beta(case),
        _fractions(case, "noise"),
    )
    return [list(row) for row in made]


def _metrics(case: Case) -> Case:
    made = RunMetrics.of(np.array(case["counts"]), case["n"], _theta(case), np.array([case["emitted"]]))
    return {
        "UnsupportedEmit": made.unsupported_emit.values()[0],
        "EmitRate": made.emit_rate.values()[0],
        "FalseEmission": made.false_emission.values()[0],
        "MeanSupport": made.mean_support.values()[0],
        "SupportedRecall": made.supported_recall.values()[0],
    }


def _proxy(case: Case) -> Case:
    made = proxy_certificate(
        _fraction(case, "f_proxy"), _fraction(case, "gamma_plus"), _theta(case), _fraction(case, "eta")
    )
    return {"L": float(made.lower_bound), "emit": made.emit, "failure": float(made.failure)}


def _theorem4(case: Case) -> list[float]:
    made = theorem4_interval(_fractions(case, "supports"), _theta(case), _fraction(case, "tau"), _beta(case))
    return [float(value) for value in made]


FUNCTIONS: dict[str, Callable[[Case], object]] = {
    # 1.1 and 1.2: thresholds and limits
    "t_theta": lambda case: threshold_units(case["n"], _theta(case)),
    "rho": lambda case: float(limits.rho(case["n"], _theta(case))),
    "d_s": lambda case: distance(case["count"], case["n"], _theta(case)),
    "supported": lambda case: distance(case["count"], case["n"], _theta(case)) > 0,
    "min_replacements": lambda case: limits.min_replacements(case["n"], _fraction(case, "Delta")),
    "tv_bound": lambda case: limits.tv_bound(case["k"], _epsilon(case), _delta(case)),
    "tv_sharp_path": lambda case: limits.tv_sharp_path(case["k"], _epsilon(case)),
    "delta_group": lambda case: limits.delta_group(case["k"], _epsilon(case), _delta(case)),
    "estimation_lower_bound": lambda case: limits.estimation_lower_bound(
        _fraction(case, "Delta"), case["k"], _epsilon(case), _delta(case)
    ),
    "estimation_lower_bound_lecam": lambda case: limits.estimation_lower_bound_lecam(
        _fraction(case, "Delta"), case["k"], _epsilon(case), _delta(case)
    ),
    "frontier": lambda case: limits.frontier_recursion(_epsilon(case), _beta(case), case["kmax"]),
    "frontier_switch": lambda case: limits.frontier_switch(_epsilon(case), _beta(case)),
    "frontier_closed": lambda case: limits.frontier_probability(_epsilon(case), _beta(case), case["k"]),
    "frontier_bound": lambda case: limits.frontier_bound(
        case["count"], case["n"], _theta(case), _epsilon(case), _beta(case)
    ),
    "kstar": lambda case: limits.half_emission_distance(_epsilon(case), _beta(case)),
    "theorem5_bound": _theorem5_bound,
    "theorem5_distance": lambda case: limits.fine_grained_distance(
        case["m"], _epsilon(case, "eps_tot"), _beta(case), exact_code=case["exact_gv"]
    ),
    # 1.3: mechanisms
    "laplace_margin": lambda case: float(
        Laplace.calibrated(_epsilon(case, "eps_s"), _beta(case)).margin_units / case["n"]
    ),
    "laplace_margin_two_sided": lambda case: laplace_margin_two_sided(case["n"], _epsilon(case, "eps_s"), _beta(case)),
    "emit_probability_laplace": _emit_laplace,
    "half_emission_distance_laplace": _half_distance_laplace,
    "dl_tail": lambda case: _law(case).upper_tail(case["t"] + 1),
    "dl_margin": lambda case: _law(case).margin(_beta(case)),
    "dl_attained_beta": lambda case: _law(case).upper_tail(_law(case).margin(_beta(case)) + 1),
    "dl_half_distance": _half_distance_geometric,
    "dl_randomized_margin": lambda case: [_frontier(case).margin, float(_frontier(case).coin)],
    "dl_emit_randomized": lambda case: _at_distance(_frontier(case), case["d"]),
    "emit_probability_dl": lambda case: Geometric(1 / _epsilon(case, "eps_s"), _beta(case)).emit_probability(
        case["count"], case["n"], _theta(case)
    ),
    "emit_probability_dl_clamped": _emit_clamped,
    "z_upper": lambda case: z_upper(_beta(case)),
    "gaussian_sigma": lambda case: gaussian_sigma(_epsilon(case), _delta(case), _fraction(case, "sensitivity") ** 2),
    "gaussian_sigma_joint": lambda case: joint_sigma(_epsilon(case, "eps_tot"), _delta(case), case["n"], case["m"]),
    "gaussian_sigma_split": lambda case: split_sigma(_epsilon(case, "eps_tot"), _delta(case), case["n"], case["m"]),
    "gaussian_delta": lambda case: gaussian_delta(
        _fraction(case, "sigma"), _epsilon(case), _fraction(case, "sensitivity")
    ),
    "gaussian_margin": lambda case: float(Gaussian(_fraction(case, "sigma"), _beta(case)).margin_units),
    "emit_probability_gaussian": _emit_gaussian,
    "pf_decide": _decide,
    "clip_certificate": _clip,
    # 1.4: error scope
    "equal_allocation": _equal_allocation,
    "fw_margin_sharp": lambda case: _whole_report_margin(case, Scope.REPORT),
    "fw_margin_sidak": lambda case: _whole_report_margin(case, Scope.REPORT_INDEPENDENT),
    "fw_margin_paper": lambda case: tau_fw_paper(
        case["n"], case["m"], _epsilon(case, "eps_tot"), _beta(case, "beta_tot")
    ),
    "fw_failure_exact": _report_failure,
    # 1.5: coverage and metrics
    "theorem4_interval": _theorem4,
    "emit_rate_laplace": lambda case: emit_rate_laplace(
        _fractions(case, "supports"), _theta(case), _fraction(case, "b"), _fraction(case, "tau")
    ),
    "metrics": _metrics,
    # 1.6 and 1.7: contribution bounding and selection
    "hist_l1_sensitivity": lambda case: contributions.l1_sensitivity(case["m"], case["C"]) / case["n"],
    "truncate_records": _truncate,
    "hist_params": _hist_parameters,
    "hist_decide": _hist_decide,
    "svt_scales": lambda case: [
        float(scale)
        for scale in sparse_vector.scales(case["n"], case["k"], _epsilon(case, "eps1"), _epsilon(case, "eps2"))
    ],
    "svt_scales_dwork_roth": lambda case: [
        float(scale) for scale in sparse_vector.scales_dwork_roth(case["n"], case["k"], _epsilon(case, "eps_select"))
    ],
    "svt_optimal_split": lambda case: [
        float(part) for part in sparse_vector.optimal_split(_epsilon(case, "eps_select"), case["k"])
    ],
    "svt_emit_probabilities": _svt_emit,
    "svt_decide": lambda case: sparse_vector.decide(
        _fractions(case, "supports"),
        _fraction(case, "T"),
        case["k"],
        _fraction(case, "rho_noise"),
        _fractions(case, "nu"),
    ),
    "svt_certify": _svt_certify,
    # 1.10: a proxy dataset
    "proxy_certificate": _proxy,
}


@pytest.fixture(scope="module")
def golden(shared_dir: Path) -> list[Case]:
    return list(json.loads((shared_dir / "golden" / "support.json").read_text())["cases"])


def test_every_golden_function_has_its_counterpart(golden: list[Case]) -> None:
    assert {case["fn"] for case in golden} == FUNCTIONS.keys()


@pytest.mark.parametrize("fn", FUNCTIONS)
def test_golden_values_of(fn: str, golden: list[Case]) -> None:
    cases = [case for case in golden if case["fn"] == fn]
    assert cases
    for case in cases:
        if "raises" in case:
            with pytest.raises((ValueError, ArithmeticError)):
                FUNCTIONS[fn](case["args"])
            continue
        found = FUNCTIONS[fn](case["args"])
        _compare(found, CLIPPED_FIRST.get(case["id"], case["expect"]), case.get("rtol", 1e-9), case["id"])
        if fn in SIGMAS:
            assert isinstance(found, float) and Fraction(found) >= Fraction(case["expect_str"]) * (
                1 - Fraction("2e-20")
            )
        if "expect_log" in case and isinstance(found, Interval):
            assert float(found.high.ln()) == pytest.approx(case["expect_log"], rel=case["rtol"])


def _compare(found: object, expected: object, rtol: float, name: str) -> None:
    if isinstance(found, Interval):
        found = float(found)
    if isinstance(expected, list) and isinstance(found, list):
        for one, other in zip(found, expected, strict=True):
            _compare(one, other, rtol, name)
    elif isinstance(expected, dict) and isinstance(found, dict):
        assert found.keys() == expected.keys(), name
        for key, value in found.items():
            _compare(value, expected[key], rtol, f"{name} {key}")
    elif isinstance(expected, float):
        assert isinstance(found, float | int) and math.isclose(found, expected, rel_tol=rtol, abs_tol=0), (name, found)
    else:
        assert found == expected and type(found) is type(expected), (name, found)
