"""Run `privcert …` in a process of its own with noise, clock and random ids injected: `python injected.py ARGS…`.

`--then` stands between several commands. The product has no seed and no switch for this; the test replaces the
functions, as nobody else can.
"""

import datetime
import itertools
import os
import sys

import flows.cli
from tasks.ledger import chain, log, version_folders
from tasks.privacy import noise

STEP = "PRIVCERT_TEST_STEP"  # noisy counts between a statement and the next; 5 where it is not set


def inject() -> None:
    """Noise that brings any counts to the same noisy ones, a fixed day, counted ids."""
    numbers, step = itertools.count(), int(os.environ.get(STEP, "5"))
    noise._discrete_laplace = lambda scale, counts, *_: [150 + step * at for at in range(len(counts))]
    noise._coins = lambda probability, size: [0] * size
    chain.today = log.today = lambda: datetime.date(2026, 1, 2)
    version_folders.secrets = type(
        "Secrets", (), {"token_hex": staticmethod(lambda size: f"{next(numbers):0{2 * size}x}")}
    )


def run_all(arguments: list[str]) -> int:
    """Every command, one after the other; the first exit code that is not 0."""
    while arguments:
        end = arguments.index("--then") if "--then" in arguments else len(arguments)
        sys.argv, arguments = ["privcert", *arguments[:end]], arguments[end + 1 :]
        try:
            flows.cli.main()
        except SystemExit as stop:
            if stop.code:
                return int(stop.code)
    return 0


if __name__ == "__main__":
    inject()
    sys.exit(run_all(sys.argv[1:]))
