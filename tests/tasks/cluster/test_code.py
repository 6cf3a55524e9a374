"""Which code runs: the same digest for the same code wherever it lies, and another one for any other code."""

import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tasks.cluster.code import KINDS, PACKAGES, ROOT, digest_of, product_digest

ALTERED: dict[str, Callable[[Path], object]] = {
    "a line of code": lambda root: (root / "tasks" / "score.py").write_text("answer = 2\n"),
    "a query": lambda root: (root / "warehouse" / "reports" / "view.sql").write_text("select 2\n"),
    "a file more": lambda root: (root / "flows" / "audit.py").touch(),
    "a file less": lambda root: (root / "schemas" / "table.py").unlink(),
    "another name": lambda root: (root / "schemas" / "table.py").rename(root / "schemas" / "chair.py"),
    "another place": lambda root: (root / "schemas" / "table.py").rename(root / "flows" / "table.py"),
    "contents that change places": lambda root: [
        (root / "tasks" / "score.py").write_text("answer = 3\n"),
        (root / "schemas" / "table.py").write_text("answer = 1\n"),
    ],
}


@pytest.fixture
def product(tmp_path: Path) -> Path:
    """A small one."""
    for name, text in (
        ("flows/__init__.py", ""),
        ("schemas/table.py", "answer = 3\n"),
        ("tasks/score.py", "answer = 1\n"),
        ("warehouse/reports/view.sql", "select 1\n"),
    ):
        (tmp_path / "made" / name).parent.mkdir(parents=True)
        (tmp_path / "made" / name).write_text(text)
    return tmp_path / "made"


def digest(root: Path) -> str:
    return digest_of(root, PACKAGES, KINDS)


@pytest.mark.parametrize("what", ALTERED)
def test_other_code_has_another_digest_by(what: str, product: Path) -> None:
    before = digest(product)
    ALTERED[what](product)
    assert digest(product) != before


def test_a_copy_has_the_same_digest_whenever_it_was_made_and_whatever_lies_beside_it(product: Path) -> None:
    copy = product.with_name("copy")
    shutil.copytree(product, copy)
    os.utime(copy / "tasks" / "score.py", (0, 0))
    (copy / "tasks" / "__pycache__").mkdir()
    (copy / "tasks" / "__pycache__" / "score.cpython-311.pyc").write_bytes(b"\0")
    (copy / "tests").mkdir()
    (copy / "tests" / "test_score.py").write_text("assert True\n")
    assert digest(copy) == digest(product)


def test_an_installed_wheel_has_the_digest_of_the_checkout_it_was_built_from(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed")
    assert digest(tmp_path / "installed") == digest(wheel.parent / "source")


def test_the_product_s_digest_is_that_of_this_tree() -> None:
    assert product_digest() == digest(ROOT) and len(product_digest()) == 64
