"""The file of deployments, and which of their schedules are on."""

from pathlib import Path
from typing import Any

import yaml

from schemas.errors import UserError
from tasks.cluster.schedule_files import check_files, without_options
from tasks.storage.atomic import write_bytes

_FOLDER, _FILE = "deployments", "prefect.yaml"


class _Plain(yaml.SafeDumper):
    """Without anchors and aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def checkout() -> Path:
    """The repository that this package is imported from. Raises UserError where it was installed without one."""
    folder = Path(__file__).parents[2]
    if not (folder / _FOLDER / _FILE).exists():
        raise UserError("deploy: needs the repository, with deployments/prefect.yaml; run it in a checkout")
    return folder


def prepared(folder: Path, schedules: tuple[str, ...], home: Path) -> Path:
    """`scheduled` for this home, in its private zone; a schedule whose settings file is missing or wrong is refused.

    Raises UserError by name.
    """
    file = scheduled(folder, schedules, home / "private" / "prefect")
    content = yaml.safe_load(file.read_text())
    check_files(content["deployments"], home)
    content["deployments"] = [without_options(one, home) for one in content["deployments"]]
    write_bytes(file, yaml.dump(content, Dumper=_Plain, sort_keys=False).encode())
    return file


def scheduled(folder: Path, schedules: tuple[str, ...], target: Path) -> Path:
    """The file of deployments of a checkout as it is put on the server: these schedules on, all others off.

    schedules: NAME, or NAME=CRON. target: private folder for the file. Raises UserError for an unknown name.
    """
    content: dict[str, Any] = yaml.safe_load((folder / _FOLDER / _FILE).read_text())
    content.pop("definitions", None)
    wanted = {name: cron for name, _, cron in (one.partition("=") for one in schedules)}
    known = {one["name"]: one for one in content["deployments"]}
    for name in wanted:
        if name not in known:
            raise UserError(f"schedule: no deployment {name!r}; known: {', '.join(known)}")
    for name, deployment in known.items():
        deployment["schedules"] = [
            at | {"active": name in wanted, "cron": wanted.get(name) or at["cron"]} for at in deployment["schedules"]
        ]
    path = target / _FILE
    write_bytes(path, yaml.dump(content, Dumper=_Plain, sort_keys=False).encode())
    return path


def written(file: Path) -> tuple[list[str], list[str]]:
    """Names of its deployments, and of the work pools they need."""
    deployments = yaml.safe_load(file.read_text())["deployments"]
    pools = dict.fromkeys(one["work_pool"]["name"] for one in deployments)
    return [one["name"] for one in deployments], list(pools)
