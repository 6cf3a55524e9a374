"""Claims of a released text, one a sentence, by rules alone.

Every sentence becomes a claim or a reject with a reason; together they are the whole text. Claims are taken as they are
written: no pronoun is resolved, no conjunction is taken apart, nothing is reworded.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from schemas.claims import Reject, RejectReason
from schemas.domain_files import MAX_STATEMENT_CHARACTERS
from schemas.statements import Statement
from tasks.statements.blocks import BlockKind, read_blocks
from tasks.statements.characters import HIDDEN, SPACE, one_line
from tasks.statements.markup import hide_markup
from tasks.statements.sentences import sentence_ends
from tasks.statements.shape import CLOSED, is_fragment, is_question, is_unreadable, shown

EXTRACTOR = "sentences-1"  # change it with every change of a claim or a reject
_OF_KIND = {BlockKind.HEADING: RejectReason.HEADING, BlockKind.OTHER: RejectReason.NOT_PROSE}

_TERMINATED = re.compile(r"[.!?…‽。！？｡؟۔।॥։።፧‼⁇⁈⁉]" + CLOSED)
_SECTION = re.compile(r"\d+(?:\.\d+)+\.?\s+[^\W\d_a-z]")
_BOILERPLATE = re.compile(
    r"(?:please|refer to|skip to|go to|check out|sign up|log in|scroll (?:down|up)|subscribe to|stay tuned|do not reply"
    r"|thank you for|thanks for|all rights reserved|copyright \d+"
    r"|(?:see|click|tap|visit|contact|read|download|follow|call|e-?mail|share|reply to) (?:the|this|our|us|your|here"
    r"|more|also|below|above|appendix|section|figure|fig|table|page|chapter|https?))\b|©|copyright (?:©|\(c\))",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Claim:
    """A candidate statement, and the place in the NFC text (characters) that it was taken from."""

    statement: Statement
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Extraction:
    """What a text was taken apart into, in its order; the places of claims and rejects are the whole text."""

    claims: tuple[Claim, ...]
    rejects: tuple[Reject, ...]


@dataclass(frozen=True, slots=True)
class Piece:
    """A sentence of prose, or a whole block of anything else.

    text: on one line, without marks. start, end: place in the NFC text. stands_alone: it is a paragraph of its own.
    """

    text: str
    start: int
    end: int
    kind: BlockKind
    stands_alone: bool


def extractor() -> str:
    """Name and version of the rules, and of the Unicode tables under them."""
    return f"{EXTRACTOR}, Unicode {unicodedata.unidata_version}"


def extract_claims(text: str) -> Extraction:
    """The claims and rejects of a plain or Markdown text; equal texts (in any Unicode form) give equal answers."""
    claims: list[Claim] = []
    rejects: list[Reject] = []
    seen: set[str] = set()
    for piece in pieces(unicodedata.normalize("NFC", text)):
        reason = _reason(piece)
        statement = Statement.of(piece.text) if reason is None else None
        if statement is not None and statement.statement_id not in seen:
            seen.add(statement.statement_id)
            claims.append(Claim(statement, piece.start, piece.end))
        else:
            reason = reason or RejectReason.DUPLICATE
            rejects.append(Reject(shown(piece.text), reason, piece.start, piece.end))
    return Extraction(tuple(claims), tuple(rejects))


def pieces(text: str) -> Iterator[Piece]:
    """Sentences of prose, whole blocks of anything else; their places follow each other without a gap."""
    blocks, unmarked = read_blocks(text)
    for block in blocks:
        if block.kind is not BlockKind.PROSE:
            yield Piece(one_line(text[block.start : block.end]), block.start, block.end, block.kind, True)
            continue
        visible = hide_markup(unmarked[block.start : block.end])
        start, ends = 0, _joined_ends(visible)
        for end in ends:
            place = (block.start + start, block.start + end)
            yield Piece(one_line(visible[start:end]), *place, block.kind, len(ends) == 1 and not block.is_item)
            start = end


def _joined_ends(visible: str) -> list[int]:
    """Ends of sentences; white space and hidden marks at the end of a paragraph belong to its last one."""
    ends = sentence_ends(visible)
    if len(ends) > 1 and not visible[ends[-2] :].strip(SPACE + HIDDEN):
        del ends[-2]
    return ends


def _reason(piece: Piece) -> RejectReason | None:
    """Why the piece is no claim; None when it is one."""
    text = piece.text
    if is_unreadable(text):
        return RejectReason.UNREADABLE
    if piece.kind in _OF_KIND:
        return _OF_KIND[piece.kind]
    if len(text) > MAX_STATEMENT_CHARACTERS:
        return RejectReason.TOO_LONG
    if text.endswith((":", "：")) or (piece.stands_alone and _is_title(text)):
        return RejectReason.HEADING
    if is_fragment(text):
        return RejectReason.TOO_SHORT
    if is_question(text):
        return RejectReason.QUESTION
    return RejectReason.BOILERPLATE if _BOILERPLATE.match(text.lstrip("\"'“‘(*")) else None


def _is_title(text: str) -> bool:
    """A line of its own without a full stop that is numbered like a section, in capitals, or capitalised throughout."""
    if _TERMINATED.search(text):
        return False
    long_words = [word for word in re.findall(r"[^\W\d_]+", text) if len(word) > 3]
    cased = [word for word in long_words if word.casefold() != word.upper()]
    capitalised = sum(word[0].isupper() for word in cased)
    return bool(_SECTION.match(text)) or 3 * capitalised >= max(6, 2 * len(cased))
