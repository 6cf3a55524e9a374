"""Simulated certifications per second and core, for every mechanism.

usage: simulation_throughput.py [--statements 1000] [--seconds 1]

One thread. A certification is a draw, its decision and its part in the metrics, as a study does it; the first figure is
the draw alone. n = 10,000 units, epsilon 10, the supports of the synthetic sweep.
"""

import argparse
import time
from fractions import Fraction

import numpy as np

from schemas.audit import Scope
from schemas.corpora import Visibility
from tasks.privacy.design import Design
from tasks.privacy.mechanisms import MECHANISMS, Mechanism
from tasks.privacy.metrics import RunMetrics
from tasks.privacy.simulation import emitted, simulate
from tasks.studies.chunks import BLOCK_CERTIFICATES
from tasks.studies.universes import synthetic

N, THETA = 10_000, Fraction("0.05")
OPTIONAL = {
    "delta": Fraction("1e-5"),
    "theta": THETA,
    "contributions": 20,
    "selected": 40,
    "selection_share": Fraction("0.5"),
}


def main() -> None:
    """Measure and print one line a mechanism."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--statements", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=1.0, help="of each measurement")
    asked = parser.parse_args()
    counts = synthetic(N, asked.statements, 0).counts()
    print(f"{asked.statements} statements; million certifications per second and core: drawn, drawn and counted")
    for name, kind in MECHANISMS.items():
        optional = {key: value for key, value in OPTIONAL.items() if key in kind.takes}
        design = Design(n=N, statements=asked.statements, epsilon=Fraction(10), beta=Fraction("0.05"),
                        scope=Scope.CANDIDATE, **optional)  # type: ignore[arg-type] # fmt: skip
        drawn, whole = rates(kind.designed(design), counts, asked.seconds)
        print(f"{name:<18} {drawn / 1e6:7.1f} {whole / 1e6:7.1f}")


def rates(mechanism: Mechanism, counts: np.ndarray, seconds: float) -> tuple[float, float]:
    """Certifications per second: of the draws, and of draws with metrics."""
    rng, runs = np.random.default_rng(0), max(1, BLOCK_CERTIFICATES // counts.size)
    drawing = whole = 0.0
    blocks = 0
    while whole < seconds:
        began = time.perf_counter()
        certificates = simulate(mechanism, counts, N, runs, visibility=Visibility.SYNTHETIC, rng=rng)
        drawn = time.perf_counter()
        RunMetrics.of(counts, N, THETA, emitted(certificates, N, THETA))
        if blocks:  # the first one also computes margins and tables
            drawing, whole = drawing + drawn - began, whole + time.perf_counter() - began
        blocks += 1
    certifications = (blocks - 1) * runs * counts.size
    return certifications / drawing, certifications / whole


if __name__ == "__main__":
    main()
