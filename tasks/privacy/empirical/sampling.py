"""Many releases of the real sampler on made-up counts, thrown away after counting."""

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from tasks.privacy.accounting import Loss
from tasks.privacy.empirical.audit import Sample
from tasks.privacy.empirical.events import Outputs
from tasks.privacy.empirical.pairs import Pair
from tasks.privacy.mechanisms import RELEASE_MECHANISMS
from tasks.privacy.mechanisms.protocol import PerCount
from tasks.privacy.noise import draw

NO_CERTIFICATE = -1
_AT_ONCE = 20_000
_ROUNDING = 1 + Fraction(1, 2**40)


def real_draws(pair: Pair) -> Sample:
    """The sampler of releases under the pair's design; -1 where a statement got no certificate."""
    kind = RELEASE_MECHANISMS[pair.mechanism]
    mechanism, loss, n = kind.designed(pair.design), kind.loss(pair.design), pair.design.n

    def releases(counts: Sequence[int], sizes: Sequence[int]) -> Iterator[list[int]]:
        for size in sizes:
            drawn = draw(mechanism, _of_many(loss, size), list(counts) * size, n)
            yield [
                certificate if reason is None else NO_CERTIFICATE
                for certificate, reason in zip(drawn.certificates, drawn.reasons, strict=True)
            ]

    def sample(counts: Sequence[int], draws: int) -> Outputs:
        at_once = _AT_ONCE if is_independent(pair.mechanism) else 1
        sizes = [min(at_once, draws - start) for start in range(0, draws, at_once)]
        flat = np.fromiter((value for release in releases(counts, sizes) for value in release), dtype=np.int64)
        return flat.reshape(draws, len(counts))

    return sample


def is_independent(mechanism: str) -> bool:
    """Are the noises of different counts independent, so that many releases are one longer draw?"""
    return issubclass(RELEASE_MECHANISMS[mechanism], PerCount)


def _of_many(loss: Loss, releases: int) -> Loss:
    """What so many releases lose together: the sampler holds its own accounting against it.

    rho has room for its rounding, which differs for longer vectors.
    """
    rho = None if loss.rho is None else loss.rho * releases * _ROUNDING
    return Loss(loss.epsilon * releases, loss.delta, rho)
