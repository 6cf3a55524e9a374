"""Blocks of a plain or Markdown text, and the marks that are not part of its words."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.statements.blocks import BlockKind, read_blocks
from tasks.statements.characters import HIDDEN, SPACE
from tasks.statements.markup import hide_markup

HEADING, OTHER, PROSE = BlockKind.HEADING, BlockKind.OTHER, BlockKind.PROSE


def found(text: str) -> list[tuple[BlockKind, str]]:
    blocks, unmarked = read_blocks(text)
    return [(b.kind, unmarked[b.start : b.end].replace(HIDDEN, "").strip()) for b in blocks]


CASES = {
    "a paragraph": ("One line\nand two.\n\nAnother.", [(PROSE, "One line\nand two."), (PROSE, "Another.")]),
    "headings": (
        "# One\nText.\n\nTwo\n===\nThree\n---\n**Four**\n",
        [(HEADING, "# One"), (PROSE, "Text."), (HEADING, "Two\n==="), (HEADING, "Three\n---"), (HEADING, "**Four**")],
    ),
    "no heading": ("#food is good\n", [(PROSE, "#food is good")]),
    "a list": ("Intro:\n- one\n* two\n  more\n1. three\n2) four\n- [x] five\n",
               [(PROSE, "Intro:"), (PROSE, "one"), (PROSE, "two\n  more"), (PROSE, "three"), (PROSE, "four"),
                (PROSE, "five")]),
    "a number inside a paragraph": ("It was bought in the spring of the year\n12. It was a good and a long year\n",
                                    [(PROSE, "It was bought in the spring of the year\n12. It was a good and a long "
                                             "year")]),
    "a quote": ("> one\n>> two\n>\n> three\nlazy\n", [(PROSE, "one\ntwo"), (PROSE, "three\nlazy")]),
    "a fence": ("a\n```py\n# b\n- c\n```\nd", [(PROSE, "a"), (OTHER, "```py\n# b\n- c\n```"), (PROSE, "d")]),
    "a fence that is longer": ("````\n```\n````\nd", [(OTHER, "````\n```\n````"), (PROSE, "d")]),
    "an open fence": ("```py\na b c\n", [(OTHER, "```py"), (PROSE, "a b c")]),
    "a table": ("| a | b |\n|---|---|\n| c | d |\ntext | text\n",
                [(OTHER, "| a | b |\n|---|---|\n| c | d |"), (PROSE, "text | text")]),
    "rules": ("a\n\n* * *\n\n___\nb", [(PROSE, "a"), (OTHER, "* * *"), (OTHER, "___"), (PROSE, "b")]),
    "a comment": ("<!-- a\n\nb -->\nc", [(OTHER, "<!-- a\n\nb -->"), (PROSE, "c")]),
    "an open comment": ("<!-- a\nb", [(PROSE, "<!-- a\nb")]),
    "front matter": ("---\ntitle: a\n---\nb", [(OTHER, "---\ntitle: a\n---"), (PROSE, "b")]),
    "a definition and an image": ("[a]: http://x.y\n![b](c.png)\nd",
                                  [(OTHER, "[a]: http://x.y"), (OTHER, "![b](c.png)"), (PROSE, "d")]),
    "lines that are meant": ("The food is good\nThe staff is nice\nit rained",
                             [(PROSE, "The food is good"), (PROSE, "The staff is nice\nit rained")]),
    "wrapped lines": ("The guests who came from the whole of New\nYork liked it.",
                      [(PROSE, "The guests who came from the whole of New\nYork liked it.")]),
    "other line ends": ("a\r\n\r\nb\r\rc", [(PROSE, "a"), (PROSE, "b"), (PROSE, "c")]),
    "only quote marks": (">\n>>\n", [(OTHER, ">\n>>")]),
    "white space": (" \n\t\u3000\n", []),
    "nothing": ("", []),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_text_is_read_as_these_blocks(name: str) -> None:
    text, blocks = CASES[name]
    assert found(text) == blocks


MARKED = [
    ("The **best** _dish_ was ~~cold~~ `hot`.", "The best dish was cold hot."),
    ("***Both*** and __this__ and **a *b* c**.", "Both and this and a b c."),
    ("See [the soup](http://x.y/z \"t\")[12] and ![a dish](p.png).[^3]", "See the soup and a dish."),
    ("It <b>is</b> good<br/> here.", "It is good here."),
    ("A 5* hotel, 2 * 3 * 4, snake_case_name, a < b and c > d.", None),
    (r"Escaped \*stars\* and \_lines\_.", "Escaped *stars* and _lines_."),
    ("[not a link] (x) and [a][b].", None),
]  # fmt: skip


@pytest.mark.parametrize(("text", "words"), MARKED)
def test_marks_are_hidden_and_words_stay(text: str, words: str | None) -> None:
    hidden = hide_markup(text)
    assert len(hidden) == len(text)
    assert hidden.replace(HIDDEN, "") == (text if words is None else words)


LINES = st.sampled_from(
    ["", " ", "a b", "A b.", "# h", "- a", "1. b", "2. c", "> q", ">", "```", "~~~~", "---", "===", "|a|b|", "<!--",
     "-->", "**b**", "\\", "a\\", "[a]: b", "…", "x: y", "\x00", "    code", "•item"]
)  # fmt: skip


@settings(deadline=None, max_examples=300)
@given(st.lists(LINES, max_size=15).map("\n".join) | st.text(max_size=60))
def test_blocks_follow_each_other_from_the_start_to_the_end(text: str) -> None:
    blocks, unmarked = read_blocks(text)
    assert len(unmarked) == len(text)
    assert all(a in (b, HIDDEN) for a, b in zip(unmarked, text, strict=True))
    if text.strip(SPACE):
        assert "".join(text[block.start : block.end] for block in blocks) == text
        assert all(block.start < block.end for block in blocks)
    else:
        assert blocks == []
