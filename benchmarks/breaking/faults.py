"""Faults: each begins the audit, breaks something while it runs, mends it, and tells how the command ended."""

import contextlib
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass

from breaking.clock import DAY_SECONDS, moved_clock, set_clock
from breaking.scene import Ended, Scene, end
from tests.machines import PREFECT, SCHEDULER, WORKERS
from tests.relayed_log import LogRelay, Moment

_HANG_SECONDS = 20.0
_AWAY_SECONDS = 5.0  # between a kill and the restart, while the command runs on


@dataclass(frozen=True, slots=True)
class Fault:
    """name: what breaks. stage: when. first: the audit that meets it.

    clock_seconds: how far the wall clock of the same command is off afterwards. disk_megabytes: of a small disk for the
    home. stored: records and verdicts lie on an S3 server. is_final: what broke is not mended, so the same command must
    refuse, and have charged nothing.
    """

    name: str
    stage: str
    first: Callable[[Scene], Ended]
    clock_seconds: int = 0
    disk_megabytes: int | None = None
    stored: bool = False
    is_final: bool = False


def nothing(scene: Scene) -> Ended:
    """For comparison."""
    return end(scene.begin())


def one_worker(scene: Scene) -> Ended:
    """It does not come back before the command ends."""
    process = scene.begin()
    scene.until_scoring(process)
    scene.machines.kill(WORKERS[0])
    return end(process)


def all_workers(scene: Scene) -> Ended:
    """They come back."""
    process = scene.begin()
    scene.until_scoring(process)
    scene.machines.kill(*WORKERS)
    time.sleep(_AWAY_SECONDS)
    scene.machines.start(*WORKERS)
    return end(process)


def scheduler(*, comes_back: bool) -> Callable[[Scene], Ended]:
    """It takes its workers with it."""

    def fault(scene: Scene) -> Ended:
        process = scene.begin()
        scene.until_scoring(process)
        scene.machines.kill(SCHEDULER)
        if comes_back:
            scene.machines.await_end(*WORKERS)
            scene.machines.start_again(SCHEDULER, *WORKERS)
        return end(process)

    return fault


def prefect(stage: str, *, comes_back: bool) -> Callable[[Scene], Ended]:
    """The server is killed when this stage runs."""

    def fault(scene: Scene) -> Ended:
        process = scene.begin()
        scene.until_scoring(process) if stage == "score" else scene.until_stage(process, stage)
        scene.machines.kill(PREFECT)
        if comes_back:
            time.sleep(_AWAY_SECONDS)
            scene.machines.start(PREFECT)
        return end(process)

    return fault


def log_while_scoring(scene: Scene) -> Ended:
    """Stopped as by a crash, and started again at once."""
    process = scene.begin()
    scene.until_scoring(process)
    scene.postgresql.stop()
    time.sleep(1)
    scene.postgresql.start()
    return end(process)


def log_away(scene: Scene) -> Ended:
    """Stopped while scoring; it does not come back before the command ends."""
    process = scene.begin()
    scene.until_scoring(process)
    scene.postgresql.stop()
    return end(process)


def log_in_transaction(moment: Moment) -> Callable[[Scene], Ended]:
    """Stopped in the one transaction that draws, charges and seals."""

    def fault(scene: Scene) -> Ended:
        server, database = scene.postgresql, scene.url.partition("@/")[2].partition("?")[0]
        with LogRelay(server.folder, server.user, database, moment, server.stop) as relay:
            ended = end(scene.begin(PRIVCERT_LOG_URL=relay.url))
        if not relay.happened:
            raise RuntimeError("the transaction was not met")
        return ended

    return fault


def store(stage: str, *, comes_back: bool) -> Callable[[Scene], Ended]:
    """The S3 server is out of reach when this stage runs, and back when the command has ended or soon."""

    def fault(scene: Scene) -> Ended:
        process, way = scene.begin(), scene.s3.way
        scene.until_scoring(process) if stage == "score" else scene.until_stage(process, stage)
        way.stop()
        if comes_back:
            time.sleep(_AWAY_SECONDS)
            way.start()
        ended = end(process)
        if not comes_back:
            way.start()
        return ended

    return fault


def store_hangs(scene: Scene) -> Ended:
    """The S3 server takes connections, and answers nothing for a while."""
    process = scene.begin()
    scene.until_scoring(process)
    scene.s3.signal(signal.SIGSTOP)
    time.sleep(_HANG_SECONDS)
    scene.s3.signal(signal.SIGCONT)
    return end(process)


def store_loses_all(scene: Scene) -> Ended:
    """The S3 server is killed with all it holds, and back, with an empty bucket of the same name."""
    process, bucket = scene.begin(), scene.bucket
    scene.until_scoring(process)
    scene.s3.signal(signal.SIGKILL)
    scene.s3.begin()
    scene.s3.files().mkdir(bucket)
    return end(process)


def driver(number: signal.Signals) -> Callable[[Scene], Ended]:
    """The command itself gets a signal while it scores."""

    def fault(scene: Scene) -> Ended:
        process = scene.begin()
        scene.until_scoring(process)
        return end(process, number)

    return fault


def driver_at(point: str) -> Callable[[Scene], Ended]:
    """The command kills itself at a crash point (tasks/storage/crash.py)."""
    return lambda scene: end(scene.begin(PRIVCERT_CRASH_AT=point))


def full_disk(stage: str) -> Callable[[Scene], Ended]:
    """Every byte of the home's disk is used up while this stage runs, and freed when the command has ended."""

    def fault(scene: Scene) -> Ended:
        process = scene.begin()
        scene.until_scoring(process) if stage == "score" else scene.until_stage(process, stage)
        filler = scene.home.parent / "filler"
        with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
            while process.poll() is None:
                file.write(bytes(4096))
        ended = end(process)
        filler.unlink()
        return ended

    return fault


def clock_steps(seconds: int) -> Callable[[Scene], Ended]:
    """The wall clock of the command moves while it scores."""

    def fault(scene: Scene) -> Ended:
        folder = scene.home.parent
        process = scene.begin(**moved_clock(folder, 0))
        scene.until_scoring(process)
        set_clock(folder, seconds)
        return end(process)

    return fault


FAULTS = (
    Fault("none", "", nothing),
    Fault("worker killed", "scoring", one_worker),
    Fault("all workers killed, started again", "scoring", all_workers),
    Fault("scheduler killed, started again", "scoring", scheduler(comes_back=True)),
    Fault("scheduler killed", "scoring", scheduler(comes_back=False)),
    Fault("Prefect killed, started again", "scoring", prefect("score", comes_back=True)),
    Fault("Prefect killed", "scoring", prefect("score", comes_back=False)),
    Fault("Prefect killed", "certification", prefect("certify", comes_back=False)),
    Fault("PostgreSQL stopped, started again", "scoring", log_while_scoring),
    Fault("PostgreSQL stopped", "scoring", log_away),
    *(Fault("PostgreSQL stopped", f"sealing: {at.value}", log_in_transaction(at)) for at in Moment),
    Fault("S3 server stopped, started again", "scoring", store("score", comes_back=True), stored=True),
    Fault("S3 server stopped", "scoring", store("score", comes_back=False), stored=True),
    Fault("S3 server stopped", "certification", store("certify", comes_back=False), stored=True),
    Fault("S3 server hangs", "scoring", store_hangs, stored=True),
    Fault("S3 server killed, back empty", "scoring", store_loses_all, stored=True, is_final=True),
    Fault("driver killed", "scoring", driver(signal.SIGKILL)),
    Fault("driver interrupted", "scoring", driver(signal.SIGINT)),
    Fault("driver terminated", "scoring", driver(signal.SIGTERM)),
    Fault("driver killed", "sealing: drawn", driver_at("after_draw")),
    # locks that an audit takes: to register, then to seal
    Fault("driver killed", "sealing: written", driver_at("after_write:2")),
    Fault("driver killed", "sealing: committed", driver_at("after_commit:2")),
    Fault("disk full", "scoring", full_disk("score"), disk_megabytes=64),
    Fault("disk full", "certification", full_disk("certify"), disk_megabytes=64),
    Fault("disk full", "publication", full_disk("publish"), disk_megabytes=64),
    *(
        Fault(f"clock a day {name}", "between kill and restart", driver(signal.SIGKILL), clock_seconds=seconds)
        for name, seconds in (("forward", DAY_SECONDS), ("back", -DAY_SECONDS))
    ),
    Fault("clock a day forward", "scoring", clock_steps(DAY_SECONDS)),
    Fault("clock a day back", "scoring", clock_steps(-DAY_SECONDS)),
)
