"""What an audit asks about one registered partition."""

from collections.abc import Sequence

from schemas.audit import AuditSettings
from schemas.statements import Statement
from tasks.ledger.designs import Parameters
from tasks.ledger.question import Question, RegisteredPartition
from tasks.support.placement import ModelFacts


def question_about(
    partition: RegisteredPartition,
    settings: AuditSettings,
    model: ModelFacts,
    statements: Sequence[Statement],
    proposer: str,
) -> Question:
    """The question of these settings; proposer: the public line about where the statements came from."""
    return Question(
        partition=partition,
        statements=tuple(statements),
        proposer=proposer,
        model=model.name,
        model_fingerprint=model.fingerprint,
        model_description=model.description,
        unit_support=settings.unit_support,
        mechanism=settings.mechanism,
        epsilon=settings.epsilon,
        beta=settings.beta,
        scope=settings.scope,
        parameters=Parameters.of(settings),
        edition=settings.edition,
    )
