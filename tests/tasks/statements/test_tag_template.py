"""The public draw of statements: distinct, seeded, stable, and never more than there are."""

import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.statements.domains import load_domain, shipped_domains
from tasks.statements.tag_template import all_statements, propose_from_domain

DOMAIN = load_domain("restaurant-reviews")
EVERY = all_statements(DOMAIN)
POSITION = {statement.statement_id: position for position, statement in enumerate(EVERY)}


@settings(deadline=None)
@given(count=st.integers(1, 400), seed=st.integers(0, 2**63 - 1))
def test_a_draw_is_distinct_of_the_asked_size_and_in_the_order_of_the_file(count: int, seed: int) -> None:
    drawn = propose_from_domain(DOMAIN, count, seed)
    assert len({statement.statement_id for statement in drawn}) == len(drawn) == min(count, len(EVERY))
    positions = [POSITION[statement.statement_id] for statement in drawn]
    assert positions == sorted(positions)


@settings(deadline=None)
@given(count=st.integers(1, 215), seed=st.integers(0, 1000))
def test_a_smaller_draw_is_part_of_a_larger_one(count: int, seed: int) -> None:
    assert set(propose_from_domain(DOMAIN, count, seed)) <= set(propose_from_domain(DOMAIN, count + 1, seed))


@pytest.mark.parametrize("name", shipped_domains())
def test_different_seeds_draw_different_statements(name: str) -> None:
    domain = load_domain(name)
    draws = {tuple(s.text for s in propose_from_domain(domain, 20, seed)) for seed in range(50)}
    assert len(draws) == 50


def test_the_draw_is_the_documented_one() -> None:
    """Recomputed from its definition, so that it cannot drift with a version of anything."""

    def number(text: str) -> int:
        statement_id = hashlib.sha256(text.encode()).hexdigest()[:32]
        return int(hashlib.sha256(f"restaurant-reviews/0/7/{statement_id}".encode()).hexdigest(), 16)

    expected = sorted((statement.text for statement in EVERY), key=number)[:25]
    assert {statement.text for statement in propose_from_domain(DOMAIN, 25, 7)} == set(expected)


@pytest.mark.statistical  # fixed seeds; a fair draw fails with probability below 1e-6 (Bonferroni over statements)
def test_every_statement_is_drawn_about_equally_often() -> None:
    draws, count = 400, 50
    times = dict.fromkeys((statement.statement_id for statement in EVERY), 0)
    for seed in range(draws):
        for statement in propose_from_domain(DOMAIN, count, seed):
            times[statement.statement_id] += 1
    rate = count / len(EVERY)
    allowed = 6.2 * (draws * rate * (1 - rate)) ** 0.5
    assert all(abs(seen - draws * rate) < allowed for seen in times.values())
