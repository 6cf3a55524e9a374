"""The list of texts in a language model's answer: {"KEY": ["text", ...]}, however much of it is there.

Taken as it is: code fences and words around the JSON, several objects in one answer (all their lists, in order), one
inside another, a bare list where no key is written, raw line ends and control characters inside a text. An answer that
was cut, or that breaks off being JSON, keeps its whole items; what follows them is its rest.
"""

import json
import re
from dataclasses import dataclass

_DECODER = json.JSONDecoder(strict=False)
_GAP = re.compile(r"\s*")
_BARE_LISTS = 100  # opening brackets that are tried where no key is written


@dataclass(frozen=True, slots=True)
class Listed:
    """What an answer lists.

    texts: its texts, in order. odd: items that are no texts, as written. rest: what follows the last whole item of a
    list that is never closed, as written; empty where all is whole.
    has_list: whether there is a list at all.
    """

    texts: tuple[str, ...] = ()
    odd: tuple[str, ...] = ()
    rest: str = ""
    has_list: bool = False


def read_list(answer: str, key: str) -> Listed:
    """The list under `key`; the time is linear in the answer."""
    opening = re.compile(rf'"{re.escape(key)}"\s*:\s*\[')
    found, at = Listed(), 0
    while opened := opening.search(answer, at):
        one, at = _read_items(answer, opened.end())
        found = Listed(found.texts + one.texts, found.odd + one.odd, found.rest + one.rest, has_list=True)
    return found if found.has_list else _bare_list(answer)


def _bare_list(answer: str) -> Listed:
    """The first list that holds a text, or nothing at all ([]): a reference such as [1] is no list."""
    at = -1
    for _ in range(_BARE_LISTS):
        at = answer.find("[", at + 1)
        if at < 0:
            break
        found, _end = _read_items(answer, at + 1)
        if found.texts or not (found.odd or found.rest):
            return found
    return Listed()


def _read_items(answer: str, at: int) -> tuple[Listed, int]:
    """The items from here to the end of the list, and where the reading stopped."""
    texts: list[str] = []
    odd: list[str] = []
    at = _skip(answer, at)
    while not answer.startswith("]", at):
        try:
            item, end = _DECODER.raw_decode(answer, at)
        except (ValueError, RecursionError):  # cut, no JSON, a number of thousands of digits, too deep
            return Listed(tuple(texts), tuple(odd), answer[at:], has_list=True), len(answer)
        if isinstance(item, str):
            texts.append(item)
        else:
            odd.append(answer[at:end])
        at = _skip(answer, end)
        if answer.startswith(",", at):
            at = _skip(answer, at + 1)
        elif not answer.startswith("]", at):
            return Listed(tuple(texts), tuple(odd), answer[at:] or answer[end:], has_list=True), len(answer)
    return Listed(tuple(texts), tuple(odd), has_list=True), at + 1


def _skip(answer: str, at: int) -> int:
    found = _GAP.match(answer, at)
    return found.end() if found else at
