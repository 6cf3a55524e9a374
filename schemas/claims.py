"""What becomes of a released text: claims that can be certified, and rejects with a reason. Nothing is left out."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

RELEASED_TEXT = "claims of a released text"  # how the public line about such a proposer begins
REWORDED = "reworded by a language model"  # in that line, where the claims are not the text's own sentences
BY_LANGUAGE_MODEL = "proposed by a language model"  # how the public line about such a proposer begins


class RejectReason(StrEnum):
    """Why a piece of a released text is not asked; one reason, where several hold."""

    UNREADABLE = "unreadable"
    """It has a control character, a direction override, bytes that are no UTF-8, or U+FFFD."""
    HEADING = "heading"
    """A heading, or a line that introduces what follows (it ends in a colon)."""
    NOT_PROSE = "not_prose"
    """Code, a table, a rule, a link definition, a comment or front matter."""
    TOO_LONG = "too_long"
    """More than 500 characters."""
    TOO_SHORT = "too_short"
    """A fragment: fewer than three words, or fewer than four letters of a script that puts no spaces between words."""
    QUESTION = "question"
    """It asks."""
    BOILERPLATE = "boilerplate"
    """It tells the reader what to do, or claims copyright (English phrases only)."""
    DUPLICATE = "duplicate"
    """The same claim stands earlier in the text."""
    NOT_IN_PASSAGE = "not_in_passage"
    """A language model's claim with a number that its passage has not, or with more strange words than known ones."""
    NO_CLAIM = "no_claim"
    """A passage in which the language model finds no claim, or an answer without a statement."""
    UNPARSABLE = "unparsable"
    """An answer of the language model, or a part of it, that has not the form that was asked."""
    CUT = "cut"
    """The end of an answer of the language model, which its length limit cut."""
    UNANSWERED = "unanswered"
    """A passage that the language model gives no answer to: with its answer it does not fit into the context."""
    SURPLUS = "surplus"
    """A statement of the language model beyond those that were wanted."""


@dataclass(frozen=True, slots=True)
class Reject:
    """A piece of a released text, or of what a language model wrote, that is not asked.

    text: as it can be shown on one line: unreadable characters are written as backslash escapes, and what is longer
    than 500 characters is cut and ends in …
    start, end: place in the NFC text, in characters, of the whole piece, or of the passage that a language model read;
        both 0 for a proposal, which has no text.
    """

    text: str
    reason: RejectReason
    start: int = 0
    end: int = 0

    def fields(self) -> dict[str, str | int]:
        """As it is told."""
        return {"text": self.text, "reason": str(self.reason), "start": self.start, "end": self.end}


def count_reasons(reasons: Iterable[str]) -> str:
    """'5 too_short, 1 question', in the order of the list of reasons; empty where there is none."""
    counted = Counter(map(str, reasons))
    return ", ".join(f"{counted[reason]} {reason}" for reason in RejectReason if counted[reason])
