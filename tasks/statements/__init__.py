"""Candidate statements. A proposer is given public settings only: no module here can reach the records."""

from dataclasses import dataclass

from schemas.audit import ProposalSettings
from schemas.claims import Reject
from schemas.errors import UserError
from schemas.statements import Statement
from tasks.statements.domains import load_domain
from tasks.statements.released_text import read_released_text
from tasks.statements.statement_file import MAX_STATEMENTS, file_sha256, parse_statements, read_statement_file
from tasks.statements.tag_template import propose_from_domain


@dataclass(frozen=True, slots=True)
class Proposal:
    """What will be asked: distinct statements in a fixed order, and a public line that says where they came from.

    rejects: what of a released text is not asked, and why; as public as the text.
    """

    statements: tuple[Statement, ...]
    description: str
    rejects: tuple[Reject, ...] = ()


def propose(settings: ProposalSettings) -> Proposal:
    """The statements that these public settings name; equal settings and files give equal statements.

    Raises UserError when the domain, the file or the report cannot be used.
    """
    if settings.domain is not None:
        domain = load_domain(settings.domain)
        drawn = tuple(propose_from_domain(domain, settings.statements, settings.seed))
        return Proposal(drawn, f"tag_template {domain.name} seed {settings.seed} sha256 {domain.sha256}")
    if settings.statements_file is not None:
        content = read_statement_file(settings.statements_file)
        return Proposal(tuple(parse_statements(content)), f"file, declared blind, sha256 {file_sha256(content)}")
    if settings.report is None or settings.report_origin is None:
        raise UserError("domain: give either a domain or a statements_file or a report")
    return _propose_claims(settings.report, settings.report_origin)


def _propose_claims(report: str, origin: str) -> Proposal:
    found = read_released_text(report)
    claims = tuple(claim.statement for claim in found.extraction.claims)
    if not claims:
        raise UserError("report: has no claim; `privcert claims` shows what it has, and why not")
    if len(claims) > MAX_STATEMENTS:
        raise UserError(f"report: has more than {MAX_STATEMENTS} claims")
    return Proposal(claims, found.describe(origin), found.extraction.rejects)
