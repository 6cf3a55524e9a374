"""Candidate statements. A proposer is given public settings only: no module here can reach the records."""

from collections.abc import Sequence
from dataclasses import dataclass

from schemas.audit import ProposalSettings
from schemas.claims import Reject
from schemas.errors import UserError
from schemas.statements import Statement
from tasks.statements.domains import Domain, load_domain
from tasks.statements.released_text import read_released_text
from tasks.statements.statement_file import MAX_STATEMENTS, file_sha256, parse_statements, read_statement_file
from tasks.statements.tag_template import propose_from_domain


@dataclass(frozen=True, slots=True)
class Proposal:
    """What will be asked: distinct statements in a fixed order, and a public line that says where they came from.

    rejects: what of a released text is not asked, and why; as public as the text.
    domain: the domain file that the statements were drawn from, if they were.
    """

    statements: tuple[Statement, ...]
    description: str
    rejects: tuple[Reject, ...] = ()
    domain: Domain | None = None


def propose(settings: ProposalSettings) -> Proposal:
    """The statements that these public settings name; equal settings and files give equal statements.

    Raises UserError when the domain, the file or the report cannot be used. Those that a language model words come from
    elsewhere: `tasks.statements.model_proposal`, `tasks.statements.model_claims`.
    """
    if settings.domain is not None:
        domain = load_domain(settings.domain)
        drawn = tuple(propose_from_domain(domain, settings.statements, settings.seed))
        return Proposal(drawn, f"tag_template {domain.name} seed {settings.seed} sha256 {domain.sha256}", domain=domain)
    if settings.statements_file is not None:
        content = read_statement_file(settings.statements_file)
        return Proposal(tuple(parse_statements(content)), f"file, declared blind, sha256 {file_sha256(content)}")
    if settings.report is None or settings.report_origin is None or settings.needs_language_model:
        raise ValueError("these settings need a language model")
    found = read_released_text(settings.report)
    claims = [claim.statement for claim in found.extraction.claims]
    return claims_proposal(claims, found.describe(settings.report_origin), found.extraction.rejects)


def claims_proposal(claims: Sequence[Statement], description: str, rejects: tuple[Reject, ...]) -> Proposal:
    """The claims of a released text as candidates. Raises UserError where there is none, or there are too many."""
    if not claims:
        raise UserError("report: has no claim; `privcert claims` shows what it has, and why not")
    if len(claims) > MAX_STATEMENTS:
        raise UserError(f"report: has more than {MAX_STATEMENTS} claims")
    return Proposal(tuple(claims), description, rejects)
