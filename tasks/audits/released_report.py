"""A report is refused where it lies among private things; by its place alone, never by what private records say.

That it was released, and is no copy of records, is declared by the user and checked by nobody: a comparison with
private records would make the refusal a function of their content.
"""

from pathlib import Path

import fsspec
from fsspec.implementations.local import LocalFileSystem

from schemas.audit import AuditSettings
from schemas.errors import UserError
from tasks.corpora.problems import SourceError, user_error
from tasks.corpora.sources import find_source
from tasks.storage.home import Home


def check_report(settings: AuditSettings, home: Home) -> None:
    """Raises UserError for a report in the private zone of the home, or that is or lies in the corpus's source.

    Links, hard links and other spellings of a local path are seen through. Raises UserError, too, for a source that
    is not there.
    """
    if settings.report is None:
        return
    filesystem, place = _located(settings.report)
    local = Path(place).resolve() if isinstance(filesystem, LocalFileSystem) else None
    if local is not None and _is_below(local, home.private):
        raise UserError("report: lies in the private zone of the home; only a text that was released may be certified")
    try:
        is_source = (
            _is_below_source(local, settings.source) if local else _url(settings.report) == _url(settings.source)
        )
        is_source = is_source or _is_source_file(filesystem, place, local, settings)
    except SourceError as problem:
        raise user_error(home, settings.corpus, problem) from None
    if is_source:
        raise UserError("report: is the corpus's own source, or lies in it; claims are not taken from the records")


def _located(report: str) -> tuple[fsspec.AbstractFileSystem, str]:
    try:
        filesystem, place = fsspec.core.url_to_fs(report)
    except Exception:  # each file system has errors of its own, whose text may hold the URL's credentials
        raise UserError("report: cannot be read, or its file system is unknown or not installed") from None
    return filesystem, place


def _is_below_source(report: Path, source: str) -> bool:
    """Whether a local file or folder that the source names (each part of a chained URL) is or holds the report."""
    for link in source.split("::"):
        protocol, place = fsspec.core.split_protocol(link)
        if protocol in (None, "file", "local") and place and _is_below(report, Path(place).expanduser()):
            return True
    return False


def _is_below(path: Path, folder: Path) -> bool:
    """Whether `folder` is the path or one of its parents; the same file under two names is one."""
    try:
        return any(folder.samefile(parent) for parent in (path, *path.parents))
    except (OSError, ValueError):  # one of them is not there
        return False


def _is_source_file(
    filesystem: fsspec.AbstractFileSystem, place: str, local: Path | None, settings: AuditSettings
) -> bool:
    for file in find_source(settings).files:
        if local is not None and isinstance(file.filesystem, LocalFileSystem) and _is_below(local, Path(file.path)):
            return True
        if local is None and file.filesystem.unstrip_protocol(file.path) == filesystem.unstrip_protocol(place):
            return True
    return False


def _url(place: str) -> str:
    filesystem, path = fsspec.core.url_to_fs(place)
    return str(filesystem.unstrip_protocol(path))
