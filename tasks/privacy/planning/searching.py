"""The search for a mechanism's best public parameters, for one of two aims, under a declared prior of supports."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from functools import cache, cached_property
from typing import cast

import numpy as np
from numpy.typing import NDArray

from tasks.privacy.design import Design, DesignError
from tasks.privacy.mechanisms import MECHANISMS, Mechanism
from tasks.privacy.mechanisms.selecting import Selecting
from tasks.privacy.planning.bounding import bounded_counts, kept_shares
from tasks.privacy.planning.estimating import estimated_probe, estimated_selection
from tasks.privacy.planning.power import for_mechanism, smallest
from tasks.privacy.planning.priors import Prior, prior_counts
from tasks.privacy.planning.probing import selection_probability
from tasks.privacy.thresholds import threshold_units

Point = tuple[int, int]  # k, and the selection's share of epsilon in steps of SHARE_STEP
Score = tuple[float, float]  # the smaller the better

LOWEST_AT = 0.8
SHARE_STEP = Fraction(1, 20)
COARSE_SHARES = (2, 5, 10, 15, 18)  # steps: 0.1, 0.25, 0.5, 0.75, 0.9
FEWEST_SELECTED = 20
EXACT_SEARCH = 4_000  # k times m: a second for the whole search
EXACT_RESULT = 50_000  # k times m: about a second for one vector
_FINALISTS = 5
_EVERY_CONTRIBUTION = 32
_STEP = 8


class Aim(StrEnum):
    """What is best: the most supported statements of the prior, or the lowest support with probability 0.8."""

    MOST = "most_statements"
    LOWEST = "lowest_support"


@dataclass(frozen=True)
class Question:
    """A design without optional parameters, a threshold and the prior that parameters are chosen for."""

    design: Design
    theta: Fraction
    prior: Prior

    @cached_property
    def counts(self) -> list[int]:
        """Of the m statements of the prior, in public order."""
        return prior_counts(self.prior, self.design.n, self.design.statements)

    @cached_property
    def is_supported(self) -> NDArray[np.bool_]:
        """(m,): which of them reach theta."""
        return np.asarray(self.counts) >= threshold_units(self.design.n, self.theta)

    @cached_property
    def beside(self) -> tuple[list[int], list[int]]:
        """Counts of the m - 1 statements before and after one that is asked about."""
        others = prior_counts(self.prior, self.design.n, self.design.statements - 1)
        return others[: len(others) // 2], others[len(others) // 2 :]

    def kept(self, bounds: Sequence[int]) -> NDArray[np.float64]:
        """What bounding to each C leaves of each count, as a share; (len(bounds), m)."""
        return kept_shares([count / max(self.design.n, 1) for count in self.counts], bounds)

    def kept_beside_others(self, bounds: Sequence[int]) -> NDArray[np.float64]:
        """The same for one statement beside m - 1 others of the prior, whatever its own count; (len(bounds),)."""
        before, after = self.beside
        return kept_shares([0.0, *(count / max(self.design.n, 1) for count in [*before, *after])], bounds)[:, 0]


def is_exact(design: Design) -> bool:
    """Are probabilities under this design computed exactly, not estimated?"""
    return design.selected is None or design.selected * design.statements <= EXACT_RESULT


def best_design(name: str, question: Question, aim: Aim) -> Design:
    """The best design found; the first of equals. Raises DesignError where no candidate can be had."""
    design, takes = question.design, MECHANISMS[name].takes
    delta = design.delta if "delta" in takes else Fraction(0)
    base = replace(design, delta=delta, contributions=None, selected=None, selection_share=None)
    base = for_mechanism(name, base, question.theta)
    if "contributions" in takes:
        return _best_contributions(name, base, question, aim)
    if "selected" in takes:
        return _best_selection(name, base, question, aim)
    return base


def expected_emitted(name: str, design: Design, question: Question, *, exact: bool = True) -> tuple[float, float]:
    """Expected number of emitted statements of the prior, and of those that reach theta."""
    chosen, counts, n = MECHANISMS[name].designed(design), question.counts, design.n
    if design.contributions is not None and n:
        counts = bounded_counts(counts, question.kept([design.contributions])[0])
    if exact or not isinstance(chosen, Selecting) or n == 0 or threshold_units(n, question.theta) == 0:
        chances = chosen.emit_probabilities(counts, n, question.theta)
    else:
        reached = chosen.certifier.emit_probabilities(counts, n, question.theta)
        chances = estimated_selection(chosen, counts) * reached
    return float(chances.sum()), float(chances[question.is_supported].sum())


def contribution_candidates(statements: int) -> list[int]:
    """C up to 32 one by one, then in steps of an eighth, and m.

    From m / 2 on the noise is that of C = m, so nothing between them is better than m.
    """
    found, bound = [], 1
    while 2 * bound < statements:
        found.append(bound)
        bound += 1 if bound < _EVERY_CONTRIBUTION else bound // _STEP
    return [*found, statements]


def selected_candidates(question: Question) -> list[int]:
    """k = 1, 2, 3, 4, 6, 8, ... by about the root of 2, up to twice the supported statements (at least 20) or m."""
    most = min(question.design.statements, max(FEWEST_SELECTED, 2 * int(question.is_supported.sum())))
    found = {math.floor(2 ** (half / 2) + 0.5) for half in range(2 * most.bit_length() + 1)}
    return sorted({k for k in found if k < most} | {most})


def before_bounding(count: int | None, kept: float, n: int) -> int | None:
    """The smallest count whose expectation after bounding is `count`; None where n is not enough."""
    if count is None:
        return None
    needed = math.ceil(count / kept * (1 - 1e-12))
    return needed if needed <= n else None


def _best_contributions(name: str, base: Design, question: Question, aim: Aim) -> Design:
    bounds = contribution_candidates(base.statements)
    beside = question.kept_beside_others(bounds)
    shares = question.kept(bounds)
    scores: dict[int, Score] = {}
    refused = None
    for bound, one, all_kept in zip(bounds, beside, shares, strict=True):
        try:
            chosen = MECHANISMS[name].designed(replace(base, contributions=bound))
        except DesignError as error:
            refused = error
            continue
        if aim is Aim.MOST:
            chances = chosen.emit_probabilities(bounded_counts(question.counts, all_kept), base.n, question.theta)
            scores[bound] = (-round(float(chances[question.is_supported].sum()), 9), 0.0)
        else:
            count = _first_count(lambda c, chosen=chosen: _chance(chosen, c, question), base.n)  # type: ignore[misc]
            found = before_bounding(count, float(one), base.n)
            scores[bound] = (math.inf if found is None else float(found), 0.0)
    if not scores and refused is not None:
        raise refused
    if aim is Aim.LOWEST and min(scores.values())[0] == math.inf:
        return _best_contributions(name, base, question, Aim.MOST)
    return replace(base, contributions=min(scores, key=scores.__getitem__))


def _best_selection(name: str, base: Design, question: Question, aim: Aim) -> Design:
    """Coarsely over all k and shares, then from the best one uphill; the last few are compared exactly."""

    def designed(point: Point) -> Design:
        return replace(base, selected=point[0], selection_share=point[1] * SHARE_STEP)

    @cache
    def scored(point: Point, *, exact: bool) -> Score | None:
        try:
            return _score(name, designed(point), question, aim, exact=exact)
        except DesignError:
            return None

    def rank(point: Point) -> Score:
        found = scored(point, exact=point[0] * base.statements <= EXACT_SEARCH)
        return (math.inf, math.inf) if found is None else found

    numbers = selected_candidates(question)
    seen = {point: rank(point) for point in ((k, share) for k in numbers for share in COARSE_SHARES)}
    if min(seen.values())[0] == math.inf:
        MECHANISMS[name].designed(designed(min(seen)))  # says by name why there is none
        return designed(min(seen)) if aim is Aim.MOST else _best_selection(name, base, question, Aim.MOST)
    here = min(seen, key=seen.__getitem__)
    while True:
        seen |= {point: rank(point) for point in _neighbours(here, numbers[-1])}
        better = min(seen, key=seen.__getitem__)
        if seen[better] >= seen[here]:
            break
        here = better
    last = sorted(seen, key=seen.__getitem__)[:_FINALISTS]
    if all(is_exact(designed(point)) for point in last):
        last.sort(key=lambda point: scored(point, exact=True) or (math.inf, math.inf))
    return designed(last[0])


def _neighbours(point: Point, most: int) -> list[Point]:
    k, share = point
    steps = {1, max(1, k // 32), max(1, k // 8)}
    numbers = {k, *(k + step for step in steps), *(k - step for step in steps)}
    shares = (share - 1, share, share + 1)
    return [(n, s) for n in sorted(numbers) if 1 <= n <= most for s in shares if 1 <= s < 1 / SHARE_STEP]


def _score(name: str, design: Design, question: Question, aim: Aim, *, exact: bool) -> Score:
    """Expected supported statements emitted, negative; or the lowest count, and how surely it is emitted."""
    if aim is Aim.MOST:
        return -round(expected_emitted(name, design, question, exact=exact)[1], 9), 0.0
    chosen = cast(Selecting, MECHANISMS[name].designed(design))
    rough = _emits(chosen, estimated_probe(chosen, *question.beside), question)
    chance = _emits(chosen, selection_probability(chosen, *question.beside), question) if exact else rough
    guess = _first_count(rough, design.n)
    count = smallest(design.n, 0, lambda at: chance(at) >= LOWEST_AT, guess)
    return (math.inf, 0.0) if count is None else (float(count), -round(chance(count), 9))


def _emits(chosen: Selecting, is_selected: Callable[[int], float], question: Question) -> Callable[[int], float]:
    """Pr[emit] of one statement beside others, where it is LOWEST_AT or more; a lower value below."""

    @cache
    def chance(count: int) -> float:
        reached = _chance(chosen.certifier, count, question)
        return 0.0 if reached < LOWEST_AT else reached * is_selected(count)

    return chance


def _first_count(chance: Callable[[int], float], n: int) -> int | None:
    return smallest(n, 0, lambda count: chance(count) >= LOWEST_AT)


def _chance(chosen: Mechanism, count: int, question: Question) -> float:
    return float(chosen.emit_probabilities([count], question.design.n, question.theta)[0])
