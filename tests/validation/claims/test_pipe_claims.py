"""The claims of Tantalaki et al. 2020: grids are JSON, runs are pure, judges and figures work."""

import json

import pytest
from claim_checks import judge_and_draw
from streamlb.validation.claim import DIFFERS, PROFILES, REPRODUCED
from streamlb.validation.claims import claims_of
from streamlb.validation.claims.pipe.readings import PRINTED
from streamlb.validation.engine import experiments_of

CLAIMS = claims_of("pipe")
EXPERIMENTS = experiments_of(CLAIMS)
BY_ID = {claim.id: claim for claim in CLAIMS}
WANTED = (
    [f"E{k}" for k in (1, 2, 4, 6, 8, 9, 10, 11)]
    + ["P1", "P1b", "P1.1", "P1.2", "P2", "P2opt", "C1", "C2", "C3", "G1", "B1"]
    + [f"M{k}" for k in range(1, 19)]
    + ["F1", "F3a", "F3b", "F4", "F5", "F7", "S1", "S2", "S3"]
    + ["F8", "F9", "F10", "F11", "F12", "F13", "F14", "F15", "F17", "F17b", "F18", "A1", "A2"]
)


def small(experiment):
    """Return a few rows of the quick grid that every judge can read, with short runs."""
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


def test_every_claim_of_the_list_is_there():
    assert sorted(c.id for c in CLAIMS if c.paper == "PIPE") == sorted(f"PIPE-{name}" for name in WANTED)
    assert len(BY_ID) == len(CLAIMS)
    assert [c.id for c in CLAIMS if c.paper == "OWN"] == [f"OWN-PIPE-{k}" for k in range(1, 9)]


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=lambda e: e.name)
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
def test_judge_and_figure(claim, few_runs):
    judge_and_draw(claim, few_runs(claim.experiment, small(claim.experiment)))


def test_a_changed_matrix_is_seen(few_runs):
    runs = few_runs(EXPERIMENTS["pipe_examples"])
    assert BY_ID["PIPE-M10"].judge(runs, "quick").verdict == REPRODUCED
    runs.loc[runs["case"] == "random", "schedule"] = PRINTED["random"]["schedule"].replace("0 1 3", "1 0 3", 1)
    assert BY_ID["PIPE-M10"].judge(runs, "quick").verdict == DIFFERS


def test_a_sweep_that_gains_is_reproduced(few_runs):
    sweep = EXPERIMENTS["pipe_simulation"]
    runs = few_runs(sweep, small(sweep))
    runs["pipeline_throughput"] = runs["even_throughput"] * 1.25
    assert BY_ID["PIPE-F14"].judge(runs, "quick").verdict == REPRODUCED
    assert BY_ID["PIPE-F15"].judge(runs, "quick").verdict == DIFFERS
    runs["pipeline_latency"] = runs["even_latency"] * 0.6
    assert BY_ID["PIPE-F9"].judge(runs, "quick").verdict == REPRODUCED
    runs["pipeline_memory"], runs["even_memory"] = 0.26, 0.70
    assert BY_ID["PIPE-F10"].judge(runs, "quick").verdict == REPRODUCED
