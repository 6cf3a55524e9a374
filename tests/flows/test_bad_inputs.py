"""Wrong settings, files, budgets, ids and YAML: refused by name, in one line, before anything is spent."""

import json
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from schemas.errors import UserError
from tasks.audits.stages import run_audit
from tasks.ledger.log import ReleaseLog
from tasks.storage.home import open_home
from tests.audits import LIKES, new_run, settings_for

GOOD = {
    "--corpus": "reviews",
    "--unit": "author",
    "--domain": "restaurant-reviews",
    "--model": "keyword",
    "--epsilon": "2",
    "--theta": "0.05",
}

# flag, value, and what the one line must name
BAD_FLAGS = [
    ("--epsilon", "nan", "epsilon: must be a number, not NaN"),
    ("--epsilon", "inf", "epsilon: must be finite"),
    ("--epsilon", "-inf", "epsilon: must be finite"),
    ("--epsilon", "0", "epsilon: must be greater than 0"),
    ("--epsilon", "-1", "epsilon: must be greater than 0"),
    ("--epsilon", "1000", "epsilon: must be greater than 0 and less than 1000"),
    ("--epsilon", "two", "epsilon: must be a number, not text"),
    ("--epsilon", "", "epsilon: must be a number, not text"),
    ("--epsilon", "true", "epsilon: must be a number, not text"),
    ("--epsilon", "1e-999999", "epsilon: must have at most"),
    ("--epsilon", "1_0", "epsilon: must be a number, not text: write it in plain digits"),
    ("--epsilon", "+1", "epsilon: must be a number, not text: write it in plain digits"),
    ("--epsilon", "1.", "epsilon: must be a number, not text: write it in plain digits"),
    ("--epsilon", ".5", "epsilon: must be a number, not text: write it in plain digits"),
    ("--epsilon", " 1", "epsilon: must be a number, not text: write it in plain digits"),
    ("--epsilon", "1 ", "epsilon: must be a number, not text: write it in plain digits"),
    ("--epsilon", "\u0661", "epsilon: must be a number, not text: write it in plain digits"),
    ("--epsilon", "\uff11", "epsilon: must be a number, not text: write it in plain digits"),
    ("--epsilon", "1e\u0661", "epsilon: must be a number, not text: write it in plain digits"),
    ("--statements", "1_0", "statements: must be a whole number, not text: write it in plain digits"),
    ("--statements", " 10", "statements: must be a whole number, not text: write it in plain digits"),
    ("--statements", "+10", "statements: must be a whole number, not text: write it in plain digits"),
    ("--epsilon", "+-5", "epsilon: must be a number, not text"),
    ("--epsilon", "9" * 5000, "epsilon: must have at most"),
    ("--statements", "٥", "statements: must be a whole number"),
    ("--epsilon", "0x10", "epsilon: must be a number, not text"),
    ("--epsilon", "1,5", "epsilon: must be a number, not text"),
    ("--beta", "0", "beta: must be greater than 0"),
    ("--beta", "0.5", "beta: must be greater than 0 and less than 0.5"),
    ("--beta", "nan", "beta: must be a number, not NaN"),
    ("--theta", "1.01", "theta: must be between 0 and 1"),
    ("--theta", "-0.01", "theta: must be between 0 and 1"),
    ("--theta", "5%", "theta: must be a number, not text"),
    ("--theta", "snan", "theta: must be a number, not NaN"),
    ("--scope", "everything", "scope: "),
    ("--mechanism", "laplace", "mechanism: laplace draws floating-point noise"),
    ("--mechanism", "laplace_rounded", "mechanism: laplace_rounded draws floating-point noise"),
    ("--mechanism", "gaussian", "mechanism: gaussian draws floating-point noise"),
    ("--mechanism", "gauss", "mechanism: unknown mechanism 'gauss'"),
    ("--mechanism", "discrete_gaussian", "delta: discrete_gaussian needs it"),
    ("--mechanism", "hist", "contributions: hist needs it"),
    ("--mechanism", "svt", "selected: svt needs it"),
    ("--mechanism", "topk", "selected: topk needs it"),
    ("--delta", "0.1", "delta: frontier does not take it"),
    ("--delta", "0", "delta: must be greater than 0 and less than 1"),
    ("--delta", "1", "delta: must be greater than 0 and less than 1"),
    ("--delta", "nan", "delta: must be a number, not NaN"),
    ("--contributions", "3", "contributions: frontier does not take it"),
    ("--contributions", "0", "contributions: "),
    ("--contributions", "1.5", "contributions: must be a whole number"),
    ("--selected", "5", "selected: frontier does not take it"),
    ("--selected", "-1", "selected: "),
    ("--selection-share", "0.5", "selection_share: frontier does not take it"),
    ("--selection-share", "1", "selection_share: must be greater than 0 and less than 1"),
    ("--selection-share", "half", "selection_share: must be a number, not text"),
    ("--edition", "0", "edition: "),
    ("--edition", "1.5", "edition: must be a whole number"),
    ("--statements", "0", "statements: "),
    ("--statements", "2.5", "statements: must be a whole number"),
    ("--seed", "-1", "seed: "),
    ("--model", "gpt-9", "model: unknown support model 'gpt-9'"),
    ("--domain", "no-such-domain", "domain"),
    ("--corpus", "Reviews of 2026", "corpus: must be 1 to 63"),
    ("--corpus", "../escape", "corpus: must be 1 to 63"),
    ("--corpus", "", "corpus: must be 1 to 63"),
    ("--visibility", "secret", "visibility: "),
    ("--format", "xlsx", "format: "),
    ("--unit-rule", "fuzzy", "unit_rule: "),
    ("--unit-support", "most", "unit_support: "),
    ("--time-grid", "week", "time_grid: "),
    ("--time-grid", "month", "partition_column: name the column"),
    ("--partitions", "a,b", "partition_column: name the column"),
    ("--partition-column", "place", "partitions: declare either"),
    ("--max-characters", "0", "max_characters: "),
    ("--max-unreadable", "1.5", "max_unreadable: "),
    ("--delimiter", ";;", "delimiter: "),
    ("--delimiter", '"', "delimiter: must differ"),
    ("--partitions", "a\x00b", "partitions: keys must be"),
    ("--statements-file", "statements.txt", "domain: give either a domain or a task or a"),
    ("--no-such-flag", "1", "No such option"),
]


@pytest.mark.parametrize(("flag", "value", "says"), BAD_FLAGS, ids=lambda value: str(value)[:40])
def test_a_bad_flag_is_refused_by_name(privcert, flag, value, says):
    privcert("init")
    privcert("budget", "set", "reviews", "--epsilon", "8")
    column = {"--partition-column": "place"} if "keys must be" in says else {}
    flags = [part for pair in (GOOD | column | {flag: value}).items() for part in pair]
    answer = privcert("audit", "reviews.parquet", *flags)
    assert answer.code == 2, answer
    assert says in answer.err
    assert answer.err.count("\n") == 1
    assert nothing_spent(privcert)


def nothing_spent(privcert) -> bool:
    return json.loads(privcert("budget", "show", "--json").out)["accounts"][0]["spent"]["epsilon"] == "0"


BAD_YAML = [
    ("epsilon: .nan", "epsilon: must be a number, not NaN"),
    ("epsilon: .inf", "epsilon: must be finite"),
    ("epsilon: yes", "epsilon: must be a number, not a boolean"),
    ('epsilon: "2"', "epsilon: must be a number, not text"),
    ("epsilon: [2]", "epsilon: must be a number, not a list"),
    ("epsilon:", "epsilon: is required"),
    ("epsilon: 2\nepsilon: 3", "key 'epsilon' is given twice"),
    ("epsilon: 2\nepsilom: 3", "epsilom: unknown setting"),
    ("epsilon: 2\nunit: 017", "a number starts with 0"),
    ("epsilon: 2\nunit: 17", "unit: "),
    ("epsilon: &a 2\nbeta: *a", "aliases"),
    ("epsilon: !!python/object:os.system 2", "tags (!) are not allowed"),
    ("epsilon: 2\n\tbeta: 1", "YAML: line"),
    ("- epsilon", "needs lines of the form"),
    ("epsilon: 2\nedition: 1.0", "edition: must be a whole number"),
    ("epsilon: 2\nreplace: maybe", "replace: "),
    *(
        (f"epsilon: {spelled}", "YAML: line")
        for spelled in ("1_0", "+1", "1.", ".5", "1\u0662", "1.e5", "-.5", "1e\u0662")
    ),
    ("epsilon: \uff11", "epsilon: must be a number, not text: write it in plain digits"),
    ("epsilon: 0.1_0", "epsilon: must be a number, not text: write it in plain digits"),
    ("epsilon: 2\nedition: 1_0", "this is no number as numbers are written here: write it in plain digits"),
]


@pytest.mark.parametrize(("lines", "says"), BAD_YAML, ids=lambda value: value[:30])
def test_a_bad_settings_file_is_refused_by_name(privcert, tmp_path, lines, says):
    privcert("init")
    base = "source: x.parquet\ncorpus: reviews\ndomain: restaurant-reviews\nmodel: keyword\ntheta: 0.05\n"
    (tmp_path / "audit.yaml").write_text(lines if lines.startswith("-") else base + lines + "\n")
    answer = privcert("audit", "audit.yaml")
    assert (answer.code, answer.err.count("\n")) == (2, 1), answer
    assert says in answer.err


def test_a_settings_file_in_another_encoding_is_refused(privcert, tmp_path):
    (tmp_path / "audit.yaml").write_bytes("corpus: café".encode("utf-16"))
    assert "settings file: not UTF-8" in privcert("audit", "audit.yaml").err


def test_a_missing_settings_file_is_refused(privcert):
    assert "settings file: there is none" in privcert("audit", "audit.yaml").err


def test_a_private_corpus_needs_a_home_on_purpose(privcert):
    flags = [part for pair in GOOD.items() for part in pair]
    answer = privcert("audit", "reviews.parquet", *flags)
    assert (answer.code, "privcert init" in answer.err) == (2, True)


GOOD_ROWS = [{"id": f"r{at}", "author": f"a{at}", "text": LIKES, "day": "2026-01-05"} for at in range(6)]


def changed(**cell):
    return [GOOD_ROWS[0] | cell, *GOOD_ROWS[1:]]


# rows, settings, and what the one line must name
BAD_DATA = [
    (changed(author=None), {}, "unit"),
    (changed(author=""), {}, "unit"),
    (changed(author="  "), {}, "unit"),
    (changed(author="A1"), {}, "ambiguous unit ids"),
    (changed(author=" a1"), {}, "ambiguous unit ids"),
    (changed(author="ａ1"), {}, "ambiguous unit ids"),
    (changed(author="a\x00b"), {}, "unit"),
    (changed(id=None), {}, "id"),
    (changed(id="r1"), {"unit": None}, "id"),
    ([row | {"author": float(at)} for at, row in enumerate(GOOD_ROWS)], {}, "unit"),
    ([row | {"author": at % 2 == 0} for at, row in enumerate(GOOD_ROWS)], {}, "unit"),
    ([row | {"text": at} for at, row in enumerate(GOOD_ROWS)], {}, "text"),
    (changed(text=""), {}, "max_unreadable"),
    (changed(text=None), {}, "max_unreadable"),
    (GOOD_ROWS, {"unit": "writer"}, "unit"),
    (GOOD_ROWS, {"id": "number"}, "id"),
    (GOOD_ROWS, {"text": "body"}, "text"),
    (GOOD_ROWS, {"partition_column": "day", "partitions": ("2026-01-04",)}, "partition"),
    (changed(day=None), {"partition_column": "day", "partitions": ("2026-01-05",)}, "partition"),
    (
        [GOOD_ROWS[0] | {"author": "a1", "day": "x"}, *GOOD_ROWS[1:]],
        {"partition_column": "day", "partitions": ("2026-01-05", "x")},
        "partition",
    ),
    (
        changed(day="2027-01-01"),
        {"partition_column": "day", "time_grid": "month", "first_period": "2026-01", "last_period": "2026-12"},
        "period",
    ),
    (
        changed(day="soon"),
        {"partition_column": "day", "time_grid": "month", "first_period": "2026-01", "last_period": "2026-12"},
        "partition_column",
    ),
]


@pytest.mark.parametrize(("rows", "changes", "says"), BAD_DATA, ids=lambda value: str(value)[-40:])
def test_bad_data_is_refused_before_anything_is_spent(home, tmp_path, rows, changes, says):
    ReleaseLog(home).set_cap("reviews", Decimal(8))
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "reviews.parquet")
    with pytest.raises(UserError, match=says) as refusal:
        run_audit(new_run(home, settings_for(tmp_path / "reviews.parquet", **changes)))
    assert "\n" not in str(refusal.value)
    log = ReleaseLog(home)
    assert log.release_keys() == []
    assert [line.epsilon.spent for line in log.budget_lines()] == ["0"]
    assert list(home.scores.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("missing.parquet", None),
        ("broken.parquet", b"PAR1 this is not Parquet"),
        ("empty.parquet", b""),
        ("reviews.xlsx", b"PK"),
        ("empty.csv", b""),
        ("ragged.csv", b"id,author,text\n1,a,b,c,d\n"),
        ("twice.csv", b"id,author,text,text\n1,a,b,c\n"),
        ("broken.jsonl", b'{"id": 1, "author": "a", "text": "b"\n'),
        ("list.jsonl", b'["a"]\n'),
        ("mixed.jsonl", b'{"id": 1, "author": "a", "text": "b"}\n{"id": "2", "author": 3, "text": "b"}\n'),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_bad_file_is_refused_before_anything_is_spent(home, tmp_path, name, content):
    ReleaseLog(home).set_cap("reviews", Decimal(8))
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError):
        run_audit(new_run(home, settings_for(tmp_path / name)))
    assert ReleaseLog(home).release_keys() == []


def test_a_gaussian_audit_of_a_pure_account_is_refused_before_the_data_are_read(privcert):
    privcert("init")
    privcert("budget", "set", "reviews", "--epsilon", "8")
    flags = [
        part for pair in (GOOD | {"--mechanism": "discrete_gaussian", "--delta": "0.00001"}).items() for part in pair
    ]
    answer = privcert("audit", "missing.parquet", *flags)
    assert (answer.code, answer.err.count("\n")) == (2, 1), answer
    assert "delta: a pure account takes no release with delta > 0" in answer.err
    assert "account reviews is pure for ever" in answer.err


def test_bad_budgets_are_refused_by_name(privcert):
    privcert("init")
    for amounts, says in [
        ((), "cap: give epsilon, epsilon and delta, or rho alone"),
        (("--rho", "1", "--epsilon", "1"), "cap: give epsilon"),
        (("--epsilon", "1", "--delta", "1"), "delta: must be greater than 0 and less than 1"),
        (("--rho", "-1"), "rho: must be greater than 0"),
        (("--rho", "nan"), "rho: must be a number, not NaN"),
    ]:
        answer = privcert("budget", "set", "reviews", *amounts)
        assert (answer.code, answer.err.count("\n"), says in answer.err) == (2, 1, True), answer
    for value, says in [("0", "greater than 0"), ("nan", "NaN"), ("-3", "greater than 0"), ("lots", "not text")]:
        answer = privcert("budget", "set", "reviews", "--epsilon", value)
        assert (answer.code, "epsilon: " in answer.err, says in answer.err) == (2, True, True), answer
    assert "account: must be 1 to 63" in privcert("budget", "set", "Not A Name", "--epsilon", "1").err
    assert privcert("budget", "set", "reviews", "--epsilon", "1").code == 0
    assert "reason: raising the cap" in privcert("budget", "set", "reviews", "--epsilon", "2").err
    assert "no account" in privcert("budget", "show", "others").err


POSTGRESQL = "postgresql+psycopg://user:secret@"


@pytest.mark.parametrize(
    "url",
    [
        *("mysql://user:secret@host/db", "nonsense", "sqlite://", "sqlite:///:memory:", f"{POSTGRESQL}[::1/db"),
        *(f"{POSTGRESQL}127.0.0.1:port/db", f"{POSTGRESQL}127.0.0.1:1/db?wait=1"),
        *(f"{POSTGRESQL}127.0.0.1:1/db?connect_timeout=secret", "postgresql+psycopg_async://user:secret@host/db"),
        *("sqlite:////tmp/secret?timeout=secret", "sqlite:////tmp/secret?wait=1", "sqlite:////tmp/%00secret"),
    ],
)
def test_a_bad_log_url_is_refused_by_name_and_not_repeated(privcert, monkeypatch, url):
    monkeypatch.setenv("PRIVCERT_LOG_URL", url)
    answer = privcert("init")
    assert (answer.code, "PRIVCERT_LOG_URL" in answer.err, "secret" in answer.err) == (2, True, False), answer


def test_a_relative_path_of_the_log_is_refused_and_no_log_is_made(privcert, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PRIVCERT_LOG_URL", "sqlite:///log.sqlite")
    answer = privcert("init")
    assert answer.code == 2 and "PRIVCERT_LOG_URL: the path of a SQLite file starts at the root" in answer.err, answer
    assert not list(tmp_path.glob("*.sqlite*"))


def test_init_says_that_the_log_is_an_older_one(privcert, tmp_path):
    privcert("init")
    private = tmp_path / "home" / "private"
    log = ReleaseLog(open_home(private.parent))
    older = (private / "release_log.sqlite").read_bytes()
    log.set_cap("reviews", Decimal(1))
    log.project()  # the release zone is told
    assert privcert("init").code == 0
    for path in private.glob("release_log.sqlite*"):
        path.unlink()
    (private / "release_log.sqlite").write_bytes(older)
    answer = privcert("init")
    assert answer.code == 2 and "older than its own releases (a restored backup?)" in answer.err, answer
    (private / "release_log.sqlite").unlink()
    assert privcert("init").code == 2  # a log that was lost and is made anew


def test_there_are_at_least_sixty_kinds_of_bad_input():
    assert len(BAD_FLAGS) + len(BAD_YAML) + len(BAD_DATA) >= 80
