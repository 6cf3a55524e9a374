"""One semantics for all formats."""

import tempfile
from decimal import Decimal
from pathlib import Path

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from corpus_files import ROWS, Row, Seen, corpus, stage_one, write_csv, write_jsonl, write_parquet
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.corpora.listing import files_like
from tasks.storage.home import Home

characters = st.characters(exclude_categories=("Cs",))
words = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=6).filter(str.strip)
SCHEMA = pa.schema([("id", pa.string()), ("author", pa.string()), ("text", pa.string())])


@given(
    st.lists(
        st.fixed_dictionaries({"id": words, "author": words, "text": st.text(characters, max_size=30)}),
        min_size=1,
        max_size=8,
    )
)
@settings(max_examples=25, deadline=None)
def test_the_same_records_in_any_format_are_the_same_corpus(shared_home: Home, rows: list[Row]) -> None:
    asked = {"unit_rule": "as_written", "max_unreadable": Decimal(1)}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        seen = [
            stage_one(corpus(path, **asked), shared_home)
            for path in (
                write_parquet(folder / "c.parquet", rows, SCHEMA),
                write_csv(folder / "c.csv", rows),
                write_csv(folder / "c.tsv", rows, delimiter="\t"),
                write_jsonl(folder / "c.jsonl", rows),
                write_jsonl(folder / "c.ndjson.gz", rows, ascii_only=True),
                write_csv(folder / "c.csv.gz", rows),
            )
        ]
    assert all(other == seen[0] for other in seen[1:])


@pytest.fixture
def expected(tmp_path: Path, shared_home: Home) -> Seen:
    """The three rows, from Parquet."""
    return stage_one(corpus(write_parquet(tmp_path / "expected.parquet", ROWS)), shared_home)


def test_integer_ids_become_their_decimals_in_every_format(tmp_path: Path, shared_home: Home) -> None:
    rows: list[Row] = [{"id": -1, "author": 2**63 - 1, "text": "a"}, {"id": 20, "author": 7, "text": "b"}]
    paths = (
        write_parquet(tmp_path / "c.parquet", rows),
        write_csv(tmp_path / "c.csv", rows),
        write_jsonl(tmp_path / "c.jsonl", rows),
    )
    first, *others = [stage_one(corpus(path), shared_home) for path in paths]
    assert {record[:2] for record in first.records} == {("9223372036854775807", "-1"), ("7", "20")}
    assert all(other == first for other in others)


@pytest.mark.parametrize("kind", ["large_string", "string_view", "dictionary"])
def test_every_arrow_type_of_text_is_text(tmp_path: Path, shared_home: Home, expected: Seen, kind: str) -> None:
    kinds = {
        "large_string": pa.large_string(),
        "string_view": pa.string_view(),
        "dictionary": pa.dictionary(pa.int32(), pa.string()),
    }
    table = pa.Table.from_pylist(ROWS)
    table = pa.table({name: table[name].combine_chunks().cast(kinds[kind]) for name in table.column_names})
    pq.write_table(table, tmp_path / "c.parquet")
    assert stage_one(corpus(tmp_path / "c.parquet"), shared_home) == expected


def test_a_dialect_is_what_is_declared(tmp_path: Path, shared_home: Home, expected: Seen) -> None:
    path = write_csv(tmp_path / "c.dat", ROWS, delimiter=";", quote="'")
    assert stage_one(corpus(path, format="csv", delimiter=";", quote="'"), shared_home) == expected


@pytest.mark.parametrize(("encoding", "bom"), [("utf-8", b"\xef\xbb\xbf"), ("utf-16", b""), ("cp1252", b"")])
@pytest.mark.parametrize("name", ["c.csv", "c.jsonl"])
def test_a_declared_encoding_is_decoded(
    tmp_path: Path, shared_home: Home, encoding: str, bom: bytes, name: str
) -> None:
    rows: list[Row] = [{"id": "1", "author": "ann", "text": "Crème brûlée"}]
    path = (write_csv if name.endswith("csv") else write_jsonl)(tmp_path / name, rows)
    path.write_bytes(bom + path.read_bytes().decode().encode(encoding))
    assert {record[3] for record in stage_one(corpus(path, encoding=encoding), shared_home).records} == {"Crème brûlée"}


def test_a_source_may_be_a_path_a_glob_a_folder_or_a_url(tmp_path: Path, shared_home: Home, expected: Seen) -> None:
    folder = tmp_path / "some [folder]"
    folder.mkdir()
    write_jsonl(folder / "a*.jsonl", ROWS[:1])
    write_jsonl(folder / "b.jsonl", ROWS[1:])
    plain = tmp_path / "plain"
    folder.rename(plain)
    for source in (plain, plain / "*.jsonl", f"file://{plain}/*.jsonl"):
        assert stage_one(corpus(source, format="jsonl"), shared_home) == expected
    assert stage_one(corpus(plain / "a*.jsonl"), shared_home).units == 1  # a name that is there is no pattern


def test_remote_file_systems_are_read_through_fsspec(tmp_path: Path, shared_home: Home, expected: Seen) -> None:
    memory = fsspec.filesystem("memory")
    for name, write in (("c.parquet", write_parquet), ("c.csv", write_csv), ("c.jsonl.gz", write_jsonl)):
        memory.pipe(f"/corpora/{name}", write(tmp_path / name, ROWS).read_bytes())
        assert stage_one(corpus(f"memory://corpora/{name}"), shared_home) == expected
    memory.pipe("/texts/ann/r1", b"The seat was clean.")
    seen = stage_one(corpus("memory://texts", unit="folder"), shared_home)
    assert {record[:4] for record in seen.records} == {("ann", "ann/r1", "ok", "The seat was clean.")}
    memory.rm("/corpora", recursive=True)
    memory.rm("/texts", recursive=True)


def test_a_folder_of_text_files_has_a_record_a_file(tmp_path: Path, shared_home: Home) -> None:
    for name, content in {
        "ann/1.txt": b"good",
        "ann/deep/2.txt": b"caf\xe9",
        "bob/1.txt": b"",
        ".hidden": b"no record",
        "bob/.git/x": b"no record",
    }.items():
        (tmp_path / "texts" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "texts" / name).write_bytes(content)
    seen = stage_one(corpus(tmp_path / "texts", unit="folder", max_unreadable=Decimal("1")), shared_home)
    assert {record[:4] for record in seen.records} == {
        ("ann", "ann/1.txt", "ok", "good"),
        ("ann", "ann/deep/2.txt", "broken_encoding", None),
        ("bob", "bob/1.txt", "empty", None),
    }
    alone = stage_one(corpus(tmp_path / "texts", unit=None, max_unreadable=Decimal("1")), shared_home)
    assert alone.units == 3
    assert {unit for unit, *_ in alone.records} == {"ann/1.txt", "ann/deep/2.txt", "bob/1.txt"}


def test_only_declared_columns_are_looked_at(tmp_path: Path, shared_home: Home, expected: Seen) -> None:
    wide = [{**row, "other": {"nested": [1]}, "rating": 1.5} for row in ROWS]
    pq.write_table(pa.Table.from_pylist(wide), tmp_path / "c.parquet")
    write_jsonl(tmp_path / "c.jsonl", wide)  # type: ignore[arg-type]
    for name in ("c.parquet", "c.jsonl"):
        assert stage_one(corpus(tmp_path / name), shared_home) == expected


def test_a_corpus_without_rows_has_no_units(tmp_path: Path, shared_home: Home) -> None:
    (tmp_path / "c.csv").write_text("id,author,text\n")
    (tmp_path / "c.jsonl").write_text("")
    (tmp_path / "texts").mkdir()
    sources = [tmp_path / "c.csv", tmp_path / "c.jsonl", write_parquet(tmp_path / "c.parquet", [], SCHEMA)]
    seen = [stage_one(corpus(source), shared_home) for source in sources]
    seen.append(stage_one(corpus(tmp_path / "texts", unit=None), shared_home))
    assert [(one.units, len(one.records), one.content_key) for one in seen] == [(0, 0, bytes(32))] * 4


def test_a_pattern_finds_what_fsspec_finds(tmp_path: Path) -> None:
    for name in ("a/1.csv", "a/b/2.csv", "a/b/c/3.csv", "x/1.csv", "1.csv", "a/1.tsv", "[a]/1.csv"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    local = fsspec.filesystem("file")
    for pattern in (
        "*.csv",
        "*/*.csv",
        "a/**",
        "**/*.csv",
        "?/1.*",
        "a/*/c/3.csv",
        "[ax]/1.csv",
        "none/*",
        "a/**/3.csv",
    ):
        expected = [path for path in local.glob(f"{tmp_path}/{pattern}") if local.isfile(path)]
        try:
            assert files_like(local, f"{tmp_path}/{pattern}") == sorted(expected), pattern
        except FileNotFoundError:
            assert not expected
    assert files_like(local, str(tmp_path / "a" / "1.csv")) == []
