"""Candidate statements: public text, proposed without looking at the private records."""

import hashlib
import unicodedata
from collections.abc import Iterable
from decimal import Decimal
from typing import Self

from pydantic import BaseModel, ConfigDict

from schemas.values import Weight


def statement_id(text: str) -> str:
    """SHA-256 of the statement's NFC text, first 32 hex digits. Public: the statement is public."""
    return hashlib.sha256(unicodedata.normalize("NFC", text).encode()).hexdigest()[:32]


class Statement(BaseModel):
    """One candidate statement about the whole corpus.

    weight: public; its part of the budget and of beta, relative to the other statements' (spec 1.3).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    statement_id: str
    text: str
    weight: Weight = Decimal(1)

    @classmethod
    def of(cls, text: str, weight: Decimal = Decimal(1)) -> Self:
        """The statement with this text, in NFC and without outer white space."""
        clean = unicodedata.normalize("NFC", text).strip()
        return cls(statement_id=statement_id(clean), text=clean, weight=weight)


def distinct(statements: Iterable[Statement]) -> list[Statement]:
    """The statements in order, each once: asked twice is one query and one charge (spec 1.3)."""
    return list({statement.statement_id: statement for statement in statements}.values())
