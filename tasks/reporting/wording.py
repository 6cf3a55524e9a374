"""Words and figures of a report: what a certificate says of units, never rounded in its own favour."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from schemas.claims import BY_LANGUAGE_MODEL, RELEASED_TEXT, REWORDED
from schemas.rounding import fixed
from tasks.ledger.amounts import exact_text

_PERCENT = "\N{NO-BREAK SPACE}%"


@dataclass(frozen=True, slots=True)
class Units:
    """What is counted: `record`, or the name of the unit column (`author`, `user_id`), and when one supports.

    unit_support: any (at least one record does) or all (every record does).
    """

    unit: str
    unit_support: str

    @property
    def one(self) -> str:
        """Singular, for a sentence. A column may be called anything (`who`, `uid`), so its name is no noun."""
        return "record" if self.unit == "record" else "unit"

    @property
    def many(self) -> str:
        """Plural, for a sentence."""
        return f"{self.one}s"

    @property
    def supporting(self) -> str:
        """The units that are counted: 'units with at least one record that supports the statement'."""
        if self.unit == "record":
            return "records that support the statement"
        if self.unit_support == "all":
            return f"{self.many} all of whose records support the statement"
        return f"{self.many} with at least one record that supports the statement"

    @property
    def do_support_it(self) -> str:
        """What supporting units do: '(at least 5 % of the units) have at least one record that supports it'."""
        if self.unit == "record":
            return "support it"
        return (
            "have records that all support it"
            if self.unit_support == "all"
            else ("have at least one record that supports it")
        )

    def introduced(self, number: int) -> str:
        """'1,800 units (column author)': where the units are spoken of first."""
        return self.counted(number) + ("" if self.unit == "record" else f" (column {self.unit})")

    def counted(self, number: int) -> str:
        """'1 unit', '1,800 units'."""
        return f"{grouped(number)} {self.one if number == 1 else self.many}"


def grouped(number: int) -> str:
    """1800 as '1,800'."""
    return f"{number:,}"


def lower_percent(units: int, n: int) -> str:
    """Share of n in percent, rounded down: a lower bound stays one. One digit, two when n has more to say."""
    return _percent(units, n, round_up=False)


def upper_percent(units: int, n: int) -> str:
    """Share of n in percent, rounded up."""
    return _percent(units, n, round_up=True)


def exact_percent(share: str) -> str:
    """The decimal share in percent, exactly: '0.075' as '7.5 %', with a space that does not break."""
    return f"{percent_number(share)}{_PERCENT}"


def percent_number(share: str) -> str:
    """The decimal share in percent, exactly, without the sign."""
    return exact_text(Fraction(share) * 100)


def union_bound(beta: str, times: int) -> str:
    """min(1, times x beta), exact."""
    return exact_text(min(Fraction(1), Fraction(beta) * times))


def proposed(proposer: str) -> str:
    """A sentence, without its full stop, about where candidates with this public line came from."""
    if proposer.startswith(RELEASED_TEXT):
        words = f", {REWORDED}," if REWORDED in proposer.partition("declared origin:")[0] else ""
        return (
            f"They are the claims{words} of a text that was released before, as its user declares; nobody checked "
            "that. What of that text is no claim was not asked: `privcert claims` shows it, with reasons"
        )
    if proposer.startswith(BY_LANGUAGE_MODEL):
        return "A language model wrote them from public words, without looking at the text"
    return "They were proposed without looking at the text"


SYMBOLS = {"epsilon": "ε", "delta": "δ", "rho": "ρ"}


def amounts(row: Mapping[str, Any], kind: str) -> str:
    """One cell of a budget: cap, spent or left, by the amounts that the account counts (all, where it has no cap)."""
    counted = [name for name in SYMBOLS if row[f"cap_{name}"] is not None or not row["is_capped"]]
    texts = {name: row[f"{kind}_{name}"] for name in counted}
    return ", ".join(f"{SYMBOLS[name]} {text}" for name, text in texts.items() if text is not None) or "none"


def words(name: str) -> str:
    """'below_threshold' as 'below threshold'."""
    return name.replace("_", " ")


def width(share: float) -> str:
    """A share as a length in percent, for drawing."""
    return f"{100 * min(max(share, 0.0), 1.0):.2f}%"


def _percent(units: int, n: int, *, round_up: bool) -> str:
    if n == 0:
        return f"0{_PERCENT}"
    digits = 1 if n <= 1000 else 2
    return f"{fixed(Fraction(100 * units, n), digits, round_up=round_up)}{_PERCENT}"


FILTERS: Mapping[str, Callable[..., str]] = {
    "grouped": grouped,
    "lower_percent": lower_percent,
    "upper_percent": upper_percent,
    "exact_percent": exact_percent,
    "percent_number": percent_number,
    "union_bound": union_bound,
    "proposed": proposed,
    "amounts": amounts,
    "words": words,
    "width": width,
}
