"""Exact emission of many counts at once, and what follows from it: frontier is never below laplace."""

from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest
from designs import design_of, mechanism_of

from tasks.privacy.mechanisms import MECHANISMS, Frontier
from tasks.privacy.mechanisms.protocol import depends_on_its_count_alone
from tasks.privacy.thresholds import threshold_units

ALONE = [name for name, kind in MECHANISMS.items() if not {"selected", "contributions"} & kind.takes]


def test_emission_depends_on_the_own_count_alone_unless_others_decide_too() -> None:
    kinds = {name: kind.designed(design_of(name, 100, 5)) for name, kind in MECHANISMS.items()}
    alone = [name for name, mechanism in kinds.items() if depends_on_its_count_alone(mechanism)]
    assert alone == ALONE
    assert set(MECHANISMS) - set(alone) == {"hist", "svt", "topk"}


@pytest.mark.parametrize("beta", ["1e-6", "0.01", "0.05", "0.3"])
@pytest.mark.parametrize("epsilon", ["0.003", "0.05", "0.7", "5"])
@pytest.mark.parametrize(
    ("n", "theta"), [(60, "0.05"), (333, "0.07"), (1000, "0.2"), (10_000, "0.05"), (10_000, "0.9")]
)
def test_frontier_is_never_below_laplace_at_any_count(n: int, theta: str, epsilon: str, beta: str) -> None:
    """Doubles: exponents up to n epsilon lose some of their last digits, and what is below 1e-300 nearly all."""
    counts = np.arange(n + 1)
    frontier, laplace, rounded = (
        mechanism_of(name, n, 1, epsilon, beta).emit_probabilities(counts, n, Fraction(theta))
        for name in ("frontier", "laplace", "laplace_rounded")
    )
    assert np.all(frontier >= laplace * (1 - 1e-9) - 1e-300)
    assert np.all(frontier >= rounded * (1 - 1e-9) - 1e-300)
    assert np.any(frontier > laplace * (1 + 1e-6))


@pytest.mark.parametrize(("epsilon", "beta"), [("0.01", "0.05"), ("0.7", "0.3"), ("5", "1e-9")])
@pytest.mark.parametrize(("n", "theta"), [(60, "0.05"), (333, "0.07")])
def test_frontier_is_above_laplace_at_every_count_to_sixty_digits(n: int, theta: str, epsilon: str, beta: str) -> None:
    """Rigorous bounds of the one against the other's closed form, of missing where that is the small probability."""
    exact = Context(prec=60)
    frontier = Frontier.calibrated(Fraction(epsilon), Fraction(beta))
    tail, q = frontier.law.upper_tail, frontier.coin
    for count in range(n + 1):
        needed = threshold_units(n, Fraction(theta)) - count + frontier.margin
        short = exact.subtract(Decimal(epsilon) * (Decimal(theta) * n - count), exact.ln(2 * Decimal(beta)))
        laplace = Fraction(exact.exp(-abs(short)) / 2)
        if short >= 0:
            assert (1 - q) * Fraction(tail(needed).low) + q * Fraction(tail(needed - 1).low) > laplace
        else:  # Pr[G < j] = Pr[G >= 1 - j]
            assert (1 - q) * Fraction(tail(1 - needed).high) + q * Fraction(tail(2 - needed).high) < laplace
