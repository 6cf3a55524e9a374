"""Sparse vector, then certificates: the first k statements whose noisy counts reach a noisy threshold (spec 1.7)."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Self

from tasks.privacy.design import Design
from tasks.privacy.mechanisms.protocol import Probabilities
from tasks.privacy.mechanisms.selecting import Selecting
from tasks.privacy.sampler_scales import laplace_scale
from tasks.privacy.sparse_vector import log_pattern_probability, optimal_split, selection_probabilities


@dataclass(frozen=True)
class Svt(Selecting):
    """(eps_sel + eps_cert)-DP: AboveThreshold (Lyu, Su and Li 2017, arXiv:1603.01699, Algorithm 1), then certificates.

    rho is drawn once, at scale 1 / eps_1, then statement by statement in public order nu_j at scale 2k / eps_2; j is
    selected iff N_j + nu_j >= t + rho, and it stops after k selected: what follows is not reached.

    Both noises are discrete Laplace, and the proof for the continuous ones holds unchanged. It compares rho with
    rho + 1 on a neighbour, where each count differs by at most 1. A statement that was not selected with rho is not
    selected with rho + 1 either, for every nu_j. One that was selected needs a nu_j that is at most 2 higher. Counts
    and t are whole numbers, so these are shifts by whole numbers, rho -> rho + 1 maps the integers onto themselves,
    and all that is needed of the laws is that a shift by i changes a mass by at most e^(i / scale): 1 / eps_1 gives
    e^eps_1, and k shifts by 2 give e^eps_2. No step asks for a density or for ties of probability 0; a tie selects on
    both sides alike.

    threshold: t, in units, of the selection; certificates of the selected ones answer other thresholds too.
    epsilon_threshold, epsilon_queries: eps_1 and eps_2, eps_sel together.
    """

    name: ClassVar[str] = "svt"
    answers_every_threshold: ClassVar[bool] = False
    takes: ClassVar[frozenset[str]] = frozenset({"theta", "selected", "selection_share"})

    threshold: int
    epsilon_threshold: Fraction
    epsilon_queries: Fraction

    @classmethod
    def drawable(cls, design: Design) -> Self:
        """eps_sel split 1 : (2k)^(2/3)."""
        selection, certificate = cls.budget(design)
        first, second = optimal_split(selection, design.certified)
        made = cls(design.certified, certificate, design.beta_each, design.threshold, first, second)
        _ = made.threshold_scale, made.query_scale, made.certifier  # refuses now what no sampler can draw
        return made

    @cached_property
    def threshold_scale(self) -> Fraction:
        """Of rho, in units: the double whose loss at distance 1 is at most eps_1."""
        return laplace_scale(self.epsilon_threshold, 1)

    @cached_property
    def query_scale(self) -> Fraction:
        """Of each nu_j, in units: the double whose loss at distance 2 is at most eps_2 / k."""
        return laplace_scale(self.epsilon_queries / self.selected, 2)

    def selection_probabilities(self, counts: Sequence[int]) -> Probabilities:
        """In the given order."""
        scales = self.threshold_scale, self.query_scale
        return selection_probabilities(counts, self.threshold, self.selected, *scales)

    def log_selection_probability(self, chosen: Sequence[bool], counts: Sequence[int]) -> float:
        """Of the whole pattern up to the stop."""
        scales = self.threshold_scale, self.query_scale
        return log_pattern_probability(chosen, counts, self.threshold, self.selected, *scales)
