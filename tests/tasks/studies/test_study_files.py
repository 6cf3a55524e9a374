"""The files of a study in the release zone, and its pictures."""

import json
import stat
import xml.etree.ElementTree as ET
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from schemas.study_tables import STUDY_CELLS, STUDY_RUNS
from tasks.privacy.mechanisms import MECHANISMS
from tasks.storage.home import Home, initialise_home
from tasks.studies.plots import CHOSEN, draw_power, emission_figure, mean_by_epsilon, power_figure
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


def test_lines_are_means_over_the_questions_at_own_parameters_chosen_once_by_emit_rate():
    def cell(mechanism: str, epsilon: str, theta: str, emitted: float, recall: float | None, selected=None):
        same = {"universe": "synthetic", "statements": 5, "delta": None, "beta": "0.05", "scope": "report"}
        return same | {"mechanism": mechanism, "epsilon": epsilon, "epsilon_nats": float(epsilon), "theta": theta,
                       "selected": selected, "emit_rate_share": emitted, "supported_recall_share": recall}  # fmt: skip

    cells = [
        cell("svt", "4", "0.1", 0.2, 0.9, 5),
        cell("svt", "4", "0.1", 0.4, 0.5, 10),
        cell("svt", "4", "0.2", 0.1, 0.3, 5),
        cell("svt", "4", "0.2", 0.1, 0.8, 10),
        cell("svt", "1", "0.1", 0.01, 0.1, 5),
        cell("frontier", "4", "0.1", 0.5, 0.6),
        cell("frontier", "1", "0.1", 0.2, None),
    ]
    emit_rate, recall = (mean_by_epsilon(cells, f"{name}_share") for name in ("emit_rate", "supported_recall"))
    assert emit_rate == {"svt": [(1.0, 0.01), (4.0, pytest.approx(0.25))], "frontier": [(1.0, 0.2), (4.0, 0.5)]}
    assert recall == {"svt": [(1.0, 0.1), (4.0, pytest.approx(0.4))], "frontier": [(4.0, 0.6)]}


def test_a_picture_says_how_own_parameters_are_chosen(home):
    (picture,) = [path for path in written(home) if path.name == "emission.svg"]
    assert f"<!-- {CHOSEN} -->" in picture.read_text()


def test_a_legend_covers_no_panel_and_names_every_line_once(home):
    study = plan_study(home, small_settings(mechanisms=tuple(MECHANISMS), delta="0.00001"))
    cells = tables_of(study)[1].to_pylist()
    figures = {2: emission_figure(cells), 3: power_figure(study.cells)}
    figures[1] = power_figure([cell for cell in study.cells if cell.epsilon == 1])
    for figure in figures.values():
        figure.draw_without_rendering()
        (legend,) = figure.legends
        assert not any(axes.get_legend() for axes in figure.axes)
        named = [text.get_text() for text in legend.get_texts()]
        drawn = {str(line.get_label()) for axes in figure.axes for line in axes.get_lines()}
        assert sorted(named) == sorted(name for name in drawn if not name.startswith("_"))
        box = legend.get_window_extent()
        assert figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1 and box.y0 >= figure.bbox.y0
        assert not any(box.overlaps(axes.get_tightbbox()) for axes in figure.axes)


def test_of_several_deltas_the_power_picture_shows_the_first(home):
    def drawn(*delta: str) -> str:
        asked = small_settings(mechanisms=("gaussian", "frontier"), delta=delta, selected=(), selection_share=(),
                               contributions=())  # fmt: skip
        return draw_power(plan_study(home, asked).cells)

    assert drawn("0.1", "0.00001") == drawn("0.1") != drawn("0.00001")
