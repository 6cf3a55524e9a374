"""A domain file: public tag values, the sentences they make, and the words that give them away.

One YAML file a domain (schemas/domains/NAME.yaml, or a user's own). `docs/domains.md` explains every key.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from schemas.corpora import PublicName
from schemas.values import Whole

MAX_COMBINATIONS = 100_000  # as many as one audit may ask
MAX_STATEMENT_CHARACTERS = 500
_SLOT = re.compile(r"\{([^{}]*)\}")
_KEY = re.compile(r"[a-z][a-z0-9_]{0,39}\Z")
_BIDI_CONTROLS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def unprintable(text: str) -> str | None:
    """Why `text` cannot be shown as one line (a control character, a lone surrogate, ...), or None when it can."""
    for character in text:
        category = unicodedata.category(character)
        if category in {"Cc", "Zl", "Zp"}:
            return f"has the control character U+{ord(character):04X}"
        if category == "Cs":
            return "has a lone surrogate"
        if character in _BIDI_CONTROLS:
            return f"has the direction override U+{ord(character):04X}"
    return None


def _written_as_text(value: object) -> str:
    if not isinstance(value, str):
        kind = type(value).__name__
        raise ValueError(f"must be text, not {kind}: put it in quotes (YAML reads no, yes, on, off and 12 as values)")
    return value


def _sentence_part(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be empty")
    if text != text.strip() or "  " in text:
        raise ValueError("must have no outer and no double spaces")
    if len(text) > MAX_STATEMENT_CHARACTERS:
        raise ValueError(f"must have at most {MAX_STATEMENT_CHARACTERS} characters")
    if reason := unprintable(text):
        raise ValueError(reason)
    return unicodedata.normalize("NFC", text)


def _pattern(text: str) -> str:
    """Words with single spaces, apostrophes or hyphens between them; a word may end in * for any ending."""
    for word in text.replace("-", " ").split(" "):
        stem = word.removesuffix("*")
        if not all(c in "'’" or c.isalnum() or unicodedata.category(c).startswith("M") for c in stem):
            raise ValueError(f"'{text}' must consist of words, spaces, apostrophes, hyphens and * at the end of a word")
        if not any(c.isalnum() for c in stem) or (stem != word and len(stem) < 3):
            raise ValueError(f"'{text}' has an empty word, or fewer than 3 letters before a *")
    return text


def _key(text: str) -> str:
    if not _KEY.match(text):
        raise ValueError(f"'{text}' must be 1 to 40 of a-z, 0-9 and '_', starting with a letter")
    return text


def _each_once(items: tuple[str, ...]) -> tuple[str, ...]:
    twice = [item for item, times in Counter(items).items() if times > 1]
    if twice:
        raise ValueError(f"'{twice[0]}' is given twice")
    return items


Key = Annotated[str, BeforeValidator(_written_as_text), AfterValidator(_key)]
Phrase = Annotated[str, BeforeValidator(_written_as_text), AfterValidator(_sentence_part)]
Pattern = Annotated[Phrase, AfterValidator(_pattern)]
Patterns = Annotated[tuple[Pattern, ...], AfterValidator(_each_once)]
Keys = Annotated[tuple[Key, ...], AfterValidator(_each_once)]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class UnitWords(_Strict):
    """What one protected unit is called in a sentence."""

    singular: Phrase
    plural: Phrase


class TagValue(_Strict):
    """One value of a dimension: how it reads in a statement, and its keyword rule."""

    phrase: Phrase
    """Put into a template in the place of {dimension}."""
    words: Patterns = Field(min_length=1)
    """Words and phrases that show this value in a record."""
    opposite: Key | None = None
    """Value of the same dimension that a negated word of this one shows ('not good' shows bad)."""
    says: dict[Key, dict[Key, Patterns]] = {}
    """Words that show this value and a value of another dimension at once: {opinion: {bad: [overpriced]}}."""


class Dimension(_Strict):
    """Alternatives of one kind: aspects, opinions, countries."""

    near: Keys = ()
    """Dimensions this one is said of: when a statement has both, their words must stand close together."""
    negatable: Annotated[bool, Field(strict=True)] = False
    """A word of this dimension does not count (or counts for its opposite) when a negation stands before it."""
    values: dict[Key, TagValue] = Field(min_length=1)


class Template(_Strict):
    """A sentence with {dimension} slots, all values of each slot or only the listed ones."""

    text: Phrase
    only: dict[Key, Annotated[Keys, Field(min_length=1)]] = {}

    @property
    def slots(self) -> tuple[str, ...]:
        """Dimensions in the order of the sentence."""
        return tuple(_SLOT.findall(self.text))


class KeywordRule(_Strict):
    """How words of a record are put together, for all values of a domain."""

    window: Whole = Field(ge=1, le=50)
    """Most words between the starts of two words that belong together (`near`)."""
    negation_window: Whole = Field(ge=0, le=20)
    """How many words before a word a negation reaches."""
    negations: Patterns
    """Single words that negate what follows."""
    not_negations: Patterns = ()
    """Phrases that start with a negation and negate nothing: 'not only'."""
    clause_words: Patterns = ()
    """Single words that start a new clause, beside the punctuation marks . ! ? ; : ( ) and line ends."""
    comma_ends_clause: Annotated[bool, Field(strict=True)] = False

    @model_validator(mode="after")
    def _single_words(self) -> Self:
        for word in (*self.negations, *self.clause_words):
            if " " in word or "-" in word or "*" in word:
                raise ValueError(f"'{word}' must be a single word without *")
        return self


Value = tuple[str, str]
"""(dimension, value)."""
Fact = tuple[Value, ...]
"""One value, or (the thing, what is said of it)."""


@dataclass(frozen=True, slots=True)
class Combination:
    """One statement of a domain: its text (NFC) and the (dimension, value) pairs it asserts, in sentence order."""

    text: str
    values: tuple[Value, ...]


class DomainFile(_Strict):
    """A whole domain; a wrong file is refused with the place of the fault."""

    name: PublicName
    language: Annotated[str, BeforeValidator(_written_as_text), Field(pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$")]
    """Language tag of statements and words, e.g. en or pt-BR."""
    unit_words: UnitWords
    seed: Whole = Field(ge=0, le=2**63 - 1)
    """Belongs to the domain's public draw of statements, together with the seed of the audit."""
    keyword: KeywordRule
    dimensions: dict[Key, Dimension] = Field(min_length=1)
    templates: tuple[Template, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _references_exist(self) -> Self:
        for name, dimension in self.dimensions.items():
            for target in dimension.near:
                if target == name or target not in self.dimensions or self.dimensions[target].near:
                    raise ValueError(
                        f"dimension '{name}': near: '{target}' must be another dimension that has no `near` itself"
                    )
        for name, dimension in self.dimensions.items():
            self._check_values(name, dimension)
        for template in self.templates:
            self._check_template(template)
        for name in set(self.dimensions) - {slot for template in self.templates for slot in template.slots}:
            raise ValueError(f"dimension '{name}' is in no template")
        return self

    @model_validator(mode="after")
    def _statements_are_distinct(self) -> Self:
        size = sum(math.prod(len(self._choices(t, slot)) for slot in t.slots) for t in self.templates)
        if size > MAX_COMBINATIONS:
            raise ValueError(f"templates make {size} statements, more than {MAX_COMBINATIONS}: use `only`")
        seen: set[str] = set()
        for combination in self.combinations():
            if combination.text in seen:
                raise ValueError(f"statement '{combination.text}' is made twice")
            if not 3 <= len(combination.text) <= MAX_STATEMENT_CHARACTERS:
                raise ValueError(
                    f"statement '{combination.text[:40]}' must have 3 to {MAX_STATEMENT_CHARACTERS} characters"
                )
            seen.add(combination.text)
        return self

    def _check_values(self, name: str, dimension: Dimension) -> None:
        where = f"dimension '{name}'"
        for phrase, times in Counter(value.phrase for value in dimension.values.values()).items():
            if times > 1:
                raise ValueError(f"{where}: two values have the phrase '{phrase}'")
        for key, value in dimension.values.items():
            if value.opposite is not None and (value.opposite == key or value.opposite not in dimension.values):
                raise ValueError(f"{where}: {key}: opposite '{value.opposite}' must be another value of the dimension")
            if value.opposite is not None and not dimension.negatable:
                raise ValueError(f"{where}: {key}: opposite needs `negatable: true`")
            for other, words in value.says.items():
                if other not in self.dimensions or name not in self.dimensions[other].near:
                    raise ValueError(f"{where}: {key}: says: '{other}' must be a dimension that is near '{name}'")
                for missing in set(words) - set(self.dimensions[other].values):
                    raise ValueError(f"{where}: {key}: says: '{missing}' is no value of '{other}'")

    def _check_template(self, template: Template) -> None:
        where = f"template '{template.text}'"
        if "{" in _SLOT.sub("", template.text) or "}" in _SLOT.sub("", template.text):
            raise ValueError(f"{where} has a stray brace")
        if not template.slots:
            raise ValueError(f"{where} names no dimension")
        for slot, times in Counter(template.slots).items():
            if slot not in self.dimensions:
                raise ValueError(f"{where} names the unknown dimension '{slot}'")
            if times > 1:
                raise ValueError(f"{where} names the dimension '{slot}' twice")
        for slot, keys in template.only.items():
            if slot not in template.slots:
                raise ValueError(f"{where}: only: '{slot}' is not in the sentence")
            for missing in set(keys) - set(self.dimensions[slot].values):
                raise ValueError(f"{where}: only: '{missing}' is no value of '{slot}'")

    def _choices(self, template: Template, slot: str) -> tuple[str, ...]:
        allowed = template.only.get(slot)
        return tuple(key for key in self.dimensions[slot].values if allowed is None or key in allowed)

    def combinations(self) -> Iterator[Combination]:
        """Every statement of the domain: templates in file order, the last slot of a sentence varies fastest."""
        for template in self.templates:
            slots = template.slots
            for keys in product(*(self._choices(template, slot) for slot in slots)):
                phrases = {s: self.dimensions[s].values[k].phrase for s, k in zip(slots, keys, strict=True)}
                text = unicodedata.normalize("NFC", template.text.format_map(phrases))
                yield Combination(text, tuple(zip(slots, keys, strict=True)))

    def facts(self, combination: Combination) -> tuple[Fact, ...]:
        """What a statement asserts: pairs where one value is said of another (`near`), single values for the rest."""
        pairs: list[Fact] = []
        for said in combination.values:
            pairs += [(thing, said) for thing in combination.values if thing[0] in self.dimensions[said[0]].near]
        paired = {value for pair in pairs for value in pair}
        return (*pairs, *((value,) for value in combination.values if value not in paired))
