"""Whoever holds the key can write any JSON: each value has one type, and each exact number one spelling."""

import copy
import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from certificates import Document, put, reseal
from desk import PARAMETERS, THETA, Desk, ask

from schemas.audit import Scope
from tasks.ledger import verifier
from tasks.ledger.amounts import exact_text, loss_fields
from tasks.ledger.verifier import InvalidError, verify
from tasks.privacy.design import Design
from tasks.privacy.mechanisms.discrete_gaussian import DiscreteGaussianMechanism
from tasks.privacy.mechanisms.frontier import Frontier
from tasks.storage.home import initialise_home

TEXTS = ("Statement 0.", "Statement 1.", "Statement 2.")
KINDS: dict[str, dict[str, Any]] = {
    "weighted": {"weights": ["1", "2", "1"]},
    "gaussian": {"mechanism": "discrete_gaussian", "parameters": PARAMETERS["discrete_gaussian"]},
    "topk": {"mechanism": "topk", "parameters": PARAMETERS["topk"]},
}
QUESTION, ANSWER = ("payload", "question"), ("payload", "answer")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """One certificate of each kind on one account, with a changed cap and an accepted gap in its chain."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PRIVCERT_LOG_URL", raising=False)
        desk = Desk(initialise_home(tmp_path_factory.mktemp("types") / "home", on_purpose=True))
        desk.log.set_cap("reviews", Decimal(99), delta=Decimal("0.001"))
        desk.log.set_cap("reviews", Decimal(80), delta=Decimal("0.001"))
        [partition] = desk.register(desk.stage(n=80))
        backup = desk.back_up()
        desk.publish(ask(partition, "0.5", 9))
        desk.restore(backup)
        desk.log.accept_gap(Decimal("0.5"), "restored", delta=Decimal(0))
        return {kind: write(desk, ask(partition, "4", statements=TEXTS, **asked)) for kind, asked in KINDS.items()}


def write(desk: Desk, question: Any) -> bytes:
    sealed = desk.log.seal(question, [40] * len(TEXTS))
    desk.log.ask_threshold(sealed.release_key, THETA)
    return desk.log.write_certificate(sealed.release_key, THETA).read_bytes()


def resealed(document: Document) -> bytes:
    """With the charge in the last entry too."""
    document = copy.deepcopy(document)
    document["chain"][-1]["body"] |= document["payload"]["charge"]
    return reseal(document)


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Every value with its place, containers too."""
    if path:
        yield path, value
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, child in children:
        yield from places(child, (*path, step))


def look_alikes(value: Any) -> list[Any]:
    """Other types and spellings that Python's operators may take for it."""
    if isinstance(value, list):
        counted = {str(item): 1 for item in value if not isinstance(item, dict)}
        return ["", {}, None, counted, "".join(map(str, value)), [[item] for item in value]]
    if isinstance(value, dict):
        return [[], "", None, list(value), list(value.items())]
    if isinstance(value, int):
        return [str(value), [value], None] + ([bool(value)] if value in (0, 1) else [])
    if value is None:
        return [[], {}, 0, False]
    same = [None, 7, True, [value], list(value), {value: 1}]
    if not value.replace("/", "").replace(".", "").isdigit():
        return same
    return [*same, f"0{value}", f"{value}/1", f"{value}e0", f"+{value}", f" {value}", f"{value}\n", f"{value}.0"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_other_type_or_spelling_anywhere_is_refused(kind: str, written: dict[str, bytes]) -> None:
    genuine: Document = json.loads(written[kind])
    fits = resealed(genuine)
    assert verify(fits)[:-1] == verify(written[kind])[:-1]
    seen, unnoticed = 0, []
    for path, value in places(genuine):
        if path[0] in ("signature", "public_key") or path[-1] in ("release_key", "body_sha256", "hash"):
            continue  # these are made to fit
        for other in look_alikes(value):
            document = copy.deepcopy(genuine)
            if other is None and path[0] == "chain" and path[-1] in ("unit_namespace", "rho"):
                continue  # a corpus without one, a gap that does not state it
            inner: Any = document
            for step in path[:-1]:
                inner = inner[step]
            inner[path[-1]] = other
            try:
                content = resealed(document)
            except (TypeError, KeyError, AttributeError, ValueError, IndexError):
                continue  # nothing that could be sealed
            if content == fits:
                continue
            seen += 1
            try:
                verify(content)
            except InvalidError as error:
                assert not str(error).startswith("signature"), (path, other, str(error))
            else:
                unnoticed.append((path, value, other))
    assert unnoticed == []
    assert seen > 1000


def counted_weights(times: dict[str, int], epsilon: Fraction = Fraction(4)) -> Callable[[Document], None]:
    """Weights as an object of multiplicities, with groups, charge and rho that fit its own arithmetic."""

    def alter(document: Document) -> None:
        total = sum(int(weight) * number for weight, number in times.items())
        groups, squares = [], Fraction(0)
        for weight in sorted(times, key=int):
            share = Fraction(int(weight), total)
            made = Frontier.calibrated(epsilon * share, Fraction(1, 20) * share)
            groups.append(
                {"weight": weight, "epsilon_per_statement": str(epsilon * share)}
                | {"beta_per_statement": str(made.beta), "scale": str(made.scale)}
                | {"margin_units": str(made.margin), "coin": str(made.coin)}
            )
            squares += times[weight] * (epsilon * share) ** 2
        document["payload"]["question"]["weights"] = times
        document["payload"]["answer"]["groups"] = groups
        document["payload"]["charge"]["rho"] = exact_text(squares / 2)

    return alter


@pytest.mark.parametrize("times", [{"1": -1, "2": -1, "5": 1}, {"1": 1, "2": 1, "5": 1}, {"1": -1, "2": 1, "3": 0}])
def test_weights_that_are_no_list_charge_nothing_less(times: dict[str, int], written: dict[str, bytes]) -> None:
    document: Document = json.loads(written["weighted"])
    counted_weights(times)(document)
    with pytest.raises(InvalidError, match="format: weights of the question is not a list"):
        verify(resealed(document))


def test_the_split_itself_takes_no_counted_weights(written: dict[str, bytes]) -> None:
    question = json.loads(written["weighted"])["payload"]["question"]
    assert sum(verifier._split(question).times.values()) == 3
    for times in ({"1": -1, "2": 1}, {"1": 2, "2": 1}):
        with pytest.raises(InvalidError, match="weights: their shares"):
            verifier._split(question | {"weights": times})


def far_margin(epsilon: str, beta: str, sigmas: int) -> Callable[[Document], None]:
    """A Gaussian answer with sigma above 5000 whose margin lies so many sigmas out."""

    def alter(document: Document) -> None:
        question, answer = document["payload"]["question"], document["payload"]["answer"]
        delta = Fraction(question["parameters"]["delta"])
        design = Design(80, 3, Fraction(epsilon), Fraction(beta), Scope.CANDIDATE, delta)
        made = DiscreteGaussianMechanism.designed(design)
        question.update(epsilon=epsilon, beta=beta, scope="candidate")
        answer["groups"][0].update(beta_per_statement=str(Fraction(beta)), scale=str(made.sigma))
        answer["groups"][0]["margin_units"] = str(int(made.sigma * sigmas))
        document["payload"]["charge"] = loss_fields(DiscreteGaussianMechanism.loss(design))

    return alter


@pytest.mark.parametrize("sigmas", [44, 100, 2000])
def test_a_margin_that_no_beta_needs_is_refused_before_any_tail_is_computed(
    sigmas: int, written: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    document: Document = json.loads(written["gaussian"])
    far_margin("0.0001", "1E-400", sigmas)(document)  # sqrt(2 ln 10^400) is 42.9

    def never(j: int, sigma: Fraction) -> Fraction:
        raise AssertionError(f"a tail {j / sigma} sigmas out")

    monkeypatch.setattr(verifier, "_gaussian_tail", never)
    with pytest.raises(InvalidError, match="mechanism: the margin is too large"):
        verify(resealed(document))


@pytest.mark.parametrize("text", ["1E-401", "1E-999", "0." + "1" * 61, "1" * 61])
@pytest.mark.parametrize("place", [("epsilon",), ("beta",), ("parameters", "delta")])
def test_a_decimal_that_cannot_be_asked_for_is_refused(
    text: str, place: tuple[str, ...], written: dict[str, bytes]
) -> None:
    document: Document = json.loads(written["gaussian"])
    put(*QUESTION, *place, value=text)(document)
    with pytest.raises(InvalidError, match="question: a decimal of more than 60 digits, or out of reach"):
        verify(resealed(document))


def test_the_furthest_margin_that_can_be_asked_for_is_verified(desk: Desk) -> None:
    desk.log.set_cap("reviews", Decimal(80), delta=Decimal("0.001"))
    [partition] = desk.register(desk.stage(n=80))
    asked = KINDS["gaussian"] | {"beta": Decimal("1e-400"), "scope": Scope.CANDIDATE}
    assert len(verify(write(desk, ask(partition, "0.0001", statements=TEXTS, **asked)))) == 15


def test_a_rho_below_what_the_noise_loses_is_refused_however_close(written: dict[str, bytes]) -> None:
    document: Document = json.loads(written["gaussian"])
    scale = Fraction(document["payload"]["answer"]["groups"][0]["scale"])
    digits = int(Fraction(3) / (2 * scale**2) * 10**40)  # rounded down by less than 1e-40
    put("payload", "charge", "rho", value=exact_text(Fraction(digits, 10**40)))(document)
    with pytest.raises(InvalidError, match="charge: rho is not what the mechanism loses"):
        verify(resealed(document))


def test_weights_in_lowest_terms_may_have_more_digits_than_any_that_was_written(desk: Desk) -> None:
    desk.log.set_cap("reviews", Decimal(80))
    [partition] = desk.register(desk.stage(n=80))
    question = ask(partition, "4", statements=TEXTS, weights=["1000000", "0.00000123456789123", "1.00000000001"])
    assert max(len(weight) for weight in question.defining()["weights"]) == 24
    assert len(verify(write(desk, question))) == 15
    verifier._check_weights(question.defining() | {"weights": ["1" + "0" * 70, "1", "1"]})  # type: ignore[arg-type]
