"""The claims of Nasir et al. 2017: all are there, what they share is right, judges can say no."""

import json

import numpy as np
import pandas as pd
import pytest
from claim_checks import judge_and_draw
from streamlb.validation.claim import DIFFERS, PROFILES, REPRODUCED
from streamlb.validation.claims import claims_of
from streamlb.validation.claims.cg import capacity, cluster, equal_workers, readings
from streamlb.validation.engine import experiments_of

ALL = claims_of("cg")
CLAIMS = {claim.id: claim for claim in ALL}
EXPERIMENTS = experiments_of(ALL)
# fmt: off
IDS = [
    "A1", "D1", "Alg1", "F4i", "F4m", "F4p", "L5.1", "L5.2", "B", "Bc", "V1", "V2", "V3", "V3c", "E1",
    "E2", "E3", "TI", "Th", "F5", "F6", "F7", "F7s", "F8", "F9", "F10", "F11", "M", "F12", "F13",
]
# fmt: on


def test_every_claim_is_there_once():
    assert len(CLAIMS) == len(ALL)
    assert {f"CG-{name}" for name in IDS} == {claim.id for claim in ALL if claim.paper == "CG"}
    assert [claim.id for claim in ALL if claim.paper == "OWN"] == [
        f"OWN-CG-{name}" for name in ("LRU", "HYS", "PROP", "ALL", "LATE", "AGG")
    ]


@pytest.mark.parametrize("profile", PROFILES)
def test_grids_are_plain_data_without_repeats(profile):
    for experiment in EXPERIMENTS.values():
        rows = [json.dumps(row, sort_keys=True) for row in experiment.grid(profile)]
        assert rows
        assert len(rows) == len(set(rows))
        assert all(experiment.cost(row) > 0 for row in experiment.grid(profile))


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_judges_and_figures_work(name, few_runs, monkeypatch):
    """Short streams stand in for the stand-ins: enough to judge and draw, not to conclude."""
    from streamlb import Zipf

    for module in (equal_workers, capacity):
        monkeypatch.setattr(module, "wikipedia", lambda profile: Zipf(1000, 1.0, 20_000))
    monkeypatch.setattr(cluster, "_twitter", lambda profile: Zipf(1000, 1.0, 20_000))
    rows = [row for row in EXPERIMENTS[name].grid("quick") if row.get("seed", 0) < 2]
    rows = [{**row, "messages": 20_000} if "messages" in row else row for row in rows]
    runs = few_runs(EXPERIMENTS[name], rows)
    for claim in ALL:
        if claim.experiment.name == name:
            judge_and_draw(claim, runs)


@pytest.mark.parametrize(
    ("claim_id", "column", "wrong"),
    [
        ("CG-D1", "utilisation_error", 0.1),
        ("CG-Th", "moves", 1),
        ("CG-V1", "chain", False),
        ("CG-V2", "bernoulli", False),
        ("CG-V3c", "exact_is_one", False),
        ("OWN-CG-AGG", "equal", False),
    ],
)
def test_a_wrong_value_turns_the_verdict(claim_id, column, wrong, few_runs):
    runs = few_runs(CLAIMS[claim_id].experiment)
    assert CLAIMS[claim_id].judge(runs, "quick").verdict == REPRODUCED
    assert CLAIMS[claim_id].judge(runs.assign(**{column: wrong}), "quick").verdict == DIFFERS


def test_the_printed_statements_that_fail_are_said_to_differ(few_runs):
    assert CLAIMS["CG-V3"].judge(few_runs(CLAIMS["CG-V3"].experiment), "quick").verdict == "differs"
    steps = CLAIMS["CG-B"].experiment
    row = {"workers": 5, "epsilon": 0.1, "exponent": 1.0, "messages": 2000, "seed": 0}
    runs = pd.DataFrame([{**row, "sources": s, **steps.measure(**row, sources=s)} for s in (1, 4)])
    assert CLAIMS["CG-B"].judge(runs, "quick").verdict == "differs"
    assert CLAIMS["CG-Bc"].judge(runs, "quick").verdict == "reproduced"
    assert CLAIMS["CG-Bc"].judge(runs.assign(beyond_corrected=1), "quick").verdict == "differs"
    assert CLAIMS["CG-Alg1"].judge(runs, "quick").verdict == "reproduced"
    assert CLAIMS["CG-Alg1"].judge(runs.assign(chosen_full=1), "quick").verdict == "differs"


def test_imbalance_after_every_step_is_brute_force():
    workers = np.random.default_rng(2).integers(0, 4, 300)
    loads = np.zeros(4)
    for m, (worker, found) in enumerate(zip(workers, readings.step_imbalance(workers, 4)), 1):
        loads[worker] += 1
        assert found == pytest.approx(loads.max() - m / 4)


def test_thinning_keeps_peaks_and_length():
    series = np.zeros(1000)
    series[437] = 5.0
    thinned = readings.thin(series)
    assert len(thinned) == 120
    assert max(thinned) == 5.0
    assert readings.thin(np.arange(7.0)) == list(range(7))


def test_routed_counts_what_it_says():
    from streamlb import Zipf

    stream, grouping = Zipf(100, 1.0), readings.grouping_of("PKG", 7, seed=3)
    found = readings.routed(stream, grouping, 5000, 1)
    keys = stream.draw(5000, 1)
    workers = readings.grouping_of("PKG", 7, seed=3).route_many(keys)
    loads = np.bincount(workers, minlength=7)
    assert found["pairs"] == len(set(zip(keys.tolist(), workers.tolist())))
    assert found["imbalance"] == pytest.approx((loads.max() - loads.mean()) / loads.mean())


def capacity_runs(schemes, **values):
    """Return a frame of summaries in which every scheme is good, with some values overwritten."""
    base = {
        "queue": [1.0, 1.0],
        "latency": [1.0, 1.0],
        "spread": [0.1, 0.1],
        "max_queue": 1.0,
        "mean_queue": 1.0,
        "end_queue": 1.0,
        "first_half_queue": 1.0,
        "second_half_queue": 1.0,
        "max_queue_gap": 0.0,
        "max_latency_gap": 0.0,
        "max_spread": 0.0,
        "late_imbalance": 0.0,
        "settled": 0,
        "phase_ends": [1.0, 1.0, 1.0],
        "seed": 0,
    }
    return pd.DataFrame([{"scheme": s, **base, **values.get(s, {})} for s in schemes])


def test_judges_of_the_simulations():
    bad = {
        "max_queue": 1e6,
        "end_queue": 1e6,
        "first_half_queue": 5e5,
        "second_half_queue": 1e6,
        "phase_ends": [1e6] * 3,
    }
    schemes = ("KG", "SG", "CG", "CG, fcfs", "PKG", "PoTC")
    good = capacity_runs(schemes, KG=bad, SG=bad)
    worse = capacity_runs(schemes, KG=bad, SG=bad, CG=bad)
    for claim_id in ("CG-F7", "CG-F8", "CG-F11"):
        assert CLAIMS[claim_id].judge(good, "quick").verdict == "reproduced", claim_id
        assert CLAIMS[claim_id].judge(worse, "quick").verdict == "differs", claim_id
    even = capacity_runs(schemes)
    assert CLAIMS["CG-F7s"].judge(even, "quick").verdict == "reproduced"
    assert CLAIMS["CG-F7s"].judge(even.assign(max_queue_gap=1.0), "quick").verdict == "differs"


def test_judge_of_virtual_workers():
    def frame(queues, settled):
        return pd.concat(
            capacity_runs([scheme]).assign(virtual=v, mean_queue=q, settled=s)
            for scheme in ("CG", "CG, fcfs")
            for v, q, s in zip(capacity.VIRTUAL, queues, settled)
        )

    as_stated = frame([100.0, 12.0, 12.0, 5.0, 1.0, 3.0], [0, 0, 0, 0, 1, 9])
    assert CLAIMS["CG-F10"].judge(as_stated, "quick").verdict == "reproduced"
    fewest_best = frame([1.0, 12.0, 12.0, 50.0, 100.0, 300.0], [0, 0, 0, 0, 1, 9])
    assert CLAIMS["CG-F10"].judge(fewest_best, "quick").verdict == "differs"


def test_judges_of_the_cluster():
    def frame(**throughput):
        pairs = {"KG": 100, "PKG": 120, "SG": 200, "CG": 121}
        return pd.DataFrame(
            {"scheme": s, "slow": slow, "seed": seed, "throughput": throughput[s], "pairs": pairs[s]}
            for s in cluster.SCHEMES
            for slow in (False, True)
            for seed in range(2)
        )

    as_stated, others = frame(KG=1.0, PKG=2.0, SG=2.0, CG=3.44), frame(KG=1.0, PKG=2.0, SG=9.0, CG=0.5)
    for claim_id in ("CG-A1", "CG-F12", "CG-F13"):
        assert CLAIMS[claim_id].judge(as_stated, "quick").verdict == "reproduced"
        assert CLAIMS[claim_id].judge(others, "quick").verdict == "differs"
    assert CLAIMS["CG-M"].judge(as_stated, "quick").verdict == "reproduced"
    assert CLAIMS["CG-M"].judge(as_stated.assign(pairs=100), "quick").verdict == "differs"
