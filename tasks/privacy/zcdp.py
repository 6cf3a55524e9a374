"""From zCDP to (epsilon, delta) and back, by the conversion of Canonne, Kamath and Steinke 2020 (arXiv:2004.00010).

Corollary 13: a rho-zCDP release is (epsilon, delta)-DP with, for every alpha > 1,
delta = e^((alpha - 1)(alpha rho - epsilon)) / (alpha - 1) (1 - 1/alpha)^alpha. Any alpha gives a valid bound: a good
one is searched (in decimals, so that every machine finds the same), and the bound at it is rounded outwards.
"""

from collections.abc import Callable
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

from tasks.privacy.directed import Directed
from tasks.privacy.discrete_laplace import Interval

DIGITS = 20
_WORKING_DIGITS = 80
_LEAST_DELTA = Decimal("1e-400")
_SEARCH = Context(prec=60)
_LOG_ORDERS = (Decimal(-45), Decimal(90))  # ln(alpha - 1); the optima for epsilon and rho from 1e-12 to 1000 lie inside
_STEPS = 75  # 135 * 0.618^75 < 1e-13, and the bounds are flat at their optimum


@lru_cache(maxsize=4096)
def largest_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest rho that implies (epsilon, delta)-DP, rounded down to a decimal of 20 significant digits.

    Solved for rho: the largest over alpha of (epsilon + ln(delta alpha) / (alpha - 1) - ln(1 - 1/alpha)) / alpha.
    Raises ValueError unless epsilon > 0 and 0 < delta < 1, and where both are too small for a rho > 0 to be found.
    """
    _check("epsilon", epsilon, delta)
    target, log_delta = _decimals(epsilon, delta)
    order = _best_order(lambda t: -(target + (log_delta + (1 + t).ln()) / t + (1 + 1 / t).ln()) / (1 + t))
    directed = Directed(_WORKING_DIGITS)
    bound = directed.divide(directed.add(directed.of(epsilon), _slack(order, delta, directed)), directed.of(order))
    if bound.low <= 0:
        raise ValueError("with delta, it is too small: no rho > 0 was found that implies both")
    return Fraction(Directed(DIGITS).down.plus(bound.low))


def smallest_epsilon(rho: Fraction, delta: Fraction) -> Fraction:
    """The smallest epsilon that rho-zCDP implies at delta, rounded up to a decimal of 20 significant digits.

    Raises ValueError unless rho > 0 and 0 < delta < 1.
    """
    _check("rho", rho, delta)
    loss, log_delta = _decimals(rho, delta)
    order = _best_order(lambda t: (1 + t) * loss - (log_delta + (1 + t).ln()) / t - (1 + 1 / t).ln())
    directed = Directed(_WORKING_DIGITS)
    bound = directed.subtract(directed.of(order * rho), _slack(order, delta, directed))
    return Fraction(Directed(DIGITS).up.plus(max(bound.high, Decimal(0))))


def smallest_delta(rho: Fraction, epsilon: Fraction) -> Fraction:
    """The smallest delta that rho-zCDP implies at epsilon, rounded up to a decimal of 20 significant digits.

    It is at most 1, and at least 1e-400: below, no delta can be asked for, and the decimals would get too long.
    Raises ValueError unless rho > 0 and epsilon > 0.
    """
    _check("rho", rho, Fraction(1, 2))
    _check("epsilon", epsilon, Fraction(1, 2))
    loss, target = _SEARCH.divide(*_parts(rho)), _SEARCH.divide(*_parts(epsilon))
    order = _best_order(lambda t: t * ((1 + t) * loss - target) - t * (1 + 1 / t).ln() - (1 + t).ln())
    directed = Directed(_WORKING_DIGITS)
    log = directed.add(
        directed.of((order - 1) * (order * rho - epsilon)),
        directed.multiply(directed.of(order - 1), directed.ln(directed.of(1 - 1 / order))),
        directed.ln(directed.of(1 / order)),
    )
    bound = Directed(DIGITS).up.plus(directed.exp(log).high)
    return Fraction(min(max(bound, _LEAST_DELTA), Decimal(1)))


def _slack(order: Fraction, delta: Fraction, directed: Directed) -> Interval:
    """ln(delta alpha) / (alpha - 1) - ln(1 - 1/alpha)."""
    share = directed.multiply(directed.ln(directed.of(delta * order)), directed.of(1 / (order - 1)))
    return directed.subtract(share, directed.ln(directed.of(1 - 1 / order)))


def _best_order(value: Callable[[Decimal], Decimal]) -> Fraction:
    """alpha that makes value(alpha - 1) small: golden sections, since the bounds are unimodal in alpha."""
    with localcontext(_SEARCH):
        golden = (Decimal(5).sqrt() - 1) / 2
        low, high = _LOG_ORDERS
        left, right = high - golden * (high - low), low + golden * (high - low)
        at_left, at_right = value(left.exp()), value(right.exp())
        for _ in range(_STEPS):
            if at_left < at_right:
                high, right, at_right = right, left, at_left
                left = high - golden * (high - low)
                at_left = value(left.exp())
            else:
                low, left, at_left = left, right, at_right
                right = low + golden * (high - low)
                at_right = value(right.exp())
        return 1 + Fraction(low.exp())


def _decimals(value: Fraction, delta: Fraction) -> tuple[Decimal, Decimal]:
    """The value and ln delta, to the precision of the search."""
    return _SEARCH.divide(*_parts(value)), _SEARCH.ln(_SEARCH.divide(*_parts(delta)))


def _parts(value: Fraction) -> tuple[Decimal, Decimal]:
    return Decimal(value.numerator), Decimal(value.denominator)


def _check(name: str, value: Fraction, delta: Fraction) -> None:
    if not value > 0:
        raise ValueError(f"{name}: must be greater than 0")
    if not 0 < delta < 1:
        raise ValueError("delta: must be greater than 0 and less than 1")
