"""What `svt` and `topk` share: select at most k statements privately, then certify those afresh (spec 1.7)."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from tasks.privacy.accounting import Loss, pure_loss
from tasks.privacy.design import HALF, Design, DesignError, check_parameters
from tasks.privacy.mechanisms.frontier import Frontier
from tasks.privacy.mechanisms.protocol import CountVector, Probabilities
from tasks.privacy.thresholds import threshold_units


@dataclass(frozen=True)
class Selecting(ABC):
    """Selection at eps_sel, then a `frontier` certificate at eps_cert / k for each of the k selected at most.

    The noise that selects is never part of a certificate: given the selection, each certificate is valid with its own
    beta, and the whole is (eps_sel + eps_cert)-DP by composition. A statement without a certificate has the trivial
    lower bound 0.

    selected: k, at most m: with more, the surplus would only be noise. epsilon_certificate: eps_cert / k. beta: error
    of each certificate.
    """

    name: ClassVar[str]
    takes: ClassVar[frozenset[str]]
    releasable: ClassVar[bool] = True
    meaning: ClassVar[str] = "at least this many units support it, except with probability beta"

    selected: int
    epsilon_certificate: Fraction
    beta: Fraction

    @classmethod
    def designed(cls, design: Design) -> Self:
        """DesignError by name: of the share where half of epsilon for each part could be drawn, else of epsilon."""
        try:
            return cls.drawable(design)
        except DesignError as error:
            if not str(error).startswith("epsilon") or not cls._can_be_halved(design):
                raise
            problem = str(error).removeprefix("epsilon: ")
            raise DesignError(f"selection_share: must leave enough of epsilon to each part; {problem}") from None

    @classmethod
    def _can_be_halved(cls, design: Design) -> bool:
        try:
            cls.drawable(replace(design, selection_share=HALF))
        except DesignError:
            return False
        return True

    @classmethod
    @abstractmethod
    def drawable(cls, design: Design) -> Self:
        """With all its scales. Raises DesignError that begins with epsilon where a sampler cannot draw for one."""

    @classmethod
    def budget(cls, design: Design) -> tuple[Fraction, Fraction]:
        """(eps_sel, eps_cert / k); together eps_tot, exactly. DesignError by name."""
        check_parameters(cls.name, cls.takes, design)
        assert design.selection_share is not None
        selection = design.epsilon * design.selection_share
        return selection, (design.epsilon - selection) / design.certified

    @classmethod
    def loss(cls, design: Design) -> Loss:
        """eps_sel and k times eps_cert / k, also when fewer are selected."""
        selection, certificate = cls.budget(design)
        return pure_loss([selection] + [certificate] * design.certified)

    @cached_property
    def certifier(self) -> Frontier:
        """Of each selected statement, with fresh noise. DesignError out of the sampler's range."""
        return Frontier.calibrated(self.epsilon_certificate, self.beta)

    @property
    def margin_units(self) -> Fraction:
        """k of the frontier."""
        return self.certifier.margin_units

    @abstractmethod
    def selection_probabilities(self, counts: Sequence[int]) -> Probabilities:
        """Pr[statement j is selected | counts]; (m,) -> (m,)."""

    @abstractmethod
    def log_selection_probability(self, chosen: Sequence[bool], counts: Sequence[int]) -> float:
        """ln Pr[exactly these are selected | counts]; -inf where that cannot happen."""

    def emit_probabilities(self, counts: CountVector, n: int, theta: Fraction) -> Probabilities:
        """Pr[j is selected] Pr[its certificate reaches theta]; at theta = 0 the trivial bound does."""
        if n == 0 or threshold_units(n, theta) == 0:
            return np.full(len(counts), float(n > 0))
        reached: Probabilities = self.certifier.emit_probabilities(counts, n, theta)
        return self.selection_probabilities([int(count) for count in counts]) * reached

    def log_probability(self, output: Sequence[int | None], counts: Sequence[int]) -> float:
        """ln of the mass of one whole unclipped output: a certificate, or None where there is none."""
        pairs = [
            (certificate, count) for certificate, count in zip(output, counts, strict=True) if certificate is not None
        ]
        certified = self.certifier.log_probability([pair[0] for pair in pairs], [pair[1] for pair in pairs])
        return self.log_selection_probability([certificate is not None for certificate in output], counts) + certified
