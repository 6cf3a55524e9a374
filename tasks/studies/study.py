"""One study from its settings to its files: plan, simulate, summarise, write."""

import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from importlib.resources import files
from pathlib import Path

import pyarrow as pa

from schemas.building import build, read_settings_file
from schemas.errors import UserError
from schemas.exact_yaml import dump_yaml, load_yaml
from schemas.studies import SYNTHETIC, WORST_CASE, StudySettings
from tasks.ledger.canonical import digest
from tasks.storage.atomic import RELEASE_FILE, write_bytes, write_table
from tasks.storage.home import PRIVATE_DIRECTORY, Home, open_to_analysts
from tasks.studies.cells import Cell, cells_of
from tasks.studies.chunks import code_version
from tasks.studies.corpora import corpus_universe, public_partition
from tasks.studies.disk import disk_errors_named
from tasks.studies.plan import chunks_of
from tasks.studies.simulating import simulate_chunks
from tasks.studies.summary import Identity, study_cells, study_runs
from tasks.studies.universes import Universe, synthetic, worst_case

RUNS_FILE, CELLS_FILE = "study_runs.parquet", "study_cells.parquet"
_PRESETS = files("schemas") / "study_presets"


@dataclass(frozen=True, slots=True)
class Study:
    """A study whose request is known to be possible."""

    home: Home
    settings: StudySettings
    cells: tuple[Cell, ...]

    @property
    def key(self) -> str:
        """SHA-256, hex, of all that defines its tables, apart from code and name."""
        settings = self.settings
        cells = [cell.key for cell in self.cells]
        return digest({"cells": cells, "seeds": settings.seeds, "seed": settings.seed,
                       "confidence": str(settings.confidence)})  # fmt: skip

    @property
    def stem(self) -> str:
        """Name of its folder: NAME-KEY, 12 digits of the key."""
        return f"{self.settings.name}-{self.key[:12]}"

    @property
    def folder(self) -> Path:
        """Where its tables and plots lie, in the release zone."""
        return self.home.release / "studies" / self.stem

    @property
    def identity(self) -> Identity:
        """What its rows share."""
        settings = self.settings
        return Identity(self.key, settings.name, settings.seed, settings.seeds, Fraction(settings.confidence))


def preset_names() -> list[str]:
    """The studies that are shipped."""
    return sorted(file.name.removesuffix(".yaml") for file in _PRESETS.iterdir() if file.name.endswith(".yaml"))


def read_request(file_or_preset: str) -> dict[str, object]:
    """Keys and values of a settings file or a shipped study. Raises UserError where it is neither."""
    if file_or_preset in preset_names():
        content: dict[str, object] = load_yaml((_PRESETS / f"{file_or_preset}.yaml").read_text())
        return content
    if Path(file_or_preset).suffix.lower() not in (".yaml", ".yml"):
        raise UserError(f"study: give a .yaml file or one of {', '.join(preset_names())}")
    return read_settings_file(Path(file_or_preset))


def write_request(home: Home, settings: StudySettings) -> Path:
    """Keep settings in the private zone, for a flow that is given their path."""
    folder = home.private / "requests"
    folder.mkdir(exist_ok=True, mode=PRIVATE_DIRECTORY)
    path = folder / f"{secrets.token_hex(8)}.yaml"
    write_bytes(path, dump_yaml({name: _plain(value) for name, value in _asked(settings).items()}).encode())
    return path


def open_study(home: Home, settings_file: Path) -> Study:
    """The study of a settings file. Raises UserError as `plan_study`."""
    return plan_study(home, build(StudySettings, read_settings_file(settings_file)))


def plan_study(home: Home, settings: StudySettings) -> Study:
    """Check everything and list the cells; a private corpus is refused before anything of any corpus is read.

    Raises UserError by name.
    """
    universes: dict[str, Universe] = {}
    partitions = {name: public_partition(home, *where) for name, where in settings.corpora.items()}
    for name, part in partitions.items():
        universes[name] = corpus_universe(home, part, verdicts=bool(settings.contributions))
    return Study(home, settings, tuple(cells_of(settings, _universe_of(settings, universes))))


def simulate(study: Study, workers: int | None = None, progress: Callable[[float], None] | None = None) -> pa.Table:
    """What every cell and seed counted (SEED_COUNTS), in the order of the plan; what was simulated before is reused.

    workers: see `simulate_chunks`. Raises UserError, StageError.
    """
    settings = study.settings
    scratch = _private_folder(study.home, "dask")
    chunks = chunks_of(study.cells, settings.seeds, settings.seed, _private_folder(study.home, "studies", "parts"))
    return simulate_chunks(chunks, scratch, workers, progress or (lambda share: None))


def summarise(study: Study, counted: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Tables STUDY_RUNS and STUDY_CELLS."""
    runs = study_runs(study.identity, counted, len(study.cells))
    return runs, study_cells(study.identity, counted, study.cells)


def write(study: Study, runs: pa.Table, cells: pa.Table) -> list[Path]:
    """Tables, plots and settings into the release zone; the same study gives the same bytes. The files.

    Raises UserError where the disk refuses.
    """
    from tasks.studies.plots import draw_emission, draw_power  # late: matplotlib

    texts = {
        "study.json": json.dumps(_described(study), indent=1, sort_keys=True) + "\n",
        "emission.svg": draw_emission(cells),
        "power.svg": draw_power(study.cells),
    }
    with disk_errors_named():
        folder = open_to_analysts(open_to_analysts(study.home.release / "studies") / study.stem)
        for name, text in texts.items():
            write_bytes(folder / name, text.encode(), RELEASE_FILE)
        write_table(folder / RUNS_FILE, runs, RELEASE_FILE)
        write_table(folder / CELLS_FILE, cells, RELEASE_FILE)  # last: a study is there when its cells are
    return [folder / name for name in (CELLS_FILE, RUNS_FILE, *texts)]


def _universe_of(settings: StudySettings, corpora: dict[str, Universe]) -> Callable[[str, int, Decimal], Universe]:
    made = synthetic(settings.n, settings.universe_statements, settings.universe_seed)

    def universe(name: str, statements: int, theta: Decimal) -> Universe:
        if name == SYNTHETIC:
            return made
        return worst_case(settings.n, statements, Fraction(theta)) if name == WORST_CASE else corpora[name]

    return universe


def _described(study: Study) -> dict[str, object]:
    asked = {name: _json(value) for name, value in _asked(study.settings).items()}
    universes = sorted({f"{cell.universe_name}: {cell.universe.identity}" for cell in study.cells})
    return {"study": study.settings.name, "key": study.key, "settings": asked, "universes": universes,
            "code": code_version()}  # fmt: skip


def _asked(settings: StudySettings) -> dict[str, object]:
    return {name: getattr(settings, name) for name in settings.model_fields_set}


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return str(value) if isinstance(value, StrEnum) else value


def _json(value: object) -> object:
    if isinstance(value, tuple):
        return [_json(one) for one in value]
    return value if value is None or isinstance(value, bool | int) else str(value)


def _private_folder(home: Home, *names: str) -> Path:
    folder = home.private
    for name in names:
        folder /= name
        folder.mkdir(exist_ok=True, mode=PRIVATE_DIRECTORY)
    return folder
