"""The claims about sketches: all are there, judged by what was measured, and drawn."""

import pytest
from claim_checks import judge_and_draw
from streamlb.validation.claim import DIFFERS, REPRODUCED
from streamlb.validation.claims import claims_of

CLAIMS = {claim.id: claim for claim in claims_of("sketches")}
IDS = {
    *("POSG-CM1", "POSG-CM2", "POSG-F1", "POSG-P1", "POSG-F9c", "POSG-B1", "POSG-WC", "POSG-B2", "POSG-T4.3"),
    *("POSG-N1", "POSG-N2", "POSG-N3", "LAS-F1", "LAS-EQ2", "LAS-E", "LAS-MK"),
}
# A column of the runs, and a value in every run with which the claim must not pass.
WRONG = {
    "POSG-CM1": {"under": 1},
    "POSG-CM2": {"rows": 3},
    "POSG-F1": {"up": 3},
    "POSG-P1": {"down": 53},
    "POSG-B1": {"outside": 1},
    "POSG-B2": {"sum_is_one": False},
    "POSG-T4.3": {"equal": False},
    "POSG-N2": {"markov_row": "12/16"},
    "POSG-N3": {"over_least": 4096},
    "LAS-F1": {"rows": 4},
    "LAS-EQ2": {"outside": 1},
    "LAS-E": {"equal": False},
    "LAS-MK": {"least_holds": False},
}


def few(claim, few_runs):
    return few_runs(claim.experiment, [row for row in claim.experiment.grid("quick") if row.get("seed", 0) < 2])


def test_every_claim_is_there():
    assert set(CLAIMS) == IDS
    assert all(claim.id.startswith(f"{claim.paper}-") for claim in CLAIMS.values())


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=lambda claim: claim.id)
def test_claim_is_judged_and_drawn(claim, few_runs):
    verdict = judge_and_draw(claim, few(claim, few_runs))
    # A width of e/1 gives no single column.
    assert verdict.verdict == (DIFFERS if claim.id == "POSG-F9c" else REPRODUCED)


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_value_turns_the_verdict(name, few_runs):
    runs = few(CLAIMS[name], few_runs)
    assert CLAIMS[name].judge(runs.assign(**WRONG[name]), "quick").verdict == DIFFERS
