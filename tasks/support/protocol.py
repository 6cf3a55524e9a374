"""What a support model is: a frozen, deterministic answer to "does this record support this statement?"."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class SupportModel(Protocol):
    """A frozen predicate sigma(record, statement) in {0, 1} (spec 1.9).

    The verdict of a pair depends on that pair and on what `fingerprint` covers, never on the other texts or
    statements of the call, their order or their number: otherwise the sensitivity of a count is not 1.
    """

    @property
    def name(self) -> str:
        """Public name, as in `--model`; printed on every certificate."""

    @property
    def fingerprint(self) -> str:
        """SHA-256 (hex) over weights, tokenizer, truncation, decision rule, engine build, dtype, device class,
        threads and batch shape: equal fingerprints give equal verdicts, to the bit."""

    @property
    def description(self) -> Mapping[str, str]:
        """Public facts for the certificate: revision, engine, truncation, decision rule."""

    def verdicts(self, texts: Sequence[str], statements: Sequence[str]) -> NDArray[np.bool_]:
        """Which text supports which statement; shape (len(texts), len(statements))."""
