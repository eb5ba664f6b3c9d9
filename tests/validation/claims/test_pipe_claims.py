"""The claims of Tantalaki et al. 2020: grids are JSON, runs are pure, judges and figures work."""

import json
import math

import pytest
from claim_checks import Fed, check_all_are_fed, check_judge, few_rows, judge_and_draw
from streamlb.validation.claim import PROFILES
from streamlb.validation.claims import claims_of
from streamlb.validation.claims.pipe.readings import NAMES, PRINTED, READINGS, random_case
from streamlb.validation.claims.pipe.sweep import SCHEDULERS
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
    + ["P2dag", "G1r", "S3l"]  # what the list of claims has no row for
)


def small(experiment):
    """Return a few rows of the quick grid that every judge can read, with short runs."""
    rows = few_rows(experiment)
    if experiment.name == "pipe_simulation":
        return [{**row, "slots": 120} for row in rows if row["service_ms"] == 1.0 and row["load"] == 0.3]
    if experiment.name == "pipe_own":
        return [{**row, "slots": 100} for row in few_rows(experiment, seeds=16)]
    if experiment.name == "pipe_bound":
        return [{**row, "slots": min(row["slots"], 100)} for row in rows]
    if experiment.name == "pipe_refine":
        return few_rows(experiment, seeds=4)
    if experiment.name == "pipe_optimum":
        return [{"case": "linear"}, {"case": "random"}]
    if experiment.name in ("pipe_grid", "pipe_lines"):
        return [{"t": t, "most_nodes": 9} for t in (2, 3, 4, 6, 8)]
    return rows


# --- what judges are fed -------------------------------------------------------------------------


def _shown(name):
    return lambda row: PRINTED[row.case].get(name, "")


MATRICES = {name: _shown(name) for name in (*PRINTED["random"], "initial")}
OF_EXAMPLES = ["components", "transposed", "blocks", "intermediate", "members", "non_partners"]
REFINED_MATRICES = ["swaps", "final", "named", "schedule"]
IN_ORDER = [
    *OF_EXAMPLES,
    *REFINED_MATRICES,
    *("components", "transposed", "intermediate"),
    *REFINED_MATRICES,
    "row_moves",
]
SHOWN = {"E1": "initial", "B1": "bitmap"} | {f"M{k + 1}": name for k, name in enumerate(IN_ORDER)}
GRID = {f"fails_{name}": 0 for name in ("E2", "E4", "E6", "E8", "E9", "E10", "E11", "P1", "P1.1", "C1", "C2", "C3")} | {
    "fails_G1": 3,
    "coprime": 9,
    "rows_ratio": 1.0,
    "blocks_ratio": 1.0,
    "total_ratio": 1.5,
    "scaled": 8,
    "scaled_nodes": 8,
    "scaled_tasks": 8,
    "scaled_both": 8,
}
SCHEDULE = {
    "senders": 1,
    "stages": 3,
    "stalls": [0, 0, 1, 0],
    "stall_slots": 2,
    "occupancy": "0 -1 -1 | 1 0 -1 | 2 1 0",
    "step0": ["", "", "J>P M>O H>O"],
    "step1": ["", "D>J", ""],
    "pairs": 30,
    "pairs_missing": 0,
    "pairs_repeated": 0,
    "parts": 100,
    "waiting_parts": lambda row: {"linear5": 4, "linear": 0}.get(row.case, 20),
}
REFINED = {
    **{f"{name}_share": 0.8 for name in (*NAMES, "best")},
    **{f"{name}_deviation": 0.3 for name in NAMES},
    **{f"{name}_valid": True for name in NAMES},
    **{f"{name}_moved": 2 for name in NAMES},
    **{f"{name}_least": True for name in NAMES},
    **{f"{name}_stalls": 1.0 for name in NAMES},
    **{f"{name}_rows": 2.0 for name in NAMES},
    "readings_differ": False,
    "optimised_best": True,
    "optimised_worse": False,
    "optimised_better": True,
}
BETTER = {"throughput": 2.0, "latency": 3.0, "memory": 40.0, "deviation": 0.1}
WORSE = {"throughput": 1.0, "latency": 9.0, "memory": 90.0, "deviation": 0.4}
RUNS = {
    "saturated": True,
    "uniform_slots": 60.0,
    "weighted_slots": 40.0,
    "balanced_deviation": 0.4,
    **{f"{name}_{what}": x for name in ("decoupled", "weighted", "conserving", "ours") for what, x in BETTER.items()},
    **{f"{name}_{what}": x for name in ("printed", "coupled", "even") for what, x in WORSE.items()},
    "weighted_throughput": 3.0,
}
CLUSTER = {
    **{f"{name}_{what}": 1.0 for name in SCHEDULERS for what in ("throughput", "latency", "memory", "deviation")},
    **{f"{name}_over_time": [1.0] * 20 for name in SCHEDULERS},
    **{f"{name}_by_node": [1.0, 2.0, 3.0] for name in SCHEDULERS},
}
OTHER_CLUSTER = {
    "pipeline_throughput": 1.25,
    "pipeline_latency": 0.6,
    "pipeline_memory": 0.3,
    "pipeline_deviation": 0.2,
    "pipeline_over_time": [0.0] * 5 + [2.0] * 15,
}


def _changed(name):
    """Return a matrix in which one entry is not as printed."""

    def matrix(row):
        printed = MATRICES[name](row)
        return printed and f"99 {printed.partition(' ')[2]}"

    return {name: matrix}


FED = {
    **{f"PIPE-{id}": Fed(true=MATRICES, false=_changed(name)) for id, name in SHOWN.items()},
    **{
        f"PIPE-{name}": Fed(true=GRID, false={f"fails_{name}": 1})
        for name in ("E2", "E4", "E6", "E8", "E9", "E10", "E11", "P1", "P1.1", "C1", "C2")
    },
    "PIPE-P1.2": Fed(true=GRID, false=[{f"scaled_{name}": 7} for name in ("nodes", "tasks", "both")]),
    "PIPE-C3": Fed(true=GRID, false=[{"fails_C3": 1}, {"total_ratio": 5.0}]),
    "PIPE-G1": Fed(true=GRID, false={"fails_G1": 0}),
    "PIPE-P2": Fed(true=REFINED, false={"default_valid": False}, noise=None),
    "PIPE-P2opt": Fed(true=REFINED, false=[{"default_share": 0.82}, {"best_share": 0.7}]),
    "PIPE-P2dag": Fed(true=REFINED, false={"default_share": 0.9}, verdict="reported"),
    "PIPE-G1r": Fed(true=REFINED, false={"added_share": 0.6}, verdict="reported"),
    "PIPE-P1b": Fed(true=SCHEDULE, false={"senders": lambda row: 1 + (row.case == "linear")}),
    "PIPE-F1": Fed(true=SCHEDULE, false={"stages": 4}),
    "PIPE-F3a": Fed(true=SCHEDULE, false={"occupancy": "0 0 0 | 1 1 1"}, verdict="reported"),
    "PIPE-F3b": Fed(true=SCHEDULE, false=[{"step0": ["", "J>P", "M>O"]}, {"step1": ["D>J", "", ""]}]),
    "PIPE-S1": Fed(true=SCHEDULE, false={"stalls": [0, 0, 2, 0]}),
    "PIPE-F4": Fed(true=SCHEDULE, false={"stall_slots": 1}),
    "PIPE-F5": Fed(true=SCHEDULE, false={"stall_slots": 3}),
    "PIPE-F7": Fed(true={**SCHEDULE, "stalls": [0, 0, 0]}, false={"stalls": [0, 1, 0]}),
    "PIPE-S2": Fed(true=SCHEDULE, false=[{"pairs_missing": 1}, {"pairs_repeated": 1}]),
    "PIPE-S3": Fed(
        true=SCHEDULE,
        false=[
            {"waiting_parts": lambda row, case=case: 4 if row.case == case else 10} for case in ("diamond", "random")
        ],
    ),
    "PIPE-S3l": Fed(true=SCHEDULE, false={"waiting_parts": 1}),
    **{
        f"PIPE-{name}": Fed(true=CLUSTER, false=OTHER_CLUSTER, verdict="reported", seeds=2)
        for name in ("F8", "F9", "F10", "F11", "F12", "F13", "F14", "F15", "F17", "F17b", "F18", "A1", "A2")
    },
    "OWN-PIPE-1": Fed(
        true=REFINED,
        false=[{"optimised_worse": lambda row: row.seed == 3}, {"optimised_best": lambda row: row.seed % 2 == 0}],
        seeds=120,
    ),
    "OWN-PIPE-2": Fed(true=RUNS, false={"ours_deviation": 0.5}, noise={"ours_deviation": 0.4}, seeds=120),
    "OWN-PIPE-3": Fed(
        true=RUNS,
        false=[
            {"conserving_throughput": 0.9},
            {"conserving_latency": 10.0},
            {"conserving_latency": lambda row: 10.0 if row.seed % 2 else 1.0},
        ],
        seeds=120,
    ),
    "OWN-PIPE-4": Fed(true=RUNS, false=[{"decoupled_throughput": 0.9}, {"decoupled_latency": 10.0}], seeds=120),
    "OWN-PIPE-5": Fed(true=RUNS, false={"weighted_throughput": 1.5}, seeds=120),
    "OWN-PIPE-6": Fed(
        true=RUNS,
        false=[
            {"ours_throughput": 0.5},
            {"ours_latency": 12.0},
            {"ours_memory": 100.0},
            {"ours_deviation": lambda row: 0.5 + row.seed / 1e3},
        ],
        seeds=120,
    ),
    "OWN-PIPE-7": Fed(true={"bolts": 9, "over": 0, "over_planned": 0}, false={"over": 1}, noise=None),
    "OWN-PIPE-8": Fed(true={"lines": 9, "stalled": 0}, false={"stalled": 1}),
}


def test_every_claim_of_the_list_is_there():
    assert sorted(c.id for c in CLAIMS if c.paper == "PIPE") == sorted(f"PIPE-{name}" for name in WANTED)
    assert len(BY_ID) == len(CLAIMS)
    assert [c.id for c in CLAIMS if c.paper == "OWN"] == [f"OWN-PIPE-{k}" for k in range(1, 9)]


def test_readings_are_declared():
    assert list(READINGS) == ["default", "added", "printed"]
    assert all(reading.name == name and reading.allowed_by for name, reading in READINGS.items())
    assert all(set(claim.readings) <= {"", *NAMES} for claim in CLAIMS)


def test_every_judge_is_fed():
    check_all_are_fed(FED, CLAIMS)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_judges_tell_true_from_false(claim):
    check_judge(claim, FED[claim.id])


@pytest.mark.parametrize("gcd_is_one", [True, False])
def test_random_cases_have_the_divisor_that_is_asked_for(gcd_is_one):
    for seed in range(30):
        graph, nodes = random_case(seed, gcd_is_one, components=(3, 4), tasks=(2, 6), nodes=(4, 8))
        common = math.gcd(graph.widest, nodes)
        assert common == 1 if gcd_is_one else 1 < common < nodes
        assert len(graph.names) <= nodes <= 8


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=lambda e: e.name)
def test_grids_and_results_are_json(experiment):
    for profile in PROFILES:
        grid = experiment.grid(profile)
        assert json.loads(json.dumps(grid)) == grid
        assert all(experiment.cost(row) > 0 for row in grid)
        assert all(row.keys() == grid[0].keys() for row in grid)
    row = small(experiment)[0]
    first, again = experiment.measure(**row), experiment.measure(**row)
    assert json.loads(json.dumps(first, allow_nan=False)) == json.loads(json.dumps(again))
    assert not first.keys() & row.keys() - {"nodes"}


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda c: c.id)
def test_judge_and_figure(claim, few_runs):
    judge_and_draw(claim, few_runs(claim.experiment, small(claim.experiment)))
