"""A synthetic corpus of restaurant reviews whose supports are known, for demos, tests and studies.

Every review is made from facts ("liked the food", "had to wait"), each put into one of several wordings. An author
supports a statement when one of the author's reviews has all facts that the statement asserts, stated or implied.
The seeded generator here makes public, invented text; it is no noise and touches no private data.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from schemas.domain_files import Fact
from schemas.errors import UserError
from schemas.statements import Statement
from tasks.corpora import synthetic_wording as wording
from tasks.statements.domains import Domain
from tasks.statements.tag_template import all_statements

DOMAIN = "restaurant-reviews"
MAX_REVIEWS = 4

REVIEWS = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("author", pa.string(), nullable=False),
        pa.field("text", pa.string(), nullable=False),
    ]
)
KNOWN_SUPPORTS = pa.schema(
    [
        pa.field("statement_id", pa.string(), nullable=False),
        pa.field("statement", pa.string(), nullable=False),
        pa.field("units", pa.int64(), nullable=False),  # authors that support it
        pa.field("support", pa.float64(), nullable=False),  # units / authors
    ]
)
COMPARISON = pa.schema(
    [
        pa.field("statement_id", pa.string(), nullable=False),
        pa.field("statement", pa.string(), nullable=False),
        pa.field("known_units", pa.int64(), nullable=False),
        pa.field("estimated_units", pa.int64(), nullable=False),
        pa.field("missed_units", pa.int64(), nullable=False),  # support it, and the model says no
        pa.field("false_units", pa.int64(), nullable=False),  # do not, and the model says yes
        pa.field("agreement", pa.float64(), nullable=False),  # share of units with the right verdict
    ]
)

# Share of reviews that speak of an aspect, before the cut at MAX_OPINIONS.
_ASPECT_RATES = {
    "food": 0.62, "service": 0.36, "atmosphere": 0.24, "prices": 0.22, "restaurant": 0.2, "friendliness": 0.15,
    "speed": 0.1, "drinks": 0.1, "menu": 0.09, "portions": 0.08, "location": 0.08, "desserts": 0.07, "decor": 0.06,
    "noise": 0.05, "freshness": 0.05, "seating": 0.04, "wine": 0.04, "presentation": 0.03, "cleanliness": 0.03,
    "parking": 0.02,
}  # fmt: skip
_GROUPS = {  # opinions of one group agree within a review, so that no review contradicts itself
    "food": "food", "freshness": "food", "desserts": "food",
    "service": "service", "friendliness": "service", "speed": "service",
    "drinks": "drinks", "wine": "drinks",
}  # fmt: skip
_MOODS = (("good", 0.6), ("mixed", 0.24), ("bad", 0.16))
_LIKE_RATES = {"good": 0.95, "mixed": 0.5, "bad": 0.07}
_EXPERIENCE_RATES = {"good": 0.14, "mixed": 0.3, "bad": 0.5}
_PLEASANT = ("free_item", "leftovers", "outside", "sold_out")
_SPOILS = {
    "cold": "food", "undercooked": "food", "overcooked": "food", "sent_back": "food", "ill": "food",
    "waited": "service", "wrong_order": "service", "ignored": "service", "rushed": "service",
}  # fmt: skip
_VERDICTS = {
    "good": ("back", "back", "recommends", "recommends", "regular", "first_time"),
    "mixed": ("first_time", "regular", "declined", "expected_more"),
    "bad": ("not_back", "not_back", "avoid", "avoid", "declined", "expected_more"),
}
_VERDICT_RATE = 0.5
_OCCASION_RATE = 0.45
_DISH_RATE = 0.35
_FILLER_RATE = 0.35
_MENTION_RATE = 0.1
MAX_OPINIONS = 4

_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class _Review:
    """One review: whose it is (0, 1, ...), its text, and all facts it states or implies."""

    author: int
    text: str
    facts: frozenset[Fact]


def synthetic_reviews(authors: int, seed: int, domain: Domain) -> pa.Table:
    """Reviews (REVIEWS), 1 to 4 for each of `authors` authors; equal arguments give equal tables.

    Author ids sort in the order of generation, so unit index i of a registered corpus is row i of `known_verdicts`.
    Raises UserError for a domain other than restaurant-reviews, which alone has wordings.
    """
    reviews = _reviews(authors, seed, domain)
    columns = [
        [f"review-{number:07d}" for number in range(len(reviews))],
        [f"author-{review.author:06d}" for review in reviews],
        [review.text for review in reviews],
    ]
    return pa.table(dict(zip(REVIEWS.names, columns, strict=True)), schema=REVIEWS)


def known_verdicts(authors: int, seed: int, domain: Domain, statements: Sequence[Statement]) -> NDArray[np.bool_]:
    """Which author supports which statement, by construction; shape (authors, len(statements)).

    Raises UserError for a statement that is not one of the domain's.
    """
    facts = {Statement.of(c.text).statement_id: domain.file.facts(c) for c in domain.file.combinations()}
    unknown = [statement.text for statement in statements if statement.statement_id not in facts]
    if unknown:
        raise UserError(f"synthetic corpus: {unknown[0]!r} is no statement of the domain {domain.name}")
    asked = [frozenset(facts[statement.statement_id]) for statement in statements]
    answer = np.zeros((authors, len(statements)), dtype=np.bool_)
    for review in _reviews(authors, seed, domain):
        answer[review.author] |= [asserted <= review.facts for asserted in asked]
    return answer


def known_supports(authors: int, seed: int, domain: Domain, statements: Sequence[Statement] | None = None) -> pa.Table:
    """How many authors support each statement (KNOWN_SUPPORTS); all statements of the domain unless some are given."""
    asked = all_statements(domain) if statements is None else list(statements)
    units = known_verdicts(authors, seed, domain, asked).sum(axis=0)
    columns = [
        [statement.statement_id for statement in asked],
        [statement.text for statement in asked],
        units.tolist(),
        (units / authors).tolist(),
    ]
    return pa.table(dict(zip(KNOWN_SUPPORTS.names, columns, strict=True)), schema=KNOWN_SUPPORTS)


def compare_with_known(
    estimated: NDArray[np.bool_], known: NDArray[np.bool_], statements: Sequence[Statement]
) -> pa.Table:
    """A model's verdicts on units beside the known ones (COMPARISON); both of shape (units, len(statements))."""
    if estimated.shape != known.shape or known.ndim != 2 or known.shape[1] != len(statements) or not len(known):
        raise ValueError("estimated and known must have one shape, (units, statements), with at least one unit")
    columns = [
        [statement.statement_id for statement in statements],
        [statement.text for statement in statements],
        known.sum(axis=0).tolist(),
        estimated.sum(axis=0).tolist(),
        (known & ~estimated).sum(axis=0).tolist(),
        (estimated & ~known).sum(axis=0).tolist(),
        (estimated == known).mean(axis=0).tolist(),
    ]
    return pa.table(dict(zip(COMPARISON.names, columns, strict=True)), schema=COMPARISON)


def _reviews(authors: int, seed: int, domain: Domain) -> list[_Review]:
    if domain.name != DOMAIN:
        raise UserError(f"synthetic corpus: there are wordings for the domain {DOMAIN} only, not for {domain.name}")
    if authors < 1:
        raise UserError("synthetic corpus: authors must be at least 1")
    chance = _Chance(f"{domain.name}/{seed}")
    return [_review(author, chance) for author in range(authors) for _ in range(1 + chance.below(MAX_REVIEWS))]


class _Chance:
    """Draws that use random() only, the one method whose sequence Python promises to keep."""

    def __init__(self, label: str) -> None:
        self._random = random.Random(label).random  # noqa: S311 - invented text, no noise

    def happens(self, rate: float) -> bool:
        return self._random() < rate

    def below(self, bound: int) -> int:
        return int(self._random() * bound)

    def one_of(self, items: Sequence[_Item]) -> _Item:
        return items[self.below(len(items))]

    def shuffled(self, items: Sequence[_Item]) -> list[_Item]:
        rest = list(items)
        return [rest.pop(self.below(len(rest))) for _ in items]

    def weighted(self, items: Sequence[tuple[str, float]]) -> str:
        point = self._random() * sum(weight for _, weight in items)
        for item, weight in items:
            point -= weight
            if point < 0:
                return item
        return items[-1][0]


def _review(author: int, chance: _Chance) -> _Review:
    mood = chance.weighted(_MOODS)
    first: list[tuple[str, Fact | None]] = []
    if chance.happens(_FILLER_RATE):
        first.append((chance.one_of(wording.FILLERS), None))
    if chance.happens(_OCCASION_RATE):
        first.append(_said("occasion", chance.one_of(tuple(wording.OCCASIONS)), wording.OCCASIONS, chance))
    last: list[tuple[str, Fact | None]] = []
    if chance.happens(_VERDICT_RATE):
        last.append(_said("verdict", chance.one_of(_VERDICTS[mood]), wording.VERDICTS, chance))
    sentences = [*first, *chance.shuffled(_body(mood, chance)), *last]
    if all(fact is None for _, fact in sentences):
        sentences.append(_opinion("food", "likes" if mood == "good" else "dislikes", chance))
    text = " ".join(sentence for sentence, _ in sentences)
    return _Review(author, text, _closure({fact for _, fact in sentences if fact is not None}))


def _body(mood: str, chance: _Chance) -> list[tuple[str, Fact | None]]:
    """Experience, opinions of aspects and of a dish, a mention; no two of them contradict each other."""
    sentences: list[tuple[str, Fact | None]] = []
    opinions: dict[str, str] = {}
    if chance.happens(_EXPERIENCE_RATES[mood]):
        choices = _PLEASANT if mood == "good" else tuple(wording.EXPERIENCES)
        experience = chance.one_of(choices)
        sentences.append(_said("experience", experience, wording.EXPERIENCES, chance))
        if experience in _SPOILS:
            opinions[_SPOILS[experience]] = "dislikes"

    def opinion_of(group: str) -> str:
        return opinions.setdefault(group, "likes" if chance.happens(_LIKE_RATES[mood]) else "dislikes")

    aspects = [aspect for aspect, rate in _ASPECT_RATES.items() if chance.happens(rate)]
    for aspect in chance.shuffled(aspects)[:MAX_OPINIONS]:
        if aspect == "restaurant":
            if mood != "mixed":
                sentences.append(_opinion(aspect, "likes" if mood == "good" else "dislikes", chance))
        else:
            sentences.append(_opinion(aspect, opinion_of(_GROUPS.get(aspect, aspect)), chance))
    if chance.happens(_DISH_RATE):
        sentences.append(_dish(chance.one_of(tuple(wording.DISHES)), opinion_of("food"), chance))
    if chance.happens(_MENTION_RATE):
        mentioned = chance.one_of(tuple(wording.MENTIONS))
        sentences.append((chance.one_of(wording.MENTIONS[mentioned]), (("aspect", mentioned),)))
    return sentences


def _said(
    dimension: str, key: str, wordings: Mapping[str, tuple[str, ...]], chance: _Chance
) -> tuple[str, Fact | None]:
    return chance.one_of(wordings[key]), ((dimension, key),)


def _opinion(aspect: str, opinion: str, chance: _Chance) -> tuple[str, Fact | None]:
    wordings = wording.LIKES if opinion == "likes" else wording.DISLIKES
    return chance.one_of(wordings[aspect]), (("aspect", aspect), ("opinion", opinion))


def _dish(dish: str, opinion: str, chance: _Chance) -> tuple[str, Fact | None]:
    noun = chance.one_of(wording.DISHES[dish])
    if chance.happens(0.2):
        return chance.one_of(wording.DISH_MENTIONS).format(dish=noun), (("dish", dish),)
    wordings = wording.DISH_LIKES if opinion == "likes" else wording.DISH_DISLIKES
    return chance.one_of(wordings).format(dish=noun), (("dish", dish), ("opinion", opinion))


def _of(aspect: str, opinion: str) -> Fact:
    return (("aspect", aspect), ("opinion", opinion))


IMPLIES: dict[Fact, tuple[Fact, ...]] = {
    **{_of(part, o): (_of(whole, o),) for o in ("likes", "dislikes") for part, whole in (
        ("freshness", "food"), ("desserts", "food"), ("friendliness", "service"), ("speed", "service"),
        ("wine", "drinks"),
    )},
    **{(("dish", dish), ("opinion", o)): (_of("drinks" if dish == "coffee" else "food", o),)
       for dish in wording.DISHES for o in ("likes", "dislikes")},
    **{(("experience", key),): (_of("food", "dislikes"),) for key, group in _SPOILS.items() if group == "food"},
    **{(("experience", key),): (_of("service", "dislikes"),) for key, group in _SPOILS.items() if group == "service"},
    (("experience", "waited"),): (_of("speed", "dislikes"),),
    (("verdict", "back"),): (_of("restaurant", "likes"),),
    (("verdict", "recommends"),): (_of("restaurant", "likes"),),
    (("verdict", "not_back"),): (_of("restaurant", "dislikes"),),
    (("verdict", "avoid"),): (_of("restaurant", "dislikes"),),
}  # fmt: skip
"""What a stated fact implies besides: who liked the pizza liked the food; applied until nothing is added."""


def _closure(stated: set[Fact]) -> frozenset[Fact]:
    """The stated facts, all they imply, and for each opinion of a thing that the thing is mentioned."""
    known: set[Fact] = set()
    waiting = list(stated)
    while waiting:
        fact = waiting.pop()
        if fact not in known:
            known.add(fact)
            waiting += IMPLIES.get(fact, ())
            waiting += [(fact[0],)] if len(fact) == 2 else []
    return frozenset(known)
