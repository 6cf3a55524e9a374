"""Statements that a language model proposes from a public task description alone (spec 1.8, `llm`)."""

from schemas.claims import Reject, RejectReason
from tasks.inference.protocol import Prompt
from tasks.statements.prompts import LIST_LENGTH, LIST_TOKENS, STATEMENTS, list_messages, list_schema
from tasks.statements.worded import Ask, Draft, Gathering

_EXTRA_LISTS = 4  # beyond twice as many lists as would do if all their statements differed


def propose_from_task(task: str, wanted: int, seed: int, ask: Ask) -> Draft:
    """At most `wanted` distinct statements; fewer when the model gives fewer.

    Lists of 8 are asked for, each from another angle, as many at once as are missing, until there are enough or twice
    as many lists (and 4) were asked for. Equal answers give equal statements.
    """
    gathered, asked = Gathering(), 0
    most = 2 * _lists(wanted) + _EXTRA_LISTS
    while len(gathered.statements) < wanted and asked < most:
        count = min(_lists(wanted - len(gathered.statements)), most - asked)
        prompts = [Prompt(f"list-{place}", list_messages(task, place, seed)) for place in range(asked, asked + count)]
        for answer in ask(prompts, max_tokens=LIST_TOKENS, schema=list_schema()):
            gathered.take(answer, STATEMENTS)
        asked += count
    draft = gathered.draft()
    surplus = (Reject(one.statement.text, RejectReason.SURPLUS) for one in draft.statements[wanted:])
    return Draft(draft.statements[:wanted], (*draft.rejects, *surplus), draft.answers)


def _lists(statements: int) -> int:
    return -(-statements // LIST_LENGTH)
