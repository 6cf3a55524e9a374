"""One machine against several: a scheduler, two workers and a PostgreSQL release log, each a process of its own."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from distributed import Client
from machines import PREFECT, SCHEDULER, WORKERS, Machines, machines
from sqlalchemy import Engine, create_engine, select

from schemas.audit import UnitSupport
from schemas.errors import UserError
from schemas.statements import Statement
from tasks.corpora.synthetic import DOMAIN, synthetic_reviews
from tasks.ledger.log import ReleaseLog
from tasks.ledger.tables import CHARGE, RELEASE
from tasks.statements.domains import load_domain
from tasks.storage.atomic import write_table
from tasks.storage.home import Home, initialise_home, open_home
from tasks.support.cache import ScoreCache
from tasks.support.counts import support_counts
from tasks.support.texts import index_texts
from tests.audits import write_corpus
from tests.postgresql_server import Server

PRIVCERT = str(Path(sys.executable).parent / "privcert")
OPTIONS = f"--corpus reviews --unit author --domain {DOMAIN} --epsilon 2 --theta 0.05 --allow-vacuous --json".split()
Environment = Mapping[str, str]


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    """A Prefect server, a scheduler, two workers."""
    with machines(tmp_path_factory.mktemp("machines"), PREFECT, SCHEDULER, *WORKERS) as started:
        yield started


def new_home(root: Path) -> Home:
    return initialise_home(root, on_purpose=True)


def cap(environment: Environment, epsilon: str) -> None:
    command = [PRIVCERT, "budget", "set", "reviews", "--epsilon", epsilon]
    subprocess.run(command, env=dict(environment), check=True, capture_output=True)


def begin(environment: Environment, source: Path, *options: str) -> "subprocess.Popen[str]":
    command = [PRIVCERT, "audit", str(source), *OPTIONS, *options]
    return subprocess.Popen(command, env=dict(environment), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def answer(process: "subprocess.Popen[str]") -> dict[str, Any]:
    out, error = process.communicate(timeout=400)
    assert process.returncode == 0, error
    said: dict[str, Any] = json.loads(out)
    return said


def alone(several: Machines, home: Home, **more: str) -> dict[str, str]:
    """Without the cluster: scoring starts processes of its own, if it needs any."""
    environment = several.environment(home.root, **more)
    del environment["DASK_SCHEDULER_ADDRESS"]
    return environment


def steps_of_the_cluster(several: Machines) -> int:
    """How many its tasks have made so far."""

    def steps(dask_scheduler: Any) -> int:
        return int(dask_scheduler.transition_counter)

    with Client(several.dask, set_as_default=False) as client:
        return int(client.run_on_scheduler(steps))


def verdicts_and_counts(home: Home) -> tuple[bytes, bytes, bytes, list[int]]:
    """Keys, known and verdict bits of every text and statement of the only release, and its support counts."""
    log = ReleaseLog(home)
    payload = log.payload(log.release_keys()[0])
    question, statements = payload["question"], [Statement.of(one) for one in payload["described"]["statements"]]
    version, fingerprint = home.corpora / "reviews" / question["partition_version"], question["model_fingerprint"]
    keys = index_texts(version).keys
    found = ScoreCache.of(home, fingerprint).read(keys, [statement.statement_id for statement in statements])
    counts = support_counts(version, statements, fingerprint, UnitSupport.ANY, home)
    return keys.tobytes(), found.known.tobytes(), found.verdict.tobytes(), [int(count) for count in counts]


@pytest.mark.slow
@pytest.mark.parametrize(("authors", "model", "statements"), [(60_000, "keyword", "100"), (50, "nli-mini", "30")])
def test_verdicts_and_counts_are_the_same_bit_for_bit(
    several: Machines, postgresql: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    authors: int, model: str, statements: str,
) -> None:  # fmt: skip
    source = tmp_path / "reviews.parquet"
    write_table(source, synthetic_reviews(authors, 7, load_domain(DOMAIN)))
    here, there = new_home(tmp_path / "here"), tmp_path / "there"
    shutil.copytree(here.root, there)  # the same keys, so that texts have the same names in both caches
    url = postgresql.create_database(f"same_{model.replace('-', '_')}")
    options = ("--model", model, "--statements", statements)
    environments = alone(several, here), several.environment(there, PRIVCERT_LOG_URL=url)
    before = steps_of_the_cluster(several)
    for environment in environments:
        cap(environment, "2")
        answer(begin(environment, source, *options))
    if steps_of_the_cluster(several) == before:
        pytest.skip("this machine scores so much by itself within seconds: nothing was given to the cluster")
    mine = verdicts_and_counts(here)
    monkeypatch.setenv("PRIVCERT_LOG_URL", url)
    theirs = verdicts_and_counts(open_home(there))
    assert mine == theirs
    assert any(mine[3]) and len(set(mine[3])) > 5


def sealed_and_charged(engine: Engine) -> tuple[list[str], list[tuple[str, str, str]]]:
    """Payloads of all releases; release, account and epsilon of all charges."""
    charges = select(CHARGE.c.release_key, CHARGE.c.account, CHARGE.c.epsilon)
    with engine.connect() as connection:
        payloads = connection.execute(select(RELEASE.c.payload).order_by(RELEASE.c.sequence)).scalars().all()
        return list(payloads), [tuple(row) for row in connection.execute(charges)]


def told(said: Mapping[str, Any]) -> list[Any]:
    """What a run says of its releases, and the certificate files that it wrote, to the byte."""
    return [said["partitions"], [Path(one["certificate"]).read_bytes() for one in said["partitions"]]]


@pytest.mark.slow
def test_one_release_key_has_one_answer_whichever_side_asks_first(
    several: Machines, postgresql: Server, tmp_path: Path
) -> None:
    """Two machines with one home and one log; one of them has the cluster. Each edition is another release key."""
    source = write_corpus(tmp_path / "reviews.parquet", authors=200)
    url, home = postgresql.create_database("one_answer"), new_home(tmp_path / "home")
    one = alone(several, home, PRIVCERT_LOG_URL=url)
    other = several.environment(home.root, PRIVCERT_LOG_URL=url)
    cap(one, "6")
    options = ("--model", "keyword", "--statements", "30")

    def ask(environment: Environment, edition: str) -> "subprocess.Popen[str]":
        return begin(environment, source, *options, "--edition", edition)

    at_once = [answer(asked) for asked in [ask(one, "1"), ask(other, "1")]]
    one_first = [answer(ask(environment, "2")) for environment in (one, other)]
    other_first = [answer(ask(environment, "3")) for environment in (other, one)]
    for first, second in (at_once, one_first, other_first):
        assert told(first) == told(second)
        assert {said["operator"]["answers_reused"] for said in (first, second)} == {0, 1}
    payloads, charges = sealed_and_charged(create_engine(url))
    assert [json.loads(text)["question"]["edition"] for text in payloads] == [1, 2, 3]
    assert len(set(charges)) == 3 and [charge[1:] for charge in charges] == [("reviews", "2")] * 3


@pytest.mark.parametrize("other", ["made anew", "made with the ledger id of the first"])
def test_a_home_with_other_keys_is_refused_by_name(
    other: str, postgresql: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = new_home(tmp_path / "first"), new_home(tmp_path / "second")
    monkeypatch.setenv("PRIVCERT_LOG_URL", postgresql.create_database(f"keys_{len(other)}"))
    ReleaseLog(first).set_cap("reviews", Decimal(1))
    if other != "made anew":
        shutil.copy(first.private / "home.json", second.private / "home.json")
    with pytest.raises(UserError, match="the release log belongs to another home"):
        ReleaseLog(open_home(second.root))
    assert len(ReleaseLog(first).budget_lines()) == 1
