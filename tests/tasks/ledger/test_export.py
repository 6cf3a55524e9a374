"""A release as a file."""

import json
import os
from decimal import Decimal

import pytest
from desk import THETA, Desk, ask

from tasks.ledger import verifier
from tasks.ledger.export import DISCLOSURES, public_key


@pytest.fixture
def asked(desk: Desk) -> Desk:
    desk.log.set_cap("reviews", Decimal(2))
    [partition] = desk.register()
    desk.seal(ask(partition, "0.2"))
    return desk


def test_the_same_release_gives_the_same_bytes_whatever_came_after(asked: Desk) -> None:
    [key] = asked.log.release_keys()
    path = asked.log.write_certificate(key, THETA)
    first, written = path.read_bytes(), path.stat().st_mtime_ns
    asked.seal(ask(asked.log.partitions("reviews")[0], "0.3", 2))
    asked.log.set_cap("other", Decimal(1))
    assert asked.log.write_certificate(key, Decimal("0.050")) == path
    assert path.read_bytes() == first and path.stat().st_mtime_ns == written


def test_another_threshold_is_another_file_about_the_same_release(asked: Desk) -> None:
    [key] = asked.log.release_keys()
    low, high = (asked.log.write_certificate(key, Decimal(theta)) for theta in ("0", "1"))
    assert low != high
    documents = [json.loads(path.read_bytes()) for path in (low, high)]
    assert documents[0]["payload"] == documents[1]["payload"]
    assert {line["decision"] for line in documents[0]["decisions"]} == {"emit"}
    assert documents[1]["threshold_units"] == 100


def test_a_file_holds_the_bodies_that_concern_its_account_only(asked: Desk) -> None:
    asked.log.set_cap("secret-project", Decimal(1))
    asked.register(asked.stage(content="b"), corpus="secret-project")
    partition = asked.log.partitions("reviews")[0]
    path = asked.publish(ask(partition, "0.3", 2))
    assert b"secret-project" not in path.read_bytes()
    verifier.verify(path.read_bytes())
    hidden = [link for link in json.loads(path.read_bytes())["chain"] if "body" not in link]
    assert [link["kind"] for link in hidden] == ["cap", "corpus", "partition"]
    assert len({link["account_tag"] for link in hidden}) == 1 and hidden[0]["account_tag"] is not None


def test_a_file_holds_every_body_of_its_account_and_every_gap(asked: Desk) -> None:
    copy = asked.back_up()
    asked.publish(ask(asked.log.partitions("reviews")[0], "0.3", 2))
    asked.restore(copy)
    asked.log.accept_gap(Decimal("0.4"), "restored", delta=Decimal(0))
    path = asked.publish(ask(asked.log.partitions("reviews")[0], "0.3", 3))
    chain = json.loads(path.read_bytes())["chain"]
    assert [link["kind"] for link in chain if "body" in link] == [
        "cap", "corpus", "partition", "release", "gap", "release",
    ]  # fmt: skip
    assert [link["account_tag"] is None for link in chain] == [False] * 4 + [True, False]
    assert "budget: epsilon 0.9 of 2 spent on account reviews by then" in verifier.verify(path.read_bytes())


def test_the_verifier_expects_the_disclosures_that_are_written(asked: Desk) -> None:
    assert DISCLOSURES == verifier.DISCLOSURES


def test_a_file_says_what_is_not_certified(asked: Desk) -> None:
    [key] = asked.log.release_keys()
    said = " ".join(json.loads(asked.log.write_certificate(key, THETA).read_bytes())["disclosures"])
    for fact in (
        "one unit's records",
        "n are fixed and not protected",
        "unprotected precondition",
        "not certified",
        "replaced under a partition key",
        "version number",
        "a CSV quote that swallows rows",
        "not well-formed",
        "no record id was null",
        "no two unit ids looked alike",
        "also in another corpus",
    ):
        assert fact in said


def test_a_file_holds_no_private_value(asked: Desk) -> None:
    [key] = asked.log.release_keys()
    content = asked.log.write_certificate(key, THETA).read_bytes()
    document = json.loads(content)
    assert document["chain"][2]["kind"] == "partition"
    assert set(document["chain"][2]["body"]) - {"account"} == {"corpus", "partition", "version", "number", "n"}
    assert asked.home.hash_key().hex().encode() not in content
    assert asked.home.signing_seed().hex().encode() not in content
    assert document["public_key"] == public_key(asked.home)


def test_what_analysts_get_may_be_read_by_them_and_written_by_nobody_else(asked: Desk) -> None:
    [key] = asked.log.release_keys()
    before = os.umask(0)
    try:
        path = asked.log.write_certificate(key, THETA)
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o644 and path.parent.stat().st_mode & 0o777 == 0o755


def test_a_partition_name_never_leaves_the_folder(desk: Desk) -> None:
    desk.log.set_cap("reviews", Decimal(1))
    name = "../../etc/\u00e9 & co"
    [partition] = desk.register(desk.stage(name), partition_column="region", partitions=(name,))
    path = desk.publish(ask(partition, "0.2"))
    assert path.parent == desk.home.release / "certificates"
    verifier.verify(path.read_bytes())
