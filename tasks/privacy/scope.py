"""How the error of a whole report is split over its candidates (spec 1.4)."""

import math
from decimal import Context, Decimal
from fractions import Fraction

from schemas.audit import Scope

_SIDAK_DENOMINATOR = 10**40


def beta_per_statement(beta: Fraction, candidates: int, scope: Scope) -> Fraction:
    """Error allowed to each of `candidates` >= 1 certificates so that `scope` holds at `beta`.

    candidate: beta each; report: beta / m (union bound, any dependence); report_independent: 1 - (1 - beta)^(1/m)
    rounded down to 40 digits, exact for certification noises that are independent given the counts.
    """
    if scope is Scope.CANDIDATE:
        return beta
    if scope is Scope.REPORT:
        return beta / candidates
    context = Context(prec=80)
    log = context.ln(context.divide(Decimal((1 - beta).numerator), Decimal((1 - beta).denominator)))
    survive = context.exp(context.divide(log, Decimal(candidates)))
    share = Fraction(context.subtract(1, survive))
    # one unit of the 40th digit less: far more than the 80-digit arithmetic can be off by
    below = Fraction(math.floor(share * _SIDAK_DENOMINATOR) - 1, _SIDAK_DENOMINATOR)
    return max(below, beta / candidates)
