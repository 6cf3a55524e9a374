"""What a release is asked. Its canonical hash is the release key: the same question has one sealed answer."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from schemas.audit import Scope, UnitSupport
from schemas.errors import UserError
from schemas.payloads import DescribedFields, PartitionFields, QuestionFields
from schemas.statements import Statement
from schemas.values import decimal_text
from tasks.ledger.canonical import digest
from tasks.ledger.designs import Group, Parameters, groups_of, total_loss, whole_weights
from tasks.privacy.accounting import NOTHING, Loss
from tasks.privacy.mechanisms import RELEASE_MECHANISMS


@dataclass(frozen=True, slots=True)
class RegisteredPartition:
    """One version of one partition, as the log knows it. Everything here is public; n is not protected."""

    corpus: str
    account: str
    visibility: str
    partition: str
    version: str
    number: int
    n: int
    unit: str
    unit_rule: str

    def fields(self) -> PartitionFields:
        """As it is sealed."""
        return {
            "corpus": self.corpus,
            "account": self.account,
            "visibility": self.visibility,
            "partition": self.partition,
            "version": self.version,
            "number": self.number,
            "n": self.n,
            "unit": self.unit,
            "unit_rule": self.unit_rule,
        }


@dataclass(frozen=True, slots=True)
class Question:
    """Everything that defines an answer; theta only where one certificate does not answer every theta (spec 1.3).

    statements: kept in the order of their ids, in which supports are given too: another order is the same question,
    and so are other weights in the same proportions.
    Raises UserError for no statements, a statement asked twice, or a mechanism that no release may use.
    """

    partition: RegisteredPartition
    statements: tuple[Statement, ...]
    proposer: str
    model: str
    model_fingerprint: str
    model_description: Mapping[str, str]
    unit_support: UnitSupport
    mechanism: str
    epsilon: Decimal
    beta: Decimal
    scope: Scope
    parameters: Parameters = field(default_factory=Parameters)
    edition: int = 1

    def __post_init__(self) -> None:
        by_id = tuple(sorted(self.statements, key=lambda statement: statement.statement_id))
        object.__setattr__(self, "statements", by_id)
        if not self.statements:
            raise UserError("statements: there is none to certify")
        if len({statement.statement_id for statement in self.statements}) != len(self.statements):
            raise UserError("statements: one is asked twice; it is one query and one charge")
        if self.mechanism not in RELEASE_MECHANISMS:
            raise UserError(f"mechanism: a release uses one of {', '.join(RELEASE_MECHANISMS)}")

    @property
    def weights(self) -> tuple[int, ...]:
        """Whole numbers without a common divisor, in the order of the statements; empty where all are equal."""
        return whole_weights([statement.weight for statement in self.statements])

    def groups(self) -> list[Group]:
        """By ascending weight. Raises UserError by name for parameters that the mechanism cannot be run with."""
        return groups_of(self, self.parameters, self.statements, self.partition.n)

    @property
    def loss(self) -> Loss:
        """What the release is charged; nothing where there are no units. Raises UserError as `groups` does."""
        return total_loss(self.groups()) if self.partition.n else NOTHING

    def defining(self) -> QuestionFields:
        """The part that is hashed into the release key."""
        return {
            "corpus": self.partition.corpus,
            "partition": self.partition.partition,
            "partition_version": self.partition.version,
            "unit": self.partition.unit,
            "unit_rule": self.partition.unit_rule,
            "unit_support": str(self.unit_support),
            "statement_ids": [statement.statement_id for statement in self.statements],
            "model_fingerprint": self.model_fingerprint,
            "mechanism": self.mechanism,
            "epsilon": decimal_text(self.epsilon),
            "beta": decimal_text(self.beta),
            "scope": str(self.scope),
            "parameters": self.parameters.texts(),
            "weights": [str(weight) for weight in self.weights],
            "edition": self.edition,
        }

    @property
    def release_key(self) -> str:
        """SHA-256 of the defining part, hex."""
        return digest(self.defining())

    def described(self) -> DescribedFields:
        """Public facts that go with the answer but do not define it."""
        return {
            "partition": self.partition.fields(),
            "meaning": RELEASE_MECHANISMS[self.mechanism].meaning,
            "statements": [statement.text for statement in self.statements],
            "proposer": self.proposer,
            "model": self.model,
            "model_description": dict(self.model_description),
        }
