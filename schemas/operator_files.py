"""Read a file that the operator named: no more of it than it may have, and nothing that blocks or never ends."""

import errno
import os
import stat
from pathlib import Path


def read_at_most(path: Path, most: int) -> bytes:
    """The first `most` + 1 bytes of a regular file: a caller that gets so many knows that it is too large.

    Raises OSError, also for a folder, a device and a pipe, ValueError for a path that no system has.
    """
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is no regular file")
    with path.open("rb") as file:
        return file.read(most + 1)
