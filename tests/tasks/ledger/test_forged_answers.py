"""Whoever holds the key can make every hash fit: each number of a question and its answer is recomputed all the same.

Nothing in a file can tell a certificate from another possible one, nor which model, edition or rule of support was
meant: these only the signature protects. Everything else is altered here, one value after the other.
"""

import copy
import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from certificates import Document, drop, put, reseal
from desk import PARAMETERS, THETA, Desk, ask

from tasks.ledger.verifier import InvalidError, verify
from tasks.storage.home import initialise_home

TEXTS = tuple(f"Statement {number}." for number in range(12))
COUNTS = [0, 500, 300, 30, 250, 410, 290, 120, 160, 200, 200, 10]  # at most 5 for each of 500 units
WEIGHTS = ["1", "2", "1", "2", "1", "1", "1", "3", "1", "1", "1", "1"]
SIGNED_ONLY = {"edition", "model_fingerprint", "unit_support", "sampler", "certificate_units"}
QUESTION, ANSWER, GROUP = ("payload", "question"), ("payload", "answer"), ("payload", "answer", "groups", 0)
KINDS = [*PARAMETERS, "frontier, weighted", "staircase, weighted"]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """One certificate of each mechanism, each on an account of its own that counts epsilon and delta."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PRIVCERT_LOG_URL", raising=False)
        desk = Desk(initialise_home(tmp_path_factory.mktemp("answers") / "home", on_purpose=True))
        return {kind: write(desk, kind, f"c{at}") for at, kind in enumerate(KINDS)}


def write(desk: Desk, kind: str, corpus: str) -> bytes:
    mechanism, weighted = kind.split(",")[0], "weighted" in kind
    desk.log.set_cap(corpus, Decimal(100), delta=Decimal("0.001"))
    [partition] = desk.register(desk.stage(n=500, content=corpus), corpus=corpus)
    question = ask(
        partition,
        "60",
        statements=TEXTS,
        mechanism=mechanism,
        parameters=PARAMETERS[mechanism],
        weights=WEIGHTS if weighted else None,
    )
    sealed = desk.log.seal(question, COUNTS)
    desk.log.ask_threshold(sealed.release_key, THETA)
    return desk.log.write_certificate(sealed.release_key, THETA).read_bytes()


def resealed(document: Document) -> bytes:
    """With the charge in the last entry too."""
    document = copy.deepcopy(document)
    document["chain"][-1]["body"] |= document["payload"]["charge"]
    return reseal(document)


def leaves(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Every value that holds no other, with its place."""
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, child in children:
        if isinstance(child, dict | list) and child:
            yield from leaves(child, (*path, step))
        else:
            yield (*path, step), child


def others(value: Any) -> list[Any]:
    """Values that it is not, and that look like it."""
    if value is None:
        return ["not_selected", "not_reached", "1"]
    if isinstance(value, str) and value.replace("/", "").replace(".", "").isdigit():
        exact = Fraction(value)
        near = [exact * (1 + Fraction(1, 10**9)), exact * (1 - Fraction(1, 10**9))]
        return [str(one) for one in (*near, exact * 2, exact + 1, abs(exact - 1)) if one != exact]
    if isinstance(value, list):
        return [["1"], None]
    return [other for other in ("x", "report", "candidate", "geometric", "not_reached", "0" * 32) if other != value]


@pytest.mark.parametrize("kind", KINDS)
def test_every_value_of_a_question_and_its_answer_that_is_altered_is_noticed(
    kind: str, written: dict[str, bytes]
) -> None:
    genuine: Document = json.loads(written[kind])
    assert verify(resealed(genuine))[:-1] == verify(written[kind])[:-1]
    parts = ("question", "answer", "charge")
    seen, unnoticed = 0, []
    for path, value in leaves({part: genuine["payload"][part] for part in parts}):
        if SIGNED_ONLY & set(path):
            continue
        for other in others(value):
            document = copy.deepcopy(genuine)
            put("payload", *path, value=other)(document)
            seen += 1
            try:
                verify(resealed(document))
            except InvalidError as error:
                assert not str(error).startswith(("signature", "chain")), (path, other, str(error))
                continue
            unnoticed.append((path, value, other))
    assert unnoticed == []
    assert seen > 100


def scaled(*path: str | int, by: Fraction) -> Callable[[Document], None]:
    """Multiply one exact number."""

    def alter(document: Document) -> None:
        inner: Any = document
        for step in path[:-1]:
            inner = inner[step]
        inner[path[-1]] = str(Fraction(inner[path[-1]]) * by)

    return alter


def both(*alterations: Callable[[Document], Any]) -> Callable[[Document], None]:
    def alter(document: Document) -> None:
        for alteration in alterations:
            alteration(document)

    return alter


def another_theta(document: Document) -> None:
    """The decisions that the same certificates give at 10 %."""
    document["theta"], document["threshold_units"] = "0.1", 50
    answer = document["payload"]["answer"]
    for line, units, why in zip(document["decisions"], answer["certificate_units"], answer["reasons"], strict=True):
        emitted = units >= 50
        line["decision"], line["reason"] = ("emit", None) if emitted else ("abstain", why or "below_threshold")


def certify_one_more(document: Document) -> None:
    """A statement that was passed over gets a certificate of 0, and its decision fits."""
    answer = document["payload"]["answer"]
    at = next(at for at, why in enumerate(answer["reasons"]) if why == "not_selected")
    answer["reasons"][at], document["decisions"][at]["reason"] = None, "below_threshold"


def go_on_after_the_stop(document: Document) -> None:
    """One that was never reached is said to have been passed over."""
    answer = document["payload"]["answer"]
    at = next(at for at, why in enumerate(answer["reasons"]) if why == "not_reached")
    answer["reasons"][at] = document["decisions"][at]["reason"] = "not_selected"


def certify_what_was_passed_over(document: Document) -> None:
    answer = document["payload"]["answer"]
    at = next(at for at, why in enumerate(answer["reasons"]) if why is not None)
    answer["certificate_units"][at] = 20


FORGED: dict[str, tuple[str, Callable[[Document], None], str]] = {
    "a staircase read at another theta": ("staircase", another_theta, "decisions: the answer holds for another"),
    "a selection read at another theta": ("svt", another_theta, "decisions: the answer holds for another"),
    "a staircase that certifies more than the threshold": (
        "staircase",
        put(*ANSWER, "certificate_units", 1, value=26),
        "certificates: staircase certifies",
    ),
    "more selected than k": ("topk", certify_one_more, "selection: topk gives k"),
    "more found than k": ("svt", certify_one_more, "selection: more than k"),
    "a selection that goes on after it has k": ("svt", go_on_after_the_stop, "selection: a reason does not fit"),
    "a certificate of what was not selected": (
        "topk",
        certify_what_was_passed_over,
        "selection: a statement without a certificate has one",
    ),
    "monotone query noise": (
        "svt",
        scaled(*ANSWER, "selection", "query_scale", by=Fraction(1, 2)),
        "selection: query_scale is not that of epsilon",
    ),
    "selection noise of half the scale": (
        "topk",
        scaled(*ANSWER, "selection", "scale", by=Fraction(1, 2)),
        "selection: scale is not that of epsilon",
    ),
    "a selection that is not charged": (
        "topk",
        put(*QUESTION, "parameters", "selection_share", value="0.25"),
        "mechanism: epsilon is not split",
    ),
    "one bounded count as if nobody else had any": (
        "hist",
        both(put(*GROUP, "epsilon_per_statement", value="60"), put(*GROUP, "scale", value="1/60")),
        "mechanism: epsilon is not split",
    ),
    "a bound that is larger": ("hist", put(*QUESTION, "parameters", "contributions", value="6"), "mechanism: epsilon"),
    "a Gaussian sigma without the root of m": (
        "discrete_gaussian",
        scaled(*GROUP, "scale", by=Fraction(1, 3)),
        "mechanism: the noise scale is too small",
    ),
    "a smaller rho": ("discrete_gaussian", put("payload", "charge", "rho", value="0.01"), "charge: rho is not"),
    "a smaller delta": ("discrete_gaussian", put("payload", "charge", "delta", value="0"), "charge: delta is not"),
    "a pure release with a delta": ("frontier", put("payload", "charge", "delta", value="0.001"), "charge: delta"),
    "the rho of a single query": ("frontier", put("payload", "charge", "rho", value="12.5"), "charge: rho is not"),
    "weights of which one is left out": ("frontier, weighted", drop(*QUESTION, "weights", 0), "weights: not one per"),
    "weights not in lowest terms": (
        "frontier, weighted",
        lambda document: document["payload"]["question"].update(
            weights=[str(2 * int(weight)) for weight in document["payload"]["question"]["weights"]]
        ),
        "weights: not in lowest terms",
    ),
    "equal weights": ("frontier", put(*QUESTION, "weights", value=["1"] * 12), "weights: equal ones"),
    "a weight of 0": ("frontier, weighted", put(*QUESTION, "weights", 0, value="0"), "weights: not in lowest terms"),
    "weights where there are none": (
        "topk",
        put(*QUESTION, "weights", value=WEIGHTS),
        "weights: its mechanism does not take them",
    ),
    "the meaning of another mechanism": (
        "frontier",
        put("payload", "described", "meaning", value="every unit supports it"),
        "format: the meaning",
    ),
    "an unknown key of a group": (
        "frontier",
        lambda document: document["payload"]["answer"]["groups"][0].update(note="x"),
        "format: the group has unknown keys",
    ),
    "a parameter too many": (
        "frontier",
        lambda document: document["payload"]["question"]["parameters"].update(delta="0.1"),
        "question: not the parameters",
    ),
    "an approximate cap that counts no delta": ("frontier", drop("chain", -4, "body", "delta"), "format: the cap"),
    "a cap called pure": ("frontier", put("chain", -4, "body", "composition", value="pure"), "budget: a cap does not"),
    "a cap called magic": ("frontier", put("chain", -4, "body", "composition", value="magic"), "format: composition"),
    "a lower cap on delta": (
        "discrete_gaussian",
        put("chain", -4, "body", "delta", value="0.000001"),
        "budget: the account's charges exceed its cap on delta",
    ),
    "a lower cap on epsilon": (
        "discrete_gaussian",
        put("chain", -4, "body", "epsilon", value="59"),
        "budget: the account's charges exceed its cap on epsilon",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", FORGED)
def test_a_forged_answer_is_refused_for(what: str, written: dict[str, bytes]) -> None:
    kind, alter, says = FORGED[what]
    document: Document = json.loads(written[kind])
    alter(document)
    with pytest.raises(InvalidError, match=says):
        verify(resealed(document))
