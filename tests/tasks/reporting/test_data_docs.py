"""Data Docs: readable without a network, booleans only in the release zone, and no value anywhere."""

import re

import pytest

from tasks.reporting.data_docs import private_docs, release_docs
from tasks.reporting.projection import build_operator_database, build_release_database
from tasks.reporting.validation import InvalidWarehouseError
from tasks.storage.home import Home
from tests.projections import few_releases, one_release

CANARY, NUMBER = "CANARY-1f7d3c", 48_151_623


@pytest.fixture
def documented(home: Home) -> Home:
    projection = one_release([NUMBER], texts=[CANARY], n=NUMBER + 1)
    build_release_database(projection, home)
    build_operator_database(projection, home)
    return home


def test_pages_need_no_other_host_and_no_script(documented: Home) -> None:
    for page in (release_docs(documented), private_docs(documented)):
        assert not re.search(r"https?:|//|<script|<link|@import|url\(|src=|href=", page.read_text())


def test_the_release_zone_has_booleans_only_and_the_operator_counts(documented: Home) -> None:
    released, private = release_docs(documented).read_text(), private_docs(documented).read_text()
    cells = set(re.findall(r"<td[^>]*>(.*?)</td>", released))
    assert {cell for cell in cells if not cell.startswith("expect_")} == {"yes"}
    assert re.search(r'<td class="number">\d+</td>', private)
    assert "statements_at_thresholds: passed" in released and "budget_by_partition: passed" in private
    assert "budget_by_partition" not in released


def test_no_value_is_shown_or_kept(documented: Home) -> None:
    kept = [release_docs(documented), private_docs(documented), *(documented.private / "validation").iterdir()]
    said = "".join(path.read_text() for path in kept)
    assert CANARY not in said and str(NUMBER) not in said


def test_a_failure_is_on_the_operators_page_and_the_released_one_stays(home: Home) -> None:
    build_release_database(few_releases(), home)
    before = release_docs(home).read_bytes()
    with pytest.raises(
        InvalidWarehouseError, match=r"view releases does not pass .* of n and highest_certificate_units"
    ):
        build_release_database(one_release([1001]), home)
    assert release_docs(home).read_bytes() == before
    assert "failed" in private_docs(home).read_text()
