"""The claims about sketches: all are there, judged by what was measured, and drawn."""

import pytest
from claim_checks import Fed, check_all_are_fed, check_judge, few_rows, judge_and_draw
from streamlb.validation.claims import claims_of
from streamlb.validation.claims.sketches.readings import NAMES, READINGS

CLAIMS = claims_of("sketches")
IDS = {
    *("POSG-CM1", "POSG-CM2", "POSG-F1", "POSG-P1", "POSG-F9c", "POSG-F9c-w", "POSG-B1", "POSG-WC", "POSG-WC-w"),
    *("POSG-B2", "POSG-T4.3", "POSG-N1", "POSG-N2", "POSG-N3", "LAS-F1", "LAS-EQ2", "LAS-E", "LAS-MK"),
}

OVER = {"under": 0, "failing": 0.02, "hottest": False}
COLUMNS = {0.7: 4, 0.05: 54, 1.0: 1, 0.001: 2781}
SHAPES = {
    "rows": lambda row: 2 if row.delta == 0.25 else 4,
    "columns": lambda row: COLUMNS[row.epsilon],
    "off": 0.5,
    "failure": 0.01,
    "rows_ln": 3,
}
CELLS = {
    "cells": 200,
    "outside": 0,
    "least": 9.0,
    "greatest": 40.0,
    "error_message": lambda row: 16.0 - 5 * row.exponent,
    "error_item": lambda row: 16.0 - 5 * row.exponent,
}
ENUMERATED = {"equal": True, "events_equal": True, "sum_is_one": True, "events": 8, "functions": 27}
EXAMPLE = {
    "least_expected": lambda row: 32.08,
    "greatest_expected": lambda row: 32.92,
    "cheapest": 32.1,
    "dearest": 32.9,
    "markov_row": "11/16",
    "markov_all": "25937424601/1099511627776",
    "over_row": 3,
    "over_least": 0,
    "any_over_least": False,
    "shape": [1, 55],
}
TAIL = {"least_holds": True, "scheduler_holds": False, "scheduler": 0.5, "bound": 0.2}


def _example(**false):
    return Fed(true=EXAMPLE, false=false, noise=None, seeds=330)


def _columns(epsilon, wrong):
    return Fed(true=SHAPES, false={"columns": lambda row: wrong if row.epsilon == epsilon else COLUMNS[row.epsilon]})


FED = {
    "POSG-CM1": Fed(
        true=OVER,
        false=[
            {"under": 1},
            {"failing": lambda row: 0.2 if row.exponent == 1.5 else 0.02},
            {"hottest": lambda row: row.exponent == 3.0 and row.seed % 2 == 0},
        ],
        noise={"failing": 0.5},
        seeds=120,
    ),
    "POSG-CM2": Fed(
        true=SHAPES,
        false=[{"rows": lambda row: 3 if row.delta == 0.1 else 2}, {"off": 1.5, "rows": 1}, {"failure": 0.3}],
    ),
    "POSG-F1": Fed(true=SHAPES, false=[{"rows": 3}, _columns(0.7, 3).false]),
    "LAS-F1": Fed(true=SHAPES, false=[{"rows": 3}, _columns(0.7, 3).false]),
    "POSG-P1": _columns(0.05, 55),
    "POSG-F9c": _columns(1.0, 3),
    "POSG-F9c-w": _columns(0.001, 2719),
    "POSG-B1": Fed(true=CELLS, false={"outside": 1}, noise=None),
    "LAS-EQ2": Fed(true=CELLS, false={"outside": 1}, noise=None),
    "POSG-WC": Fed(true=CELLS, false={"error_message": lambda row: 9.0 + (row.exponent == 1.0)}),
    "POSG-WC-w": Fed(true=CELLS, false={"error_item": lambda row: 9.0 + (row.exponent == 1.0)}),
    "POSG-B2": Fed(true=ENUMERATED, false=[{"events_equal": False}, {"sum_is_one": lambda row: row.n != 3}]),
    "POSG-T4.3": Fed(true=ENUMERATED, false={"equal": lambda row: row.n != 3}),
    "LAS-E": Fed(true=ENUMERATED, false={"equal": lambda row: row.n != 3}),
    "POSG-N1": _example(least_expected=32.2),
    "POSG-N2": _example(markov_row="12/16", markov_all="1/10"),
    "POSG-N3": Fed(
        true=EXAMPLE,
        false=[{"over_least": 5, "any_over_least": True}, {"shape": [2, 55], "over_least": 1}],
        noise={"over_least": 3.0},
        seeds=330,
    ),
    "LAS-MK": Fed(true=TAIL, false={"least_holds": lambda row: row.n != 3}),
}


def test_every_claim_is_there():
    assert {claim.id for claim in CLAIMS} == IDS
    assert len(CLAIMS) == len(IDS)
    assert all(claim.id.startswith(f"{claim.paper}-") for claim in CLAIMS)


def test_readings_are_declared():
    assert list(READINGS) == ["default", "printed"]
    assert all(reading.name == name and reading.allowed_by for name, reading in READINGS.items())
    assert all(claim.readings in (("",), NAMES) for claim in CLAIMS)


def test_every_judge_is_fed():
    check_all_are_fed(FED, CLAIMS)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_judges_tell_true_from_false(claim):
    check_judge(claim, FED[claim.id])


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_claim_is_judged_and_drawn(claim, few_runs):
    judge_and_draw(claim, few_runs(claim.experiment, few_rows(claim.experiment, seeds=4)))


def test_a_reading_rounds_one_way(few_runs):
    by_id = {claim.id: claim for claim in CLAIMS}
    runs = few_runs(by_id["POSG-P1"].experiment)
    columns = {name: runs[runs["reading"] == name].set_index("epsilon")["columns"].to_dict() for name in NAMES}
    # e/epsilon by hand, rounded up and down
    assert columns["default"] == {0.7: 4, 0.05: 55, 1.0: 3, 0.001: 2719}
    assert columns["printed"] == {0.7: 3, 0.05: 54, 1.0: 2, 0.001: 2718}
