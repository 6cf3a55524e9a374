"""Generated record x statement pairs: records written from a grammar, so that the right verdict is known.

A record is a few sentences about some families (aspects with two sides, topics that are said or denied) among fillers;
a statement is about one family, present or not. Every sixth entry of a list and whole families are for evaluation only.
"""

import math
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from data import CONTRADICTION, ENTAILMENT, NEUTRAL, NOT_ENTAILMENT, Pair

HERE = Path(__file__).parent
CHOICE = re.compile(r"\{([^{}]*)\}")
SIDES = ("good", "bad")
OTHER = {"good": "bad", "bad": "good", "said": "denied", "denied": "said"}
FILES = ("topics.yaml", "more.yaml", "wider.yaml")  # beside grammar.yaml
MENTION_SHARE = 0.12  # of facts on an aspect: spoken of, without a side
EVERY = 6  # one entry in EVERY of a list of at least EVERY entries is held out


def expand(template: str, rng: random.Random) -> str:
    """The template with every {a|b} replaced by one of its alternatives, innermost first."""
    while (match := CHOICE.search(template)) is not None:
        template = template[: match.start()] + rng.choice(match[1].split("|")) + template[match.end() :]
    return template


def sentence(text: str) -> str:
    """The text with a capital at its start and single spaces."""
    text = " ".join(text.split())
    return text[:1].upper() + text[1:]


def each(family: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The family itself, or one family per value of its `each`, with the value in place of D."""
    if "each" not in family:
        return [family]
    return [
        {
            name: [re.sub(r"\bD\b", value, entry) for entry in entries] if isinstance(entries, list) else entries
            for name, entries in family.items()
            if name not in ("each", "related")
        }
        | {"key": f"{family['key']} {value}", "related": family.get("related", [])}
        for value in family["each"]
    ]


@dataclass(frozen=True)
class Fact:
    """One sentence of a record: what it is about and which side it takes ("good", "bad", "said", "denied").

    side "mention": it is spoken of, and no side taken."""

    key: str
    side: str
    text: str


class Grammar:
    """The two grammar files, restricted to the entries for training or those for evaluation."""

    def __init__(self, evaluation: bool, new_families: bool = False, present: float = 0.62) -> None:
        """evaluation: held-out entries instead of the trained ones; new_families: held-out families only.

        present: share of statements about something that the record speaks of; lower in a real audit, and a model
        trained with less says yes less often.
        """
        self.evaluation, self.new_families, self.present = evaluation, new_families, present
        words: dict[str, Any] = yaml.safe_load((HERE / "grammar.yaml").read_text(encoding="utf-8"))
        files = [yaml.safe_load((HERE / name).read_text(encoding="utf-8")) for name in FILES]
        self.words = words | {"mention_frames": files[-1]["mention_frames"]}
        families = [
            family for file in (words, *files) for part in ("aspects", "topics") for family in file.get(part, ())
        ]
        self.families: list[Mapping[str, Any]] = [one for family in families for one in each(family)]
        self.domains: dict[str, list[Mapping[str, Any]]] = {}
        for family in self.families:
            if evaluation or not family.get("held_out", False):
                for domain in _listed(family["domain"]):
                    self.domains.setdefault(domain, []).append(family)

    def entries(self, entries: Sequence[str], family: Mapping[str, Any] | None = None) -> list[str]:
        """The part of a list that this grammar may use; short lists and held-out families are used whole."""
        if len(entries) < EVERY or (family is not None and family.get("held_out", False)):
            return list(entries)
        return [entry for place, entry in enumerate(entries) if (place % EVERY == EVERY - 1) == self.evaluation]

    def fact(self, family: Mapping[str, Any], side: str, rng: random.Random) -> Fact:
        """A sentence that takes this side on this family."""
        if side == "mention":
            frame = expand(rng.choice(self.entries(self.words["mention_frames"])), rng)
            return Fact(family["key"], side, sentence(re.sub(r"\bN\b", rng.choice(family["names"]), frame)))
        said = self.entries(family.get(f"{side}_said", family.get(side, ())) if side in SIDES else family[side], family)
        if side in SIDES and "subjects" in family and rng.random() < 0.6:
            unmet = side == "bad" and rng.random() < 0.2
            frame = expand(rng.choice(self.entries(self.words["unmet_frames" if unmet else "frames"])), rng)
            subject = rng.choice(self.entries(family["subjects"], family))
            subject = expand(subject, rng)
            good, bad = rng.choice(family[side]), rng.choice(family[OTHER[side]])
            slots = {"S": subject, "G": expand(good, rng), "B": expand(bad, rng)}
            return Fact(family["key"], side, sentence(re.sub(r"\b[SGB]\b", lambda found: slots[found[0]], frame)))
        return Fact(family["key"], side, sentence(expand(rng.choice(said), rng)))

    def statement(self, family: Mapping[str, Any], side: str, who: str, rng: random.Random) -> str:
        """A statement that is entailed by this side; side "any" only says that the family is mentioned."""
        if side == "said":
            form = rng.choice(self.entries(family["statements"], family))
        elif side == "any":
            form = rng.choice(self.entries(self.words["mention_forms"]))
        else:
            own = self.entries(family[f"{side}_statements"], family)
            general = [] if family.get("no_forms") else self.entries(self.words[f"{side}_forms"])
            form = rng.choice(own if not general or rng.random() < 0.5 else general)
        slots = {"W": who, "N": rng.choice(family["names"]) if "names" in family else ""}
        return sentence(re.sub(r"\b[WN]\b", lambda found: slots[found[0]], expand(form, rng)))

    def record(self, domain: str, rng: random.Random) -> list[Fact]:
        """One to six facts of a domain, at most one per family."""
        families = self.domains[domain]
        few = domain in ("ticket", "prompt", "court")
        wanted = min(len(families), rng.choice((1, 1, 1, 2, 2, 3) if few else (1, 2, 2, 3, 3, 4, 5, 6)))
        return [self.fact(family, self._side(family, rng), rng) for family in rng.sample(families, wanted)]

    def _side(self, family: Mapping[str, Any], rng: random.Random) -> str:
        if "said" in family:
            return "said" if rng.random() < 0.85 else "denied"
        if "names" in family and not family.get("no_forms") and rng.random() < MENTION_SHARE:
            return "mention"
        return rng.choice(SIDES)

    def pair(self, distractors: Sequence[str], rng: random.Random) -> Pair | None:
        """A record, a statement (one in seven a conjunction) and the verdict; None where that is open to dispute."""
        weights = [math.sqrt(len(families)) for families in self.domains.values()]
        (domain,) = rng.choices(list(self.domains), weights)
        facts = self.record(domain, rng)
        sides = {fact.key: fact.side for fact in facts}
        who = expand(rng.choice(self.words["who"]["review"] + self.words["who"].get(domain, [])), rng)
        asked = self._ask(domain, sides, who, rng)
        if asked is not None and rng.random() < 1 / 7:
            asked = conjunction(asked, self._ask(domain, sides, who, rng))
        if asked is None:
            return None
        return Pair(self._text(domain, facts, distractors, rng), *asked)

    def _ask(self, domain: str, sides: Mapping[str, str], who: str, rng: random.Random) -> tuple[str, int] | None:
        present = [family for family in self.domains[domain] if family["key"] in sides]
        absent = [family for family in self.domains[domain] if family["key"] not in sides]
        family = rng.choice(present if rng.random() < self.present or not absent else absent)
        if self.new_families != bool(family.get("held_out", False)) and self.evaluation:
            return None
        side = "said" if "said" in family else rng.choice((*SIDES, *SIDES, "any"))
        if side == "any" and family.get("no_forms"):
            return None
        label = _verdict(family, side, sides, present)
        return None if label is None else (self.statement(family, side, who, rng), label)

    def unrelated(self, domains: Sequence[str], rng: random.Random) -> str:
        """A statement about one family of these domains, for a record that is about something else."""
        families = [one for name in domains for one in self.domains[name] if one["key"] not in self.words["general"]]
        family = rng.choice(families)
        side = "said" if "said" in family else "any" if rng.random() < 0.2 else rng.choice(SIDES)
        return self.statement(family, side, rng.choice(self.words["who"]["review"]), rng)

    def _text(self, domain: str, facts: Sequence[Fact], distractors: Sequence[str], rng: random.Random) -> str:
        parts = [fact.text for fact in facts]
        if domain not in ("prompt", "court"):
            fillers = self.entries(self.words["fillers"])
            parts += [sentence(expand(rng.choice(fillers), rng)) for _ in range(rng.choice((0, 0, 1, 1, 2)))]
        if distractors and rng.random() < 0.2:
            parts += [rng.choice(distractors) for _ in range(rng.choice((1, 1, 2)))]
        rng.shuffle(parts)
        text = " ".join(parts)
        return text.lower() if rng.random() < 0.1 else text


def conjunction(first: tuple[str, int], second: tuple[str, int] | None) -> tuple[str, int] | None:
    """Both statements in one, if they share their subject ("The reviewer"); entailed if both are."""
    if second is None or first[0].split()[:2] != second[0].split()[:2] or first[0] == second[0]:
        return None
    labels = {first[1], second[1]}
    label = CONTRADICTION if CONTRADICTION in labels else NEUTRAL if NEUTRAL in labels else ENTAILMENT
    return f"{first[0][:-1]} and {second[0].split(maxsplit=2)[2]}", label


def _verdict(
    family: Mapping[str, Any], side: str, sides: Mapping[str, str], present: Sequence[Mapping[str, Any]]
) -> int | None:
    taken = sides.get(family["key"])
    if taken == "mention" and side != "any":
        return NEUTRAL
    if taken is not None:
        return ENTAILMENT if side in ("any", taken) else CONTRADICTION
    if any(_related(family, other) for other in present):
        return None
    if family.get("only_when_mixed") and len(set(sides.values()) & set(SIDES)) == 1:
        return None
    return NEUTRAL


def _related(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    if "group" in one and one.get("group") == other.get("group"):
        return False  # the pizza says nothing about the pasta
    return any(
        name in second.get("related", ())
        for first, second in ((one, other), (other, one))
        for name in (first["key"], first.get("group"))
    )


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def generate(count: int, seed: int, distractors: Sequence[str] = (), grammar: Grammar | None = None) -> list[Pair]:
    """`count` generated pairs; the same seed gives the same pairs."""
    rng = random.Random(seed)
    grammar = grammar or Grammar(evaluation=False)
    pairs: list[Pair] = []
    while len(pairs) < count:
        pair = grammar.pair(distractors, rng)
        if pair is not None:
            pairs.append(pair)
    return pairs


FELT = {
    True: ["satisfied", "pleased", "happy", "positive about it", "content", "full of praise"],
    False: ["dissatisfied", "displeased", "unhappy", "negative about it", "disappointed", "critical"],
}
ELSEWHERE = {  # domains that a sentence of this source does not speak of
    "imdb": ("restaurant", "airline", "ticket", "hotel", "court", "clinic"),
    "yelp": ("airline", "court", "clothing", "film", "prompt"),
    "amazon_cells": ("restaurant", "airline", "hotel", "court", "film"),
}


def ask(row: tuple[str, bool, str], grammar: Grammar, rng: random.Random) -> list[Pair]:
    """Statements on a real review sentence (source, is positive, text): its side, the other side, something else."""
    source, positive, text = row
    who = rng.choice(grammar.words["who"]["review"])
    return [
        Pair(text, f"{who} is {rng.choice(FELT[positive])}.", ENTAILMENT),
        Pair(text, f"{who} is {rng.choice(FELT[not positive])}.", NOT_ENTAILMENT),
        Pair(text, grammar.unrelated(ELSEWHERE[source], rng), NOT_ENTAILMENT),
    ]
