"""The protocol keeps texts to itself."""

import pytest

from tasks.inference.protocol import FirstToken, Generated, Message, Prompt, PromptLogProbabilities

SECRET = "a text that nobody else may read"


def test_no_repr_shows_a_text() -> None:
    prompt = Prompt("a", (Message("user", SECRET),))
    answers = [
        Generated("a", SECRET, complete=True, prompt_tokens=1, tokens=1),
        PromptLogProbabilities("a", (90210, 90211), (-1.25,)),
    ]
    assert SECRET not in repr([prompt, answers])
    assert "90211" not in repr(answers)
    assert "1.25" not in repr(answers)


def test_broken_unicode_is_refused_without_showing_it() -> None:
    with pytest.raises(ValueError, match="not valid Unicode") as caught:
        Message("user", SECRET + "\ud800")
    assert SECRET not in repr(caught.value)


@pytest.mark.parametrize("name", ["", "a b", "line\nbreak", "é", "x" * 129])
def test_an_id_that_could_break_a_header_or_a_log_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="request id"):
        Prompt(name, (Message("user", "Hello."),))


def test_a_prompt_without_a_message_is_refused() -> None:
    with pytest.raises(ValueError, match="needs a message"):
        Prompt("a", ())


def test_the_choice_is_the_most_probable_token_and_of_equal_ones_the_first() -> None:
    assert FirstToken("a", (-2.0, -1.0, -1.0), 3).choice == 1
