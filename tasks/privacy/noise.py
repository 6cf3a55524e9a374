"""The only module that draws noise for a release.

Every noise comes from OpenDP's exact samplers (discrete Laplace, discrete Gaussian), coins and ties from the system's
secure source by exact rational comparison. There is no seed. Before a draw, OpenDP's own privacy map is held against
the exact budget.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from importlib.metadata import version
from typing import Any

from schemas.audit import Uncertified
from tasks.privacy.accounting import Loss
from tasks.privacy.discrete_gaussian import root_up
from tasks.privacy.discrete_laplace import COIN_DENOMINATOR
from tasks.privacy.mechanisms.discrete_gaussian import DiscreteGaussianMechanism
from tasks.privacy.mechanisms.geometric import Geometric
from tasks.privacy.mechanisms.hist import Hist
from tasks.privacy.mechanisms.integer_noise import IntegerNoise
from tasks.privacy.mechanisms.protocol import Mechanism
from tasks.privacy.mechanisms.selecting import Selecting
from tasks.privacy.mechanisms.staircase import Staircase
from tasks.privacy.mechanisms.svt import Svt
from tasks.privacy.mechanisms.topk import Topk

Reasons = list[Uncertified | None]
TIES = 2**128
_OPENDP = f"opendp {version('opendp')}"


@dataclass(frozen=True, slots=True)
class Drawn:
    """certificates: one per count, in [0, n]; 0 where there is none. reasons: why there is none, else None."""

    certificates: list[int]
    reasons: Reasons


def draw(mechanism: Mechanism, loss: Loss, counts: Sequence[int], n: int) -> Drawn:
    """The one noisy answer about these counts, which together lose at most `loss`.

    counts: support counts of n units, in the public order of their statements (`svt` walks them in it); for `hist`
    the bounded ones. Raises ArithmeticError for a mechanism that no release may use, when the sampler's own accounting
    says more than `loss`, or when a count is not in [0, n].
    """
    if any(isinstance(count, bool) or not isinstance(count, int) or not 0 <= count <= n for count in counts):
        raise ArithmeticError("a support count is not an integer in [0, n]")
    sampler = _sampler_of(mechanism)
    if not counts:
        return Drawn([], [])
    values, reasons = sampler.draw(mechanism, loss, counts)
    return Drawn([min(max(value, 0), n) for value in values], reasons)


def describe_sampler(mechanism: Mechanism) -> str:
    """What draws for this mechanism, with its version. Raises ArithmeticError as `draw` does."""
    return _sampler_of(mechanism).description


def _certify(mechanism: Geometric, loss: Loss, counts: Sequence[int]) -> tuple[list[int], Reasons]:
    """One query a count: each loses an equal part."""
    noisy = _discrete_laplace(mechanism.scale, counts, 1, loss.epsilon / len(counts))
    return _margin_and_coin(mechanism, noisy), _no_reasons(counts)


def _certify_bounded(mechanism: Hist, loss: Loss, counts: Sequence[int]) -> tuple[list[int], Reasons]:
    """The vector moves by at most D in L1."""
    noisy = _discrete_laplace(mechanism.scale, counts, mechanism.sensitivity, loss.epsilon)
    return _margin_and_coin(mechanism, noisy), _no_reasons(counts)


def _decide(mechanism: Staircase, loss: Loss, counts: Sequence[int]) -> tuple[list[int], Reasons]:
    """t where a frontier certificate of the raised count reaches it."""
    certificates, reasons = _certify(mechanism.frontier, loss, [mechanism.raised(count) for count in counts])
    return [mechanism.lowered(certificate) for certificate in certificates], reasons


def _certify_vector(
    mechanism: DiscreteGaussianMechanism, loss: Loss, counts: Sequence[int]
) -> tuple[list[int], Reasons]:
    """The vector moves by at most the root of its length in L2."""
    dp, sigma = _opendp(), float(mechanism.sigma)
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64")
    measurement = space >> dp.m.then_gaussian(scale=sigma)
    rho = Fraction(measurement.map(root_up(Fraction(len(counts)))))
    _require(Fraction(sigma) == mechanism.sigma and loss.rho is not None and rho <= loss.rho)
    noisy: list[int] = measurement(list(counts))
    return _margin_and_coin(mechanism, noisy), _no_reasons(counts)


def _select_sparse(mechanism: Svt, loss: Loss, counts: Sequence[int]) -> tuple[list[int], Reasons]:
    """AboveThreshold: one noise for the threshold, kept to the end; a fresh one for each count; stop after k."""
    epsilon_threshold, epsilon_queries, selected = (
        mechanism.epsilon_threshold,
        mechanism.epsilon_queries,
        mechanism.selected,
    )
    _require(epsilon_threshold + epsilon_queries + selected * mechanism.epsilon_certificate <= loss.epsilon)
    [bar] = _discrete_laplace(mechanism.threshold_scale, [mechanism.threshold], 1, epsilon_threshold)
    # replacing a unit moves the comparison of a noisy count with the noisy threshold by up to 2
    noisy = _discrete_laplace(mechanism.query_scale, counts, 2, epsilon_queries / selected)
    above = [at for at, value in enumerate(noisy) if value >= bar][:selected]
    end = above[-1] if len(above) == selected else len(counts)
    reasons: Reasons = [Uncertified.NOT_SELECTED if at < end else Uncertified.NOT_REACHED for at in range(len(counts))]
    return _certify_selected(mechanism, counts, above, reasons)


def _select_top(mechanism: Topk, loss: Loss, counts: Sequence[int]) -> tuple[list[int], Reasons]:
    """Exponential noise added once; the k highest.

    What decides among whole counts is the whole part of the noise, which is geometric, and among ties the rest, which
    is independent of it and alike for all: so geometric noise and random ties have the same law. (OpenDP's own
    `noisy_top_k` draws anew for each place.) A winner's noise may have to be 2 higher, which loses 2 / scale.
    """
    _require(mechanism.epsilon_selection + mechanism.selected * mechanism.epsilon_certificate <= loss.epsilon)
    added = _one_sided(mechanism.scale, len(counts), mechanism.epsilon_selection / mechanism.selected)
    noisy = [(count + more, secrets.randbelow(TIES)) for count, more in zip(counts, added, strict=True)]
    ranked = sorted(range(len(counts)), key=lambda at: noisy[at], reverse=True)
    above = sorted(ranked[: mechanism.selected])
    return _certify_selected(mechanism, counts, above, [Uncertified.NOT_SELECTED] * len(counts))


def _certify_selected(
    mechanism: Selecting, counts: Sequence[int], above: Sequence[int], reasons: Reasons
) -> tuple[list[int], Reasons]:
    """Fresh noise for each that was selected: what selected them is in no certificate."""
    certifier, values, reasons = mechanism.certifier, [0] * len(counts), list(reasons)
    noisy = _discrete_laplace(certifier.scale, [counts[at] for at in above], 1, mechanism.epsilon_certificate)
    for at, value in zip(above, _margin_and_coin(certifier, noisy), strict=True):
        values[at], reasons[at] = value, None
    return values, reasons


def _margin_and_coin(mechanism: IntegerNoise, noisy: Sequence[int]) -> list[int]:
    coins = _coins(mechanism.coin, len(noisy))
    return [value - mechanism.margin + coin for value, coin in zip(noisy, coins, strict=True)]


def _no_reasons(counts: Sequence[int]) -> Reasons:
    return [None] * len(counts)


def _discrete_laplace(scale: Fraction, counts: Sequence[int], distance: int, epsilon: Fraction) -> list[int]:
    """Fresh noise on each count; refused unless moving the counts by `distance` in L1 loses at most `epsilon`."""
    if not counts:
        return []
    measurement, stated = _laplace_measurement(float(scale), distance)
    _require(Fraction(float(scale)) == scale and stated <= epsilon)
    noisy: list[int] = measurement(list(counts))
    return noisy


@lru_cache(maxsize=64)
def _laplace_measurement(scale: float, distance: int) -> tuple[Any, Fraction]:
    """The measurement, which holds no state, and the loss that it states at this distance."""
    dp = _opendp()
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    measurement = space >> dp.m.then_laplace(scale=scale)
    return measurement, Fraction(measurement.map(distance))


def _one_sided(scale: Fraction, size: int, epsilon: Fraction) -> list[int]:
    """Pr[E = x] proportional to e^(-x / scale), x >= 0; refused unless a shift by 2 loses at most `epsilon`."""
    drawn: list[int] = []
    while len(drawn) < size:  # two-sided noise, and what is below 0 is not kept
        drawn += [value for value in _discrete_laplace(scale, [0] * (2 * size + 8), 2, epsilon) if value >= 0]
    return drawn[:size]


def _coins(probability: Fraction, size: int) -> list[int]:
    heads = probability * COIN_DENOMINATOR
    if heads.denominator != 1:
        raise ArithmeticError("a coin's probability must be a multiple of 2^-128")
    return [int(secrets.randbelow(COIN_DENOMINATOR) < heads.numerator) for _ in range(size)]


def _require(within_budget: bool) -> None:
    if not within_budget:
        raise ArithmeticError("the sampler's privacy loss exceeds the budget")


def _opendp() -> Any:
    import opendp.prelude as dp  # late: only a draw needs it

    dp.enable_features("contrib")
    return dp


@dataclass(frozen=True, slots=True)
class _Sampler:
    draw: Callable[[Any, Loss, Sequence[int]], tuple[list[int], Reasons]]
    description: str


# A class of mechanisms -> what draws for it; the nearest class of a mechanism decides.
_SAMPLERS: Mapping[type, _Sampler] = {
    Geometric: _Sampler(_certify, f"{_OPENDP} discrete Laplace; secrets.randbelow coins"),
    Hist: _Sampler(_certify_bounded, f"{_OPENDP} discrete Laplace; secrets.randbelow coins"),
    Staircase: _Sampler(_decide, f"{_OPENDP} discrete Laplace; secrets.randbelow coins"),
    DiscreteGaussianMechanism: _Sampler(_certify_vector, f"{_OPENDP} discrete Gaussian"),
    Svt: _Sampler(_select_sparse, f"{_OPENDP} discrete Laplace; secrets.randbelow coins"),
    Topk: _Sampler(_select_top, f"{_OPENDP} discrete Laplace; secrets.randbelow coins and ties"),
}


def _sampler_of(mechanism: Mechanism) -> _Sampler:
    found = next((_SAMPLERS[kind] for kind in type(mechanism).__mro__ if kind in _SAMPLERS), None)
    if found is None or not mechanism.releasable:
        raise ArithmeticError(f"{mechanism.name}: no release may use it")
    return found
