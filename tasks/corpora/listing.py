"""List files without leaving any out in silence: fsspec's own `find` and `glob` skip folders that may not be read."""

import re
from collections.abc import Callable, Iterator

import fsspec
from fsspec.utils import glob_translate

from tasks.corpora.problems import SourceError

_MAGIC = re.compile(r"[*?\[]")


def files_below(filesystem: fsspec.AbstractFileSystem, folder: str) -> list[str]:
    """Paths of all files in the folder, at any depth, sorted. Links to files count, links to folders are refused.

    Raises OSError when a folder may not be listed, SourceError for what is neither file nor folder.
    """
    return sorted(_walk(filesystem, folder, lambda path: True))


def files_like(filesystem: fsspec.AbstractFileSystem, pattern: str) -> list[str]:
    """Paths of the files that match a glob pattern (`*`, `?`, `[...]`, `**` for any depth), sorted.

    As in a shell, a name that starts with a dot is matched only by a part of the pattern that starts with one.
    """
    parts = pattern.split("/")
    magic = [number for number, part in enumerate(parts) if _MAGIC.search(part)]
    if not magic:
        return []
    wanted = re.compile(glob_translate(pattern))
    dotted = [re.compile(glob_translate(part)) for part in parts if part.startswith(".")]

    def is_shown(path: str) -> bool:
        names = [name for name in path.split("/")[magic[0] :] if name.startswith(".")]
        return all(any(part.fullmatch(name) for part in dotted) for name in names)

    root = "/".join(parts[: magic[0]]) or "/"
    found = _walk(filesystem, root, lambda folder: is_shown(folder) and _leads_to(parts, folder))
    return sorted(path for path in found if is_shown(path) and wanted.fullmatch(path))


def _leads_to(parts: list[str], folder: str) -> bool:
    """Whether a file in or below this folder can match the pattern."""
    depth = folder.count("/") + 1
    if "**" in parts[:depth]:
        return True
    return depth < len(parts) and re.fullmatch(glob_translate("/".join(parts[:depth])), folder) is not None


def _walk(filesystem: fsspec.AbstractFileSystem, root: str, enter: Callable[[str], bool]) -> Iterator[str]:
    folders = [root]
    while folders:
        folder = folders.pop()
        for entry in filesystem.ls(folder, detail=True):
            path = entry["name"].rstrip("/")
            if path == folder.rstrip("/"):  # object stores may list the folder in itself
                continue
            if entry["type"] == "directory":
                folders.extend([path] if enter(path) else [])
            elif entry["type"] == "file" or filesystem.isfile(path):
                yield path
            elif enter(path):
                raise SourceError("source: a folder holds a link or a device that is no file", path=path)
