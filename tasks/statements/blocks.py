"""The blocks of a plain or Markdown text: paragraphs and list items, apart from headings, code and tables.

One reader for both. It knows the marks of CommonMark that people write: headings, fences, lists, quotes, rules, tables,
comments, link definitions, front matter. Indented lines are prose; a fence or a comment that is never closed encloses
nothing. A line end inside a paragraph is a wrapped line, unless the next line starts with no small letter and its first
word would have fitted into the width of the paragraph (at least 40 columns): then it was meant as an end.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from tasks.statements.characters import HAN_AND_KANA, HIDDEN, SPACE

_NARROWEST = 40  # columns; nobody wraps lines of prose below it
_FRONT_MATTER_LINES = 100

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_QUOTE_MARK = re.compile(r"[ \t]*>(?:[ \t]*>)*[ \t]?")
_FENCE = re.compile(r"`{3,}(?=[^`]*\Z)|~{3,}")
_UNDERLINE = re.compile(r"(?:={3,}|-{3,})\Z")
_HEADING = re.compile(r"#{1,6}(?:[ \t]|\Z)")
_BOLD_LINE = re.compile(r"(\*\*|__)[^*_]{0,200}[^*_.!?…:]\1\Z")
_DEFINITION = re.compile(r"\[[^\]^][^\]]{0,200}\]:[ \t]")
_IMAGE = re.compile(r"!\[[^\]]{0,500}\]\([^()]{0,2000}\)\Z")
_BULLET = re.compile(r"[-*+•‣◦▪●·・][ \t]+(?:\[[ xX]\][ \t]+)?|\[\^[^\]\s]{1,40}\]:[ \t]*|[•‣◦▪●・](?=\w)")
_NUMBER = re.compile(r"\(?(?:(\d{1,3})[.)]|[A-Za-z]\)|[ivxIVX]{1,5}\))[ \t]+")
_TWO_COLUMNS = re.compile(f"[{HAN_AND_KANA}]")
_FIRST_GAP = re.compile(f"[{SPACE}]")  # str.split would take control characters for spaces
_FIELD = re.compile(r"[A-Za-z_][\w-]*:")


class BlockKind(StrEnum):
    """What a block is; `other` is code, a table, a rule, a definition, a comment or front matter."""

    PROSE = "prose"
    HEADING = "heading"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of the text that no sentence crosses; start and end in characters. is_item: it belongs to a list."""

    kind: BlockKind
    start: int
    end: int
    is_item: bool = False


@dataclass(frozen=True, slots=True)
class _Line:
    """body: without quote marks and outer white space; it stands at body_start."""

    start: int
    end: int
    body_start: int
    body: str
    is_quoted: bool
    ends_hard: bool


def read_blocks(text: str) -> tuple[list[Block], str]:
    """The blocks of `text`, and the text with HIDDEN in the place of list marks and quote marks.

    The blocks follow each other without a gap from the start of the text to its end; none when it is white space only.
    """
    reader = _Reader([_line(found.group(), found.start()) for found in _LINE.finditer(text)])
    found = list(reader.blocks())
    if not found:
        return ([Block(BlockKind.OTHER, 0, len(text))] if text.strip(SPACE) else []), text
    starts = [0, *(block.start for block in found[1:])]
    places = zip(found, starts, [*starts[1:], len(text)], strict=True)
    return [Block(block.kind, start, end, block.is_item) for block, start, end in places], _hide(text, reader.marks)


def _line(written: str, start: int) -> _Line:
    quote = _QUOTE_MARK.match(written)
    skipped = quote.end() if quote else 0
    content = written[skipped:].rstrip(SPACE)
    body = content.lstrip(SPACE)
    ends_hard = written.rstrip("\r\n").endswith(("  ", "\\"))
    body_start = start + skipped + len(content) - len(body)
    return _Line(start, start + len(written), body_start, body, quote is not None, ends_hard)


def _hide(text: str, marks: Iterable[tuple[int, int]]) -> str:
    parts, at = [], 0
    for start, end in sorted(marks):
        parts += [text[at:start], HIDDEN * (end - start)]
        at = end
    return "".join([*parts, text[at:]])


class _Reader:
    """Groups lines; every line is looked at a bounded number of times. marks: places of list and quote marks."""

    def __init__(self, lines: list[_Line]) -> None:
        self._lines = lines
        self._closing_fences = _longest_closing_fences(lines)
        self._last_comment_end = max((at for at, line in enumerate(lines) if "-->" in line.body), default=-1)
        self.marks = [(line.start, line.body_start) for line in lines if line.is_quoted]

    def blocks(self) -> Iterator[Block]:
        at, in_list = 0, False
        while at < len(self._lines):
            count = 1
            if not self._lines[at].body:
                pass
            elif others := self._other(at):
                count = others
                yield self._block(BlockKind.OTHER, at, at + count)
            elif _HEADING.match(self._lines[at].body):
                yield self._block(BlockKind.HEADING, at, at + 1)
            else:
                found = self._paragraph(at, in_list)
                count, in_list = found.lines, found.blocks[0].is_item
                yield from found.blocks
            at += count

    def _other(self, at: int) -> int:
        """How many lines from here on are no prose."""
        body = self._lines[at].body
        if at == 0 and (count := self._front_matter()):
            return count
        fence = _FENCE.match(body)
        if fence and (count := self._fenced(at, fence.group())):
            return count
        if body.startswith("<!--") and at <= self._last_comment_end:
            return next(end for end in range(at, len(self._lines)) if "-->" in self._lines[end].body) + 1 - at
        if _is_table_row(body):
            rows = range(at, len(self._lines))
            return next((end for end in rows if not _is_table_row(self._lines[end].body)), len(self._lines)) - at
        return 1 if fence or _is_rule(body) or _DEFINITION.match(body) or _IMAGE.match(body) else 0

    def _front_matter(self) -> int:
        lines = self._lines[: _FRONT_MATTER_LINES + 2]
        if len(lines) < 3 or lines[0].body != "---" or not _FIELD.match(lines[1].body):
            return 0
        return next((end + 1 for end in range(2, len(lines)) if lines[end].body in ("---", "...")), 0)

    def _fenced(self, at: int, opened: str) -> int:
        if at + 1 >= len(self._lines) or self._closing_fences[at + 1][opened[0]] < len(opened):
            return 0
        return next(end for end in range(at + 1, len(self._lines)) if _closes(self._lines[end].body, opened)) + 1 - at

    def _paragraph(self, at: int, in_list: bool) -> "_Paragraph":
        """One paragraph or list item, cut at the line ends that are meant."""
        first = self._lines[at]
        mark = _item_mark(first.body, in_list=True)
        end = at + 1
        while end < len(self._lines) and self._continues(end, in_list or mark > 0):
            end += 1
        if end - at == 1 and not mark:
            if end < len(self._lines) and _UNDERLINE.match(self._lines[end].body):
                return _Paragraph(2, [self._block(BlockKind.HEADING, at, end + 1)])
            if _BOLD_LINE.match(first.body):
                return _Paragraph(1, [self._block(BlockKind.HEADING, at, end)])
        if mark:
            self.marks.append((first.body_start, first.body_start + mark))
        last_characters = [
            line.body_start + len(line.body) - 1 for line in self._lines[at:end] if line.body[-1] == "\\"
        ]
        self.marks += [(place, place + 1) for place in last_characters if place >= first.body_start + mark]
        cuts = [at, *self._meant_ends(at, end), end]
        return _Paragraph(end - at, [self._block(BlockKind.PROSE, a, b, is_item=mark > 0) for a, b in pairwise(cuts)])

    def _continues(self, at: int, in_list: bool) -> bool:
        line, before = self._lines[at], self._lines[at - 1]
        if not line.body or (line.is_quoted and not before.is_quoted):
            return False
        return not (self._other(at) or _HEADING.match(line.body) or _item_mark(line.body, in_list))

    def _meant_ends(self, at: int, end: int) -> Iterator[int]:
        widest = max(_NARROWEST, *(_columns(line.body) for line in self._lines[at:end]))
        for number in range(at + 1, end):
            before, body = self._lines[number - 1], self._lines[number].body
            would_fit = _columns(before.body) + 1 + _columns(_FIRST_GAP.split(body, 1)[0]) <= widest
            if (would_fit or before.ends_hard) and not body[0].islower():
                yield number

    def _block(self, kind: BlockKind, at: int, end: int, *, is_item: bool = False) -> Block:
        return Block(kind, self._lines[at].start, self._lines[end - 1].end, is_item)


@dataclass(frozen=True, slots=True)
class _Paragraph:
    lines: int
    blocks: list[Block]


def _longest_closing_fences(lines: list[_Line]) -> list[dict[str, int]]:
    """For each line, the longest fence there or later that could close one: what is not there is not searched for."""
    longest, found = {"`": 0, "~": 0}, []
    for line in reversed(lines):
        if line.body and line.body[0] in longest and not line.body.strip(line.body[0]):
            longest = longest | {line.body[0]: max(longest[line.body[0]], len(line.body))}
        found.append(longest)
    return found[::-1]


def _columns(text: str) -> int:
    """Width on a page; Chinese and Japanese characters are two columns wide."""
    return len(text) if text.isascii() else len(text) + len(_TWO_COLUMNS.findall(text))


def _closes(body: str, opened: str) -> bool:
    return len(body) >= len(opened) and not body.strip(opened[0])


def _is_rule(body: str) -> bool:
    return body[0] in "-=*_~#+" and body.count(body[0]) >= 3 and not body.strip(f"{body[0]} \t")


def _is_table_row(body: str) -> bool:
    is_delimiter = "---" in body and "|" in body and not body.strip("|:- \t")
    return is_delimiter or (body.startswith("|") and body.count("|") > 1)


def _item_mark(body: str, in_list: bool) -> int:
    """Length of the list mark that the line starts with, 0 without one; outside a list a number must be 1 or (a)."""
    if bullet := _BULLET.match(body):
        return bullet.end()
    number = _NUMBER.match(body)
    return number.end() if number and (in_list or number[1] in (None, "1")) else 0
