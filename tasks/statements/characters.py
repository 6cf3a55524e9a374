"""Kinds of characters that blocks, markup and sentences of a released text are told apart by."""

import re

HIDDEN = "\u2060"  # WORD JOINER stands for a character of markup that is not part of the text
INVISIBLE = dict.fromkeys(map(ord, f"{HIDDEN}\u200b\ufeff\u00ad"))  # for str.translate: dropped from a claim

# Inside [] of a pattern, and for str.strip: its own white space has the control characters U+001C to U+001F, too.
SPACE = " \t\n\r\f\v\u0085\u00a0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"
EMOJI = "\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff\ufe0f\u200d\u20e3"
UNSPACED = (  # scripts without spaces between words, and Hangul, where two words make a sentence
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3"
    "\uf900-\ufaff\U00020000-\U0003ffff"
)
HAN_AND_KANA = "\u3001-\u3003\u3008-\u3011\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uff01-\uff0f\U00020000-\U0003ffff"

_SPACES = re.compile(f"[{SPACE}]+")
_WRAPPED = re.compile(f"(?<=[{HAN_AND_KANA}])[ \t]*[\r\n][{SPACE}]*(?=[{HAN_AND_KANA}])")


def one_line(text: str) -> str:
    """The text without what is invisible, with single spaces; lines of Chinese and Japanese are joined without one."""
    return _SPACES.sub(" ", _WRAPPED.sub("", text.translate(INVISIBLE))).strip(" ")
