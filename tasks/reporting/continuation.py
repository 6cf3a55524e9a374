"""Does one release database go on from another? Told by their chains, never by the age of a file."""

from pathlib import Path
from typing import Any

from schemas.errors import UserError
from schemas.manifests import Manifest
from tasks.reporting.database import read_origin, reading
from tasks.reporting.manifest import manifest_beside


def why_it_goes_back(new: Path, origin: dict[str, Any], manifest: Manifest | None, present: Path) -> str | None:
    """Why the database `new` does not go on from the one at `present`, in words that follow its name; None: it does.

    origin, manifest: of the new one. Where nothing readable is at `present`, anything goes on.
    """
    try:
        before = read_origin(present)
    except UserError:
        return "cannot be compared with the one here, which a newer privcert built"
    if before is None:
        return None
    if before["ledger_id"] != origin["ledger_id"]:
        return "is of another release log than the one here"
    if before["chain_head"] == origin["chain_head"]:  # asking for another threshold is no entry of the chain
        return "is older than the one here: it knows fewer thresholds" if _asked(new) < _asked(present) else None
    if manifest is not None and before["chain_head"] in manifest.chain:
        return None
    known = manifest_beside(present)
    if known is not None and known.chain_head == before["chain_head"] and origin["chain_head"] in known.chain:
        return (
            f"is older than the one here: it ends at entry {known.chain.index(origin['chain_head'])} of the release "
            f"log, the one here at entry {known.entries}"
        )
    if manifest is None:
        return "cannot be compared with the one here: nothing signed lies beside it"
    return "does not go on from the one here: it is older, or its release log was restored from a backup"


def _asked(path: Path) -> int:
    with reading(path) as connection:
        [(count,)] = connection.sql("select count(*) from base.thresholds").fetchall()
    return int(count)
