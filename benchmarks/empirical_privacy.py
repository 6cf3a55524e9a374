"""How near to their claimed loss the mechanisms come: the audit of `privcert selfcheck`, at nightly size.

Usage: python benchmarks/empirical_privacy.py [--draws 200000] [--workers 2] [--mechanism svt]

Draws whole releases with the real sampler on both of two neighbouring vectors of made-up public counts, `draws` from
each (five times as many where counts get independent noise): 22 million releases at the default. Exit code 1 when
a claim is refuted; all bounds hold together with confidence 1 - 1e-6.
"""

import argparse
import sys
import time

from tasks.privacy.empirical import audit
from tasks.privacy.empirical.audit import Finding
from tasks.privacy.mechanisms import RELEASE_MECHANISMS

TITLES = f"{'mechanism':<18} {'neighbours':<24} {'draws':>9}  epsilon: proved, claimed, share   delta: proved, claimed"


def main() -> None:
    """Audit and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=200_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--mechanism", choices=list(RELEASE_MECHANISMS))
    asked = parser.parse_args()
    began, findings = time.perf_counter(), []
    print(TITLES + "   Pr[any C > N], beta")
    names = [asked.mechanism] if asked.mechanism else list(RELEASE_MECHANISMS)
    for finding in audit(names, asked.draws, asked.workers):
        findings.append(finding)
        print(line(finding), flush=True)
    releases = sum(2 * finding.draws for finding in findings)
    refuted = sum(bool(finding.refuted) for finding in findings)
    seconds = time.perf_counter() - began
    print(f"{releases} releases in {seconds:.0f} s; {refuted} of {len(findings)} pairs refute a claim")
    sys.exit(1 if refuted else 0)


def line(finding: Finding) -> str:
    """One row of the table."""
    return (
        f"{finding.mechanism:<18} {finding.pair:<24} {finding.draws:>9}"
        f"  {finding.epsilon_at_least:8.4f} {float(finding.epsilon):8g} {finding.share_of_epsilon:8.3f}       "
        f"  {finding.delta_at_least:13.5f} {float(finding.delta):8g}"
        f"   {finding.error_at_least:.5f} - {finding.error_at_most:.5f}, {float(finding.beta):g}"
        + (f"   REFUTED: {', '.join(finding.refuted)}" if finding.refuted else "")
    )


if __name__ == "__main__":
    main()
