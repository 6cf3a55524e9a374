"""Where staged folders become registered versions: on the home's disk by a rename, in its store by uploads.

A rename is done inside the transaction. Uploads take as long as they take, so they are done before it, and the versions
that it registers are there in full; what a crash leaves is a version that no log knows, never the other way round.
"""

import secrets
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from tasks.corpora.versions import UNITS_FILE
from tasks.storage.atomic import sync
from tasks.storage.home import PRIVATE_DIRECTORY, Home
from tasks.storage.objects import StoredPath, StoreError


class VersionFolders:
    """The folders of one registration: given a place one by one, and all put back where nothing is registered."""

    def __init__(self, home: Home, corpus: str) -> None:
        self._home, self._corpus = home, corpus
        self._moved: list[tuple[Path, Path]] = []
        self._uploaded: dict[Path, str] = {}  # staged folder -> version
        self._registered: set[str] = set()

    def upload(self, folders: Iterable[Path]) -> None:
        """Put staged folders into the store, as versions that nobody knows yet; none where it raises StoreError."""
        try:
            for folder in folders:
                self._uploaded[folder] = version = secrets.token_hex(16)
                for file in _last_things_last(folder):
                    self._stored(version, file.relative_to(folder)).upload(file)
        except BaseException:  # an interrupt too: what nobody will register must not stay in the bucket
            self.put_back()
            raise

    def place(self, folder: Path) -> str:
        """Make a staged folder a version and return its id; in a transaction, before its commit."""
        if self._home.store is not None:
            if folder not in self._uploaded:
                self.upload([folder])
            version = self._uploaded[folder]
            self._registered.add(version)
            return version
        version = secrets.token_hex(16)
        parent = self._home.private / "corpora" / self._corpus
        parent.parent.mkdir(exist_ok=True, mode=PRIVATE_DIRECTORY)
        parent.mkdir(exist_ok=True, mode=PRIVATE_DIRECTORY)
        folder.rename(parent / version)
        self._moved.append((folder, parent / version))
        sync(parent)
        return version

    def put_back(self) -> None:
        """Undo everything: the transaction is rolled back."""
        for before, after in reversed(self._moved):
            after.rename(before)
        self._moved.clear()
        self._registered.clear()
        self.remove_unregistered()

    def remove_unregistered(self) -> None:
        """Remove uploads of versions that were not registered, because their content had been meanwhile."""
        for folder, version in self._uploaded.items():
            if version not in self._registered:
                with suppress(StoreError):  # nobody knows that version
                    for file in reversed(_last_things_last(folder)):
                        self._stored(version, file.relative_to(folder)).unlink(missing_ok=True)

    def _stored(self, version: str, name: Path) -> StoredPath:
        return StoredPath("/".join([str(self._home.corpora), self._corpus, version, *name.parts]))


def _last_things_last(folder: Path) -> list[Path]:
    """Its files, units.parquet at the end."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return sorted(files, key=lambda path: path.name == UNITS_FILE)
