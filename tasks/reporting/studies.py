"""Study tables of the release database, from the files that `privcert study` leaves in release/studies."""

import hashlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from schemas.errors import UserError
from schemas.study_tables import STUDY_CELLS, STUDY_RUNS
from tasks.storage.home import Home

STUDY_SCHEMAS = {"study_runs": STUDY_RUNS, "study_cells": STUDY_CELLS}
Tables = dict[str, tuple[pa.Table, pa.Schema]]


def study_tables(home: Home) -> Tables:
    """Both tables over all finished studies, with their schemas.

    Raises UserError, with the folder's name, where a study cannot be read or was written by another version.
    """
    folders = _folders(home)
    return {
        name: (pa.concat_tables([schema.empty_table(), *(_read(folder, name) for folder in folders)]), schema)
        for name, schema in STUDY_SCHEMAS.items()
    }


def no_studies() -> Tables:
    """The same without a row."""
    return {name: (schema.empty_table(), schema) for name, schema in STUDY_SCHEMAS.items()}


def studies_digest(home: Home) -> str:
    """SHA-256 over the files of all finished studies, hex: changes when the tables do."""
    content = hashlib.sha256()
    for folder in _folders(home):
        for name in STUDY_SCHEMAS:
            content.update(f"{folder.name}/{name}\0".encode())
            path = folder / f"{name}.parquet"
            content.update(hashlib.sha256(path.read_bytes() if path.is_file() else b"").digest())
    return content.hexdigest()


def _folders(home: Home) -> list[Path]:
    return sorted(path.parent for path in (home.release / "studies").glob("*/study_cells.parquet"))


def _read(folder: Path, name: str) -> pa.Table:
    try:
        table = pq.read_table(folder / f"{name}.parquet")
    except (OSError, pa.ArrowException):
        table = None
    if table is None or not table.schema.equals(STUDY_SCHEMAS[name]):
        raise UserError(f"release/studies/{folder.name} cannot be read: run that study again, or remove the folder")
    return table
