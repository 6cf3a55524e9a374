"""A home keeps its two zones apart, its keys and its identity."""

import os
import shutil
import signal
from pathlib import Path

import pytest

from schemas.errors import UserError
from tasks.storage.home import Home, default_home, initialise_home, open_home


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_a_new_home_is_closed_to_others_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        home = initialise_home(tmp_path / "home", on_purpose=True)
        made = [home.corpora, home.scores, home.runs]
    finally:
        os.umask(before)
    assert {mode(path) for path in (home.private, *made)} == {0o700}
    assert {mode(path) for path in home.private.iterdir() if path.is_file()} == {0o600}
    assert mode(home.root) == 0o755 and mode(home.release) == 0o755


def test_a_home_opened_again_is_the_same(home: Home) -> None:
    for again in (open_home(home.root), initialise_home(home.root, on_purpose=True)):
        assert again == home
        assert (again.hash_key(), again.signing_seed()) == (home.hash_key(), home.signing_seed())
    assert len(home.hash_key()) == len(home.signing_seed()) == 32 and home.hash_key() != home.signing_seed()


def test_purpose_is_added_but_never_taken_back(tmp_path: Path) -> None:
    assert not initialise_home(tmp_path, on_purpose=False).on_purpose
    known = initialise_home(tmp_path, on_purpose=True)
    assert known.on_purpose
    assert initialise_home(tmp_path, on_purpose=False) == known


def test_two_homes_have_nothing_in_common(home: Home, tmp_path: Path) -> None:
    other = initialise_home(tmp_path / "other", on_purpose=True)
    assert other.ledger_id != home.ledger_id
    assert other.keyed_hash(b"x") != home.keyed_hash(b"x")


def test_keyed_hashes_keep_their_parts_apart(home: Home) -> None:
    assert home.keyed_hash(b"ab", b"c") != home.keyed_hash(b"a", b"bc") != home.keyed_hash(b"abc")
    assert home.keyed_hash(b"ab", b"c") == home.keyed_hash(b"ab", b"c") and len(home.keyed_hash()) == 32


@pytest.mark.parametrize("name", ["", "home.json", "hash.key", "signing.key"])
@pytest.mark.parametrize("bits", [0o040, 0o004, 0o020, 0o001])
def test_a_home_that_others_may_read_is_refused(home: Home, name: str, bits: int) -> None:
    path = home.private / name
    path.chmod(mode(path) | bits)
    with pytest.raises(UserError, match="chmod -R go-rwx"):
        open_home(home.root)
    with pytest.raises(UserError, match="chmod -R go-rwx"):
        initialise_home(home.root, on_purpose=True)


@pytest.mark.parametrize("name", ["hash.key", "signing.key"])
def test_a_lost_key_is_not_made_anew(home: Home, name: str) -> None:
    (home.private / name).unlink()
    for again in (lambda: open_home(home.root), lambda: initialise_home(home.root, on_purpose=True)):
        with pytest.raises(UserError, match=f"{name} is missing"):
            again()
    assert not (home.private / name).exists()


def test_there_is_no_home_where_none_was_made(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="privcert init"):
        open_home(tmp_path / "nowhere")
    with pytest.raises(UserError, match="privcert init"):
        open_home(tmp_path)


@pytest.mark.parametrize("stray", ["letters/", "notes.txt", "private/diary.txt"])
def test_a_folder_with_other_things_is_not_made_a_home(tmp_path: Path, stray: str) -> None:
    path = tmp_path / stray
    path.parent.mkdir(exist_ok=True, mode=0o700)
    path.mkdir() if stray.endswith("/") else path.write_text("mine")
    with pytest.raises(UserError, match="not a privcert home"):
        initialise_home(tmp_path, on_purpose=True)
    assert not (tmp_path / "private" / "home.json").exists()


def test_a_file_is_not_made_a_home(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(UserError, match="not a privcert home"):
        initialise_home(tmp_path / "file", on_purpose=True)


def test_a_private_folder_that_others_may_read_gets_no_key(tmp_path: Path) -> None:
    (tmp_path / "private").mkdir()
    (tmp_path / "private").chmod(0o755)
    with pytest.raises(UserError, match="read by others"):
        initialise_home(tmp_path, on_purpose=True)
    assert list((tmp_path / "private").iterdir()) == []


@pytest.mark.parametrize("renames", range(3))
@pytest.mark.parametrize("point", ["before_rename", "after_rename"])
def test_init_that_was_killed_is_finished_by_the_next(tmp_path: Path, point: str, renames: int) -> None:
    """Killed at the first, second and third file that it writes."""
    root = tmp_path / "home"
    for _ in range(renames + 1):
        pid = os.fork()
        if pid == 0:
            os.environ["PRIVCERT_CRASH_AT"] = point
            try:
                initialise_home(root, on_purpose=True)
            finally:
                os._exit(0)
        status = os.waitpid(pid, 0)[1]
        assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    found = {path.name: path.read_bytes() for path in (root / "private").glob("*.key")}
    home = initialise_home(root, on_purpose=True)
    assert home.on_purpose and open_home(root) == home
    assert all((root / "private" / name).read_bytes() == content for name, content in found.items())


def test_a_moved_home_is_still_that_home(home: Home, tmp_path: Path) -> None:
    shutil.move(home.root, tmp_path / "moved")
    moved = open_home(tmp_path / "moved")
    assert moved.ledger_id == home.ledger_id and moved.keyed_hash(b"x")


def test_the_environment_names_the_home_and_the_log(
    home: Home, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PRIVCERT_HOME", str(tmp_path / "there"))
    assert default_home() == tmp_path / "there"
    monkeypatch.setenv("PRIVCERT_HOME", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_home() == tmp_path / ".privcert"
    monkeypatch.delenv("PRIVCERT_LOG_URL", raising=False)
    assert home.log_url == f"sqlite:///{home.private}/release_log.sqlite"
    monkeypatch.setenv("PRIVCERT_LOG_URL", "postgresql+psycopg://server/log")
    assert home.log_url == "postgresql+psycopg://server/log"
