"""The command line: help, JSON, exit codes."""

import json
import os
import re
import shutil
import stat
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import flows.cli
from flows.cli.options import settings_options
from flows.cli.output import print_table
from flows.cli.summary import print_results
from schemas.engines import EngineSettings
from tasks.privacy.mechanisms import RELEASE_MECHANISMS
from tasks.reporting.projection import build_release_database
from tasks.storage.home import open_home
from tests.audits import write_corpus
from tests.projections import one_release

ROOT = Path(__file__).parent.parent.parent


def commands(group: click.Group, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], click.Command]]:
    """Every command and subcommand, with its name."""
    found = []
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        found.append(((*path, name), command))
        if isinstance(command, click.Group):
            found += commands(command, (*path, name))
    return found


COMMANDS = commands(flows.cli.cli)


@pytest.mark.parametrize(
    ("path", "command"), COMMANDS, ids=lambda value: " ".join(value) if isinstance(value, tuple) else ""
)
def test_every_command_has_help_with_an_example_and_a_place_in_the_docs(path, command):
    text = command.get_help(click.Context(command))
    assert "Example" in text
    assert f"privcert {' '.join(path[:1])}" in text
    docs = (ROOT / "docs" / "commands.md").read_text()
    assert f"privcert {' '.join(path)}" in docs


@pytest.mark.parametrize(
    ("path", "command"), COMMANDS, ids=lambda value: " ".join(value) if isinstance(value, tuple) else ""
)
def test_every_command_that_prints_a_result_takes_json(path, command):
    if not isinstance(command, click.Group):
        assert "--json" in {flag for parameter in command.params for flag in parameter.opts}


def test_the_list_of_commands_says_what_each_command_says_first():
    said = {path[0]: " ".join((command.help or "").split()) for path, command in COMMANDS if len(path) == 1}
    assert {
        name: said[name].startswith(text.rstrip(".")) for name, text in flows.cli.COMMANDS.items()
    } == dict.fromkeys(flows.cli.COMMANDS, True)


def test_plan_answers_the_documented_question_exactly(privcert):
    answer = privcert(
        *"plan --n 1800 --statements 200 --theta 0.05 --epsilon 10 --beta 0.05 --mechanism frontier".split(),
        *"--scope candidate --records 5000 --model nli-mini --json".split(),
    )
    facts = json.loads(answer.out)
    # t = 90; k* = ceil(ln(10) / 0.05) = 47, so 89 + 47 = 136 is the smallest count that is emitted half of the time
    assert facts["smallest_count_emitted"]["0.5"] == 136
    assert facts["margin_units"] == 46
    assert facts["margin_support"] == pytest.approx(46 / 1800)
    assert facts["vacuous"] is False
    assert facts["pairs"] == 1_000_000
    assert facts["hours"] > 0


def test_plan_says_when_nothing_can_be_certified(privcert):
    facts = json.loads(privcert(*"plan --n 30 --theta 0.9 --epsilon 1 --json".split()).out)
    assert facts["vacuous"] is True
    assert facts["smallest_count_emitted"] == {"0.5": None, "0.8": None, "0.95": None}


def test_plan_touches_no_home(privcert, tmp_path):
    assert privcert(*"plan --n 30 --theta 0.9 --epsilon 1".split()).code == 0
    assert not (tmp_path / "home").exists()


def test_init_twice_keeps_the_keys(privcert):
    first, second = (json.loads(privcert("init", "--json").out) for _ in range(2))
    assert first == second


def test_budget_is_exact_to_the_last_digit(privcert):
    privcert("init")
    privcert("budget", "set", "reviews", "--epsilon", "0.30000000000000000000000000000000001")
    (account,) = json.loads(privcert("budget", "show", "reviews", "--json").out)["accounts"]
    assert account == {
        "account": "reviews",
        "partition": "*",
        "composition": "pure",
        "cap": {"epsilon": "0.30000000000000000000000000000000001"},
        "spent": {"epsilon": "0", "delta": "0", "rho": "0"},
        "left": {"epsilon": "0.30000000000000000000000000000000001"},
    }


def test_an_account_counts_what_its_first_cap_says(privcert):
    privcert("init")
    privcert("budget", "set", "tickets", "--epsilon", "8", "--delta", "1e-5")
    assert json.loads(privcert("budget", "set", "prompts", "--rho", "0.5", "--json").out)["cap"] == {"rho": "0.5"}
    shown = {line["account"]: line for line in json.loads(privcert("budget", "show", "--json").out)["accounts"]}
    assert (shown["tickets"]["composition"], shown["prompts"]["composition"]) == ("approximate", "zcdp")
    assert shown["tickets"]["left"] == {"epsilon": "8", "delta": "0.00001"}
    table = " ".join(privcert("budget", "show").out.split())
    assert "approximate" in table and "rho 0.5" in table
    answer = privcert("budget", "set", "tickets", "--epsilon", "9", "--reason", "more")
    assert (answer.code, "counts epsilon and delta, for ever" in answer.err) == (2, True)


def test_the_help_of_audit_names_every_mechanism_that_may_release():
    command = dict(COMMANDS)[("audit",)]
    text = " ".join(command.get_help(click.Context(command)).split())
    [said] = re.findall(r"--mechanism TEXT (.*?); any other in simulation only", text)
    assert said.replace(" or ", ", ").split(", ") == sorted(RELEASE_MECHANISMS, key=said.index)
    assert {"--delta", "--contributions", "--selected", "--selection-share"} <= set(text.split())


def test_ingest_registers_and_charges_nothing(privcert, tmp_path):
    privcert("init")
    write_corpus(tmp_path / "reviews.parquet")
    answer = privcert("ingest", "reviews.parquet", "--corpus", "reviews", "--unit", "author", "--json")
    assert json.loads(answer.out) == {"corpus": "reviews", "partitions": [{"partition": "all", "version": 1, "n": 40}]}
    assert json.loads(privcert("budget", "show", "--json").out)["accounts"][0]["spent"]["epsilon"] == "0"


def test_an_unknown_command_is_the_users_fault(privcert):
    answer = privcert("certify")
    assert answer.code == 2
    assert answer.err.count("\n") == 1


def test_verify_refuses_what_is_no_certificate(privcert, tmp_path):
    (tmp_path / "file.json").write_text("{}")
    answer = privcert("verify", "file.json")
    assert answer.code == 2
    assert "not valid" in answer.err


def test_version(privcert):
    assert set(json.loads(privcert("version", "--json").out)) == {"privcert"}


def test_the_release_zone_is_open_to_analysts_and_the_private_zone_is_not(privcert, tmp_path, monkeypatch):
    before = os.umask(0o077)
    try:
        privcert("init")
        home = open_home(tmp_path / "home")
        home.release_folder("reports")
    finally:
        os.umask(before)
    modes = {
        path: stat.S_IMODE((home.root / path).stat().st_mode) for path in (".", "release", "release/reports", "private")
    }
    assert modes == {".": 0o755, "release": 0o755, "release/reports": 0o755, "private": 0o700}


def test_analysts_query_without_the_private_zone(privcert, tmp_path):
    privcert("init")
    build_release_database(one_release([5, 0]), open_home(tmp_path / "home"))
    shutil.rmtree(tmp_path / "home" / "private")
    assert json.loads(privcert("sql", "select count(*) as n from statements", "--json").out) == {"rows": [{"n": 2}]}
    assert privcert("sql", "select 1", "--operator").code == 2


SELECTED = {
    "corpus": "reviews",
    "theta": "0.05",
    "proposer": "tag_template",
    "rejects": [],
    "partitions": [
        {
            "partition": "all", "n": 400, "unit": "author", "mechanism": "svt", "epsilon": "10", "scope": "report",
            "meaning": "at least this many units support it", "vacuous": False, "margin": 0.01, "margin_units": 4,
            "abstained": 57,
            "parameters": {"delta": "0.00001", "selected": "3", "theta": "0.05"},
            "abstain_reasons": {"not_reached": 38, "not_selected": 19},
            "emitted": [
                {"statement": "The food is good.", "certificate": 0.5, "certificate_units": 200}
                | {"has_certificate": True},
            ],
            "report": "r.html", "certificate": "c.json",
        }
    ],
    "budget": [
        {
            "account": "reviews", "partition": "all", "composition": "approximate",
            "cap": {"epsilon": "20", "delta": "0.0001"}, "left": {"epsilon": "10", "delta": "0.00009"},
            "spent": {"epsilon": "10", "delta": "0.00001", "rho": "9"},
        },
        {
            "account": "open", "partition": "*", "composition": None, "cap": None, "left": None,
            "spent": {"epsilon": None, "delta": None, "rho": "0.5"},
        },
    ],
    "operator": {"pairs_scored": 1, "pairs_reused": 2, "answers_reused": 0},
    "database": "release.duckdb",
}  # fmt: skip


def test_the_summary_says_mechanism_meaning_reasons_and_what_the_account_counts(capsys):
    print_results(SELECTED)
    said = " ".join(capsys.readouterr().out.split())
    assert (
        "emitted 1, abstained 57 (38 not reached, 19 not selected); margin 4 units (0.0100 of n), scope report" in said
    )
    assert "svt, epsilon 10, delta 0.00001, selected 3, theta 0.05: at least this many units support it" in said
    assert "this answer holds at this theta only: another one is another question, and is charged" in said
    left = "epsilon 10, delta 0.00009 left of epsilon 20, delta 0.0001"
    assert f"reviews (all): epsilon 10, delta 0.00001 spent, {left}" in said
    assert "open (*): epsilon not known, delta not known, rho 0.5 spent, no cap" in said


@pytest.mark.parametrize(
    ("n", "units", "margin", "certified", "off"),
    [
        (4000, 2281, 23, "0.5702", "margin 23 units (0.0058 of n)"),  # 0.57025 and 0.00575
        (3, 2, 1, "0.6666", "margin 1 unit (0.3334 of n)"),
        (3, 3, 23, "1.0000", "margin 23 units (more than all of n)"),
    ],
)
def test_the_summary_rounds_a_certificate_down_and_a_margin_up(capsys, n, units, margin, certified, off):
    [partition] = SELECTED["partitions"]
    line = {
        "statement": "The food is good.",
        "certificate": units / n,
        "certificate_units": units,
        "has_certificate": True,
    }
    made = partition | {"n": n, "margin_units": margin, "margin": margin / n, "emitted": [line]}
    print_results(SELECTED | {"partitions": [made]})
    said = capsys.readouterr().out
    assert f"The food is good.   {certified}" in said and off in said


def test_a_title_that_looks_like_markup_is_printed_as_it_is(capsys):
    print_table(["a"], [["[/red]"]], title="reviews / [/red][bold]x")
    out = capsys.readouterr().out
    assert "reviews/[/red][bold]x" in "".join(out.split())


def test_a_flag_for_a_list_that_is_given_again_adds_to_it() -> None:
    """Else the first one is lost, and nobody is told."""

    @click.command()
    @settings_options(EngineSettings)
    def show(**given: object) -> None:
        click.echo(json.dumps(given["engine_url"]))

    one, two, three = (f"http://127.0.0.1:{port}" for port in (1, 2, 3))
    for words, expected in (
        (["--engine-url", one, "--engine-url", f"{two}, {three}"], [one, two, three]),
        (["--engine-url", one], [one]),
        ([], None),
    ):
        assert json.loads(CliRunner().invoke(show, words, catch_exceptions=False).stdout) == expected


@pytest.mark.parametrize("spelled", ["1_000", "+1000", " 1000", "\u0661000", "\uff11000", "1000.", "1e3", ""])
@pytest.mark.parametrize("command", ["selfcheck --draws", "demo --authors", "models check keyword --records"])
def test_a_whole_number_has_one_spelling_in_every_command(privcert, command, spelled):
    answer = privcert(*command.split(), spelled)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.endswith(": must be a whole number, written in digits only\n")


def test_no_command_takes_whole_numbers_by_another_type():
    kinds = {type(parameter.type) for _, command in COMMANDS for parameter in command.params}
    assert not kinds & {click.IntRange, click.FloatRange, type(click.INT), type(click.FLOAT)}
