"""Files that the user named."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from schemas.errors import UserError
from tasks.storage.outputs import check_output


@contextmanager
def writing(name: str, path: str) -> Iterator[None]:
    """What the system refuses becomes a UserError that names the setting and the path; a private zone is refused."""
    check_output(Path(path), setting=name)
    try:
        yield
    except OSError as error:
        raise UserError(f"{name}: cannot write {path!r}: {error.strerror or 'no such path'}") from None
