"""Which values of which dimensions a released statement is about, from the public domain file of its release."""

import re
from functools import lru_cache

import pyarrow as pa

from schemas.errors import UserError
from schemas.releases import STATEMENT_DIMENSIONS, Projection
from schemas.statements import statement_id
from tasks.statements.domains import parse_domain
from tasks.statements.kept_domains import kept_domain
from tasks.storage.home import Home

_FROM_DOMAIN = re.compile(r"tag_template \S+ seed \d+ sha256 ([0-9a-f]{64})\Z")
Values = tuple[tuple[str, str], ...]


def domain_files(projection: Projection, home: Home) -> dict[str, bytes]:
    """The domain files that the releases name and that are there, by SHA-256, which is sealed with the release."""
    found = {sha256: kept_domain(home, sha256) for sha256 in set(_named_domains(projection).values())}
    return {sha256: content for sha256, content in found.items() if content is not None}


def statement_dimensions(projection: Projection, files: dict[str, bytes]) -> pa.Table:
    """Table STATEMENT_DIMENSIONS; without a row for statements from files and reports, or of a lost domain file."""
    named = {key: files[sha256] for key, sha256 in _named_domains(projection).items() if sha256 in files}
    keys, names = (projection.certificates[name].to_pylist() for name in ("release_key", "statement_id"))
    rows = [
        {"release_key": key, "statement_id": name, "dimension": dimension, "dimension_value": value}
        for key, name in zip(keys, names, strict=True)
        if key in named
        for dimension, value in _values(named[key]).get(name, ())
    ]
    return pa.Table.from_pylist(rows, STATEMENT_DIMENSIONS)


def _named_domains(projection: Projection) -> dict[str, str]:
    """SHA-256 of the domain file that each release names, by release key."""
    keys, proposers = (projection.releases[name].to_pylist() for name in ("release_key", "proposer"))
    matched = {key: _FROM_DOMAIN.match(proposer) for key, proposer in zip(keys, proposers, strict=True)}
    return {key: found[1] for key, found in matched.items() if found}


@lru_cache(maxsize=16)
def _values(content: bytes) -> dict[str, Values]:
    """The values of every statement of a domain, by statement id; empty for a file of a version that allowed more."""
    try:
        domain = parse_domain(content, "kept")
    except UserError:
        return {}
    return {statement_id(combination.text): combination.values for combination in domain.file.combinations()}
