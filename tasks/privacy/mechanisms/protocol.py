"""What a certification mechanism is: integer counts in, lower certificate counts out."""

from fractions import Fraction
from typing import ClassVar, Protocol, Self


class Mechanism(Protocol):
    """An epsilon-DP lower certificate of one count: Pr[C > N] <= beta for every count N.

    The noise itself is drawn elsewhere: for releases in tasks/privacy/noise.py only, in studies by seeded numpy.
    """

    name: ClassVar[str]
    releasable: ClassVar[bool]

    @classmethod
    def calibrated(cls, epsilon: Fraction, beta: Fraction) -> Self:
        """The mechanism at the loss that its sampler really has, at most `epsilon` nats; error at most `beta`."""

    def margin_units(self, n: int) -> Fraction:
        """What is taken off the noisy count, in units (before any coin)."""

    def emit_probability(self, count: int, n: int, theta: Fraction) -> float:
        """Pr[emit at theta | count of n units support]."""
