"""The keyword model: its rules one by one, a slower second implementation, and neighbour stability."""

import random
import unicodedata
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.domain_files import DomainFile
from schemas.errors import UserError
from tasks.statements.domains import Domain, load_domain, shipped_domains
from tasks.statements.tag_template import all_statements
from tasks.support.keyword import KeywordModel, tokens

RULES: dict[str, Any] = {
    "name": "tiny",
    "language": "en",
    "unit_words": {"singular": "author", "plural": "authors"},
    "seed": 0,
    "keyword": {
        "window": 4,
        "negation_window": 2,
        "negations": ["not", "never"],
        "not_negations": ["not only"],
        "clause_words": ["but"],
    },
    "dimensions": {
        "aspect": {
            "values": {
                "food": {"phrase": "the food", "words": ["food", "pizza*", "main course"]},
                "price": {
                    "phrase": "the price",
                    "words": ["price"],
                    "says": {"opinion": {"good": ["cheap"], "bad": ["over-priced"]}},
                },
            }
        },
        "opinion": {
            "near": ["aspect"],
            "negatable": True,
            "values": {
                "good": {"phrase": "liked", "words": ["good", "great"], "opposite": "bad"},
                "bad": {"phrase": "disliked", "words": ["bad", "so-so"], "opposite": "good"},
            },
        },
        "verdict": {
            "negatable": True,
            "values": {"back": {"phrase": "will come back", "words": ["return", "come back"]}},
        },
        "company": {"values": {"friends": {"phrase": "with friends", "words": ["friends"]}}},
    },
    "templates": [
        {"text": "The reviewer {opinion} {aspect}."},
        {"text": "The reviewer mentions {aspect}."},
        {"text": "The reviewer {verdict}."},
        {"text": "The reviewer came {company} and {opinion} {aspect}."},
    ],
}
FILE = DomainFile.model_validate(RULES)
MODEL = KeywordModel(Domain(FILE, "0" * 64))
LIKED, DISLIKED, BACK = (
    "The reviewer liked the food.",
    "The reviewer disliked the food.",
    "The reviewer will come back.",
)
MENTIONS, MENTIONS_PRICE = "The reviewer mentions the food.", "The reviewer mentions the price."
CHEAP, DEAR = "The reviewer liked the price.", "The reviewer disliked the price."
TOGETHER = "The reviewer came with friends and liked the food."


@pytest.mark.parametrize(
    ("text", "statement", "supports"),
    [
        ("The food was good.", LIKED, True),
        ("THE FOOD WAS GREAT", LIKED, True),
        ("Good pizzas!", LIKED, True),  # a word that ends in *
        ("A goodly sum for seafood", LIKED, False),  # parts of words do not count
        ("The main course was good.", LIKED, True),  # two words
        ("The main; course was good.", LIKED, False),  # not across a clause mark
        ("Good food. Bad price.", DISLIKED, False),  # an opinion belongs to its clause
        ("The food is cheap but good", LIKED, False),  # a word that ends a clause
        ("The food one two three good", LIKED, True),  # window 4
        ("The food one two three four good", LIKED, False),
        ("The food was not good.", LIKED, False),
        ("The food was not good.", DISLIKED, True),  # the opposite
        ("The food was never so good.", DISLIKED, True),  # negation window 2
        ("The food was never ever so good.", DISLIKED, False),
        ("We did not. Food was good.", LIKED, True),  # a negation stays in its clause
        ("It is not. Good food.", LIKED, True),
        ("It is not good food.", LIKED, False),
        ("Come; back", BACK, False),  # a phrase stays in its clause
        ("Come\nback", BACK, False),
        ("Come, back", BACK, True),  # a comma ends no clause unless the domain says so
        ("Not only good food", LIKED, True),  # a phrase that negates nothing
        ("The food was so-so.", DISLIKED, True),  # a hyphen parts words
        ("The food was so so.", DISLIKED, True),
        ("I do not like the food", MENTIONS, True),  # a thing is mentioned all the same
        ("It was cheap.", CHEAP, True),  # one word that says both
        ("It was cheap.", MENTIONS_PRICE, True),
        ("It was not cheap.", CHEAP, False),
        ("It was not cheap.", DEAR, True),
        ("Overpriced", DEAR, False),
        ("Over-priced", DEAR, True),
        ("I will return.", BACK, True),
        ("I will not return.", BACK, False),  # no opposite: does not count
        ("Came with friends. The pizza? Great!", TOGETHER, False),
        ("Came with friends. Great pizza!", TOGETHER, True),  # all facts, anywhere in the record
        ("Great pizza!", TOGETHER, False),
        ("", LIKED, False),
        ("\0\0\0", LIKED, False),
        ("good\0food", LIKED, True),
        ("👍🏽 good 🍕 food", LIKED, True),
        ("\u202egood food\u202c", LIKED, True),
        ("الطعام جيد good food", LIKED, True),
        ("go\u0301od food", LIKED, False),  # a letter with a mark is another letter
        ("\ud800 good food", LIKED, True),  # a lone surrogate never gets here, and would do no harm
    ],
)
def test_a_record_supports_what_its_words_show(text: str, statement: str, supports: bool) -> None:
    assert bool(MODEL.verdicts([text], [statement])[0, 0]) is supports


def test_all_unicode_forms_apostrophes_and_cases_are_one() -> None:
    assert tokens("CAFE\u0301 isn\u2019t Straße") == tokens("caf\u00e9 isn't STRASSE") == ["café", "isn't", "strasse"]


def test_marks_in_another_order_are_the_same_letter() -> None:
    assert tokens("\u03b1\u0345\u0301") == tokens("\u1fb4")


@settings(deadline=None)
@given(st.text())
def test_every_unicode_form_has_the_same_words(text: str) -> None:
    assert tokens(unicodedata.normalize("NFD", text)) == tokens(unicodedata.normalize("NFC", text))


def test_a_comma_ends_a_clause_where_the_domain_says_so() -> None:
    rule = FILE.keyword.model_copy(update={"comma_ends_clause": True})
    model = KeywordModel(Domain(FILE.model_copy(update={"keyword": rule}), ""))
    assert MODEL.verdicts(["bad price, good food"], [DISLIKED]).tolist() == [[True]]
    assert model.verdicts(["bad price, good food"], [DISLIKED]).tolist() == [[False]]


def test_marks_of_other_scripts_do_not_split_words() -> None:
    assert tokens("खाना अच्छा था") == ["खाना", "अच्छा", "था"]


def test_ascii_text_takes_a_shorter_way_to_the_same_words() -> None:
    text = "".join(map(chr, range(128))) + " The FOOD wasn't 'so-so'; but (cheap)!\n"
    assert tokens(text) == tokens(text + "é")[:-1]


def test_a_statement_of_another_domain_is_refused_and_the_model_named() -> None:
    with pytest.raises(UserError, match=r"model keyword: a statement is not of the domain tiny: 'The moon"):
        MODEL.verdicts(["text"], [LIKED, "The moon is made of cheese."])


def test_no_texts_and_no_statements_have_shapes_too() -> None:
    assert MODEL.verdicts([], [LIKED]).shape == (0, 1)
    assert MODEL.verdicts(["good food"], []).shape == (1, 0)


def test_a_statement_asked_twice_gets_the_same_column_twice() -> None:
    answer = MODEL.verdicts(["good food", "bad food"], [LIKED, DISLIKED, LIKED])
    assert answer.tolist() == [[True, False, True], [False, True, False]]


WORDS = ["food", "pizzas", "main", "course", "price", "cheap", "over", "priced", "good", "great", "bad", "so", "not",
         "never", "only", "return", "come", "back", "friends", "but", ".", ",", "word"]  # fmt: skip
records = st.lists(st.sampled_from(WORDS), max_size=25).map(" ".join)


def slow_verdict(text: str, facts: tuple[tuple[tuple[str, str], ...], ...]) -> bool:
    """The rule of the module's docstring said again, clause by clause, by brute force."""
    clauses: list[list[str]] = [[]]
    for word in text.split():
        if word in {".", "but"}:
            clauses.append([])
        if word not in {".", ","}:
            clauses[-1].append(word)
    return all(any(_shown(clause, fact) for clause in clauses) for fact in facts)


def _shown(clause: list[str], fact: tuple[tuple[str, str], ...]) -> bool:
    if len(fact) == 1:
        return any(True for _ in _places(clause, *fact[0])) or any(
            _shown_at_once(clause, (fact[0], ("opinion", o))) for o in ("good", "bad") if fact[0][0] == "aspect"
        )
    near = any(abs(a - b) <= 4 for a in _places(clause, *fact[0]) for b in _places(clause, *fact[1]))
    return near or _shown_at_once(clause, fact)


def _shown_at_once(clause: list[str], fact: tuple[tuple[str, str], ...]) -> bool:
    said = RULES["dimensions"]["aspect"]["values"][fact[0][1]].get("says", {}).get("opinion", {})
    other = {"good": "bad", "bad": "good"}[fact[1][1]]
    plain = any(not _negated(clause, at) for word in said.get(fact[1][1], []) for at in _starts(clause, word))
    turned = any(_negated(clause, at) for word in said.get(other, []) for at in _starts(clause, word))
    return plain or turned


def _places(clause: list[str], dimension: str, key: str) -> list[int]:
    settings_of = RULES["dimensions"][dimension]
    value = settings_of["values"][key]
    if not settings_of.get("negatable"):
        return [at for word in value["words"] for at in _starts(clause, word)]
    found = [at for word in value["words"] for at in _starts(clause, word) if not _negated(clause, at)]
    if "opposite" in value:
        others = settings_of["values"][value["opposite"]]["words"]
        found += [at for word in others for at in _starts(clause, word) if _negated(clause, at)]
    return found


def _starts(clause: list[str], pattern: str) -> list[int]:
    words = pattern.replace("-", " ").split()
    return [
        at
        for at in range(len(clause) - len(words) + 1)
        if all(w == p or (p[-1] == "*" and w.startswith(p[:-1])) for w, p in zip(clause[at:], words, strict=False))
    ]


def _negated(clause: list[str], at: int) -> bool:
    return any(
        clause[i] in {"not", "never"} and clause[i : i + 2] != ["not", "only"] for i in range(max(at - 2, 0), at)
    )


@settings(max_examples=400, deadline=None)
@given(records)
def test_a_slower_second_implementation_gives_the_same_verdicts(text: str) -> None:
    combinations = list(FILE.combinations())
    answer = MODEL.verdicts([text], [combination.text for combination in combinations])[0]
    assert answer.tolist() == [slow_verdict(text, FILE.facts(combination)) for combination in combinations]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.one_of(records, st.text(max_size=40)), min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_a_verdict_does_not_depend_on_the_neighbours(texts: list[str], chance: random.Random) -> None:
    statements = [statement.text for statement in all_statements(Domain(FILE, ""))]
    together = MODEL.verdicts(texts, statements)
    rows, columns = list(range(len(texts))) * 2, list(range(len(statements)))
    chance.shuffle(rows)
    chance.shuffle(columns)
    mixed = KeywordModel(Domain(FILE, "")).verdicts([texts[r] for r in rows], [statements[c] for c in columns[:5]])
    assert (mixed == together[np.ix_(rows, columns[:5])]).all()
    alone = np.array([[MODEL.verdicts([text], [s])[0, 0] for s in statements] for text in texts])
    assert (alone == together).all()


@pytest.mark.parametrize("name", shipped_domains())
def test_each_value_of_a_shipped_domain_is_shown_by_its_first_word(name: str) -> None:
    domain = load_domain(name)
    model = KeywordModel(domain)
    for combination in domain.file.combinations():
        if len(combination.values) == 1:
            dimension, key = combination.values[0]
            word = domain.file.dimensions[dimension].values[key].words[0].removesuffix("*")
            assert model.verdicts([f"Well, {word}."], [combination.text])[0, 0], (combination.text, word)


def test_the_fingerprint_follows_the_rules_and_nothing_else() -> None:
    same = KeywordModel(Domain(FILE.model_copy(update={"seed": 9}), "f" * 64))
    assert same.fingerprint == MODEL.fingerprint
    rule = FILE.keyword.model_copy(update={"window": 5})
    other = KeywordModel(Domain(FILE.model_copy(update={"keyword": rule}), "0" * 64))
    assert other.fingerprint != MODEL.fingerprint
    prints = {KeywordModel(load_domain(name)).fingerprint for name in shipped_domains()}
    assert len(prints) == len(shipped_domains())
    assert all(len(value) == 64 and int(value, 16) >= 0 for value in prints)


def test_the_fingerprint_covers_the_unicode_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    before = MODEL.fingerprint
    monkeypatch.setattr(unicodedata, "unidata_version", "99.0")
    assert MODEL.fingerprint != before


def test_five_megabytes_of_text_are_read_to_the_end() -> None:
    text = "good word " * 500_000 + "é. The food was good"
    assert MODEL.verdicts([text], [LIKED])[0, 0]


def test_the_model_is_what_it_says() -> None:
    assert MODEL.name == "keyword"
    assert set(MODEL.description) >= {"revision", "engine", "truncation"}
