"""Parquet: only the declared columns are decoded, a bounded number of rows at a time."""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq

from schemas.corpora import CorpusSettings
from schemas.records import RecordStatus
from tasks.corpora.columns import Columns, IdKinds, array_as_text, is_text
from tasks.corpora.problems import SourceError
from tasks.corpora.readers.batches import BATCH_CHARACTERS, BATCH_ROWS, RawBatch
from tasks.corpora.sources import Source, SourceFile

_BUFFER_BYTES = 1 << 20  # read column chunks in pieces: a row group need not fit in memory


def read_parquet(source: Source, columns: Columns, settings: CorpusSettings) -> Iterator[RawBatch]:
    """Records of Parquet files. SourceError for a file that is none, and for columns of a wrong type."""
    kinds = IdKinds()
    for file in source.files:
        with file.open_bytes() as content:
            yield from _batches(file, content, columns, kinds)


def _batches(file: SourceFile, content: object, columns: Columns, kinds: IdKinds) -> Iterator[RawBatch]:
    try:
        parquet = pq.ParquetFile(content, pre_buffer=False, buffer_size=_BUFFER_BYTES)
    except pa.ArrowInvalid:
        raise SourceError("source: not a Parquet file", file=file.name) from None
    columns.positions(parquet.schema_arrow.names)
    rows = _rows_per_batch(parquet, columns.roles["text"])
    for batch in parquet.iter_batches(rows, columns=columns.names, use_threads=False):
        yield _raw(batch, columns, kinds)
    if parquet.metadata.num_rows == 0:  # types are checked even where there is no row
        schema = pa.schema([parquet.schema_arrow.field(name) for name in columns.names])
        yield _raw(pa.RecordBatch.from_pylist([], schema=schema), columns, kinds)


def _raw(batch: pa.RecordBatch, columns: Columns, kinds: IdKinds) -> RawBatch:
    ids = {role: _id_column(role, batch.column(name), kinds) for role, name in columns.roles.items() if role != "text"}
    return RawBatch(ids, *_text_column(batch.column(columns.roles["text"])))


def _rows_per_batch(parquet: pq.ParquetFile, text: str) -> int:
    """Fewer rows where texts are long; the footer tells how long they are on average."""
    metadata = parquet.metadata
    sizes = [
        metadata.row_group(group).column(column).total_uncompressed_size
        for group in range(metadata.num_row_groups)
        for column in range(metadata.num_columns)
        if metadata.row_group(group).column(column).path_in_schema == text
    ]
    average: int = sum(sizes) // max(metadata.num_rows, 1) + 1
    return max(1, min(BATCH_ROWS, BATCH_CHARACTERS // average))


def _id_column(role: str, array: pa.Array, kinds: IdKinds) -> pa.Array:
    is_time = pa.types.is_date(array.type) or pa.types.is_timestamp(array.type)
    return array if role == "partition_column" and is_time else array_as_text(role, array, kinds)


def _text_column(array: pa.Array) -> tuple[pa.Array, pa.Array]:
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    if not (is_text(array.type) or pa.types.is_null(array.type)):
        raise SourceError("text: the column must hold text")
    texts = array.cast(pa.large_string())
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        return _decoded(texts)
    return texts, pa.nulls(len(texts), pa.string())


def _decoded(texts: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Row by row, where some row is not UTF-8 (writers may store any bytes as text)."""
    clean: list[str | None] = []
    faults: list[str | None] = []
    for value in texts.cast(pa.large_binary()).to_pylist():
        try:
            clean.append(None if value is None else value.decode())
            faults.append(None)
        except UnicodeDecodeError:
            clean.append(None)
            faults.append(RecordStatus.BROKEN_ENCODING)
    return pa.array(clean, pa.large_string()), pa.array(faults, pa.string())
