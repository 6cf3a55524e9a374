"""Where sentences end: abbreviations, numbers, quotes, ellipses, emoji, and the full stops of other scripts."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.statements.abbreviations import MAY_END, NEVER_END
from tasks.statements.characters import HIDDEN
from tasks.statements.sentences import sentence_ends


def split(text: str) -> list[str]:
    ends = sentence_ends(text)
    return [text[start:end].strip() for start, end in zip([0, *ends], ends, strict=False)]


# Each is written with | where a sentence ends.
WRITTEN = [
    "The food was good.| The staff were slow.",
    "It was great!| We loved it.| Was it cheap?| Not really.",
    "What?!| Nobody knew...| Then it closed.",
    "Mr. Smith and Dr. Jones met Prof. Li at St. Mary's.| They left.",
    "It opened on Main St. The shop next door did not.".replace("St. The", "St.| The"),
    "Acme Inc. in Delaware grew.| Acme Inc.| The others shrank.",
    "J. R. R. Tolkien wrote it.| C. S. Lewis did not.",
    "He lives in the U.S. Army base.| Prices rose in the U.S.| The rest stayed flat.",
    "Use spices, e.g. Pepper or salt, i.e. Sodium chloride.| It helps.",
    "See Smith et al. Smith agrees.| Costs fell by approx. 3.5 % vs. 2.1 % in Jan. 2026.| Good.",
    "We met at 5 p.m. on Monday.| We left at 6 p.m.| The bus came late.",
    "Fig. 3 and No. 7 are on p. 12.| They show it.",
    "So do I.| Then we left.",
    "It costs $3.50 at example.com today.| Version 2.0.1 is out.",
    "1. The rooms are clean and 2. the beds are soft.| They sell.",
    '"The food was great. Really great," said a guest.| Others agreed.',
    '“It was cold. And late.”| They said so.| ‘Never again.’| It hurt.',
    "She asked “Is it open?” and left.| He stayed.",
    "It works (see p. 4. It helps there).| (It failed once.)| Fine.",
    "It was sad :( They left.| It was late :)".replace(":( They", ":(| They").replace(":(|", ":("),
    "Well... maybe it is.| It is… no more than that.| It is…| Nothing more.",
    "Great food! 😀😀| The staff were slow. 👍🏽| It rained.",
    "I ❤️ New York a lot 😀| The rest is fine.",
    "Yahoo! is a company.| Who knew!",
    "He said «C'est bon. Merci.» twice.| They laughed.",
    "服务很好。|食物很好吃！|真的吗？|是的。",
    "他说：“很好。”然后走了。|我们也走了。",
    "「おいしい。」と彼は言った。|また来ます。",
    "味は最高！！|店員は親切。",
    "المطعم جيد.| هل الخدمة جيدة؟| نعم، جيدة جدا.",
    "یہ اچھا ہے۔| وہ برا ہے۔",
    "האוכל היה טעים.| השירות היה איטי!",
    "खाना अच्छा था।| सेवा धीमी थी।",
    "Еда была вкусной.| Обслуживание было медленным.",
    f"It was **good.{HIDDEN}{HIDDEN}| Then it was bad.",
    "¿Está abierto?| ¡Sí! Está abierto.".replace("¡Sí! Está", "¡Sí!| Está"),
]  # fmt: skip


@pytest.mark.parametrize("written", WRITTEN)
def test_a_text_is_split_where_a_reader_would(written: str) -> None:
    assert split(written.replace("|", "")) == [part.strip() for part in written.split("|")]


@pytest.mark.parametrize("word", sorted(NEVER_END | MAY_END))
def test_no_abbreviation_before_a_name_ends_a_sentence(word: str) -> None:
    assert split(f"We met {word}. Xaver there.") == [f"We met {word}. Xaver there."]


@pytest.mark.parametrize("word", sorted(MAY_END))
def test_some_abbreviations_end_a_sentence_before_a_word_that_starts_one(word: str) -> None:
    assert split(f"We met {word}. They left.") == [f"We met {word}.", "They left."]


def test_a_quotation_of_more_than_600_characters_is_split() -> None:
    short, long = ("“" + "It was good. " * times + "”" for times in (20, 60))
    assert len(split(short)) == 1
    assert len(split(long)) > 50


def test_an_empty_text_has_no_sentence() -> None:
    assert sentence_ends("") == []


ALPHABET = "aAbI1 .!?…\"'“”()「」。？؟।😀\u200d\n,:;*\u2060éß中"


@settings(deadline=None)
@given(st.text(st.sampled_from(ALPHABET), max_size=80) | st.text(max_size=60))
def test_the_ends_ascend_and_the_last_is_the_end_of_the_text(text: str) -> None:
    ends = sentence_ends(text)
    assert ends == sorted(set(ends))
    assert ends[-1:] == ([len(text)] if text else [])
    assert all(end > 0 for end in ends)


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(["The food was good.", "It rained!", "Dr. Who paid 3.50 €.", "They said “no. Never.”"]))
)
def test_sentences_that_are_joined_are_found_again(sentences: list[str]) -> None:
    assert split(" ".join(sentences)) == sentences
