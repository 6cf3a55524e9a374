"""Texts of others as plain text in a prompt: nothing in them can be a control token of a chat template.

Control tokens of the known model families (`<|im_end|>`, `<start_of_turn>`, `</s>`, `[INST]`, `<<SYS>>`) hold an
opening bracket that no space follows; after the rule, no text does. Compatibility forms of the brackets count too: some
tokenizers fold them before they look.
"""

import re

RULE = "a space follows every opening angle or square bracket of a text, so that no control token can be written in it"
_BRACKETS = "<[\uff1c\ufe64\uff3b\ufe47"
_OPENING = re.compile(rf"([{re.escape(_BRACKETS)}])(?!\s)")


def plain_text(text: str) -> str:
    """The text after RULE; a second time changes nothing."""
    return _OPENING.sub(r"\1 ", text)


def cannot_be_written(token: str) -> bool:
    """Whether no text holds this spelling after RULE."""
    return re.search(rf"[{re.escape(_BRACKETS)}]\S", token) is not None
