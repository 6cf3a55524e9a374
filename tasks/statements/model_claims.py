"""Claims of a released text in the words of a language model: each stands alone, and says one thing of its passage.

The text is taken apart into passages of prose, a heading with what follows it; each becomes claims, or rejects with a
reason, or both; together they are the whole text. Code, tables, comments and unreadable sentences are not shown to the
model.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from schemas.claims import Reject, RejectReason
from tasks.inference.protocol import Generated, Prompt, Reason, Unanswered
from tasks.statements.blocks import BlockKind
from tasks.statements.characters import UNSPACED
from tasks.statements.claims import Piece, pieces
from tasks.statements.prompts import CLAIM_TOKENS, CLAIMS, PASSAGE_CHARACTERS, claim_messages, claim_schema
from tasks.statements.shape import is_unreadable, shown
from tasks.statements.worded import Ask, Draft, Gathering

_LONG_WORD = 4  # letters; shorter ones are mostly grammar, and their beginnings tell little
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_WORD = re.compile(r"[^\W\d_]+")
_UNSPACED_LETTER = re.compile(f"[{UNSPACED}]")


@dataclass(frozen=True, slots=True)
class Passage:
    """Sentences and headings that follow each other, read by the model at once."""

    pieces: tuple[Piece, ...]

    @property
    def place(self) -> tuple[int, int]:
        """Start and end in the NFC text, in characters."""
        return self.pieces[0].start, self.pieces[-1].end

    @property
    def text(self) -> str:
        """As the model reads it: one piece a line."""
        return "\n".join(piece.text for piece in self.pieces)

    def halves(self) -> tuple["Passage", ...]:
        """Two passages of as many sentences, the headings with the first; none of one sentence."""
        prose = [at for at, piece in enumerate(self.pieces) if piece.kind is BlockKind.PROSE]
        if len(prose) < 2:
            return ()
        middle = prose[len(prose) // 2]
        return Passage(self.pieces[:middle]), Passage(self.pieces[middle:])


def claims_of_passages(text: str, ask: Ask) -> Draft:
    """The claims of a plain or Markdown text. Equal texts and answers give equal claims.

    A passage that does not fit into the model's context is halved until it does.
    """
    found = list(read_passages(unicodedata.normalize("NFC", text)))
    answers = dict(_answers([one for one in found if isinstance(one, Passage)], ask))
    read: list[Passage | Reject] = [*answers, *(one for one in found if isinstance(one, Reject))]
    gathered = Gathering()
    for one in sorted(read, key=_start):
        if isinstance(one, Reject):
            gathered.rejects.append(one)
        else:
            said = _Said(one.text)
            gathered.take(answers[one], CLAIMS, one.place, one.text, said.lacks)
    return gathered.draft()


def read_passages(text: str) -> Iterator[Passage | Reject]:
    """The NFC text in passages of at most 900 characters and what the model is not shown, without a gap."""
    waiting: list[Piece] = []
    for piece in pieces(text):
        reason = _hidden(piece)
        if reason is not None or not _goes_on(waiting, piece):
            yield from _closed(waiting)
            waiting = []
        if reason is None:
            waiting.append(piece)
        else:
            yield Reject(shown(piece.text), reason, piece.start, piece.end)
    yield from _closed(waiting)


def _hidden(piece: Piece) -> RejectReason | None:
    """Why the model is not shown a piece."""
    if is_unreadable(piece.text):
        return RejectReason.UNREADABLE
    if piece.kind is BlockKind.OTHER:
        return RejectReason.NOT_PROSE
    return RejectReason.TOO_LONG if len(piece.text) > PASSAGE_CHARACTERS else None


def _goes_on(waiting: Sequence[Piece], piece: Piece) -> bool:
    """Whether a piece belongs to the passage before it: no new section, and it fits."""
    if piece.kind is BlockKind.HEADING and any(one.kind is BlockKind.PROSE for one in waiting):
        return False
    return sum(len(one.text) + 1 for one in waiting) + len(piece.text) <= PASSAGE_CHARACTERS


def _closed(waiting: Sequence[Piece]) -> Iterator[Passage | Reject]:
    """The passage of these pieces; headings alone say nothing."""
    if any(piece.kind is BlockKind.PROSE for piece in waiting):
        yield Passage(tuple(waiting))
    else:
        for piece in waiting:
            yield Reject(shown(piece.text), RejectReason.HEADING, piece.start, piece.end)


def _answers(passages: Iterable[Passage], ask: Ask) -> Iterator[tuple[Passage, Generated | Unanswered]]:
    asked = list(passages)
    while asked:
        prompts = [Prompt("passage-{}-{}".format(*one.place), claim_messages(one.text)) for one in asked]
        halved: list[Passage] = []
        for one, answer in zip(asked, ask(prompts, max_tokens=CLAIM_TOKENS, schema=claim_schema()), strict=True):
            too_long = isinstance(answer, Unanswered) and answer.reason is Reason.TOO_LONG
            halves = one.halves() if too_long else ()
            halved += halves
            if not halves:
                yield one, answer
        asked = halved


def _start(one: Passage | Reject) -> int:
    return one.start if isinstance(one, Reject) else one.place[0]


class _Said:
    """What a passage says, as far as its words tell."""

    def __init__(self, passage: str) -> None:
        self._numbers = set(_NUMBER.findall(passage))
        self._beginnings = _beginnings(passage)

    def lacks(self, claim: str) -> bool:
        """Whether a claim has a number that the passage has not, or more strange words than known ones.

        Words of four letters and more are compared by their first four, and letters of scripts without spaces between
        words one by one: a rewording passes, a sentence from elsewhere does not.
        """
        words = _beginnings(claim)
        known = sum(word in self._beginnings for word in words)
        return not set(_NUMBER.findall(claim)) <= self._numbers or 2 * known < len(words)


def _beginnings(text: str) -> set[str]:
    folded = text.casefold()
    words = {word[:_LONG_WORD] for word in _WORD.findall(folded) if len(word) >= _LONG_WORD}
    return {word for word in words if not _UNSPACED_LETTER.search(word)} | set(_UNSPACED_LETTER.findall(folded))
