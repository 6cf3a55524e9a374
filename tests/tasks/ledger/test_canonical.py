"""One byte string for each value."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.ledger import verifier
from tasks.ledger.canonical import canonical, digest

texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=8)
scalars = st.none() | st.booleans() | st.integers(-(10**30), 10**30) | texts
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4))


def typed(value: object) -> object:
    """The value with True and 1 told apart."""
    if isinstance(value, dict):
        return {key: typed(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [typed(inner) for inner in value]
    return type(value).__name__, value


@given(values)
def test_a_value_comes_back(value: object) -> None:
    assert typed(json.loads(canonical(value))) == typed(value)
    assert canonical(json.loads(canonical(value))) == canonical(value)


@given(values, values)
def test_different_values_have_different_bytes(one: object, other: object) -> None:
    assert (canonical(one) == canonical(other)) == (typed(one) == typed(other))


@given(values)
def test_the_verifier_spells_values_as_the_log_does(value: object) -> None:
    assert verifier.canonical(value) == canonical(value) and verifier.digest(value) == digest(value)


def test_the_order_of_keys_does_not_matter() -> None:
    assert canonical({"b": 1, "a": [2, "é"]}) == b'{"a":[2,"\\u00e9"],"b":1}' == canonical({"a": [2, "é"], "b": 1})


@pytest.mark.parametrize("value", [0.1, {"a": [1, (2.0,)]}, float("nan"), [{"x": float("inf")}]])
def test_floating_point_numbers_are_refused(value: object) -> None:
    with pytest.raises(TypeError, match="floating-point"):
        canonical(value)
