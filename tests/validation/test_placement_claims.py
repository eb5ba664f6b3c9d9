"""Every claim of the pipeline paper: its grid is JSON, its runs are pure, its judge and figure work on a small frame."""

import json

import pandas as pd
import pytest
from streamlb.validation.claim import DIFFERS, NOT_APPLICABLE, PROFILES, REPRODUCED
from streamlb.validation.claims import pipe_matrices, pipe_own, pipe_refine, pipe_schedule, pipe_simulation
from streamlb.validation.claims._pipe import PRINTED

MODULES = [pipe_matrices, pipe_refine, pipe_schedule, pipe_simulation, pipe_own]
EXPERIMENTS = [e for module in MODULES for e in module.EXPERIMENTS]
CLAIMS = [c for module in MODULES for c in module.CLAIMS]
WANTED = (
    [f"E{k}" for k in (1, 2, 4, 6, 8, 9, 10, 11)]
    + ["P1", "P1b", "P1.1", "P1.2", "P2", "P2opt", "C1", "C2", "C3", "G1", "B1"]
    + [f"M{k}" for k in range(1, 19)]
    + ["F1", "F3a", "F3b", "F4", "F5", "F7", "S1", "S2", "S3"]
    + ["F8", "F9", "F10", "F11", "F12", "F13", "F14", "F15", "F17", "F17b", "F18", "A1", "A2"]
)


def small(experiment):
    """A few rows of the quick grid that every judge can read, with short runs."""
    rows = experiment.grid("quick")
    if experiment.name == "pipe_simulation":
        return [
            {**row, "slots": 120} for row in rows if row["part"] == 64 and row["load"] == 0.3 and row["distance"] == 0.2
        ]
    if experiment.name == "pipe_own":
        return [
            {**row, "slots": 120} for row in rows if row["part"] == 64 and row["bandwidth"] == 8 and row["seed"] < 2
        ]
    if experiment.name == "pipe_refine":
        return [row for row in rows if row["case"] != "dag" or row["seed"] < 3]
    if experiment.name in ("pipe_grid", "pipe_lines"):
        return [{"t": t, "most_nodes": 9} for t in (2, 3, 4, 6, 8)]
    return rows


@pytest.fixture(scope="module")
def frames():
    return {e.name: pd.DataFrame([{**row, **e.measure(**row)} for row in small(e)]) for e in EXPERIMENTS}


def test_every_claim_of_the_list_is_there():
    assert sorted(c.id for c in CLAIMS if c.paper == "PIPE") == sorted(f"PIPE-{name}" for name in WANTED)
    assert len({c.id for c in CLAIMS}) == len(CLAIMS)
    assert [c.id for c in CLAIMS if c.paper == "OWN"] == [f"OWN-PIPE-{k}" for k in range(1, 9)]


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda e: e.name)
def test_grids_and_results_are_json(experiment):
    for profile in PROFILES:
        grid = experiment.grid(profile)
        assert json.loads(json.dumps(grid)) == grid
        assert all(experiment.cost(row) > 0 for row in grid)
        assert all(row.keys() == grid[0].keys() for row in grid)
    row = small(experiment)[-1]
    first, again = experiment.measure(**row), experiment.measure(**row)
    assert json.loads(json.dumps(first, allow_nan=False)) == json.loads(json.dumps(again))
    assert not first.keys() & row.keys() - {"nodes"}


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda c: c.id)
def test_judge_and_figure(claim, frames):
    runs = frames[claim.experiment.name]
    verdict = claim.judge(runs, "quick")
    assert verdict.verdict in (REPRODUCED, DIFFERS, NOT_APPLICABLE)
    assert verdict.measured
    if claim.figure is not None:
        axes = claim.figure(runs, "quick").axes
        assert axes[0].get_title()
        assert axes[0].get_xlabel()
        assert axes[0].get_ylabel()


def test_a_changed_matrix_is_seen(frames):
    runs = frames["pipe_examples"].copy()
    by_id = {c.id: c for c in CLAIMS}
    assert by_id["PIPE-M10"].judge(runs, "quick").verdict == REPRODUCED
    runs.loc[runs["case"] == "random", "schedule"] = PRINTED["random"]["schedule"].replace("0 1 3", "1 0 3", 1)
    assert by_id["PIPE-M10"].judge(runs, "quick").verdict == DIFFERS


def test_a_sweep_that_gains_is_reproduced(frames):
    runs = frames["pipe_simulation"].copy()
    by_id = {c.id: c for c in CLAIMS}
    runs["pipeline_throughput"] = runs["even_throughput"] * 1.25
    assert by_id["PIPE-F14"].judge(runs, "quick").verdict == REPRODUCED
    assert by_id["PIPE-F15"].judge(runs, "quick").verdict == DIFFERS
    runs["pipeline_latency"] = runs["even_latency"] * 0.6
    assert by_id["PIPE-F9"].judge(runs, "quick").verdict == REPRODUCED
    runs["pipeline_memory"], runs["even_memory"] = 0.26, 0.70
    assert by_id["PIPE-F10"].judge(runs, "quick").verdict == REPRODUCED
