"""Statement-support audit: the first file to read."""

from prefect import flow

from tasks.certify import certify
from tasks.ingest import ingest
from tasks.propose import propose
from tasks.publish import publish
from tasks.score import score


@flow(persist_result=False)
def audit_support(home: str, run: str) -> None:
    """Ingest → propose → score → certify → publish, for every declared partition.

    home: folder of the installation. run: id of a run whose settings lie in its private zone; no text, no id of a
    record and no count is a parameter or a result.
    """
    partitions = ingest(home, run)
    propose(home, run)
    for partition in partitions:
        score(home, run, partition)
    for partition in partitions:
        certify(home, run, partition)
    publish(home, run)
