"""The discrete Gaussian mechanism: error from the exact tail, privacy by enumeration of the whole vector."""

import math
from fractions import Fraction

import numpy as np
import pytest

from tasks.privacy.design import Design, DesignError
from tasks.privacy.mechanisms.discrete_gaussian import DiscreteGaussianMechanism
from tasks.privacy.zcdp import largest_rho

BETA = Fraction(1, 20)
BUDGETS = [("0.5", "1e-5"), ("1", "1e-6"), ("3", "0.001"), ("10", "1e-5")]


def design(statements: int, epsilon: str, delta: str) -> Design:
    return Design(
        n=1000, statements=statements, epsilon=Fraction(epsilon), delta=Fraction(delta), beta=BETA, selected=None
    )


def delta_between_neighbours(sigma: float, moves: list[int], epsilon: float) -> float:
    """Sum over all outputs of (p - e^epsilon q)+, when count i moves by moves[i] in {-1, 0, 1}.

    The log-ratio sum_i (2 moves_i z_i - 1) / (2 sigma^2) hangs on the output through S = sum of moves_i z_i alone,
    which has the law of the sum of as many noises as counts move, whatever the signs.
    """
    edge = math.ceil(10 * sigma) + 2
    one = np.exp(-(np.arange(-edge, edge + 1.0) ** 2) / (2 * sigma**2))
    one /= one.sum()
    moving = sum(abs(move) for move in moves)
    law = np.array([1.0])
    for _ in range(moving):
        law = np.convolve(law, one)
    sums = np.arange(law.size) - moving * edge
    loss = (moving - 2.0 * sums) / (2 * sigma**2)
    return float((law * -np.expm1(np.minimum(epsilon - loss, 0))).sum())


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
@pytest.mark.parametrize("statements", [1, 2, 9, 40])
def test_neighbours_differ_by_at_most_delta_at_epsilon(statements: int, epsilon: str, delta: str) -> None:
    mechanism = DiscreteGaussianMechanism.designed(design(statements, epsilon, delta))
    found = delta_between_neighbours(float(mechanism.sigma), [1] * statements, float(epsilon))
    assert 0 < found <= float(delta)
    fewer = delta_between_neighbours(float(mechanism.sigma), [0] + [-1] * (statements - 1), float(epsilon))
    assert fewer <= found


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_the_enumeration_would_see_a_missing_square_root_and_half_the_scale(epsilon: str, delta: str) -> None:
    m = 40
    for wrong in (
        float(DiscreteGaussianMechanism.designed(design(1, epsilon, delta)).sigma),
        float(DiscreteGaussianMechanism.designed(design(m, epsilon, delta)).sigma) / 2,
    ):
        assert delta_between_neighbours(wrong, [1] * m, float(epsilon)) > 2 * float(delta)


def test_a_grid_of_two_certificates_gives_the_same_delta() -> None:
    """log_probability of whole outputs, summed plainly: no use of the sum of noises."""
    asked = design(2, "1", "0.001")
    mechanism = DiscreteGaussianMechanism.designed(asked)
    edge = math.ceil(9 * float(mechanism.sigma))
    axis = np.arange(-edge, edge + 1) + 100
    here = mechanism.log_probabilities(axis, np.array(100))
    there = mechanism.log_probabilities(axis, np.array(101))
    p, q = np.exp(here[:, None] + here[None, :]), np.exp(there[:, None] + there[None, :])
    assert p.sum() == pytest.approx(1, abs=1e-12)
    found = float(np.maximum(p - math.exp(1) * q, 0).sum())
    assert found == pytest.approx(delta_between_neighbours(float(mechanism.sigma), [1, 1], 1.0), rel=1e-9)
    assert found <= 0.001
    whole = mechanism.log_probability([103, 95], [100, 101])
    assert whole == pytest.approx(float(here[edge + 3] + there[edge - 5]))


@pytest.mark.parametrize("sigma", ["0.4", "2.5", "80"])
@pytest.mark.parametrize("beta", ["1e-9", "0.001", "0.05", "0.4"])
def test_a_certificate_exceeds_the_count_with_probability_at_most_beta(sigma: str, beta: str) -> None:
    mechanism = DiscreteGaussianMechanism(Fraction(sigma), Fraction(beta))
    z = np.arange(math.ceil(40 * float(sigma)) + 60, 0, -1)
    tails = np.exp(-(z**2.0) / (2 * float(sigma) ** 2)).cumsum()
    norm, k = 1 + 2 * tails[-1], mechanism.margin
    assert tails[-(k + 1)] / norm <= float(beta) * (1 + 1e-12)
    assert k == 0 or tails[-k] / norm > float(beta)


def test_the_emission_probability_is_the_sum_over_certificates_that_reach_the_threshold() -> None:
    mechanism, n, theta = DiscreteGaussianMechanism(Fraction("6.5"), BETA), 300, Fraction("0.07")
    certificates = np.arange(-200, n + 200)
    for count in (0, 19, 20, 21, 30, 40, n):
        law = np.exp(mechanism.log_probabilities(certificates, np.array(count)))
        assert mechanism.emit_probability(count, n, theta) == pytest.approx(law[certificates >= 21].sum(), abs=1e-12)
    assert mechanism.emit_probability(20, n, theta) <= float(BETA)
    chances = mechanism.emit_probabilities(range(n + 1), n, theta)
    assert np.all(np.diff(chances) >= 0)


@pytest.mark.parametrize("sigma", ["0.02", "3", "700", "20000", "2e5"])
def test_many_emission_probabilities_are_those_of_each_count(sigma: str) -> None:
    mechanism, n, theta = DiscreteGaussianMechanism(Fraction(sigma), BETA), 10**6, Fraction("0.07")
    near, step = 70_000 + mechanism.margin, float(sigma)
    counts = sorted({min(max(int(near + x * step), 0), n) for x in (-50, -9, -3, -1, 0, 0.5, 2, 8)} | {0, 70_000, n})
    each = [mechanism.emit_probability(count, n, theta) for count in counts]
    assert mechanism.emit_probabilities(counts, n, theta) == pytest.approx(each, rel=1e-11, abs=1e-300)
    assert mechanism.emit_probabilities(counts, n, Fraction(0)).tolist() == [1.0] * len(counts)


def test_the_noise_is_what_the_budget_allows() -> None:
    asked = design(200, "10", "1e-5")
    mechanism, loss = DiscreteGaussianMechanism.designed(asked), DiscreteGaussianMechanism.loss(asked)
    rho = largest_rho(Fraction(10), Fraction("1e-5"))
    assert loss.rho == rho and (loss.epsilon, loss.delta) == (10, Fraction("1e-5"))
    assert mechanism.sigma**2 >= 200 / (2 * rho) and float(mechanism.sigma) == pytest.approx(7.4896, abs=1e-4)
    assert mechanism.beta == BETA / 200 and mechanism.coin == 0


def test_a_design_without_delta_or_with_foreign_parameters_is_refused_by_name() -> None:
    kind = DiscreteGaussianMechanism
    assert kind.releasable and kind.answers_every_threshold
    for ask in (kind.designed, kind.loss):
        with pytest.raises(DesignError, match=r"^delta: discrete_gaussian needs it"):
            ask(Design(n=10, statements=2, epsilon=Fraction(1), beta=BETA))
    weighted = Design(n=10, statements=2, epsilon=Fraction(1), beta=BETA, delta=BETA, share=Fraction(1, 3))
    with pytest.raises(DesignError, match=r"^weights"):
        kind.designed(weighted)
    with pytest.raises(DesignError, match=r"^epsilon: sigma .* between 1e-3 and 1e12"):
        kind.designed(design(1, "1e-14", "1e-300"))


def test_everything_is_emitted_at_theta_0_and_nothing_without_units() -> None:
    mechanism = DiscreteGaussianMechanism(Fraction(3), BETA)
    assert mechanism.emit_probability(0, 100, Fraction(0)) == 1
    assert mechanism.emit_probability(0, 0, Fraction(0)) == 0
    assert mechanism.emit_probability(0, 10**9, Fraction("0.999")) == 0
    assert mechanism.emit_probability(10**9, 10**9, Fraction("1e-9")) == 1
