"""Plans against a scan of every count with arithmetic of its own."""

import math
from fractions import Fraction

import pytest
from exact_geometric import tail

from schemas.audit import Scope
from tasks.privacy.mechanisms import MECHANISMS, Geometric
from tasks.privacy.planning import POWERS, Plan, plan

CASES = [
    ("frontier", 600, 200, "0.05", "10", "0.05", Scope.CANDIDATE),
    ("frontier", 500, 20, "0.07", "10", "0.05", Scope.REPORT),
    ("frontier", 300, 5, "0", "1", "0.05", Scope.REPORT),
    ("geometric", 500, 20, "0.07", "10", "0.01", Scope.REPORT_INDEPENDENT),
    ("geometric", 60, 3, "0.5", "0.1", "0.4", Scope.CANDIDATE),
    ("frontier", 40, 10, "0.2", "900", "0.3", Scope.CANDIDATE),
]


def emission(n: int, theta: Fraction, made: Plan, mechanism: str, count: int) -> Fraction:
    """Pr[emit] at this count, from the law alone."""
    kind = MECHANISMS[mechanism]
    assert issubclass(kind, Geometric)
    chosen = kind.calibrated(made.epsilon_per_statement, made.beta_per_statement)
    t, rate = math.ceil(n * theta), 1 / chosen.scale
    needed = t - count + chosen.margin
    return Fraction(1) if t == 0 else tail(needed, rate) * (1 - chosen.coin) + tail(needed - 1, rate) * chosen.coin


@pytest.mark.parametrize("case", CASES)
def test_the_smallest_count_emitted_is_the_first_of_a_scan(case: tuple[str, int, int, str, str, str, Scope]) -> None:
    mechanism, n, m, theta, epsilon, beta, scope = case
    made = plan(mechanism, n, m, Fraction(theta), Fraction(epsilon), Fraction(beta), scope)
    chances = [emission(n, Fraction(theta), made, mechanism, count) for count in range(n + 1)]
    for power in POWERS:
        first = next((count for count, chance in enumerate(chances) if chance >= Fraction(power)), None)
        assert made.smallest_count_emitted[power] == first


def test_a_plan_splits_epsilon_and_beta_as_the_scope_says() -> None:
    made = plan("frontier", 1800, 200, Fraction("0.05"), Fraction(10), Fraction("0.05"), Scope.REPORT)
    assert made.epsilon_per_statement == Fraction(1, 20) and made.beta_per_statement == Fraction("0.00025")
    assert made.threshold_units == 90 and made.margin_support == float(made.margin_units / 1800)


@pytest.mark.parametrize(("n", "vacuous"), [(20, True), (57, True), (58, False), (1000, False)])
def test_vacuous_begins_where_threshold_and_margin_exceed_n(n: int, vacuous: bool) -> None:
    made = plan("geometric", n, 1, Fraction("0.2"), Fraction("0.05"), Fraction("0.05"), Scope.CANDIDATE)
    assert made.margin_units == 46
    assert made.vacuous is vacuous is (math.ceil(n * Fraction("0.2")) + 46 > n)


def test_where_not_even_all_units_are_enough_there_is_no_count() -> None:
    made = plan("frontier", 10, 100, Fraction("0.5"), Fraction(1), Fraction("0.05"), Scope.REPORT)
    assert made.vacuous and set(made.smallest_count_emitted.values()) == {None}


def test_without_units_nothing_is_ever_emitted() -> None:
    made = plan("frontier", 0, 2, Fraction(0), Fraction(1), Fraction("0.05"), Scope.REPORT)
    assert set(made.smallest_count_emitted.values()) == {None} and made.margin_support == math.inf


def test_a_plan_with_an_epsilon_that_no_sampler_keeps_is_refused() -> None:
    with pytest.raises(ValueError, match="epsilon per statement"):
        plan("frontier", 100, 1, Fraction("0.5"), Fraction("5e-324"), Fraction("0.05"), Scope.REPORT)
