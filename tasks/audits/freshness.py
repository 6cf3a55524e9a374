"""Is the release database behind the release log? Told by two chain heads; nothing is projected or written."""

import json
import os
from pathlib import Path

from schemas.errors import UserError
from tasks.reporting.database import read_origin
from tasks.reporting.places import release_database
from tasks.storage.home import WITNESS, Home, open_home


def is_behind(zone: Home) -> bool:
    """Was the database built at another head than the log has now?

    Whoever may not read the private zone asks what the release zone was told. False where there is nothing to compare:
    no database, one that was pulled, a log that does not answer. Raises UserError for a database of a newer version.
    """
    origin = read_origin(release_database(zone))
    if origin is None:
        return False
    return (_head_of_log(zone) or _head_told(zone)) not in (None, origin["chain_head"])


def _head_told(zone: Home) -> str | None:
    try:
        return str(json.loads((zone.release / WITNESS).read_bytes())["hash"])
    except (OSError, ValueError, KeyError):
        return None


def _head_of_log(zone: Home) -> str | None:
    """The head, where this user may read the log; a log that is not there is not made."""
    if not os.access(zone.private, os.R_OK | os.X_OK):
        return None
    from sqlalchemy import make_url, select  # not for analysts, who wait for it otherwise
    from sqlalchemy.exc import ArgumentError

    from tasks.ledger.database import open_engine, reading
    from tasks.ledger.place import check_place
    from tasks.ledger.tables import HEAD

    try:
        home = open_home(zone.root)
        check_place(home)
        url = make_url(home.log_url)
        if url.get_backend_name() == "sqlite" and not Path(str(url.database)).is_file():
            return None
        with reading(open_engine(home.log_url)) as connection:
            return str(connection.execute(select(HEAD.c.hash)).scalar_one())
    except (UserError, ArgumentError):
        return None
