"""One empirical audit: many draws on two neighbouring datasets, and what they prove against the claimed loss."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from tasks.privacy.empirical.bounds import delta_at_least, epsilon_at_least
from tasks.privacy.empirical.events import Bound, Outputs, choose_event
from tasks.privacy.empirical.pairs import Pair
from tasks.statistics.intervals import lower_bound, upper_bound

Sample = Callable[[Sequence[int], int], Outputs]  # counts, draws -> certificates, shape (draws, m)

# Clopper-Pearson bounds of one finding: epsilon and delta, both directions, two probabilities each; validity on both
# datasets, from either side
BOUNDS = 2 * 2 * 2 + 2 * 2
MIN_DRAWS = 100


@dataclass(frozen=True)
class Finding:
    """What one pair of neighbours showed. Every bound of a run holds together with the run's confidence.

    draws: from each dataset. epsilon, delta: claimed; *_at_least: proved by the draws. beta: claimed probability that
    any certificate exceeds its count; error_at_least, error_at_most: what the draws say it is, on the dataset that has
    more of them.
    """

    mechanism: str
    pair: str
    draws: int
    epsilon: Fraction
    epsilon_at_least: float
    delta: Fraction
    delta_at_least: float
    beta: Fraction
    error_at_least: float
    error_at_most: float

    @property
    def share_of_epsilon(self) -> float:
        """How much of the claimed epsilon the draws reach; above 1 the claim is refuted."""
        return self.epsilon_at_least / float(self.epsilon)

    @property
    def refuted(self) -> list[str]:
        """The claims that the draws refute, by name."""
        proved = {
            "epsilon": self.epsilon_at_least > self.epsilon,
            "delta": self.delta_at_least > self.delta,
            "beta": self.error_at_least > self.beta,
        }
        return [name for name, wrong in proved.items() if wrong]


def audit_pair(pair: Pair, sample: Sample, draws: int, miss: Fraction) -> Finding:
    """Draw from both datasets, choose events on the first halves, test them on the second halves.

    sample: the sampler under audit. draws: from each dataset, at least 100. miss: probability with which one
    Clopper-Pearson bound may fail; BOUNDS of them are used. Raises ValueError for fewer draws.
    """
    if draws < MIN_DRAWS:
        raise ValueError(f"draws: must be at least {MIN_DRAWS}")
    one, other = sample(pair.counts, draws), sample(pair.neighbour, draws)
    epsilon, delta = pair.design.epsilon, pair.design.delta
    change = np.subtract(pair.counts, pair.neighbour)
    directions = ((one, other, change), (other, one, -change))
    errors = max(_errors(one, pair.counts), _errors(other, pair.neighbour))
    return Finding(
        mechanism=pair.mechanism,
        pair=pair.name,
        draws=draws,
        epsilon=epsilon,
        epsilon_at_least=max(_proved(*way, partial(epsilon_at_least, delta=delta, miss=miss)) for way in directions),
        delta=delta,
        delta_at_least=max(_proved(*way, partial(delta_at_least, epsilon=epsilon, miss=miss)) for way in directions),
        beta=pair.design.beta,
        error_at_least=float(lower_bound(errors, draws, 1 - miss)),
        error_at_most=float(upper_bound(errors, draws, 1 - miss)),
    )


def _proved(one: Outputs, other: Outputs, change: Outputs, bound: Bound) -> float:
    half = len(one) // 2
    event = choose_event(one[:half], other[:half], change, bound)
    return float(bound(event.hits(one[half:]), event.hits(other[half:]), trials=len(one) - half))


def _errors(outputs: Outputs, counts: Sequence[int]) -> int:
    return int(np.count_nonzero((outputs > np.array(counts)).any(axis=1)))
