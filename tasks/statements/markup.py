"""Marks of Markdown and HTML inside a paragraph: they are hidden, the words stay."""

import re

from tasks.statements.characters import HIDDEN

# Every repeat is bounded, or stops at a mark of its own kind: the time is linear in the text.
_CODE = re.compile(r"(?<![\\`])(`{1,2})(?!`)([^`]{1,500})(\1)(?!`)")
_LINK = re.compile(r"(?<!\\)(!?\[)([^\[\]]{0,500})(\]\([^()\s]{0,2000}(?:\s\"[^\"]{0,200}\")?\))")
_CITATION = re.compile(r"[ ]?\[(?:\^[^\[\]\s]{1,40}|\d{1,3}(?:[ ]?[,;–-][ ]?\d{1,3}){0,20})\](?!\()")
_TAG = re.compile(r"</?[A-Za-z][A-Za-z0-9]{0,20}(?:\s[^<>]{0,300})?/?>")
_EMPHASIS = [
    re.compile(r"(?<![\\*])(\*\*\*)(?=\S)([^*]{1,500})(?<=\S)(\*\*\*)"),
    re.compile(r"(?<![\\*])(\*\*)(?=\S)((?:[^*]|\*(?!\*)){1,500}?)(?<=\S)(\*\*)(?!\*)"),
    re.compile(r"(?<![\\*\w])(\*)(?=\S)([^*]{1,500})(?<=\S)(\*)(?![*\w])"),
    re.compile(r"(?<![\\\w])(__)(?=\S)([^_]{1,500})(?<=\S)(__)(?!\w)"),
    re.compile(r"(?<![\\\w])(_)(?=\S)([^_]{1,500})(?<=\S)(_)(?!\w)"),
    re.compile(r"(?<!\\)(~~)(?=\S)([^~]{1,500})(?<=\S)(~~)"),
]
_ESCAPE = re.compile(r"\\(?=[\\`*_{}\[\]()#+.!>~|-])")


def hide_markup(text: str) -> str:
    """The text, of the same length, with HIDDEN in the place of what is a mark and not a word.

    Marks are emphasis, code ticks, the targets of links, numeric citations, footnote marks, HTML tags and the
    backslashes of escapes.
    """
    if any(mark in text for mark in "*_`[<~\\"):
        for pattern in (_CITATION, _TAG):
            text = pattern.sub(lambda found: HIDDEN * len(found.group()), text)
        for pattern in (_CODE, _LINK, *_EMPHASIS):
            text = pattern.sub(_keep_words, text)
        text = _ESCAPE.sub(HIDDEN, text)
    return text


def _keep_words(found: re.Match[str]) -> str:
    before, words, after = found.groups()
    return HIDDEN * len(before) + words + HIDDEN * len(after)
