"""A version is what was registered as it, or it is refused by name: altered, cut off, swapped or gone."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from corpus_files import corpus, write_jsonl

from schemas.errors import UserError
from tasks.corpora import contents
from tasks.corpora.contents import check_content
from tasks.corpora.overlaps import looks_like_another, most_texts_in_one, shares_records, shares_units
from tasks.corpora.staging import StagedPartition, stage_corpus
from tasks.corpora.versions import UNITS_FILE, iterate_records
from tasks.storage.home import Home

OTHER = "^records: what lies in the folder of version {} is not what was registered as it .*restore private/corpora"
CANNOT = "^records: {} of version {} cannot be read: it was altered or cut off; restore private/corpora"
PART = "records/part-00000.parquet"
FILES = (UNITS_FILE, PART)


@pytest.fixture
def months(shared_home: Home, tmp_path: Path) -> list[StagedPartition]:
    """Two months of the same three authors, and a third month of three others."""
    authors = (("ann", "bob", "cy"), ("ann", "bob", "cy"), ("dan", "eve", "fay"))
    rows = [
        {"id": f"{month}-{name}", "author": name, "on": f"2026-0{month}-03", "text": f"The seat of {name} in {month}."}
        for month, names in enumerate(authors, start=1)
        for name in names
    ] + [{"id": "blank", "author": "ann", "on": "2026-01-04", "text": " "}]
    grid = {"partition_column": "on", "time_grid": "month", "first_period": "2026-01", "last_period": "2026-03"}
    settings = corpus(write_jsonl(tmp_path / "rows.jsonl", rows), max_unreadable=1, **grid)  # type: ignore[arg-type]
    return list(stage_corpus(settings, shared_home, tmp_path / "staging").partitions)


def test_a_version_as_it_was_staged_passes(shared_home: Home, months: list[StagedPartition]) -> None:
    """Nothing is raised."""
    for month in months:
        check_content(month.path, month.content_key, shared_home)


@pytest.mark.parametrize("names", [(".",), FILES, (UNITS_FILE,), (PART,)])
def test_folders_and_files_of_two_versions_that_were_swapped_are_refused(
    shared_home: Home, months: list[StagedPartition], tmp_path: Path, names: tuple[str, ...]
) -> None:
    first, other = months[0].path, months[2].path
    for name in names:
        shutil.move(first / name, tmp_path / "aside")
        shutil.move(other / name, first / name)
        shutil.move(tmp_path / "aside", other / name)
    for month in (months[0], months[2]):
        with pytest.raises(UserError, match=OTHER.format(month.path.name)):
            check_content(month.path, month.content_key, shared_home)


def test_the_records_of_the_same_authors_in_another_month_are_others(
    shared_home: Home, months: list[StagedPartition]
) -> None:
    shutil.copy(months[1].path / PART, months[0].path / PART)
    with pytest.raises(UserError, match=OTHER.format(0)):
        check_content(months[0].path, months[0].content_key, shared_home)


@pytest.mark.parametrize("column", ["text", "text_key"])
@pytest.mark.parametrize(
    "harm",
    [
        lambda values: [value and value[::-1] for value in values],
        lambda values: [*values[:1], None, *values[2:]],
        lambda values: [value or values[0] for value in values],
        lambda values: values[1:2] + values[:1] + values[2:],
    ],
    ids=["other values", "one is null", "none is null", "two exchanged"],
)
def test_texts_and_keys_that_do_not_belong_together_are_refused(
    shared_home: Home, months: list[StagedPartition], column: str, harm: Callable[[list[object]], list[object]]
) -> None:
    table = pq.read_table(months[0].path / PART)
    values = pa.array(harm(table[column].to_pylist()), table.schema.field(column).type)
    pq.write_table(table.set_column(table.schema.get_field_index(column), column, values), months[0].path / PART)
    with pytest.raises(UserError, match=OTHER.format(0)):
        check_content(months[0].path, months[0].content_key, shared_home)


def test_texts_of_any_length_are_read_as_they_were_staged(
    shared_home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is raised, however few records are read at a time."""
    rows: list[dict[str, str | int | None]] = [
        {"id": str(number), "author": "ann", "text": f"{number} é" * (1 + number)} for number in range(20)
    ]
    settings = corpus(write_jsonl(tmp_path / "rows.jsonl", rows))
    [staged] = stage_corpus(settings, shared_home, tmp_path / "one").partitions
    for limit in (1, 1000, 16 << 20):
        monkeypatch.setattr(contents, "_BYTES_AT_ONCE", limit)
        check_content(staged.path, staged.content_key, shared_home)


def test_a_file_of_another_kind_is_refused(shared_home: Home, months: list[StagedPartition]) -> None:
    shutil.copy(months[0].path / UNITS_FILE, months[0].path / PART)
    with pytest.raises(UserError, match=OTHER.format(0)):
        check_content(months[0].path, months[0].content_key, shared_home)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    "harm",
    [
        lambda content: b"",
        lambda content: content[: len(content) // 2],
        lambda content: bytes(len(content)),
        lambda content: content[:-60] + bytes(60),
    ],
)
def test_what_parquet_cannot_read_is_named_by_file_and_version(
    shared_home: Home, months: list[StagedPartition], name: str, harm: Callable[[bytes], bytes]
) -> None:
    file = months[0].path / name
    file.write_bytes(harm(file.read_bytes()))
    with pytest.raises(UserError, match=CANNOT.format(file.name, 0)):
        check_content(months[0].path, months[0].content_key, shared_home)


def test_a_changed_byte_of_a_text_is_found_by_the_checksum_of_its_page(months: list[StagedPartition]) -> None:
    file = months[0].path / PART
    with pq.ParquetFile(file) as parquet:
        column = next(
            column
            for place in range(parquet.metadata.num_columns)
            if (column := parquet.metadata.row_group(0).column(place)).path_in_schema == "text"
        )
    content = bytearray(file.read_bytes())
    content[column.data_page_offset + column.total_compressed_size - 12] ^= 0x20
    file.write_bytes(bytes(content))
    with pytest.raises(UserError, match=CANNOT.format("part-00000.parquet", 0)):
        list(iterate_records(months[0].path, 10))


@pytest.mark.parametrize("name", ["units.parquet", "record_keys.parquet", PART])
@pytest.mark.parametrize("is_gone", [False, True])
def test_damage_of_a_known_version_is_named_when_another_is_compared_with_it(
    months: list[StagedPartition], name: str, is_gone: bool
) -> None:
    known, new = months[0].path, months[2].path
    if is_gone:
        (known / name).unlink()
    else:
        (known / name).write_bytes((known / name).read_bytes()[:-30])
    says = r"are not in this home; restore" if is_gone else CANNOT.format((known / name).name, 0)
    with pytest.raises(UserError, match=says):
        shares_units([new], [known])
        looks_like_another([new], [known])
        shares_records([new], [known])
        most_texts_in_one([new], [[known]])
