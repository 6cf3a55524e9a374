"""Statements from a task alone: as many as are wanted, from different angles, or said to be fewer."""

from itertools import count

from written_answers import answer, answered_by, listing

from schemas.claims import RejectReason
from tasks.inference.protocol import Generated
from tasks.statements.model_lines import describe_proposal
from tasks.statements.model_proposal import propose_from_task
from tasks.statements.prompts import prompt_sha256


def eight(numbers: "count[int]") -> Generated:
    return listing("statements", *(f"The guest makes point number {next(numbers)}." for _ in range(8)))


def test_lists_are_asked_for_until_there_are_enough() -> None:
    asked: list[str] = []
    numbers = count()
    draft = propose_from_task("Reviews of cafés", 20, 0, answered_by(lambda _: eight(numbers), asked))
    assert [one.statement.text for one in draft.statements] == [f"The guest makes point number {n}." for n in range(20)]
    assert len(asked) == len(set(asked)) == draft.answers == 3
    assert all(text.startswith("Collection: Reviews of cafés\n") for text in asked)
    assert [reject.reason for reject in draft.rejects] == [RejectReason.SURPLUS] * 4


def test_a_model_that_repeats_itself_gives_fewer_and_is_asked_no_more_than_twice_as_often() -> None:
    asked: list[str] = []
    same = listing("statements", "The guest liked the food.", "Was it good?", 3)
    draft = propose_from_task("Reviews", 20, 0, answered_by(lambda _: same, asked))
    assert [one.statement.text for one in draft.statements] == ["The guest liked the food."]
    assert len(asked) == len(set(asked)) == 10
    line = describe_proposal(draft, {"model": "m", "weights": "w"}, "Reviews; 7", 20, 0)
    assert line == (
        f"proposed by a language model from its task alone; llm-1, prompts sha256 {prompt_sha256()}: 1 statements of "
        "20 wanted, 29 rejects (10 question, 9 duplicate, 10 unparsable) in 10 answers; seed 0; model m, weights w; "
        "task: Reviews; 7"
    )


def test_a_model_that_gives_none_gives_none() -> None:
    draft = propose_from_task("Reviews", 1, 0, answered_by(lambda _: answer("As a model, I cannot.")))
    assert draft.statements == () and {reject.reason for reject in draft.rejects} == {RejectReason.UNPARSABLE}
    assert propose_from_task("Reviews", 1, 0, answered_by(lambda _: None)).statements == ()


def test_another_seed_asks_for_other_lists() -> None:
    here: list[str] = []
    there: list[str] = []
    for asked, seed in ((here, 0), (there, 1)):
        propose_from_task("Reviews", 9, seed, answered_by(lambda _: listing("statements"), asked))
    assert not set(here) & set(there)
