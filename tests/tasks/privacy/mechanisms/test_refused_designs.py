"""A design that no sampler can draw is refused by the name of the parameter that would have to change."""

from fractions import Fraction
from typing import Any

import pytest

from tasks.privacy.design import Design, DesignError
from tasks.privacy.discrete_gaussian import root_up, sampler_sigma
from tasks.privacy.mechanisms import RELEASE_MECHANISMS
from tasks.privacy.zcdp import largest_rho

SELECTING: dict[str, dict[str, Any]] = {
    "svt": {"selected": 2, "theta": Fraction(1, 20)},
    "topk": {"selected": 2},
}
NEARLY_ONE = "0." + "9" * 60


def design(epsilon: str, **parameters: Any) -> Design:
    return Design(n=100, statements=3, epsilon=Fraction(epsilon), beta=Fraction(1, 20), **parameters)


@pytest.mark.parametrize("mechanism", SELECTING)
@pytest.mark.parametrize("share", ["1e-400", "1e-13", NEARLY_ONE])
def test_a_share_that_leaves_too_little_to_either_part_is_named(mechanism: str, share: str) -> None:
    asked = design("1", **SELECTING[mechanism], selection_share=Fraction(share))
    with pytest.raises(DesignError, match=r"^selection_share: must leave enough of epsilon to each part; "):
        RELEASE_MECHANISMS[mechanism].designed(asked)


@pytest.mark.parametrize("mechanism", SELECTING)
@pytest.mark.parametrize(("epsilon", "share"), [("1e-12", "0.5"), ("1e-300", "1e-400"), ("1e-12", NEARLY_ONE)])
def test_an_epsilon_that_no_share_could_help_is_named(mechanism: str, epsilon: str, share: str) -> None:
    asked = design(epsilon, **SELECTING[mechanism], selection_share=Fraction(share))
    with pytest.raises(DesignError, match=r"^epsilon: "):
        RELEASE_MECHANISMS[mechanism].designed(asked)


@pytest.mark.parametrize("mechanism", SELECTING)
def test_a_share_that_is_missing_is_still_missing(mechanism: str) -> None:
    with pytest.raises(DesignError, match=rf"^selection_share: {mechanism} needs it$"):
        RELEASE_MECHANISMS[mechanism].designed(design("1e-12", **SELECTING[mechanism]))


@pytest.mark.parametrize("epsilon", ["1e-390", "1e-200"])
def test_an_epsilon_and_a_delta_that_no_rho_implies_are_refused_in_words(epsilon: str) -> None:
    gaussian, asked = RELEASE_MECHANISMS["discrete_gaussian"], design(epsilon, delta=Fraction("1e-390"))
    for refuse in (gaussian.designed, gaussian.loss):
        with pytest.raises(DesignError, match=r"^epsilon: with delta, it is too small: no rho > 0"):
            refuse(asked)
    with pytest.raises(ValueError, match="no rho > 0"):
        largest_rho(asked.epsilon, asked.delta)


@pytest.mark.parametrize("rho", ["1e-700", "1e-320", "1e-25", "1e9", "1e400"])
def test_a_sigma_out_of_reach_is_refused_in_words_whatever_rho_is(rho: str) -> None:
    with pytest.raises(ValueError, match=r"^sigma of the discrete Gaussian must lie between 1e-3 and 1e12 counts$"):
        sampler_sigma(Fraction(rho), 1)


@pytest.mark.parametrize("rho", ["0", "-1"])
def test_a_sigma_needs_a_rho_above_0(rho: str) -> None:
    with pytest.raises(ValueError, match=r"^rho must be greater than 0$"):
        sampler_sigma(Fraction(rho), 1)


@pytest.mark.parametrize("exponent", [-700, -400, -323, 309, 400, 616])
def test_a_root_is_found_where_its_square_is_no_double(exponent: int) -> None:
    value = 3 * Fraction(10) ** exponent
    root = root_up(value)
    assert Fraction(root) ** 2 >= value


def test_a_root_that_is_no_double_is_refused_in_words() -> None:
    with pytest.raises(ValueError, match="no double is large enough"):
        root_up(Fraction(10) ** 617)
