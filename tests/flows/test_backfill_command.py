"""`privcert backfill` and `privcert budget plan` as a user types them."""

import json
import signal
import subprocess
import sys
import time
from decimal import Decimal
from pathlib import Path

import pytest
from backfills import write_dated
from prefect_servers import clean_environment, server  # noqa: F401 (fixture)

from schemas.backfills import BackfillSettings
from schemas.errors import UserError
from schemas.exact_yaml import dump_yaml
from tasks.audits.backfill_corpora import corpora_of
from tasks.ledger.log import ReleaseLog
from tasks.storage.home import initialise_home, open_home
from tests.audits import settings_for, write_corpus

DEFINITION = """\
source: {source}
corpus: {corpus}
visibility: {visibility}
unit: {unit}
partition_column: date
time_grid: quarter
first_period: {first}
last_period: {last}
domain: {domain}
statements: {statements}
model: keyword
epsilon: {epsilon}
allow_vacuous: true
theta: 0.05
"""
REVIEWS = {
    "corpus": "reviews", "visibility": "private", "unit": "author", "first": "2025-Q3", "last": "2026-Q3",
    "domain": "restaurant-reviews", "statements": 12, "epsilon": 2,
}  # fmt: skip
AIRLINE = {
    "corpus": "airline", "visibility": "public", "unit": "author_key", "first": "1970-Q1", "last": "2030-Q4",
    "domain": "airline-reviews", "statements": 12, "epsilon": 4,
}  # fmt: skip


@pytest.fixture
def quarterly(privcert, tmp_path):
    """A private home with a cap for three quarters, a definition in ./audits, and its corpus."""
    privcert("init")
    privcert("budget", "set", "reviews", "--epsilon", "7.5")
    write_dated(tmp_path / "reviews.parquet")
    define(tmp_path / "audits" / "quarterly.yaml", source="reviews.parquet", **REVIEWS)
    return tmp_path / "home"


def define(path: Path, **settings: object) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(DEFINITION.format(**settings))
    return path


def every_byte(folder: Path) -> dict[str, bytes]:
    """Of files; empty folders hold none."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_dry_run_says_what_is_due_and_changes_no_byte(privcert, quarterly):
    privcert("ingest", "reviews.parquet", "--corpus", "other", "--unit", "author", "--account", "reviews")
    before = every_byte(quarterly)
    answer = privcert("backfill", "--audit", "quarterly", "--to", "2026-Q1", "--dry-run", "--json")
    assert (answer.code, answer.err) == (0, "")
    facts = json.loads(answer.out)
    assert [(row["partition"], row["standing"], row["n"]) for row in facts["partitions"]] == [
        ("2025-Q3", "due", 20), ("2025-Q4", "due", 30), ("2026-Q1", "due", 20)
    ]  # fmt: skip
    assert facts["pairs"] == 70 * 12 and facts["hours"] == 0
    assert facts["budget"] == [
        {"account": "reviews", "partition": "*", "audits": 3, "audits_that_fit": 3,
         "needed": {"epsilon": "6"}, "left": {"epsilon": "7.5"}}
    ]  # fmt: skip
    assert every_byte(quarterly) == before


def test_a_dry_run_tells_what_the_cap_does_not_cover_and_changes_no_byte(privcert, quarterly):
    before = every_byte(quarterly)
    answer = privcert("backfill", "--audit", "audits/quarterly.yaml", "--dry-run", "--pairs-per-second", "10")
    assert answer.code == 2 and answer.err.count("\n") == 1
    said = " ".join(answer.out.split())
    assert "epsilon 8 for 4 audits, epsilon 7.5 left" in said
    assert "covers 3 of 4 audits, 2026-Q2 of reviews is the first that it does not, and epsilon 0.5 is missing" in said
    assert "at most 960 pairs, 2 minutes at 10 pairs a second (given)" in said
    assert "due: to be audited" in said and "vacuous" not in said
    assert every_byte(quarterly) == before


def test_what_a_backfill_cannot_start_with_is_refused_in_one_line(privcert, quarterly, tmp_path):
    define(quarterly / "private" / "audits" / "kept.yaml", source="reviews.parquet", **REVIEWS)
    for arguments, says in (
        (("--audit", "monthly"), "audit: no definition 'monthly' in ./audits or in private/audits of the home; "
                                 "known: kept, quarterly"),
        (("--audit", "none.yaml"), "settings file: there is none"),
        (("--audit", "quarterly", "--parallel", "0"), "parallel: must be at least 1"),
        (("--audit", "quarterly", "--from", "2026"), "from: no such partition is declared"),
        (("--audit", "quarterly", "--corpora", "*.csv"), "corpora: no such file"),
    ):  # fmt: skip
        answer = privcert("backfill", *arguments)
        assert answer.code == 2 and says in answer.err and answer.err.count("\n") == 1, answer


def test_a_file_whose_name_no_corpus_can_have_is_named_in_the_terminal_and_hidden_files_are_passed_over(
    privcert, quarterly, tmp_path
):
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    for name in (".hidden.parquet", "Bad Name.parquet"):
        (inbox / name).touch()
    answer = privcert("backfill", "--audit", "quarterly", "--corpora", f"{inbox}/*.parquet")
    assert answer.code == 2 and answer.err.count("\n") == 1, answer
    assert f"file: '{inbox}/Bad Name.parquet'" in answer.err and ".hidden" not in answer.err
    with pytest.raises(UserError, match=r"^corpora: the name of a file, up to its first dot: ") as refused:
        corpora_of(settings_for(inbox), BackfillSettings(corpora=f"{inbox}/*.parquet"))
    assert "Bad" not in str(refused.value)  # what a stage says where Prefect keeps it
    (inbox / "Bad Name.parquet").unlink()
    answer = privcert("backfill", "--audit", "quarterly", "--corpora", f"{inbox}/*.parquet")
    assert answer.code == 2 and "corpora: no such file" in answer.err


def test_the_account_says_how_many_more_quarters_it_pays_for(privcert, quarterly):
    (line,) = json.loads(privcert("budget", "plan", "--audit", "quarterly", "--json").out)["lines"]
    assert line == {
        "account": "reviews", "partition": "*", "composition": "pure", "charge": {"epsilon": "2"},
        "left": {"epsilon": "7.5"}, "audits_that_fit": 3, "left_after": {"epsilon": "1.5"},
        "every": "quarter", "first": "2025-Q3", "last": "2026-Q1",
        "partitions": 1, "last_period": "2026-Q3", "declared_audits": 3,
    }  # fmt: skip
    said = privcert("budget", "plan", "reviews", "--epsilon", "0.3", "--every", "month", "--from", "2026-11").out
    assert said == (
        "reviews (*): epsilon 0.3 for an audit of one partition, epsilon 7.5 left: 25 more audits fit, one a month "
        "from 2026-11 to 2028-11\n"
    )


def strict(folder: Path) -> Path:
    """A definition by which a quarter that is too small is not asked."""
    path = define(folder / "audits" / "strict.yaml", source="reviews.parquet", **REVIEWS)
    path.write_text(path.read_text().replace("allow_vacuous: true\n", ""))
    return path


def test_a_plan_says_where_the_definition_ends_and_which_partitions_are_too_small(privcert, quarterly, tmp_path):
    strict(tmp_path)
    privcert("budget", "set", "reviews", "--epsilon", "20", "--reason", "more quarters")
    said = privcert("budget", "plan", "--audit", "strict").out
    assert "10 more audits fit, one a quarter from 2025-Q3 to 2027-Q4; but the definition ends before, " in said
    assert "with last_period 2026-Q3: 5 in all" in said
    assert "fewer than 30 units no statement has an even chance of a certificate: it is skipped" in said
    assert "no registered partition" not in said  # none is registered
    write_dated(tmp_path / "reviews.parquet", {"2025-Q3": 20})
    privcert("ingest", "reviews.parquet", "--corpus", "reviews", "--unit", "author", "--partition-column", "date",
             "--time-grid", "quarter", "--first-period", "2025-Q3", "--last-period", "2026-Q3")  # fmt: skip
    said = privcert("budget", "plan", "--audit", "strict").out
    assert "vacuous: no registered partition has that many; the largest has n = 20" in said


def test_a_dry_run_without_a_cap_says_what_it_would_have_to_be(privcert, tmp_path):
    privcert("init")
    define(tmp_path / "audits" / "quarterly.yaml", source=write_dated(tmp_path / "reviews.parquet"), **REVIEWS)
    privcert("budget", "show")  # the log is there
    before = every_byte(tmp_path / "home")
    answer = privcert("backfill", "--audit", "quarterly", "--dry-run")
    assert answer.code == 2 and answer.err == "privcert: budget: the backfill would be refused, see above\n"
    assert "account reviews has none; these need at least `privcert budget set reviews --epsilon 8`" in answer.out
    assert "under a minute at 20,000 pairs a second (assumed)" in answer.out
    facts = json.loads(privcert("backfill", "--audit", "quarterly", "--dry-run", "--json").out)
    assert facts["caps_needed"] == [{"account": "reviews", "cap": {"epsilon": "8"}}]
    answer = privcert("backfill", "--audit", "quarterly")
    assert answer.code == 2 and answer.err.startswith("privcert: no cap: ")
    assert every_byte(tmp_path / "home") == before


def test_a_dry_run_tells_too_small_quarters_once_and_counts_nothing_for_them(privcert, quarterly, tmp_path):
    strict(tmp_path)
    answer = privcert("backfill", "--audit", "strict", "--from", "2026-Q1", "--to", "2026-Q2", "--dry-run")
    assert answer.code == 0, answer
    (row,) = [" ".join(line.split()) for line in answer.out.splitlines() if line.startswith("reviews")]
    assert row == "reviews 2026-Q1 … 2026-Q2 (2) vacuous: too few units for any certificate, skipped 10 to 20 each"
    assert "2026-Q1 of reviews has n = 20, and the margin is 29; 1 more no larger: skipped" in answer.out
    assert "budget   " not in answer.out and "at most 0 pairs\n" in answer.out


def test_a_dry_run_ends_as_the_backfill_would_where_two_files_are_copies(privcert, quarterly, tmp_path):
    (tmp_path / "inbox").mkdir()
    for name in ("may", "june"):
        write_dated(tmp_path / "inbox" / f"{name}.parquet")
        privcert("budget", "set", name, "--epsilon", "20")
    answer = privcert("backfill", "--audit", "quarterly", "--corpora", "inbox/*.parquet", "--dry-run", "--json")
    assert (answer.code, answer.err) == (1, "privcert: the backfill would not be complete: may, see above\n")
    facts = json.loads(answer.out)
    assert [need["account"] for need in facts["budget"]] == ["june"]
    (refused,) = [row for row in facts["partitions"] if row["corpus"] == "may"]
    assert refused["reason"].startswith("account: records or units of this source are in another private corpus")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "audit: give an ACCOUNT"),
        (("reviews",), "epsilon: say what one audit costs"),
        (("nobody", "--epsilon", "1"), "account: no account 'nobody'"),
        (("--audit", "quarterly", "--epsilon", "1"), "epsilon: the definition says"),
        (("reviews", "--epsilon", "1", "--every", "week"), "every: must be year, quarter, month, day"),
        (("reviews", "--epsilon", "1", "--from", "2026-Q1"), "from: write a month as"),
        (("reviews", "--epsilon", "1", "--delta", "0.1"), "a pure account takes no release with delta > 0"),
        (("reviews", "--epsilon", "nan"), "epsilon: "),
    ],
)
def test_a_plan_of_the_budget_that_makes_no_sense_is_refused_by_name(privcert, quarterly, arguments, says):
    answer = privcert("budget", "plan", *arguments)
    assert answer.code == 2 and says in answer.err and answer.err.count("\n") == 1, answer


def run(home: Path, url: str, definition: Path, *more: str) -> "subprocess.Popen[str]":
    command = [str(Path(sys.executable).parent / "privcert"), "backfill", "--audit", str(definition), "--json", *more]
    environment = clean_environment() | {"PRIVCERT_HOME": str(home), "PREFECT_API_URL": url}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process: "subprocess.Popen[str]") -> dict:
    out, error = process.communicate(timeout=600)
    assert process.returncode == 0, error
    return json.loads(out)


@pytest.mark.slow
def test_airline_reviews_are_backfilled_by_quarter_and_killed_in_the_middle_of_it(server, shared_dir, tmp_path):  # noqa: F811
    """kill -9 when about 60 % are sealed; the same command seals the rest, draws nothing twice and charges once."""
    definition = define(tmp_path / "airline.yaml", source=shared_dir / "data" / "reviews_skytrax.parquet", **AIRLINE)
    home = tmp_path / "home"
    first = run(home, server, definition)
    while len(sealed(home)) < 23:
        assert first.poll() is None, first.communicate()
        time.sleep(0.1)
    first.send_signal(signal.SIGKILL)
    first.communicate()
    before = sealed(home)
    done = finish(run(home, server, definition, "--parallel", "2"))
    standings = [row["standing"] for row in done["partitions"]]
    assert (standings.count("sealed"), standings.count("audited")) == (len(before), 39 - len(before))
    assert set(standings) == {"sealed", "audited", "empty", "open"}
    assert sealed(home)[: len(before)] == before and len(sealed(home)) == 39
    [line] = ReleaseLog(open_home(home)).budget_lines()
    assert (line.line, line.epsilon.spent) == ("*", str(39 * 4))
    again = finish(run(home, server, definition))
    assert again["operator"] == {"changed": [], "pairs_reused": 0, "pairs_scored": 0, "vacuous": []}
    assert len(sealed(home)) == 39
    certificates = list((home / "release" / "certificates").glob("airline-*.json"))
    assert len(certificates) == 39


@pytest.mark.slow
def test_a_corpus_that_cannot_be_read_is_told_by_summary_and_exit_code(server, tmp_path):  # noqa: F811
    inbox, home = tmp_path / "inbox", initialise_home(tmp_path / "home", on_purpose=True)
    inbox.mkdir()
    write_corpus(inbox / "june.parquet")
    (inbox / "may.parquet").write_bytes(b"no table")
    ReleaseLog(home).set_cap("reviews", Decimal(2))
    definition = tmp_path / "inbox.yaml"
    settings = {"source": "inbox", "corpus": "any", "account": "reviews", "unit": "author", "model": "keyword"}
    asked = {"domain": "restaurant-reviews", "statements": 12, "epsilon": 2, "theta": Decimal("0.05")}
    definition.write_text(dump_yaml(settings | asked))
    process = run(home.root, server, definition, "--corpora", f"{inbox}/*.parquet")
    out, error = process.communicate(timeout=300)
    assert process.returncode == 1 and error.count("\n") == 1
    assert "is not complete: may; once what the summary says of them is mended, the same command goes on" in error
    results = json.loads(out)
    assert [(row["corpus"], row["standing"]) for row in results["partitions"]] == [
        ("june", "audited"), ("may", "unreadable")
    ]  # fmt: skip
    assert results["complete"] is False and "source" in results["partitions"][1]["reason"]
    assert len(list((home.release / "certificates").glob("june-*.json"))) == 1


def sealed(home: Path) -> list[str]:
    return ReleaseLog(open_home(home)).release_keys() if (home / "private" / "home.json").exists() else []


@pytest.mark.parametrize("rate", ["1e-400", "0.0000001", "1e13", "1_0"])
def test_a_rate_at_which_no_hours_can_be_told_is_refused(privcert, quarterly, rate):
    answer = privcert("backfill", "--audit", "quarterly", "--dry-run", "--pairs-per-second", rate)
    assert (answer.code, answer.out) == (2, "") and answer.err.startswith("privcert: pairs_per_second: must be ")
