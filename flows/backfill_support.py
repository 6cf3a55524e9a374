"""Audits of many partitions or corpora, one each, in order."""

from prefect import flow
from prefect.futures import PrefectFuture, as_completed, wait
from prefect.states import Completed

from tasks.audits.backfill_record import at_once, begin_backfill
from tasks.audits.backfilling import check_complete, is_stopped, said_of
from tasks.backfill import audit_partition, plan_backfill, publish_backfill


@flow(persist_result=False)
def backfill_support(home: str, audit_file: str, options_file: str | None = None) -> str:
    """Plan → one audit for each partition that is due → publish; returns the backfill's id.

    The state's message says how many partitions were audited: public, as they are.

    home: folder of the installation. audit_file: YAML file of an audit. options_file: YAML file that says which
    partitions and corpora, and how many at once; none: all that is due, one after the other.
    """
    backfill = begin_backfill(home, audit_file, options_file)
    running: list[PrefectFuture[None]] = []
    for number in plan_backfill(home, backfill):
        if len(running) == at_once(home, backfill):
            running.remove(next(as_completed(running)))
        if is_stopped(home, backfill):
            break
        running.append(audit_partition.submit(home, backfill, number))
    wait(running)
    publish_backfill(home, backfill)
    check_complete(home, backfill)
    # callers are given the state's data
    return Completed(message=said_of(home, backfill), data=backfill)  # type: ignore[return-value]
