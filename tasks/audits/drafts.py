"""What a language model was asked in public and gave: kept in the private zone, the same for the same request.

A draft decides which statements a release asks. Generated text may differ in its last bits from one day to the next, so
what was given once is kept, and asking again needs no engine. Single answers are kept, too: a run that was killed goes
on where it stood.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from schemas.claims import Reject, RejectReason
from schemas.statements import Statement
from tasks.inference.language import Language
from tasks.inference.protocol import Generated, Prompt, Reason, Schema, Unanswered
from tasks.ledger.canonical import digest
from tasks.statements.worded import Ask, Draft, Worded
from tasks.storage.atomic import write_bytes
from tasks.storage.home import PRIVATE_DIRECTORY, Home
from tasks.storage.locks import one_process

_DRAFT = "draft.json"
_PROMPTS_A_FILE = 256

Request = Mapping[str, str]
"""All that was asked: what kind, of which model, under which rules, and the task or the text's hash. Public."""


@dataclass(frozen=True, slots=True)
class KeptDraft:
    """A draft, and what the model said of itself when it gave it (see `Language.facts`)."""

    draft: Draft
    facts: Mapping[str, str]


def find_draft(home: Home, request: Request) -> KeptDraft | None:
    """What was given to this request in this home; None where nothing was."""
    path = _folder(home, request) / _DRAFT
    return _read_draft(json.loads(path.read_bytes())) if path.exists() else None


def draft_once(home: Home, request: Request, language: Language, draft: Callable[[Ask], Draft]) -> KeptDraft:
    """What was given to this request, asked for now where nothing was; of several processes one asks.

    Raises EngineError and UserError as `Language` does.
    """
    folder = _folder(home, request)
    for one in (folder.parent, folder):
        one.mkdir(exist_ok=True, mode=PRIVATE_DIRECTORY)
    with one_process(folder):
        found = find_draft(home, request)
        if found is None:
            facts = language.facts
            found = KeptDraft(draft(_keeping(folder, language, facts)), facts)
            if found.draft.statements:  # nothing can be released of none: it may be asked again
                write_bytes(folder / _DRAFT, json.dumps({"request": dict(request), **_draft_fields(found)}).encode())
        return found


def _folder(home: Home, request: Request) -> Path:
    return home.private / "drafts" / digest(request)


def _keeping(folder: Path, language: Language, facts: Mapping[str, str]) -> Ask:
    """A `generate` that keeps its answers, and finds those that the same model gave to the same prompts."""

    def ask(prompts: Sequence[Prompt], *, max_tokens: int, schema: Schema) -> list[Generated | Unanswered]:
        answers: list[Generated | Unanswered] = []
        for start in range(0, len(prompts), _PROMPTS_A_FILE):
            some = prompts[start : start + _PROMPTS_A_FILE]
            asked = {"facts": dict(facts), "prompts": list(map(asdict, some)), "tokens": max_tokens, "schema": schema}
            path = folder / f"answers-{digest(asked)}.json"
            if not path.exists():
                given = _generated(language, some, max_tokens, schema)
                write_bytes(path, json.dumps(list(map(asdict, given))).encode())
            answers += map(_read_answer, json.loads(path.read_bytes()))
        return answers

    return ask


def _generated(
    language: Language, prompts: Sequence[Prompt], max_tokens: int, schema: Schema
) -> list[Generated | Unanswered]:
    return language.ask(lambda client: client.generate(prompts, max_tokens=max_tokens, schema=schema))


def _read_answer(fields: dict[str, object]) -> Generated | Unanswered:
    if "reason" in fields:
        return Unanswered(str(fields["id"]), Reason(str(fields["reason"])))
    return Generated(**fields)  # type: ignore[arg-type]


def _draft_fields(kept: KeptDraft) -> dict[str, object]:
    statements = [{"text": one.statement.text, "start": one.start, "end": one.end} for one in kept.draft.statements]
    rejects = [reject.fields() for reject in kept.draft.rejects]
    return {"facts": kept.facts, "answers": kept.draft.answers, "statements": statements, "rejects": rejects}


def _read_draft(fields: dict[str, object]) -> KeptDraft:
    content: dict = fields  # type: ignore[type-arg]
    statements = (Worded(Statement.of(one["text"]), one["start"], one["end"]) for one in content["statements"])
    rejects = (Reject(**one | {"reason": RejectReason(one["reason"])}) for one in content["rejects"])
    return KeptDraft(Draft(tuple(statements), tuple(rejects), content["answers"]), content["facts"])
