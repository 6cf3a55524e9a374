"""release.duckdb and operator.duckdb: what is in them, when they are built, and what happens when they are wrong."""

import json
import multiprocessing
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from schemas.errors import UserError
from schemas.releases import Projection
from tasks.reporting.places import operator_database, release_database
from tasks.reporting.projection import (
    build_operator_database,
    build_release_database,
    published_chain_head,
    publishing,
)
from tasks.reporting.validation import InvalidWarehouseError
from tasks.storage.home import Home, initialise_home
from tests.projections import few_releases, joined, one_release, projection_of, release_key

CANARY = "CANARY-4f1c9a"
ROOT = Path(__file__).parents[3]


def rows(path: Path, query: str) -> list[tuple[object, ...]]:
    with duckdb.connect(str(path), read_only=True) as connection:
        return connection.execute(query).fetchall()


def changed(table: str, **columns: object) -> Projection:
    """A valid projection, except for one value in every row of these columns of `table`."""
    projection = few_releases()
    before = getattr(projection, table)
    after = pa.Table.from_pylist([row | columns for row in before.to_pylist()], before.schema)
    return replace(projection, **{table: after}, chain_head=release_key("broken"))


def write_summary(home: Home, run: str, **changes: object) -> Path:
    partition = {
        "partition": "all",
        "partition_version": "v-1",
        "units": 10,
        "records": 20,
        "unreadable": {"empty": 2},
        "duplicates": 1,
        "pairs_scored": 30,
        "pairs_reused": 5,
        "release_key": None,
        "was_sealed": False,
    }
    summary = {
        "run_id": run,
        "corpus": "reviews",
        "model": "keyword",
        "model_fingerprint": "f",
        "started_at": "2026-11-30T10:00:00+01:00",
        "seconds": 2.5,
        "partitions": [partition],
    }
    path = home.runs / run / "summary.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(summary | changes))
    return path


def write_quarantine(home: Home, *records: tuple[str, str, str]) -> Path:
    path = home.corpora / "reviews" / "v-1" / "quarantine.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    names = ("unit_id", "record_id", "status")
    pq.write_table(pa.Table.from_pylist([dict(zip(names, record, strict=True)) for record in records]), path)
    return path


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The release database of `few_releases`."""
    home = initialise_home(tmp_path_factory.mktemp("good") / "home", on_purpose=True)
    return build_release_database(few_releases(), home).read_bytes()


def test_the_release_database_answers_from_its_views(home: Home) -> None:
    path = build_release_database(few_releases(), home)
    emitted = rows(path, "select partition, certificate from statements where decision = 'emit' order by certificate")
    assert emitted == [("porto", 0.075), ("lisbon", 0.412), ("all", 0.7)]
    assert rows(path, "select count(*) from statements_at_thresholds") == [(5 * 2 + 2 + 2,)]


def test_its_views_work_when_the_file_is_attached_under_another_name(home: Home) -> None:
    path = build_release_database(few_releases(), home)
    with duckdb.connect() as connection:
        connection.execute(f"attach '{path}' as other (read_only)")
        assert connection.execute("select count(*) from other.statements").fetchall() == [(9,)]


def test_equal_projections_give_equal_bytes_in_any_home_and_row_order(tmp_path: Path) -> None:
    projection = few_releases()
    turned = {name: getattr(projection, name).take([*range(getattr(projection, name).num_rows)][::-1])
              for name in ("releases", "certificates", "thresholds", "charges", "budgets")}  # fmt: skip
    homes = [initialise_home(tmp_path / name, on_purpose=True) for name in ("a", "a longer name")]
    first = build_release_database(projection, homes[0])
    second = build_release_database(replace(projection, **turned), homes[1])
    assert first.read_bytes() == second.read_bytes()


def test_only_the_database_is_left_in_the_release_folder_and_everybody_may_read_it(home: Home) -> None:
    path = build_release_database(few_releases(), home)
    assert sorted(file.name for file in home.release.iterdir()) == ["data-docs", path.name]
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_an_empty_log_gives_valid_empty_views(home: Home) -> None:
    path = build_release_database(projection_of({}), home)
    assert rows(path, "select count(*) from statements") == [(0,)]


def test_nothing_is_built_when_nothing_changed(home: Home) -> None:
    path = build_release_database(few_releases(), home)
    before = path.stat()
    build_release_database(few_releases(), home)
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert build_release_database(few_releases(), home, rebuild=True).stat().st_ino != before.st_ino


@pytest.mark.parametrize(
    "other",
    [
        replace(few_releases(), chain_head=release_key("next")),
        replace(few_releases(), thresholds=few_releases().thresholds.slice(1)),
        replace(changed("budgets", cap_epsilon="9"), chain_head=few_releases().chain_head),
    ],
    ids=["chain head", "thresholds", "budgets"],
)
def test_a_changed_log_is_published(home: Home, good: bytes, other: Projection) -> None:
    release_database(home).write_bytes(good)
    assert build_release_database(other, home).read_bytes() != good


@pytest.mark.parametrize("content", [b"", b"not a database", b"\0" * 50_000], ids=["empty", "text", "zeros"])
def test_a_damaged_file_is_built_anew(home: Home, good: bytes, content: bytes) -> None:
    release_database(home).write_bytes(content)
    assert published_chain_head(home) is None
    assert build_release_database(few_releases(), home).read_bytes() == good


def test_a_reader_that_has_the_file_open_neither_blocks_nor_breaks(home: Home) -> None:
    path = build_release_database(one_release([5]), home)
    with duckdb.connect(str(path), read_only=True) as reader:
        build_release_database(few_releases(), home)
        assert reader.execute("select count(*) from statements").fetchall() == [(1,)]


def test_the_published_chain_head_is_known(home: Home) -> None:
    assert published_chain_head(home) is None
    build_release_database(few_releases(), home)
    assert published_chain_head(home) == few_releases().chain_head


def test_great_expectations_is_imported_only_when_something_is_built(home: Home) -> None:
    build = (
        "import sys; from pathlib import Path; from tests.projections import few_releases;"
        "from tasks.storage.home import open_home; from tasks.reporting.projection import build_release_database;"
        f"build_release_database(few_releases(), open_home(Path({str(home.root)!r})));"
        "print('great_expectations' in sys.modules)"
    )
    answers = [subprocess.run([sys.executable, "-c", build], cwd=ROOT, capture_output=True, text=True) for _ in "12"]
    assert [answer.stdout.split() for answer in answers] == [["True"], ["False"]], answers[0].stderr


BROKEN = {
    "a certificate above n": (changed("certificates", certificate_units=1001), "a_to_be_greater_than_b"),
    "a certificate of what was not selected": (changed("certificates", reason="not_selected"), "values_to_be_in_set"),
    "a reason that is none": (changed("certificates", certificate_units=0, reason=CANARY), "values_to_be_in_set"),
    "a composition that is none": (changed("budgets", composition=CANARY), "values_to_be_in_set"),
    "a zcdp account without rho": (changed("budgets", composition="zcdp"), "values_to_not_be_null"),
    "a negative certificate": (changed("certificates", certificate_units=-1), "values_to_be_between"),
    "a statement twice": (changed("certificates", statement_id="same"), "compound_columns_to_be_unique"),
    "a certificate of no release": (changed("certificates", release_key=CANARY), "table_row_count_to_equal"),
    "a candidate that is missing": (changed("releases", candidates=7), "pair_values_to_be_equal"),
    "no certificates at all": (
        replace(changed("charges"), certificates=few_releases().certificates.slice(0, 0)),
        "pair_values_to_be_equal",
    ),
    "a threshold above n": (changed("thresholds", threshold_units=1001), "a_to_be_greater_than_b"),
    "an unknown scope": (changed("releases", scope=CANARY), "values_to_be_in_set"),
    "a key that is no key": (one_release([5], release_key=CANARY), "values_to_match_regex"),
    "a charge of no release": (changed("charges", release_key=CANARY), "values_to_not_be_null"),
    "a charge of no account": (changed("budgets", account=CANARY), "column_sum_to_be_between"),
}


@pytest.mark.parametrize(("projection", "expectation"), BROKEN.values(), ids=BROKEN.keys())
def test_an_invalid_projection_is_not_published_and_the_old_file_stays(
    home: Home, good: bytes, capfd: pytest.CaptureFixture[str], projection: Projection, expectation: str
) -> None:
    release_database(home).write_bytes(good)
    with pytest.raises(InvalidWarehouseError, match=expectation) as raised:
        build_release_database(projection, home)
    assert release_database(home).read_bytes() == good
    assert [file.name for file in home.release.iterdir()] == ["release.duckdb"]  # its Data Docs stay, too: none here
    assert CANARY not in str(raised.value) + "".join(capfd.readouterr())
    assert "\n" not in str(raised.value)


def test_an_overspent_account_is_published_when_an_accepted_gap_did_it(home: Home) -> None:
    line = {"cap_epsilon": "1", "spent_epsilon": "1.5", "left_epsilon": "0", "is_overspent": True}
    gap = {"sequence": 1, "kind": "gap", "epsilon": "1.5", "epsilon_nats": 1.5, "release_key": None}
    path = build_release_database(projection_of({"budgets": [line], "charges": [gap]}), home)
    assert rows(path, "select is_overspent, gaps from budget_total") == [(True, 1)]


def test_one_overspent_account_does_not_stop_the_publication_of_the_others(home: Home) -> None:
    path = build_release_database(changed("budgets", spent_epsilon_nats=8.5, is_overspent=True), home)
    assert rows(path, "select distinct is_overspent from budget_total") == [(True,)]


def test_a_table_with_other_columns_is_refused(home: Home) -> None:
    projection = few_releases()
    with pytest.raises(ValueError, match="charges"):
        build_release_database(replace(projection, charges=projection.budgets), home)
    assert not release_database(home).exists()


def test_nothing_from_the_private_zone_is_in_the_bytes_of_the_release_database(home: Home) -> None:
    """DuckDB's memory is full of private values before; canaries would show in pages that it does not clear."""
    write_summary(home, CANARY, corpus=CANARY)
    write_quarantine(home, *((CANARY, f"{CANARY}-{record}", "empty") for record in range(20_000)))
    assert CANARY.encode() in build_operator_database(few_releases(), home).read_bytes()
    with duckdb.connect() as connection:
        connection.execute(f"create table filled as select '{CANARY}' || i as text from range(200000) as t(i)")
    content = build_release_database(few_releases(), home).read_bytes()
    assert CANARY.encode() not in content
    assert str(home.root).encode() not in content


def test_publishers_wait_for_each_other(home: Home) -> None:
    context = multiprocessing.get_context("spawn")
    held, done = context.Event(), context.Event()
    other = context.Process(target=_hold, args=(home, held, done))
    with publishing(home):
        other.start()
        assert not held.wait(3)
    assert held.wait(30)
    done.set()
    other.join(30)
    assert other.exitcode == 0


def _hold(home: Home, held: object, done: object) -> None:
    with publishing(home):
        held.set()  # type: ignore[attr-defined]
        done.wait(30)  # type: ignore[attr-defined]


def test_the_operator_database_holds_runs_and_quarantine_for_the_operator_only(home: Home) -> None:
    write_summary(home, "r1")
    write_quarantine(home, ("u1", "a", "empty"), ("u1", "b", "empty"), ("u2", "a", "too_long"))
    path = build_operator_database(few_releases(), home)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert rows(path, "select run_id, pairs_scored, unreadable_records, started_at::varchar from run_history") == [
        ("r1", 30, 2, "2026-11-30 09:00:00")
    ]
    kept = rows(path, "select status, records, units from quarantine_by_reason")
    assert kept == [("empty", 2, 1), ("too_long", 1, 1)]
    assert rows(path, "select model, pairs_reused from model_usage") == [("keyword", 5)]
    assert rows(path, "select partition, share_of_records from quarantine_by_reason") == [("all", 0.1), ("all", 0.05)]


def test_the_operator_database_is_built_again_when_a_run_is_added(home: Home) -> None:
    write_summary(home, "r1")
    first = build_operator_database(few_releases(), home).stat().st_ino
    assert build_operator_database(few_releases(), home).stat().st_ino == first
    write_summary(home, "r2")
    assert rows(build_operator_database(few_releases(), home), "select count(*) from run_history") == [(2,)]


def test_an_empty_home_gives_an_operator_database_with_empty_views(home: Home) -> None:
    assert rows(build_operator_database(few_releases(), home), "select count(*) from run_history") == [(0,)]


def test_a_summary_that_cannot_be_read_is_named_without_its_values(home: Home) -> None:
    write_summary(home, "r1", seconds=CANARY)
    with pytest.raises(UserError, match="run r1") as raised:
        build_operator_database(few_releases(), home)
    assert CANARY not in str(raised.value)
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__
    assert not operator_database(home).exists()


def test_an_invalid_operator_database_shows_no_value(home: Home, capfd: pytest.CaptureFixture[str]) -> None:
    write_quarantine(home, ("u1", "a", CANARY))
    with pytest.raises(InvalidWarehouseError, match="view quarantine") as raised:
        build_operator_database(few_releases(), home)
    assert CANARY not in str(raised.value) + "".join(capfd.readouterr())


def test_two_editions_show_as_one_question(home: Home) -> None:
    second = one_release([9, 0], release_key=release_key("two"), edition=2, sequence=2)
    path = build_release_database(joined(one_release([5, 0]), second), home)
    assert rows(path, "select certificate_units, edition, editions from statements order by 1 desc") == [
        (5, 1, 2),
        (0, 1, 2),
    ]
    assert rows(path, "select editions, beta_of_the_best_edition from editions") == [(2, 0.1)]
