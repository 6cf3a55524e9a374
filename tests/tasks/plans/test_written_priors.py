"""Priors as the user writes them."""

from fractions import Fraction
from pathlib import Path

import pytest

from schemas.errors import UserError
from schemas.plans import PlanSettings
from tasks.plans.priors import parse_prior, prior_of, read_prior_file
from tasks.privacy.planning import DEFAULT_PRIOR, BetaMixture, BetaPart, KnownSupports


def test_the_default_of_the_command_is_the_prior_of_the_synthetic_sweep() -> None:
    assert parse_prior(PlanSettings.model_fields["prior"].default) == DEFAULT_PRIOR


def test_a_mixture_is_read_exactly() -> None:
    assert parse_prior(" 0.1:0.3:2 , 0.9:1e1:4") == BetaMixture(
        (
            BetaPart(Fraction(1, 10), Fraction(3, 10), Fraction(2)),
            BetaPart(Fraction(9, 10), Fraction(10), Fraction(4)),
        )
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "write weight:a:b"),
        ("1:2", "write weight:a:b"),
        ("0.5:1:1,0.4:1:1", "the weights must add up to 1"),
        ("1:0:1", "must be greater than 0"),
        ("1:x:1", "'x' is not a number"),
        ("1:1_0:1", "'1_0' is not a number"),
        ("1:+1:1", "is not a number"),
        ("1: 1:1", "' 1' is not a number"),
        ("1:\uff11:1", "is not a number"),
        ("1:NaN:1", "not NaN"),
        ("1:Infinity:1", "must be finite"),
    ],
)
def test_what_is_no_mixture_is_refused_by_name(text: str, says: str) -> None:
    with pytest.raises(UserError, match=f"^prior: .*{says}"):
        parse_prior(text)


def test_a_file_of_public_supports_is_read_exactly(tmp_path: Path) -> None:
    path = tmp_path / "supports.txt"
    path.write_text("# court cases, 2019\n0.07\n\n 0.30 \r\n1\n")
    expected = KnownSupports((Fraction("0.07"), Fraction("0.3"), Fraction(1)))
    assert read_prior_file(str(path)) == prior_of("no prior", str(path)) == expected


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "prior_file: has no support"),
        ("# only words\n", "prior_file: has no support"),
        ("0.1\n\nmany\n", "prior_file: line 3: must be a number"),
        ("0.1\n1.01\n", "prior_file: line 2: must be between 0 and 1"),
        ("0.1\n0_1\n", "prior_file: line 2: must be a number"),
        ("0.1\n.5\n", "prior_file: line 2: must be a number"),
        ("0.1\nNaN\n", "prior_file: line 2: must be a number"),
        ("\x00", "prior_file: line 1: must be a number"),
    ],
)
def test_a_line_that_is_no_support_is_refused_by_its_number(content: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "supports.txt"
    path.write_text(content)
    with pytest.raises(UserError, match=f"^{says}"):
        read_prior_file(str(path))


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"^prior_file: cannot read .*: No such file or directory"):
        read_prior_file(str(tmp_path / "none.txt"))
    with pytest.raises(UserError, match=r"^prior_file: cannot read"):
        read_prior_file("a\0b")
