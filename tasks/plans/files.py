"""Files that the user named."""

from collections.abc import Iterator
from contextlib import contextmanager

from schemas.errors import UserError


@contextmanager
def writing(name: str, path: str) -> Iterator[None]:
    """What the system refuses becomes a UserError that names the setting and the path."""
    try:
        yield
    except OSError as error:
        raise UserError(f"{name}: cannot write {path!r}: {error.strerror or 'no such path'}") from None
