"""A sealed payload: the question, its public description and its answer. Numbers are integers or exact text."""

from typing import NotRequired, TypedDict


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


LOSS_PARTS = ("epsilon", "delta", "rho")


class LossFields(TypedDict):
    """A privacy loss: (epsilon, delta)-DP, and rho-zCDP where the mechanism has such a guarantee of its own."""

    epsilon: str
    delta: str
    rho: str | None


class QuestionFields(TypedDict):
    """What defines the answer; its canonical SHA-256 is the release key.

    parameters: those that the mechanism takes (delta, theta, contributions, selected, selection_share), exact text.
    weights: whole numbers without a common divisor, in the order of the statements; empty where all are equal.
    """

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
    parameters: dict[str, str]
    weights: list[str]
    edition: int


class DescribedFields(TypedDict):
    """Public facts that go with the answer. meaning: what a certificate of this mechanism says."""

    partition: PartitionFields
    meaning: str
    statements: list[str]
    proposer: str
    model: str
    model_description: dict[str, str]


class GroupFields(TypedDict):
    """How the statements of one weight were certified; exact fractions as text.

    epsilon_per_statement: loss of one noisy count, nats; None where all counts are one query (discrete_gaussian).
    """

    weight: str
    epsilon_per_statement: str | None
    beta_per_statement: str
    scale: str
    margin_units: str
    coin: str


class AnswerFields(TypedDict):
    """The draw.

    groups: by ascending weight. selection: scales of the noise that selected (svt, topk), exact fractions as text.
    reasons: why a statement was not certified (not_selected, not_reached), None where it was; one per statement.
    """

    groups: list[GroupFields]
    selection: dict[str, str]
    sampler: str
    certificate_units: list[int]
    reasons: list[str | None]


class Payload(TypedDict):
    """What is sealed.

    product: its name and version. code_digest: SHA-256, hex, of the code that drew the answer; the release key does not
    depend on it. Payloads of earlier versions lack it.
    """

    format: str
    product: str
    code_digest: NotRequired[str]
    question: QuestionFields
    described: DescribedFields
    charge: LossFields
    answer: AnswerFields
