"""Audits of a home whose records and verdicts lie on a real S3 server: the same answers, whatever dies or goes away."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from leaks import Secrets, find_leaks
from object_store import ObjectStore
from prefect_servers import clean_environment, server  # noqa: F401 (fixture)
from private_audits import CANARY, privcert, write

from schemas.audit import UnitSupport
from schemas.errors import UserError
from schemas.statements import Statement
from tasks.audits.publishing import refresh_operator_database
from tasks.audits.results import run_results
from tasks.audits.stages import certify_stage, ingest_stage, propose_stage, run_audit, score_stage, version_path
from tasks.ledger.log import ReleaseLog
from tasks.reporting.sql import run_sql
from tasks.storage import crash
from tasks.storage.home import Home, initialise_home, open_home
from tasks.storage.objects import StoredPath
from tasks.support import scoring
from tasks.support.counts import support_counts, unit_verdicts
from tests.audits import DISLIKES, KILLED, LIKES, capped, in_child, new_run, settings_for, write_corpus

OPTIONS = "--corpus reviews --unit author --domain restaurant-reviews --statements 60 --model keyword --epsilon 2"


@pytest.fixture
def stored_home(object_store: ObjectStore, tmp_path: Path) -> Callable[[str], Home]:
    """Makes homes, each with a store of its own and a cap for one audit."""

    def make(name: str = "home") -> Home:
        store = f"s3://{object_store.new_bucket()}/private/{name}"
        return capped(initialise_home(tmp_path / name, on_purpose=True, store=store), "2")

    return make


def audit(home: Home, source: Path, **changes: object) -> dict[str, object]:
    run = new_run(home, settings_for(source, **changes))
    run_audit(run)
    return run_results(run)


def private_answers(home: Home) -> tuple[list[int], np.ndarray]:
    """Support counts and verdicts, unit by unit, behind the only release."""
    log = ReleaseLog(home)
    (key,) = log.release_keys()
    payload = log.payload(key)
    question, texts = payload["question"], payload["described"]["statements"]
    version = home.corpora / "reviews" / question["partition_version"]
    asked = ([Statement.of(text) for text in texts], question["model_fingerprint"], UnitSupport.ANY, home)
    return support_counts(version, *asked).tolist(), unit_verdicts(version, *asked)


def answered_once(home: Home) -> bool:
    log = ReleaseLog(home)
    log.check()
    return len(log.release_keys()) == 1 and [line.epsilon.spent for line in log.budget_lines()] == ["2"]


def test_an_audit_from_a_store_has_the_verdicts_and_counts_of_one_from_the_disk(
    stored_home: Callable[[str], Home], object_store: ObjectStore, tmp_path: Path
) -> None:
    source = write_corpus(tmp_path / "reviews.parquet", authors=200, records=3)
    on_disk, stored = capped(initialise_home(tmp_path / "disk", on_purpose=True)), stored_home("stored")
    audit(on_disk, source, statements=60)
    seen = len(object_store.requests())
    results = audit(stored, source, statements=60)
    counted = object_store.counted(seen)
    ours, theirs = private_answers(stored), private_answers(on_disk)
    assert ours[0] == theirs[0] and np.array_equal(ours[1], theirs[1]) and 0 < ours[1].sum() < ours[1].size
    assert answered_once(stored)
    assert not (stored.private / "corpora").exists() and not (stored.private / "scores").exists()
    assert results["operator"]["pairs_scored"] > 0  # type: ignore[index]
    # five objects of the version, a part for each of few chunks; listings and reads do not grow with the chunks
    assert counted["put"] <= 5 + 8 and counted["list"] <= 10, counted
    again = audit(stored, source, statements=60)
    assert again["operator"]["answers_reused"] == 1 and answered_once(stored)  # type: ignore[index]


def test_workers_read_and_write_the_store_by_themselves(
    stored_home: Callable[[str], Home], object_store: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dask's own processes get a path, and find their credentials in their environment."""
    monkeypatch.setattr(scoring, "IN_PROCESS_SECONDS", 0.0)
    home, other = stored_home("home"), capped(initialise_home(tmp_path / "disk", on_purpose=True))
    source = write_corpus(tmp_path / "reviews.parquet", authors=60)
    audit(home, source, statements=60)
    monkeypatch.setattr(scoring, "IN_PROCESS_SECONDS", 60.0)
    audit(other, source, statements=60)
    ours, theirs = private_answers(home), private_answers(other)
    assert ours[0] == theirs[0] and np.array_equal(ours[1], theirs[1]) and answered_once(home)


def test_every_request_of_a_small_audit_is_accounted_for(
    stored_home: Callable[[str], Home], object_store: ObjectStore, tmp_path: Path
) -> None:
    home, source = stored_home("home"), write_corpus(tmp_path / "reviews.parquet")
    seen = len(object_store.requests())
    audit(home, source)
    first = object_store.counted(seen)
    seen = len(object_store.requests())
    audit(home, source)
    assert object_store.counted(seen)["put"] == 0
    print(f"requests of a small audit: {dict(first)}, asked again: {dict(object_store.counted(seen))}")  # noqa: T201
    assert sum(first.values()) <= 80


def test_records_kept_aside_are_known_to_the_operator(stored_home: Callable[[str], Home], tmp_path: Path) -> None:
    home = stored_home("home")
    rows = [(f"r{at}", f"author {at}", LIKES if at < 20 else DISLIKES) for at in range(39)] + [("bad", "author 3", " ")]
    audit(home, write(tmp_path / "reviews.parquet", rows))
    refresh_operator_database(home)
    answer = json.loads(str(run_sql(home, "select * from quarantined_records", operator=True, output="json")))
    assert "bad" in json.dumps(answer)


@pytest.mark.slow
def test_killed_at_each_put_the_same_command_answers_once(stored_home: Callable[[str], Home], tmp_path: Path) -> None:
    """While a version is uploaded, and while parts are written."""
    source = write_corpus(tmp_path / "reviews.parquet", authors=8)
    whole = stored_home("whole")

    def counted() -> None:
        audit(whole, source)
        (tmp_path / "puts").write_text(str(crash._passed["before_put"]))

    assert in_child(counted, crash_at="before_put:999") == 0
    puts, expected = int((tmp_path / "puts").read_text()), private_answers(whole)
    assert puts >= 5
    for place in [*(f"before_put:{at + 1}" for at in range(puts)), f"after_put:{puts}"]:
        home = stored_home(place.replace(":", "-"))
        assert in_child(lambda home=home: audit(home, source), crash_at=place) == KILLED, place
        assert in_child(lambda home=home: audit(home, source)) == 0, place
        assert answered_once(home), place
        found = private_answers(home)
        assert found[0] == expected[0] and np.array_equal(found[1], expected[1]), place


class Gone:
    """Takes the server away when it is asked to put so many parts of the score cache."""

    def __init__(self, store: ObjectStore, parts: int) -> None:
        self._store, self._left = store, parts
        store.way.before = self._look

    def _look(self, content: bytes) -> None:
        if content.startswith(b"PUT /") and b"/scores/" in content.split(b"\r\n", 1)[0]:
            self._left -= 1
            if self._left == 0:
                self._store.way.before = None
                self._store.way.stop()


@pytest.mark.slow
def test_a_server_that_goes_away_while_records_are_scored_stops_the_run_with_one_line(
    stored_home: Callable[[str], Home],
    object_store: ObjectStore,
    server: str,  # noqa: F811 (fixture)
    tmp_path: Path,
) -> None:
    """As a user runs it. Then the server is back: the same command charges once and scores only what was in flight."""
    home = stored_home("home")
    texts = [f"{LIKES if at % 2 else DISLIKES} {CANARY} table {at}." for at in range(4000)]
    rows = [(f"{CANARY}-{at}", f"{CANARY}-author-{at % 500}", text) for at, text in enumerate(texts)]
    source = write(tmp_path / "reviews.parquet", rows)
    command = [str(Path(sys.executable).parent / "privcert"), "audit", str(source), *OPTIONS.split(), "--json"]
    environment = clean_environment() | {"PRIVCERT_HOME": str(home.root), "PREFECT_API_URL": server}

    def run() -> "subprocess.CompletedProcess[str]":
        typed = [*command, "--theta", "0.05"]
        return subprocess.run(typed, env=environment, capture_output=True, text=True, timeout=300)

    Gone(object_store, parts=3)
    stopped = run()
    line = stopped.stderr.splitlines()[-1]
    assert stopped.returncode == 2, stopped.stderr
    assert line.startswith("privcert: store: it does not answer as it should") and "run the same command again" in line
    assert [budget.epsilon.spent for budget in ReleaseLog(home).budget_lines()] == ["0"]
    told = tmp_path / "told"
    told.mkdir()
    (told / "out").write_text(stopped.stdout)
    (told / "err").write_text(stopped.stderr)

    object_store.way.start()
    parts = [path for path in (home.scores).objects() if path.name.endswith(".parquet")]  # type: ignore[union-attr]
    assert len(parts) == 2
    kept = sum(known_pairs(part) for part in parts)
    ended = run()
    assert ended.returncode == 0, ended.stderr
    results = json.loads(ended.stdout)
    assert answered_once(home)
    assert results["operator"]["pairs_reused"] == kept > 0
    assert results["operator"]["pairs_scored"] == 4000 * 60 - kept
    for name, text in (("out", ended.stdout), ("err", ended.stderr)):
        (told / f"{name}2").write_text(text)
    secrets = Secrets(words=(CANARY, "secret-of-the-tests", "key-of-the-tests"))
    assert find_leaks([told, home.release], secrets) == []
    assert find_leaks([home.root], Secrets(words=("secret-of-the-tests",))) == []


def known_pairs(part: StoredPath) -> int:
    """How many pairs a part of the score cache holds."""
    with part.open() as file:
        known = pq.read_table(file, columns=["known"])["known"].to_pylist()
    return sum(byte.bit_count() for bits in known for byte in bits)


@pytest.mark.parametrize("what", ["bucket", "credentials", "server", "identity", "another's"])
def test_a_store_that_cannot_be_used_stops_the_run_before_anything_is_read_or_spent(
    stored_home: Callable[[str], Home], object_store: ObjectStore, tmp_path: Path, what: str
) -> None:
    home = stored_home("home")
    assert home.store is not None
    source, environment, bucket = write_corpus(tmp_path / "reviews.parquet"), {}, home.store.split("/")[2]
    if what == "bucket":
        object_store.files().rm(bucket, recursive=True)
    elif what == "credentials":
        nothing = str(tmp_path / "none")
        environment = dict.fromkeys(("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"), nothing)
        environment |= {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}
    elif what == "server":
        object_store.way.stop()
    else:
        identity = StoredPath(home.store) / "store.json"
        content = b"damaged" if what == "identity" else stored_identity(stored_home("other"))
        identity.write_bytes(content)
    refused = privcert(home.root, "audit", str(source), *OPTIONS.split(), "--theta", "0.05", **environment)
    assert refused.returncode == 2, refused.stderr
    assert refused.stderr.count("\n") == 1 and refused.stderr.startswith("privcert: store: ")
    says = {
        "bucket": "not there: restore the bucket",
        "credentials": "access is refused: check the credentials",
        "server": "does not answer as it should (EndpointConnectionError): check endpoint and network",
        "identity": "store.json cannot be read",
        "another's": "the store of another home",
    }
    assert says[what] in refused.stderr
    assert not [word for word in (bucket, "127.0.0.1", "-of-the-tests") if word in refused.stderr]
    log = ReleaseLog(open_home(home.root))
    assert log.partitions("reviews") == [] and [line.epsilon.spent for line in log.budget_lines()] == ["0"]
    assert not (home.private / "prefect").exists()


def stored_identity(home: Home) -> bytes:
    assert home.store is not None
    return (StoredPath(home.store) / "store.json").read_bytes()


def test_a_version_that_lost_objects_is_not_counted(
    stored_home: Callable[[str], Home], object_store: ObjectStore, tmp_path: Path
) -> None:
    home, source = stored_home("home"), write_corpus(tmp_path / "reviews.parquet")
    run = new_run(home, settings_for(source))
    ingest_stage(run)
    propose_stage(run)
    folder = version_path(run, run.partitions()[0])
    (folder / "units.parquet").unlink()  # type: ignore[call-arg]
    for stage in (score_stage, certify_stage):
        with pytest.raises(UserError, match="objects of a registered version are missing"):
            stage(run, "all")
    assert ReleaseLog(home).release_keys() == []


@pytest.mark.parametrize("name", ["units.parquet", "records/part-00000.parquet"])
def test_objects_that_were_swapped_or_damaged_are_not_certified(
    stored_home: Callable[[str], Home], tmp_path: Path, name: str
) -> None:
    """Two corpora of one account, with the same number of authors."""
    home, runs = stored_home("home"), []
    for corpus in ("first", "second"):
        source = write_corpus(tmp_path / f"{corpus}.parquet", opening=f"{corpus}: ")
        table = pq.read_table(source)
        authors = pc.binary_join_element_wise(table["author"], corpus, " ")
        pq.write_table(table.set_column(table.schema.get_field_index("author"), "author", authors), source)
        runs.append(new_run(home, settings_for(source, corpus=corpus, account="reviews")))
        ingest_stage(runs[-1])
        propose_stage(runs[-1])
    first, second = (version_path(run, run.partitions()[0]) for run in runs)
    ours, theirs = (StoredPath(f"{version}/{name}") for version in (first, second))
    kept, other = ours.read_bytes(), theirs.read_bytes()
    says = f"version {first.name} is not what was registered"
    for content, said in ((other, says), (kept[:-40], "cannot be read: it was altered or cut off"), (b"", "cut off")):
        ours.write_bytes(content)
        for stage in (score_stage, certify_stage):
            with pytest.raises(UserError, match=f"^records: .*{said}"):
                stage(runs[0], "all")
    assert ReleaseLog(home).release_keys() == []
    ours.write_bytes(kept)
    score_stage(runs[0], "all")
    certify_stage(runs[0], "all")
    assert answered_once(home)


def test_init_with_a_store_prints_it_and_keeps_it(object_store: ObjectStore, tmp_path: Path) -> None:
    url = f"s3://{object_store.new_bucket()}/reviews"
    made = json.loads(privcert(tmp_path / "home", "init", "--store", url, "--json").stdout)
    again = json.loads(privcert(tmp_path / "home", "init", "--json").stdout)
    assert made == again and made["store"] == url
    other = privcert(tmp_path / "home", "init", "--store", f"{url}-2")
    assert other.returncode == 2 and "in another store, for ever" in other.stderr
    object_store.way.stop()
    assert "does not answer" in privcert(tmp_path / "home", "init").stderr
    assert "does not answer" in privcert(tmp_path / "new", "init", "--store", f"{url}-3").stderr
    assert not (tmp_path / "new").exists()
