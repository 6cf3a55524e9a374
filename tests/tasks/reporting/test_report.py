"""The HTML report: what it says, and that it is self-contained and the same always."""

import base64
import hashlib
import json
import re
import stat
from collections import Counter
from decimal import Decimal

import pytest

from schemas.errors import UserError
from tasks.reporting.rejects import keep_rejects
from tasks.reporting.report import find_report, report_page, write_reports
from tasks.storage.home import Home
from tests.projections import few_releases, joined, one_release, release_key
from tests.reports import KEY, PUBLIC_KEY, Page, page, publish_made_up, write_report

MARKUP = "<script>alert(1)</script><b>&amp;\"'"


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
    assert Counter(tag for tag, _ in found.tags)["script"] == 1
    assert "b" not in {tag for tag, _ in found.tags}


def test_the_same_projection_gives_the_same_bytes(home: Home) -> None:
    contents = {write_report(few_releases(), release_key("lisbon"), "0.1", home).read_bytes() for _ in range(2)}
    assert len(contents) == 1


def test_it_loads_nothing_and_links_to_files_beside_it_only(home: Home) -> None:
    found = page(home, one_release([60, 0], texts=[MARKUP, "https://example.org/x.png"]))
    assert not {"link", "img", "iframe", "object", "audio", "video"} & {tag for tag, _ in found.tags}
    assert [tag for tag, _ in found.tags if tag in ("script", "style")] == ["style", "script"]
    loading = {"src", "srcset", "action", "onload", "onclick", "oninput", "style", "xlink:href"}
    assert not [name for _, attributes in found.tags for name in attributes if name in loading]
    links = [attributes["href"] for tag, attributes in found.tags if tag == "a"]
    assert links == ["#main", "index.html", f"../certificates/reviews-all-{KEY[:12]}-theta-0.05.json"]


def test_the_policy_allows_this_style_and_this_script_and_nothing_else(home: Home) -> None:
    found = page(home, one_release([60]))
    policy = next(
        attributes["content"] for tag, attributes in found.tags if tag == "meta" and "http-equiv" in attributes
    )
    assert policy is not None and "unsafe" not in policy and policy.startswith("default-src 'none'; ")
    for tag in ("style", "script"):
        content = found.html.split(f"<{tag}>")[1].split(f"</{tag}>")[0]
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


def test_statements_are_sorted_by_certificate_and_escaped(home: Home) -> None:
    text = page(home, one_release([70, 300, 49], texts=["Second.", "First.", MARKUP])).text
    assert text.index("First.") < text.index("Second.") < text.index(MARKUP)
    assert "2 of 3 candidate statements are certified" in text
    assert "30.0 %300 of 1,000" in text
    assert "Below threshold: 1 of 3" in text


def test_users_are_spoken_of_as_users(home: Home) -> None:
    text = page(home, one_release([60])).text
    assert "5 % of the 1,000 units have at least one record that supports it" in text
    assert "units with at least one record that supports the statement" in text


def test_what_is_not_protected_is_said(home: Home) -> None:
    text = page(home, one_release([60])).text
    assert "Neighbouring datasets replace the content of one unit" in text
    assert "their number n = 1,000 are fixed and not protected" in text
    assert "“Supports” means what the frozen model nli-mini decides" in text
    assert "An abstention is not a denial" in text
    assert "privcert verify FILE" in text


@pytest.mark.parametrize(
    ("scope", "says", "never"),
    [
        ("candidate", "Each certificate alone errs with probability at most 0.05", "hold together"),
        ("report", "All certificates of this report hold together except with probability", "Each certificate"),
        ("report_independent", "exact for independent noises", "Each certificate"),
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
    assert "Vacuous at this threshold. Threshold and margin together (5 + 96) exceed the 100 units" in text
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
    assert "A statement that is selected and whose true count is at least threshold + margin (59 units)" in text
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
    assert "whose count, where no unit counts for more than 3 statements, is at least threshold + margin" in text


def test_margins_that_differ_by_weight_are_said(home: Home) -> None:
    text = page(home, one_release([60, 9], margins=[20, 9])).text
    assert "20 units at most, 9 units at least, by public weights" in text
    assert "Vacuous" not in page(home, one_release([0, 0], n=100, margins=[96, 95])).text
    assert "(5 + 96) exceed" in page(home, one_release([0, 0], n=100, margins=[97, 96])).text


def test_a_second_edition_says_that_there_were_two(home: Home) -> None:
    second = one_release([9], release_key=release_key("two"), edition=2, sequence=2)
    text = page(home, joined(one_release([60]), second), key=release_key("two")).text
    assert "This is edition 2 of a question that was asked 2 times" in text
    assert "errs with probability up to 0.1 instead of 0.05" in text


def test_a_release_or_threshold_that_is_not_there_is_refused(home: Home) -> None:
    for key, theta in ((release_key("other"), "0.05"), (KEY, "0.06")):
        with pytest.raises(KeyError):
            write_report(one_release([60]), key, theta, home)


def test_sampler_model_log_and_key_are_named(home: Home) -> None:
    text = page(home, one_release([60])).text
    for said in ("OpenDP, exact discrete Laplace", "f" * 64, "1" * 32, KEY, f"privcert verify FILE --key {PUBLIC_KEY}"):
        assert said in text


def test_the_page_of_a_reading_names_the_others_and_is_written_anew_with_them(home: Home) -> None:
    first = one_release([60], thetas=("0.05",))
    alone = write_report(first, KEY, "0.05", home)
    assert "θ = 10 %" not in alone.read_text()
    again = one_release([9], release_key=release_key("two"), edition=2, sequence=2)
    publish_made_up(joined(one_release([60], thetas=("0.05", "0.1")), again), home)
    write_reports(home, [(release_key("two"), Decimal("0.05"))])
    text = Page(alone.read_text()).text
    assert "θ = 5 %, edition 1" in text and "θ = 10 %, edition 1" in text and "θ = 5 %, edition 2" in text
    assert "Asked 2 times" in text


def test_a_report_that_is_sent_away_links_to_nothing(home: Home) -> None:
    publish_made_up(one_release([60], thetas=("0.05", "0.1")), home)
    sent = Page(report_page(home, *find_report(home, KEY[:6], None)))
    assert [attributes["href"] for tag, attributes in sent.tags if tag == "a"] == ["#main"]
    assert "θ = 10 %" in sent.text


def test_a_report_is_found_by_the_first_digits_of_its_key_and_a_threshold_that_was_asked(home: Home) -> None:
    with pytest.raises(UserError, match=r"no database at .* or `privcert warehouse rebuild`"):
        find_report(home, "", None)
    publish_made_up(few_releases(), home)
    lisbon = release_key("lisbon")
    assert find_report(home, lisbon[:8], None) == (lisbon, "0.1")
    assert find_report(home, lisbon[:8], Decimal("0.050")) == (lisbon, "0.05")
    with pytest.raises(UserError, match=r"read at 0.05, 0.1 only; `privcert report build"):
        find_report(home, lisbon, Decimal("0.2"))
    with pytest.raises(UserError, match="release: no release starts with 'x'"):
        find_report(home, "x", None)


def test_what_changed_since_the_last_release_is_told_with_what_it_is_worth(home: Home) -> None:
    texts = ["Rises.", "Falls.", "Goes.", "Comes."]
    before = one_release([100, 300, 60, 10], texts=texts, release_key=release_key("before"), partition_version="v-0")
    now = one_release([200, 295, 10, 60], texts=texts, sequence=2, version_number=2)
    text = page(home, joined(before, now)).text
    for said in (
        "Newly certified 1",
        "Not certified this time 1",
        "Moved up 1",
        "Moved down 1",
        "29.5 %295, within margins",
    ):
        assert said.replace(" ", "") in text.replace(" ", "")
    assert "other records, and fresh noise: noise alone moves certificates" in text
    assert "is no certified decrease" in text
    assert "No earlier release about this partition" in page(home, before, key=release_key("before")).text


def test_rejects_of_a_released_text_are_shown_by_reason_with_their_texts(home: Home) -> None:
    released = "claims of a released text, sha256 00; extractor x: 1 claims, 2 rejects; declared origin: y"
    asked = one_release([60], proposer=released)
    assert "What was not asked" not in page(home, asked).text
    pieces = [{"text": MARKUP, "reason": "question", "start": 0, "end": 1}, {"text": "Menu", "reason": "heading"}]
    keep_rejects(home, released, pieces)
    text = page(home, asked).text
    assert f"Heading: 1 Menu Question: 1 {' '.join(MARKUP.split())}" in text
    assert "What was not asked" not in page(home, one_release([60])).text


def test_a_threshold_can_be_moved_where_the_certificates_answer_every_one_and_nowhere_else(home: Home) -> None:
    assert "Read the list at another threshold" in page(home, one_release([60])).text
    staircase = page(home, one_release([50], mechanism="staircase", parameters=json.dumps({"theta": "0.05"})))
    assert "Read the list" not in staircase.text
    assert "staircase, answers at θ = 5 % only: the threshold cannot be moved" in staircase.text
