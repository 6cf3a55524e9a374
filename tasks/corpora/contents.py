"""What the records of a partition are, as one keyed hash: of what is staged, and again of what lies in the home.

The release log holds the hash of every registered version. A folder that holds anything else was altered, or swapped
with another: what is asked of it would be answered, and charged, about other records.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from schemas.errors import UserError
from tasks.corpora.keyed import KEY_BYTES, KeyedHash
from tasks.corpora.versions import read_units, record_files
from tasks.storage.home import Home
from tasks.storage.objects import AnyPath
from tasks.storage.parquet import RESTORE, parquet_file

_COLUMNS = ["unit_index", "record_id", "status", "text_key"]  # never a text: it is behind its key


class ContentSum:
    """Sum modulo 2^256 of the content keys of distinct records: their order and their repetitions do not matter."""

    def __init__(self) -> None:
        self._limbs = np.zeros(KEY_BYTES // 4, np.uint64)

    def add(self, keys: bytes) -> None:
        """Add content keys, one after another."""
        self._limbs += np.frombuffer(keys, ">u4").reshape(-1, KEY_BYTES // 4).sum(0, dtype=np.uint64)

    def key(self) -> bytes:
        """The content key of all that was added, 32 bytes."""
        limbs_up: list[int] = self._limbs[::-1].tolist()
        content = sum(limb << (32 * place) for place, limb in enumerate(limbs_up))
        return (content & ((1 << 8 * KEY_BYTES) - 1)).to_bytes(KEY_BYTES, "big")


def check_content(version_path: AnyPath, registered: bytes, home: Home) -> None:
    """See that a version holds the records with this content key. Raises UserError where it holds others, or none.

    Ids, statuses and text keys are read, and hashed as staging hashed them: less than half of what reading a source
    takes.
    """
    if _content_key(version_path, KeyedHash(home)) != registered:
        raise UserError(
            f"records: what lies in the folder of version {version_path.name} is not what was registered as it "
            f"(altered, or swapped with another); {RESTORE}"
        )


def _content_key(version_path: AnyPath, keyed: KeyedHash) -> bytes | None:
    """None where a record is of no unit, or has no such column."""
    unit_ids = read_units(version_path)["unit_id"].cast(pa.large_binary()).combine_chunks()
    total = ContentSum()
    for path in record_files(version_path):
        with parquet_file(path) as file:
            if not set(_COLUMNS) <= set(file.schema_arrow.names):
                return None
            for group in range(file.num_row_groups):
                table = file.read_row_group(group, columns=_COLUMNS)
                index = table["unit_index"]
                if len(index) and not 0 <= pc.min(index).as_py() <= pc.max(index).as_py() < len(unit_ids):
                    return None
                names = (table[name].cast(pa.large_binary()).to_pylist() for name in ("record_id", "status"))
                identities = zip(unit_ids.take(index).to_pylist(), *names, table["text_key"].to_pylist(), strict=True)
                total.add(b"".join([keyed.content_key(*identity) for identity in identities]))
    return total.key()
