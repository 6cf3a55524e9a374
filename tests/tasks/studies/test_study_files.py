"""The files of a study in the release zone, and its pictures."""

import json
import stat
import xml.etree.ElementTree as ET
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from schemas.study_tables import STUDY_CELLS, STUDY_RUNS
from tasks.storage.home import Home, initialise_home
from tasks.studies.plots import draw_power, mean_by_epsilon
from tasks.studies.study import plan_study, write
from tests.audits import release_files
from tests.small_studies import small_settings, tables_of


def written(home: Home, **changes: object) -> list[Path]:
    study = plan_study(home, small_settings(**changes))
    return write(study, *tables_of(study))


def test_the_same_study_gives_the_same_bytes_in_any_home(tmp_path):
    homes = [initialise_home(tmp_path / name, on_purpose=False) for name in ("a", "b")]
    for home in homes:
        written(home)
    first, second = map(release_files, homes)
    assert first == second
    assert {Path(name).name for name in first} == {
        "study.json", "study_runs.parquet", "study_cells.parquet", "emission.svg", "power.svg",
    }  # fmt: skip
    written(homes[0])
    assert release_files(homes[0]) == first


def test_analysts_may_read_every_file_and_the_parts_are_private(home):
    files = written(home)
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o644}
    assert {stat.S_IMODE(path.stat().st_mode) for path in (files[0].parent, files[0].parent.parent)} == {0o755}
    private = home.private / "studies"
    assert {stat.S_IMODE(path.stat().st_mode) for path in (private, private / "parts")} == {0o700}


def test_settings_and_tables_are_there(home):
    files = {path.name: path for path in written(home)}
    described = json.loads(files["study.json"].read_text())
    assert described["settings"]["epsilon"] == ["1", "4"]
    assert described["study"] == "small"
    assert files["study.json"].parent.name == f"small-{described['key'][:12]}"
    assert pq.read_schema(files["study_runs.parquet"]).equals(STUDY_RUNS)
    assert pq.read_schema(files["study_cells.parquet"]).equals(STUDY_CELLS)


def test_pictures_are_svg_without_a_date(home):
    pictures = [path for path in written(home) if path.suffix == ".svg"]
    assert len(pictures) == 2
    for path in pictures:
        text = path.read_text()
        assert ET.fromstring(text).tag.endswith("svg")
        assert "dc:date" not in text


@pytest.mark.parametrize("mechanism", ["svt", "topk"])
def test_a_study_without_a_power_curve_still_has_a_picture(home, mechanism):
    study = plan_study(home, small_settings(mechanisms=mechanism, contributions=()))
    assert ET.fromstring(draw_power(study.cells)).tag.endswith("svg")


def test_lines_are_means_over_the_cells_each_at_its_best_own_parameters():
    def cell(mechanism: str, epsilon: str, theta: str, value: float | None, selected: int | None = None):
        same = {"universe": "synthetic", "statements": 5, "delta": None, "beta": "0.05", "scope": "report"}
        return same | {"mechanism": mechanism, "epsilon": epsilon, "epsilon_nats": float(epsilon), "theta": theta,
                       "selected": selected, "emit_rate_share": value}  # fmt: skip

    cells = [
        cell("svt", "4", "0.1", 0.2, 5),
        cell("svt", "4", "0.1", 0.4, 10),
        cell("svt", "4", "0.2", 0.1, 5),
        cell("svt", "4", "0.2", 0.05, 10),
        cell("svt", "1", "0.1", 0.01, 5),
        cell("frontier", "4", "0.1", 0.5),
        cell("frontier", "1", "0.1", None),
    ]
    lines = mean_by_epsilon(cells, "emit_rate_share")
    assert lines == {"svt": [(1.0, 0.01), (4.0, pytest.approx(0.25))], "frontier": [(4.0, 0.5)]}
