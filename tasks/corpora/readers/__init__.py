"""Readers: any source as batches of one shape. A new format is one module and one line in READERS."""

from collections.abc import Callable, Iterator

from schemas.corpora import CorpusSettings, SourceFormat
from tasks.corpora.columns import Columns, declared_columns
from tasks.corpora.problems import SourceError, trace
from tasks.corpora.readers.batches import RawBatch
from tasks.corpora.readers.delimited import read_delimited
from tasks.corpora.readers.folder import read_folder
from tasks.corpora.readers.jsonl import read_jsonl
from tasks.corpora.readers.parquet import read_parquet
from tasks.corpora.sources import Source, find_source

Reader = Callable[[Source, Columns, CorpusSettings], Iterator[RawBatch]]

READERS: dict[SourceFormat, Reader] = {
    SourceFormat.PARQUET: read_parquet,
    SourceFormat.CSV: read_delimited,
    SourceFormat.TSV: read_delimited,
    SourceFormat.JSONL: read_jsonl,
    SourceFormat.TEXT: read_folder,
}


def read_source(settings: CorpusSettings) -> Iterator[RawBatch]:
    """The records of the source in batches of bounded size, in no promised order.

    Raises SourceError. Whatever a file system or a parser raises is turned into one, with its own text (which may
    quote paths and records) kept for the operator.
    """
    try:
        source = find_source(settings)
        columns = declared_columns(settings, source.format)
        yield from READERS[source.format](source, columns, settings)
    except SourceError:
        raise
    except PermissionError as error:
        raise SourceError("source: permission denied", trace=trace(error)) from None
    except FileNotFoundError as error:
        raise SourceError("source: no such file or folder", trace=trace(error)) from None
    except UnicodeError as error:
        raise SourceError("encoding: the source is not in this encoding", trace=trace(error)) from None
    except Exception as error:
        raise SourceError("source: it cannot be read, or is damaged", trace=trace(error)) from None
