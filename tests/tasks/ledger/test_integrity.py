"""What is altered in the database is found by check()."""

import datetime
import hashlib
import json
from decimal import Decimal

import pytest
from desk import Desk, ask

from schemas.errors import UserError
from tasks.ledger import chain, verifier
from tasks.ledger.canonical import canonical, digest
from tasks.ledger.chain import account_tag, append, entries, genesis, link_hash
from tasks.ledger.database import locked, open_engine, reading
from tasks.ledger.log import ReleaseLog
from tasks.storage.home import initialise_home

ALTERATIONS = {
    "a certificate": "UPDATE release SET payload = replace(payload, 'certificate_units\":[', 'certificate_units\":[1')",
    "a statement's text": "UPDATE release SET payload = replace(payload, '\"A\"', '\"Z\"')",
    "a payload's charge": (
        'UPDATE release SET payload = replace(payload, \'"charge":{"delta":"0","epsilon":"0.2"\', '
        '\'"charge":{"delta":"0","epsilon":"0.1"\')'
    ),
    "a lost release": "DELETE FROM release",
    "another release key": "UPDATE release SET release_key = 'g' || substr(release_key, 2)",
    "an entry's body": "UPDATE entry SET body = replace(body, '0.2', '0.1') WHERE kind = 'release'",
    "an entry's kind": "UPDATE entry SET kind = 'gap' WHERE sequence = 1",
    "an entry's day": "UPDATE entry SET day = '2001-01-01' WHERE sequence = 2",
    "an entry's account": "UPDATE entry SET account_tag = 'g' || substr(account_tag, 2) WHERE sequence = 3",
    "an entry without account": "UPDATE entry SET account_tag = NULL WHERE sequence = 3",
    "an entry's hash": "UPDATE entry SET hash = 'g' || substr(hash, 2) WHERE sequence = 2",
    "an entry's link": "UPDATE entry SET previous = 'g' || substr(previous, 2) WHERE sequence = 2",
    "an entry's body hash and hash": "UPDATE entry SET body = '{}', body_sha256 = 'f' WHERE sequence = 2",
    "a lost entry": "DELETE FROM entry WHERE sequence = 2",
    "a lost last entry": "DELETE FROM entry WHERE sequence = 4",
    "entries in another order": (
        "UPDATE entry SET sequence = 99 WHERE sequence = 2; UPDATE entry SET sequence = 2 WHERE sequence = 3;"
        "UPDATE entry SET sequence = 3 WHERE sequence = 99"
    ),
    "the head's hash": "UPDATE head SET hash = 'g' || substr(hash, 2)",
    "the head's number": "UPDATE head SET sequence = sequence + 1",
    "a smaller charge": "UPDATE charge SET epsilon = '0.1'",
    "a charge of less rho": "UPDATE charge SET rho = '0'",
    "a charge with a delta": "UPDATE charge SET delta = '0.1'",
    "a lost charge": "DELETE FROM charge",
    "a charge to another account": "UPDATE charge SET account = 'other'",
    "an invented charge": "INSERT INTO charge VALUES (1, 'reviews', 'reviews', 'all', NULL, '0.1', '0', '0.005')",
    "a higher cap": "UPDATE cap SET epsilon = '100'",
    "a lost cap": "DELETE FROM cap",
    "an invented cap": "INSERT INTO cap VALUES ('other', 'pure', '1', NULL, NULL)",
    "another composition": "UPDATE cap SET composition = 'approximate', delta = '0.1'",
    "a corpus on another account": "UPDATE corpus SET account = 'other'",
    "a corpus made public": "UPDATE corpus SET visibility = 'public'",
    "a corpus whose units recur": "UPDATE corpus SET units_recur = 1",
    "another scheme": "UPDATE corpus SET scheme = replace(scheme, 'author', 'case')",
    "another n": "UPDATE partition SET n = n + 1",
    "a renumbered version": "UPDATE partition SET number = 2",
    "a lost partition": "DELETE FROM partition",
}


@pytest.fixture
def asked(desk: Desk) -> Desk:
    desk.log.set_cap("reviews", Decimal(1))
    [partition] = desk.register()
    desk.publish(ask(partition, "0.2"))
    desk.log.check()
    return desk


@pytest.mark.parametrize("what", ALTERATIONS)
def test_check_finds(what: str, asked: Desk) -> None:
    asked.alter(*ALTERATIONS[what].split(";"))
    with pytest.raises(UserError, match="altered") as caught:
        asked.log.check()
    assert "\n" not in str(caught.value)


def test_check_finds_a_chain_that_was_computed_anew(asked: Desk) -> None:
    """Who can write the database can also hash; what the release zone knows tells."""
    cap = {"account": "reviews", "before": None, "composition": "pure", "reason": None}
    body = json.dumps(cap | {"epsilon": "100", "delta": None, "rho": None}, sort_keys=True)
    body = body.replace(" ", "")
    body_sha256 = hashlib.sha256(body.encode()).hexdigest()
    tag = account_tag(asked.home.ledger_id, "reviews")
    first = link_hash(1, "cap", "2026-01-01", tag, body_sha256, genesis(asked.home.ledger_id))
    asked.alter(
        *(f"DELETE FROM {table}" for table in ("entry", "release", "charge", "partition", "corpus")),
        f"INSERT INTO entry VALUES (1, 'cap', '2026-01-01', '{tag}', '{body}', '{body_sha256}', "
        f"'{genesis(asked.home.ledger_id)}', '{first}')",
        f"UPDATE head SET sequence = 1, hash = '{first}'",
        "UPDATE cap SET epsilon = '100'",
    )
    with pytest.raises(UserError, match="restored backup"):
        asked.log.check()


def test_check_finds_a_chained_tag_of_another_account(asked: Desk) -> None:
    """Hashed with it, so that only computing it anew tells."""
    with reading(open_engine(asked.home.log_url)) as connection:
        *_, last = entries(connection)
    for tag in (account_tag(asked.home.ledger_id, "other"), None):
        value = link_hash(last.sequence, last.kind, last.day, tag, last.body_sha256, last.previous)
        said = "NULL" if tag is None else f"'{tag}'"
        asked.alter(
            f"UPDATE entry SET account_tag = {said}, hash = '{value}' WHERE sequence = {last.sequence}",
            f"UPDATE head SET hash = '{value}'",
        )
        with pytest.raises(UserError, match="altered: entry 4 has the tag of another account"):
            asked.log.check()


def test_every_entry_but_a_gap_has_the_tag_of_its_account(asked: Desk) -> None:
    asked.log.set_cap("other", Decimal(1))
    with reading(open_engine(asked.home.log_url)) as connection:
        tags = [(entry.kind, entry.account_tag) for entry in entries(connection)]
    own, other = (account_tag(asked.home.ledger_id, name) for name in ("reviews", "other"))
    assert tags == [("cap", own), ("corpus", own), ("partition", own), ("release", own), ("cap", other)]
    assert own is not None and len(own) == 16 and own != account_tag("another ledger", "reviews")


def test_an_entry_that_names_no_account_is_not_chained(asked: Desk) -> None:
    for kind, body in (("cap", {"epsilon": "1"}), ("partition", {"corpus": "unknown"}), ("note", {})):
        engine = open_engine(asked.home.log_url)
        with pytest.raises(ValueError, match="names its account"), locked(engine) as connection:
            append(connection, kind, body)
    asked.log.check()


def test_days_never_decrease_though_the_clock_does(asked: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chain, "today", lambda: datetime.date(2001, 1, 1))
    path = asked.publish(ask(asked.log.partitions("reviews")[0], "0.3", 2))
    days = [link["day"] for link in json.loads(path.read_bytes())["chain"]]
    assert days == sorted(days) and len(set(days)) == 1 and days[0] > "2026"
    verifier.verify(path.read_bytes())


def test_two_homes_cannot_use_one_log(asked: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    other = initialise_home(asked.home.root.with_name("other"), on_purpose=True)
    monkeypatch.setenv("PRIVCERT_LOG_URL", asked.home.log_url)
    with pytest.raises(UserError, match="belongs to another home"):
        ReleaseLog(other)


def test_a_home_with_the_id_of_a_log_and_another_key_cannot_use_it(asked: Desk) -> None:
    """Its keyed hashes would know no unit and no record again."""
    key = asked.home.private / "hash.key"
    own = key.read_bytes()
    key.write_bytes(bytes(32))
    with pytest.raises(UserError, match=r"hash\.key is not its own"):
        _ = asked.log
    key.write_bytes(own)
    asked.log.check()


def test_a_log_of_an_older_version_learns_the_key_of_its_own_home_only(
    asked: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked.alter("DROP TABLE keeper")
    other = initialise_home(asked.home.root.with_name("other"), on_purpose=True)
    with monkeypatch.context() as elsewhere, pytest.raises(UserError, match="belongs to another home"):
        elsewhere.setenv("PRIVCERT_LOG_URL", asked.home.log_url)
        ReleaseLog(other)
    asked.log.check()
    (asked.home.private / "hash.key").write_bytes(bytes(32))
    with pytest.raises(UserError, match=r"hash\.key is not its own"):
        _ = asked.log


def test_a_release_of_a_version_that_sealed_no_code_is_read_and_given_again(desk: Desk) -> None:
    desk.log.set_cap("reviews", Decimal(1))
    [partition] = desk.register()
    payload = desk.seal(ask(partition, "0.2")).payload
    del payload["code_digest"]
    with reading(open_engine(desk.home.log_url)) as connection:
        *_, last = entries(connection)
    body = canonical(json.loads(last.body) | {"payload_sha256": digest(payload)}).decode()
    body_sha256 = hashlib.sha256(body.encode()).hexdigest()
    value = link_hash(last.sequence, last.kind, last.day, last.account_tag, body_sha256, last.previous)
    desk.alter(
        f"UPDATE release SET payload = '{canonical(payload).decode()}'",
        f"UPDATE entry SET body = '{body}', body_sha256 = '{body_sha256}', hash = '{value}' WHERE hash = '{last.hash}'",
        f"UPDATE head SET hash = '{value}'",
    )
    desk.log.check()
    verifier.verify(desk.publish(ask(partition, "0.2")).read_bytes())
    assert desk.seal(ask(partition, "0.2")).payload == payload and len(desk.releases()) == 1


def test_a_release_zone_of_another_log_is_refused(asked: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PRIVCERT_LOG_URL", raising=False)  # the other home has a log of its own
    other = Desk(initialise_home(asked.home.root.with_name("other"), on_purpose=True))
    (other.home.release / "chain_head.json").write_bytes((asked.home.release / "chain_head.json").read_bytes())
    with pytest.raises(UserError, match="another release log"):
        other.log.set_cap("reviews", Decimal(1))
