"""Candidate statements. A proposer is given public settings only: no module here can reach the records."""

from dataclasses import dataclass

from schemas.audit import ProposalSettings
from schemas.errors import UserError
from schemas.statements import Statement
from tasks.statements.domains import load_domain
from tasks.statements.statement_file import file_sha256, parse_statements, read_statement_file
from tasks.statements.tag_template import propose_from_domain


@dataclass(frozen=True, slots=True)
class Proposal:
    """What will be asked: distinct statements in a fixed order, and a public line that says where they came from."""

    statements: tuple[Statement, ...]
    description: str


def propose(settings: ProposalSettings) -> Proposal:
    """The statements that these public settings name; equal settings and files give equal statements.

    Raises UserError when the domain or the file cannot be used.
    """
    if settings.domain is not None:
        domain = load_domain(settings.domain)
        drawn = tuple(propose_from_domain(domain, settings.statements, settings.seed))
        return Proposal(drawn, f"tag_template {domain.name} seed {settings.seed} sha256 {domain.sha256}")
    if settings.statements_file is None:
        raise UserError("domain: give either a domain or a statements_file")
    content = read_statement_file(settings.statements_file)
    return Proposal(tuple(parse_statements(content)), f"file, declared blind, sha256 {file_sha256(content)}")
