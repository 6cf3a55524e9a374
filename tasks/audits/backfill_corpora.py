"""The corpora of a backfill: the one that its definition names, or one for each file that a pattern matches."""

from pathlib import PurePosixPath

import fsspec

from schemas.audit import AuditSettings
from schemas.backfills import BackfillSettings
from schemas.corpora import check_public_name
from schemas.errors import UserError
from tasks.corpora.listing import files_like
from tasks.corpora.problems import SourceError


def corpora_of(definition: AuditSettings, options: BackfillSettings) -> list[AuditSettings]:
    """The definition for each corpus, in order of the files' names. Raises UserError for none, or names that no corpus
    can have."""
    if options.corpora is None:
        return [definition]
    found: dict[str, AuditSettings] = {}
    for path in _files(options.corpora):
        try:
            name = check_public_name(
                PurePosixPath(path).name.split(".")[0], "corpora: the name of a file, up to its first dot"
            )
        except UserError as error:
            error.add_note(f"file: {path!r}")  # for the terminal; a stage says its public reason alone
            raise
        if name in found:
            twins = UserError(f"corpora: two files are named {name}; each would be that corpus")
            twins.add_note(f"files: {found[name].source!r}, {path!r}")
            raise twins
        found[name] = definition.model_copy(update={"corpus": name, "source": path})
    return list(found.values())


def _files(pattern: str) -> list[str]:
    """Paths or URLs, sorted."""
    try:
        filesystem, path = fsspec.core.url_to_fs(pattern)
        found = [path] if filesystem.isfile(path) else files_like(filesystem, path)
    except (ValueError, ImportError):
        raise UserError("corpora: unknown protocol in the URL, or its file system is not installed") from None
    except SourceError as error:
        raise UserError(error.reason.replace("source", "corpora", 1)) from None
    except OSError as error:
        raise UserError(f"corpora: the folder cannot be read: {error.strerror or type(error).__name__}") from None
    if not found:
        raise UserError("corpora: no such file, or it may not be read")
    is_local = "file" in filesystem.protocol
    return sorted(one if is_local else str(filesystem.unstrip_protocol(one)) for one in found)
