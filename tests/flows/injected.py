"""Run `privcert …` in a process of its own with noise, clock and random ids injected: `python injected.py ARGS…`.

The product has no seed and no switch for this; the test replaces the functions, as nobody else can.
"""

import datetime
import itertools

import flows.cli
from tasks.ledger import chain, log, registration
from tasks.privacy import noise


def inject() -> None:
    """Constant noise, a fixed day, counted ids."""
    numbers = itertools.count()
    noise._discrete_laplace = lambda scale, counts, distance, epsilon: [count + 3 for count in counts]
    noise._coins = lambda probability, size: [0] * size
    chain.today = log.today = lambda: datetime.date(2026, 1, 2)
    registration.secrets = type(
        "Secrets", (), {"token_hex": staticmethod(lambda size: f"{next(numbers):0{2 * size}x}")}
    )


if __name__ == "__main__":
    inject()
    flows.cli.main()
