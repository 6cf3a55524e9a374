"""Statement-support audit: the first file to read."""

from prefect import flow

from tasks.audits.run import begin_run
from tasks.certify import certify
from tasks.ingest import ingest
from tasks.propose import propose
from tasks.publish import publish
from tasks.score import score


@flow(persist_result=False)
def audit_support(home: str, settings_file: str) -> str:
    """Ingest → propose → score → certify → publish, for every declared partition; returns the run's id.

    home: folder of the installation. settings_file: YAML file of an audit. No text, no id of a record and no count is
    a parameter or a result of a flow or a task.
    """
    run = begin_run(home, settings_file)
    partitions = ingest(home, run)
    propose(home, run)
    for partition in partitions:
        score(home, run, partition)
    for partition in partitions:
        certify(home, run, partition)
    publish(home, run)
    return run
