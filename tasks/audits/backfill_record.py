"""What a backfill keeps in its folder of the private zone: definition, options, plan, and what came of each audit."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from schemas.audit import AuditSettings
from schemas.backfills import BackfillSettings
from schemas.building import build, read_settings_file
from schemas.exact_yaml import dump_yaml
from tasks.audits.backfill_plan import PlannedAudit, Standing
from tasks.audits.run import Run, begin_run, open_run, request_file, write_request
from tasks.ledger.question import RegisteredPartition
from tasks.storage.atomic import write_bytes
from tasks.storage.home import Home
from tasks.support.operator_log import logs_folder, note_for_operator

OPTIONS, PLAN = "options.yaml", "plan.json"
_STOPPED, _OPEN, _LOG = "stopped.json", "open.json", "backfills.log"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one planned audit. run: the id of its run. failure: public reason; None while it has none."""

    run: str | None = None
    failure: str | None = None
    is_sealed: bool = False

    @property
    def is_open(self) -> bool:
        """Neither sealed nor failed."""
        return not self.is_sealed and self.failure is None


@dataclass(frozen=True, slots=True)
class Registered:
    """A registered partition of a due audit, and what ingestion counted; facts are private."""

    partition: RegisteredPartition
    facts: dict[str, object]


@dataclass(frozen=True, slots=True)
class Backfill:
    """A backfill lies in the folder of a run, and has a run of its own for each audit."""

    run: Run

    @property
    def definition(self) -> AuditSettings:
        """What each audit is asked."""
        return self.run.settings

    @property
    def options(self) -> BackfillSettings:
        """Which audits are wanted."""
        return build(BackfillSettings, read_settings_file(self.run.folder / OPTIONS))

    def settings_of(self, planned: PlannedAudit) -> AuditSettings:
        """What this one audit is asked."""
        return self.definition.model_copy(update={"corpus": planned.corpus, "source": planned.source})

    def save_plan(self, planned: Sequence[PlannedAudit], registered: Mapping[int, Registered]) -> None:
        """Keep the plan, and by number what was registered for the audits that are due."""
        kept = {
            number: {"partition": dict(one.partition.fields()), "facts": one.facts}
            for number, one in registered.items()
        }
        self._save(PLAN, {"audits": [asdict(one) for one in planned], "registered": kept})

    def plan(self) -> list[PlannedAudit]:
        """Every wanted partition of every corpus, in order."""
        audits = self._read(PLAN)["audits"]
        return [PlannedAudit(**fields | {"standing": Standing(fields["standing"])}) for fields in audits]

    def begin_audit(self, number: int) -> Run:
        """A run for one due audit, as its ingestion would have left it."""
        planned, kept = self.plan()[number], self._read(PLAN)["registered"][str(number)]
        root = str(self.run.home.root)
        run = open_run(root, begin_run(root, str(write_request(self.run.home, self.settings_of(planned)))))
        run.save_partitions([RegisteredPartition(**kept["partition"])])
        run.note(planned.partition, **kept["facts"])
        return run

    def save_outcome(self, number: int, outcome: Outcome) -> None:
        """Keep how far one audit came; audits write files of their own, so that several may at once."""
        self._save(f"outcome-{number}.json", asdict(outcome))

    def outcome(self, number: int) -> Outcome:
        """How far it came; nothing where it was not begun."""
        return outcome_in(self.run.folder, number)

    def made(self) -> list[Run]:
        """The runs of the audits that are sealed, in order."""
        outcomes = [self.outcome(number) for number in range(len(self.plan()))]
        return [Run(self.run.home, one.run) for one in outcomes if one.run is not None and one.is_sealed]

    def not_made(self) -> list[PlannedAudit]:
        """What was due and is not sealed, and what could not be read."""
        wanted = (Standing.DUE, Standing.UNREADABLE)
        return [
            one
            for number, one in enumerate(self.plan())
            if one.standing in wanted and not self.outcome(number).is_sealed
        ]

    def failures(self) -> set[str]:
        """Why audits failed, and why corpora cannot be read; public."""
        plan = self.plan()
        reasons = [self.outcome(number).failure for number in range(len(plan))]
        reasons += [one.reason for one in plan if one.standing is Standing.UNREADABLE]
        return {reason for reason in reasons if reason is not None}

    def to_come(self) -> list[PlannedAudit]:
        """What is due, and neither sealed nor failed yet."""
        return [
            one
            for number, one in enumerate(self.plan())
            if one.standing is Standing.DUE and self.outcome(number).is_open
        ]

    def stop(self, reason: str) -> None:
        """Begin no other audit. reason: public."""
        self._save(_STOPPED, reason)

    def stopped(self) -> str | None:
        """Why no other audit is begun; None where they are."""
        return str(self._read(_STOPPED)) if (self.run.folder / _STOPPED).exists() else None

    def end(self) -> None:
        """Nothing more is to come, whatever failed: what is sealed is published."""
        (self.run.folder / _OPEN).unlink(missing_ok=True)

    def _read(self, name: str) -> Any:
        return json.loads((self.run.folder / name).read_bytes())

    def _save(self, name: str, content: object) -> None:
        write_bytes(self.run.folder / name, json.dumps(content).encode())


def begin_backfill(home: str, audit_file: str, options_file: str | None) -> str:
    """A new backfill; its id. Raises UserError for settings that are wrong."""
    written = {} if options_file is None else read_settings_file(Path(options_file))
    options = build(BackfillSettings, written)
    run = open_run(home, begin_run(home, audit_file))
    write_bytes(run.folder / OPTIONS, _text(options).encode())
    write_bytes(run.folder / _OPEN, json.dumps(True).encode())
    return run.run_id


def outcome_in(folder: Path, number: int) -> Outcome:
    """How far one audit of the backfill in this folder of a run came; nothing where it was not begun."""
    path = folder / f"outcome-{number}.json"
    return Outcome(**json.loads(path.read_bytes())) if path.exists() else Outcome()


def is_open(folder: Path) -> bool:
    """Whether the backfill in this folder of a run has yet to come to its end; one that was killed or refused has.

    Of a backfill that an earlier version began nothing says so: it counts as ended.
    """
    return (folder / _OPEN).exists()


def at_once(home: str, backfill: str) -> int:
    """How many audits may be scored at the same time."""
    return Backfill(open_run(home, backfill)).options.parallel


def report_left(home: Home, planned: Sequence[PlannedAudit]) -> None:
    """Tell the operator, in private/logs/backfills.log, of partitions whose records have changed since a release, and
    of those with too few units: the largest of each corpus, and how many there are."""
    for one in planned:
        if one.standing is Standing.CHANGED:
            was, now = one.records_before, one.records
            line = f"{one.corpus} {one.partition}: {was} records when it was released, {now} now; left as released"
            note_for_operator(logs_folder(home), line, _LOG)
    small = [one for one in planned if one.standing is Standing.VACUOUS]
    for corpus in dict.fromkeys(one.corpus for one in small):
        here = [one for one in small if one.corpus == corpus]
        largest = max(here, key=lambda one: one.n)
        line = f"{corpus}: {len(here)} vacuous, nothing asked; {largest.partition}: {largest.reason}"
        note_for_operator(logs_folder(home), line, _LOG)


def write_options(home: Home, options: BackfillSettings) -> Path:
    """Keep options in the private zone, for a flow that is given their path."""
    path = request_file(home)
    write_bytes(path, _text(options).encode())
    return path


def _text(options: BackfillSettings) -> str:
    return dump_yaml(options.model_dump(by_alias=True, exclude_defaults=True))
