"""What the suites on inputs look at: records and units of a version, and the verdicts on its texts, without a text."""

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from schemas.inputs import INPUT_ASKED, INPUT_RECORDS, INPUT_UNITS, INPUT_VERDICTS
from schemas.records import RECORDS
from schemas.statements import Statement
from tasks.corpora.contents import check_content
from tasks.corpora.versions import iterate_records, read_units, record_files
from tasks.ledger.log import ReleaseLog
from tasks.ledger.question import Question
from tasks.storage.home import Home
from tasks.storage.objects import AnyPath, StoredPath
from tasks.storage.parquet import naming_damage
from tasks.support.bits import population_of_columns
from tasks.support.cache import ScoreCache
from tasks.support.texts import index_texts

_STATEMENTS_AT_ONCE = 512
_RECORDS_AT_ONCE = 10_000


def check_registered(question: Question, version_path: AnyPath, home: Home) -> None:
    """See that the version's folder holds the records that the log registered. Raises UserError where it does not."""
    check_content(version_path, ReleaseLog(home).content_key(question.partition.version), home)


def check_inputs(question: Question, version_path: AnyPath, home: Home) -> None:
    """Is it what was registered? Then run the suites on inputs. Raises UserError before anything is spent."""
    from tasks.reporting.inputs import validate_inputs  # late: Great Expectations takes seconds to import

    check_registered(question, version_path, home)
    asked = {"units": question.partition.n, "statements": len(question.statements)}
    rows = _verdicts(version_path, question.statements, question.model_fingerprint, home)
    tables = {
        "asked": pa.Table.from_pylist([asked], INPUT_ASKED),
        "records": _records(version_path),
        "units": _units(version_path),
        "verdicts": pa.Table.from_pylist(list(rows), INPUT_VERDICTS),
    }
    validate_inputs(home, question.partition.version, tables)


def _records(version_path: AnyPath) -> pa.Table:
    columns = {
        "unit_index": ds.field("unit_index"),
        "record_id": ds.field("record_id"),
        "status": ds.field("status"),
        "has_text": ds.field("text").is_valid(),
        "has_text_key": ds.field("text_key").is_valid(),
    }
    return _scanned(version_path, columns).cast(INPUT_RECORDS)


def _scanned(version_path: AnyPath, columns: Mapping[str, ds.Expression]) -> pa.Table:
    if not isinstance(version_path, StoredPath):
        checked = ds.ParquetFragmentScanOptions(page_checksum_verification=True)
        parquet = ds.ParquetFileFormat(default_fragment_scan_options=checked)
        with naming_damage(version_path / "records"):
            return ds.dataset(record_files(version_path), format=parquet).to_table(columns=columns)
    batches = (batch for table in iterate_records(version_path, _RECORDS_AT_ONCE) for batch in table.to_batches())
    return ds.Scanner.from_batches(batches, schema=RECORDS, columns=columns).to_table()


def _units(version_path: AnyPath) -> pa.Table:
    units = read_units(version_path)
    index = pa.array(range(len(units)), pa.int64())
    has_key = pc.is_valid(units["unit_key"])
    return pa.table([index, units["unit_id"], has_key, units["records"]], schema=INPUT_UNITS)


def _verdicts(
    version_path: AnyPath, statements: Sequence[Statement], fingerprint: str, home: Home
) -> Iterator[dict[str, int]]:
    """One row a statement: over the distinct texts, how many verdicts are known, and how many support it."""
    keys, ids = index_texts(version_path).keys, [statement.statement_id for statement in statements]
    cache = ScoreCache.of(home, fingerprint)
    for start in range(0, len(ids), _STATEMENTS_AT_ONCE):
        block = ids[start : start + _STATEMENTS_AT_ONCE]
        found = cache.read(keys, block)
        known, supporting = (population_of_columns(bits, len(block)) for bits in (found.known, found.verdict))
        for at in range(len(block)):
            yield {
                "position": start + at,
                "texts": len(keys),
                "known": int(known[at]),
                "supporting": int(supporting[at]),
            }
