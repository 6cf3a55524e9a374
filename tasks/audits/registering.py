"""From a source to registered partition versions."""

import fcntl
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path

from schemas.corpora import CorpusSettings
from tasks.corpora.staging import StagedCorpus, stage_corpus
from tasks.ledger.log import ReleaseLog
from tasks.ledger.question import RegisteredPartition
from tasks.storage.atomic import PRIVATE_FILE
from tasks.storage.home import PRIVATE_DIRECTORY, Home

_LOCK = "lock"


def register_source(home: Home, settings: CorpusSettings) -> list[RegisteredPartition]:
    """Read the source and register its partitions; the same content again is a no-op."""
    return stage_and_register(home, settings)[1]


def stage_and_register(home: Home, settings: CorpusSettings) -> tuple[StagedCorpus, list[RegisteredPartition]]:
    """What was read, and the versions that were registered for it, in the same order."""
    with staged_source(home, settings) as staged:
        return staged, ReleaseLog(home).register(settings, staged.partitions)


@contextmanager
def staged_source(home: Home, settings: CorpusSettings) -> Iterator[StagedCorpus]:
    """What the source holds, in folders that go when the block ends unless they were registered."""
    home.check_store()
    log = ReleaseLog(home)
    log.check_corpus(settings)
    if log.has_released(settings.corpus):  # from then on a count of unreadable records never stops a run
        settings = settings.model_copy(update={"max_unreadable": Decimal(1)})
    with staging_folder(home) as staging:
        yield stage_corpus(settings, home, staging)


@contextmanager
def staging_folder(home: Home) -> Iterator[Path]:
    """A folder, not there yet, beside the corpora (the same file system); removed at the end with all it holds.

    What killed processes left is removed too. Alive is who holds the lock on the file `lock` of a folder: process
    ids mean nothing to another container that shares the home, and threads have none.
    """
    parent = home.private / "staging"
    parent.mkdir(exist_ok=True, mode=PRIVATE_DIRECTORY)
    for left in parent.iterdir():
        _remove_if_left(left)
    folder = parent / secrets.token_hex(16)
    folder.mkdir(mode=PRIVATE_DIRECTORY)
    lock = os.open(folder / "new-lock", os.O_RDWR | os.O_CREAT | os.O_EXCL, PRIVATE_FILE)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        (folder / "new-lock").rename(folder / _LOCK)  # nobody ever sees the lock of a living process free
        yield folder / "partitions"
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _remove_if_left(folder: Path) -> None:
    """Remove a staging folder whose lock is free; anything else that lies there is not ours to remove."""
    try:
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
    except OSError:
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    except BlockingIOError:
        pass
    finally:
        os.close(lock)
