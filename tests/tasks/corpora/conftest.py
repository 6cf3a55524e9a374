"""A home that all tests of ingestion share: staging leaves nothing in it."""

import pytest

from tasks.storage.home import Home, initialise_home


@pytest.fixture(scope="session")
def shared_home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """One key for many stagings, so that keyed hashes can be compared."""
    return initialise_home(tmp_path_factory.mktemp("homes") / "home", on_purpose=True)
