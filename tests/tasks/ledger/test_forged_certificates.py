"""Whoever holds the key can make every hash fit; a false claim about one genuine log is refused all the same."""

import copy
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from certificates import Document, drop, put, reseal
from desk import THETA, Desk, ask

from tasks.cluster.code import product_digest
from tasks.ledger.verifier import InvalidError, verify
from tasks.storage.home import initialise_home

QUESTION, DESCRIBED, ANSWER = ("payload", "question"), ("payload", "described"), ("payload", "answer")
PARTITION = (*DESCRIBED, "partition")
CAP, OTHER_CAP, LOWER_CAP, CORPUS, VERSION, EARLIER, LAST = range(7)  # the chain of `written`


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The second edition of a question, on an account whose cap was lowered from 12 to 3 nats."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PRIVCERT_LOG_URL", raising=False)
        desk = Desk(initialise_home(tmp_path_factory.mktemp("forged") / "home", on_purpose=True))
        for account, cap in (("reviews", 12), ("other", 1), ("reviews", 3)):
            desk.log.set_cap(account, Decimal(cap))
        [partition] = desk.register(desk.stage(n=1000))
        desk.log.seal(ask(partition, "1"), [500, 0])
        sealed = desk.log.seal(ask(partition, "1", 2), [500, 0])
        return desk.log.write_certificate(sealed.release_key, THETA).read_bytes()


@pytest.fixture
def genuine(written: bytes) -> Document:
    document: Document = json.loads(written)
    return document


def every(*alterations: Callable[[Document], Any]) -> Callable[[Document], None]:
    """One after another."""

    def alter(document: Document) -> None:
        for alteration in alterations:
            alteration(document)

    return alter


def link(at: int, name: str, value: object) -> Callable[[Document], None]:
    """Replace one value of an entry's body."""
    return put("chain", at, "body", name, value=value)


def both(name: str, value: object) -> Callable[[Document], None]:
    """Replace what question and description both say."""
    return every(put(*QUESTION, name, value=value), put(*PARTITION, name, value=value))


def repeat(at: int) -> Callable[[Document], None]:
    """Chain an entry a second time."""

    def alter(document: Document) -> None:
        document["chain"].insert(at, copy.deepcopy(document["chain"][at]))
        for sequence, entry in enumerate(document["chain"], 1):
            entry["sequence"] = document["sequence"] = sequence

    return alter


def add(*path: str | int) -> Callable[[Document], None]:
    """Add a key that the format does not know."""

    def alter(document: Document) -> None:
        inner: Any = document
        for step in path:
            inner = inner[step]
        inner["certified_by"] = "an authority"

    return alter


def tag(at: int, of: int | None) -> Callable[[Document], None]:
    """Give an entry the account tag of another one, or none."""

    def alter(document: Document) -> None:
        document["chain"][at]["account_tag"] = None if of is None else document["chain"][of].get("account_tag")

    return alter


def reverse(document: Document) -> None:
    """The same question and the same answers with the statements in another order."""
    payload = document["payload"]
    for values in (
        payload["question"]["statement_ids"],
        payload["described"]["statements"],
        payload["answer"]["certificate_units"],
        document["decisions"],
    ):
        values.reverse()


def spelled(epsilon: str) -> Callable[[Document], None]:
    """The same epsilon in other characters, wherever it is written."""
    return every(
        put(*QUESTION, "epsilon", value=epsilon),
        put("payload", "charge", "epsilon", value=epsilon),
        link(LAST, "epsilon", epsilon),
    )


TOO_LITTLE = link(LOWER_CAP, "epsilon", "1.5")  # of the 2 nats that are spent

FORGED: dict[str, tuple[Callable[[Document], None], str]] = {
    "the own charge on another corpus": (every(TOO_LITTLE, link(LAST, "corpus", "elsewhere")), "entries: one is about"),
    "the own charge on another partition": (every(TOO_LITTLE, link(LAST, "partition", "east")), "seal: the partition"),
    "a note in the own entry": (link(EARLIER, "corpus", "reviews2"), "entries: one is about a corpus of another"),
    "private data called public": (put(*PARTITION, "visibility", value="public"), "registration: visibility"),
    "private data called public, without the cap": (
        every(
            put(*PARTITION, "visibility", value="public"), drop("chain", CAP, "body"), drop("chain", LOWER_CAP, "body")
        ),
        "entries: one of this account is withheld",
    ),
    "another unit": (both("unit", "case"), "registration: unit"),
    "another unit rule": (both("unit_rule", "folded"), "registration: unit_rule"),
    "another version": (
        every(put(*QUESTION, "partition_version", value="0" * 32), put(*PARTITION, "version", value="0" * 32)),
        "registration: corpus or version",
    ),
    "another version number": (put(*PARTITION, "number", value=2), "registration: number"),
    "another partition": (
        every(both("partition", "east"), link(LAST, "partition", "east")),
        "registration: partition",
    ),
    "another corpus": (
        every(both("corpus", "elsewhere"), link(LAST, "corpus", "elsewhere")),
        "entries: one is about a corpus of another account",
    ),
    "another account": (
        every(
            put(*PARTITION, "account", value="rich"),
            put(*PARTITION, "visibility", value="public"),
            link(LAST, "account", "rich"),
        ),
        "entries: one of this account is withheld, or another shown",
    ),
    "a larger n": (
        every(put(*PARTITION, "n", value=2000), put("threshold_units", value=100)),
        "registration: n is not",
    ),
    "a smaller n": (
        every(put(*PARTITION, "n", value=600), put("threshold_units", value=30)),
        "registration: n is not",
    ),
    "an earlier charge withheld": (drop("chain", EARLIER, "body"), "entries: one of this account is withheld"),
    "a lowered cap withheld": (drop("chain", LOWER_CAP, "body"), "entries: one of this account is withheld"),
    "the corpus withheld": (drop("chain", CORPUS, "body"), "entries: one of this account is withheld"),
    "the version withheld": (drop("chain", VERSION, "body"), "entries: one of this account is withheld"),
    "an earlier charge of no account": (
        every(drop("chain", EARLIER, "body"), tag(EARLIER, None)),
        "entries: only a gap concerns every account",
    ),
    "another account's entry counted as own": (tag(OTHER_CAP, CAP), "entries: one of this account is withheld"),
    "the version counted as another account's": (
        every(drop("chain", VERSION, "body"), tag(VERSION, OTHER_CAP)),
        "registration: corpus or version",
    ),
    "a corpus registered twice": (repeat(CORPUS), "entries: a corpus is registered twice"),
    "a version registered twice": (repeat(VERSION), "registration: corpus or version"),
    "a release sealed twice": (repeat(EARLIER), "entries: the same question was answered twice"),
    "a version that is not the first": (
        every(link(VERSION, "number", 2), put(*PARTITION, "number", value=2)),
        "registration: versions do not count",
    ),
    "an earlier release about an unknown partition": (link(EARLIER, "partition", "east"), "registration: a release"),
    "an entry of an unknown kind": (put("chain", OTHER_CAP, "kind", value="note"), "format: kind"),
    "an earlier release with a delta on a pure account": (link(EARLIER, "delta", "0.1"), "budget: a pure account with"),
    "another composition from some cap on": (
        every(link(LOWER_CAP, "composition", "approximate"), link(LOWER_CAP, "delta", "0.1")),
        "budget: the account's composition changed",
    ),
    "a cap on what the account does not count": (link(CAP, "rho", "1"), "budget: a cap does not count"),
    "edition 2 called 1": (put(*QUESTION, "edition", value=1), "entries: the same question was answered twice"),
    "edition -7": (put(*QUESTION, "edition", value=-7), "format: edition of the question has"),
    "edition 0": (put(*QUESTION, "edition", value=0), "format: the edition"),
    "edition true": (put(*QUESTION, "edition", value=True), "format: edition of the question has"),
    "edition as text": (put(*QUESTION, "edition", value="2"), "format: edition of the question has"),
    "an unknown unit support": (put(*QUESTION, "unit_support", value="banana"), "format: unit_support"),
    "an unknown unit rule": (
        every(both("unit_rule", "banana"), put("chain", CORPUS, "body", "scheme", "unit_rule", value="banana")),
        "format: unit_rule",
    ),
    "an unknown visibility": (
        every(put(*PARTITION, "visibility", value="secret"), link(CORPUS, "visibility", "secret")),
        "format: visibility",
    ),
    "an unknown way of partitioning": (
        put("chain", CORPUS, "body", "scheme", "partition_by", value="mood"),
        "format: partition_by",
    ),
    "an unknown key of the document": (add(), "format: the certificate has unknown keys"),
    "an unknown key of the payload": (add("payload"), "format: the payload has unknown keys"),
    "an unknown key of the question": (add(*QUESTION), "format: the question has unknown keys"),
    "an unknown key of the description": (add(*DESCRIBED), "format: the described has unknown keys"),
    "an unknown key of the partition": (add(*PARTITION), "format: the partition has unknown keys"),
    "an unknown key of the answer": (add(*ANSWER), "format: the answer has unknown keys"),
    "an unknown key of a link": (add("chain", OTHER_CAP), "format: the link has unknown keys"),
    "an unknown key of the own entry": (add("chain", LAST, "body"), "format: the release entry has unknown keys"),
    "no product": (drop("payload", "product"), "format: the payload lacks product"),
    "a code digest that is none": (put("payload", "code_digest", value="F" * 64), "format: code_digest of the payload"),
    "no disclosures": (put("disclosures", value=[]), "format: the disclosures"),
    "a disclosure left out": (drop("disclosures", 1), "format: the disclosures"),
    "other disclosures": (put("disclosures", value=["Everything is certified."]), "format: the disclosures"),
    "a day that is none": (put("chain", LAST, "day", value="2099-99-99"), "malformed: chain"),
    "a day in another spelling": (put("chain", LAST, "day", value="20990101"), "chain: a day"),
    "a day before the one before": (put("chain", CAP, "day", value="2099-01-01"), "chain: a day"),
    "statements in another order": (reverse, "statements: not in the order"),
    "epsilon in another spelling": (spelled("1.0"), "format: epsilon of the charge has"),
    "epsilon with an exponent": (spelled("1e0"), "format: epsilon of the charge has"),
    "epsilon as a fraction": (spelled("1/1"), "format: epsilon of the charge has"),
    "beta in another spelling": (put(*QUESTION, "beta", value="0.050"), "question: a decimal in another spelling"),
    "theta in another spelling": (put("theta", value="5e-2"), "question: a decimal in another spelling"),
    "a sampler that is no text": (put(*ANSWER, "sampler", value=["a die"]), "format: sampler of the answer has"),
}


def test_what_is_forged_here_is_genuine_before(genuine: Document, written: bytes) -> None:
    kinds = ["cap", "cap", "cap", "corpus", "partition", "release", "release"]
    assert [entry["kind"] for entry in genuine["chain"]] == kinds
    assert verify(reseal(genuine))[:-1] == verify(written)[:-1]
    assert "budget: epsilon 2 of 3 spent on account reviews by then" in verify(written)


@pytest.mark.parametrize("what", FORGED)
def test_a_forged_certificate_is_refused_for(what: str, genuine: Document) -> None:
    alter, says = FORGED[what]
    alter(genuine)
    with pytest.raises(InvalidError, match=says):
        verify(reseal(genuine))


def test_what_is_only_stated_is_named_so(genuine: Document, written: bytes) -> None:
    sampler = genuine["payload"]["answer"]["sampler"]
    assert verify(written)[-2] == (
        f"stated, not recomputed: model keyword with its fingerprint and description, sampler {sampler}, proposer file"
        f", drawn by {genuine['payload']['product']}, code {product_digest()[:12]}"
    )
    genuine["payload"]["described"]["proposer"] = "x" * 10_000
    assert verify(reseal(genuine))[-2].split(", drawn by ")[0].endswith("x...")


def test_a_release_of_a_version_that_sealed_no_code_is_verified(genuine: Document) -> None:
    drop("payload", "code_digest")(genuine)
    assert verify(reseal(genuine))[-2].endswith(", code not stated")


@pytest.mark.parametrize("epsilon", ["0.1", "1", "12.5", "3e-11", "1e-70", "1.5e-320", "123"])
def test_the_one_spelling_of_a_decimal_is_the_one_that_is_sealed(epsilon: str) -> None:
    from schemas.values import decimal_text
    from tasks.ledger.verifier import _is_spelled

    assert _is_spelled(decimal_text(Decimal(epsilon)))
    assert not _is_spelled(f"0{epsilon}") and not _is_spelled(f"{epsilon}/1")


def test_a_replaced_version_and_an_accepted_gap_are_verified(desk: Desk) -> None:
    desk.log.set_cap("reviews", Decimal(3))
    [first] = desk.register()
    copied = desk.back_up()
    desk.publish(ask(first, "0.5"))
    desk.restore(copied)
    desk.log.accept_gap(Decimal(1), "restored", delta=Decimal(0))
    [second] = desk.register(desk.stage(content="b"), replace=True)
    path = desk.publish(ask(second, "1"))
    shown = verify(path.read_bytes())
    assert "registration: reviews, all, version 2, n = 100, private" in shown
    assert "budget: epsilon 2 of 3 spent on account reviews by then" in shown
    document = json.loads(path.read_bytes())
    gap = next(at for at, entry in enumerate(document["chain"]) if entry["kind"] == "gap")
    drop("chain", gap, "body")(document)
    with pytest.raises(InvalidError, match="entries: one of this account is withheld"):
        verify(reseal(document))


def test_partitions_of_a_list_are_summed_apart_and_all_shown(desk: Desk) -> None:
    desk.log.set_cap("reviews", Decimal(1))
    two = desk.register(desk.stage("east"), desk.stage("west"), partition_column="region", partitions=("east", "west"))
    paths = [desk.publish(ask(partition, "1")) for partition in two]
    assert all("budget: epsilon 1 of 1 spent on account reviews by then" in verify(path.read_bytes()) for path in paths)
    document = json.loads(paths[1].read_bytes())
    assert all("body" in entry for entry in document["chain"])
    put("chain", -1, "body", "partition", value="east")(document)
    with pytest.raises(InvalidError, match="seal: the partition"):
        verify(reseal(document))
