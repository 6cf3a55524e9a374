"""The folder of one run, in the private zone: settings, statements, partitions, the operator's summary."""

import datetime
import json
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from pathlib import Path

from schemas.audit import AuditSettings
from schemas.building import build, read_settings_file
from schemas.claims import Reject
from schemas.exact_yaml import dump_yaml
from schemas.runs import PartitionSummary, RunSummary
from schemas.statements import Statement
from schemas.values import decimal_text
from tasks.ledger.question import RegisteredPartition
from tasks.storage.atomic import write_bytes
from tasks.storage.home import PRIVATE_DIRECTORY, Home, open_home


@dataclass(frozen=True, slots=True)
class Run:
    """One run: what it was asked, and what it left for the next stage. Stages exchange this and nothing else."""

    home: Home
    run_id: str

    @property
    def folder(self) -> Path:
        """private/runs/RUN."""
        return self.home.runs / self.run_id

    @property
    def settings(self) -> AuditSettings:
        """What was asked; numbers exact."""
        return build(AuditSettings, read_settings_file(self.folder / "settings.yaml"))

    def save_proposal(self, statements: Iterable[Statement], description: str, rejects: Iterable[Reject] = ()) -> None:
        """Keep the candidates for the stages after this one, and what a text or a language model had beside them."""
        kept = [{"text": statement.text, "weight": decimal_text(statement.weight)} for statement in statements]
        rejected = [reject.fields() for reject in rejects]
        self._save("proposal.json", {"description": description, "statements": kept, "rejects": rejected})

    def proposal(self) -> tuple[tuple[Statement, ...], str]:
        """The candidates and where they came from."""
        content = json.loads((self.folder / "proposal.json").read_text())
        statements = (Statement.of(one["text"], Decimal(one["weight"])) for one in content["statements"])
        return tuple(statements), content["description"]

    def rejects(self) -> list[dict[str, str | int]]:
        """What of a released text or of a model's lists is not asked, in order (fields of a Reject); else empty."""
        rejects: list[dict[str, str | int]] = json.loads((self.folder / "proposal.json").read_text()).get("rejects", [])
        return rejects

    def save_partitions(self, partitions: Iterable[RegisteredPartition]) -> None:
        """Keep the registered versions that this run asks about."""
        self._save("partitions.json", [dict(partition.fields()) for partition in partitions])

    def partitions(self) -> list[RegisteredPartition]:
        """The registered versions that this run asks about."""
        return [RegisteredPartition(**fields) for fields in json.loads((self.folder / "partitions.json").read_text())]

    def note(self, partition: str, **facts: object) -> None:
        """Add facts about one partition, for the operator's eyes."""
        notes = self.notes()
        notes.setdefault(partition, {}).update(facts)
        self._save("notes.json", notes)

    def notes(self) -> dict[str, dict[str, object]]:
        """What the stages noted, by partition."""
        path = self.folder / "notes.json"
        notes: dict[str, dict[str, object]] = json.loads(path.read_text()) if path.exists() else {}
        return notes

    def save_summary(self, model: str, fingerprint: str) -> RunSummary:
        """Write summary.json from the notes; it feeds operator.duckdb."""
        started = datetime.datetime.fromisoformat(json.loads((self.folder / "started.json").read_text()))
        summary = RunSummary(
            run_id=self.run_id,
            corpus=self.settings.corpus,
            model=model,
            model_fingerprint=fingerprint,
            started_at=started.isoformat(),
            # a clock that was set back meanwhile: no duration is negative, and none must stop a publication
            seconds=max(0.0, (datetime.datetime.now(datetime.UTC) - started).total_seconds()),
            partitions=tuple(
                PartitionSummary.model_validate({"partition": name} | facts) for name, facts in self.notes().items()
            ),
        )
        self._save("summary.json", json.loads(summary.model_dump_json()))
        return summary

    def _save(self, name: str, content: object) -> None:
        write_bytes(self.folder / name, json.dumps(content).encode())


def write_request(home: Home, settings: AuditSettings) -> Path:
    """Keep settings in the private zone, for a flow that is given their path."""
    path = request_file(home)
    write_bytes(path, _text(settings).encode())
    return path


def request_file(home: Home) -> Path:
    """Where a new request may be written: in the private zone."""
    folder = home.private / "requests"
    folder.mkdir(exist_ok=True, mode=PRIVATE_DIRECTORY)
    return folder / f"{secrets.token_hex(8)}.yaml"


def begin_run(home: str, settings_file: str) -> str:
    """A new run of these settings; its id. Raises UserError for settings that are wrong."""
    settings = build(AuditSettings, read_settings_file(Path(settings_file)))
    run = Run(open_home(Path(home)), secrets.token_hex(8))
    run.folder.mkdir(mode=PRIVATE_DIRECTORY)
    write_bytes(run.folder / "settings.yaml", _text(settings).encode())
    write_bytes(run.folder / "started.json", json.dumps(datetime.datetime.now(datetime.UTC).isoformat()).encode())
    return run.run_id


def open_run(home: str, run_id: str) -> Run:
    """The run of this id, from what Prefect may carry: two short texts."""
    return Run(open_home(Path(home)), run_id)


def _text(settings: AuditSettings) -> str:
    values = settings.model_dump(exclude_defaults=True)
    return dump_yaml({name: _plain(getattr(settings, name)) for name in values})


def _plain(value: object) -> object:
    return str(value) if isinstance(value, StrEnum) else list(value) if isinstance(value, tuple) else value
