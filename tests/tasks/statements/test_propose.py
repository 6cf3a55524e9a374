"""One entry point for both proposers, and no way from it to the records."""

import subprocess
import sys
from pathlib import Path

import pytest

from schemas.audit import ProposalSettings
from schemas.building import build
from schemas.errors import UserError
from tasks.statements import propose
from tasks.statements.domains import load_domain
from tasks.statements.tag_template import propose_from_domain


def test_a_domain_gives_its_draw_and_says_where_it_came_from() -> None:
    proposal = propose(ProposalSettings(domain="court-cases", statements=12, seed=5))
    domain = load_domain("court-cases")
    assert list(proposal.statements) == propose_from_domain(domain, 12, 5)
    assert proposal.description == f"tag_template court-cases seed 5 sha256 {domain.sha256}"


def test_a_domain_gives_all_it_has_when_more_is_asked() -> None:
    assert len(propose(ProposalSettings(domain="court-cases", statements=100_000)).statements) < 1000


def test_a_file_gives_its_statements_and_its_hash(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text("The food is good.\n")
    settings = ProposalSettings(statements_file=str(path), declare_blind=True)
    proposal = propose(settings)
    assert [statement.text for statement in proposal.statements] == ["The food is good."]
    assert str(path) not in proposal.description
    path.write_text("The food is good.\n# and a remark\n")
    assert propose(settings).description != proposal.description


def test_an_unknown_domain_is_refused() -> None:
    with pytest.raises(UserError, match="no domain is called"):
        propose(ProposalSettings(domain="poems"))


def test_proposing_loads_nothing_that_reads_records() -> None:
    """A proposer that cannot import a reader cannot look at the records; a fresh process shows what is loaded."""
    program = (
        "import sys, tasks.statements; "
        "bad = ('tasks.corpora', 'tasks.support', 'tasks.inference', 'tasks.storage', 'prefect', 'duckdb', 'random'); "
        "print([m for m in sys.modules if m.startswith(tuple(b + '.' for b in bad[:4])) or m in bad[:6]])"
    )
    root = Path(__file__).parents[3]
    shown = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def test_what_asks_a_language_model_reads_no_records_either() -> None:
    program = (
        "import importlib, pathlib, sys\n"
        "for path in pathlib.Path('tasks/statements').glob('*.py'):\n"
        "    importlib.import_module(f'tasks.statements.{path.stem}')\n"
        "bad = ('tasks.corpora', 'tasks.support', 'tasks.ledger', 'prefect', 'duckdb')\n"
        "print([m for m in sys.modules if m.startswith(tuple(b + '.' for b in bad[:3])) or m in bad])"
    )
    root = Path(__file__).parents[3]
    shown = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def test_statements_of_a_language_model_do_not_come_from_here() -> None:
    with pytest.raises(ValueError, match="need a language model"):
        propose(ProposalSettings(task="Reviews of restaurants"))


TASKS = {
    "an empty task": ({"task": " \n "}, "task: must have 1 to 1000 characters"),
    "a long task": ({"task": "x" * 1001}, "task: must have 1 to 1000 characters"),
    "a task with a control character": ({"task": "a\x1bb"}, "task: has the control character U.001B"),
    "a task that turns": ({"task": "a\u202eb"}, "task: has the direction override"),
    "a task and a domain": ({"task": "a", "domain": "court-cases"}, "domain: give either a domain or a task or a"),
    "an extractor of nothing": ({"task": "a", "report_extractor": "llm"}, "report_extractor: speaks of a report"),
    "an unknown extractor": ({"report_extractor": "best"}, "report_extractor: must be 'sentences' or 'llm'"),
}


@pytest.mark.parametrize("kind", TASKS)
def test_a_task_that_cannot_be_asked_is_refused_by_name(kind: str) -> None:
    values, says = TASKS[kind]
    with pytest.raises(UserError, match=says):
        build(ProposalSettings, values)


def test_a_task_is_one_line_in_one_form() -> None:
    block = build(ProposalSettings, {"task": "  Reviews of\n cafe\u0301s,\r\n\tby guests\n"})
    assert block.task == "Reviews of caf\u00e9s, by guests"
    assert block.needs_language_model


def test_no_module_of_the_proposers_names_the_readers() -> None:
    folder = Path(__file__).parents[3] / "tasks" / "statements"
    for path in folder.glob("*.py"):
        assert "tasks.corpora" not in path.read_text(), path.name
