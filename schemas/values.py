"""Exact numbers for settings: a decimal literal stays that decimal from the command line to the sealed payload."""

import re
from decimal import Context, Decimal, InvalidOperation
from typing import Annotated

from pydantic import BeforeValidator, PlainSerializer, TypeAdapter, ValidationError

from schemas.errors import UserError

MAX_DIGITS = 60
MAX_WEIGHT_DIGITS = 12  # whole weights without a common divisor then have at most 24
MAX_EXPONENT = 400  # 5e-324 is a legal, exact request; 1e-999999999 would be a denial of service


_SPELLED = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_WHOLE = re.compile(r"-?[0-9]{1,100}")
_NO_NUMBER = re.compile(r"[+-]?(inf|infinity|s?nan)", re.IGNORECASE)
SPELLING = "write it in plain digits, as 20, 0.5 or 1e-5"


def number_written(text: str) -> int | Decimal | None:
    """The exact number of this text; NaN and infinities too, so that they are refused by that name.

    There is one way to write a number: ASCII digits, a point between digits, an exponent. None for any other: 1_0, +1,
    .5, 1., blanks, digits of other scripts.
    """
    if _WHOLE.fullmatch(text):
        return int(text)
    if not (_SPELLED.fullmatch(text) or _NO_NUMBER.fullmatch(text)):
        return None
    try:
        return Decimal(text)
    except InvalidOperation:  # an exponent beyond what decimals have
        return None


def exact_decimal(value: object) -> Decimal:
    """The decimal that was written. Refuses floats (already rounded), booleans, text, NaN and infinities by name."""
    if isinstance(value, bool):
        raise ValueError("must be a number, not a boolean")
    if isinstance(value, float):
        raise ValueError("must be an exact decimal: a binary float is already rounded, write Decimal('0.1')")
    if not isinstance(value, int | Decimal):
        raise ValueError(f"must be a number, not {_kind(value)}{_hint(value, SPELLING)}")
    number = Decimal(value)
    if number.is_nan():
        raise ValueError("must be a number, not NaN")
    if number.is_infinite():
        raise ValueError("must be finite")
    if len(number.as_tuple().digits) > MAX_DIGITS or abs(number.adjusted()) > MAX_EXPONENT:
        raise ValueError(f"must have at most {MAX_DIGITS} digits and an exponent within {MAX_EXPONENT}")
    return number


def decimal_text(number: Decimal) -> str:
    """One spelling for each value: '0.1' for 0.1, 0.10 and 1e-1; the form that is hashed and printed."""
    if number == 0:
        return "0"
    # the default context would round to 28 digits
    shortest = number.normalize(Context(prec=len(number.as_tuple().digits)))
    text = f"{shortest:f}"
    return text if len(text) <= MAX_DIGITS else str(shortest)


def _between(low: Decimal | None, high: Decimal | None, says: str) -> BeforeValidator:
    def check(value: object) -> Decimal:
        number = exact_decimal(value)
        if (low is not None and number <= low) or (high is not None and number >= high):
            raise ValueError(f"must be {says}")
        return number

    return BeforeValidator(check)


def _closed_unit(value: object) -> Decimal:
    number = exact_decimal(value)
    if not 0 <= number <= 1:
        raise ValueError("must be between 0 and 1")
    return number


def _weight(value: object) -> Decimal:
    number = exact_decimal(value)
    if not Decimal("0.000001") <= number <= 1_000_000:
        raise ValueError("must be between 0.000001 and 1000000")
    if len(number.normalize(Context(prec=MAX_DIGITS)).as_tuple().digits) > MAX_WEIGHT_DIGITS:
        raise ValueError(f"must have at most {MAX_WEIGHT_DIGITS} significant digits")
    return number


def _rate(value: object) -> Decimal:
    number = exact_decimal(value)
    if not Decimal("0.000001") <= number <= 10**12:
        raise ValueError("must be between 0.000001 and 1000000000000")
    return number


def whole_number(value: object) -> int:
    """An integer that was written as one; booleans, floats and text are refused by name."""
    if isinstance(value, bool):
        raise ValueError("must be a whole number, not a boolean")
    if isinstance(value, int):
        return value
    if isinstance(value, Decimal | float):
        raise ValueError("must be a whole number, written in digits only")
    raise ValueError(f"must be a whole number, not {_kind(value)}{_hint(value, 'write it in plain digits, as 20')}")


def _kind(value: object) -> str:
    """In words of the user, who never wrote a type."""
    names: dict[type, str] = {str: "text", list: "a list", tuple: "a list", dict: "a mapping"}
    return "nothing" if value is None else names.get(type(value), type(value).__name__)


def _hint(value: object, says: str) -> str:
    return f": {says}" if isinstance(value, str) else ""


_text = PlainSerializer(decimal_text, return_type=str)

Epsilon = Annotated[Decimal, _between(Decimal(0), Decimal(1000), "greater than 0 and less than 1000 nats"), _text]
Delta = Annotated[Decimal, _between(Decimal(0), Decimal(1), "greater than 0 and less than 1"), _text]
Rho = Annotated[Decimal, _between(Decimal(0), Decimal(1_000_000), "greater than 0 and less than 1000000"), _text]
Rate = Annotated[Decimal, BeforeValidator(_rate), _text]
Share = Annotated[Decimal, _between(Decimal(0), Decimal(1), "greater than 0 and less than 1"), _text]
Weight = Annotated[Decimal, BeforeValidator(_weight), _text]
Beta = Annotated[Decimal, _between(Decimal(0), Decimal("0.5"), "greater than 0 and less than 0.5"), _text]
Theta = Annotated[Decimal, BeforeValidator(_closed_unit), _text]
Whole = Annotated[int, BeforeValidator(whole_number)]


def epsilon_of(value: object, name: str) -> Decimal:
    """The value of a flag as an epsilon. Raises UserError that names the flag."""
    return _checked(TypeAdapter(Epsilon), value, name)


def delta_of(value: object, name: str) -> Decimal:
    """The value of a flag as a delta. Raises UserError that names the flag."""
    return _checked(TypeAdapter(Delta), value, name)


def rho_of(value: object, name: str) -> Decimal:
    """The value of a flag as a rho of zCDP. Raises UserError that names the flag."""
    return _checked(TypeAdapter(Rho), value, name)


def rate_of(value: object, name: str) -> Decimal:
    """The value of a flag as a rate. Raises UserError that names the flag."""
    return _checked(TypeAdapter(Rate), value, name)


def weight_of(value: object, name: str) -> Decimal:
    """A public weight. Raises UserError that starts with `name`."""
    return _checked(TypeAdapter(Weight), value, name)


def theta_of(value: object, name: str) -> Decimal:
    """The value of a flag as a threshold. Raises UserError that names the flag."""
    return _checked(TypeAdapter(Theta), value, name)


def _checked(kind: TypeAdapter[Decimal], value: object, name: str) -> Decimal:
    try:
        return kind.validate_python(value)
    except ValidationError as error:
        problem = str(error.errors(include_input=False)[0]["msg"]).removeprefix("Value error, ")
        raise UserError(f"{name}: {problem}") from None
