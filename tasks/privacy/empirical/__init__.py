"""Empirical privacy audit: what many real draws prove about the claimed epsilon, delta and beta.

The draws come from the module that releases draw from, on made-up public counts. Nothing is released about anybody:
no corpus is read, no release log is written, no budget is charged. An audit can refute a claim, never prove it; the
proofs are exact, in the mechanisms and in their tests.
"""

import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction

from tasks.privacy.empirical.audit import BOUNDS, Finding, audit_pair
from tasks.privacy.empirical.pairs import Pair, pairs_of
from tasks.privacy.empirical.sampling import is_independent, real_draws

MISS = Fraction(1, 10**6)
CHEAP = 5


def audit(mechanisms: Sequence[str], draws: int, workers: int = 1) -> Iterator[Finding]:
    """Audit the real sampler on every declared pair of these mechanisms, one finding a pair.

    draws: from each dataset; five times as many where counts get independent noise, which costs little. workers:
    processes of this machine. All bounds of all findings hold together with confidence 1 - 1e-6 (Bonferroni). Raises
    KeyError for a mechanism that declares no pairs, ValueError for fewer than 100 draws, and as `audit_real_draws`.
    """
    pairs = [pair for name in mechanisms for pair in pairs_of(name)]
    miss = MISS / (BOUNDS * len(pairs))
    if workers == 1:
        yield from (audit_real_draws(pair, draws, miss) for pair in pairs)
        return
    # spawned, not forked: the caller may have threads
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        costly_first = sorted(pairs, key=lambda pair: is_independent(pair.mechanism))
        found = {pair: pool.submit(audit_real_draws, pair, draws, miss) for pair in costly_first}
        yield from (found[pair].result() for pair in pairs)


def audit_real_draws(pair: Pair, draws: int, miss: Fraction) -> Finding:
    """One pair, `draws` whole releases from each dataset (or five times as many).

    Raises ArithmeticError, with the pair's name, where the sampler itself accounts for more than the design allows.
    """
    try:
        return audit_pair(pair, real_draws(pair), draws * (CHEAP if is_independent(pair.mechanism) else 1), miss)
    except ArithmeticError as error:
        raise ArithmeticError(f"{pair.mechanism} ({pair.name}): {error}") from None
