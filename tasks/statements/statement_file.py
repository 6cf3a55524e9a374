"""Statements that the user wrote, one a line, with public weights where they are wanted (spec 1.8, `file`)."""

import hashlib
import unicodedata
from decimal import Decimal
from pathlib import Path

from schemas.domain_files import MAX_STATEMENT_CHARACTERS, unprintable
from schemas.errors import UserError
from schemas.operator_files import read_at_most
from schemas.statements import Statement, distinct
from schemas.values import SPELLING, number_written, weight_of

MAX_FILE_BYTES = 64 * 1024 * 1024
MAX_STATEMENTS = 100_000
MIN_CHARACTERS = 3


def read_statement_file(path: str | Path) -> bytes:
    """The file's bytes. Raises UserError when it cannot be read or is too large."""
    try:
        content = read_at_most(Path(path), MAX_FILE_BYTES)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "no such path"
        raise UserError(f"statements_file: cannot read {str(path)!r}: {reason}") from None
    if len(content) > MAX_FILE_BYTES:
        raise UserError(f"statements_file: is larger than {MAX_FILE_BYTES // 1024**2} MiB")
    return content


def parse_statements(content: bytes) -> list[Statement]:
    """Distinct statements in file order; empty lines and lines that start with # are passed over.

    A line may end in TAB and a decimal: the statement's weight, 1 where none is written.

    Raises UserError with the line number (public) for text that is not UTF-8, control characters, direction
    overrides, fewer than 3 or more than 500 characters, a weight that is no number between 0.000001 and 1000000 or
    differs from an earlier line of the same statement, and for a file without or with too many statements.
    """
    lines = content.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    statements = [s for number, line in enumerate(lines, start=1) if (s := _statement(line, number)) is not None]
    kept = distinct(statements)
    if len({(statement.statement_id, statement.weight) for statement in statements}) != len(kept):
        raise UserError("statements_file: a statement is written twice with different weights")
    if not kept:
        raise UserError("statements_file: has no statement; write one a line")
    if len(kept) > MAX_STATEMENTS:
        raise UserError(f"statements_file: has more than {MAX_STATEMENTS} statements")
    return kept


def propose_from_file(path: str | Path) -> list[Statement]:
    """The distinct statements of a UTF-8 text file; see `parse_statements`."""
    return parse_statements(read_statement_file(path))


def file_sha256(content: bytes) -> str:
    """SHA-256 (hex) of a statement file; public, as its statements are."""
    return hashlib.sha256(content).hexdigest()


def _statement(line: bytes, number: int) -> Statement | None:
    where = f"statements_file: line {number}"
    try:
        text = unicodedata.normalize("NFC", line.decode("utf-8")).strip(" \r\t\u00a0")
    except UnicodeDecodeError:
        raise UserError(f"{where}: is not UTF-8") from None
    if not text or text.startswith("#"):
        return None
    text, tab, written = text.rpartition("\t") if "\t" in text else (text, "", "")
    if reason := unprintable(text.rstrip(" \t")):
        raise UserError(f"{where}: {reason}")
    statement = Statement.of(text, _weight(written.strip(" "), where) if tab else Decimal(1))
    if not MIN_CHARACTERS <= len(statement.text) <= MAX_STATEMENT_CHARACTERS:
        raise UserError(f"{where}: must have {MIN_CHARACTERS} to {MAX_STATEMENT_CHARACTERS} characters")
    return statement


def _weight(written: str, where: str) -> Decimal:
    number = number_written(written)
    if number is None:
        raise UserError(f"{where}: weight: what follows a TAB must be a number, or nothing: {SPELLING}")
    return weight_of(number, f"{where}: weight")
