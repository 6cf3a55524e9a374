"""How budget and error of a whole report are split over its candidates (spec 1.4)."""

import math
from collections.abc import Sequence
from decimal import Context, Decimal
from fractions import Fraction

from schemas.audit import Scope

_SIDAK_DENOMINATOR = 10**40


def beta_per_statement(beta: Fraction, candidates: int, scope: Scope) -> Fraction:
    """Error allowed to each of `candidates` >= 1 certificates so that `scope` holds at `beta`; equal shares."""
    return beta_of_share(beta, Fraction(1, candidates), scope)


def beta_of_share(beta: Fraction, share: Fraction, scope: Scope) -> Fraction:
    """Error allowed to a certificate that has this share (0 < share <= 1, all shares add up to at most 1).

    candidate: beta each; report: beta * share (union bound, any dependence); report_independent: 1 - (1 - beta)^share
    rounded down to 40 digits, exact for certification noises that are independent given the counts.
    """
    if scope is Scope.CANDIDATE:
        return beta
    if scope is Scope.REPORT:
        return beta * share
    context = Context(prec=80)
    log = context.ln(context.divide(Decimal((1 - beta).numerator), Decimal((1 - beta).denominator)))
    exponent = context.divide(Decimal(share.numerator), Decimal(share.denominator))
    below_one = Fraction(context.subtract(1, context.exp(context.multiply(log, exponent))))
    # one unit of the 40th digit less: far more than the 80-digit arithmetic can be off by
    below = Fraction(math.floor(below_one * _SIDAK_DENOMINATOR) - 1, _SIDAK_DENOMINATOR)
    return max(below, beta * share)


def shares(weights: Sequence[Fraction]) -> list[Fraction]:
    """Public weights > 0 as shares of budget and beta that add up to exactly 1. ValueError for another weight."""
    if any(weight <= 0 for weight in weights):
        raise ValueError("weights: each must be greater than 0")
    total = sum(weights, Fraction(0))
    return [weight / total for weight in weights]
