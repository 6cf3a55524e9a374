"""Power and budget of a report: exact, from the design and from the chain."""

import json
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from schemas.audit import Scope
from schemas.statements import Statement
from tasks.ledger.designs import Parameters, groups_of
from tasks.privacy.design import Design
from tasks.privacy.mechanisms import RELEASE_MECHANISMS
from tasks.privacy.planning import plan
from tasks.reporting.chart import power_chart
from tasks.reporting.report_budget import gauges
from tasks.reporting.report_power import _Asked, power_curves
from tests.projections import RELEASE_DEFAULTS

PARAMETERS: dict[str, dict[str, str]] = {
    "frontier": {},
    "geometric": {},
    "staircase": {"theta": "0.05"},
    "discrete_gaussian": {"delta": "0.00001"},
    "hist": {"contributions": "2"},
    "svt": {"theta": "0.05", "selected": "2", "selection_share": "0.5"},
    "topk": {"selected": "2", "selection_share": "0.5"},
}


def rows(mechanism: str, release: dict[str, Any], weights: list[str]) -> list[dict[str, Any]]:
    """The statements of a release with the margins that are really taken off."""
    texts = [Statement.of(f"Statement {at}.", Decimal(weight)) for at, weight in enumerate(weights)]
    given = {
        name: int(text) if name in ("contributions", "selected") else Decimal(text)
        for name, text in PARAMETERS[mechanism].items()
    }
    asked = _Asked(mechanism, Decimal(release["epsilon"]), Decimal(release["beta"]), Scope(release["scope"]))
    groups = groups_of(asked, Parameters(**given), texts, release["n"])  # type: ignore[arg-type]
    margin = {at: int(group.mechanism.margin_units) for group in groups for at in group.positions}
    return [
        {"statement": one.text, "weight": str(one.weight), "margin_units": margin[at]} for at, one in enumerate(texts)
    ]


def test_there_is_a_power_curve_for_every_mechanism_that_releases() -> None:
    assert set(PARAMETERS) == set(RELEASE_MECHANISMS)


@pytest.mark.parametrize("mechanism", ["frontier", "geometric", "staircase", "discrete_gaussian", "hist"])
def test_power_is_that_of_the_planner(mechanism: str) -> None:
    release = {**RELEASE_DEFAULTS, "mechanism": mechanism, "epsilon": "8"}
    [curve] = power_curves(release, rows(mechanism, release, ["1"] * 4), PARAMETERS[mechanism], "0.05")
    asked = {name: Fraction(text) for name, text in PARAMETERS[mechanism].items() if name == "delta"}
    whole = {name: int(text) for name, text in PARAMETERS[mechanism].items() if name == "contributions"}
    design = Design(n=1000, statements=4, epsilon=Fraction(8), beta=Fraction("0.05"), **asked, **whole)  # type: ignore[arg-type]
    assert dict(curve.smallest) == plan(mechanism, design, Fraction("0.05")).smallest_count_emitted
    counts, chances = zip(*curve.points, strict=True)
    assert list(counts) == sorted(set(counts)) and list(chances) == sorted(chances)
    assert chances[0] < 0.02 and chances[-1] > 0.99
    assert dict(curve.points).get(curve.smallest["0.5"] or 0, 1) >= 0.5


@pytest.mark.parametrize("mechanism", ["svt", "topk"])
def test_after_a_selection_power_is_that_of_the_certificate(mechanism: str) -> None:
    release = {**RELEASE_DEFAULTS, "mechanism": mechanism, "epsilon": "8"}
    [curve] = power_curves(release, rows(mechanism, release, ["1"] * 4), PARAMETERS[mechanism], "0.05")
    design = Design(n=1000, statements=2, epsilon=Fraction(4), beta=Fraction("0.05"))
    assert dict(curve.smallest) == plan("frontier", design, Fraction("0.05")).smallest_count_emitted


def test_of_weighted_statements_the_lightest_and_the_heaviest_are_drawn() -> None:
    release = {**RELEASE_DEFAULTS, "epsilon": "8"}
    light, heavy = power_curves(release, rows("frontier", release, ["1", "2", "3", "1"]), {}, "0.05")
    assert (light.weight, heavy.weight) == (1, 3)
    assert (light.smallest["0.5"] or 0) > (heavy.smallest["0.5"] or 0)


def test_there_is_no_curve_where_nothing_was_asked_or_another_margin_was_sealed() -> None:
    release = {**RELEASE_DEFAULTS, "epsilon": "8"}
    statements = rows("frontier", release, ["1"] * 4)
    assert power_curves({**release, "n": 0}, statements, {}, "0.05") == []
    assert power_curves(release, statements, {}, "0") == []
    altered = [row | {"margin_units": row["margin_units"] + 1} for row in statements]
    assert power_curves(release, altered, {}, "0.05") == []


def test_a_curve_without_width_is_drawn_all_the_same() -> None:
    drawn = power_chart([("weight 1", ((5, 0.5),))], 5)
    assert (drawn.threshold_x, drawn.lines[0].path) == ("0.00%", "M0.0,500.0")


def document(*charges: tuple[str, str | None], **caps: str | None) -> dict[str, Any]:
    """A certificate file of the last of these releases (partition, epsilon), on an account with these caps."""
    cap = {"composition": "pure", "epsilon": None, "delta": None, "rho": None} | caps
    links = [{"kind": "cap", "body": cap}] if any(caps.values()) else []
    links.append({"kind": "corpus", "body": {"scheme": {"partition_by": "list"}}})
    for at, (partition, epsilon) in enumerate(charges):
        amounts = {"epsilon": epsilon, "delta": "0", "rho": None if epsilon is None else "0.25"}
        body = {"corpus": "reviews", "partition": partition, "release_key": str(at), **amounts}
        links.append({"kind": "gap" if partition == "*" else "release", "body": body})
    place = {"corpus": "reviews", "partition": charges[-1][0], "n": 10}
    return {"release_key": str(len(charges) - 1), "chain": links, "payload": {"described": {"partition": place}}}


def test_a_gauge_adds_up_what_its_own_partition_was_charged_exactly() -> None:
    [gauge] = gauges(document(("a", "0.1"), ("b", "5"), ("a", "0.2"), epsilon="0.30000000000000000000000000001"))
    assert (gauge.before, gauge.charged, gauge.left) == ("0.1", "0.2", "0.00000000000000000000000000001")
    assert gauge.shares == (pytest.approx(1 / 3), pytest.approx(2 / 3))


def test_an_account_counts_what_its_composition_does() -> None:
    assert [one.symbol for one in gauges(document(("a", "1"), composition="zcdp", rho="1"))] == ["ρ"]
    both = gauges(document(("a", "1"), composition="approximate", epsilon="2", delta="0.1"))
    assert [(one.symbol, one.left) for one in both] == [("ε", "1"), ("δ", "0.1")]
    [uncapped] = gauges(document(("a", "1")))
    assert (uncapped.cap, uncapped.left, uncapped.shares) == (None, None, (0.0, 0.0))


def test_a_gap_that_did_not_state_an_amount_leaves_it_out_and_an_empty_partition_has_none() -> None:
    assert gauges(document(("*", None), ("a", "1"), composition="zcdp", rho="1")) == []
    [gauge] = gauges(document(("*", "3"), ("a", "1"), epsilon="4"))
    assert (gauge.before, gauge.left) == ("3", "0")
    empty = document(("a", "1"), epsilon="4")
    empty["payload"]["described"]["partition"]["n"] = 0
    assert gauges(empty) == []


def test_a_cap_of_zero_is_drawn_as_nothing() -> None:
    [gauge] = gauges(document(("a", "0"), epsilon="0"))
    assert json.dumps(gauge.shares) == "[0.0, 0.0]"
