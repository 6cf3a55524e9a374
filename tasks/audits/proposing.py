"""The candidates of an audit. What a language model words is asked for once in a home, and is the same ever after."""

import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from schemas.audit import AuditSettings, ProposalSettings
from schemas.engines import EngineSettings
from schemas.errors import UserError
from schemas.statements import Statement
from tasks.audits.drafts import KeptDraft, Request, draft_once, find_draft
from tasks.inference.language import LanguageReference, checkpoint_sha256, language_reference, open_language
from tasks.inference.protocol import EngineError
from tasks.statements import Proposal, claims_proposal, propose
from tasks.statements.model_claims import claims_of_passages
from tasks.statements.model_lines import describe_claims, describe_proposal
from tasks.statements.model_proposal import propose_from_task
from tasks.statements.prompts import prompt_sha256
from tasks.statements.released_text import read_text
from tasks.statements.worded import RULES, Ask, Draft
from tasks.storage.home import Home

_STAND_IN = "stand-in"


def propose_once(settings: AuditSettings, home: Home, *, keep_open: LanguageReference | None = None) -> Proposal:
    """The candidates that these settings name. No record is read.

    keep_open: a language model that is needed after this; the server of another one ends here, where it is ours.
    Raises UserError where there is no candidate, or the language model cannot be had.
    """
    if not settings.needs_language_model:
        return propose(settings)
    if settings.task is None:
        return _from_report(settings, claims_once(str(settings.report), settings, home, keep_open))
    task, wanted, seed = settings.task, settings.statements, settings.seed
    reference = _reference(settings, home)
    found = _drafted(
        home,
        _task_request(settings, reference),
        reference,
        lambda ask: propose_from_task(task, wanted, seed, ask),
        keep_open,
    )
    statements = tuple(one.statement for one in found.draft.statements)
    if not statements:
        raise UserError("task: the language model gave no statement; try other words, another seed or another model")
    line = describe_proposal(found.draft, found.facts, task, wanted, seed)
    return Proposal(statements, line, found.draft.rejects)


def claims_once(
    report: str, engine: EngineSettings, home: Home, keep_open: LanguageReference | None = None
) -> tuple[KeptDraft, str]:
    """The claims of a released text in a language model's words, and the SHA-256 (hex) of its bytes.

    Raises UserError where the text cannot be read, or the language model cannot be had.
    """
    text, sha256 = read_text(report)
    reference = _reference(engine, home)
    request = _claims_request(sha256, reference)
    return _drafted(home, request, reference, lambda ask: claims_of_passages(text, ask), keep_open), sha256


def foresee(settings: AuditSettings, home: Home) -> tuple[Statement, ...]:
    """The candidates, or stand-ins for them (as many as may come) where a language model was not asked yet.

    It is not asked here. Raises UserError where there is no candidate, no engine, or no server that answers.
    """
    if not settings.needs_language_model:
        return propose(settings).statements
    reference = _reference(settings, home)
    if settings.task is not None:
        request, count = _task_request(settings, reference), settings.statements
    else:
        request = _claims_request(read_text(str(settings.report))[1], reference)
        count = max(settings.selected or 1, settings.contributions or 1)
    if find_draft(home, request) is not None:
        return propose_once(settings, home).statements
    with _told():
        _ = open_language(reference).facts
    return tuple(Statement.of(f"{_STAND_IN} {number}") for number in range(count))


def surely_asked(settings: AuditSettings, foreseen: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """Of what was foreseen, what is asked however few statements the language model gives."""
    if not settings.needs_language_model or foreseen[0] != Statement.of(f"{_STAND_IN} 0"):
        return foreseen
    return foreseen[: max(settings.selected or 1, settings.contributions or 1)]


def _from_report(settings: ProposalSettings, found: tuple[KeptDraft, str]) -> Proposal:
    kept, sha256 = found
    line = describe_claims(kept.draft, kept.facts, sha256, str(settings.report_origin))
    return claims_proposal([one.statement for one in kept.draft.statements], line, kept.draft.rejects)


def _drafted(
    home: Home,
    request: Request,
    reference: LanguageReference,
    draft: Callable[[Ask], Draft],
    keep_open: LanguageReference | None,
) -> KeptDraft:
    """What is kept of this request; else the model is asked."""
    if (found := find_draft(home, request)) is not None:
        return found
    language = open_language(reference)
    try:
        with _told():
            return draft_once(home, request, language, draft)
    finally:
        if reference != keep_open:
            language.close()


@contextmanager
def _told() -> Iterator[None]:
    """What an engine says of itself holds no text, and its user can mend it."""
    try:
        yield
    except EngineError as error:
        raise UserError(f"language_model: {error}") from None


def _reference(engine: EngineSettings, home: Home) -> LanguageReference:
    """A task and a released text are public, whatever the corpus is: requests may meet, unless they may not at all."""
    return language_reference(engine, home.private, is_private=False)


def _task_request(settings: ProposalSettings, reference: LanguageReference) -> Request:
    asked = {"task": str(settings.task), "statements": str(settings.statements), "seed": str(settings.seed)}
    return _request("proposal", reference) | asked


def _claims_request(sha256: str, reference: LanguageReference) -> Request:
    return _request("claims", reference) | {"text_sha256": sha256}


def _request(kind: str, reference: LanguageReference) -> dict[str, str]:
    """Which model, not which server or build of it: on another machine the same command means the same statements."""
    is_folder = not reference.urls and reference.model is not None and Path(reference.model).is_dir()
    model = f"checkpoint {checkpoint_sha256(Path(str(reference.model)))}" if is_folder else str(reference.model)
    rules = {"rules": RULES, "prompts_sha256": prompt_sha256(), "unicode": unicodedata.unidata_version}
    return {"kind": kind, "model": model, "context_tokens": str(reference.context_tokens), **rules}
