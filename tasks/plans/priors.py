"""The prior of supports as the user writes it: `weight:a:b,…`, or a file of public supports."""

from decimal import Decimal
from fractions import Fraction
from pathlib import Path

from schemas.errors import UserError
from schemas.operator_files import read_at_most
from schemas.values import SPELLING, exact_decimal, number_written, theta_of
from tasks.privacy.planning import BetaMixture, BetaPart, KnownSupports, Prior

MAX_FILE_BYTES = 16 * 1024 * 1024


def parse_prior(text: str) -> BetaMixture:
    """The mixture that `weight:a:b,…` names, exact. Raises UserError."""
    try:
        return BetaMixture(tuple(_part(part) for part in text.split(",")))
    except ValueError as error:
        raise UserError(f"prior: {str(error).removeprefix('prior: ')}") from None


def read_prior_file(path: str) -> KnownSupports:
    """One decimal support in [0, 1] a line; empty lines and lines that start with # are passed over.

    Raises UserError with the line number; the file is public.
    """
    try:
        content = read_at_most(Path(path), MAX_FILE_BYTES)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "no such path"
        raise UserError(f"prior_file: cannot read {path!r}: {reason}") from None
    if len(content) > MAX_FILE_BYTES:
        raise UserError(f"prior_file: is larger than {MAX_FILE_BYTES // 1024**2} MiB")
    lines = enumerate(content.decode("utf-8", errors="replace").splitlines(), start=1)
    supports = [_support(text, number) for number, line in lines if (text := line.strip(" \t")) and text[0] != "#"]
    if not supports:
        raise UserError("prior_file: has no support; write one a line")
    return KnownSupports(tuple(supports))


def prior_of(text: str, path: str | None) -> Prior:
    """The file's prior where there is a file."""
    return parse_prior(text) if path is None else read_prior_file(path)


def _part(text: str) -> BetaPart:
    numbers = text.strip(" ").split(":")
    if len(numbers) != 3:
        raise ValueError("write weight:a:b for each Beta, with commas between them")
    weight, a, b = (Fraction(_number(number)) for number in numbers)
    return BetaPart(weight, a, b)


def _support(text: str, number: int) -> Fraction:
    name = f"prior_file: line {number}"
    try:
        return Fraction(theta_of(_number(text), name))
    except ValueError:
        raise UserError(f"{name}: must be a number: {SPELLING}") from None


def _number(text: str) -> Decimal:
    number = number_written(text)
    if number is None:
        raise ValueError(f"{text!r} is not a number: {SPELLING}")
    return exact_decimal(number)
