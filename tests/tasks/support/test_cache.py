"""The score cache gives back what was put in, and never takes anything else for a verdict."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schemas.errors import UserError
from tasks.storage.home import Home
from tasks.support import cache as cache_module
from tasks.support.bits import pack, unpack
from tasks.support.cache import MERGE_FROM_PARTS, ContradictoryVerdictsError, ScoreCache, Verdicts
from tasks.support.texts import KEY

FINGERPRINT = hashlib.sha256(b"a model").hexdigest()
OTHER_FINGERPRINT = hashlib.sha256(b"another model").hexdigest()
ALL_KEYS = np.sort(np.array([hashlib.sha256(bytes([i])).digest() for i in range(40)], KEY))
ALL_IDS = [f"{number:032x}" for number in range(19)]
TRUTH = np.random.default_rng(5).random((len(ALL_KEYS), len(ALL_IDS))) < 0.4


def part_of(rows: list[int], columns: list[int], cells: np.ndarray | None = None) -> Verdicts:
    """What the truth says on these rows and columns, known in `cells` (everywhere when None)."""
    rows = sorted(rows)
    known = np.ones((len(rows), len(columns)), np.bool_) if cells is None else cells
    verdict = TRUTH[np.ix_(rows, columns)] & known
    return Verdicts(ALL_KEYS[rows], tuple(ALL_IDS[c] for c in columns), pack(known), pack(verdict))


def known_pairs(cache: ScoreCache) -> set[tuple[int, int]]:
    """What the cache knows; what it knows must be true."""
    found = cache.read(ALL_KEYS, ALL_IDS)
    known, verdict = unpack(found.known, len(ALL_IDS)), unpack(found.verdict, len(ALL_IDS))
    assert np.array_equal(verdict, TRUTH & known)
    return set(zip(*np.nonzero(known), strict=True))


row_sets = st.lists(st.integers(0, len(ALL_KEYS) - 1), min_size=1, max_size=9, unique=True)
column_lists = st.lists(st.integers(0, len(ALL_IDS) - 1), min_size=1, max_size=12, unique=True)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(row_sets, column_lists, st.integers(0, 2**32)), max_size=6), st.booleans())
def test_the_cache_knows_exactly_what_was_written_before_and_after_merging(
    home: Home, monkeypatch: pytest.MonkeyPatch, parts: list[tuple[list[int], list[int], int]], merge: bool
) -> None:
    monkeypatch.setattr(cache_module, "MERGE_FROM_PARTS", 2)
    cache = ScoreCache.of(home, FINGERPRINT)
    shutil.rmtree(cache.folder)
    cache.folder.mkdir()
    expected = set()
    for rows, columns, seed in parts:
        cells = np.random.default_rng(seed).random((len(rows), len(columns))) < 0.7
        cache.write(part_of(rows, columns, cells))
        expected |= {(sorted(rows)[r], columns[c]) for r, c in zip(*np.nonzero(cells), strict=True)}
    if merge:
        cache.compact()
        assert len(list(cache.folder.iterdir())) <= 1
    assert known_pairs(cache) == expected


def test_texts_and_statements_are_answered_in_the_order_asked_and_only_those(home: Home) -> None:
    cache = ScoreCache.of(home, FINGERPRINT)
    cache.write(part_of(list(range(40)), list(range(19))))
    rows, columns = [3, 4, 17], [11, 2, 18, 0]
    found = cache.read(ALL_KEYS[rows], [ALL_IDS[c] for c in columns])
    assert np.array_equal(unpack(found.verdict, 4), TRUTH[np.ix_(rows, columns)])


def test_models_do_not_see_each_others_verdicts(home: Home) -> None:
    ScoreCache.of(home, FINGERPRINT).write(part_of([1], [1]))
    assert known_pairs(ScoreCache.of(home, OTHER_FINGERPRINT)) == set()


def test_two_answers_to_one_question_are_refused_not_mixed(home: Home) -> None:
    cache, part = ScoreCache.of(home, FINGERPRINT), part_of([5], [1, 2])
    cache.write(part)
    cache.write(Verdicts(part.keys, part.statement_ids, part.known, part.verdict ^ np.uint8(1)))
    with pytest.raises(ContradictoryVerdictsError):
        cache.read(ALL_KEYS, ALL_IDS)


def _cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _no_parquet(path: Path) -> None:
    path.write_bytes(os.urandom(200))


def _foreign_table(path: Path) -> None:
    pq.write_table(pa.table({"text_key": [b"1"], "verdict": [True]}), path)


def _of_another_model(path: Path) -> None:
    path.write_bytes(cache_module._part_bytes(part_of([7], [0]), OTHER_FINGERPRINT))


def _one_verdict_turned(path: Path) -> None:
    table = pq.read_table(path)
    turned = bytes([table["verdict"][0].as_py()[0] ^ 1]) + table["verdict"][0].as_py()[1:]
    values = [turned, *table["verdict"].to_pylist()[1:]]
    column = pa.array(values, table.schema.field("verdict").type)
    pq.write_table(table.set_column(2, table.schema.field("verdict"), column), path)


def _rows_swapped(path: Path) -> None:
    table = pq.read_table(path)
    keys = pa.array(table["text_key"].to_pylist()[::-1], table.schema.field("text_key").type)
    pq.write_table(table.set_column(0, table.schema.field("text_key"), keys), path)


def _a_row_dropped(path: Path) -> None:
    pq.write_table(pq.read_table(path).slice(1), path)


DAMAGE = [_cut_short, _empty, _no_parquet, _foreign_table, _of_another_model, _one_verdict_turned, _rows_swapped]
DAMAGE += [_a_row_dropped]


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_torn_or_foreign_part_is_set_aside_named_to_the_operator_and_known_no_more(home: Home, damage) -> None:
    cache = ScoreCache.of(home, FINGERPRINT)
    cache.write(part_of([7, 8, 9], [0, 1, 2]))
    (damaged,) = cache.folder.iterdir()
    cache.write(part_of([20], [3]))
    damage(damaged)
    assert known_pairs(cache) == {(20, 3)}
    assert sorted(path.name[:8] for path in cache.folder.iterdir() if path.name.startswith("refused")) == ["refused-"]
    assert damaged.name in (home.private / "logs" / "scoring.log").read_text()
    assert known_pairs(cache) == {(20, 3)}


def test_a_flipped_bit_anywhere_in_a_part_is_noticed_or_means_nothing(home: Home) -> None:
    cache = ScoreCache.of(home, FINGERPRINT)
    content = bytearray(cache_module._part_bytes(part_of([7, 8], [0, 1, 2]), FINGERPRINT))
    whole = cache_module._part_of(bytes(content), FINGERPRINT)
    for position in range(0, len(content), 3):
        content[position] ^= 0x10
        path = cache.folder / ("0" * 32 + ".parquet")
        path.write_bytes(content)
        part = next((part for _, part in cache._read_parts({path: len(content)})), None)
        if part is not None:  # a byte that means nothing, such as a statistic
            assert part.statement_ids == whole.statement_ids
            for ours, theirs in ((part.keys, whole.keys), (part.known, whole.known), (part.verdict, whole.verdict)):
                assert np.array_equal(ours, theirs)
        content[position] ^= 0x10


def test_a_reader_that_meets_a_merge_still_sees_everything(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = ScoreCache.of(home, FINGERPRINT)
    for row in range(MERGE_FROM_PARTS // 2):
        for column in range(2):
            cache.write(part_of([row], [column]))
    read, other, reads = ScoreCache._part_or_refused, ScoreCache.of(home, FINGERPRINT), []

    def merge_after_three_reads(self: ScoreCache, path: Path, content: bytes) -> Verdicts | None:
        if self is cache:
            reads.append(path)
            if len(reads) == 3:
                other.compact()
        return read(self, path, content)

    monkeypatch.setattr(ScoreCache, "_part_or_refused", merge_after_three_reads)
    assert known_pairs(cache) == {(row, column) for row in range(MERGE_FROM_PARTS // 2) for column in range(2)}
    assert len(list(cache.folder.iterdir())) == 1


def test_large_parts_and_unions_that_would_grow_too_large_are_left_alone(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_module, "MERGE_FROM_PARTS", 2)
    cache = ScoreCache.of(home, FINGERPRINT)
    for row in range(4):
        cache.write(part_of([row], [0, 1]))
    monkeypatch.setattr(cache_module, "MERGED_PART_BYTES", 2 * (32 + 2))
    cache.compact()
    assert len(list(cache.folder.iterdir())) == 3
    monkeypatch.setattr(cache_module, "SMALL_PART_BYTES", 1)
    cache.compact()
    assert len(list(cache.folder.iterdir())) == 3
    assert known_pairs(cache) == {(row, column) for row in range(4) for column in range(2)}


def test_what_a_crashed_writer_left_is_no_part_and_is_dropped_when_old(home: Home) -> None:
    cache = ScoreCache.of(home, FINGERPRINT)
    fresh, stale = (cache.folder / f".tmp-{name}-{'0' * 32}.parquet" for name in ("fresh", "stale"))
    for path in (fresh, stale):
        path.write_bytes(b"half a p")
    os.utime(stale, (1, 1))
    assert known_pairs(cache) == set()
    cache.compact()
    assert fresh.exists()
    assert not stale.exists()


def test_parts_and_folders_are_for_the_operator_only(home: Home) -> None:
    cache = ScoreCache.of(home, FINGERPRINT)
    cache.write(part_of([1], [1]))
    assert {path.stat().st_mode & 0o777 for path in cache.folder.iterdir()} == {0o600}
    assert {path.stat().st_mode & 0o777 for path in (cache.folder, cache.logs)} == {0o700}


@pytest.mark.parametrize("fingerprint", ["", "..", "A" * 64, "0" * 63, "0" * 64 + "\n"])
def test_a_fingerprint_that_is_no_digest_is_refused(home: Home, fingerprint: str) -> None:
    with pytest.raises(ValueError, match="SHA-256"):
        ScoreCache.of(home, fingerprint)


def test_a_read_only_or_full_disk_gives_one_clear_line_and_no_file(home: Home) -> None:
    """A child process that may write 1,000 bytes a file (RLIMIT_FSIZE): the kernel's own refusal."""
    script = f"""
import resource, sys
from pathlib import Path
import numpy as np
from schemas.errors import UserError
from tasks.storage.home import open_home
from tasks.support.cache import ScoreCache, Verdicts
from tasks.support.texts import KEY
cache = ScoreCache.of(open_home(Path(sys.argv[1])), {FINGERPRINT!r})
keys = np.sort(np.frombuffer(np.random.default_rng(1).bytes(32 * 200), KEY))
bits = np.ones((200, 1), np.uint8)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    cache.write(Verdicts(keys, ("0" * 32,), bits, bits))
except UserError as error:
    sys.exit(str(error))
"""
    command = [sys.executable, "-c", script, str(home.root)]
    child = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[3])
    assert child.returncode == 1
    assert child.stderr.splitlines() == [
        "the score cache in the home cannot be written (EFBIG): make room or access, then repeat the command"
    ]
    assert list((home.scores / FINGERPRINT).iterdir()) == []


@pytest.mark.skipif(not shutil.which("mount") or os.geteuid() != 0, reason="mounting a small disk needs root")
def test_a_small_disk_that_fills_up_loses_nothing_that_was_written(home: Home) -> None:
    cache = ScoreCache.of(home, FINGERPRINT)
    mount = ["mount", "-t", "tmpfs", "-o", "size=128k,mode=700", "tmpfs", str(cache.folder)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        columns = list(range(len(ALL_IDS)))
        with pytest.raises(UserError, match="ENOSPC"):
            for row in range(1000):
                cache.write(part_of([row % 40], columns))
                last = row
        assert known_pairs(cache) == {(row, column) for row in range(min(last + 1, 40)) for column in columns}
        assert not list(cache.folder.glob(".tmp-*"))
    finally:
        subprocess.run(["umount", str(cache.folder)], check=True)
