"""JSON Lines: one object a line."""

import json
from collections.abc import Iterator

from schemas.corpora import CorpusSettings
from tasks.corpora.columns import Columns
from tasks.corpora.problems import SourceError
from tasks.corpora.readers.batches import RawBatch, RowBuffer, decodable
from tasks.corpora.sources import Source, SourceFile


class _RepeatedKey(dict[str, object]):
    """An object that names one key twice: which value counts is not defined."""


def read_jsonl(source: Source, columns: Columns, settings: CorpusSettings) -> Iterator[RawBatch]:
    """Records of JSON Lines files; blank lines are no records; a key that is not there is null.

    A text that is neither text nor null is a fault of its record: what one person wrote never stops the others.
    Raises SourceError for a line that is no object, a key written twice, and a declared column that no line has.
    """
    buffer, seen, rows = RowBuffer(columns), set[str](), 0
    for file in source.files:
        for record, decoded in _objects(file, source.encoding):
            rows += 1
            if len(seen) < len(columns.names):
                seen.update(name for name in columns.names if name in record)
            found = record.get(columns.roles["text"])
            text = found if isinstance(found, str) else None
            row = {role: record.get(name) for role, name in columns.roles.items()}
            buffer.add(row, text, decoded=decoded, is_text=found is text)
            if buffer.full:
                yield buffer.take()
    if rows:
        columns.positions(sorted(seen))
    yield buffer.take()


def _objects(file: SourceFile, encoding: str) -> Iterator[tuple[dict[str, object], bool]]:
    decode = json.JSONDecoder(object_pairs_hook=_object, parse_int=_integer).decode
    with file.open_text(encoding, newline="\n") as lines:
        for number, line in enumerate(lines, start=1):
            if line.isspace():
                continue
            try:
                record = decode(line)
            except (ValueError, RecursionError):
                raise SourceError("source: a line is not JSON", file=file.name, line=number) from None
            if isinstance(record, _RepeatedKey):
                raise SourceError("source: a JSON object has a key twice", file=file.name, line=number)
            if not isinstance(record, dict):
                raise SourceError("source: a line is not a JSON object", file=file.name, line=number)
            yield record, decodable(line)


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    record = dict(pairs)
    return record if len(record) == len(pairs) else _RepeatedKey(record)


def _integer(digits: str) -> int | float:
    """The integer, or a float (which is no id) where it has more digits than Python converts."""
    try:
        return int(digits)
    except ValueError:
        return float(digits)
