"""The claims of Nasir et al. 2016: all are there, grids are plain, judges and figures work."""

import json

import numpy as np
import pandas as pd
import pytest
from claim_checks import judge_and_draw
from streamlb.validation.claim import PROFILES
from streamlb.validation.claims import claims_of
from streamlb.validation.claims.dc import balance, distribution, readings, traces
from streamlb.validation.engine import experiments_of, to_json

CLAIMS = claims_of("dc")
EXPERIMENTS = experiments_of(CLAIMS)
# fmt: off
IDS = [
    "A1", "I1", "I2", "I3", "F1", "D1", "P1", "P2", "T1", "T2", "F3", "G1", "P4.1", "E10", "E5", "C1", "C2", "F4",
    "M1", "M2", "M3", "F5", "F5m", "F6", "TI", "F7", "F8", "F9", "F10", "F10s", "F11", "F12", "F13", "F14", "Q4",
]
# fmt: on


def test_every_claim_is_there():
    ids = [claim.id for claim in CLAIMS]
    assert sorted(claim.id for claim in CLAIMS if claim.paper == "DC") == sorted(f"DC-{name}" for name in IDS)
    assert [claim.id for claim in CLAIMS if claim.paper == "OWN"] == [
        f"OWN-DC-{name}" for name in ("DISTINCT", "TIES", "GUARD")
    ]
    assert len(set(ids)) == len(ids)
    for claim in CLAIMS:
        assert all((claim.where, claim.statement, claim.claimed, claim.criterion)), claim.id


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_grids_are_plain_and_without_repeats(profile, name):
    rows = [json.dumps(row, sort_keys=True) for row in EXPERIMENTS[name].grid(profile)]
    assert rows
    assert len(set(rows)) == len(rows)
    assert all(EXPERIMENTS[name].cost(json.loads(row)) > 0 for row in rows)


def test_the_paper_profile_has_the_papers_sizes():
    balance = pd.DataFrame(EXPERIMENTS["dc_balance"].grid("paper"))
    assert set(balance["m"]) == {10_000_000}
    assert sorted(set(balance["z"])) == readings.SKEWS == [round(0.1 * i, 1) for i in range(1, 21)]
    assert sorted(set(balance["n"])) == [5, 10, 20, 50, 100]
    assert sorted(set(balance["keys"])) == [10_000, 100_000, 1_000_000]
    cluster = pd.DataFrame(EXPERIMENTS["dc_cluster"].grid("paper"))
    assert set(cluster["m"]) == {2_000_000}


def small(name):
    """Return a few rows with short streams: enough to judge and draw, not to conclude."""
    rows = EXPERIMENTS[name].grid("quick")
    if name in ("dc_variants", "dc_necessary", "dc_bounded", "dc_guard"):
        first = {row["seed"] for row in rows}
        rows = [row for row in rows if row["seed"] in sorted(first)[:2]]
    if name == "dc_balance":
        rows = [row for row in rows if row["seed"] == 21 and row["z"] >= 1.4]
    if name == "dc_traces":
        rows = [row for row in rows if row["trace"].startswith("CT") and row["seed"] == 34]
        rows += [{**row, "trace": trace} for trace in ("WP", "TW") for row in rows[:5]]
    for row in rows:
        for size in ("m", "trials"):
            if size in row:
                row[size] = min(row[size], 20_000 if size == "m" else 50)
    return rows


class Short:
    """A stream cut to few messages, in place of a stand-in."""

    def __init__(self, stream, messages):
        self.stream, self.messages, self.keys = stream, messages, stream.keys

    def draw(self, *args):
        return self.stream.draw(*args)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_judges_and_figures_work(name, few_runs, monkeypatch):
    from streamlb import Zipf

    true_stream = traces._stream
    monkeypatch.setattr(
        traces,
        "_stream",
        lambda trace, full: Short(true_stream(trace, full) if trace.startswith("CT") else Zipf(1000, 1.0), 20_000),
    )
    experiment, rows = EXPERIMENTS[name], small(name)
    runs = few_runs(experiment, rows)
    one, again = (to_json(experiment.measure(**rows[0])) for _ in range(2))
    assert one == again  # a pure function of its row
    for claim in CLAIMS:
        if claim.experiment is experiment:
            judge_and_draw(claim, runs)


def test_a_wrong_measurement_is_not_reproduced():
    """Judges look at the numbers: turn the schemes round and the verdicts turn too."""
    rows = [{**row, "m": 100_000} for row in small("dc_balance") if row["z"] == 2.0]
    runs = pd.DataFrame([{**row, **balance.BALANCE.measure(**row)} for row in rows])
    turned = runs.rename(columns={"pkg": "wc", "wc": "pkg"})
    verdicts = [claim.judge(turned, "quick").verdict for claim in CLAIMS if claim.id in ("DC-P1", "DC-F10")]
    assert verdicts == ["differs", "differs"]


def judge_of(claim_id):
    (judge,) = (claim.judge for claim in CLAIMS if claim.id == claim_id)
    return judge


def test_memory_is_judged_at_every_skew():
    def verdict(end):
        skews = list(zip((0.4, 1.0, 1.4, 2.0), (0.0, 0.25, 0.2, end)))
        rows = [
            {"keys": 10_000, "n": n, "z": z, "wc_over_pkg": v, "dc_over_pkg": v if z == 2.0 else v / 2}
            for n in (50, 100)
            for z, v in skews
        ]
        return judge_of("DC-F5")(pd.DataFrame(rows), "quick").verdict

    assert verdict(0.255) == "reproduced"
    assert verdict(0.27) == "differs"


def test_the_bump_is_the_first_peak():
    assert distribution._first_peak(np.array([0.0, 0.1, 0.25, 0.2, 0.26])) == 0.25
    assert distribution._first_peak(np.array([0.0, 0.1, 0.3])) == 0.3


def test_wikipedia_is_judged_at_every_number_of_workers():
    def verdict(pkg):
        rows = [
            {"trace": "WP", "n": n, "pkg": v, "dc": 1e-4, "wc": 1e-5, "own": 1e-5} for n, v in zip(traces.WORKERS, pkg)
        ]
        return judge_of("DC-F1")(pd.DataFrame(rows), "quick").verdict

    assert verdict([1e-6, 2e-6, 1e-3, 1e-2, 4e-2]) == "reproduced"
    assert verdict([2e-6, 1e-6, 1e-3, 1e-2, 4e-2]) == "differs"
