"""Claims in a language model's words: every passage gives claims or rejects, and together they are the whole text."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from written_answers import answer, answered_by, listing

from schemas.claims import Reject, RejectReason
from tasks.statements.model_claims import Passage, claims_of_passages, read_passages
from tasks.statements.model_lines import describe_claims
from tasks.statements.prompts import PASSAGE_CHARACTERS, prompt_sha256

TEXT = """\
# What guests say

The food was delicious. The service was slow, but the waiter was kind.

| a | b |
|---|---|
| 1 | 2 |

## Prices

Most guests (62%) find it expensive. The caf\0 was closed.

## The end
"""


def sentences(asked: str) -> object:
    """A model that copies the sentences of its passage."""
    passage = asked.removeprefix("Passage: ")
    return listing("claims", *(line for line in passage.splitlines() if not line.startswith("#")))


def test_passages_hold_prose_with_its_headings_and_nothing_else() -> None:
    read = list(read_passages(TEXT))
    shown = [one.text if isinstance(one, Passage) else (str(one.reason), one.text) for one in read]
    assert shown == [
        "# What guests say\nThe food was delicious.\nThe service was slow, but the waiter was kind.",
        ("not_prose", "| a | b | |---|---| | 1 | 2 |"),
        "## Prices\nMost guests (62%) find it expensive.",
        ("unreadable", "The caf\\x00 was closed."),
        ("heading", "## The end"),
    ]


def places(text: str) -> list[tuple[int, int]]:
    return [one.place if isinstance(one, Passage) else (one.start, one.end) for one in read_passages(text)]


@given(st.text(alphabet="ab .!?\n#|`-*>\0\ud800é食。", max_size=300), st.integers(1, 40))
def test_passages_and_rejects_are_the_whole_text_and_fit(part: str, times: int) -> None:
    text = unicodedata.normalize("NFC", (part + " ") * times)
    ends = [0]
    for start, end in places(text):
        assert start == ends[-1] and end > start
        ends.append(end)
    assert ends[-1] == (len(text) if ends[1:] else 0)
    assert all(len(one.text) <= PASSAGE_CHARACTERS for one in read_passages(text) if isinstance(one, Passage))


def test_a_sentence_that_no_passage_holds_is_not_shown() -> None:
    long = "Word " * 300 + "end."
    [before, reject, after] = read_passages(f"It was good here. {long} It was bad there.")
    assert isinstance(before, Passage) and isinstance(after, Passage)
    assert isinstance(reject, Reject) and reject.reason == RejectReason.TOO_LONG


def test_claims_and_rejects_keep_the_place_of_their_passage() -> None:
    draft = claims_of_passages(TEXT, answered_by(sentences))  # type: ignore[arg-type]
    told = [(one.statement.text, TEXT[one.start : one.end].strip().partition("\n")[0]) for one in draft.statements]
    assert told == [
        ("The food was delicious.", "# What guests say"),
        ("The service was slow, but the waiter was kind.", "# What guests say"),
        ("Most guests (62%) find it expensive.", "## Prices"),
    ]
    assert [reject.reason for reject in draft.rejects] == ["not_prose", "unreadable", "heading"]
    line = describe_claims(draft, {"model": "m"}, "abc", "our blog: reworded by a language model")
    assert line == (
        "claims of a released text, sha256 abc; reworded by a language model, for whose words nobody vouches: 3 "
        f"claims, 3 rejects (1 unreadable, 1 heading, 1 not_prose); extractor llm-1, prompts sha256 {prompt_sha256()}, "
        "model m; declared origin: our blog: reworded by a language model"
    )


def test_a_passage_that_gives_nothing_is_a_reject_with_its_text() -> None:
    text = "The food was delicious.\n\n# Service\n\nThe service was slow.\n\n# Prices\n\nIt was quite expensive."
    answers = iter([listing("claims"), answer('{"claims": ["The serv', complete=False), None])
    draft = claims_of_passages(text, answered_by(lambda _: next(answers)))
    assert draft.statements == ()
    assert [(str(reject.reason), reject.text) for reject in draft.rejects] == [
        ("no_claim", "The food was delicious."),
        ("cut", '"The serv'),
        ("unanswered", "# Prices It was quite expensive."),
    ]
    assert [(reject.start, reject.end) for reject in draft.rejects] == places(text)


def test_a_passage_too_long_for_the_context_is_halved_until_it_fits() -> None:
    text = " ".join(f"Guest {number} liked the food." for number in range(8))
    asked: list[str] = []
    draft = claims_of_passages(
        text,
        answered_by(lambda said: sentences(said) if said.count(".") <= 2 else None, asked),  # type: ignore[arg-type, return-value]
    )
    assert [one.statement.text for one in draft.statements] == [
        f"Guest {number} liked the food." for number in range(8)
    ]
    assert (draft.answers, draft.rejects) == (4, ())
    assert len(asked) == 7
    starts = sorted({(one.start, one.end) for one in draft.statements})
    assert starts[0][0] == 0 and starts[-1][1] == len(text)
    assert [end for _, end in starts[:-1]] == [start for start, _ in starts[1:]]


PASSAGE = "Most guests (62%) praise the friendly staff. 食物非常好吃。"
SAID = [
    "Guests praise the staff.",
    "The staff is friendly.",
    "62 percent of the guests praise it.",
    "食物很好吃",
    "Most praise.",
]
UNSAID = ["The reader is glad that books can be returned at night.", "63% of guests praise the staff.",
          "The hotel was dirty and noisy.", "地方又脏又吵闹"]  # fmt: skip


@pytest.mark.parametrize("claim", SAID + UNSAID)
def test_a_claim_about_something_else_is_not_in_its_passage(claim: str) -> None:
    draft = claims_of_passages(
        PASSAGE, answered_by(lambda _: listing("claims", claim, "Guests praise friendly staff."))
    )
    reasons = [reject.reason for reject in draft.rejects]
    expected = [RejectReason.NOT_IN_PASSAGE] if claim in UNSAID else []
    assert reasons == (expected if claim != "Most praise." else [RejectReason.TOO_SHORT])


def test_the_same_claim_of_two_passages_is_asked_once() -> None:
    draft = claims_of_passages("The food was good.\n\n# Again\n\nThe food was good!", answered_by(sentences))  # type: ignore[arg-type]
    assert len(draft.statements) == 1
    assert [(str(reject.reason), reject.start) for reject in draft.rejects] == [("duplicate", 20)]


def test_an_empty_text_asks_nothing() -> None:
    asked: list[str] = []
    for text in ("", " \n", "# Only a heading", "\0"):
        assert claims_of_passages(text, answered_by(sentences, asked)).statements == ()  # type: ignore[arg-type]
    assert asked == []


def test_equal_texts_in_any_form_ask_the_same() -> None:
    one: list[str] = []
    other: list[str] = []
    for form, asked in (("NFC", one), ("NFD", other)):
        claims_of_passages(unicodedata.normalize(form, "Le café était très bon."), answered_by(sentences, asked))  # type: ignore[arg-type]
    assert one == other == ["Passage: Le café était très bon."]
