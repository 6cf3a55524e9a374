"""The HTML report: what it says, that it is self-contained and the same always, and that a browser shows it well."""

import json
import re
import shutil
import stat
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from html.parser import HTMLParser

import pyarrow as pa
import pytest

from schemas.releases import Projection
from tasks.reporting.report import write_report
from tasks.storage.home import Home
from tests.projections import few_releases, joined, one_release, release_key

KEY = release_key("one")
MARKUP = "<script>alert(1)</script><b>&amp;\"'"


class Page(HTMLParser):
    """The visible text, and every start tag with its attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.pieces: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if not self.tags or self.tags[-1][0] != "style" or "{" not in data:
            self.pieces.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.pieces).split())


def page(home: Home, projection: Projection, theta: str = "0.05", key: str = KEY) -> Page:
    return Page(write_report(projection, key, theta, home).read_text())


def test_it_lies_in_the_release_zone_under_a_telling_name(home: Home) -> None:
    path = write_report(one_release([60]), KEY, Decimal("0.050"), home)
    assert path == home.release / "reports" / f"reviews-all-{KEY[:12]}-theta-0.05.html"
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


@pytest.mark.parametrize("partition", ["a/../../b", "..", MARKUP, "Zürich 北京", "x" * 300, "\n"])
def test_any_partition_name_makes_a_safe_file_name_and_is_escaped(home: Home, partition: str) -> None:
    path = write_report(one_release([60], partition=partition), KEY, "0.05", home)
    assert path.parent == home.release / "reports"
    assert re.fullmatch(r"[A-Za-z0-9._~%-]{1,255}", path.name)
    found = Page(path.read_text())
    assert " ".join(partition.split()) in found.text
    assert not {"script", "b"} & {tag for tag, _ in found.tags}


def test_the_same_projection_gives_the_same_bytes(home: Home) -> None:
    contents = {write_report(few_releases(), release_key("lisbon"), "0.1", home).read_bytes() for _ in range(2)}
    assert len(contents) == 1


def test_it_needs_no_script_and_no_other_file_or_host(home: Home) -> None:
    found = page(home, one_release([60, 0], texts=[MARKUP, "https://example.org/x.png"]))
    assert not {"script", "link", "img", "iframe", "object", "a"} & {tag for tag, _ in found.tags}
    loading = {"src", "href", "srcset", "action", "onload", "onclick", "style"}
    assert not [name for _, attributes in found.tags for name in attributes if name in loading]
    assert ("meta", "default-src 'none'; style-src 'unsafe-inline'") in [(t, a.get("content")) for t, a in found.tags]


def test_statements_are_sorted_by_certificate_and_escaped(home: Home) -> None:
    text = page(home, one_release([70, 300, 49], texts=["Second.", "First.", MARKUP])).text
    assert text.index("First.") < text.index("Second.") < text.index(MARKUP)
    assert "2 of 3 candidate statements are certified" in text
    assert "30.0 %300 of 1,000" in text
    assert "Below threshold: 1 of 3" in text


def test_users_are_spoken_of_as_users(home: Home) -> None:
    text = page(home, one_release([60])).text
    assert "5 % of the 1,000 authors have at least one record that supports it" in text
    assert "authors with at least one record that supports the statement" in text


def test_what_is_not_protected_is_said(home: Home) -> None:
    text = page(home, one_release([60])).text
    assert "Neighbouring datasets replace the content of one author" in text
    assert "their number n = 1,000 are fixed and not protected" in text
    assert "“Supports” means what the frozen model nli-mini decides" in text
    assert "An abstention is not a denial" in text
    assert "privcert verify FILE" in text


@pytest.mark.parametrize(
    ("scope", "says", "never"),
    [
        ("candidate", "Each certificate alone errs with probability at most 0.05", "hold together"),
        ("report", "All certificates of this report hold together except with probability at most 0.05", "alone"),
        ("report_independent", "exact for independent noises", "alone"),
    ],
)
def test_the_scope_of_the_error_is_said_in_words(home: Home, scope: str, says: str, never: str) -> None:
    text = page(home, one_release([60, 0, 0], scope=scope)).text
    assert says in text
    assert never not in text


def test_errors_of_single_certificates_are_added_up(home: Home) -> None:
    assert "errs with probability up to 0.15" in page(home, one_release([60, 0, 0], scope="candidate")).text


def test_a_vacuous_threshold_is_said_in_plain_words(home: Home) -> None:
    assert "Vacuous" not in page(home, one_release([0], n=100, margins=[95])).text
    text = page(home, one_release([0], n=100, margins=[96])).text
    assert "Vacuous at this threshold. Threshold and margin together (5 + 96) exceed the 100 authors" in text
    assert "None of 1 candidate statements is certified" in text


def test_threshold_zero_emits_everything_and_says_what_that_is_worth(home: Home) -> None:
    text = page(home, one_release([0, 5], thetas=("0",)), "0").text
    assert "2 of 2 candidate statements are certified" in text
    assert "Threshold 0." in text


def test_an_empty_partition_abstains_for_its_own_reason(home: Home) -> None:
    text = page(home, one_release([0, 0], n=0)).text
    assert "Not reached: 2 of 2" in text
    assert "nothing was asked, and all 2 candidate statements abstain" in text


CHOSEN = json.dumps({"selected": "2", "selection_share": "0.5", "theta": "0.05"})


def test_a_selection_says_what_it_left_out_and_why(home: Home) -> None:
    reasons = ["not_selected", None, None, "not_reached"]
    projection = one_release([0, 60, 9, 0], reasons=reasons, mechanism="svt", parameters=CHOSEN)
    text = page(home, projection).text
    assert "For each of the 2 candidates that were selected, emitted or not" in text
    assert "Below threshold: 1 of 4" in text and "Not selected: 1 of 4" in text and "Not reached: 1 of 4" in text
    assert "The selection had its 2 statements before it came to these" in text
    assert "A statement that is selected and whose true count is at least threshold + margin (59 authors)" in text
    assert "svt, selected 2, selection share 0.5, theta 0.05" in text


def test_what_a_selection_left_out_has_no_certificate_at_threshold_zero_either(home: Home) -> None:
    """There everything is emitted, and nothing says that the others were certified."""
    reasons = ["not_selected", None, None, "not_reached"]
    chosen = json.dumps({"selected": "2", "selection_share": "0.5", "theta": "0"})
    found = page(
        home, one_release([0, 60, 0, 0], thetas=("0",), reasons=reasons, mechanism="svt", parameters=chosen), "0"
    )
    assert "2 of 4 candidate statements are certified" in found.text
    assert "2 more are emitted without a certificate, since a threshold of 0 asks for none" in found.text
    assert "For each of the 2 candidates that were selected, emitted or not" in found.text
    assert found.text.count("no certificate") == 2 and "Certified statements" not in found.text
    assert [tag for tag, attributes in found.tags if tag == "circle"] == ["circle"] * (2 + 2)  # and the two of the key
    assert "2 without a certificate are not shown" in found.text


def test_a_selection_that_found_nothing_certifies_nothing(home: Home) -> None:
    chosen = json.dumps({"selected": "2", "selection_share": "0.5", "theta": "0.05"})
    reasons = ["not_selected"] * 3
    text = page(home, one_release([0] * 3, reasons=reasons, mechanism="svt", parameters=chosen)).text
    assert "Nothing of any candidate: none was selected" in text
    assert text.count("no certificate") == 3 + 1  # each of them, and the reason
    assert "All certificates against the threshold" not in text


def test_one_selected_candidate_is_spoken_of_as_one(home: Home) -> None:
    projection = one_release([60, 0], reasons=[None, "not_reached"], mechanism="svt", parameters=CHOSEN)
    assert "For the one candidate that was selected, emitted or not" in page(home, projection).text


@pytest.mark.parametrize("mechanism", ["staircase", "svt"])
def test_an_answer_for_one_threshold_says_so(home: Home, mechanism: str) -> None:
    parameters = json.dumps({"theta": "0.05"}) if mechanism == "staircase" else CHOSEN
    text = page(home, one_release([60, 0], mechanism=mechanism, parameters=parameters)).text
    assert "This answer holds at θ = 0.05 and at no other threshold" in text
    assert "costs no privacy" not in text
    assert ("It is the threshold that is certified" in text) == (mechanism == "staircase")


def test_a_delta_is_said_wherever_epsilon_is(home: Home) -> None:
    gaussian = {"mechanism": "discrete_gaussian", "parameters": json.dumps({"delta": "0.00001"}), "delta": "0.00001"}
    text = page(home, one_release([60, 0], rho="0.03", **gaussian)).text
    assert "δ = 0.00001, for the whole release" in text
    assert "(ε, δ)-differentially private with ε = 2 and δ = 0.00001" in text
    assert "charged ε = 2, δ = 0.00001 (as zCDP, ρ = 0.03), once" in text
    assert "ε-differentially private" not in page(home, one_release([60, 0], **gaussian)).text.replace("(ε, δ)-", "")
    assert "δ" not in page(home, one_release([60, 0])).text


def test_the_meaning_of_a_certificate_is_said(home: Home) -> None:
    text = page(home, one_release([60], meaning="at least a dozen units support it")).text
    assert re.search("What a certificate says ?at least a dozen units support it", text)


def test_bounded_contributions_are_said_with_the_power(home: Home) -> None:
    text = page(home, one_release([60], mechanism="hist", parameters=json.dumps({"contributions": "3"}))).text
    assert "whose count, where no author counts for more than 3 statements, is at least threshold + margin" in text


def test_margins_that_differ_by_weight_are_said(home: Home) -> None:
    text = page(home, one_release([60, 9], margins=[20, 9])).text
    assert "20 authors at most, 9 authors at least, by public weights" in text
    assert "Vacuous" not in page(home, one_release([0, 0], n=100, margins=[96, 95])).text
    assert "(5 + 96) exceed" in page(home, one_release([0, 0], n=100, margins=[97, 96])).text


def test_a_budget_is_shown_in_what_its_account_counts(home: Home) -> None:
    def line(**columns: object) -> str:
        projection = one_release([60])
        rows = [row | columns for row in projection.budgets.to_pylist()]
        changed = pa.Table.from_pylist(rows, projection.budgets.schema)
        return page(home, replace(projection, budgets=changed)).text

    assert re.search(
        r"reviews ?all ?ε 8, δ 0\.1 ?ε 2, δ 0 ?ε 6, δ 0\.1",
        line(composition="approximate", cap_delta="0.1", left_delta="0.1"),
    )
    capped = line(composition="zcdp", cap_epsilon=None, left_epsilon=None, cap_rho="1", left_rho="0.5")
    assert re.search(r"reviews ?all ?ρ 1 ?ρ 0\.5 ?ρ 0\.5", capped)
    assert re.search(
        r"reviews ?all ?none ?ε 2, δ 0, ρ 0\.5 ?none", line(composition=None, cap_epsilon=None, left_epsilon=None)
    )


def test_a_second_edition_says_that_there_were_two(home: Home) -> None:
    second = one_release([9], release_key=release_key("two"), edition=2, sequence=2)
    text = page(home, joined(one_release([60]), second), key=release_key("two")).text
    assert "This is edition 2 of a question that was asked 2 times" in text
    assert "errs with probability up to 0.1 instead of 0.05" in text


def test_the_budget_of_the_release_is_shown_and_no_other(home: Home) -> None:
    found = page(home, few_releases(), key=release_key("porto"))
    assert "lisbon" not in found.text
    assert re.search(r"reviews ?porto ?ε 8 ?ε 2 ?ε 6", found.text)


def test_a_release_or_threshold_that_is_not_there_is_refused(home: Home) -> None:
    for key, theta in ((release_key("other"), "0.05"), (KEY, "0.06")):
        with pytest.raises(KeyError):
            write_report(one_release([60]), key, theta, home)


def many() -> Projection:
    counts = sorted((7919 * i % 1000 for i in range(200)), reverse=True)
    texts = [f"Guests mention dish number {i}." for i in range(198)] + ["x" * 400, MARKUP]
    return one_release(counts, texts=texts, scope="candidate", partition=MARKUP)


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    """Chromium, without a sandbox so that it runs in containers too."""
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("no Chromium: install the package chromium to run this test")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield chromium
        chromium.close()


@pytest.mark.browser
@pytest.mark.parametrize("width", [360, 800, 1400])
def test_a_browser_shows_it_whole_at_any_width_and_asks_nobody(home: Home, browser: object, width: int) -> None:
    path = write_report(many(), KEY, "0.05", home)
    screen = browser.new_page(viewport={"width": width, "height": 800})  # type: ignore[attr-defined]
    asked, said = [], []
    screen.on("request", lambda request: asked.append(request.url))
    screen.on("console", lambda message: said.append(message.text))
    screen.on("pageerror", lambda error: said.append(str(error)))
    screen.goto(path.as_uri())
    facts = json.loads(screen.evaluate(_LOOK))
    screen.close()
    assert asked == [path.as_uri()]
    assert said == []
    assert facts["scroll"] <= width
    assert facts["rows"] == 200
    assert facts["dots"] == 200 + 2  # and the two of the key
    assert facts["outside"] == 0
    assert facts["smallest"] >= 11


_LOOK = """() => JSON.stringify({
    scroll: document.documentElement.scrollWidth,
    rows: document.querySelectorAll('td.text bdi').length,
    dots: document.querySelectorAll('circle').length,
    outside: [...document.querySelectorAll('main *')].filter(
        one => one.getBoundingClientRect().right >
            document.querySelector('main').getBoundingClientRect().right + 1).length,
    smallest: Math.min(...[...document.querySelectorAll('main *')].map(
        one => parseFloat(getComputedStyle(one).fontSize))),
})"""
