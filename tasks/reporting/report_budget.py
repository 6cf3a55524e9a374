"""The budget gauge of a report: what its account had spent when the release was sealed, from the chain alone.

Later charges and caps never change it, so that a report stays what it was.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tasks.ledger.amounts import exact_text
from tasks.ledger.verifier import bodies, charges_by_then
from tasks.reporting.wording import SYMBOLS

_COUNTED = {"pure": ("epsilon",), "approximate": ("epsilon", "delta"), "zcdp": ("rho",)}


@dataclass(frozen=True, slots=True)
class Gauge:
    """One amount that the account counts; exact decimal text. cap, left: None where no cap was set (no private corpus).

    before: spent by earlier entries. charged: by this release. left: of the cap, after it.
    """

    symbol: str
    before: str
    charged: str
    cap: str | None
    left: str | None

    @property
    def shares(self) -> tuple[float, float]:
        """(before, charged) as shares of the cap, for drawing."""
        limit = Fraction(self.cap or 0)
        return (float(Fraction(self.before) / limit), float(Fraction(self.charged) / limit)) if limit else (0.0, 0.0)


def gauges(certificate: Mapping[str, Any]) -> list[Gauge]:
    """One for each amount that the account's composition counts; epsilon where it has no cap.

    Empty where nothing was charged (n = 0), and without an amount that an accepted gap did not state.
    """
    document = dict(certificate)
    if document["payload"]["described"]["partition"]["n"] == 0:
        return []
    cap = next(reversed(list(bodies(document, "cap"))), None)
    charges = list(charges_by_then(document))
    own = next(body for body in charges if body.get("release_key") == document["release_key"])
    earlier = [body for body in charges if body is not own]
    counted = _COUNTED[cap["composition"]] if cap else ("epsilon",)
    return [
        _gauge(name, [body[name] for body in earlier], own[name], cap[name] if cap else None)
        for name in counted
        if all(body[name] is not None for body in [*earlier, own])
    ]


def _gauge(name: str, earlier: list[str], charged: str, cap: str | None) -> Gauge:
    before = sum((Fraction(amount) for amount in earlier), Fraction(0))
    left = None if cap is None else exact_text(max(Fraction(cap) - before - Fraction(charged), Fraction(0)))
    return Gauge(SYMBOLS[name], exact_text(before), charged, cap, left)
