"""A sealed payload: the question, its public description and its answer. Numbers are integers or exact text."""

from typing import TypedDict


class PartitionFields(TypedDict):
    """One version of one partition; all public, n is not protected."""

    corpus: str
    account: str
    visibility: str
    partition: str
    version: str
    number: int
    n: int
    unit: str
    unit_rule: str


class QuestionFields(TypedDict):
    """What defines the answer; its canonical SHA-256 is the release key."""

    corpus: str
    partition: str
    partition_version: str
    unit: str
    unit_rule: str
    unit_support: str
    statement_ids: list[str]
    model_fingerprint: str
    mechanism: str
    epsilon: str
    beta: str
    scope: str
    edition: int


class DescribedFields(TypedDict):
    """Public facts that go with the answer."""

    partition: PartitionFields
    statements: list[str]
    proposer: str
    model: str
    model_description: dict[str, str]


class AnswerFields(TypedDict):
    """The draw. epsilon_per_statement, beta_per_statement, scale and coin are exact fractions as text."""

    epsilon_per_statement: str
    beta_per_statement: str
    scale: str
    margin_units: str
    coin: str
    sampler: str
    certificate_units: list[int]


class Payload(TypedDict):
    """What is sealed."""

    format: str
    product: str
    question: QuestionFields
    described: DescribedFields
    charge: str
    answer: AnswerFields
