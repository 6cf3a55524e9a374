"""From the answers of a language model to statements: read, put in order, each once, the rest with a reason."""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from schemas.claims import Reject, RejectReason
from schemas.statements import Statement
from tasks.inference.protocol import Generated, Prompt, Schema, Unanswered
from tasks.statements.characters import one_line
from tasks.statements.listed import read_list
from tasks.statements.shape import shown, unfit

RULES = "llm-1"  # change it with every change of what becomes of an answer

_MARK = re.compile(r"(?:[-*•]|\(?\d{1,3}[.)])\s+(?=\S)")
_QUOTES = (('"', '"'), ("“", "”"), ("«", "»"))
_NO_WORD = re.compile(r"[\W_]+")


class Ask(Protocol):
    """The `generate` of a LanguageModel, or answers of one that were kept."""

    def __call__(
        self, prompts: Sequence[Prompt], *, max_tokens: int, schema: Schema
    ) -> Sequence[Generated | Unanswered]:
        """One answer a prompt, in order."""


@dataclass(frozen=True, slots=True)
class Worded:
    """One statement in the words of a language model, and the place of the passage that it is about (0, 0: none)."""

    statement: Statement
    start: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class Draft:
    """What a language model gave, in the order of the questions; all public.

    answers: how many it gave, or refused.
    """

    statements: tuple[Worded, ...]
    rejects: tuple[Reject, ...]
    answers: int


@dataclass(slots=True)
class Gathering:
    """Takes answers one after another. Two statements are one when they are equal but for case and for what is no
    letter, digit or mark of one: the first is kept."""

    statements: list[Worded] = field(default_factory=list)
    rejects: list[Reject] = field(default_factory=list)
    answers: int = 0
    _seen: set[str] = field(default_factory=set)

    def take(
        self,
        answer: Generated | Unanswered,
        key: str,
        place: tuple[int, int] = (0, 0),
        passage: str = "",
        unsaid: Callable[[str], bool] = lambda text: False,
    ) -> None:
        """Add what one answer lists under `key`.

        passage: the text that it is about, shown where nothing comes of it. unsaid: whether the passage does not say
        what a statement does. Something is added to the statements or the rejects, always.
        """
        self.answers += 1
        found = list(_read(answer, key))
        for text, reason in found or [(passage, RejectReason.NO_CLAIM)]:
            self._add(text, reason, place, passage, unsaid)

    def draft(self) -> Draft:
        """All of it."""
        return Draft(tuple(self.statements), tuple(self.rejects), self.answers)

    def _add(
        self,
        text: str,
        reason: RejectReason | None,
        place: tuple[int, int],
        passage: str,
        unsaid: Callable[[str], bool],
    ) -> None:
        clean = _cleaned(text) if reason is None else text
        reason = reason or unfit(clean) or (RejectReason.NOT_IN_PASSAGE if unsaid(clean) else None)
        same = _NO_WORD.sub(" ", unicodedata.normalize("NFKC", clean).casefold()).strip() or clean
        if reason is None and same in self._seen:
            reason = RejectReason.DUPLICATE
        if reason is None:
            self._seen.add(same)
            self.statements.append(Worded(Statement.of(clean), *place))
        else:
            self.rejects.append(Reject(shown(one_line(clean) or one_line(passage)), reason, *place))


def _read(answer: Generated | Unanswered, key: str) -> Iterator[tuple[str, RejectReason | None]]:
    """The texts of an answer, and what of it is none, with the reason."""
    if isinstance(answer, Unanswered):
        yield "", RejectReason.UNANSWERED
        return
    found, broken = read_list(answer.text, key), RejectReason.UNPARSABLE if answer.complete else RejectReason.CUT
    if not found.has_list:
        yield answer.text, broken
        return
    for text in found.texts:
        yield text, None
    for odd in found.odd:
        yield odd, RejectReason.UNPARSABLE
    if found.rest:
        yield found.rest, broken


def _cleaned(text: str) -> str:
    """In NFC, on one line, without a list mark before it and without quotation marks around it."""
    line = one_line(unicodedata.normalize("NFC", text))
    line = _MARK.sub("", line, count=1) if _MARK.match(line) else line
    for opening, closing in _QUOTES:
        inner = line[1:-1]
        if line.startswith(opening) and line.endswith(closing) and len(line) > 2 and opening not in inner:
            line = inner.strip()
    return line
