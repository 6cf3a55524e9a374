"""The synthetic corpus: reproducible, consistent with its own truth, and close to no keyword list."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.errors import UserError
from schemas.statements import Statement
from tasks.corpora import synthetic_wording as wording
from tasks.corpora.synthetic import (
    COMPARISON,
    IMPLIES,
    KNOWN_SUPPORTS,
    REVIEWS,
    compare_with_known,
    known_supports,
    known_verdicts,
    synthetic_reviews,
)
from tasks.statements.domains import load_domain
from tasks.statements.tag_template import all_statements
from tasks.support.keyword import KeywordModel

DOMAIN = load_domain("restaurant-reviews")
STATEMENTS = all_statements(DOMAIN)
BY_TEXT = {statement.text: statement for statement in STATEMENTS}


@settings(max_examples=20, deadline=None)
@given(authors=st.integers(1, 60), seed=st.integers(0, 2**63 - 1))
def test_every_author_has_one_to_four_reviews_and_each_review_says_something(authors: int, seed: int) -> None:
    reviews = synthetic_reviews(authors, seed, DOMAIN)
    assert reviews.schema == REVIEWS
    by_author = reviews.group_by("author").aggregate([("id", "count")]).sort_by("author")
    assert by_author.num_rows == authors
    assert set(by_author["id_count"].to_pylist()) <= {1, 2, 3, 4}
    assert len(set(reviews["id"].to_pylist())) == reviews.num_rows
    assert all(text.strip().endswith(".") for text in reviews["text"].to_pylist())
    assert known_verdicts(authors, seed, DOMAIN, STATEMENTS).any(axis=1).all()


def test_equal_arguments_give_equal_tables_and_other_seeds_give_others() -> None:
    assert synthetic_reviews(50, 1, DOMAIN).equals(synthetic_reviews(50, 1, DOMAIN))
    assert not synthetic_reviews(50, 1, DOMAIN).equals(synthetic_reviews(50, 2, DOMAIN))


def test_a_larger_corpus_begins_with_the_smaller_one() -> None:
    small, large = synthetic_reviews(20, 3, DOMAIN), synthetic_reviews(60, 3, DOMAIN)
    assert large.slice(0, small.num_rows).equals(small)
    verdicts = known_verdicts(60, 3, DOMAIN, STATEMENTS)
    assert (verdicts[:20] == known_verdicts(20, 3, DOMAIN, STATEMENTS)).all()


def test_known_supports_are_the_column_sums_of_the_known_verdicts() -> None:
    supports = known_supports(40, 5, DOMAIN)
    assert supports.schema == KNOWN_SUPPORTS
    units = known_verdicts(40, 5, DOMAIN, STATEMENTS).sum(axis=0)
    assert supports["units"].to_pylist() == units.tolist()
    assert supports["support"].to_pylist() == pytest.approx((units / 40).tolist())
    assert supports["statement_id"].to_pylist() == [statement.statement_id for statement in STATEMENTS]


def test_supports_can_be_asked_for_some_statements_in_any_order() -> None:
    some = STATEMENTS[40:10:-7]
    every = {row["statement_id"]: row for row in known_supports(30, 2, DOMAIN).to_pylist()}
    assert known_supports(30, 2, DOMAIN, some).to_pylist() == [every[s.statement_id] for s in some]


def test_supports_reach_from_nothing_to_most_authors() -> None:
    support = np.array(known_supports(300, 0, DOMAIN)["support"].to_pylist())
    assert (support > 0.4).sum() >= 5
    assert ((support > 0.05) & (support < 0.4)).sum() >= 40
    assert (support < 0.02).sum() >= 30


def test_a_conjunction_is_never_supported_by_more_authors_than_its_parts() -> None:
    verdicts = known_verdicts(200, 4, DOMAIN, STATEMENTS)
    column = {combination.values: i for i, combination in enumerate(DOMAIN.file.combinations())}
    parts = 0
    for values, whole in column.items():
        for part, index in column.items():
            if set(part) < set(values):
                parts += 1
                assert (verdicts[:, whole] <= verdicts[:, index]).all()
    assert parts > 100


@pytest.mark.parametrize(
    ("stronger", "weaker"),
    [
        ("The reviewer liked the pizza.", "The reviewer liked the food."),
        ("The reviewer was unhappy with the desserts.", "The reviewer was unhappy with the food."),
        ("The reviewer was unhappy with the speed of the service.", "The reviewer was unhappy with the service."),
        ("The reviewer had to wait a long time.", "The reviewer was unhappy with the speed of the service."),
        ("The reviewer recommends the restaurant.", "The reviewer liked the restaurant as a whole."),
        ("The reviewer liked the prices.", "The reviewer mentions the prices."),
        ("The reviewer liked the coffee.", "The reviewer mentions the drinks."),
    ],
)
def test_what_is_implied_is_known(stronger: str, weaker: str) -> None:
    verdicts = known_verdicts(600, 6, DOMAIN, [BY_TEXT[stronger], BY_TEXT[weaker]])
    assert verdicts[:, 0].any()
    assert (verdicts[:, 0] <= verdicts[:, 1]).all()


def test_no_review_both_likes_and_dislikes_one_thing() -> None:
    """Supports of one-review authors show single reviews: no contradiction in any of them."""
    reviews = synthetic_reviews(400, 8, DOMAIN)
    counts = reviews.group_by("author").aggregate([("id", "count")]).sort_by("author")["id_count"].to_numpy()
    verdicts = known_verdicts(400, 8, DOMAIN, STATEMENTS)[counts == 1]
    for text, statement in BY_TEXT.items():
        if re.fullmatch(r"The reviewer liked [a-z ]+\.", text) and text.replace("liked", "was unhappy with") in BY_TEXT:
            against = BY_TEXT[text.replace("liked", "was unhappy with")]
            both = verdicts[:, STATEMENTS.index(statement)] & verdicts[:, STATEMENTS.index(against)]
            assert not both.any(), text


def test_wordings_cover_exactly_the_values_of_the_domain() -> None:
    dimensions = DOMAIN.file.dimensions
    assert set(wording.LIKES) == set(wording.DISLIKES) == set(dimensions["aspect"].values)
    assert set(wording.DISHES) == set(dimensions["dish"].values)
    assert set(wording.OCCASIONS) == set(dimensions["occasion"].values)
    assert set(wording.EXPERIENCES) == set(dimensions["experience"].values)
    assert set(wording.VERDICTS) == set(dimensions["verdict"].values)
    assert set(wording.MENTIONS) <= set(dimensions["aspect"].values)
    known = {(d, key) for d, dimension in dimensions.items() for key in dimension.values}
    assert {value for fact, implied in IMPLIES.items() for f in (fact, *implied) for value in f} <= known


def test_no_sentence_stands_for_two_facts() -> None:
    groups = (
        wording.LIKES,
        wording.DISLIKES,
        wording.MENTIONS,
        wording.OCCASIONS,
        wording.EXPERIENCES,
        wording.VERDICTS,
    )
    sentences = [s for group in groups for several in group.values() for s in several] + list(wording.FILLERS)
    assert len(set(sentences)) == len(sentences)


@pytest.mark.statistical  # fixed seed, no chance left: a bound on what the rule gets right, with room on both sides
def test_the_keyword_rule_is_mostly_right_and_does_not_know_every_wording() -> None:
    authors = 300
    reviews = synthetic_reviews(authors, 0, DOMAIN)
    per_record = KeywordModel(DOMAIN).verdicts(reviews["text"].to_pylist(), [s.text for s in STATEMENTS])
    author = np.unique(reviews["author"].to_pylist(), return_inverse=True)[1]
    estimated = np.zeros((authors, len(STATEMENTS)), dtype=np.bool_)
    np.logical_or.at(estimated, author, per_record)
    known = known_verdicts(authors, 0, DOMAIN, STATEMENTS)
    assert (estimated == known).mean() > 0.94
    assert (estimated & known).sum() / estimated.sum() > 0.85
    assert 0.5 < (estimated & known).sum() / known.sum() < 0.95


def test_a_comparison_counts_what_was_missed_and_what_was_made_up() -> None:
    known = np.array([[True, False], [True, False], [False, False], [True, True]])
    estimated = np.array([[True, True], [False, False], [True, False], [True, True]])
    table = compare_with_known(estimated, known, STATEMENTS[:2])
    assert table.schema == COMPARISON
    assert [tuple(row.values())[2:] for row in table.to_pylist()] == [(3, 3, 1, 1, 0.5), (1, 2, 0, 1, 0.75)]


@pytest.mark.parametrize("shape", [(4, 3), (3, 2), (0, 2)])
def test_verdicts_of_another_shape_are_not_compared(shape: tuple[int, int]) -> None:
    known = np.zeros((0 if shape[0] == 0 else 4, 2), dtype=np.bool_)
    with pytest.raises(ValueError, match="one shape"):
        compare_with_known(np.zeros(shape, dtype=np.bool_), known, STATEMENTS[:2])


def test_another_domain_has_no_wordings() -> None:
    with pytest.raises(UserError, match="restaurant-reviews only"):
        synthetic_reviews(10, 0, load_domain("court-cases"))


@pytest.mark.parametrize("authors", [0, -1])
def test_a_corpus_has_at_least_one_author(authors: int) -> None:
    with pytest.raises(UserError, match="at least 1"):
        synthetic_reviews(authors, 0, DOMAIN)


def test_a_statement_of_another_domain_has_no_known_support() -> None:
    with pytest.raises(UserError, match="no statement of the domain"):
        known_verdicts(10, 0, DOMAIN, [Statement.of("The moon is made of cheese.")])
