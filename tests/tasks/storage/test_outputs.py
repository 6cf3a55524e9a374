"""A file that the user named never replaces a home's own, nor one of another kind."""

import json
from pathlib import Path

import pytest

from flows.cli.output import writing_output
from schemas.errors import UserError
from tasks.ledger import verifier
from tasks.plans.files import writing
from tasks.storage.home import initialise_home
from tasks.storage.outputs import WITNESS, Kind, check_output

KEPT = {
    Kind.JSON: b'{"payload": 1}',
    Kind.HTML: b"<!DOCTYPE html>\n<html>",
    Kind.METRICS: b"# HELP privcert_up ...",
    Kind.VERIFIER: Path(verifier.__file__).read_bytes(),
    Kind.DUCKDB: b"\0\1\2\3\4\5\6\7DUCK\0",
}


@pytest.mark.parametrize("name", ["home.json", "release_log.sqlite", "hash.key", "new.json", "runs/new.json"])
def test_nothing_is_put_into_the_private_zone_of_any_home(tmp_path: Path, name: str) -> None:
    home = initialise_home(tmp_path / "home", on_purpose=True)
    (home.runs / "x").mkdir()
    (tmp_path / "link").symlink_to(home.private)
    before = (home.private / "home.json").read_bytes()
    for path in (home.private / name, tmp_path / "link" / name, home.release / ".." / "private" / name):
        with pytest.raises(UserError, match=f"^output: {Path(name).name} would lie in the private zone of a home"):
            writing_output(path, b"{}", Kind.JSON)
        with pytest.raises(UserError, match=r"^plot: .* private zone of a home"), writing("plot", str(path)):
            path.write_bytes(b"")
    assert (home.private / "home.json").read_bytes() == before and not (home.private / "new.json").exists()


def test_a_private_zone_is_one_whatever_it_is_called(tmp_path: Path) -> None:
    home = initialise_home(tmp_path / "home", on_purpose=True)
    home.private.rename(tmp_path / "vault")
    home.private.symlink_to(tmp_path / "vault")
    for folder in (home.private, tmp_path / "vault", tmp_path / "vault" / "runs"):
        with pytest.raises(UserError, match=r"private zone of a home"):
            check_output(folder / "home.json", Kind.JSON)


def test_a_folder_that_is_only_called_private_is_free(tmp_path: Path) -> None:
    (tmp_path / "private").mkdir()
    writing_output(tmp_path / "private" / "report.html", KEPT[Kind.HTML], Kind.HTML)


def test_what_the_release_zone_knows_of_the_log_is_not_replaced(tmp_path: Path) -> None:
    home = initialise_home(tmp_path / "home", on_purpose=True)
    assert WITNESS == "chain_head.json"  # as the documentation has it
    with pytest.raises(UserError, match=r"^output: chain_head\.json is what the release zone knows"):
        writing_output(home.release / WITNESS, b"{}", Kind.JSON)


@pytest.mark.parametrize("kind", list(KEPT))
def test_a_file_is_replaced_by_its_own_kind_only(tmp_path: Path, kind: Kind) -> None:
    path = tmp_path / "file"
    for there, content in KEPT.items():
        path.write_bytes(content)
        if there is kind:
            check_output(path, kind)
            continue
        with pytest.raises(UserError, match=r"^output: file is there and is no file of the kind"):
            check_output(path, kind)
    path.write_bytes(b"")
    check_output(path, kind)
    check_output(tmp_path / "new", kind)


def test_a_device_is_not_replaced(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"^output: null is there and is no regular file"):
        writing_output(Path("/dev/null"), json.dumps({}).encode())
