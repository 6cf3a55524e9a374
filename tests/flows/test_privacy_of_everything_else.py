"""What is not certified tells nothing: non-interference, and canaries that are found nowhere.

What must be equal or clean is whatever a run writes: the release zone (databases, certificate files, reports, Data
Docs), exports, Prefect's own state, and what commands say.
"""

import json
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from injected import STEP
from leaks import SMALLEST_NUMBER, Secrets, find_leaks
from prefect_rows import masked, prefect_content
from private_audits import (
    CANARY,
    INJECTED,
    audit_arguments,
    canary_folder,
    capped_home,
    counts_of,
    everything_else,
    neighbouring_rows,
    plain_rows,
    privcert,
    unrelated_rows,
    write,
)

from tasks.ledger.log import ReleaseLog
from tasks.storage.home import open_home
from tests.audits import LIKES

AUTHORS = 12_007
CORPORA = {"plain": plain_rows, "neighbouring": neighbouring_rows, "unrelated": unrelated_rows}
OTHERS = [name for name in CORPORA if name != "plain"]


@dataclass(frozen=True, slots=True)
class Audited:
    """One audit and everything else that can be written of it.

    results: of the audit, without what is for the operator's eyes. said: all else that was printed.
    """

    root: Path
    exports: Path
    results: dict[str, Any]
    said: str


def audited(root: Path, source: Path, **environment: str) -> Audited:
    """Audit `source` in root/home with injected noise, then run all other commands, exports to root/exports."""
    home, exports = root / "home", root / "exports"
    exports.mkdir()
    done = privcert(home, *audit_arguments(source, "--json"), script=INJECTED, **environment)
    assert done.returncode == 0, done.stderr
    [key] = ReleaseLog(open_home(home)).release_keys()
    more = privcert(home, *everything_else(key, exports), script=INJECTED, **environment)
    assert more.returncode == 0, more.stdout + more.stderr
    results = {name: said for name, said in json.loads(done.stdout).items() if name not in ("operator", "run")}
    return Audited(home, exports, results, "\n".join([done.stderr, more.stdout, more.stderr]))


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Audited]:
    """The same audit of three corpora with equal n, in homes with equal keys at the same place; equal noisy answers.

    Noise can bring neighbours to the same answer, and then nothing else may tell them apart.
    """
    root = tmp_path_factory.mktemp("twins")
    capped_home(root / "template")
    found = {}
    for name, rows in CORPORA.items():
        shutil.copytree(root / "template", root / "home")
        one = audited(root, write(root / f"{name}.parquet", rows()))
        (root / name).mkdir()
        moved = {folder.name: folder.rename(root / name / folder.name) for folder in (one.root, one.exports)}
        found[name] = replace(one, root=moved["home"], exports=moved["exports"])
    return found


def test_the_corpora_have_other_counts_and_other_sizes(twins):
    counts = {name: counts_of(one.root) for name, one in twins.items()}
    assert {abs(a - b) for a, b in zip(counts["plain"], counts["neighbouring"], strict=True)} == {0, 1}
    assert counts["unrelated"] not in (counts["plain"], counts["neighbouring"])
    sizes = [
        sum(file.stat().st_size for file in (one.root / "private" / "corpora").rglob("*.parquet"))
        for one in twins.values()
    ]
    assert len(set(sizes)) == len(sizes)


def files_below(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("other", OTHERS)
def test_release_zone_and_exports_are_byte_identical(twins, other):
    for one, changed in (
        (twins["plain"].root / "release", twins[other].root / "release"),
        (twins["plain"].exports, twins[other].exports),
    ):
        files = files_below(one), files_below(changed)
        assert files[0].keys() == files[1].keys()
        assert [name for name in files[0] if files[0][name] != files[1][name]] == []


def test_that_was_everything(twins):
    """Each kind of file is among those that were compared; some statements were emitted, some were not."""
    release = files_below(twins["plain"].root / "release")
    folders = {Path(name).parts[0] for name in release}
    assert {"release.duckdb", "data-docs", "certificates", "reports"} <= folders
    assert len([name for name in release if name.startswith("reports/")]) == 3
    assert {"report.html", "certificate.json", "verifier.py"} == files_below(twins["plain"].exports).keys()
    [partition] = twins["plain"].results["partitions"]
    assert partition["emitted"] and partition["abstained"]


@pytest.mark.parametrize("other", OTHERS)
def test_prefect_knows_the_same_of_both_apart_from_run_ids_and_times(twins, other):
    one, changed = prefect_content(twins["plain"].root), prefect_content(twins[other].root)
    assert one.keys() == changed.keys()
    assert len(one["flow_run"]) == 1
    assert len(one["task_run"]) == 5
    for table in one:
        assert one[table] == changed[table], table


@pytest.mark.parametrize("other", OTHERS)
def test_commands_say_the_same(twins, other):
    assert twins["plain"].results == twins[other].results
    assert masked(twins["plain"].said) == masked(twins[other].said)


def private_numbers(home: Path) -> tuple[int, ...]:
    """Counts of this home that no release holds: of records, pairs, units that support something; no small one."""
    [summary] = [json.loads(path.read_text()) for path in (home / "private" / "runs").glob("*/summary.json")]
    [partition] = summary["partitions"]
    pairs, records = partition["pairs_scored"], partition["records"]
    counts = [*counts_of(home), *partition["unreadable"].values(), partition["duplicates"], records, pairs]
    return tuple(sorted({count for count in counts if count >= SMALLEST_NUMBER and count != partition["units"]}))


@pytest.fixture(scope="module")
def canaries(tmp_path_factory: pytest.TempPathFactory) -> tuple[Audited, Secrets]:
    """An audit of canaries, and what of it must be nowhere. The corpus is large, so that its counts are rare."""
    root = tmp_path_factory.mktemp("canaries")
    capped_home(root / "home")
    one = audited(root, canary_folder(root / f"{CANARY}-corpus", AUTHORS), **{STEP: "100"})
    return one, Secrets((CANARY,), private_numbers(one.root), AUTHORS)


def test_canaries_and_private_counts_are_found_nowhere_outside_the_private_zone(canaries):
    one, secrets = canaries
    assert len(secrets.numbers) >= 6
    assert one.results["partitions"][0]["emitted"]
    assert secrets.in_text(one.said + json.dumps(one.results)) == set()
    assert find_leaks([one.root / "release", one.exports, one.root / "private" / "prefect"], secrets) == []


def test_outcomes_of_validation_hold_no_word_of_the_corpus(canaries):
    """Counts they do hold, and they are private; the operator's database holds record ids as well."""
    one, secrets = canaries
    places = [one.root / "private" / "validation", one.root / "private" / "data-docs"]
    assert len(files_below(places[0])) == 3
    assert find_leaks(places, replace(secrets, numbers=())) == []
    assert find_leaks([one.root / "private" / "operator.duckdb"], secrets) != []


def test_a_run_with_real_noise_says_nothing_of_canaries_either(tmp_path):
    home = capped_home(tmp_path / "home")
    source = write(tmp_path / f"{CANARY}.parquet", canary_rows())
    done = privcert(home.root, *audit_arguments(source))
    assert done.returncode == 0, done.stderr
    assert CANARY not in done.stdout + done.stderr
    assert word_leaks(home.root) == []


def canary_rows() -> list[tuple[str, str, str]]:
    return [(f"{CANARY}-id-{at}", f"{CANARY}-unit-{at}", f"{LIKES} {CANARY} text {at}") for at in range(40)]


def word_leaks(home: Path) -> list[str]:
    places = [home / "release", home / "private" / "prefect", home / "private" / "validation"]
    return find_leaks([*places, home / "private" / "data-docs"], Secrets((CANARY,)))


FAILURES = {  # exit code; 0: after the first release, unreadable records never stop a run
    "record": 0,
    "unit": 2,
    "model": 1,
    "inputs": 2,
    "outputs": 1,
}


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with one release; tests copy it."""
    root = tmp_path_factory.mktemp("released")
    done = privcert(capped_home(root / "home").root, *audit_arguments(write(root / "good.parquet", plain_rows())))
    assert done.returncode == 0, done.stderr
    return root / "home"


@pytest.mark.parametrize("failure", FAILURES)
def test_a_failing_run_does_not_name_what_failed(failure, released, tmp_path):
    """Unreadable records, a null unit, a model that breaks in mid-scoring, failing suites: public reasons only."""
    home = shutil.copytree(released, tmp_path / "home")
    rows = canary_rows()[:20]
    if failure == "record":
        rows = [(name, unit, "" if at % 2 else text) for at, (name, unit, text) in enumerate(rows)]
    if failure == "unit":
        rows[7] = (rows[7][0], "", rows[7][2])
    source, script = write(tmp_path / f"{CANARY}.parquet", rows), None
    if failure in BROKEN_PARTS:
        script = tmp_path / "broken.py"
        script.write_text(f"{BROKEN_PARTS[failure]}\nimport flows.cli\nflows.cli.main()\n")
    again = privcert(home, *audit_arguments(source, "--replace"), script=script)
    assert again.returncode == FAILURES[failure], again.stdout + again.stderr
    assert len(again.stderr.strip().splitlines()) == (failure != "record")
    assert CANARY not in again.stdout + again.stderr
    assert word_leaks(home) == []


BROKEN_PARTS = {
    "model": """
from tasks.support.keyword import KeywordModel

def verdicts(self, texts, statements):
    raise RuntimeError(f"cannot read {texts[0]}")

KeywordModel.verdicts = verdicts
""",
    "inputs": """
import pyarrow as pa
from tasks.audits import inputs

def units(version_path, read=inputs._units):
    found = read(version_path)
    return found.set_column(1, "unit_id", pa.array([found["unit_id"][0].as_py()] * len(found)))

inputs._units = units
""",
    "outputs": f"""
from tasks.reporting import projection

def tables(log, read=projection.release_tables):
    found = read(log)
    table, schema = found["releases"]
    found["releases"] = table.set_column(table.schema.get_field_index("scope"), schema.field("scope"),
                                         [["{CANARY}"] * len(table)]), schema
    return found

projection.release_tables = tables
""",
}
