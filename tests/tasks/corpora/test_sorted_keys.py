"""A sorted set that may be larger than memory."""

from pathlib import Path

import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.corpora.sorted_keys import SortedKeys

keys = st.binary(min_size=32, max_size=32) | st.sampled_from([bytes(32), b"\xff" * 32, b"a" + bytes(31)])


@given(st.lists(st.lists(keys, max_size=6), max_size=8), st.sampled_from([32, 100, 10_000]))
@settings(deadline=None)
def test_keys_are_written_once_and_ascending(
    tmp_path_factory: object, batches: list[list[bytes]], buffered_bytes: int
) -> None:
    folder: Path = tmp_path_factory.mktemp("keys")  # type: ignore[attr-defined]
    sorted_keys = SortedKeys(folder, buffered_bytes)
    for batch in batches:
        sorted_keys.add(b"".join(batch))
    sorted_keys.write(folder / "keys.parquet")
    assert pq.read_table(folder / "keys.parquet")["record_key"].to_pylist() == sorted({k for b in batches for k in b})
    assert [path.name for path in folder.iterdir()] == ["keys.parquet"]
