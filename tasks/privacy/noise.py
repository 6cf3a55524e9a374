"""The only module that draws noise for a release.

Discrete Laplace noise comes from OpenDP's exact sampler, coins from the system's secure source by exact rational
comparison. There is no seed.
"""

import secrets
from collections.abc import Sequence
from fractions import Fraction
from importlib.metadata import version

from tasks.privacy.discrete_laplace import COIN_DENOMINATOR
from tasks.privacy.mechanisms.geometric import Geometric

SAMPLER = f"opendp {version('opendp')} discrete Laplace; secrets.randbelow coins"


def draw_certificates(mechanism: Geometric, epsilon: Fraction, counts: Sequence[int], n: int) -> list[int]:
    """One certificate count per support count, clipped to [0, n]; each draw loses at most `epsilon` nats.

    Raises ArithmeticError when the sampler's own accounting says more than `epsilon`, or a count is not in [0, n].
    """
    if any(isinstance(count, bool) or not isinstance(count, int) or not 0 <= count <= n for count in counts):
        raise ArithmeticError("a support count is not an integer in [0, n]")
    noisy = _discrete_laplace(float(mechanism.scale), epsilon, counts)
    coins = _coins(mechanism.coin, len(counts))
    raised = [value - mechanism.margin + coin for value, coin in zip(noisy, coins, strict=True)]
    return [min(max(value, 0), n) for value in raised]


def _discrete_laplace(scale: float, epsilon: Fraction, counts: Sequence[int]) -> list[int]:
    import opendp.prelude as dp  # late: only a draw needs it

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    measurement = space >> dp.m.then_laplace(scale=scale)
    if Fraction(measurement.map(1)) > epsilon:
        raise ArithmeticError("the sampler's privacy loss exceeds epsilon")
    noisy: list[int] = measurement(list(counts)) if counts else []
    return noisy


def _coins(probability: Fraction, size: int) -> list[int]:
    heads = probability * COIN_DENOMINATOR
    if heads.denominator != 1:
        raise ArithmeticError("a coin's probability must be a multiple of 2^-128")
    return [int(secrets.randbelow(COIN_DENOMINATOR) < heads.numerator) for _ in range(size)]
