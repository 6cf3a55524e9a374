"""`privcert sql`: reads what is there, reaches nothing else, and fails in one line."""

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from schemas.errors import UserError
from tasks.reporting.places import operator_database, release_database
from tasks.reporting.projection import build_operator_database, build_release_database
from tasks.reporting.report import find_report
from tasks.reporting.sql import run_sql
from tasks.storage.home import Home, initialise_home
from tests.projections import few_releases

CANARY = "CANARY-0b77aa"
EMITTED = "select statement, certificate from statements where decision = 'emit' order by certificate desc"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """A home with both databases; one record is kept aside under a canary for an id."""
    home = initialise_home(tmp_path_factory.mktemp("sql") / "home", on_purpose=True)
    kept = home.corpora / "reviews" / "v-1" / "quarantine.parquet"
    kept.parent.mkdir(parents=True)
    pq.write_table(pa.table({"unit_id": [CANARY], "record_id": ["r"], "status": ["empty"]}), kept)
    build_release_database(few_releases(), home)
    build_operator_database(few_releases(), home)
    yield home


def test_json_is_a_list_of_objects(built: Home) -> None:
    answer = json.loads(run_sql(built, EMITTED, output="json"))
    assert [row["certificate"] for row in answer] == [0.7, 0.412, 0.075]


def test_json_writes_dates_and_decimals_as_text_and_no_nan(built: Home) -> None:
    query = "select date '2026-11-30' d, 1.50::decimal(4,2) e, 'nan'::double f, [1, 2] g, null h, true i, 1 d"
    row = {"d": "2026-11-30", "e": "1.50", "f": None, "g": [1, 2], "h": None, "i": True, "d_7": 1}
    assert json.loads(run_sql(built, query, output="json")) == [row]


def test_csv_quotes_what_needs_it(built: Home) -> None:
    text = run_sql(built, "select 'a,\"b\"' as x, null as y, true as z", output="csv")
    assert isinstance(text, str)
    assert list(csv.reader(io.StringIO(text))) == [["x", "y", "z"], ['a,"b"', "", "true"]]


def test_parquet_keeps_types(built: Home) -> None:
    content = run_sql(built, EMITTED, output="parquet")
    assert isinstance(content, bytes)
    table = pq.read_table(io.BytesIO(content))
    assert table.schema.types == [pa.string(), pa.float64()]
    assert table.num_rows == 3


def test_a_table_shows_rows_side_by_side_when_they_fit(built: Home) -> None:
    lines = str(run_sql(built, EMITTED)).splitlines()
    assert lines[0].split() == ["statement", "certificate"]
    assert lines[-1] == "3 rows"
    assert all(len(line) <= 120 for line in lines)


def test_a_table_that_is_too_wide_shows_a_column_a_line(built: Home) -> None:
    lines = str(run_sql(built, "select * from statements limit 1")).splitlines()
    assert ["decision", "emit"] in [line.split() for line in lines]
    assert lines[-1] == "1 row"


def test_control_characters_do_not_reach_the_terminal(built: Home) -> None:
    answer = str(run_sql(built, "select '[bold]' || chr(27) || '[31mred' as text"))
    assert "\x1b" not in answer
    assert "[bold]\\x1b[31mred" in answer


@pytest.mark.parametrize(
    "query", ["show tables", "describe statements", "explain select 1", "from budget_total", "select 1;"]
)
def test_ways_to_look_around_work(built: Home, query: str) -> None:
    assert run_sql(built, query)


FORBIDDEN = [
    "attach '{folder}/other.duckdb' as other",
    "attach '{private}/operator.duckdb' as private (read_only)",
    "attach ':memory:' as memory",
    "copy statements to '{folder}/out.csv'",
    "copy (select 1) to '{folder}/out.parquet'",
    "copy statements from '{folder}/in.csv'",
    "export database '{folder}/out'",
    "import database '{folder}'",
    "select * from read_csv('/etc/passwd')",
    "select * from read_text('{private}/home.json')",
    "select * from read_blob('{private}/hash.key')",
    "select * from read_json('{private}/home.json')",
    "select * from read_parquet('{private}/corpora/*/*/quarantine.parquet')",
    "select * from '{private}/corpora/reviews/v-1/quarantine.parquet'",
    "select * from glob('/etc/*')",
    "select * from sniff_csv('/etc/passwd')",
    "from query('from read_text(''/etc/passwd'')')",
    "select * from parquet_metadata('{private}/corpora/reviews/v-1/quarantine.parquet')",
    "install httpfs",
    "load httpfs",
    "set enable_external_access = true",
    "set lock_configuration = false",
    "set memory_limit = '1GB'",
    "reset temp_directory",
    "pragma threads = 1",
    "pragma enable_profiling",
    "pragma database_list",
    "insert into base.budgets select * from base.budgets",
    "with gone as (delete from base.charges returning *) select * from gone",
    "update base.charges set epsilon = '0'",
    "delete from base.charges",
    "drop view statements",
    "create table t as select 1",
    "create temp table t as select 1",
    "create or replace view statements as select 1",
    "alter table base.charges add column x int",
    "truncate base.charges",
    "create secret (type s3)",
    "begin",
    "vacuum",
    "checkpoint",
    "call pragma_version()",
    "prepare x as select 1",
    "select 1; select 2",
    "select 1; attach '{folder}/other.duckdb'",
    "",
    " ; ",
    "-- nothing",
    "selec",
    "select",
    "select * from nowhere",
    "select nothing from statements",
    "select statement::int from statements",
    "select * from local_frame",
    "select $1",
]


@pytest.mark.parametrize("query", FORBIDDEN)
def test_everything_but_one_reading_query_fails_in_one_line(built: Home, tmp_path: Path, query: str) -> None:
    local_frame = pa.table({"x": [1]})  # a caller's variable must not be found by its name
    assert local_frame.num_rows == 1
    before = sorted(path.name for path in built.release.iterdir())
    with pytest.raises(UserError) as raised:
        run_sql(built, query.format(folder=tmp_path, private=built.private))
    assert str(raised.value)
    assert "\n" not in str(raised.value)
    assert list(tmp_path.iterdir()) == []
    assert sorted(path.name for path in built.release.iterdir()) == before


def test_the_operators_database_is_asked_on_purpose_only(built: Home) -> None:
    with pytest.raises(UserError, match="quarantined_records"):
        run_sql(built, "select * from quarantined_records")
    assert CANARY in str(run_sql(built, "select unit_id from quarantined_records", operator=True))


def test_an_error_on_a_row_does_not_quote_the_row(built: Home) -> None:
    for query in ("select unit_id::int from quarantined_records", "select error(unit_id) from quarantined_records"):
        with pytest.raises(UserError) as raised:
            run_sql(built, query, operator=True)
        assert CANARY not in str(raised.value)
        assert raised.value.__suppress_context__


def test_a_database_that_is_not_there_is_not_made(home: Home) -> None:
    for operator in (False, True):
        with pytest.raises(UserError, match="no database"):
            run_sql(home, "select 1", operator=operator)
    assert not operator_database(home).exists()


def test_a_damaged_database_is_named(home: Home) -> None:
    (home.release / "release.duckdb").write_bytes(b"\0" * 20_000)
    with pytest.raises(UserError, match="warehouse rebuild"):
        run_sql(home, "select 1")


@pytest.mark.parametrize("operator", [False, True])
def test_a_database_with_overwritten_blocks_is_named_without_a_value(
    built: Home, tmp_path: Path, operator: bool
) -> None:
    home = initialise_home(tmp_path / "home", on_purpose=True)
    path = operator_database(home) if operator else release_database(home)
    content = bytearray((operator_database(built) if operator else release_database(built)).read_bytes())
    content[80_000:] = b"\xa5" * (len(content) - 80_000)
    path.write_bytes(content)
    with pytest.raises(UserError) as raised:
        run_sql(home, f"select * from {'quarantined_records' if operator else 'statements'}", operator=operator)
    says = f"{path} is damaged, or cannot be read: `privcert warehouse rebuild` builds it anew"
    assert str(raised.value).startswith(says)
    assert raised.value.__suppress_context__
    if not operator:
        with pytest.raises(UserError, match="is damaged"):
            find_report(home, "", None)


def test_an_unknown_output_is_refused_before_anything_runs(home: Home) -> None:
    with pytest.raises(UserError, match="table, csv, json, parquet"):
        run_sql(home, "select 1", output="yaml")
