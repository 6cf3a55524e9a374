"""Noisy top k, then certificates: the k statements with the highest noisy counts (spec 1.7)."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Self

from tasks.privacy.design import Design
from tasks.privacy.mechanisms.protocol import Probabilities
from tasks.privacy.mechanisms.selecting import Selecting
from tasks.privacy.noisy_top import log_set_probability, selection_probabilities
from tasks.privacy.sampler_scales import laplace_scale


@dataclass(frozen=True)
class Topk(Selecting):
    """(eps_sel + eps_cert)-DP: exponential noise of scale 2k / eps_sel added once, the k highest certified afresh.

    Proof of the selection: `tasks.privacy.noisy_top`. With k >= m all statements are selected, and what was set aside
    for the selection is charged all the same. The set is released, not its order.

    epsilon_selection: eps_sel.
    """

    name: ClassVar[str] = "topk"
    answers_every_threshold: ClassVar[bool] = True
    takes: ClassVar[frozenset[str]] = frozenset({"selected", "selection_share"})

    epsilon_selection: Fraction

    @classmethod
    def drawable(cls, design: Design) -> Self:
        """eps_sel for the whole selection."""
        selection, certificate = cls.budget(design)
        made = cls(design.certified, certificate, design.beta_each, selection)
        _ = made.scale, made.certifier  # refuses now what no sampler can draw
        return made

    @cached_property
    def scale(self) -> Fraction:
        """Of the exponential noise, in units: the double whose loss at distance 2 is at most eps_sel / k."""
        return laplace_scale(self.epsilon_selection / self.selected, 2)

    def selection_probabilities(self, counts: Sequence[int]) -> Probabilities:
        """The order of the statements does not matter."""
        return selection_probabilities(counts, self.selected, self.scale)

    def log_selection_probability(self, chosen: Sequence[bool], counts: Sequence[int]) -> float:
        """Of the set."""
        return log_set_probability(chosen, counts, self.selected, self.scale)
