"""Statements from a public domain file (spec 1.8, `tag_template`)."""

import hashlib

from schemas.statements import Statement
from tasks.statements.domains import Domain


def all_statements(domain: Domain) -> list[Statement]:
    """Every statement of the domain, in the file's order: templates as written, last slot fastest."""
    return [Statement.of(combination.text) for combination in domain.file.combinations()]


def propose_from_domain(domain: Domain, count: int, seed: int) -> list[Statement]:
    """`count` distinct statements (all, when the domain has fewer), in the file's order.

    The draw: each statement gets the number SHA-256("name/file seed/seed/statement id"), and the `count` smallest
    are taken. It is uniform for a random function, the same for every version of everything, a smaller count draws
    a subset of a larger one, and no random generator is near code that releases something.
    """
    label = f"{domain.name}/{domain.file.seed}/{seed}"

    def rank(statement: Statement) -> bytes:
        return hashlib.sha256(f"{label}/{statement.statement_id}".encode()).digest()

    statements = all_statements(domain)
    drawn = {statement.statement_id for statement in sorted(statements, key=rank)[:count]}
    return [statement for statement in statements if statement.statement_id in drawn]
