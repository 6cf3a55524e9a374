"""What a text must look like to be a statement, whoever wrote it."""

import re

from schemas.claims import RejectReason
from schemas.domain_files import MAX_STATEMENT_CHARACTERS, unprintable
from tasks.statements.characters import UNSPACED

MIN_WORDS = 3
MIN_UNSPACED_LETTERS = 4
# What may stand after the last mark of a sentence; for the end of a pattern.
CLOSED = r"[\"'”’»›)\]}」』】）〕》〉\s\U0001f000-\U0001faff☀-➿️‍]*\Z"

_UNSPACED = re.compile(f"[{UNSPACED}]")
_QUESTION = re.compile(r"[?？؟፧⁇⁈‽՞][!！?？]*" + CLOSED)


def unfit(text: str) -> RejectReason | None:
    """Why a text is no statement: unreadable, too long, a fragment, a question; None when it is one."""
    if is_unreadable(text):
        return RejectReason.UNREADABLE
    if len(text) > MAX_STATEMENT_CHARACTERS:
        return RejectReason.TOO_LONG
    if is_fragment(text):
        return RejectReason.TOO_SHORT
    return RejectReason.QUESTION if is_question(text) else None


def is_unreadable(text: str) -> bool:
    """Whether it has a control character, a direction override, a lone surrogate or U+FFFD."""
    return (not text.isprintable() and unprintable(text) is not None) or "\ufffd" in text


def is_fragment(text: str) -> bool:
    """Whether it has fewer than three words, and fewer than four letters of a script without spaces between words."""
    words = [word for word in text.split(" ") if any(map(str.isalpha, word))]
    return len(words) < MIN_WORDS and len(_UNSPACED.findall(text)) < MIN_UNSPACED_LETTERS


def is_question(text: str) -> bool:
    """Whether it asks."""
    return _QUESTION.search(text) is not None


def shown(text: str) -> str:
    """As it can be shown on one line: see `Reject`."""
    if len(text) > MAX_STATEMENT_CHARACTERS:
        text = f"{text[:MAX_STATEMENT_CHARACTERS]}…"
    if text.isprintable():
        return text
    return "".join(c if unprintable(c) is None else c.encode("unicode_escape").decode("ascii") for c in text)
