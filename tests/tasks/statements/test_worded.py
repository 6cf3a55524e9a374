"""From answers to statements: each once, the rest with a reason, and nothing left out."""

import pytest
from written_answers import answer, listing

from schemas.claims import Reject, RejectReason
from tasks.inference.protocol import Generated, Reason, Unanswered
from tasks.statements.worded import Draft, Gathering


def gathered(*answers: Generated | Unanswered, passage: str = "") -> Draft:
    gathering = Gathering()
    for one in answers:
        gathering.take(one, "claims", (3, 9), passage)
    return gathering.draft()


def texts(draft: Draft) -> list[str]:
    return [one.statement.text for one in draft.statements]


def test_list_marks_quotation_marks_and_spaces_are_no_part_of_a_statement() -> None:
    written = ["1. The food  was good.", "- The soup\nwas cold.", "“The staff were kind.”", '"We waited long."']
    assert texts(gathered(listing("claims", *written))) == [
        "The food was good.", "The soup was cold.", "The staff were kind.", "We waited long.",
    ]  # fmt: skip
    kept = ["3.5 stars are too few.", "“Good food” is on the sign of “Chez Nous”", "12 guests left early."]
    assert texts(gathered(listing("claims", *kept))) == kept


def test_statements_that_differ_in_case_marks_and_form_are_one() -> None:
    first = "The café was good."
    others = ["the CAFÉ was good", "The cafe\u0301 was  good!", "“The café was good.”", "The ｃａｆé was (good) 👍"]
    draft = gathered(listing("claims", first, *others[:2]), listing("claims", *others[2:]))
    assert texts(draft) == [first]
    assert [reject.reason for reject in draft.rejects] == ["duplicate"] * 4
    for other in ("The café was not good.", "The cafes were good.", "The café was good at 5."):
        assert texts(gathered(listing("claims", first, other))) == [first, other]


REJECTED = {
    RejectReason.UNREADABLE: ["The food \0was good.", "The food \u202ewas good.", "The \ud800 was good.",
                              "It was \ufffd bad."],
    RejectReason.TOO_LONG: ["word " * 101 + "end."],
    RejectReason.TOO_SHORT: ["", "Good food", "!!!", "👍👍👍", "真好"],
    RejectReason.QUESTION: ["Was the food good?", "食物好吃吗？"],
    RejectReason.UNPARSABLE: [7, None, {"claim": "The food was good."}, ["The food was good."]],
}  # fmt: skip


@pytest.mark.parametrize("reason", REJECTED)
def test_what_is_no_statement_has_its_reason_and_its_place(reason: RejectReason) -> None:
    for one in REJECTED[reason]:
        draft = gathered(listing("claims", one, "The soup was cold."))
        assert texts(draft) == ["The soup was cold."]
        [reject] = draft.rejects
        assert (reject.reason, reject.start, reject.end) == (reason, 3, 9)
        assert reject.text.isprintable()


def test_emoji_and_other_scripts_are_statements() -> None:
    written = ["The guests like it 👍🏽", "الطعام لذيذ جدا", "食物非常好吃", "המטבח סגור בשבת"]
    assert texts(gathered(listing("claims", *written))) == written


SILENT = {
    "an empty list": (listing("claims"), RejectReason.NO_CLAIM, "The passage."),
    "prose": (answer("I cannot\nhelp."), RejectReason.UNPARSABLE, "I cannot help."),
    "an empty answer": (answer(""), RejectReason.UNPARSABLE, "The passage."),
    "another key": (answer('{"facts": "x"}'), RejectReason.UNPARSABLE, '{"facts": "x"}'),
    "cut before an item": (answer('{"claims": ["The fo', complete=False), RejectReason.CUT, '"The fo'),
    "cut before the list": (answer('{"cl', complete=False), RejectReason.CUT, '{"cl'),
    "no answer": (Unanswered("one", Reason.TOO_LONG), RejectReason.UNANSWERED, "The passage."),
    "refused": (Unanswered("one", Reason.REFUSED), RejectReason.UNANSWERED, "The passage."),
}


@pytest.mark.parametrize("kind", SILENT)
def test_an_answer_without_a_statement_is_a_reject(kind: str) -> None:
    given, reason, shows = SILENT[kind]
    draft = gathered(given, passage="The passage.")
    assert draft == Draft((), (Reject(shows, reason, 3, 9),), 1)


def test_a_cut_answer_keeps_its_whole_statements_and_tells_the_rest() -> None:
    draft = gathered(answer('```json\n{"claims": ["The food was good.", "The soup was c', complete=False))
    assert texts(draft) == ["The food was good."]
    assert draft.rejects == (Reject('"The soup was c', RejectReason.CUT, 3, 9),)


def test_ten_thousand_items_are_taken() -> None:
    draft = gathered(listing("claims", *(f"This is statement {number}." for number in range(10_000))))
    assert len(draft.statements) == 10_000 and draft.rejects == ()
