"""The claims on load-aware shedding: all there, pure, and judged by what was measured."""

import json

import numpy as np
import pandas as pd
import pytest
from claim_checks import judge_and_draw
from streamlb.validation.claim import DIFFERS, REPRODUCED
from streamlb.validation.claims import claims_of
from streamlb.validation.claims.las import phases, readings, tweets
from streamlb.validation.engine import experiments_of

import streamlb

CLAIMS = {claim.id: claim for claim in claims_of("las")}
EXPERIMENTS = experiments_of(CLAIMS.values())
# All that the paper claims, but what it says of the sketch alone.
IDS = {
    *("L1", "L2", "T3.1", "T3.2", "T3.3", "T4.1a", "T4.1b", "T4.1c", "ED"),
    *("F4a", "F4b", "F4c", "F4d", "F4e", "F5a", "F5b", "F5c", "F5d"),
    *("F6A", "F6B", "F6C", "F6D", "F6E", "F6F", "F6G", "F7a", "F7b"),
}


def test_every_claim_is_there():
    assert {f"LAS-{name}" for name in IDS} == {name for name in CLAIMS if name.startswith("LAS-")}
    assert all(claim.paper == ("OWN" if name.startswith("OWN") else "LAS") for name, claim in CLAIMS.items())


@pytest.mark.parametrize("name", sorted(EXPERIMENTS))
def test_a_run_is_a_pure_function_of_its_row(name):
    experiment = EXPERIMENTS[name]
    row = json.loads(json.dumps(experiment.grid("quick")[0]))
    assert json.dumps(experiment.measure(**row)) == json.dumps(experiment.measure(**row))


@pytest.mark.parametrize("name", sorted(EXPERIMENTS))
def test_the_paper_profile_is_no_smaller(name):
    quick, paper = (EXPERIMENTS[name].grid(profile) for profile in ("quick", "paper"))
    assert len(paper) >= len(quick)


def test_the_papers_sizes():
    rows = EXPERIMENTS["las_levels"].grid("paper")
    assert {row["association"] for row in rows} == set(range(100))
    assert {row["seeds"] for row in rows} == {50}
    assert len({row["underprovisioning"] for row in rows}) == 11


def steady(by, values, **numbers):
    """Return a frame as `sweep` gives it: every number is 1 but those named."""
    rows = []
    for number, value in enumerate(values):
        for association in range(3):
            row = {by: value, "association": association, "warm": 1.0}
            for name in readings.SHEDDERS:
                for what in ("wait", "least", "most", "drop", "top"):
                    row[f"{name}: {what}"] = 1.0
            for key, entries in numbers.items():
                name, what = key.rsplit("_", 1)
                row[f"{name.replace('_', ' ')}: {what}"] = entries[number]
            rows.append(row)
    return pd.DataFrame(rows)


LOADS = (-0.1, 0.3, 0.9)


@pytest.mark.parametrize(
    ("claim", "by", "values", "numbers", "verdict"),
    [
        ("LAS-F4a", "underprovisioning", LOADS, {"LAS_wait": (1.0, 9.0, 9.0)}, REPRODUCED),
        ("LAS-F4a", "underprovisioning", LOADS, {"LAS_wait": (2.6, 1.0, 1.0)}, DIFFERS),
        ("LAS-F4c", "underprovisioning", LOADS, {"LAS_wait": (0.0, 3.3, 9.5)}, REPRODUCED),
        ("LAS-F4c", "underprovisioning", LOADS, {"LAS_wait": (0.0, 3.3, 9.7)}, DIFFERS),
        ("LAS-F4d", "underprovisioning", LOADS, {"Full_Knowledge_top": (6.4, 6.4, 6.4)}, REPRODUCED),
        ("LAS-F4d", "underprovisioning", LOADS, {"Full_Knowledge_top": (6.4, 6.4, 12.9)}, DIFFERS),
        ("LAS-F4e", "underprovisioning", LOADS, {"LAS_drop": (2, 2, 2), "Full_Knowledge_drop": (2, 2, 2)}, REPRODUCED),
        ("LAS-F4e", "underprovisioning", LOADS, {"LAS_drop": (2, 2, 0.9), "Full_Knowledge_drop": (2, 2, 2)}, DIFFERS),
        ("LAS-F5b", "exponent", (0.0, 1.0, 2.0), {"LAS_wait": (3.0, 2.0, 1.0)}, REPRODUCED),
        ("LAS-F5b", "exponent", (0.0, 1.0, 2.0), {"LAS_wait": (3.0, 1.0, 2.0)}, DIFFERS),
        ("LAS-F4e", "underprovisioning", LOADS, {"LAS_drop": (2, 2, 2), "Full_Knowledge_drop": (2, 2, 1)}, DIFFERS),
        ("LAS-F5b", "exponent", (0.0, 1.0, 2.0), {"LAS_wait": (3.0, 3.01, 1.0)}, DIFFERS),
        ("LAS-F5d", "exponent", (0.0, 1.0, 2.0), {"LAS_drop": (3.0, 2.0, 1.0)}, REPRODUCED),
        ("LAS-F5d", "exponent", (0.0, 1.0, 2.0), {"LAS_drop": (1.0, 2.0, 3.0)}, DIFFERS),
        ("OWN-LAS-REPORTS", "underprovisioning", LOADS, {"LAS_wait": (2, 2, 2), "LAS_drop": (2, 2, 2)}, REPRODUCED),
        ("OWN-LAS-REPORTS", "underprovisioning", LOADS, {"LAS_wait": (2, 2, 0.9), "LAS_drop": (2, 2, 2)}, DIFFERS),
    ],
)
def test_steady_claims_follow_the_numbers(claim, by, values, numbers, verdict):
    assert CLAIMS[claim].judge(steady(by, values, **numbers), "quick").verdict == verdict


def test_huge_waits_must_be_huge_at_every_load():
    both = {"Straw-Man_wait": (1.0, 65.0, 65.0), "Base_Line_wait": (1.0, 65.0, 65.0)}
    assert CLAIMS["LAS-F4b"].judge(steady("underprovisioning", LOADS, **both), "quick").verdict == REPRODUCED
    both["Base_Line_wait"] = (1.0, 65.0, 63.0)
    assert CLAIMS["LAS-F4b"].judge(steady("underprovisioning", LOADS, **both), "quick").verdict == DIFFERS


def test_phase_means_weigh_windows_by_what_they_kept():
    windows = phases.WINDOWS
    kept, total = np.zeros(windows), np.zeros(windows)
    # Phase A: a hundred tuples that waited 1, three hundred that waited 3.
    kept[0], total[0] = 100, 100.0
    kept[1], total[1] = 300, 900.0
    runs = pd.DataFrame([{"LAS: kept": kept.tolist(), "LAS: sum": total.tolist()}])
    assert phases.wait_in(runs, "LAS", "A").tolist() == [2.5]
    assert phases.drop_in(runs, "LAS", "A").tolist() == [1 - 400 / phases.PHASE]
    assert phases.last_wait(runs, "LAS", "A") == 3.0
    assert np.isnan(phases.wait_in(runs, "LAS", "B")).all()


@pytest.mark.parametrize("kind", ["values", "mentions"])
def test_the_stand_ins_for_tweets_are_as_described(kind):
    pmf = streamlb.tweets().pmf
    costs = tweets.mention_costs(3, pmf, kind)
    assert abs(pmf @ costs - 9.7) < 0.5
    assert abs(pmf[costs == 1].sum() - 0.36) < 0.02
    assert (costs.min(), costs.max() <= 152) == (1.0, True)
    if kind == "values":
        assert (len(set(costs)), costs.max()) == (110, 152.0)


@pytest.mark.parametrize("name", CLAIMS)
def test_claim_is_judged_and_drawn(name, few_runs):
    rows = CLAIMS[name].experiment.grid("quick")
    judge_and_draw(CLAIMS[name], few_runs(CLAIMS[name].experiment, rows[:: max(1, len(rows) // 20)]))
