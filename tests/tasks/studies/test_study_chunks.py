"""Chunks and their parts: deterministic, named by what defines them, reused, counted rightly."""

import errno
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from schemas.errors import UserError
from schemas.study_tables import SEED_COUNTS
from tasks.privacy.thresholds import threshold_units
from tasks.storage.home import Home
from tasks.studies import chunks, plan, simulating
from tasks.studies.chunks import Chunk, read_part, sampled, simulate_chunk
from tasks.studies.plan import chunks_of, seconds_of
from tasks.studies.study import plan_study
from tests.small_studies import parts_of, preset, run_small, small_settings


def chunks_for(home: Home, **changes: object) -> list[Chunk]:
    study = plan_study(home, small_settings(**changes))
    return chunks_of(study.cells, study.settings.seeds, study.settings.seed, home.root)


def test_a_plan_holds_every_cell_and_seed_once_in_order(home, monkeypatch):
    monkeypatch.setattr(plan, "CHUNK_SECONDS", 0.001)
    study, cut = plan_study(home, small_settings()), chunks_for(home)
    assert [job for chunk in cut for job in chunk.jobs] == [(cell, seed) for cell in study.cells for seed in range(3)]
    assert len(cut) > 5
    assert len({chunk.path for chunk in cut}) == len(cut)
    assert all(len(chunk.jobs) == 1 or sum(seconds_of(cell) for cell, _ in chunk.jobs) <= 0.001 for chunk in cut)


def test_the_shipped_studies_are_cut_into_chunks_of_about_a_second(home):
    for name in ("synthetic-sweep", "comparison", "whole-report"):
        study = plan_study(home, preset(name))
        cut = chunks_of(study.cells, study.settings.seeds, 0, home.root)
        assert all(sum(seconds_of(cell) for cell, _ in chunk.jobs) <= 1 for chunk in cut)
        assert len(cut) <= 1 + 2 * sum(seconds_of(cell) for cell in study.cells) * study.settings.seeds


def test_a_part_is_named_by_cells_seeds_and_code(home):
    (chunk,) = chunks_for(home)
    assert chunk.path == chunks_for(home)[0].path
    others = [
        replace(chunk, seed=1),
        replace(chunk, code="other"),
        replace(chunk, jobs=chunk.jobs[:-1]),
        chunks_for(home, runs=5)[0],
        chunks_for(home, n=201)[0],
    ]
    assert len({chunk.path, *(other.path for other in others)}) == 6


def test_finished_parts_are_reused_and_damaged_ones_made_again(home, monkeypatch):
    monkeypatch.setattr(plan, "CHUNK_SECONDS", 0.001)
    first = run_small(home)
    before, folder = parts_of(home), home.private / "studies" / "parts"
    empty, cut, foreign, *_ = sorted(before)
    (folder / empty).write_bytes(b"")
    (folder / cut).write_bytes((folder / cut).read_bytes()[:-100])
    (folder / foreign).write_bytes((folder / sorted(before)[-1]).read_bytes())
    assert run_small(home).equals(first)
    after = parts_of(home)
    assert {name for name in before if before[name] != after[name]} >= {empty, cut}
    assert sum(before[name] != after[name] for name in before) <= 3


def test_a_process_with_other_code_is_refused(home):
    (chunk,) = chunks_for(home)
    with pytest.raises(UserError, match="another version"):
        simulate_chunk(replace(chunk, code="other", folder=home.root))
    assert not list(home.root.glob("*.parquet"))


def test_all_mechanisms_and_budgets_are_asked_the_same_statements(home):
    study = plan_study(home, small_settings(statements=20))
    drawn = {(cell.mechanism, cell.epsilon): sampled(cell, 0, 1).tobytes() for cell in study.cells}
    assert len(drawn) == 10
    assert len(set(drawn.values())) == 1
    statements = sampled(study.cells[0], 0, 1)
    assert len(set(statements.tolist())) == 20
    assert sampled(study.cells[0], 0, 2).tolist() != statements.tolist() != sampled(study.cells[0], 1, 1).tolist()
    again = plan_study(home, small_settings(statements=40, distinct=False)).cells[0]
    assert len(set(sampled(again, 0, 1).tolist())) < 40


def test_rows_count_what_the_simulated_reports_held(home, monkeypatch):
    """Against the definitions, report by report, on the very certificates that were drawn."""
    kept: list[tuple[np.ndarray, np.ndarray]] = []

    def simulate(mechanism, counts, n, runs, **options):
        kept.append((np.asarray(counts), chosen := original(mechanism, counts, n, runs, **options)))
        return chosen

    original = chunks.simulate
    monkeypatch.setattr(chunks, "simulate", simulate)
    monkeypatch.setattr(chunks, "BLOCK_CERTIFICATES", 60)
    study = plan_study(home, small_settings(mechanisms="geometric", selected=(), selection_share=(), contributions=(),
                                            epsilon=20, beta="0.4", scope="candidate", theta="0.08",
                                            statements=20, seeds=1, runs=7))  # fmt: skip
    (chunk,) = chunks_of(study.cells, 1, 0, home.root)
    simulate_chunk(chunk)
    (row,) = read_part(chunk).to_pylist()
    assert [len(certificates) for _, certificates in kept] == [3, 3, 1]
    counts, t = kept[0][0].tolist(), threshold_units(200, Fraction("0.08"))
    reports = [line.tolist() for _, certificates in kept for line in certificates]
    emitted = [[count for count, one in zip(counts, report, strict=True) if one >= t] for report in reports]
    wrong = [[count for count in report if count < t] for report in emitted]
    assert row == {
        "cell_key": study.cells[0].key,
        "seed": 0,
        "runs": 7,
        "candidates": 140,
        "unsupported_candidates": 7 * sum(count < t for count in counts),
        "supported_candidates": 7 * sum(count >= t for count in counts),
        "emitted": sum(map(len, emitted)),
        "unsupported_emitted": sum(map(len, wrong)),
        "supported_emitted": sum(map(len, emitted)) - sum(map(len, wrong)),
        "emitted_support_units": sum(map(sum, emitted)),
        "runs_with_unsupported": sum(bool(report) for report in wrong),
    }
    assert row["emitted"] > row["unsupported_emitted"] > 0


def test_hist_certifies_bounded_counts_and_is_measured_by_true_ones(home, monkeypatch):
    seen: list[np.ndarray] = []

    def simulate(mechanism, counts, n, runs, **options):
        seen.append(np.asarray(counts))
        return np.tile(counts, (runs, 1))

    monkeypatch.setattr(chunks, "simulate", simulate)
    study = plan_study(home, small_settings(mechanisms="hist", selected=(), selection_share=(), statements=40, seeds=1,
                                            epsilon=1, theta="0.05"))  # fmt: skip
    (chunk,) = chunks_of(study.cells, 1, 0, home.root)
    simulate_chunk(chunk)
    (row,) = read_part(chunk).to_pylist()
    true = study.cells[0].universe.counts()[sampled(study.cells[0], 0, 0)]
    assert seen[0].sum() == sum(min(2, units) for units in study.cells[0].universe.verdicts().sum(axis=1))
    assert row["supported_candidates"] == 4 * np.count_nonzero(true >= 10)
    assert 0 < row["emitted"] < row["supported_candidates"]
    assert row["emitted_support_units"] == 4 * true[seen[0] >= 10].sum()
    assert row["unsupported_emitted"] == 0


def test_small_studies_start_no_dask(home, monkeypatch):
    def refuse(*arguments):
        raise AssertionError("Dask was asked for")

    monkeypatch.setattr(simulating, "_on_dask", refuse)
    assert run_small(home, workers=None).schema.equals(SEED_COUNTS)
    assert run_small(home, workers=2).num_rows == 60  # nothing is missing


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_what_the_disk_refuses_is_said_and_costs_nothing_that_was_finished(home, monkeypatch, code):
    def refuse(path, table):
        if len(parts_of(home)) == 2:
            raise OSError(code, "refused")
        write(path, table)

    write = chunks.write_table
    monkeypatch.setattr(plan, "CHUNK_SECONDS", 0.001)
    monkeypatch.setattr(chunks, "write_table", refuse)
    with pytest.raises(UserError, match=rf"the home cannot be written \({errno.errorcode[code]}\)"):
        run_small(home)
    before = parts_of(home)
    monkeypatch.undo()
    monkeypatch.setattr(plan, "CHUNK_SECONDS", 0.001)
    run_small(home)
    assert {name: parts_of(home)[name] for name in before} == before
    assert len(before) == 2


def test_progress_rises_to_one(home, monkeypatch):
    monkeypatch.setattr(plan, "CHUNK_SECONDS", 0.001)
    shares: list[float] = []
    simulating.simulate_chunks(chunks_for(home), home.root, 0, shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
