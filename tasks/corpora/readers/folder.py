"""A folder of text files: one record a file, with the columns `path` (relative, POSIX), `folder` and `text`."""

from collections.abc import Iterator

from schemas.corpora import CorpusSettings
from tasks.corpora.columns import FOLDER, PATH, TEXT, Columns
from tasks.corpora.readers.batches import RawBatch, RowBuffer
from tasks.corpora.sources import Source, SourceFile


def read_folder(source: Source, columns: Columns, settings: CorpusSettings) -> Iterator[RawBatch]:
    """One record a file, at any depth; names that start with a dot are left out.

    `folder` is the first part of the path, null for a file that lies in no folder.
    Raises SourceError when a declared column is none of the three.
    """
    columns.positions([PATH, FOLDER, TEXT])
    buffer = RowBuffer(columns)
    for file in source.files:
        values = _values(file, source.encoding)
        text = values[columns.roles["text"]]
        buffer.add({role: values[name] for role, name in columns.roles.items()}, text, decoded=False)
        if buffer.full:
            yield buffer.take()
    yield buffer.take()


def _values(file: SourceFile, encoding: str) -> dict[str, str | None]:
    with file.open_bytes() as content:
        text = content.read().decode(encoding, errors="surrogateescape")
    folder, slash, _ = file.name.partition("/")
    return {PATH: file.name, FOLDER: folder if slash else None, TEXT: text}
