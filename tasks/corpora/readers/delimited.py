"""CSV and TSV in an explicit dialect: declared delimiter and quote, doubled quotes inside quotes, a header row."""

import csv
from collections.abc import Iterator

from schemas.corpora import CorpusSettings, SourceFormat
from tasks.corpora.columns import Columns
from tasks.corpora.problems import SourceError
from tasks.corpora.readers.batches import RawBatch, RowBuffer
from tasks.corpora.sources import Source, SourceFile

_FIELD_CHARACTERS = 200_000_000  # above every legal max_characters; a longer field is a lost quote


def read_delimited(source: Source, columns: Columns, settings: CorpusSettings) -> Iterator[RawBatch]:
    """Records of CSV or TSV files. Blank lines are no records; a row with too few or too many fields stops the run.

    Raises SourceError for a bad dialect, header, row or quote.
    """
    delimiter = "\t" if source.format is SourceFormat.TSV else settings.delimiter
    _check_dialect(delimiter, settings.quote)
    buffer = RowBuffer(columns)
    before = csv.field_size_limit(_FIELD_CHARACTERS)
    try:
        for file in source.files:
            for row, text in _rows(file, source.encoding, columns, delimiter, settings.quote):
                buffer.add(row, text, decoded=False)
                if buffer.full:
                    yield buffer.take()
        yield buffer.take()
    finally:
        csv.field_size_limit(before)


def _rows(
    file: SourceFile, encoding: str, columns: Columns, delimiter: str, quote: str
) -> Iterator[tuple[dict[str, object], str]]:
    with file.open_text(encoding, newline="") as lines:
        rows = csv.reader(lines, delimiter=delimiter, quotechar=quote, strict=True)
        try:
            header = next(rows, None)
            if header is None:
                raise SourceError("source: a file is empty and has no header row")
            positions = columns.positions(header)
            text = positions.pop("text")
            for row in rows:
                if len(row) != len(header):
                    if not row:
                        continue
                    raise _ragged(file, rows.line_num)
                yield {role: row[position] for role, position in positions.items()}, row[text]
        except csv.Error:
            raise SourceError(
                "quote: a quoted field is not closed, or goes on after its quote",
                file=file.name,
                line=rows.line_num,
            ) from None


def _ragged(file: SourceFile, line: int) -> SourceError:
    reason = "delimiter: a row has not as many fields as the header; check delimiter and quote"
    return SourceError(reason, file=file.name, line=line)


def _check_dialect(delimiter: str, quote: str) -> None:
    if delimiter in "\r\n\0":
        raise SourceError("delimiter: it must not be a line end or NUL")
    if quote in "\r\n\0\t ":
        raise SourceError("quote: it must not be white space or NUL")
    if delimiter == quote:
        raise SourceError("delimiter: it must differ from the quote character")
