"""The `keyword` support model: public words of a domain file decide (spec 1.9).

A record shows a tag value when it has one of the value's words, and shows "opinion about aspect" (`near`) when words
of both start at most `window` words apart in one clause. A word of a negatable dimension with a negation up to
`negation_window` words before it, in its clause, counts for the value's opposite, or not at all. A record supports a
statement when it shows everything that the statement asserts, anywhere in the record.
"""

import hashlib
import json
import re
import sys
import unicodedata
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from numpy.typing import NDArray

from schemas.domain_files import DomainFile, Fact, Pattern, Value
from schemas.errors import UserError
from schemas.statements import Statement
from tasks.statements.domains import Domain

_MARKS = frozenset(".!?;:,()\n")
ALGORITHM = "keyword-1"  # change it with every change of a verdict


class KeywordModel:
    """A frozen predicate made of the words in one domain file; a pure function of record and statement."""

    def __init__(self, domain: Domain) -> None:
        """Compile the rules of `domain`."""
        self._domain = domain
        self._matcher = _Matcher(domain.file)
        self._facts = {
            Statement.of(combination.text).text: domain.file.facts(combination)
            for combination in domain.file.combinations()
        }

    @property
    def name(self) -> str:
        """`keyword`, as in --model."""
        return "keyword"

    @property
    def fingerprint(self) -> str:
        """SHA-256 (hex) over the rules, this algorithm's version and the Unicode tables that split words."""
        rules = self._domain.file.model_dump(mode="json", include={"keyword", "dimensions", "templates"})
        covered = [ALGORITHM, unicodedata.unidata_version, rules]
        return hashlib.sha256(json.dumps(covered, sort_keys=True).encode()).hexdigest()

    @property
    def description(self) -> Mapping[str, str]:
        """Public facts for the certificate."""
        return {
            "revision": f"{self._domain.name} sha256 {self._domain.sha256}",
            "engine": f"{ALGORITHM}, Unicode {unicodedata.unidata_version}",
            "truncation": "none",
            "decision": "all tag values of the statement are shown by words of the record",
        }

    def verdicts(self, texts: Sequence[str], statements: Sequence[str]) -> NDArray[np.bool_]:
        """Which text supports which statement; shape (len(texts), len(statements)).

        Raises UserError for a statement that is not one of the domain's.
        """
        asked = [self._asserted(statement) for statement in statements]
        needed = list(dict.fromkeys(fact for facts in asked for fact in facts))
        position = {fact: index for index, fact in enumerate(needed)}
        columns = [[position[fact] for fact in facts] for facts in asked]
        answer = np.zeros((len(texts), len(statements)), dtype=np.bool_)
        for row, text in enumerate(texts):
            shown = np.array(self._matcher.shows(text, needed), dtype=np.bool_)
            if shown.any():
                answer[row] = [all(shown[column] for column in facts) for facts in columns]
        return answer

    def _asserted(self, statement: str) -> tuple[Fact, ...]:
        facts = self._facts.get(Statement.of(statement).text)
        if facts is None:
            raise UserError(
                f"model keyword: a statement is not of the domain {self._domain.name}: {statement[:80]!r}; "
                "choose an NLI model for other statements"
            )
        return facts


def tokens(text: str) -> list[str]:
    """Words (case folded, NFC, ' for every apostrophe) and clause marks (. ! ? ; : , ( ) and line ends) in order."""
    if text.isascii():  # the same as below, faster
        folded = text.lower()
    else:
        folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold()).replace("\u2019", "'")
    return _token_pattern().findall(folded.replace("_", " "))


@cache
def _token_pattern() -> re.Pattern[str]:
    # \w knows letters and digits but not the marks on them (Hindi vowels, Hebrew points): those must not split a word.
    marks = "".join(chr(c) for c in range(0x300, 0x20000) if unicodedata.category(chr(c)).startswith("M"))
    word = rf"[^\W_][\w{re.escape(marks)}]*"
    return re.compile(rf"{word}(?:'{word})*|[.!?;:,()\n]")


@dataclass(frozen=True, slots=True)
class _Entry:
    """A phrase without its first word, what it shows, and what it shows when negated (None: nothing)."""

    rest: tuple[str, ...]
    fact: Fact
    negated: Fact | None


@dataclass(slots=True)
class _Hits:
    """Where a fact's words start, ascending, and in which clause."""

    starts: list[int] = field(default_factory=list)
    clauses: list[int] = field(default_factory=list)


class _Matcher:
    """All phrases of a domain, looked up by their first word."""

    def __init__(self, file: DomainFile) -> None:
        self._rule = file.keyword
        self._negations = {_words(word)[0] for word in file.keyword.negations}
        self._not_negations = [_words(phrase) for phrase in file.keyword.not_negations]
        self._breaks = {*(_MARKS - {","}), *(_words(word)[0] for word in file.keyword.clause_words)}
        if file.keyword.comma_ends_clause:
            self._breaks.add(",")
        self._exact: dict[str, list[_Entry]] = defaultdict(list)
        self._by_prefix: dict[str, list[_Entry]] = defaultdict(list)
        for dimension, settings in file.dimensions.items():
            for key, value in settings.values.items():
                fact = ((dimension, key),)
                opposite = ((dimension, value.opposite),) if value.opposite else None
                self._add(value.words, fact, opposite if settings.negatable else fact)
                for other, said in value.says.items():
                    for said_key, words in said.items():
                        self._add(words, *self._joint(file, (dimension, key), (other, said_key)))
        self._prefix_lengths = sorted({len(prefix) for prefix in self._by_prefix})

    @staticmethod
    def _joint(file: DomainFile, thing: Value, said: Value) -> tuple[Fact, Fact | None]:
        dimension = file.dimensions[said[0]]
        opposite = dimension.values[said[1]].opposite
        if not dimension.negatable:
            return (thing, said), (thing, said)
        return (thing, said), ((thing, (said[0], opposite)) if opposite else None)

    def _add(self, patterns: Iterable[Pattern], fact: Fact, negated: Fact | None) -> None:
        for pattern in patterns:
            first, *rest = _words(pattern)
            table = self._by_prefix if first.endswith("*") else self._exact
            table[first.removesuffix("*")].append(_Entry(tuple(rest), fact, negated))

    def shows(self, text: str, facts: Sequence[Fact]) -> list[bool]:
        """For each fact, whether the text shows it."""
        hits = self._hits(text)
        mentioned = {value for fact in hits for value in fact}
        return [fact[0] in mentioned if len(fact) == 1 else self._pair(hits, fact) for fact in facts]

    def _pair(self, hits: Mapping[Fact, _Hits], pair: Fact) -> bool:
        if pair in hits:
            return True
        thing, said = hits.get((pair[0],)), hits.get((pair[1],))
        if thing is None or said is None:
            return False
        for start, clause in zip(thing.starts, thing.clauses, strict=True):
            low = bisect_left(said.starts, start - self._rule.window)
            high = bisect_right(said.starts, start + self._rule.window)
            if clause in said.clauses[low:high]:
                return True
        return False

    def _hits(self, text: str) -> dict[Fact, _Hits]:
        words, clauses = self._split(tokens(text))
        reach = self._negation_reach(words, clauses)
        candidates: dict[str, list[_Entry]] = {}
        hits: dict[Fact, _Hits] = {}
        for start, word in enumerate(words):
            entries = candidates.get(word)
            if entries is None:
                entries = candidates[word] = self._candidates(word)
            for entry in entries:
                if entry.rest and not _continues(words, clauses, start, entry.rest):
                    continue
                fact = entry.negated if reach[start] else entry.fact
                if fact is not None:
                    found = hits.setdefault(fact, _Hits())
                    found.starts.append(start)
                    found.clauses.append(clauses[start])
        return hits

    def _candidates(self, word: str) -> list[_Entry]:
        found = list(self._exact.get(word, ()))
        for length in self._prefix_lengths:
            if length > len(word):
                break
            found += self._by_prefix.get(word[:length], ())
        return found

    def _split(self, marked: list[str]) -> tuple[list[str], list[int]]:
        """Words without marks, and the number of each word's clause."""
        words: list[str] = []
        clauses: list[int] = []
        clause = 0
        for token in marked:
            if token in self._breaks:
                clause += 1
            if token not in _MARKS:
                words.append(token)
                clauses.append(clause)
        return words, clauses

    def _negation_reach(self, words: list[str], clauses: list[int]) -> bytearray:
        """For each word, 1 when a negation stands before it in its clause and window."""
        reach = bytearray(len(words))
        for start in [position for position, word in enumerate(words) if word in self._negations]:
            if not self._is_exception(words, start):
                for reached in range(start + 1, min(start + 1 + self._rule.negation_window, len(words))):
                    if clauses[reached] != clauses[start]:
                        break
                    reach[reached] = 1
        return reach

    def _is_exception(self, words: list[str], start: int) -> bool:
        return any(words[start : start + len(phrase)] == phrase for phrase in self._not_negations)


def _continues(words: list[str], clauses: list[int], start: int, rest: tuple[str, ...]) -> bool:
    """Whether the words after `start` are `rest`, in the same clause."""
    end = start + len(rest)
    if end >= len(words) or clauses[end] != clauses[start]:
        return False
    return all(
        word.startswith(wanted[:-1]) if wanted.endswith("*") else word == wanted
        for word, wanted in zip(words[start + 1 : end + 1], rest, strict=True)
    )


def _words(pattern: str) -> list[str]:
    """The words of a pattern as `tokens` would split them; a * stays at its word's end."""
    split: list[str] = []
    for word in pattern.replace("-", " ").split(" "):
        parts = tokens(word.removesuffix("*"))
        parts[-1] += "*" if word.endswith("*") else ""
        split += parts
    return [sys.intern(word) for word in split]
