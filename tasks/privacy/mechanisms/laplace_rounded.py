"""The Laplace certificate rounded up to whole units: N is an integer, so N >= x iff N >= ceil(x) (spec 1.3)."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from tasks.privacy.mechanisms.laplace import Laplace
from tasks.privacy.mechanisms.protocol import Certificates, Counts, Probabilities
from tasks.privacy.thresholds import threshold_units


@dataclass(frozen=True)
class LaplaceRounded(Laplace):
    """C = ceil(n L): as valid as L, and half-emission exactly at k*. Simulation only, as the noise is the same."""

    name: ClassVar[str] = "laplace_rounded"

    def needed_units(self, n: int, theta: Fraction) -> Fraction:
        """C >= t iff n L > t - 1, and the noise has no atoms."""
        return Fraction(threshold_units(n, theta) - 1)

    def log_probabilities(self, certificates: Certificates, counts: Counts) -> Probabilities:
        """ln Pr[C - 1 < N + Z - margin <= C]."""
        rate, upper = float(self.epsilon), np.asarray(certificates) - counts + float(self.margin_units)
        lower = upper - 1
        far = np.where(lower >= 0, lower, -upper)  # distance of the interval from 0, where 0 is outside
        outside = np.log(-np.expm1(-rate) / 2) - rate * np.maximum(far, 0)
        around = -(np.expm1(-rate * np.maximum(upper, 0)) + np.expm1(rate * np.minimum(lower, 0))) / 2
        with np.errstate(divide="ignore"):  # of the entries that `outside` takes
            inside = np.log(around)
        found: Probabilities = np.where((lower < 0) & (upper > 0), inside, outside)
        return found
