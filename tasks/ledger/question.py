"""What a release is asked. Its canonical hash is the release key: the same question has one sealed answer."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from schemas.audit import Scope, UnitSupport
from schemas.errors import UserError
from schemas.payloads import DescribedFields, PartitionFields, QuestionFields
from schemas.statements import Statement
from schemas.values import decimal_text
from tasks.ledger.canonical import digest
from tasks.privacy.mechanisms import RELEASE_MECHANISMS, Geometric
from tasks.privacy.scope import beta_per_statement


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
    """Everything that defines an answer; theta is not part of it: one certificate answers every theta (spec 1.3).

    statements: kept in the order of their ids, in which supports are given too: another order is the same question.
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
    edition: int = 1

    def __post_init__(self) -> None:
        by_id = tuple(sorted(self.statements, key=lambda statement: statement.statement_id))
        object.__setattr__(self, "statements", by_id)
        if not self.statements:
            raise UserError("statements: there is none to certify")
        if len({statement.statement_id for statement in self.statements}) != len(self.statements):
            raise UserError("statements: one is asked twice; it is one query and one charge")
        if self.mechanism not in RELEASE_MECHANISMS:
            raise UserError(f"mechanism: a release uses {' or '.join(RELEASE_MECHANISMS)}")

    @property
    def epsilon_per_statement(self) -> Fraction:
        """Equal split over the distinct statements, exact."""
        return Fraction(self.epsilon) / len(self.statements)

    @property
    def beta_per_statement(self) -> Fraction:
        """Error of each certificate under the scope."""
        return beta_per_statement(Fraction(self.beta), len(self.statements), self.scope)

    def calibrated(self) -> Geometric:
        """The mechanism, at the loss its sampler really has. Raises UserError where epsilon is too small for it."""
        try:
            return RELEASE_MECHANISMS[self.mechanism].calibrated(self.epsilon_per_statement, self.beta_per_statement)
        except ValueError as error:
            raise UserError(f"epsilon: {error}") from None

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
            "statements": [statement.text for statement in self.statements],
            "proposer": self.proposer,
            "model": self.model,
            "model_description": dict(self.model_description),
        }
