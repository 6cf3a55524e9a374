"""What is signed about a release database that is handed on: one JSON object beside it, of public facts only."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Manifest(BaseModel):
    """Which file it is, and of which state of which release log. Signed with the key that signs certificates."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    format: Literal["privcert-database/1"] = "privcert-database/1"
    ledger_id: str
    sha256: Hash
    """Of the database's bytes, hex."""
    chain: list[Hash] = Field(min_length=1)
    """Hash before the first entry, then of each entry up to the database's chain head: a longer chain that begins with
    it goes on from there."""
    releases: int = Field(ge=0)
    product_version: str
    public_key: Hash
    """Ed25519, hex."""
    signature: str = Field(pattern=r"^[0-9a-f]{128}$")
    """Ed25519 over the canonical JSON of everything above, hex."""

    @property
    def chain_head(self) -> str:
        """Hash of the last entry that the database knows."""
        return self.chain[-1]

    @property
    def entries(self) -> int:
        """How many entries of the release log it knows."""
        return len(self.chain) - 1
