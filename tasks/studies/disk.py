"""What the disk refuses, said to the user."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from schemas.errors import UserError


@contextmanager
def disk_errors_named() -> Iterator[None]:
    """A full, read-only or forbidden disk becomes a UserError; nothing is half-written by then."""
    try:
        yield
    except OSError as error:
        reason = errno.errorcode.get(error.errno or 0, type(error).__name__)
        raise UserError(
            f"the home cannot be written ({reason}): make room or access, then repeat the command"
        ) from None
