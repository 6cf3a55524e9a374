"""The settings files that scheduled runs are given: there, and right, before a schedule is switched on."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from schemas.audit import AuditSettings
from schemas.backfills import BackfillSettings
from schemas.building import build, read_settings_file
from schemas.errors import UserError
from schemas.studies import StudySettings

_AUDIT, _OPTIONS = "an audit definition (deployments/audits has examples)", "options_file"
_WRITTEN: dict[
    str, tuple[str, type[BaseModel], str]
] = {  # by flow: which parameter is the path of its settings, and what lies there
    "audit_support": ("settings_file", AuditSettings, _AUDIT),
    "backfill_support": ("audit_file", AuditSettings, _AUDIT),
    "run_study": ("settings_file", StudySettings, "the settings of a study"),
}
_PATHS = ("source", "statements_file", "report", "corpora")


def check_files(deployments: Sequence[Mapping[str, Any]], home: Path) -> None:
    """Raises UserError for a schedule that is on whose settings file is missing, wrong, or of no use to a worker."""
    for deployment in deployments:
        if any(at["active"] for at in deployment["schedules"]):
            _check(deployment, home)


def without_options(deployment: Mapping[str, Any], home: Path) -> dict[str, Any]:
    """The deployment; its options file is none where the home has none."""
    parameters = dict(deployment["parameters"])
    if _OPTIONS in parameters and not _path(parameters[_OPTIONS], home).exists():
        parameters[_OPTIONS] = None
    return {**deployment, "parameters": parameters}


def _check(deployment: Mapping[str, Any], home: Path) -> None:
    name, parameters = deployment["name"], deployment["parameters"]
    parameter, model, what = _WRITTEN[deployment["entrypoint"].rpartition(":")[2]]
    path = _path(parameters[parameter], home)
    if not path.exists():
        raise UserError(f"schedule: {name} runs {path}, which is not there; write {what} there, then start again")
    asked = _built(name, path, model)
    options = _path(parameters[_OPTIONS], home) if _OPTIONS in parameters else None
    if options is not None and options.exists():
        asked |= _built(name, options, BackfillSettings)
    if asked.get("corpora"):
        asked.pop("source")  # each corpus has a file of its own
    for field in _PATHS:
        value = asked.get(field)
        if isinstance(value, str) and "://" not in value and not Path(value).is_absolute():
            raise UserError(f"schedule: {name} runs {path}: {field}: must be an absolute path, since a worker runs it")


def _built(name: str, path: Path, model: type[BaseModel]) -> dict[str, Any]:
    try:
        return build(model, read_settings_file(path)).model_dump()
    except UserError as error:
        raise UserError(f"schedule: {name} runs {path}: {error}") from None


def _path(written: str, home: Path) -> Path:
    """As it will be on the server."""
    return Path(written.replace("{{ $PRIVCERT_HOME }}", str(home)))
