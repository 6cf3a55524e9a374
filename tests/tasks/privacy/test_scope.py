"""How the error of a report is split, exactly."""

from fractions import Fraction

import pytest

from schemas.audit import Scope
from tasks.privacy.scope import beta_per_statement

BETAS = ["0.05", "0.49", "0.001", "1e-9", "0.0123456789012345678901234567890123456789", "1e-60"]


@pytest.mark.parametrize("m", [1, 2, 3, 20, 200, 1000])
@pytest.mark.parametrize("beta", BETAS)
def test_independent_errors_add_up_to_at_most_beta_and_almost_beta(beta: str, m: int) -> None:
    total = Fraction(beta)
    each = beta_per_statement(total, m, Scope.REPORT_INDEPENDENT)
    survive = 1 - each
    assert 1 - survive**m <= total
    assert 1 - survive**m >= min(total - m * Fraction(3, 10**40), total * (1 - total))


@pytest.mark.parametrize("m", [1, 7, 200])
def test_independent_errors_never_get_less_than_the_union_bound_gives(m: int) -> None:
    for beta in map(Fraction, BETAS):
        union = beta_per_statement(beta, m, Scope.REPORT)
        assert union * m == beta
        assert union <= beta_per_statement(beta, m, Scope.REPORT_INDEPENDENT) <= beta


def test_a_candidate_s_error_is_its_own() -> None:
    assert beta_per_statement(Fraction("0.05"), 200, Scope.CANDIDATE) == Fraction("0.05")


def test_independent_errors_of_several_candidates_are_larger_than_the_union_bound() -> None:
    assert beta_per_statement(Fraction("0.05"), 200, Scope.REPORT_INDEPENDENT) > Fraction("0.05") / 200
