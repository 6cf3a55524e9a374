"""What simulated runs got right and wrong, where the true supports are known (spec 1.5).

Every metric is a ratio of whole numbers per run; aggregates pool numerators and denominators over runs.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tasks.privacy.thresholds import threshold_units

Whole = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Ratio:
    """One metric of every run; shape (runs,) both. A run without a denominator has no value."""

    numerators: Whole
    denominators: Whole

    def values(self) -> list[float | None]:
        """Per run; None where the denominator is 0."""
        pairs = zip(self.numerators.tolist(), self.denominators.tolist(), strict=True)
        return [above / below if below else None for above, below in pairs]

    def pooled(self) -> tuple[int, int]:
        """Sums over the runs: the numerator and denominator of the aggregate."""
        return sum(self.numerators.tolist()), sum(self.denominators.tolist())


@dataclass(frozen=True, slots=True)
class RunMetrics:
    """The six metrics of `runs` simulated runs over m candidates; t = ceil(n theta).

    unsupported_emit: emitted among the unsupported (N < t). emit_rate: emitted among the m. false_emission:
    unsupported among the emitted. mean_support: sum of counts over n times the emitted. supported_recall: emitted
    among the supported. any_unsupported: 1 where an unsupported candidate was emitted, of 1.
    """

    unsupported_emit: Ratio
    emit_rate: Ratio
    false_emission: Ratio
    mean_support: Ratio
    supported_recall: Ratio
    any_unsupported: Ratio

    @classmethod
    def of(cls, counts: Whole, n: int, theta: Fraction, emitted: NDArray[np.bool_]) -> Self:
        """From true counts, shape (m,) or (runs, m), and decisions, shape (runs, m).

        Raises ValueError for counts outside [0, n], theta outside [0, 1] or shapes that do not fit.
        """
        _check(counts, n, emitted)
        supported = counts >= threshold_units(n, theta)
        each = np.einsum("...m,...m->...", emitted, counts)
        chosen = np.count_nonzero(emitted, axis=1)
        right = np.count_nonzero(emitted & supported, axis=1)
        wrong, m = chosen - right, np.full_like(chosen, emitted.shape[1])
        support_of_runs = np.broadcast_to(np.count_nonzero(supported, axis=-1), chosen.shape)
        return cls(
            unsupported_emit=Ratio(wrong, m - support_of_runs),
            emit_rate=Ratio(chosen, m),
            false_emission=Ratio(wrong, chosen),
            mean_support=Ratio(each, n * chosen),
            supported_recall=Ratio(right, support_of_runs),
            any_unsupported=Ratio((wrong > 0).astype(np.int64), np.ones_like(chosen)),
        )


def _check(counts: Whole, n: int, emitted: NDArray[np.bool_]) -> None:
    if emitted.ndim != 2 or emitted.dtype != np.bool_:
        raise ValueError("emitted: must be booleans of shape (runs, m)")
    if counts.dtype != np.int64 or counts.shape not in (emitted.shape, emitted.shape[1:]):
        raise ValueError("counts: must be 64-bit integers, one a candidate or one a run and candidate")
    if np.any((counts < 0) | (counts > n)):
        raise ValueError("counts: must be between 0 and n")
