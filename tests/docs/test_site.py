"""The documentation as a site: it builds without a warning, and a browser shows it whole, silently, from the disk."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from browsers import browser, look  # noqa: F401 (fixture)
from pages import DOCS, ROOT

NAMES = sorted(path.stem for path in DOCS.glob("*.md"))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built as `make docs` builds it."""
    folder = tmp_path_factory.mktemp("docs") / "site"
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return folder


def test_it_builds_without_a_warning_and_has_every_page(site: Path) -> None:
    assert sorted(path.stem for path in site.glob("*.html") if path.stem != "404") == NAMES
    assert not list(site.rglob("*.py"))


@pytest.mark.browser
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("width", "dark"), [(1280, False), (375, True)])
def test_a_browser_shows_every_page_whole_and_asks_nobody(
    browser: Any,  # noqa: F811
    site: Path,
    name: str,
    width: int,
    dark: bool,
) -> None:
    screen = look(browser, site / f"{name}.html", width, dark=dark)
    try:
        assert [url for url in screen.asked if not url.startswith((site.as_uri(), "data:"))] == []
        assert screen.said == []
        assert screen.page.evaluate("document.documentElement.scrollWidth") <= width
        assert screen.serious() == []
    finally:
        screen.close()


@pytest.mark.browser
def test_the_search_works_from_the_disk(browser: Any, site: Path) -> None:  # noqa: F811
    screen = look(browser, site / "index.html")
    try:
        screen.page.click(".md-search__input")
        screen.page.keyboard.type("accept-gap")
        screen.page.wait_for_selector(".md-search-result__link")
        found = screen.page.eval_on_selector_all(".md-search-result__link", "links => links.map(one => one.href)")
        assert any(url.startswith((site / "operations.html").as_uri()) for url in found)
        assert [url for url in screen.asked if not url.startswith((site.as_uri(), "data:"))] == []
        assert screen.said == []
    finally:
        screen.close()


@pytest.mark.browser
def test_no_button_is_printed(browser: Any, site: Path) -> None:  # noqa: F811
    screen = look(browser, site / "tutorial.html")
    try:
        screen.page.wait_for_selector(".md-clipboard, .md-code__button", state="attached")
        screen.page.emulate_media(media="print")
        buttons = screen.page.locator("article button")
        assert buttons.count() > 3
        assert [at for at in range(buttons.count()) if buttons.nth(at).is_visible()] == []
    finally:
        screen.close()
