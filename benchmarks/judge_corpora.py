"""Public texts and a registered version of them, for the benchmarks of the judge."""

import random
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from schemas.records import RECORDS, UNITS
from tasks.storage.home import Home

STATEMENTS = (
    "The reviewer liked the food.",
    "The reviewer had to wait a long time.",
    "The reviewer was unhappy with the prices.",
    "The passenger had enough legroom.",
    "The reviewer would come back.",
    "The reviewer liked the desserts.",
    "The staff was friendly.",
    "The customer asks for a refund.",
)
_SENTENCES = (
    "We waited {n} minutes for a table.",
    "The soup was served cold and nobody seemed to care.",
    "The dessert, a cake with plums, was the best I have had in {n} years.",
    "I paid {n} dollars for two, but the wine made up for it.",
    "My seat in row {n} did not recline.",
    "Great location.",
    "Would I come back? Perhaps.",
)


def write_texts(count: int, seed: int) -> list[str]:
    """Different texts of 1 to 6 sentences; another seed gives others, so no server remembers them."""
    rng = random.Random(seed)
    lengths = [1 + place % 6 for place in range(count)]
    return [
        f"Visit {seed}-{place}. " + " ".join(rng.choice(_SENTENCES).format(n=rng.randint(2, 99)) for _ in range(length))
        for place, length in enumerate(lengths)
    ]


def write_version(home: Home, path: Path, texts: Sequence[str]) -> Path:
    """The texts as a registered version, one unit each."""
    (path / "records").mkdir(parents=True)
    units = [f"{place:06d}" for place in range(len(texts))]
    records = [
        {
            "unit_index": place,
            "record_id": unit,
            "status": "ok",
            "text": text,
            "text_key": home.keyed_hash(b"text", text.encode()),
        }
        for place, (unit, text) in enumerate(zip(units, texts, strict=True))
    ]
    pq.write_table(pa.Table.from_pylist(records, schema=RECORDS), path / "records" / "part-00000.parquet")
    rows = [{"unit_id": unit, "unit_key": home.keyed_hash(b"unit", unit.encode()), "records": 1} for unit in units]
    pq.write_table(pa.Table.from_pylist(rows, schema=UNITS), path / "units.parquet")
    return path
