"""Chromium for tests of pages: what it asked for, what it complained of, what axe finds."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

FLAGS = [
    "--no-sandbox",  # so that it runs in containers too
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """The machine's own Chromium."""
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("no Chromium: install the package chromium to run this test")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield chromium
        chromium.close()


@dataclass
class Screen:
    """One open page. asked: every URL that was requested; said: console messages and errors."""

    page: Any
    asked: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def close(self) -> None:
        self.page.close()

    def serious(self) -> list[str]:
        """What axe finds serious or critical."""
        axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="no axe: install the dev group")
        found = axe.Axe().run(self.page).response["violations"]
        return [
            f"{one['id']}: {one['help']}: {[node['html'][:90] for node in one['nodes']][:3]}"
            for one in found
            if one["impact"] in ("serious", "critical")
        ]


def look(browser: Any, path: Path, width: int = 1200, *, dark: bool = False, script: bool = True) -> Screen:
    """Open a file."""
    page = browser.new_page(
        viewport={"width": width, "height": 800},
        color_scheme="dark" if dark else "light",
        java_script_enabled=script,
    )
    screen = Screen(page)
    page.on("request", lambda request: screen.asked.append(request.url))
    page.on("console", lambda message: screen.said.append(message.text))
    page.on("pageerror", lambda error: screen.said.append(str(error)))
    page.goto(path.as_uri())
    return screen
