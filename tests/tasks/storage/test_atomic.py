"""Files appear whole or not at all, and never readable by others for a moment."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tasks.storage.atomic import RELEASE_FILE, replacing, write_bytes, write_table
from tasks.storage.crash import CRASH_POINTS, crash_point


@pytest.fixture
def no_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.mark.usefixtures("no_umask")
@pytest.mark.parametrize("kind", ["bytes", "table"])
def test_a_private_file_is_private_from_its_first_byte(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, really_open = [], os.open

    def watched(path: Path, flags: int, permissions: int = 0o777) -> int:
        descriptor = really_open(path, flags, permissions)
        seen.append((path.name, mode(path)))
        return descriptor

    monkeypatch.setattr(os, "open", watched)
    if kind == "bytes":
        write_bytes(tmp_path / "secret", b"secret")
    else:
        write_table(tmp_path / "secret", pa.table({"a": [1]}))
    monkeypatch.undo()
    assert {permissions for name, permissions in seen if name.endswith(".part")} == {0o600}
    assert mode(tmp_path / "secret") == 0o600


@pytest.mark.usefixtures("no_umask")
def test_tables_and_released_files_have_the_permissions_they_should(tmp_path: Path) -> None:
    write_table(tmp_path / "rows.parquet", pa.table({"a": [1, 2]}))
    write_bytes(tmp_path / "certificate.json", b"{}", RELEASE_FILE)
    assert mode(tmp_path / "rows.parquet") == 0o600 and mode(tmp_path / "certificate.json") == 0o644
    assert pq.read_table(tmp_path / "rows.parquet")["a"].to_pylist() == [1, 2]


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "file"
    write_bytes(target, b"old")
    with pytest.raises(RuntimeError, match="broken"):
        with replacing(target) as temporary:
            temporary.write_bytes(b"half of the n")
            raise RuntimeError("broken")
    assert target.read_bytes() == b"old" and list(tmp_path.iterdir()) == [target]


def test_a_reader_sees_the_old_file_until_the_new_one_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "file"
    write_bytes(target, b"old")
    with replacing(target) as temporary:
        temporary.write_bytes(b"new")
        assert target.read_bytes() == b"old" and temporary.parent == target.parent
    assert target.read_bytes() == b"new" and list(tmp_path.iterdir()) == [target]


def killed_at(point: str, target: Path) -> int:
    """The signal that ended a process that was writing `target`."""
    pid = os.fork()
    if pid == 0:
        os.environ["PRIVCERT_CRASH_AT"] = point
        try:
            write_bytes(target, b"new")
        finally:
            os._exit(0)
    return os.WTERMSIG(os.waitpid(pid, 0)[1])


@pytest.mark.parametrize(("point", "content"), [("before_rename", b"old"), ("after_rename", b"new")])
def test_a_kill_leaves_the_old_file_or_the_new_one(tmp_path: Path, point: str, content: bytes) -> None:
    target = tmp_path / "file.json"
    write_bytes(target, b"old")
    assert killed_at(point, target) == signal.SIGKILL
    assert target.read_bytes() == content
    assert [path.name for path in tmp_path.glob("*.json")] == ["file.json"], "a pattern does not find what was left"
    assert all(path == target or path.name.startswith(".tmp-") for path in tmp_path.iterdir())
    write_bytes(target, b"newer")
    assert target.read_bytes() == b"newer"


def test_a_place_that_is_not_named_kills_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRIVCERT_CRASH_AT", "nowhere")
    for point in CRASH_POINTS:
        crash_point(point)
    monkeypatch.delenv("PRIVCERT_CRASH_AT")
    for point in CRASH_POINTS:
        crash_point(point)


def test_every_named_crash_point_is_somewhere_in_the_product() -> None:
    tasks = Path(__file__).parents[3] / "tasks"
    said = "".join(path.read_text() for path in tasks.rglob("*.py") if path.name != "crash.py")
    assert [point for point in CRASH_POINTS if f'crash_point("{point}")' not in said] == []
