"""Time for the log, coarsened to the day on purpose: exact times are functions of private content."""

import datetime


def today() -> datetime.date:
    """The day, UTC."""
    return datetime.datetime.now(datetime.UTC).date()
