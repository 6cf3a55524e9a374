"""A question that n and the settings, both public, make worthless: known before anything is scored or charged."""

import math

from schemas.errors import UserError
from tasks.ledger.question import Question


def check_not_hopeless(question: Question) -> None:
    """Refuse a question none of whose certificates is assured an even chance of lying above 0, whatever the data are.

    A statement that all n units support has the certificate n + noise - margin. Raises UserError, which says n and the
    least margin.
    """
    n, margin = question.partition.n, min(group.mechanism.margin_units for group in question.groups())
    if margin < n:
        return
    raise UserError(
        f"vacuous: partition {question.partition.partition} has n = {n:,}, and the margin is {math.ceil(margin):,}: no "
        "statement has an even chance of being certified whatever the records say, so nothing was charged; ask fewer, "
        "or with a larger epsilon (`privcert plan` tells), or ask all the same with --allow-vacuous"
    )
