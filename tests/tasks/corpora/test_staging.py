"""What a staged partition holds."""

import hashlib
import random
import shutil
import stat
import tempfile
import unicodedata
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from corpus_files import ROWS, Row, corpus, look_at, stage, stage_one, write_csv, write_jsonl, write_parquet
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.errors import UserError
from schemas.records import RECORDS, UNITS
from tasks.corpora import staging as staging_module
from tasks.corpora.staging import stage_corpus
from tasks.corpora.versions import iterate_records, read_units
from tasks.storage.home import Home

rows = st.lists(
    st.fixed_dictionaries(
        {
            "id": st.sampled_from(["1", "2", "3"]),
            "author": st.sampled_from(["ann", "bob", "cy", "été"]),
            "text": st.sampled_from(["good", "bad", "", " \t", None, "e\u0301", "é", "x" * 41, "long " * 30]),
        }
    ),
    max_size=12,
)
SCHEMA = pa.schema([("id", pa.string()), ("author", pa.string()), ("text", pa.string())])
LENIENT = {"max_unreadable": Decimal(1), "max_characters": 100}


@given(rows, st.randoms(use_true_random=False), st.integers(0, 3))
@settings(max_examples=25, deadline=None)
def test_the_order_of_rows_and_files_changes_nothing(
    shared_home: Home, rows: list[Row], chance: random.Random, cut: int
) -> None:
    with tempfile.TemporaryDirectory() as name:
        write_parquet(Path(name) / "whole.parquet", rows, SCHEMA)
        shuffled = chance.sample(rows, len(rows))
        Path(name, "parts").mkdir()
        for number, part in enumerate((shuffled[cut:], shuffled[:cut])):
            write_parquet(Path(name) / f"parts/{number}.parquet", part, SCHEMA)
        whole = stage_one(corpus(Path(name) / "whole.parquet", **LENIENT), shared_home)
        parts = stage_one(corpus(Path(name) / "parts/*.parquet", **LENIENT), shared_home)
    assert whole == parts


@given(rows, st.data())
@settings(max_examples=25, deadline=None)
def test_exact_duplicates_are_dropped_and_counted_and_any_other_change_is_noticed(
    shared_home: Home, rows: list[Row], data: st.DataObject
) -> None:
    distinct = {(row["author"], row["id"], _nfc(row["text"])) for row in rows}
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "c.parquet"
        before = stage_one(corpus(write_parquet(path, rows, SCHEMA), **LENIENT), shared_home)
        assert len(rows) - before.duplicates <= len(distinct)
        again = rows + ([data.draw(st.sampled_from(rows))] if rows else [])
        repeated = stage_one(corpus(write_parquet(path, again, SCHEMA), **LENIENT), shared_home)
        assert (repeated.content_key, repeated.records) == (before.content_key, before.records)
        assert repeated.duplicates == before.duplicates + len(again) - len(rows)
        more: list[Row] = [*rows, {"id": "4", "author": "ann", "text": "new"}]
        changed = stage_one(corpus(write_parquet(path, more, SCHEMA), **LENIENT), shared_home)
        assert changed.content_key != before.content_key


def _nfc(text: str | int | None) -> str | None:
    return None if text is None else unicodedata.normalize("NFC", str(text))


def test_a_unit_never_displaces_the_record_of_another(tmp_path: Path, home: Home) -> None:
    twins: list[Row] = [{"id": "1", "author": author, "text": "same text"} for author in ("ann", "bob")]
    seen = stage_one(corpus(write_parquet(tmp_path / "c.parquet", twins)), home)
    assert {(unit, record) for unit, record, *_ in seen.records} == {("ann", "1"), ("bob", "1")}
    assert seen.duplicates == 0


def test_one_record_id_with_two_texts_stays_two_records_of_its_unit(tmp_path: Path, home: Home) -> None:
    twice: list[Row] = [{"id": "1", "author": "ann", "text": text} for text in ("one", "two", "one")]
    seen = stage_one(corpus(write_parquet(tmp_path / "c.parquet", twice)), home)
    assert sorted(text or "" for *_, text, _ in seen.records) == ["one", "two"]
    assert (seen.units, seen.duplicates) == (1, 1)


def test_unreadable_records_stay_in_n_and_are_listed_for_the_operator(tmp_path: Path, home: Home) -> None:
    path = tmp_path / "c.jsonl"
    lines = [
        b'{"id": "ok", "author": "a", "text": "fine\\u0000 and \xc3\xa9"}',
        b'{"id": "empty", "author": "b", "text": " \\u3000\\n"}',
        b'{"id": "null", "author": "c", "text": null}',
        b'{"id": "absent", "author": "d"}',
        b'{"id": "broken", "author": "e", "text": "caf\xe9, and more"}',
        b'{"id": "surrogate", "author": "f", "text": "\\ud83d alone"}',
        b'{"id": "escape", "author": "g", "text": "\\udce9 written as an escape"}',
        b'{"id": "long", "author": "h", "text": "' + b"x" * 51 + b'"}',
        b'{"id": "just", "author": "h", "text": "' + b"x" * 50 + b'"}',
        b'{"id": "elsewhere", "author": "a", "other": "caf\xe9", "text": "a broken byte in a column that is not read"}',
    ]
    path.write_bytes(b"\n".join(lines) + b"\n\n")
    seen = stage_one(corpus(path, max_characters=50, max_unreadable=Decimal("1")), home)
    assert seen.quarantine == {
        ("b", "empty", "empty"),
        ("c", "null", "missing"),
        ("d", "absent", "missing"),
        ("e", "broken", "broken_encoding"),
        ("f", "surrogate", "lone_surrogate"),
        ("g", "escape", "lone_surrogate"),
        ("h", "long", "too_long"),
    }
    assert seen.units == 8
    assert seen.unreadable == {"empty": 1, "missing": 2, "broken_encoding": 1, "lone_surrogate": 2, "too_long": 1}
    texts = {record: (status, text, key) for _, record, status, text, key in seen.records}
    assert texts["ok"][:2] == ("ok", "fine\0 and é")
    assert all((text is None) == (key is None) == (status != "ok") for status, text, key in texts.values())


def test_json_that_is_no_text_marks_its_record_and_stops_nobody(tmp_path: Path, home: Home) -> None:
    path = tmp_path / "c.jsonl"
    found = ["7", "1.5", "true", "[]", '{"a": 1, "a": 2}', "9" * 5_000, "NaN", '"\\ud83d"', '"fine"']
    rows = (f'{{"id": "{n}", "author": "u{n}", "text": {value}}}\n' for n, value in enumerate(found))
    path.write_text("".join(rows))
    seen = stage_one(corpus(path, max_unreadable=Decimal(1)), home)
    assert seen.quarantine == {(f"u{n}", str(n), "not_text") for n in range(7)} | {("u7", "7", "lone_surrogate")}
    assert (seen.units, seen.unreadable) == (9, {"not_text": 7, "lone_surrogate": 1})


def test_one_broken_byte_marks_its_record_and_shifts_no_other(tmp_path: Path, home: Home) -> None:
    path = tmp_path / "c.csv"
    path.write_bytes(b'id,text,author\n1,"broken \xff, ""here""",a\n2,lead byte \xc3,b\n3,"fine\r\n\0too",c\n')
    seen = stage_one(corpus(path, max_unreadable=Decimal("1")), home)
    assert seen.quarantine == {("a", "1", "broken_encoding"), ("b", "2", "broken_encoding")}
    assert ("c", "3", "ok", "fine\r\n\0too") in {record[:4] for record in seen.records}


def test_parquet_text_that_is_not_utf8_marks_its_record_only(tmp_path: Path, home: Home) -> None:
    offsets, content = pa.array([0, 2, 4], pa.int32()).buffers()[1], pa.py_buffer(b"ok\xff\xfe")
    texts = pa.StringArray.from_buffers(2, offsets, content)
    pq.write_table(pa.table({"id": ["1", "2"], "author": ["a", "b"], "text": texts}), tmp_path / "c.parquet")
    seen = stage_one(corpus(tmp_path / "c.parquet", max_unreadable=Decimal("0.5")), home)
    assert seen.quarantine == {("b", "2", "broken_encoding")}


@pytest.mark.parametrize(("bad", "refused"), [(1, False), (2, True)])
def test_the_share_of_unreadable_records_is_compared_exactly(
    tmp_path: Path, home: Home, bad: int, refused: bool
) -> None:
    many: list[Row] = [{"id": n, "author": f"u{n}", "text": "" if n < bad else "fine"} for n in range(10)]
    source = corpus(write_parquet(tmp_path / "c.parquet", many), max_unreadable=Decimal("0.1"))
    if not refused:
        assert stage_one(source, home).units == 10
        return
    with pytest.raises(UserError, match=r"^max_unreadable: a larger share") as error:
        stage_one(source, home)
    assert "than the declared 0.1 cannot be read" in str(error.value) and "--max-unreadable" in str(error.value)
    assert not any(sign.isdigit() for sign in str(error.value).replace("0.1", ""))  # the share itself is private


def test_files_are_private_complete_and_of_the_declared_schema(tmp_path: Path, home: Home) -> None:
    staging = home.private / "staging"
    settings = corpus(write_parquet(tmp_path / "c.parquet", ROWS))
    (partition,) = stage_corpus(settings, home, staging).partitions
    found = {str(path.relative_to(staging)): stat.S_IMODE(path.stat().st_mode) for path in staging.rglob("*")}
    assert found == {
        "0": 0o700,
        "0/records": 0o700,
        "0/records/part-00000.parquet": 0o600,
        "0/units.parquet": 0o600,
        "0/quarantine.parquet": 0o600,
        "0/record_keys.parquet": 0o600,
    }
    assert stat.S_IMODE(staging.stat().st_mode) == 0o700
    for name, schema in (("records/part-00000.parquet", RECORDS), ("units.parquet", UNITS)):
        assert pq.read_schema(partition.path / name).equals(schema)
    moved = partition.path.rename(home.corpora / "elsewhere")
    assert {row["text"] for table in iterate_records(moved, 2) for row in table.to_pylist()} == {
        "The seat was clean.",
        "The crew was friendly and the meal was warm, for once.",
        "Crème brûlée at last",
    }
    assert not any(b"staging" in path.read_bytes() for path in moved.rglob("*.parquet"))


def test_keys_are_the_documented_keyed_hashes(tmp_path: Path, home: Home) -> None:
    staging = home.private / "staging"
    names = {"ann": "Ann", "bob": "007"}
    rows: list[Row] = [{**row, "author": names[str(row["author"])]} for row in ROWS]
    settings = corpus(write_parquet(tmp_path / "c.parquet", rows), unit_namespace="people")
    (partition,) = stage_corpus(settings, home, staging).partitions
    units = read_units(partition.path)
    assert units["look_key"].to_pylist() == [home.keyed_hash(b"look", b"people", look) for look in (b"7", b"ann")]
    assert units["unit_key"].to_pylist() == [home.keyed_hash(b"unit", b"people", unit) for unit in (b"007", b"Ann")]
    expected, content = set(), 0
    for table in iterate_records(partition.path, 10):
        for row in table.to_pylist():
            text, unit = row["text"].encode(), units["unit_id"][row["unit_index"]].as_py().encode()
            assert row["text_key"] == home.keyed_hash(b"text", text)
            expected.add(home.keyed_hash(b"record", home.keyed_hash(b"unit", b"people", unit), row["text_key"]))
            if len(row["text"]) >= 40:
                expected.add(row["text_key"])
            identity = home.keyed_hash(b"content", unit, row["record_id"].encode(), b"ok", row["text_key"])
            content += int.from_bytes(identity, "big")
    keys = pq.read_table(partition.path / "record_keys.parquet")["record_key"].to_pylist()
    assert keys == sorted(expected)
    assert len(keys) == 4
    assert partition.content_key == (content % 2**256).to_bytes(32, "big")


def test_memory_bounds_change_nothing(tmp_path: Path, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    many: list[Row] = [
        {"id": n % 700, "author": f"u{n % 13}", "day": f"2026-01-{n % 13 + 1:02}", "text": f"text {n % 600} " * (n % 9)}
        for n in range(2_000)
    ]
    source = corpus(
        write_parquet(tmp_path / "c.parquet", many),
        max_unreadable=Decimal("1"),
        partition_column="day",
        partitions=[f"2026-01-{day:02}" for day in range(1, 15)],
    )
    roomy = stage(source, home)
    monkeypatch.setattr("tasks.corpora.readers.parquet.BATCH_ROWS", 17)
    monkeypatch.setattr("tasks.corpora.spool.BATCH_ROWS", 5)
    monkeypatch.setattr("tasks.corpora.tables._PART_BYTES", 2_000)
    monkeypatch.setattr("tasks.corpora.tables._UNITS_PER_GROUP", 3)
    monkeypatch.setattr(staging_module, "_PENDING_BYTES", 5_000)
    tight = stage(source, home)
    assert _content(tight) == _content(roomy)


def _content(staged: dict[str, object]) -> dict[str, object]:
    # The files may be cut into other row groups; everything in them is the same.
    return {key: {**vars(seen), "units_file": None} for key, seen in staged.items()}


def test_a_failed_run_leaves_nothing_behind(tmp_path: Path, home: Home) -> None:
    staging = home.private / "staging"
    bad = write_jsonl(tmp_path / "c.jsonl", [*ROWS, {"id": None, "author": "x", "text": "secret"}])
    with pytest.raises(UserError, match=r"^id: "):
        stage_corpus(corpus(bad), home, staging)
    assert not staging.exists()
    assert look_at(stage_corpus(corpus(write_csv(tmp_path / "c.csv", ROWS)), home, staging))["all"].units == 2
    with pytest.raises(ValueError, match="staging: the folder is not empty"):
        stage_corpus(corpus(tmp_path / "c.csv"), home, staging)
    shutil.rmtree(staging)


def test_another_home_gives_other_keys(tmp_path: Path, home: Home, shared_home: Home) -> None:
    source = corpus(write_parquet(tmp_path / "c.parquet", ROWS))
    here, there = stage_one(source, home), stage_one(source, shared_home)
    assert here.content_key != there.content_key
    assert hashlib.sha256(here.record_keys_file).digest() != hashlib.sha256(there.record_keys_file).digest()
