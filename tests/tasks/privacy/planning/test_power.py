"""Power against a scan of every count, for the geometric mechanisms with arithmetic of its own."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import pytest
from exact_geometric import tail

from schemas.audit import Scope
from tasks.privacy.design import Design, DesignError
from tasks.privacy.mechanisms import MECHANISMS, Geometric
from tasks.privacy.planning import DEFAULT_PRIOR, POWERS, Plan, plan, prior_counts, probe
from tests.designs import design_of

CASES = [
    ("frontier", 600, 200, "0.05", "10", "0.05", Scope.CANDIDATE),
    ("frontier", 500, 20, "0.07", "10", "0.05", Scope.REPORT),
    ("frontier", 300, 5, "0", "1", "0.05", Scope.REPORT),
    ("geometric", 500, 20, "0.07", "10", "0.01", Scope.REPORT_INDEPENDENT),
    ("geometric", 60, 3, "0.5", "0.1", "0.4", Scope.CANDIDATE),
    ("frontier", 40, 10, "0.2", "900", "0.3", Scope.CANDIDATE),
]
SELECTING = ("svt", "topk")


def made_for(mechanism: str, n: int, m: int, theta: str, epsilon: str, beta: str, scope: Scope) -> Plan:
    """Without optional parameters."""
    return plan(mechanism, Design(n, m, Fraction(epsilon), Fraction(beta), scope), Fraction(theta))


def emission(theta: Fraction, made: Plan, count: int) -> Fraction:
    """Pr[emit] at this count, from the law alone."""
    chosen = MECHANISMS[made.mechanism].designed(made.design)
    assert isinstance(chosen, Geometric)
    t, rate = math.ceil(made.design.n * theta), 1 / chosen.scale
    needed = t - count + chosen.margin
    return Fraction(1) if t == 0 else tail(needed, rate) * (1 - chosen.coin) + tail(needed - 1, rate) * chosen.coin


@pytest.mark.parametrize("case", CASES)
def test_the_smallest_count_emitted_is_the_first_of_a_scan(case: tuple[str, int, int, str, str, str, Scope]) -> None:
    made, theta = made_for(*case), Fraction(case[3])
    chances = [emission(theta, made, count) for count in range(made.design.n + 1)]
    for power in POWERS:
        first = next((count for count, chance in enumerate(chances) if chance >= Fraction(power)), None)
        assert made.smallest_count_emitted[power] == first


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize(
    ("n", "m", "epsilon", "theta"), [(60, 6, "9", "0.2"), (90, 13, "40", "0.1"), (30, 1, "2", "0.5"), (20, 6, "1", "0")]
)
def test_of_every_mechanism_the_power_is_that_of_a_scan_over_all_counts(
    name: str, n: int, m: int, epsilon: str, theta: str
) -> None:
    """Beside other statements at the prior's quantiles, half of them before the probe; the chance never falls."""
    design = replace(design_of(name, n, m, epsilon, scope=Scope.REPORT), theta=None)
    made = plan(name, design, Fraction(theta))
    chosen, others = MECHANISMS[name].designed(made.design), prior_counts(DEFAULT_PRIOR, n, m - 1)
    middle = (m - 1) // 2
    vectors = [[*others[:middle], count, *others[middle:]] for count in range(n + 1)]
    chances = [chosen.emit_probabilities(vector, n, Fraction(theta))[middle] for vector in vectors]
    assert all(low <= high + 1e-12 for low, high in pairwise(chances))
    for power in POWERS:
        first = next((count for count, chance in enumerate(chances) if chance >= float(power)), None)
        assert made.smallest_count_emitted[power] == first
    assert made.margin_units == chosen.margin_units


def test_a_plan_splits_epsilon_and_beta_as_the_scope_says() -> None:
    made = made_for("frontier", 1800, 200, "0.05", "10", "0.05", Scope.REPORT)
    assert made.epsilon_per_statement == Fraction(1, 20) and made.beta_per_statement == Fraction("0.00025")
    assert made.threshold_units == 90 and made.margin_support == float(made.margin_units / 1800)


@pytest.mark.parametrize("name", ["gaussian", "discrete_gaussian", "hist", *SELECTING])
def test_where_epsilon_is_not_split_over_the_statements_no_share_is_named(name: str) -> None:
    made = plan(name, replace(design_of(name, 100, 10), theta=None), Fraction("0.1"))
    assert made.epsilon_per_statement is None


@pytest.mark.parametrize("name", SELECTING)
def test_after_selection_the_certificates_share_beta(name: str) -> None:
    design = replace(design_of(name, 1000, 50, scope=Scope.REPORT, selected=4), theta=None)
    assert plan(name, design, Fraction("0.1")).beta_per_statement == Fraction("0.0125")


@pytest.mark.parametrize(("n", "vacuous"), [(20, True), (57, True), (58, False), (1000, False)])
def test_vacuous_begins_where_threshold_and_margin_exceed_n(n: int, vacuous: bool) -> None:
    made = made_for("geometric", n, 1, "0.2", "0.05", "0.05", Scope.CANDIDATE)
    assert made.margin_units == 46
    assert made.vacuous is vacuous is (math.ceil(n * Fraction("0.2")) + 46 > n)


def test_where_not_even_all_units_are_enough_there_is_no_count() -> None:
    made = made_for("frontier", 10, 100, "0.5", "1", "0.05", Scope.REPORT)
    assert made.vacuous and set(made.smallest_count_emitted.values()) == {None}
    assert set(made.smallest_support_emitted.values()) == {None}


@pytest.mark.parametrize("name", MECHANISMS)
def test_without_units_nothing_is_ever_emitted(name: str) -> None:
    made = plan(name, replace(design_of(name, 0, 2), theta=None), Fraction(0))
    assert set(made.smallest_count_emitted.values()) == {None} and made.margin_support == math.inf
    chance = probe(MECHANISMS[name].designed(made.design), made.design, Fraction(0), DEFAULT_PRIOR)
    assert chance(0) == 0


def test_a_plan_with_an_epsilon_that_no_sampler_keeps_is_refused() -> None:
    with pytest.raises(DesignError, match=r"^epsilon: epsilon per statement"):
        made_for("frontier", 100, 1, "0.5", "5e-324", "0.05", Scope.REPORT)


@pytest.mark.parametrize("name", SELECTING)
def test_a_selection_that_is_too_large_to_plan_exactly_is_refused_by_name(name: str) -> None:
    design = replace(design_of(name, 10_000, 1001, selected=1000), theta=None)
    with pytest.raises(DesignError, match=r"^selected: an exact plan needs selected times statements of at most"):
        plan(name, design, Fraction("0.1"))


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_plan_refuses_what_the_mechanism_does_not_take_and_what_it_lacks(name: str) -> None:
    complete = replace(design_of(name, 100, 10), theta=None)
    for parameter, value in {"delta": Fraction("1e-5"), "contributions": 3, "selected": 2}.items():
        is_taken = parameter in MECHANISMS[name].takes
        absent = Fraction(0) if parameter == "delta" else None
        with pytest.raises(DesignError, match=f"^{parameter}: {name} "):
            plan(name, replace(complete, **{parameter: absent if is_taken else value}), Fraction("0.1"))
