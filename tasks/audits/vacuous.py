"""A question that n and the settings, both public, make worthless: known before anything is scored or charged."""

import math
from fractions import Fraction

from schemas.errors import UserError
from schemas.values import decimal_text
from tasks.ledger.question import Question
from tasks.privacy.thresholds import is_vacuous, threshold_units


def check_not_hopeless(question: Question) -> None:
    """Refuse a question of which `why_hopeless` has something to say. Raises UserError with it."""
    exceeds, theta = why_hopeless(question), question.parameters.theta
    if exceeds is None:
        return
    raise UserError(
        f"vacuous: partition {question.partition.partition} has {exceeds}: no statement has an even "
        "chance of being certified whatever the records say, so nothing was charged; ask fewer, "
        f"{'at a lower theta ' if theta is not None and _least_margin(question) < question.partition.n else ''}"
        "or with a larger epsilon (`privcert plan` tells), or ask all the same with --allow-vacuous"
    )


def why_hopeless(question: Question) -> str | None:
    """Why none of the certificates is assured an even chance of being of use, whatever the data are; else None.

    A statement that all n units support has the certificate n + noise - margin: it must lie above 0, and reach the
    threshold where the answer holds for that one alone. Public: n, the least margin and that threshold.
    """
    n, margin, theta = question.partition.n, _least_margin(question), question.parameters.theta
    if margin >= n:
        return f"n = {n:,}, and the margin is {math.ceil(margin):,}"
    if theta is not None and is_vacuous(margin, n, Fraction(theta)):
        return (
            f"n = {n:,}, and {question.mechanism} answers at theta {decimal_text(theta)} only, where threshold "
            f"{threshold_units(n, Fraction(theta)):,} and margin {math.ceil(margin):,} exceed n"
        )
    return None


def _least_margin(question: Question) -> Fraction:
    return min(group.mechanism.margin_units for group in question.groups())
