"""Claims and rejects of a released text: together they are the whole of it, and the same always."""

import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from schemas.claims import RejectReason, count_reasons
from schemas.domain_files import MAX_STATEMENT_CHARACTERS, unprintable
from tasks.statements.characters import SPACE
from tasks.statements.claims import Extraction, extract_claims


def claims(text: str) -> list[str]:
    return [claim.statement.text for claim in extract_claims(text).claims]


def rejects(text: str) -> list[tuple[str, str]]:
    return [(str(reject.reason), reject.text) for reject in extract_claims(text).rejects]


REPORT = """\
# What guests say

Most guests liked the food. The *service* was
slow on weekends, e.g. on Mr. Kim's tables. Was it worth 3.50 €? Great!

The guests praise:

- the friendly staff at the bar
- **Rooms:** they are clean and quiet [2].

| dish | votes |
|------|-------|

Please write to us. Most guests liked the food.
"""


def test_a_report_is_taken_apart_and_nothing_is_lost() -> None:
    assert claims(REPORT) == [
        "Most guests liked the food.",
        "The service was slow on weekends, e.g. on Mr. Kim's tables.",
        "the friendly staff at the bar",
        "Rooms: they are clean and quiet.",
    ]
    assert rejects(REPORT) == [
        ("heading", "# What guests say"),
        ("question", "Was it worth 3.50 €?"),
        ("too_short", "Great!"),
        ("heading", "The guests praise:"),
        ("not_prose", "| dish | votes | |------|-------|"),
        ("boilerplate", "Please write to us."),
        ("duplicate", "Most guests liked the food."),
    ]


REJECTED = {
    RejectReason.UNREADABLE: ["The food\x00was good.", "The \udcff food was good.", "The food \u202ewas good.",
                              "The food \ufffd was good.", "The food was\x1c good.", "# The \x07 heading"],
    RejectReason.HEADING: ["# The food was good.", "The Food And The Service", "FOOD AND SERVICE QUALITY",
                           "2.1 Results of the survey", "**The food and more**", "The guests say that:", "客人说道：",
                           "The food was good\n-----------------"],
    RejectReason.NOT_PROSE: ["```\nThe food was good.\n```", "| The food | was good. |", "* * *", "<!-- The food. -->",
                             "[food]: http://example.com/the/food", "![The food was good](x.png)"],
    RejectReason.TOO_LONG: ["The food was good " * 28 + "here.", "x" * 501],
    RejectReason.TOO_SHORT: ["Great food.", "!!!", "😀😀😀", "-", "- ", "3.50 + 4.20 = 7.70", "很好。", "<br/>"],
    RejectReason.QUESTION: ["Is the food good?", "Is the food good?!", "“Is the food good?”", "食物好吃吗？",
                            "هل الطعام جيد هنا؟", "Is the food good? 😀"],
    RejectReason.BOILERPLATE: ["Please tell your friends.", "Click here to see it.", "See Appendix B for details.",
                               "Visit our site at http://x.y.", "© 2026 Acme and others.", "All rights reserved by us.",
                               "Thank you for your visit.", "Copyright 2026 Acme Inc."],
}  # fmt: skip


@pytest.mark.parametrize(("reason", "text"), [(reason, text) for reason, texts in REJECTED.items() for text in texts])
def test_what_is_no_claim_is_rejected_with_its_reason(reason: RejectReason, text: str) -> None:
    found = extract_claims(text)
    assert [reject.reason for reject in found.rejects] == [reason]
    assert found.claims == ()


def test_every_reason_is_given_somewhere() -> None:
    of_a_model = {"not_in_passage", "no_claim", "unparsable", "cut", "unanswered", "surplus"}
    assert {*REJECTED, RejectReason.DUPLICATE} == {one for one in RejectReason if one not in of_a_model}


CLAIMS = [
    "The food was good", "Visit 3 was better than visit 2.", "Contact with staff was easy.", "'Never again,' he said.",
    "“Is it good?” was asked often.", "The DNA and RNA were sequenced", "See-through glass is used.",
    "Guests like it 👍🏽",
    "食物很好吃。", "音が良かった", "음식이 맛있었다.", "המטבח סגור בשבת.", "الطعام جيد جدا", "खाना बहुत अच्छा था।",
    "Le café était très bon.", "x" * 200 + " is long.", "The food costs about $3.50/kg at example.com.",
]  # fmt: skip


@pytest.mark.parametrize("text", CLAIMS)
def test_a_statement_is_taken_as_it_is_written(text: str) -> None:
    assert claims(text) == [text]
    assert claims(f"- {text}\n") == [text]
    assert claims(f"> {text}\n") == [text]


def test_500_characters_are_counted_not_bytes() -> None:
    text = "Le café " + "é" * (MAX_STATEMENT_CHARACTERS - 9) + "."
    assert claims(text) == [text]
    assert rejects(f"{text}.") == [("too_long", f"{text}…")]


def test_wrapped_lines_are_one_sentence_also_in_quotes_and_without_spaces() -> None:
    assert claims("> The food that we had on the\n> terrace was good.\n") == [
        "The food that we had on the terrace was good."
    ]
    assert claims("食物很好吃而且服务也非常好所以我们还会再来这家餐厅因为它\n真的很棒。") == [
        "食物很好吃而且服务也非常好所以我们还会再来这家餐厅因为它真的很棒。"
    ]


def test_what_cannot_be_seen_makes_no_second_claim() -> None:
    assert claims("The food was good.\n\nThe \u200bfood\ufeff was\u2060 go\u00adod.\n\nThe\u00a0food  was good.") == [
        "The food was good."
    ]


def test_nothing_but_nfc_is_done_to_characters() -> None:
    assert claims("The cafe\u0301 has ﬁne ½ litres of Ｗ²ine.") == ["The caf\u00e9 has ﬁne ½ litres of Ｗ²ine."]


def test_an_unreadable_reject_is_shown_with_escapes() -> None:
    assert rejects("The \x00 food \udce9 is \u202e here.") == [
        ("unreadable", r"The \x00 food \udce9 is \u202e here."),
    ]


def test_reasons_are_counted_in_a_fixed_order() -> None:
    assert count_reasons(["question", "duplicate", "question", "heading"]) == "1 heading, 2 question, 1 duplicate"
    assert count_reasons([]) == ""


def pieces(found: Extraction) -> list[tuple[int, int]]:
    return sorted((piece.start, piece.end) for piece in (*found.claims, *found.rejects))


def whole(found: Extraction, text: str) -> str:
    """The places of claims and rejects, put together; they may not overlap."""
    places = pieces(found)
    assert all(start < end for start, end in places)
    return "".join(text[start:end] for start, end in places)


PARTS = st.sampled_from(
    ["The food was good.", "the staff", "Dr. Who", "Is it?", "\n", "\n\n", "- ", "1. ", "# ", "> ", "```\n", "|a|b|\n",
     "---\n", "**", "“", "”", "\"", "(", ")", " ", "…", "😀", "。", "؟", "食物很好吃", "\x00", "\udcff", "e\u0301",
     "\u2060", ":", "<b>", "[a](b)", "\\", "\r\n", "Acme Inc.", "\u00a0", "[1]", "Please go."]
)  # fmt: skip
TEXTS = st.lists(PARTS, max_size=25).map("".join) | st.text(max_size=80)


@settings(deadline=None, max_examples=400)
@example("0\r\x1f")
@example("one\n\x1c two\n\x1d\x1e")
@given(TEXTS)
def test_claims_and_rejects_are_the_whole_text_and_every_claim_can_be_asked(text: str) -> None:
    found = extract_claims(text)
    normal = unicodedata.normalize("NFC", text)
    assert whole(found, normal) == (normal if normal.strip(SPACE) else "")
    for claim in found.claims:
        said = claim.statement.text
        assert said == unicodedata.normalize("NFC", said)
        assert 3 <= len(said) <= MAX_STATEMENT_CHARACTERS
        assert unprintable(said) is None
        assert not said.endswith("?")
    assert len({claim.statement.statement_id for claim in found.claims}) == len(found.claims)
    assert all(unprintable(reject.text) is None for reject in found.rejects)


@settings(deadline=None)
@given(TEXTS)
def test_the_unicode_form_of_a_text_does_not_matter_nor_does_the_run(text: str) -> None:
    found = extract_claims(text)
    assert extract_claims(unicodedata.normalize("NFD", text)) == found == extract_claims(text)


@settings(deadline=None)
@given(st.lists(st.sampled_from([*CLAIMS, "The staff were kind.", "It rained: nobody came."]), unique=True), st.data())
def test_claims_that_are_written_as_a_text_again_are_the_same_claims(written: list[str], data: st.DataObject) -> None:
    before, after = data.draw(
        st.sampled_from([("", "\n\n"), ("- ", "\n"), ("> ", "\n\n"), ("1. ", "\n"), ("", "\r\n\r\n")])
    )
    once = claims("".join(f"{before}{text}{after}" for text in written))
    assert once == written
    assert claims("\n\n".join(once)) == once


HUGE = {
    "sentences": "The guests of the house liked the food. " * 125_000,
    "one word": "x" * 5_000_000,
    "an emoji run": "Good! " + "😀" * 1_000_000 + "x",
    "open quotes": "“a " * 500_000,
    "NUL": "\x00" * 500_000,
    "stars": "**a " * 300_000,
    "fences": "```py\n" * 50_000,
    "comments": "<!-- a\n" * 50_000,
    "dashes": "-" * 1_000_000 + "x",
}


@pytest.mark.parametrize("kind", HUGE)
def test_a_huge_text_is_taken_apart_and_nothing_is_lost(kind: str) -> None:
    """Whatever took time that grows with the square would not end here."""
    found = extract_claims(HUGE[kind])
    assert whole(found, HUGE[kind]) == HUGE[kind]
    assert len(found.claims) <= 1
