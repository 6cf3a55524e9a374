"""A drawn answer as it is sealed: exact text, one group of facts for each weight."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from schemas.audit import Uncertified
from schemas.payloads import AnswerFields, GroupFields
from tasks.ledger.designs import Group
from tasks.ledger.question import Question
from tasks.privacy import noise
from tasks.privacy.mechanisms import Mechanism
from tasks.privacy.mechanisms.discrete_gaussian import DiscreteGaussianMechanism
from tasks.privacy.mechanisms.geometric import Geometric
from tasks.privacy.mechanisms.hist import Hist
from tasks.privacy.mechanisms.selecting import Selecting
from tasks.privacy.mechanisms.staircase import Staircase
from tasks.privacy.mechanisms.svt import Svt
from tasks.privacy.mechanisms.topk import Topk

NO_SAMPLER = "none: n = 0, nothing was asked"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A question with all that is computed from it alone: exact margins take their time, and need no lock."""

    question: Question
    groups: list[Group]
    fields: list[GroupFields]

    @classmethod
    def of(cls, question: Question) -> "Prepared":
        """Raises UserError by name for parameters that the mechanism cannot be run with."""
        groups = question.groups()
        return cls(question, groups, [_group_fields(group) for group in groups])


def draw_answer(prepared: Prepared, counts: Sequence[int]) -> AnswerFields:
    """Draw for every group, weight after weight; with n = 0 nothing is drawn and no statement is reached.

    counts: one per statement, in the question's order. Raises ArithmeticError as the noise module does, and for counts
    that no bounding of contributions leaves.
    """
    question, groups = prepared.question, prepared.groups
    n, m, bound = question.partition.n, len(question.statements), question.parameters.contributions
    if bound is not None and sum(counts) > n * bound:
        raise ArithmeticError("the support counts are not those of bounded contributions")
    certificates, reasons = [0] * m, [Uncertified.NOT_REACHED if n == 0 else None] * m
    for group in groups if n else ():
        drawn = noise.draw(group.mechanism, group.loss, [counts[at] for at in group.positions], n)
        for at, certificate, reason in zip(group.positions, drawn.certificates, drawn.reasons, strict=True):
            certificates[at], reasons[at] = certificate, reason
    return {
        "groups": prepared.fields,
        "selection": _selection_scales(groups[0].mechanism),
        "sampler": noise.describe_sampler(groups[0].mechanism) if n else NO_SAMPLER,
        "certificate_units": certificates,
        "reasons": [None if reason is None else str(reason) for reason in reasons],
    }


def _group_fields(group: Group) -> GroupFields:
    certifier = _certifier(group.mechanism)
    epsilon = _epsilon_of_a_count(group)
    return {
        "weight": str(group.weight),
        "epsilon_per_statement": None if epsilon is None else str(epsilon),
        "beta_per_statement": str(certifier.beta),
        "scale": str(certifier.sigma if isinstance(certifier, DiscreteGaussianMechanism) else certifier.scale),
        "margin_units": str(certifier.margin),
        "coin": str(certifier.coin),
    }


def _certifier(mechanism: Mechanism) -> Geometric | DiscreteGaussianMechanism:
    """What adds noise, margin and coin to a count."""
    if isinstance(mechanism, Selecting):
        return mechanism.certifier
    if isinstance(mechanism, Staircase):
        return mechanism.frontier
    if isinstance(mechanism, Geometric | DiscreteGaussianMechanism):
        return mechanism
    raise ArithmeticError(f"{mechanism.name}: no release may use it")


def _epsilon_of_a_count(group: Group) -> Fraction | None:
    """Loss of one noisy count that a certificate is made of, when it moves by 1."""
    if isinstance(group.mechanism, Selecting):
        return group.mechanism.epsilon_certificate
    if isinstance(group.mechanism, Hist):
        return group.design.epsilon / group.mechanism.sensitivity
    if isinstance(group.mechanism, DiscreteGaussianMechanism):
        return None
    return group.design.epsilon_each


def _selection_scales(mechanism: Mechanism) -> dict[str, str]:
    """Of the noise that selects."""
    if isinstance(mechanism, Svt):
        return {"threshold_scale": str(mechanism.threshold_scale), "query_scale": str(mechanism.query_scale)}
    if isinstance(mechanism, Topk):
        return {"scale": str(mechanism.scale)}
    return {}
