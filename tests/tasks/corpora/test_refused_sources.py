"""Sources that are refused by name, before anything is registered, without a word about what they hold."""

import gzip
import json
import os
import tempfile
import traceback
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from corpus_files import corpus, stage, write_parquet

from schemas.errors import UserError
from tasks.corpora.problems import SourceError
from tasks.corpora.readers import read_source
from tasks.corpora.staging import stage_corpus
from tasks.storage.home import Home

CANARY = "zebrafinch"  # part of every value, id and file name of these sources
Make = Callable[[Path], object]


def parquet(**changes: object) -> Make:
    """A Parquet file of two rows with some columns replaced (None: left out)."""
    columns = {
        "id": [f"{CANARY}1", f"{CANARY}2"],
        "author": [f"{CANARY} a", f"{CANARY} b"],
        "text": [f"{CANARY} text", f"{CANARY} more"],
        "p": [f"{CANARY}-p", "q"],
        **changes,
    }

    def make(folder: Path) -> Path:
        pq.write_table(pa.table({k: v for k, v in columns.items() if v is not None}), folder / f"{CANARY}.parquet")
        return folder / f"{CANARY}.parquet"

    return make


def raw(name: str, content: bytes | str) -> Make:
    """A file with this content."""

    def make(folder: Path) -> Path:
        path = folder / f"{CANARY}{name}"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return make


def jsonl(*changes: dict[str, object]) -> Make:
    """JSON Lines, one for each change of a good record."""
    good = {"id": f"{CANARY}1", "author": f"{CANARY} a", "text": f"{CANARY} text"}
    return raw(".jsonl", "".join(json.dumps({**good, "id": f"{CANARY}{n}", **c}) + "\n" for n, c in enumerate(changes)))


def several(*makes: Make) -> Make:
    """A glob over one folder for each source."""

    def make(folder: Path) -> Path:
        for number, one in enumerate(makes):
            (folder / str(number)).mkdir()
            one(folder / str(number))
        return folder / "*" / f"{CANARY}*"

    return make


def texts(**files: bytes) -> Make:
    """A folder of text files; `__` in a name stands for a slash."""

    def make(folder: Path) -> Path:
        for name, content in files.items():
            path = folder / CANARY / name.replace("__", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return folder / CANARY

    return make


def odd_name(name: bytes) -> Make:
    """A folder of text files, one with this name."""

    def make(folder: Path) -> Path:
        (folder / CANARY).mkdir()
        with open(os.path.join(os.fsencode(folder / CANARY), name), "wb") as file:
            file.write(CANARY.encode())
        return folder / CANARY

    return make


def literal(source: str) -> Make:
    """A source that is not made."""
    return lambda folder: source


CSV = f"id,author,text\n{CANARY}1,{CANARY} a,{CANARY} text\n"
DAYS = {"partition_column": "p", "time_grid": "day", "first_period": "2026-01-01", "last_period": "2026-12-31"}
LIST = {"partition_column": "p", "partitions": ("q", "r")}
TIMES = pa.array([date(2026, 1, 1), date(2027, 1, 1)])

REFUSED: dict[str, tuple[Make, dict[str, object], str]] = {
    # the source itself
    "missing file": (literal(f"/nowhere/{CANARY}.csv"), {}, "source: no such file"),
    "missing folder of a URL": (literal(f"memory://{CANARY}/x.csv"), {}, "source: no such file"),
    "glob without a match": (literal(f"/nowhere/{CANARY}*.csv"), {}, "source: no such file"),
    "link to nowhere in a folder": (lambda folder: _link(folder), {"unit": None}, "source: a folder holds a link"),
    "unknown protocol": (literal(f"{CANARY}://x.csv"), {}, "source: unknown protocol"),
    "unknown ending": (raw(".docx", CSV), {}, "format: the ending tells no format"),
    "text format for a file": (raw(".txt", CSV), {"format": "text"}, "format: text reads a folder"),
    "no Parquet file": (raw(".parquet", CSV), {}, "source: not a Parquet file"),
    "empty Parquet file": (raw(".parquet", b""), {}, "source: not a Parquet file"),
    "Parquet cut in the middle": (
        lambda folder: _damaged(parquet(text=[f"{CANARY} {n}" * 9 for n in range(2)])(folder)),
        {},
        "source: ",
    ),
    "no gzip file": (raw(".csv.gz", CSV), {}, "source: it cannot be read, or is damaged"),
    "gzip cut in the middle": (raw(".csv.gz", gzip.compress(CSV.encode())[:-12]), {}, "source: it cannot be read"),
    "compressed Parquet": (raw(".parquet.gz", CSV), {}, "format: the ending tells no format"),
    "formats mixed in one glob": (several(raw(".csv", CSV), parquet()), {}, "format: .*several formats"),
    "tables in a folder of texts": (texts(**{"a.csv": CSV.encode()}), {}, "format: the folder holds table files"),
    "no file of the format in a folder": (texts(a=b"x"), {"format": "csv"}, "source: the folder holds no file"),
    "unknown encoding": (raw(".csv", CSV), {"encoding": "klingon"}, "encoding: unknown"),
    "encoding that is none of text": (raw(".csv", CSV), {"encoding": "rot13"}, "encoding: unknown"),
    "wrong wide encoding": (raw(".csv", CSV), {"encoding": "utf-32"}, "encoding: "),
    # columns
    "no text column": (parquet(text=None), {}, "text: the source has no column 'text'"),
    "no id column": (parquet(), {"id": "key"}, "id: the source has no column 'key': name the one that"),
    "no unit column": (parquet(), {"unit": "user"}, "unit: the source has no column 'user'"),
    "no partition column": (parquet(), {**LIST, "partition_column": "x"}, "partition_column: .* no column 'x'"),
    "no column in CSV": (raw(".csv", CSV), {"unit": "user"}, "unit: the source has no column 'user'"),
    "no column in JSONL": (jsonl({}), {"unit": "user"}, "unit: the source has no column 'user'"),
    "no column of a text folder": (texts(a=b"x"), {"unit": "user"}, "unit: the source has no column 'user'"),
    "column twice in CSV": (raw(".csv", CSV.replace("author", "text")), {"unit": None}, "text: .*several columns"),
    "column twice in Parquet": (lambda folder: _twice(folder), {}, "id: .*several columns"),
    "column missing in the second file": (several(parquet(), parquet(author=None)), {}, "unit: .* no column"),
    "text of numbers": (parquet(text=[1, 2]), {}, "text: the column must hold text"),
    "text of bytes": (parquet(text=[CANARY.encode(), b""]), {}, "text: the column must hold text"),
    "texts of lists in JSONL": (jsonl({"text": [CANARY]}), {}, "max_unreadable: a larger share"),
    "wrong type without a row": (
        parquet(id=pa.array([], pa.float64()), author=[], text=[], p=[]),
        {},
        "id: .* must hold",
    ),
    # rows
    "CSV without a header": (raw(".csv", ""), {}, "source: a file is empty"),
    "row with too many fields": (raw(".csv", f"{CSV}{CANARY}2,b,c,{CANARY}\n"), {}, "delimiter: a row has not as many"),
    "row with too few fields": (raw(".csv", f"{CSV}{CANARY}2\n"), {}, "delimiter: a row has not as many"),
    "quote that is not closed": (raw(".csv", f'{CSV}{CANARY}2,b,"{CANARY}\n'), {}, "quote: a quoted field"),
    "text after a quote": (raw(".csv", f'{CSV}{CANARY}2,b,"{CANARY}"x\n'), {}, "quote: a quoted field"),
    "tab as quote in TSV": (raw(".tsv", CSV), {"quote": "\t"}, "quote: it must not"),
    "return as delimiter": (raw(".csv", CSV), {"delimiter": "\r"}, "delimiter: it must not"),
    "space as quote": (raw(".csv", CSV), {"quote": " "}, "quote: it must not"),
    "line that is no JSON": (raw(".jsonl", f'{{"id": "{CANARY}"\n'), {}, "source: a line is not JSON"),
    "line that is no object": (raw(".jsonl", f'["{CANARY}"]\n'), {}, "source: a line is not a JSON object"),
    "JSON nested too deep": (raw(".jsonl", '{"x":' * 100_000), {}, "source: a line is not JSON"),
    "JSON key written twice": (
        raw(".jsonl", f'{{"id": "1", "author": "{CANARY}", "author": "b", "text": ""}}\n'),
        {},
        "source: a JSON object has a key twice",
    ),
    # ids
    "null id": (parquet(id=[CANARY, None]), {}, "id: an id is null"),
    "null unit": (parquet(author=[CANARY, None]), {}, "unit: an id is null"),
    "all units null": (parquet(author=pa.nulls(2)), {}, "unit: an id is null"),
    "absent unit in JSONL": (jsonl({}, {"author": None}), {}, "unit: an id is null"),
    "empty unit": (raw(".csv", CSV + f"{CANARY}2,,x\n"), {}, "unit: an id is empty"),
    "blank id": (parquet(id=[CANARY, " \u3000"]), {}, "id: an id is empty"),
    "file in no folder": (texts(a=b"x"), {"unit": "folder"}, "unit: an id is null"),
    "control character in a unit": (parquet(author=[CANARY, f"{CANARY}\x00"]), {}, "unit: an id has control"),
    "line end in a file name": (odd_name(f"{CANARY}\n".encode()), {"unit": None}, "id: an id has control"),
    "file name that is no text": (odd_name(CANARY.encode() + b"\xff"), {"unit": None}, "id: .* not valid Unicode"),
    "broken bytes in a unit": (raw(".csv", CSV.encode() + b"2,\xff,x\n"), {}, "unit: .* not valid Unicode"),
    "lone surrogate in an id": (jsonl({"id": "\ud800" + CANARY}), {}, "id: .* not valid Unicode"),
    "broken bytes in a Parquet unit": (lambda folder: _broken_unit(folder), {}, "unit: .* not valid Unicode"),
    "units of floats": (parquet(author=[1.0, 2.0]), {}, "unit: the column must hold text or integers"),
    "units of booleans": (parquet(author=[True, False]), {}, "unit: the column must hold text or integers"),
    "units of bytes": (parquet(author=[CANARY.encode(), b"b"]), {}, "unit: the column must hold text or integers"),
    "units of lists": (parquet(author=[[CANARY], []]), {}, "unit: the column must hold text or integers"),
    "units of dates": (parquet(author=TIMES), {}, "unit: the column must hold text or integers"),
    "ids of floats in JSONL": (jsonl({"id": 1.0}), {}, "id: the column must hold text or integers"),
    "units of booleans in JSONL": (jsonl({"author": True}), {}, "unit: the column must hold text or integers"),
    "units of objects in JSONL": (jsonl({"author": {CANARY: 1}}), {}, "unit: the column must hold text or integers"),
    "units drift in JSONL": (jsonl({"author": "17"}, {"author": 17}), {}, "unit: the column drifts"),
    "units drift between files": (several(parquet(), parquet(author=[1, 2])), {}, "unit: the column drifts"),
    "ids drift between files": (several(parquet(), parquet(id=[1, 2])), {}, "id: the column drifts"),
    "id repeated without units": (parquet(id=[CANARY, CANARY]), {"unit": None}, "id: a record id occurs twice"),
    "record repeated without units": (
        parquet(id=[CANARY] * 2, text=[CANARY] * 2, p=["q", "r"]),
        {"unit": None},
        "id: a record id occurs twice",
    ),
    "id repeated in time without units": (
        parquet(id=[CANARY] * 2, p=["2026-01-01", "2026-01-02"]),
        {"unit": None, **DAYS},
        "id: a record id occurs twice",
    ),
    "look-alikes": (parquet(author=[CANARY, CANARY.upper()]), {}, "unit_rule: ambiguous"),
    # partitions
    "unlisted partition": (parquet(), LIST, "partitions: a record lies outside"),
    "null partition": (parquet(p=["q", None]), LIST, "partition_column: a value is null"),
    "partition of floats": (parquet(p=[1.5, 2.5]), LIST, "partition_column: the column must hold"),
    "partition of dates in a list": (parquet(p=TIMES), LIST, "partition_column: it holds dates"),
    "unit in two partitions": (
        parquet(author=[CANARY] * 2, p=["q", "r"]),
        LIST,
        "partition_column: a unit lies in two",
    ),
    "day outside the grid": (parquet(p=TIMES), DAYS, "first_period, last_period: a record lies outside"),
    "value that is no date": (parquet(p=[CANARY, "2026-01-01"]), DAYS, "partition_column: .*no date"),
    "first period of another grid": (parquet(), {**DAYS, "first_period": "2026-01"}, "first_period: write a day as"),
    "last period that is no day": (parquet(), {**DAYS, "last_period": "2026-02-30"}, "last_period: write a day as"),
    "periods the wrong way round": (parquet(), {**DAYS, "last_period": "2025-01-01"}, "last_period: it lies before"),
    "too many periods": (parquet(), {**DAYS, "first_period": "1900-01-01"}, "time_grid: more than"),
    # texts
    "too many unreadable records": (parquet(text=[CANARY, ""]), {}, "max_unreadable: a larger share"),
    "no text at all": (parquet(text=pa.nulls(2)), {}, "max_unreadable: a larger share"),
    "a text that is too long": (parquet(), {"max_characters": 3}, "max_unreadable: a larger share"),
}


def _damaged(path: Path) -> Path:
    content = bytearray(path.read_bytes())
    content[4:200] = b"\xa5" * 196
    path.write_bytes(content)
    return path


def _link(folder: Path) -> Path:
    (folder / CANARY).mkdir()
    (folder / CANARY / CANARY).symlink_to(folder / "nowhere")
    return folder / CANARY


def _twice(folder: Path) -> Path:
    path = folder / f"{CANARY}.parquet"
    pq.write_table(pa.table([[CANARY], [CANARY], [CANARY], [CANARY]], names=["id", "id", "author", "text"]), path)
    return path


def _broken_unit(folder: Path) -> Path:
    content = CANARY.encode() + b"\xff"
    offsets = pa.array([0, len(content)], pa.int32()).buffers()[1]
    units = pa.StringArray.from_buffers(1, offsets, pa.py_buffer(content))
    path = folder / f"{CANARY}.parquet"
    pq.write_table(pa.table({"id": [CANARY], "author": units, "text": [CANARY]}), path)
    return path


@pytest.mark.parametrize("name", REFUSED)
def test_a_bad_source_is_refused_by_name_and_without_its_values(tmp_path: Path, home: Home, name: str) -> None:
    make, changes, reason = REFUSED[name]
    with pytest.raises(UserError, match=f"^{reason}") as error:
        stage_corpus(corpus(make(tmp_path), **changes), home, home.private / "staging")
    told = "".join(traceback.format_exception(error.value)) + repr(error.value)
    assert CANARY not in told.lower()
    assert str(tmp_path) not in str(error.value)
    assert "\n" not in str(error.value)
    assert not (home.private / "staging").exists()
    assert CANARY not in "".join(path.name for path in home.private.rglob("*"))


def test_what_only_the_operator_may_know_lies_in_the_private_zone(tmp_path: Path, home: Home) -> None:
    source = corpus(raw(".csv", f"{CSV}{CANARY}2\n")(tmp_path))
    with pytest.raises(UserError, match=r"details for the operator: private/problems/ingest-c.json$"):
        stage(source, home)
    path = home.private / "problems" / "ingest-c.json"
    assert json.loads(path.read_text())["line"] == 3
    assert (path.parent.stat().st_mode & 0o777, path.stat().st_mode & 0o777) == (0o700, 0o600)


def test_a_fault_of_ours_tells_nothing_either(tmp_path: Path, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ValueError(CANARY)

    monkeypatch.setattr("tasks.corpora.staging.check_corpus", fail)
    with pytest.raises(RuntimeError, match=r"^ingestion failed unexpectedly") as error:
        stage(corpus(parquet()(tmp_path)), home)
    assert CANARY not in "".join(traceback.format_exception(error.value))
    assert CANARY in (home.private / "problems" / "ingest-c.json").read_text()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become somebody who may not read")
def test_a_file_that_may_not_be_read_is_refused() -> None:
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        path = write_parquet(Path(name) / f"{CANARY}.parquet", [{"id": "1", "author": "a", "text": "t"}])
        path.chmod(0o600)
        os.seteuid(65534)
        try:
            with pytest.raises(SourceError, match=r"^source: permission denied") as error:
                list(read_source(corpus(path)))
        finally:
            os.seteuid(0)
    assert CANARY not in str(error.value)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become somebody who may not read")
def test_a_folder_inside_that_may_not_be_read_stops_the_run() -> None:
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        (Path(name) / "open.txt").write_text("text")
        (Path(name) / CANARY).mkdir(mode=0o700)
        os.seteuid(65534)
        try:
            for source, unit in ((name, None), (f"{name}/*/*.csv", "author")):
                with pytest.raises(SourceError, match=r"^source: permission denied"):
                    list(read_source(corpus(source, unit=unit)))
        finally:
            os.seteuid(0)
