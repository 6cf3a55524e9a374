"""What a backfill is asked beside its audit definition: which partitions, which corpora, how many at once."""

from pydantic import BaseModel, ConfigDict, Field

from schemas.values import Whole


class BackfillSettings(BaseModel):
    """Which audits of a definition are wanted; without any, every partition that is due."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)
    from_: str | None = Field(default=None, alias="from")
    """First partition, by its declared key; default: the first one that is declared."""
    to: str | None = None
    """Last partition; default: the last one that is declared, of a time grid the last whose period is over in UTC."""
    corpora: str | None = None
    """Files (path or fsspec URL with *, ? or [...]), each a corpus of its own, named after the file."""
    changed: bool = False
    """Audit partitions again whose records have changed since they were released; each is charged again."""
    new_model: bool = False
    """Audit partitions again that another build of the model has answered; each is charged again."""
    parallel: Whole = Field(default=1, ge=1, le=64)
    """How many audits are scored at the same time."""
