"""The folder that a source is staged in: nobody's while its process lives, gone when it is dead."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

from tasks.audits.registering import register_source, staging_folder
from tasks.storage.home import Home
from tests.audits import in_child, settings_for, write_corpus


def test_two_stagings_of_one_process_leave_each_other_alone(home: Home) -> None:
    both = Barrier(2, timeout=60)

    def work(_: int) -> Path:
        with staging_folder(home) as folder:
            folder.mkdir()
            both.wait()
            with staging_folder(home):  # sweeps
                assert folder.is_dir()
            both.wait()
        return folder.parent

    with ThreadPoolExecutor(2) as pool:
        folders = list(pool.map(work, range(2)))
    assert folders[0] != folders[1] and not any(folder.exists() for folder in folders)


def test_what_a_killed_process_staged_is_removed(home: Home) -> None:
    def die() -> None:
        with staging_folder(home) as folder:
            folder.mkdir()
            (folder / "texts").write_text("private")
            os.kill(os.getpid(), signal.SIGKILL)

    assert in_child(die) == -signal.SIGKILL
    [left] = (home.private / "staging").iterdir()
    assert (left / "partitions" / "texts").exists()
    with staging_folder(home):
        assert not left.exists()
    assert list((home.private / "staging").iterdir()) == []


def test_a_living_process_keeps_its_folder_whatever_its_id(home: Home) -> None:
    """Another container's process has an id that means nothing here; its lock does."""
    with staging_folder(home) as folder:
        folder.mkdir()
        renamed = folder.parent.rename(folder.parent.with_name("999999999"))

        def sweep() -> None:
            with staging_folder(home):
                assert (renamed / "partitions").is_dir()

        assert in_child(sweep) == 0
        assert (renamed / "partitions").is_dir()


def test_stray_names_stop_nobody_and_stay(home: Home, tmp_path: Path) -> None:
    staging = home.private / "staging"
    (staging / "lost+found").mkdir(parents=True)
    (staging / ".DS_Store").write_text("x")
    [partition] = register_source(home, settings_for(write_corpus(tmp_path / "c.parquet")))
    assert partition.n == 40
    assert sorted(path.name for path in staging.iterdir()) == [".DS_Store", "lost+found"]
