"""Select, then certify: many seeded releases at once; what is not selected has the trivial certificate 0."""

import numpy as np
from numpy.typing import NDArray

from tasks.privacy.mechanisms.selecting import Selecting
from tasks.privacy.mechanisms.svt import Svt
from tasks.privacy.mechanisms.topk import Topk
from tasks.privacy.simulation.noise_laws import Integers, two_sided_geometric
from tasks.privacy.simulation.per_count import geometric


def sparse_vector(mechanism: Svt, counts: Integers, runs: int, rng: np.random.Generator) -> Integers:
    """The first k of m statements, in their order, whose noisy count reaches t + rho; (m,) -> (runs, m)."""
    bar = mechanism.threshold + two_sided_geometric(float(1 / mechanism.threshold_scale), (runs, 1), rng)
    noisy = counts + two_sided_geometric(float(1 / mechanism.query_scale), (runs, counts.size), rng)
    above = noisy >= bar
    return _certified(mechanism, above & (np.cumsum(above, axis=1) <= mechanism.selected), counts, rng)


def noisy_top(mechanism: Topk, counts: Integers, runs: int, rng: np.random.Generator) -> Integers:
    """The k statements with the highest noisy counts; (m,) -> (runs, m)."""
    k = min(mechanism.selected, counts.size)
    noisy = counts + rng.exponential(float(mechanism.scale), size=(runs, counts.size))
    winners = np.argpartition(noisy, counts.size - k, axis=1)[:, counts.size - k :]
    chosen = np.zeros((runs, counts.size), dtype=np.bool_)
    np.put_along_axis(chosen, winners, True, axis=1)
    return _certified(mechanism, chosen, counts, rng)


def _certified(mechanism: Selecting, chosen: NDArray[np.bool_], counts: Integers, rng: np.random.Generator) -> Integers:
    """Fresh certificates of the chosen ones."""
    certificates = np.zeros(chosen.shape, dtype=np.int64)
    true = np.broadcast_to(counts, chosen.shape)[chosen]
    certificates[chosen] = geometric(mechanism.certifier, true, 1, rng)[0]
    return certificates
