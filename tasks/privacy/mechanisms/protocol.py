"""What a certification mechanism is: integer support counts in, integer lower certificate counts out (spec 1.3)."""

from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from tasks.privacy.accounting import Loss
from tasks.privacy.design import Design

Certificates = NDArray[np.int64] | NDArray[np.float64]  # units; real-valued where the noise is
Counts = NDArray[np.int64]
CountVector = Sequence[int] | Counts  # (m,)
Probabilities = NDArray[np.float64]


class Mechanism(Protocol):
    """One release of m certificates: Pr[C_j > N_j] <= beta_j for every vector of counts, at a stated privacy loss.

    The noise is drawn elsewhere: for releases in tasks/privacy/noise.py only (it refuses by name what is not
    `releasable`), in studies by seeded numpy in tasks/privacy/simulation.
    """

    name: ClassVar[str]
    releasable: ClassVar[bool]
    answers_every_threshold: ClassVar[bool]  # one release answers every theta: theta is no part of the question
    takes: ClassVar[frozenset[str]]  # optional parameters of the design that it needs, and "weights" where it may
    meaning: ClassVar[str]  # of the certificate, in a sentence for its reader

    @classmethod
    def designed(cls, design: Design) -> Self:
        """The mechanism at the loss that its sampler really has, at most the design's. DesignError by name."""

    @classmethod
    def loss(cls, design: Design) -> Loss:
        """What the release (one share of it, where the design has a share) is charged. DesignError by name."""

    @property
    def margin_units(self) -> Fraction:
        """What is taken off a noisy count, in units (before any coin)."""

    def emit_probabilities(self, counts: CountVector, n: int, theta: Fraction) -> Probabilities:
        """Pr[statement j is emitted at theta | counts]; (m,) -> (m,). Certain at theta = 0, impossible with n = 0."""

    def log_probability(self, output: Sequence[int], counts: Sequence[int]) -> float:
        """ln of the mass (density, where the output is real) of one whole unclipped output; to enumerate privacy."""


class CountMechanism(Mechanism, Protocol):
    """A mechanism whose certificate of a statement depends on that statement's count alone."""

    def emit_probability(self, count: int, n: int, theta: Fraction) -> float:
        """Pr[emit at theta | count of n units support]."""

    def log_probabilities(self, certificates: Certificates, counts: Counts) -> Probabilities:
        """ln Pr[C = certificate | count], elementwise, before clipping; shapes broadcast."""


def depends_on_its_count_alone(mechanism: Mechanism) -> bool:
    """Is a true count all that decides about its statement? Not after selection, and not after truncation."""
    return not {"selected", "contributions"} & mechanism.takes


class PerCount:
    """What follows for a whole vector when every certificate depends on its own count alone."""

    def emit_probabilities(self: CountMechanism, counts: CountVector, n: int, theta: Fraction) -> Probabilities:
        """Elementwise `emit_probability`."""
        found = {count: self.emit_probability(count, n, theta) for count in set(counts)}
        return np.array([found[count] for count in counts])

    def log_probability(self: CountMechanism, output: Sequence[int], counts: Sequence[int]) -> float:
        """Sum over the independent certificates."""
        return float(self.log_probabilities(np.asarray(output), np.asarray(counts)).sum())
