"""Where sentences end, by rules alone: no model, no language setting, the same answer everywhere.

A sentence ends after . ! ? … (with closing quotes, brackets, marks and emoji) where white space and no small letter
follows, and after the full stops of Chinese, Japanese, Hindi, Arabic, Urdu, Armenian and Ethiopic wherever they stand.
It does not end after an abbreviation, an initial or a number that opens a list, inside a number or an address, nor
inside quotation marks or brackets that are closed within 600 characters.
"""

import re

from tasks.statements.abbreviations import BEFORE_NUMBER, MAY_END, NEVER_END, STARTERS
from tasks.statements.characters import EMOJI, HAN_AND_KANA, HIDDEN, SPACE

_WIDE = "。！？｡؟۔।॥։።፧‼⁇⁈⁉"
_CLOSING = "\"'”’»›)\\]}」』】）〕》〉"
_OPENING = "\"'“‘«‹„(\\[{「『【（〔《〈¿¡"

_END = re.compile(
    rf"(?P<mark>[.!?…‽{_WIDE}]+)(?P<close>[{_CLOSING}{HIDDEN}]*)|(?<![{EMOJI}])(?P<emoji>[{EMOJI}]+)(?=[{SPACE}])",
)
_EMOJI_AFTER = re.compile(rf"[{SPACE}{HIDDEN}{EMOJI}]*[{EMOJI}](?=[{SPACE}]|\Z)")
_NEXT = re.compile(rf"[{SPACE}{_OPENING}{HIDDEN}]*(?P<word>\w+|)")
_BEFORE = re.compile(r"[\w.&’'-]*\Z")
_DOTTED = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]\Z")
_ENCLOSED = re.compile(
    rf"“[^“”]{{1,600}}”|«[^«»]{{1,600}}»|「[^「」]{{1,600}}」|『[^『』]{{1,600}}』|(?<![:;=-])\([^()]{{1,600}}\)|（[^（）]{{1,600}}）"
    rf"|(?<![^{SPACE}(\[{HIDDEN}])\"(?=[^{SPACE}\"])[^\"]{{1,600}}(?<=[^{SPACE}\"])\""
)
_SPACE = re.compile(f"[{SPACE}]")
_LONGEST_ABBREVIATION = 30


def sentence_ends(text: str) -> list[int]:
    """Offsets in characters at which the sentences of a paragraph end, ascending; the last one is its length.

    HIDDEN characters are taken for closing or opening marks. Empty for an empty text.
    """
    ends: list[int] = []
    enclosed = _ENCLOSED.finditer(text)
    inside = next(enclosed, None)
    start = 0
    for found in _END.finditer(text):
        while inside is not None and inside.end() <= found.start():
            inside = next(enclosed, None)
        if inside is not None and inside.start() < found.start() and found.end() < inside.end():
            continue
        if found.end() < len(text) and found.end() > start and _ends_sentence(text, start, found):
            emoji = _EMOJI_AFTER.match(text, found.end())
            start = emoji.end() if emoji else found.end()
            ends.append(start)
    return ends if not text or ends[-1:] == [len(text)] else [*ends, len(text)]


def _ends_sentence(text: str, start: int, found: re.Match[str]) -> bool:
    following, next_word = text[found.end()], _next_word(text, found.end())
    if found["emoji"]:
        return next_word[:1].isupper() and next_word.casefold() in STARTERS
    mark, is_closed = found["mark"], bool(found["close"].strip(HIDDEN))
    if mark[-1] in _WIDE:  # text right after a closing quote goes on about the quotation
        return bool(_SPACE.match(following)) or not is_closed
    if not _SPACE.match(following):
        return not is_closed and mark[-1] != "." and bool(re.match(f"[{EMOJI}{HAN_AND_KANA}]", following))
    if next_word[:1].islower():
        return False
    return mark != "." or not _is_abbreviation(text, start, found.start(), next_word)


def _next_word(text: str, end: int) -> str:
    found = _NEXT.match(text, end)
    return found["word"] if found else ""


def _is_abbreviation(text: str, start: int, stop: int, next_word: str) -> bool:
    """Whether the full stop at `stop` belongs to the word before it."""
    found = _BEFORE.search(text[max(start, stop - _LONGEST_ABBREVIATION) : stop])
    word = found.group() if found else ""
    folded = word.casefold().lstrip("'’-.")
    opens = stop - len(word) - start < 20 and not text[start : stop - len(word)].strip(SPACE + HIDDEN)
    if opens and (word.isdecimal() or len(word) == 1):  # the number of a list
        return True
    if folded in NEVER_END or (folded in BEFORE_NUMBER and next_word[:1].isdecimal()):
        return True
    if len(word) == 1 and word.isupper() and word != "I":  # an initial
        return True
    if folded in MAY_END or _DOTTED.match(folded):
        return next_word.casefold() not in STARTERS
    return False
