"""Theorem 5 against codes that are really built, and exact comparisons of powers."""

import math
from fractions import Fraction

import pytest
from exact_geometric import exp_bounds

from tasks.privacy.limits import KAPPA, fine_grained_bound, fine_grained_distance, gilbert_varshamov, privcert_width

CASES = [(m, epsilon, beta) for m in (1, 10, 200, 1000) for epsilon in ("0.1", "1", "10") for beta in ("1e-9", "0.05")]


def greedy_code(m: int) -> list[int]:
    """Words of m bits, in order, that differ from all earlier ones in more than m / 4 places."""
    code: list[int] = []
    for word in range(2**m):
        if all(4 * (word ^ other).bit_count() > m for other in code):
            code.append(word)
    return code


def test_kappa_is_what_the_binary_entropy_of_a_quarter_leaves() -> None:
    entropy = -(0.25 * math.log2(0.25) + 0.75 * math.log2(0.75))
    assert pytest.approx(1 - entropy, rel=1e-14) == KAPPA


@pytest.mark.parametrize(("m", "epsilon", "beta"), CASES)
def test_the_bound_is_the_theorem_s(m: int, epsilon: str, beta: str) -> None:
    expected = (KAPPA * m * math.log(2) + math.log1p(-8 * float(beta))) / float(epsilon) - 2
    assert fine_grained_bound(m, Fraction(epsilon), Fraction(beta)) == pytest.approx(expected, rel=1e-12)


def test_the_bound_holds_for_billions_of_statements_and_close_to_an_eighth() -> None:
    assert fine_grained_bound(10**9, Fraction("1e-6"), Fraction("1e-9")) == pytest.approx(1e15 * KAPPA * math.log(2))
    almost = Fraction(1, 8) - Fraction(1, 10**30)
    expected = 200 * KAPPA * math.log(2) + math.log(8) - 30 * math.log(10) - 2
    assert fine_grained_bound(200, Fraction(1), almost) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("m", [1, 3, 4, 8, 11])
def test_a_greedy_code_has_at_least_the_counted_words(m: int) -> None:
    assert len(greedy_code(m)) >= gilbert_varshamov(m) >= 2 ** (KAPPA * m) * (1 - 1e-12)


@pytest.mark.parametrize("m", [1, 7, 8, 200, 1001])
def test_the_counted_words_are_the_cube_over_a_ball_of_a_quarter(m: int) -> None:
    ball = sum(math.comb(m, i) for i in range(m // 4 + 1))
    assert (gilbert_varshamov(m) - 1) * ball < 2**m <= gilbert_varshamov(m) * ball


@pytest.mark.parametrize(("m", "epsilon", "beta"), [case for case in CASES if case[0] <= 200])
def test_the_distance_is_the_smallest_that_packing_allows(m: int, epsilon: str, beta: str) -> None:
    nats, keep = Fraction(epsilon), 1 - 8 * Fraction(beta)
    d = fine_grained_distance(m, nats, Fraction(beta), exact_code=True)
    words = gilbert_varshamov(m) * keep
    assert exp_bounds(d * nats)[1] * words <= 1 or (d == 0 and words <= 1)
    assert d == 0 or exp_bounds((d - 1) * nats)[0] * words > 1
    d = fine_grained_distance(m, nats, Fraction(beta))
    power = Fraction(27, 16) ** m * keep**4
    assert exp_bounds(4 * d * nats)[1] * power <= 1
    assert d == 0 or exp_bounds(4 * (d - 1) * nats)[0] * power > 1


def test_an_exact_code_gives_no_smaller_distance() -> None:
    for m in (8, 40, 200, 1000):
        coarse, exact = (
            fine_grained_distance(m, Fraction(1), Fraction("0.05"), exact_code=code) for code in (False, True)
        )
        assert exact >= coarse >= fine_grained_bound(m, Fraction(1), Fraction("0.05")) + 2


def test_a_packing_of_exactly_nothing_is_decided() -> None:
    beta = Fraction(11, 216)  # 1 - 8 beta = 16/27 = 2^(-kappa 4)
    assert fine_grained_distance(4, Fraction(1, 10**6), beta) == 0
    assert fine_grained_distance(4, Fraction(1, 10**6), beta - Fraction(1, 10**30)) == 1


@pytest.mark.parametrize(("m", "epsilon", "beta"), CASES)
def test_equal_shares_need_more_than_the_bound(m: int, epsilon: str, beta: str) -> None:
    nats, error = Fraction(epsilon), Fraction(beta)
    units = 1800 * privcert_width(m, 1800, nats, error)
    assert units == pytest.approx(2 * m * math.log(1 / (2 * float(beta))) / float(epsilon), rel=1e-12)
    assert units > fine_grained_bound(m, nats, error)


def test_the_width_of_equal_shares_holds_at_extremes() -> None:
    tiny = Fraction(1, 10**30)
    assert privcert_width(1, 10**9, Fraction(50), Fraction(1, 2) - tiny) == pytest.approx(4e-30 / 5e10, rel=1e-12)
    assert privcert_width(10**9, 1, Fraction("1e-6"), Fraction("1e-9")) == pytest.approx(
        2e15 * math.log(5e8), rel=1e-12
    )


@pytest.mark.parametrize("beta", [Fraction(1, 8), Fraction("0.2"), Fraction(0), math.nan, True, "0.05"])
def test_a_beta_outside_the_theorem_is_refused(beta: object) -> None:
    for function in (fine_grained_bound, fine_grained_distance):
        with pytest.raises(ValueError, match=r"^beta:"):
            function(10, Fraction(1), beta)  # type: ignore[arg-type]


@pytest.mark.parametrize("m", [0, -1, True, 2.0])
def test_a_number_of_statements_that_is_none_is_refused(m: object) -> None:
    for function in (fine_grained_bound, fine_grained_distance):
        with pytest.raises(ValueError, match=r"^m:"):
            function(m, Fraction(1), Fraction("0.05"))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^m:"):
        privcert_width(m, 10, Fraction(1), Fraction("0.05"))  # type: ignore[arg-type]


def test_no_units_no_epsilon_and_too_long_a_code_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^n:"):
        privcert_width(10, 0, Fraction(1), Fraction("0.05"))
    with pytest.raises(ValueError, match=r"^epsilon:"):
        fine_grained_bound(10, Fraction(0), Fraction("0.05"))
    with pytest.raises(ValueError, match=r"^m of an exact code"):
        fine_grained_distance(100_001, Fraction(1), Fraction("0.05"), exact_code=True)
