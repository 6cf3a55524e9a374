"""From a source to registered partition versions."""

import shutil
from pathlib import Path

import psutil

from schemas.corpora import CorpusSettings
from tasks.corpora.staging import StagedCorpus, stage_corpus
from tasks.ledger.log import ReleaseLog
from tasks.ledger.question import RegisteredPartition
from tasks.storage.home import PRIVATE_DIRECTORY, Home


def register_source(home: Home, settings: CorpusSettings) -> list[RegisteredPartition]:
    """Read the source and register its partitions; the same content again is a no-op."""
    return stage_and_register(home, settings)[1]


def stage_and_register(home: Home, settings: CorpusSettings) -> tuple[StagedCorpus, list[RegisteredPartition]]:
    """What was read, and the versions that were registered for it, in the same order."""
    log = ReleaseLog(home)
    log.check_corpus(settings)
    if log.has_released(settings.corpus):  # from then on a count of unreadable records never stops a run
        settings = settings.model_copy(update={"max_unreadable": "1"})
    staging = _staging_folder(home)
    try:
        staged = stage_corpus(settings, home, staging)
        return staged, log.register(settings, staged.partitions)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _staging_folder(home: Home) -> Path:
    """A fresh folder beside the corpora (the same file system); what dead processes left there is removed."""
    parent = home.private / "staging"
    parent.mkdir(exist_ok=True, mode=PRIVATE_DIRECTORY)
    for left in parent.iterdir():
        if not psutil.pid_exists(int(left.name)):
            shutil.rmtree(left, ignore_errors=True)
    folder = parent / str(psutil.Process().pid)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=PRIVATE_DIRECTORY)
    return folder
