"""What is altered in the database is found by check()."""

import hashlib
import json
from decimal import Decimal

import pytest
from desk import Desk, ask

from schemas.errors import UserError
from tasks.ledger.chain import genesis, link_hash
from tasks.ledger.log import ReleaseLog
from tasks.storage.home import initialise_home

ALTERATIONS = {
    "a certificate": "UPDATE release SET payload = replace(payload, 'certificate_units\":[', 'certificate_units\":[1')",
    "a statement's text": "UPDATE release SET payload = replace(payload, '\"A\"', '\"Z\"')",
    "a payload's charge": 'UPDATE release SET payload = replace(payload, \'"charge":"0.2"\', \'"charge":"0.1"\')',
    "a lost release": "DELETE FROM release",
    "another release key": "UPDATE release SET release_key = 'g' || substr(release_key, 2)",
    "an entry's body": "UPDATE entry SET body = replace(body, '0.2', '0.1') WHERE kind = 'release'",
    "an entry's kind": "UPDATE entry SET kind = 'gap' WHERE sequence = 1",
    "an entry's day": "UPDATE entry SET day = '2001-01-01' WHERE sequence = 2",
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
    "a lost charge": "DELETE FROM charge",
    "a charge to another account": "UPDATE charge SET account = 'other'",
    "an invented charge": "INSERT INTO charge VALUES (1, 'reviews', 'reviews', 'all', NULL, '0.1')",
    "a higher cap": "UPDATE cap SET epsilon = '100'",
    "a lost cap": "DELETE FROM cap",
    "an invented cap": "INSERT INTO cap VALUES ('other', '1')",
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
    asked.alter(ALTERATIONS[what])
    with pytest.raises(UserError, match="altered") as caught:
        asked.log.check()
    assert "\n" not in str(caught.value)


def test_check_finds_a_chain_that_was_computed_anew(asked: Desk) -> None:
    """Who can write the database can also hash; what the release zone knows tells."""
    body = json.dumps({"account": "reviews", "before": None, "epsilon": "100", "reason": None}, sort_keys=True)
    body = body.replace(" ", "")
    body_sha256 = hashlib.sha256(body.encode()).hexdigest()
    first = link_hash(1, "cap", "2026-01-01", body_sha256, genesis(asked.home.ledger_id))
    asked.alter(
        "DELETE FROM entry; DELETE FROM release; DELETE FROM charge; DELETE FROM partition; DELETE FROM corpus;"
        f"INSERT INTO entry VALUES (1, 'cap', '2026-01-01', '{body}', '{body_sha256}', "
        f"'{genesis(asked.home.ledger_id)}', '{first}');"
        f"UPDATE head SET sequence = 1, hash = '{first}'; UPDATE cap SET epsilon = '100'"
    )
    with pytest.raises(UserError, match="restored backup"):
        asked.log.check()


def test_two_homes_cannot_use_one_log(asked: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    other = initialise_home(asked.home.root.with_name("other"), on_purpose=True)
    monkeypatch.setenv("PRIVCERT_LOG_URL", f"sqlite:///{asked.database}")
    ReleaseLog(asked.home)
    with pytest.raises(UserError, match="belongs to another home"):
        ReleaseLog(other)


def test_a_release_zone_of_another_log_is_refused(asked: Desk) -> None:
    other = Desk(initialise_home(asked.home.root.with_name("other"), on_purpose=True))
    (other.home.release / "chain_head.json").write_bytes((asked.home.release / "chain_head.json").read_bytes())
    with pytest.raises(UserError, match="another release log"):
        other.log.set_cap("reviews", Decimal(1))
