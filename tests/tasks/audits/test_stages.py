"""The audit without an orchestrator: exactly once, whatever happens."""

import datetime
import json
import shutil
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from schemas.errors import UserError
from tasks.audits import stages
from tasks.audits.guard import guarded
from tasks.audits.publishing import rebuild_everything
from tasks.audits.results import run_results
from tasks.audits.stages import certify_stage, ingest_stage, propose_stage, run_audit, score_stage
from tasks.ledger import verifier
from tasks.ledger.export import public_key
from tasks.ledger.log import ReleaseLog
from tasks.privacy import noise
from tasks.privacy.mechanisms import RELEASE_MECHANISMS
from tasks.storage import crash
from tasks.storage.crash import CRASH_POINTS
from tasks.storage.home import initialise_home
from tests.audits import DISLIKES, KILLED, LIKES, capped, in_child, new_run, release_files, settings_for, write_corpus


@pytest.fixture
def corpus(tmp_path):
    return write_corpus(tmp_path / "reviews.parquet")


def spent(home) -> str:
    return ReleaseLog(home).budget_lines()[0].epsilon.spent or ""


def audit(home, settings) -> dict:
    run = new_run(home, settings)
    run_audit(run)
    return run_results(run)


def test_one_command_gives_certificates_that_anyone_can_verify(home, corpus):
    results = audit(capped(home), settings_for(corpus, epsilon=Decimal(8)))
    part = results["partitions"][0]
    assert part["n"] == 40
    assert len(part["emitted"]) + part["abstained"] == 12
    lines = verifier.verify(Path(part["certificate"]).read_bytes(), public_key(home))
    assert lines[-1] == "signature: made with the trusted key"
    assert spent(home) == "8"


TAKES: dict[str, dict[str, object]] = {
    "frontier": {},
    "geometric": {},
    "staircase": {},
    "discrete_gaussian": {"delta": Decimal("0.00001")},
    "hist": {"contributions": 2},
    "svt": {"selected": 3, "selection_share": Decimal("0.5")},
    "topk": {"selected": 3, "selection_share": Decimal("0.5")},
}


@pytest.mark.parametrize("mechanism", RELEASE_MECHANISMS)
def test_every_mechanism_is_released_once_from_a_corpus_and_verified(home, corpus, monkeypatch, mechanism):
    ReleaseLog(home).set_cap("reviews", Decimal(100), delta=Decimal("0.0001"))
    settings = settings_for(corpus, epsilon=Decimal(60), statements=60, mechanism=mechanism, **TAKES[mechanism])
    first = audit(home, settings)
    before = release_files(home)
    monkeypatch.setattr(noise, "draw", None)
    second = audit(home, settings)
    assert (second["partitions"], release_files(home)) == (first["partitions"], before)
    [part] = first["partitions"]
    assert part["mechanism"] == mechanism and part["meaning"] == RELEASE_MECHANISMS[mechanism].meaning
    assert part["parameters"].keys() == RELEASE_MECHANISMS[mechanism].takes - {"weights"}
    assert part["charge"]["delta"] == ("0.00001" if mechanism == "discrete_gaussian" else "0")
    assert sum(part["abstain_reasons"].values()) == part["abstained"] == 60 - len(part["emitted"])
    assert 0 < len(part["emitted"]) <= (3 if "selected" in part["parameters"] else 60)
    lines = verifier.verify(Path(part["certificate"]).read_bytes(), public_key(home))
    assert any(line.startswith(f"mechanism: {mechanism}") for line in lines)
    assert part["meaning"] in Path(part["report"]).read_text()
    assert spent(home) == "60"


def test_hist_counts_what_was_bounded_unit_by_unit(home, corpus, monkeypatch):
    """Every author supports several statements, and counts for one of them."""
    counted = []
    real = noise.draw
    monkeypatch.setattr(noise, "draw", lambda *asked: counted.append(asked[2]) or real(*asked))
    audit(capped(home), settings_for(corpus, statements=60))
    audit(home, settings_for(corpus, statements=60, mechanism="hist", contributions=1))
    free, bounded = counted
    assert sum(bounded) <= 40 < sum(free)
    assert all(few <= many for few, many in zip(bounded, free, strict=True))


def test_another_threshold_of_a_staircase_is_another_question(home, corpus):
    first = audit(capped(home), settings_for(corpus, mechanism="staircase"))
    second = audit(home, settings_for(corpus, mechanism="staircase", theta=Decimal("0.1")))
    assert spent(home) == "4"
    assert first["partitions"][0]["release_key"] != second["partitions"][0]["release_key"]
    with pytest.raises(UserError, match=r"theta: staircase answers at 0\.05 only"):
        ReleaseLog(home).write_certificate(first["partitions"][0]["release_key"], Decimal("0.1"))


def test_weights_of_a_statement_file_split_the_budget(home, corpus, tmp_path):
    file = tmp_path / "statements.txt"
    file.write_text("The reviewer liked the food.\t3\nThe reviewer disliked the service.\n")
    asked = {"domain": None, "statements_file": str(file), "declare_blind": True, "model": "nli-mini"}
    [part] = audit(capped(home), settings_for(corpus, **asked))["partitions"]
    payload = ReleaseLog(home).payload(part["release_key"])
    split = dict(zip(payload["described"]["statements"], payload["question"]["weights"], strict=True))
    assert split == {"The reviewer liked the food.": "3", "The reviewer disliked the service.": "1"}
    groups = {group["weight"]: group["epsilon_per_statement"] for group in payload["answer"]["groups"]}
    assert groups == {"1": "1/2", "3": "3/2"}
    verifier.verify(Path(part["certificate"]).read_bytes(), public_key(home))
    file.write_text("The reviewer liked the food.\t6\nThe reviewer disliked the service.\t2\n")
    audit(home, settings_for(corpus, **asked))  # the same proportions are the same question
    assert spent(home) == "2"
    with pytest.raises(UserError, match="weights: topk does not take them"):
        audit(home, settings_for(corpus, mechanism="topk", **asked, **TAKES["topk"]))


def test_the_same_command_again_scores_nothing_draws_nothing_and_charges_nothing(home, corpus, monkeypatch):
    first = audit(capped(home), settings_for(corpus))
    before = release_files(home)
    assert first["operator"]["pairs_scored"] == 48  # 4 distinct texts x 12 statements

    def refuse(*_):
        raise AssertionError("noise was drawn again")

    monkeypatch.setattr(noise, "draw", refuse)
    second = audit(home, settings_for(corpus))
    assert second["operator"] == {"pairs_scored": 0, "pairs_reused": 0, "answers_reused": 1}
    assert second["partitions"] == first["partitions"]
    assert release_files(home) == before
    assert spent(home) == "2"


def test_another_threshold_on_the_same_certificates_is_free(home, corpus, monkeypatch):
    first = audit(capped(home), settings_for(corpus))
    monkeypatch.setattr(noise, "draw", None)
    second = audit(home, settings_for(corpus, theta=Decimal("0.10")))
    assert spent(home) == "2"
    assert first["partitions"][0]["release_key"] == second["partitions"][0]["release_key"]
    assert first["partitions"][0]["certificate"] != second["partitions"][0]["certificate"]


def test_a_theta_of_sixty_digits_is_published_and_can_be_rebuilt(home, corpus):
    theta = Decimal("0." + "1" * 59)
    results = audit(capped(home), settings_for(corpus, theta=theta))
    assert Path(results["partitions"][0]["report"]).exists()
    assert len(rebuild_everything(home)) == 5


def test_a_clock_that_is_set_back_during_a_run_stops_no_publication(home, corpus):
    run = new_run(capped(home), settings_for(corpus))
    tomorrow = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=1)
    (run.folder / "started.json").write_text(json.dumps(tomorrow.isoformat()))
    run_audit(run)
    assert json.loads((run.folder / "summary.json").read_text())["seconds"] == 0


def test_another_edition_is_a_new_answer_and_is_charged(home, corpus):
    first = audit(capped(home), settings_for(corpus))
    second = audit(home, settings_for(corpus, edition=2))
    assert spent(home) == "4"
    assert first["partitions"][0]["release_key"] != second["partitions"][0]["release_key"]


def test_a_question_that_no_data_can_answer_is_refused_before_it_costs_unless_it_is_wanted(home, tmp_path):
    """n is public: with four authors the margin leaves nothing of any count."""
    few = write_corpus(tmp_path / "few.parquet", authors=4)
    asked = settings_for(few, epsilon=Decimal("0.5"), allow_vacuous=False)
    with pytest.raises(UserError, match=r"^vacuous: partition all has n = 4, .*`privcert plan` tells") as refused:
        audit(capped(home), asked)
    assert "--allow-vacuous" in str(refused.value)
    assert spent(home) == "0" and not ReleaseLog(home).release_keys()
    assert not list(home.scores.rglob("*.npz")) and not list(home.scores.rglob("*.parquet"))
    wanted = asked.model_copy(update={"allow_vacuous": True})
    [sealed] = audit(home, wanted)["partitions"]
    assert sealed["vacuous"] and spent(home) == "0.5"
    assert audit(home, asked)["partitions"][0]["release_key"] == sealed["release_key"]  # a sealed answer comes back
    assert spent(home) == "0.5"


@pytest.mark.parametrize("mechanism", ["staircase", "svt"])
def test_a_question_that_holds_at_one_theta_only_is_refused_where_nothing_can_reach_it(home, corpus, mechanism):
    """`privcert plan` calls it vacuous; a frontier, which answers every theta, is asked and says so of this one."""
    numbers = {"epsilon": Decimal(12), "theta": Decimal(1), "allow_vacuous": False}
    asked = settings_for(corpus, mechanism=mechanism, **TAKES[mechanism], **numbers)
    says = rf"^vacuous: partition all has n = 40, and {mechanism} answers at theta 1 only, where threshold 40 and "
    with pytest.raises(UserError, match=says) as refused:
        audit(capped(home, "1000"), asked)
    assert "at a lower theta or with a larger epsilon" in str(refused.value) and spent(home) == "0"
    [wanted] = audit(home, asked.model_copy(update={"allow_vacuous": True}))["partitions"]
    assert wanted["vacuous"] and spent(home) == "12"
    [lower] = audit(home, asked.model_copy(update={"theta": Decimal("0.5")}))["partitions"]
    assert not lower["vacuous"] and spent(home) == "24"
    every = settings_for(corpus, mechanism="frontier", **numbers)
    [answer] = audit(home, every)["partitions"]
    assert answer["vacuous"] and spent(home) == "36"


def test_replaced_content_is_charged_again_on_the_same_account(home, corpus):
    audit(capped(home, "4"), settings_for(corpus))
    write_corpus(corpus, opening="Again: ")
    with pytest.raises(UserError, match="--replace"):
        audit(home, settings_for(corpus))
    audit(home, settings_for(corpus, replace=True))
    assert spent(home) == "4"
    write_corpus(corpus, opening="Once more: ")
    with pytest.raises(UserError, match="budget"):
        audit(home, settings_for(corpus, replace=True))
    assert spent(home) == "4"


def test_unreadable_records_stop_registration_before_the_first_release_and_never_after(home, corpus):
    audit(capped(home), settings_for(corpus))
    rows = pq.read_table(corpus).to_pylist()
    pq.write_table(pa.Table.from_pylist([row | {"text": " "} for row in rows]), corpus)
    ReleaseLog(home).set_cap("new", Decimal(8))
    with pytest.raises(UserError, match="max_unreadable"):
        audit(home, settings_for(corpus, corpus="new", unit_namespace="new"))
    results = audit(home, settings_for(corpus, replace=True))
    assert results["partitions"][0]["n"] == 40


def test_records_that_are_gone_from_the_home_stop_a_new_question_by_name(home, corpus):
    audit(capped(home, "10"), settings_for(corpus))
    [folder] = (home.corpora / "reviews").iterdir()
    shutil.move(folder, folder.parent.parent.parent / "elsewhere")  # as in a home that was copied before
    before = spent(home)
    assert audit(home, settings_for(corpus))["partitions"][0]["n"] == 40  # a sealed answer needs no record
    with pytest.raises(UserError, match=r"records: those that were registered .* are not in this home; restore"):
        audit(home, settings_for(corpus, edition=2))
    assert spent(home) == before


@pytest.mark.parametrize("names", [(".",), ("units.parquet",), ("records/part-00000.parquet",)])
def test_versions_that_were_swapped_are_not_certified_for_each_other(home, tmp_path, monkeypatch, names):
    """Two months of 40 authors each, registered, then swapped as a whole or in part; before and after scoring."""
    rows = []
    for month, text in (("01", LIKES), ("02", DISLIKES)):
        authors = (f"author {month} {number}" for number in range(40))
        rows += [{"id": name, "author": name, "on": f"2026-{month}-03", "text": text} for name in authors]
    source = tmp_path / "months.parquet"
    pq.write_table(pa.Table.from_pylist(rows), source)
    grid = {"partition_column": "on", "time_grid": "month", "first_period": "2026-01", "last_period": "2026-02"}
    run = new_run(capped(home), settings_for(source, **grid))
    ingest_stage(run)
    propose_stage(run)
    score_stage(run, "2026-02")
    first, second = (home.corpora / "reviews" / one.version for one in run.partitions())
    for name in names:
        (first / name).rename(tmp_path / "aside")
        (second / name).rename(first / name)
        (tmp_path / "aside").rename(second / name)
    monkeypatch.setattr(stages, "score_version", None)  # nothing is scored
    says = rf"^records: what lies in the folder of version {first.name} is not what was registered .*restore"
    with pytest.raises(UserError, match=says):
        score_stage(run, "2026-01")
    with pytest.raises(UserError, match=says.replace(first.name, second.name)):
        certify_stage(run, "2026-02")
    assert spent(home) == "0" and ReleaseLog(home).release_keys() == []


def test_texts_that_were_replaced_under_their_old_keys_are_not_audited(home, corpus):
    audit(capped(home), settings_for(corpus))
    keys, before = ReleaseLog(home).release_keys(), spent(home)
    [folder] = (home.corpora / "reviews").iterdir()
    for part in folder.glob("records/*"):
        table = pq.read_table(part)
        texts = pa.array([DISLIKES] * len(table), table.schema.field("text").type)
        pq.write_table(table.set_column(table.schema.get_field_index("text"), "text", texts), part)
    shutil.rmtree(home.scores)
    run = new_run(home, settings_for(corpus, edition=2))
    ingest_stage(run)
    propose_stage(run)
    says = rf"^records: what lies in the folder of version {folder.name} is not what was registered .*restore"
    for stage in (score_stage, certify_stage):
        with pytest.raises(UserError, match=says):
            stage(run, "all")
    assert ReleaseLog(home).release_keys() == keys and spent(home) == before


def test_a_damaged_version_is_named_in_the_public_reason(home, corpus):
    audit(capped(home), settings_for(corpus))
    [folder] = (home.corpora / "reviews").iterdir()
    (folder / "units.parquet").write_bytes(b"")
    run = new_run(home, settings_for(corpus, edition=2))
    ingest_stage(run)
    propose_stage(run)
    says = rf"^records: units\.parquet of version {folder.name} cannot be read: .*; restore private/corpora"
    with pytest.raises(UserError, match=says):
        guarded(score_stage, str(home.root), run.run_id, "all")


def test_renaming_does_not_give_budget_back(home, corpus):
    audit(capped(home), settings_for(corpus))
    ReleaseLog(home).set_cap("other", Decimal(8))
    with pytest.raises(UserError, match="another private corpus"):
        audit(home, settings_for(corpus, corpus="other"))
    with pytest.raises(UserError, match="partition_column"):
        audit(home, settings_for(corpus, partition_column="author", partitions=("a", "b")))


def test_a_request_over_the_cap_scores_nothing(home, corpus):
    with pytest.raises(UserError, match="more than the 1 left of the cap 1"):
        audit(capped(home, "1"), settings_for(corpus))
    assert list(home.scores.iterdir()) == []
    assert spent(home) == "0"


def test_a_private_corpus_needs_a_cap(home, corpus):
    with pytest.raises(UserError, match="no cap"):
        audit(home, settings_for(corpus))


def test_a_restored_backup_is_noticed_and_can_be_accepted_at_a_price(home, corpus, tmp_path):
    audit(capped(home), settings_for(corpus))
    backup = tmp_path / "backup.sqlite"
    log_file = home.private / "release_log.sqlite"
    shutil.copy(log_file, backup)
    audit(home, settings_for(corpus, edition=2))
    for left in home.private.glob("release_log.sqlite*"):
        left.unlink()
    shutil.copy(backup, log_file)
    with pytest.raises(UserError, match="older than its own releases"):
        audit(home, settings_for(corpus, edition=3))
    ReleaseLog(home).accept_gap(Decimal(2), "restored from a backup", delta=Decimal(0))
    assert spent(home) == "4"
    audit(home, settings_for(corpus, edition=3))
    assert spent(home) == "6"


def test_nothing_heavy_is_imported_when_nothing_changed(home, corpus):
    audit(capped(home), settings_for(corpus))
    run = new_run(home, settings_for(corpus))
    code = (
        "import sys; from tasks.audits.run import open_run; from tasks.audits.stages import run_audit\n"
        f"run_audit(open_run({str(home.root)!r}, {run.run_id!r}))\n"
        "print([name for name in ('great_expectations', 'distributed', 'onnxruntime') if name in sys.modules])"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


def certified(home, settings) -> None:
    """The audit up to the sealed answer; publishing is a projection of it."""
    run = new_run(home, settings)
    ingest_stage(run)
    propose_stage(run)
    score_stage(run, "all")
    certify_stage(run, "all")


def answered_once(home) -> bool:
    log = ReleaseLog(home)
    log.check()
    return len(log.release_keys()) == 1 and [line.epsilon.spent for line in log.budget_lines()] == ["2"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "point", [point for point in CRASH_POINTS if point.split("_")[1] not in ("rename", "put", "fill")]
)
def test_killed_at_a_point_of_the_log_the_same_command_answers_once(point, tmp_path):
    """20 kills at each point: one sealed release and one charge, every time."""
    corpus = write_corpus(tmp_path / "reviews.parquet", authors=8)
    for attempt in range(20):
        home = capped(initialise_home(tmp_path / f"home{attempt}", on_purpose=True), "2")
        assert in_child(lambda home=home: certified(home, settings_for(corpus)), crash_at=point) == KILLED
        assert in_child(lambda home=home: certified(home, settings_for(corpus))) == 0
        assert answered_once(home)
        shutil.rmtree(home.root)


@pytest.mark.slow
@pytest.mark.parametrize("point", [point for point in CRASH_POINTS if "rename" in point])
def test_killed_while_a_file_is_renamed_the_same_command_leaves_whole_files(point, tmp_path):
    """20 kills, at the first, second, ... file that a run writes (and round again); the release zone's are the last."""
    corpus = write_corpus(tmp_path / "reviews.parquet", authors=8)
    whole = capped(initialise_home(tmp_path / "whole", on_purpose=True), "2")

    def counted() -> None:
        audit(whole, settings_for(corpus))
        (tmp_path / "files").write_text(str(crash._passed[point]))

    assert in_child(counted, crash_at=f"{point}:999") == 0
    files = int((tmp_path / "files").read_text())
    assert files >= 10
    for attempt in range(20):
        home = capped(initialise_home(tmp_path / f"home{attempt}", on_purpose=True), "2")
        place = f"{point}:{attempt % files + 1}"
        assert in_child(lambda home=home: audit(home, settings_for(corpus)), crash_at=place) == KILLED, place
        assert in_child(lambda home=home: audit(home, settings_for(corpus))) == 0
        assert answered_once(home)
        assert release_files(home).keys() == release_files_of(home, whole)
        shutil.rmtree(home.root)


def release_files_of(home, whole) -> set[str]:
    """The names of an undisturbed run's files, under this home's release key."""
    key, other = (ReleaseLog(one).release_keys()[0][:12] for one in (home, whole))
    return {name.replace(other, key) for name in release_files(whole)}
