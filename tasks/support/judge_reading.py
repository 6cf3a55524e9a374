"""What a judge reads of a record and of a statement: plain text, and never more than fits into its context."""

from dataclasses import dataclass

from schemas.errors import UserError
from tasks.inference.plain_text import plain_text
from tasks.inference.vllm_server import VllmServer
from tasks.support.judge_prompt import judge_messages

STATEMENT_TOKENS = 128  # at most; an eighth of a small context
SPARE_TOKENS = 9  # the answer, and what joining texts may add
CHARACTERS_A_TOKEN = 16  # of a record that is cut before it is counted: 5 MB need not be
LEAST_TOKENS = 32  # of a record, for a judge to be one
TRUNCATION = (
    f"the record alone: the first R tokens of its first {CHARACTERS_A_TOKEN} R characters, where R is the context less "
    f"the prompt without record and statement, less S = an eighth of the context but {STATEMENT_TOKENS} at most, less "
    f"{SPARE_TOKENS}; a statement of more than S tokens is refused"
)


@dataclass(frozen=True, slots=True)
class Room:
    """Tokens that a record and a statement may have at most."""

    record: int
    statement: int

    @classmethod
    def of(cls, client: VllmServer) -> "Room":
        """The room that TRUNCATION leaves. Raises UserError where the context is too small for any record."""
        context = int(client.facts()["context_tokens"])
        statement = min(context // 8, STATEMENT_TOKENS)
        record = context - client.length(judge_messages("", "")) - statement - SPARE_TOKENS
        if record < LEAST_TOKENS:
            raise UserError(f"engine_context_tokens: {context} leave {record} for a record; {LEAST_TOKENS} are needed")
        return cls(record, statement)


def read_statement(statement: str, room: Room, client: VllmServer) -> str:
    """The statement as it is asked. Raises UserError where it is empty or has too many tokens."""
    if not statement.strip():
        raise UserError("statement: it is empty")
    plain = plain_text(statement)
    if client.shortened(plain, room.statement) != plain:
        raise UserError(f"statement: this judge takes {room.statement} tokens at most: {statement[:60]!r}…")
    return plain


def read_record(text: str, room: Room, client: VllmServer) -> tuple[str, bool]:
    """What is read of a record, and whether that is less than all of it."""
    start = text[: CHARACTERS_A_TOKEN * room.record]
    plain = plain_text(start)
    if len(plain.encode()) <= room.record:  # a token has a byte at least
        return plain, False
    read = plain_text(client.shortened(plain, room.record))
    return read, read != plain or start != text
