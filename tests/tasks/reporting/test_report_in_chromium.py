"""Report and index in a real browser: whole at any width, silent, accessible; the moved threshold decides as we do."""

import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pytest
from browsers import Screen, browser, look  # noqa: F401 (fixture)

from schemas.releases import Projection
from tasks.privacy.thresholds import emits, threshold_units
from tasks.reporting.rejects import keep_rejects
from tasks.storage.home import Home, initialise_home
from tests.projections import joined, one_release, release_key
from tests.reports import KEY, publish_made_up, write_report

pytestmark = pytest.mark.browser
HOSTILE = [
    "<script>document.title = 'broken'</script><b>&amp;\"'",
    '"><svg onload="document.title=1">',
    "مرحبا \N{RIGHT-TO-LEFT OVERRIDE}drawkcab\N{POP DIRECTIONAL FORMATTING} x",
    "x" * 500,
]


COUNTS = sorted((7919 * i % 1000 for i in range(200)), reverse=True)
EMITTED = sum(count >= 50 for count in COUNTS)  # at 5 % of 1,000


def many(**release: Any) -> Projection:
    """200 statements, four of them hostile, in a partition with a hostile name, after an earlier release."""
    texts = [f"Guests mention dish number {i}." for i in range(196)] + HOSTILE
    before = one_release([n // 2 for n in COUNTS], texts=texts, partition=HOSTILE[0], release_key=release_key("before"))
    return joined(before, one_release(COUNTS, texts=texts, partition=HOSTILE[0], sequence=2, **release))


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = initialise_home(tmp_path_factory.mktemp("pages") / "home", on_purpose=True)
    proposer = "claims of a released text, sha256 00; extractor x: 200 claims, 1 rejects; declared origin: y"
    keep_rejects(home, proposer, [{"text": HOSTILE[1], "reason": "question", "start": 0, "end": 1}])
    return write_report(many(proposer=proposer, scope="candidate"), KEY, "0.05", home)


@pytest.fixture
def screens(browser: Any) -> Iterator[Any]:  # noqa: F811
    """Opens pages, and closes them at the end."""
    opened: list[Screen] = []

    def open_page(*arguments: Any, **settings: Any) -> Screen:
        opened.append(look(browser, *arguments, **settings))
        return opened[-1]

    yield open_page
    for screen in opened:
        screen.close()


_LOOK = """() => JSON.stringify({
    title: document.title,
    scroll: document.documentElement.scrollWidth,
    rows: document.querySelectorAll('tr[data-units] bdi').length,
    dots: document.querySelectorAll('circle').length,
    outside: [...document.querySelectorAll('main *:not(.hidden, .hidden *)')].filter(
        one => one.getBoundingClientRect().right >
            document.querySelector('main').getBoundingClientRect().right + 1).map(one => one.outerHTML.slice(0, 80)),
    smallest: Math.min(...[...document.querySelectorAll('main *')].map(
        one => parseFloat(getComputedStyle(one).fontSize))),
})"""


@pytest.mark.parametrize("width", [360, 800, 1400])
def test_a_browser_shows_it_whole_at_any_width_and_asks_nobody(screens: Any, report: Path, width: int) -> None:
    screen = screens(report, width)
    facts = json.loads(screen.page.evaluate(_LOOK))
    assert screen.asked == [report.as_uri()]
    assert screen.said == []
    assert facts["title"].startswith("Certified audit of reviews, <script>")
    assert facts["scroll"] <= width
    assert facts["rows"] == 200
    assert facts["dots"] == 200 + 2  # and the two of the key
    assert facts["outside"] == []
    assert facts["smallest"] >= 11


@pytest.mark.parametrize("name", ["report", "index"])
@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_nothing_serious(screens: Any, report: Path, name: str, dark: bool) -> None:
    path = report if name == "report" else report.with_name("index.html")
    screen = screens(path, 1200, dark=dark)
    if name == "report":
        screen.page.fill("#percent", "101")  # what a refused number looks like counts too
        screen.page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
    assert screen.serious() == []
    assert screen.said == []


@pytest.mark.parametrize("width", [360, 1200])
def test_the_index_links_to_every_report_and_fits(screens: Any, report: Path, width: int) -> None:
    screen = screens(report.with_name("index.html"), width)
    assert json.loads(screen.page.evaluate(_LOOK))["scroll"] <= width
    links = screen.page.eval_on_selector_all(".cards a", "links => links.map(one => one.href)")
    assert links[0] == report.as_uri() and len(links) == 2
    screen.page.click(".cards a")
    assert screen.page.url == report.as_uri()
    screen.page.click("nav a")
    assert screen.page.url == report.with_name("index.html").as_uri()
    assert screen.said == []


def thetas(n: int) -> list[str]:
    """Percentages that floating point or rounding gets wrong, and random ones."""
    chance = Random(n)
    spoken = ["0", "100", "7", "5", "14", "28", "55", "56", "57", "0.1", "99.99", "7.000000000000000000001", "1e-30"]
    at = [Fraction(chance.randrange(n + 1), n) * 100 for _ in range(15)]
    near = [f"{float(share):.{digits}f}" for share in at for digits in (0, 2, 6, 14)]
    return [*spoken, *(percent for percent in near if Fraction(percent) <= 100)]


@pytest.mark.parametrize("n", [3, 100, 1000, 1_234_567, 10**15])
def test_a_moved_threshold_decides_exactly_as_the_server_does(screens: Any, home: Home, n: int) -> None:
    near = {n * share // 100 + step for share in range(0, 101, 7) for step in (-1, 0, 1)}
    counts = sorted(count for count in near if 0 <= count <= n)
    screen = screens(write_report(one_release(counts, n=n), KEY, "0.05", home))
    moved = screen.page.evaluate(
        """percents => percents.map(percent => {
            const field = document.getElementById("percent");
            field.value = percent;
            field.dispatchEvent(new Event("input"));
            const rows = [...document.querySelectorAll("#emitted tr")].map(row => row.dataset.units);
            return [rows, document.getElementById("reading").value];
        })""",
        thetas(n),
    )
    for percent, (rows, said) in zip(thetas(n), moved, strict=True):
        theta = Fraction(percent) / 100
        assert rows == [str(count) for count in sorted(counts, reverse=True) if emits(count, n, theta)], percent
        assert f": {threshold_units(n, theta):,} unit" in said
        assert f"{len(rows)} of {len(counts)} candidates emitted" in said
    assert screen.said == []


def test_a_threshold_is_moved_by_the_keyboard_and_told(screens: Any, report: Path) -> None:
    page = screens(report).page
    page.focus("#slider")
    page.keyboard.press("ArrowRight")
    assert page.input_value("#percent") == "5.1"
    assert page.get_attribute("#slider", "aria-valuetext") == "5.1 %, 51 units"
    assert page.inner_text("#reading").startswith(
        "θ = 5.1\N{NO-BREAK SPACE}%: 51 units. " + f"{sum(count >= 51 for count in COUNTS)} of"
    )
    assert page.is_visible("#moved")
    page.keyboard.press("End")
    assert "0 of 200 candidates emitted. Vacuous" in page.inner_text("#reading")
    assert page.is_visible("#none-emitted") and page.inner_text(".reason .count") == "200"
    page.click("#reset")
    assert page.input_value("#percent") == "5" and not page.is_visible("#moved")
    assert page.locator("#emitted tr").count() == EMITTED


@pytest.mark.parametrize("odd", ["", "x", "-1", "100.1", "1e3", "5 6", "0x5", "NaN", "1e-9999", "١"])
def test_what_is_no_threshold_is_refused_and_changes_nothing(screens: Any, report: Path, odd: str) -> None:
    page = screens(report).page
    page.fill("#percent", odd)
    assert page.is_visible("#refused")
    assert page.get_attribute("#percent", "aria-invalid") == "true"
    reading = page.inner_text("#reading[aria-live=polite]")
    assert "not a share between 0 and 100\N{NO-BREAK SPACE}%" in reading and "candidates emitted" not in reading
    assert page.locator("#emitted tr").count() == EMITTED
    page.fill("#percent", "5")
    assert page.get_attribute("#percent", "aria-invalid") == "false"
    assert f"{EMITTED} of 200 candidates emitted" in page.inner_text("#reading")


def test_it_reads_the_same_without_scripts(screens: Any, report: Path) -> None:
    screen = screens(report, script=False)
    assert screen.page.locator("#emitted tr").count() == EMITTED
    assert not screen.page.is_visible("#explore") and not screen.page.is_visible("#none-emitted")


def test_what_a_selection_left_out_is_emitted_at_zero_without_a_certificate(screens: Any, home: Home) -> None:
    parameters = json.dumps({"selected": "2", "selection_share": "0.5"})
    reasons = ["not_selected", None, None, "not_selected"]
    asked = one_release([0, 60, 9, 0], reasons=reasons, mechanism="topk", parameters=parameters)
    page = screens(write_report(asked, KEY, "0.05", home)).page
    page.fill("#percent", "0")
    assert "4 of 4 candidates emitted, 2 of them without a certificate" in page.inner_text("#reading")
    page.fill("#percent", "0.9")
    assert page.locator("#emitted tr").count() == 2
    assert page.locator(".reason[data-reason=not_selected] tbody tr").count() == 2


def test_a_keyboard_reader_can_skip_to_the_content(screens: Any, report: Path) -> None:
    page = screens(report).page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert page.evaluate("document.activeElement.getBoundingClientRect().left") >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


def test_it_prints_without_controls_and_with_what_is_folded(screens: Any, report: Path) -> None:
    page = screens(report).page
    page.emulate_media(media="print")
    assert not page.is_visible("#explore") and not page.is_visible("nav")
    assert page.is_visible("details li") and not page.evaluate("document.querySelector('details').open")
    assert page.pdf(prefer_css_page_size=True).startswith(b"%PDF")


def test_an_empty_index_says_so(screens: Any, home: Home) -> None:
    nothing = many()
    empty = Projection(
        **{
            name: getattr(nothing, name).slice(0, 0)
            for name in ("releases", "certificates", "thresholds", "charges", "budgets")
        },
        chain_head="0" * 64,
        ledger_id="1" * 32,
    )
    publish_made_up(empty, home)
    from tasks.reporting.report import write_reports

    screen = screens(write_reports(home, [])[0])
    assert "Nothing was released yet" in screen.page.inner_text("main")
    assert screen.said == []
