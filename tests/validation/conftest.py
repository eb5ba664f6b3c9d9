"""What the tests of claims share."""

import json

import pandas as pd
import pytest
from claim_checks import few_rows
from streamlb.validation.engine import to_json


@pytest.fixture(scope="module")
def few_runs():
    """Return ``few_runs(experiment, rows)``, which measures a few rows of an experiment.

    The results pass through JSON, as they do in the engine, so that a judge sees here what it sees
    there. The runs are kept by the experiment's name: every claim that reads an experiment gets a
    copy of the same frame. Without `rows`, the whole quick grid is measured, with two seeds where
    there are seeds.
    """
    known = {}

    def measured(experiment, rows=None):
        if experiment.name not in known:
            rows = few_rows(experiment) if rows is None else rows
            runs = [{**row, **json.loads(to_json(experiment.measure(**row)))} for row in rows]
            known[experiment.name] = pd.DataFrame(runs)
        return known[experiment.name].copy()

    return measured
