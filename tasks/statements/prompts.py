"""What a language model is asked: fixed words, the form of its answer, and how long it may be.

Only the task, or a passage of a released text, is put in; after `plain_text`, so that nothing in it can be a control
token of a chat template.
"""

import hashlib
import json

from tasks.inference.plain_text import RULE, plain_text
from tasks.inference.protocol import Message, Schema

LIST_LENGTH = 8  # statements of one answer
LIST_TOKENS = 320  # of one answer: 40 a statement
MAX_CLAIMS = 24  # of one passage
PASSAGE_CHARACTERS = 900
CLAIM_TOKENS = 480  # of one answer: the claims of a passage are somewhat longer than it

STATEMENTS, CLAIMS = "statements", "claims"  # keys of the answers

_ASPECTS = (
    "what is offered", "the quality", "the price", "the people met there", "waiting and time", "the place",
    "ease of use", "reliability", "information and clarity", "communication", "problems", "how a problem was handled",
    "safety and trust", "comparison with others", "the reasons for writing", "plans and wishes",
)  # fmt: skip
_STANCES = ("praise", "a complaint", "a mixed feeling", "a report of what happened", "a wish or a request",
            "surprise", "advice to others", "a habit or a repeated experience")  # fmt: skip

_PROPOSER = (
    "You write candidate statements for an audit of a collection of texts. Each statement says of one text what its "
    "writer says, so that some texts of the collection may support it and others not. It is one short sentence that "
    "makes one point and can be read alone. It names no person and no date. It is no question. All statements differ. "
    "Write in the language of the description. Answer in JSON."
)
_PROPOSER_EXAMPLE = (
    "Collection: Letters that readers wrote to a city library.\nWrite 3 statements about: opening hours, with praise.",
    '{"statements":["The reader likes that the library is open on Sundays.","The reader finds the long opening hours '
    'convenient.","The reader is glad that books can be returned at night."]}',
)
_PARSER = (
    "You take a passage of a published text apart into its claims. Each claim is one short sentence that makes one "
    "point, says nothing that the passage does not say, and can be read alone: names stand where the passage has "
    "pronouns. Leave out questions, greetings, advice and headings. Write in the language of the passage. Where there "
    "is no claim, the list is empty. Answer in JSON."
)
_PARSER_EXAMPLE = (
    "Passage: Readers of the library praise the staff, who are quick and kind. Some of them find it too noisy. Thanks "
    "to all who wrote!",
    '{"claims":["Readers praise the staff of the library.","Readers say that the staff of the library is quick.",'
    '"Readers say that the staff of the library is kind.","Some readers find the library too noisy."]}',
)


def list_messages(task: str, place: int, seed: int) -> tuple[Message, ...]:
    """The chat that asks for the list at `place` (0, 1, ...) of a series: another place, another angle."""
    aspect = _ASPECTS[place % len(_ASPECTS)]
    stance = _STANCES[(place + place // len(_ASPECTS)) % len(_STANCES)]  # all pairs, once each
    asked = f"Write {LIST_LENGTH} statements about: {aspect}, with {stance}."
    number = f" List {place + 1} of series {seed}: other statements than in the lists before." if place or seed else ""
    return _chat(_PROPOSER, _PROPOSER_EXAMPLE, f"Collection: {plain_text(task)}\n{asked}{number}")


def claim_messages(passage: str) -> tuple[Message, ...]:
    """The chat that asks for the claims of a passage."""
    return _chat(_PARSER, _PARSER_EXAMPLE, f"Passage: {plain_text(passage)}")


def list_schema() -> Schema:
    """Of an answer with statements."""
    return _schema(STATEMENTS, LIST_LENGTH)


def claim_schema() -> Schema:
    """Of an answer with claims."""
    return _schema(CLAIMS, MAX_CLAIMS)


def prompt_sha256() -> str:
    """SHA-256 (hex) over everything that is fixed in the questions: words, forms and lengths. Public."""
    fixed = [
        [_PROPOSER, _PROPOSER_EXAMPLE, _ASPECTS, _STANCES, list_schema(), LIST_TOKENS],
        [_PARSER, _PARSER_EXAMPLE, claim_schema(), CLAIM_TOKENS, PASSAGE_CHARACTERS],
        [[(part.role, part.content) for part in list_messages("", place, 0)] for place in (0, 1)],
        [(part.role, part.content) for part in claim_messages("")],
        RULE,
    ]
    return hashlib.sha256(json.dumps(fixed).encode()).hexdigest()


def _chat(system: str, example: tuple[str, str], asked: str) -> tuple[Message, ...]:
    return (
        Message("system", system),
        Message("user", example[0]),
        Message("assistant", example[1]),
        Message("user", asked),
    )


def _schema(key: str, most: int) -> Schema:
    items = {"type": "array", "items": {"type": "string"}, "maxItems": most}
    return {"type": "object", "properties": {key: items}, "required": [key], "additionalProperties": False}
