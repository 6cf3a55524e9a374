"""The score cache on a real S3 server: what was put is known, whoever merges, refuses or dies meanwhile."""

import itertools
import pickle
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from object_store import ObjectStore
from test_cache import ALL_IDS, ALL_KEYS, FINGERPRINT, OTHER_FINGERPRINT, known_pairs, part_of

from schemas.errors import UserError
from tasks.storage.home import initialise_home
from tasks.storage.objects import StoredPath
from tasks.support import cache as cache_module
from tasks.support.cache import ScoreCache
from tests.audits import KILLED, in_child


@pytest.fixture
def cache(object_store: ObjectStore, tmp_path: Path) -> ScoreCache:
    """Of a home with a store."""
    store = f"s3://{object_store.new_bucket()}/home"
    return ScoreCache.of(initialise_home(tmp_path / "home", on_purpose=True, store=store), FINGERPRINT)


def test_what_was_put_is_known_before_and_after_merging(
    cache: ScoreCache, object_store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_module, "MERGE_FROM_PARTS", 20)
    assert known_pairs(cache) == set()
    pairs = [(row, column) for row in range(5) for column in range(4)]
    for row, column in pairs:
        seen = len(object_store.requests())
        cache.write(part_of([row], [column]))
        assert object_store.counted(seen) == {"put": 1}
    seen = len(object_store.requests())
    assert known_pairs(cache) == set(pairs)
    assert object_store.counted(seen) == {"list": 2, "get": 20}  # listed again: nobody merged meanwhile
    cache.compact()
    assert known_pairs(cache) == set(pairs)
    assert isinstance(cache.folder, StoredPath) and len(cache.folder.objects()) == 1


def test_models_have_prefixes_of_their_own(cache: ScoreCache) -> None:
    cache.write(part_of([1], [1]))
    other = ScoreCache(cache.folder.parent / OTHER_FINGERPRINT, OTHER_FINGERPRINT, cache.logs)
    assert known_pairs(other) == set() and known_pairs(cache) == {(1, 1)}


@pytest.mark.parametrize("damage", [b"", b"junk", None])
def test_a_damaged_part_is_set_aside_and_named_to_the_operator(cache: ScoreCache, damage: bytes | None) -> None:
    cache.write(part_of([1], [1]))
    assert isinstance(cache.folder, StoredPath)
    (part,) = cache.folder.objects()
    content = part.read_bytes() if damage is None else damage
    part.write_bytes(content[: len(content) // 2])
    cache.write(part_of([2], [2]))
    assert known_pairs(cache) == {(2, 2)}
    names = {path.name for path in cache.folder.objects()}
    assert f"refused-{part.name}" in names and part.name not in names and len(names) == 2
    assert part.name in (cache.logs / "scoring.log").read_text()


@pytest.mark.parametrize("point", ["before_put", "after_put"])
def test_killed_while_it_merges_nothing_is_lost(cache: ScoreCache, monkeypatch: pytest.MonkeyPatch, point: str) -> None:
    monkeypatch.setattr(cache_module, "MERGE_FROM_PARTS", 2)
    for row in range(4):
        cache.write(part_of([row], [row]))
    assert in_child(cache.compact, crash_at=point) == KILLED
    assert known_pairs(cache) == {(row, row) for row in range(4)}
    cache.compact()
    assert known_pairs(cache) == {(row, row) for row in range(4)}


def test_a_reader_that_meets_a_merge_still_sees_everything(
    cache: ScoreCache, object_store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_module, "MERGE_FROM_PARTS", 2)
    for row in range(4):
        cache.write(part_of([row], [row]))
    listed, merged = cache._sizes, []

    def merge_after_the_first_listing() -> object:
        sizes = listed()
        if not merged:
            merged.append(True)
            ScoreCache(cache.folder, FINGERPRINT, cache.logs).compact()
        return sizes

    monkeypatch.setattr(cache, "_sizes", merge_after_the_first_listing)
    assert known_pairs(cache) == {(row, row) for row in range(4)}


WRITER = """
import pickle, sys
from pathlib import Path
sys.path[:0] = {paths!r}
from test_cache import part_of, known_pairs
from tasks.support import cache as cache_module
cache_module.MERGE_FROM_PARTS = 4
cache = cache_module.ScoreCache(pickle.loads(bytes.fromhex({folder!r})), {fingerprint!r}, Path({logs!r}))
for at in range({first}, {last}):
    cache.write(part_of([at], list(range(19))))
    cache.compact()
    assert {{(at, column) for column in range(19)}} <= known_pairs(cache)
"""


def test_two_processes_write_and_merge_at_once_and_a_third_one_is_killed(
    cache: ScoreCache, object_store: ObjectStore
) -> None:
    """Each part is merged again and again with those of the others; whoever reads meanwhile never knows less."""
    root = Path(__file__).parents[3]
    shares = [(0, 15), (15, 30), (30, 40)]
    common = {"folder": pickle.dumps(cache.folder).hex(), "fingerprint": FINGERPRINT, "logs": str(cache.logs)}
    paths = [str(root), str(Path(__file__).parent), str(root / "tests")]
    scripts = [WRITER.format(paths=paths, first=first, last=last, **common) for first, last in shares]
    running = [subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE) for script in scripts]
    known: set[tuple[int, int]] = set()
    while any(process.poll() is None for process in running[:2]):
        before, known = known, known_pairs(cache)
        assert before <= known
        if running[2].poll() is None and any((at, 0) in known for at in range(31, 40)):
            running[2].send_signal(signal.SIGKILL)
    for process in running:
        _, error = process.communicate()
        assert process.returncode in (0, *((-signal.SIGKILL,) if process is running[2] else ())), error.decode()
    whole = known_pairs(cache)
    assert set(itertools.product(range(30), range(19))) | known <= whole
    assert {column for row, column in whole if row == 30} == set(range(19))


def test_out_of_reach_is_one_line_and_nothing_is_lost(cache: ScoreCache, object_store: ObjectStore) -> None:
    cache.write(part_of([1], [1]))
    object_store.way.stop()
    for ask in (cache.compact, lambda: cache.write(part_of([2], [2])), lambda: cache.read(ALL_KEYS, ALL_IDS)):
        with pytest.raises(UserError, match=r"^store: it does not answer .* run the same command again"):
            ask()
    object_store.way.start()
    assert known_pairs(cache) == {(1, 1)}


def test_the_home_itself_keeps_no_verdict(cache: ScoreCache, tmp_path: Path) -> None:
    cache.write(part_of([1], [1]))
    assert not (tmp_path / "home" / "private" / "scores").exists()
