"""The claims on POSG: all are there, and judges and figures work on what is measured."""

import numpy as np
import pytest
from claim_checks import judge_and_draw
from streamlb.validation.claim import REPRODUCED
from streamlb.validation.claims import claims_of
from streamlb.validation.claims.posg import readings, skew, sweeps
from streamlb.validation.engine import experiments_of

CLAIMS = claims_of("posg")
EXPECTED = {
    *("EX1", "E1", "T3.1", "T3.2", "T3.3", "T4.2", "T4.2t", "S1"),
    *("F4a", "F4b", "F4c", "F4d", "F4e", "F4f", "F5a", "F5b", "F5c", "F5d", "F6", "F7a", "F7b"),
    *("F8a", "F8b", "F8c", "F9a", "F9b", "F10a", "F10b", "F10c", "F11", "F12a", "F12b", "F12c", "F12d"),
}
EXACT = ("POSG-EX1", "POSG-E1", "POSG-T3.1", "POSG-T3.2", "POSG-T3.3", "POSG-T4.2", "POSG-T4.2t", "POSG-F8a")


def test_every_claim_is_there_once():
    ids = [claim.id for claim in CLAIMS]
    assert len(ids) == len(set(ids))
    assert {i for i in ids if i.startswith("POSG-")} == {f"POSG-{name}" for name in EXPECTED}
    assert sum(i.startswith("OWN-POSG-") for i in ids) == 3


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_claim_is_judged_and_drawn(claim, few_runs):
    rows = [row for row in claim.experiment.grid("quick") if row.get("seed", 0) < 2]
    verdict = judge_and_draw(claim, few_runs(claim.experiment, rows))
    if claim.id in EXACT:  # they do not depend on the seeds
        assert verdict.verdict == REPRODUCED


def test_measures_are_functions_of_their_row():
    row = {"exponent": 1.0, "seed": 7}
    assert skew.DISTRIBUTIONS.measure(**row) == skew.DISTRIBUTIONS.measure(**row)


def test_associations_by_a_distribution():
    """Items draw their times independently, so that means are near those of the distribution.

    A mean over 4,096 items is within five standard errors of it.
    """
    values = np.arange(1.0, 65.0)
    for association in ("binomial", "geometric"):
        shares = readings.association_shares(association)
        assert shares.sum() == pytest.approx(1.0)
        times = readings.times_of_items(association, 3)
        assert set(times) <= set(values)
        mean = (shares * values).sum()
        error = ((shares * values**2).sum() - mean**2) ** 0.5 / len(times) ** 0.5
        assert abs(times.mean() - mean) < 5 * error
    assert readings.association_shares("binomial") @ values == pytest.approx(32.5)
    steps = readings.association_shares("geometric")
    np.testing.assert_allclose(steps[1:] / steps[:-1], 15 / 16)


def test_the_paper_profile_has_its_hundred_streams():
    for experiment in experiments_of([*skew.CLAIMS, *sweeps.CLAIMS]).values():
        assert {row["seed"] for row in experiment.grid("paper")} == set(range(100))
