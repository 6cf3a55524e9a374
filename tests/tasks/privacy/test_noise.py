"""Real draws. They are secure and unseeded: each statistical test here fails with probability 1e-6 by design."""

import os
from collections import Counter
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from exact_geometric import tail
from scipy import stats

from tasks.privacy.mechanisms import Frontier, Geometric
from tasks.privacy.noise import draw_certificates

DRAWS, N, UNITS = 200_000, 5_000, 10_000
BETA = Fraction("0.05")


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", ["0.5", "1.7"])
@pytest.mark.parametrize("kind", [Frontier, Geometric])
def test_200000_real_draws_follow_the_exact_law(kind: type[Geometric], epsilon: str) -> None:
    mechanism = kind.calibrated(Fraction(epsilon), BETA)
    drawn = Counter(c - N for c in draw_certificates(mechanism, Fraction(epsilon), [N] * DRAWS, UNITS))
    rate, k, q = 1 / mechanism.scale, mechanism.margin, mechanism.coin

    def at_least(shift: int) -> float:
        needed = shift + k
        return float(tail(needed, rate) * (1 - q) + tail(needed - 1, rate) * q)

    edges = [shift for shift in range(-60, 60) if at_least(shift) * DRAWS >= 10 and (1 - at_least(shift)) * DRAWS >= 10]
    reach = [1.0, *(at_least(shift) for shift in edges), 0.0]
    expected = DRAWS * -np.diff(reach)
    observed = [0] * len(expected)
    for shift, times in drawn.items():
        observed[int(np.searchsorted(edges, shift, side="right"))] += times
    assert len(expected) >= 8 and expected.min() >= 5
    assert stats.chisquare(observed, expected).pvalue > 1e-6


@pytest.mark.statistical
def test_a_geometric_certificate_would_fail_the_frontier_s_law() -> None:
    """The test above has power: the coin alone moves it far beyond 1e-6."""
    mechanism = Frontier.calibrated(Fraction(1), BETA)
    above = sum(c > N for c in draw_certificates(Geometric(mechanism.scale, BETA), Fraction(1), [N] * DRAWS, UNITS))
    assert stats.binomtest(above, DRAWS, float(BETA)).pvalue < 1e-6


def test_certificates_lie_between_0_and_n() -> None:
    mechanism = Frontier.calibrated(Fraction("0.01"), Fraction("0.4"))
    drawn = draw_certificates(mechanism, Fraction("0.01"), [0, 10] * 500, 10)
    assert set(drawn) <= set(range(11)) and {0, 10} <= set(drawn)
    assert draw_certificates(mechanism, Fraction("0.01"), [], 10) == []


@pytest.mark.parametrize("count", [-1, 11, True, 2.0, np.int64(3), None])
def test_a_count_that_is_not_a_whole_number_of_units_is_never_given_noise(count: object) -> None:
    mechanism = Frontier.calibrated(Fraction(1), BETA)
    with pytest.raises(ArithmeticError, match="support count") as caught:
        draw_certificates(mechanism, Fraction(1), [count], 10)  # type: ignore[list-item]
    assert "11" not in str(caught.value) and "-1" not in str(caught.value)


def test_a_sampler_that_loses_more_than_epsilon_is_refused() -> None:
    epsilon = next(
        Fraction(k, 1000) for k in range(1, 100) if 1 / Fraction(float(Fraction(1000, k))) > Fraction(k, 1000)
    )
    naive = Frontier(Fraction(float(1 / epsilon)), BETA)
    with pytest.raises(ArithmeticError, match="exceeds epsilon"):
        draw_certificates(naive, epsilon, [3], 10)


def test_a_coin_that_cannot_be_tossed_exactly_is_refused() -> None:
    class Third(Geometric):
        coin = Fraction(1, 3)  # type: ignore[assignment]

    with pytest.raises(ArithmeticError, match="2\\^-128"):
        draw_certificates(Third(Fraction(1), BETA), Fraction(1), [3], 10)


@pytest.mark.parametrize(("coin", "added"), [(Fraction(0), 0), (Fraction(1), 1)])
def test_a_certain_coin_is_certain(coin: Fraction, added: int) -> None:
    class Certain(Geometric):
        pass

    Certain.coin = coin  # type: ignore[assignment,method-assign]
    mechanism = Certain(Fraction(1, 100), BETA)  # noise is 0 except with probability 1e-43
    assert draw_certificates(mechanism, Fraction(100), [3] * 1000, 10) == [3 + added] * 1000


def test_forked_processes_do_not_share_their_noise() -> None:
    mechanism, epsilon = Frontier.calibrated(Fraction("0.01"), BETA), Fraction("0.01")

    def draw() -> bytes:
        return repr(draw_certificates(mechanism, epsilon, [N] * 64, UNITS)).encode()

    draw()  # the parent's sampler is warm
    drawn = {_in_child(draw) for _ in range(4)} | {draw()}
    assert len(drawn) == 5


def _in_child(action: Callable[[], bytes]) -> bytes:
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(writer, action())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(pid, 0)
    assert answer
    return answer
