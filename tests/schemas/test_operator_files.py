"""Files that the operator names: a device is not read without end, a pipe is not waited for."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from schemas.building import read_settings_file
from schemas.corpora import CorpusSettings
from schemas.errors import UserError
from schemas.exact_yaml import MAX_BYTES
from schemas.operator_files import read_at_most
from tasks.corpora.problems import SourceError
from tasks.corpora.sources import find_source
from tasks.plans.priors import read_prior_file
from tasks.statements.domains import load_domain
from tasks.statements.released_text import read_text
from tasks.statements.statement_file import read_statement_file
from tasks.support.labelled import read_pairs


def source(path: Path) -> object:
    return find_source(CorpusSettings.model_validate({"source": str(path), "corpus": "c", "format": "csv"}))


READERS: dict[str, Callable[[Path], object]] = {
    "settings file": read_settings_file,
    "statements_file": read_statement_file,
    "prior_file": lambda path: read_prior_file(str(path)),
    "domain": load_domain,
    "pairs": read_pairs,
    "report": lambda path: read_text(str(path)),
    "source": source,
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("kind", ["a pipe that nobody writes", "a link to a device without an end", "a folder"])
def test_what_is_no_regular_file_is_refused_by_name(tmp_path: Path, name: str, kind: str) -> None:
    path = tmp_path / "file.csv"
    if kind == "a folder":
        path.mkdir()
    elif kind == "a pipe that nobody writes":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    if name == "source" and kind == "a folder":
        return  # a folder is a source
    with pytest.raises((UserError, SourceError), match=rf"^{name}"):
        READERS[name](path)


def test_a_settings_file_that_is_too_large_is_read_no_further(tmp_path: Path) -> None:
    path = tmp_path / "large.yaml"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(UserError, match=r"^settings file: is larger than 4 MiB"):
        read_settings_file(path)
    path.write_text("a: 1 #" + "é" * (MAX_BYTES // 2 - 3))
    assert path.stat().st_size == MAX_BYTES and read_settings_file(path) == {"a": 1}
    assert read_at_most(path, 3) == b"a: 1"
