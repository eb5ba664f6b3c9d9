"""The claims of Nasir et al. 2016: all are there, grids are plain, judges and figures work."""

import json

import numpy as np
import pandas as pd
import pytest
from claim_checks import Fed, check_all_are_fed, check_judge, few_rows, judge_and_draw
from streamlb.analysis import min_choices, zipf_shares
from streamlb.validation.claim import PROFILES
from streamlb.validation.claims import claims_of
from streamlb.validation.claims.dc import own, readings, traces
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
    assert set(ids) >= {f"DC-{name}" for name in IDS}
    assert all(claim.paper == ("OWN" if claim.id.startswith("OWN") else "DC") for claim in CLAIMS)
    assert len(set(ids)) == len(ids)
    for claim in CLAIMS:
        assert all((claim.where, claim.statement, claim.claimed, claim.criterion)), claim.id
        assert set(claim.readings) <= {"", *readings.READINGS}, claim.id


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_grids_are_plain_and_without_repeats(profile, name):
    rows = [json.dumps(row, sort_keys=True) for row in EXPERIMENTS[name].grid(profile)]
    assert rows
    assert len(set(rows)) == len(rows)
    assert "seed" not in json.loads(rows[0])
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
    rows = few_rows(EXPERIMENTS[name])
    for row in rows:
        for size, most in (("m", 20_000), ("trials", 10)):
            if size in row:
                row[size] = min(row[size], most)
        if "sizes" in row:
            row["sizes"] = [1_000, 20_000]
    return rows


class Short:
    """A stream cut to few messages, in place of a stand-in."""

    def __init__(self, stream, messages):
        self.stream, self.messages, self.keys = stream, messages, stream.keys

    def chunks(self, m=None, seed=0, size=65_536):
        return self.stream.chunks(min(m or self.messages, self.messages), seed, size=size)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_judges_and_figures_work(name, few_runs, monkeypatch):
    from streamlb import Zipf, cashtags

    monkeypatch.setattr(
        traces,
        "_stream",
        lambda trace, full, data, seed: Short(cashtags(seed=seed) if trace == "CT" else Zipf(1000, 1.0), 20_000),
    )
    monkeypatch.setattr(own, "_stream", lambda name: readings.zipf(1000, 1.4))
    experiment, rows = EXPERIMENTS[name], small(name)
    runs = few_runs(experiment, rows)
    one, again = (to_json(experiment.measure(**rows[0])) for _ in range(2))
    assert one == again  # a pure function of its row
    for claim in CLAIMS:
        if claim.experiment is experiment:
            judge_and_draw(claim, runs)


# What each judge is fed.
CURVES = {
    "p1": lambda r: 0.6 if r.z == 2.0 else 0.1,
    "head": lambda r: 10 - round(10 * abs(r.z - 1)),
    "head_high": lambda r: 5 - round(5 * abs(r.z - 1)),
    "head_formula": lambda r: 10 - round(10 * abs(r.z - 1)),
    "head_high_formula": lambda r: 5 - round(5 * abs(r.z - 1)),
    "d": lambda r: max(2, r.n // 2),
    "d_ends": lambda r: max(2, r.n // 2),
    "d_distinct": lambda r: max(2, r.n // 3),
    "start": 3,
    "skipped": 0,
}
OVER = {  # memory over PKG: a bump at z = 1, D-C below W-C but for high skew
    **{f"dc_over_pkg_{counts}": lambda r: 0.1 if r.z < 2 else 0.20 for counts in ("drawn", "expected")},
    **{f"wc_over_pkg_{counts}": lambda r: 0.25 - 0.05 * abs(r.z - 1) for counts in ("drawn", "expected")},
    **{f"{s}_under_sg_{counts}": 0.85 for s in ("dc", "wc") for counts in ("drawn", "expected")},
}
VARIANTS = ("printed", "rotated", "default")


def schemes(pkg, dc, wc, rr=None):
    """Return columns of imbalances, the same under every reading."""
    made = {"pkg": pkg, "pkg_mean": pkg}
    for scheme, value in (("dc", dc), ("wc", wc), ("rr", rr)):
        if value is not None:
            made |= {f"{scheme}_{v}{mean}": value for v in VARIANTS for mean in ("", "_mean")}
    return made


BALANCED = schemes(lambda r: max(1e-4, 0.3 - 1 / r.n), 1e-4, 1e-6, 2e-4)
LOADS = {f"{name}_{part}": [0.1] * 5 for name in ("pkg", "wc_printed", "rr_printed") for part in ("head", "tail")}
WP_PKG = {5: 1e-6, 10: 1e-5, 20: 1e-3, 50: 2e-2, 100: 0.1}
TRACED = schemes(lambda r: WP_PKG[r.n], 1e-4, 1e-5)
OVER_TIME = {
    f"{name}_{what}": (lambda r: 3e-3 if r.trace == "CT" else 1e-3) if what == "window" else 1e-3
    for name in traces.SCHEMES
    for what in ("early", "late", "window")
}
TABLE = {
    "messages": lambda r: {"WP": 1_100_000, "TW": 1_000_000, "CT": 690_000}[r.trace],
    "keys": lambda r: {"WP": 145e3, "TW": 200e3, "CT": 2.9e3}[r.trace],
    "p1": lambda r: {"WP": 0.0932, "TW": 0.0267, "CT": 0.0329}[r.trace],
}
PAIRS = {"pkg": 1e3, "dc_printed": 1.3e3, "wc_printed": 2e3, "dc_default": 1.3e3, "wc_default": 2e3}
BOUNDED_PAIRS = {f"{name}_bound": 2100 for name in PAIRS}


def cluster(throughput, worst, **other):
    """Return columns of the cluster: throughput and latency of KG, PKG, SG and all of ours."""
    made = {}
    names = {
        "kg": ("kg",),
        "pkg": ("pkg",),
        "sg": ("sg",),
        "ours": ("dc_printed", "wc_printed", "dc_default", "wc_default"),
    }
    for scheme, of in names.items():
        for name in of:
            made[f"{name}.throughput"] = throughput[scheme]
            for what in ("worker_max", "p99", "worker_p50", "worker_p95", "worker_p99"):
                made[f"{name}.{what}"] = worst[scheme]
            made[f"{name}.pairs"] = 10_000 if scheme == "sg" else 1_000
    return {**made, **other}


GOOD = cluster(dict(kg=20.0, pkg=31.0, sg=46.0, ours=46.0), dict(kg=20.0, pkg=10.0, sg=4.0, ours=4.1))
MILD = dict(kg=20.0, pkg=31.0, sg=60.0, ours=60.0)
WRONG_WAY = cluster(dict(kg=50.0, pkg=48.0, sg=46.0, ours=30.0), dict(kg=4.0, pkg=5.0, sg=10.0, ours=20.0))
FASTER = cluster(dict(kg=1.0, pkg=2.0, sg=46.0, ours=46.0), dict(kg=2000.0, pkg=200.0, sg=4.0, ours=4.1))
RIVALS = {name: 1e-3 for name in own.RIVALS}
RIVAL_PAIRS = {f"{name}_pairs": 990 for name in own.RIVALS}
VARIED = {**schemes(1.0, 1e-4, 1e-5), **RIVALS, **RIVAL_PAIRS, "own_pairs": 1000, "dc_default": 1e-4}


def big(*names):
    return {name: 1.0 for name in names}


FED = {
    "DC-D1": Fed({"off": 0.0, "unsent": 0}, [{"off": 1e-3}, {"unsent": 1}], noise=None),
    "DC-T1": Fed({"theta": lambda r: 0.2 / r.n}, {"theta": lambda r: 0.4 / r.n}, "reported"),
    "DC-M2": Fed(
        {"loads": lambda r: r.s * r.n, "growth": 3, "counters": 1000}, [{"loads": 1}, {"growth": 999}], noise=None
    ),
    "DC-I1": Fed(CURVES, {"p1": 0.5}),
    "DC-I2": Fed(CURVES, {"p1": 0.3}),
    "DC-T2": Fed(CURVES, {"head": lambda r: 6 * r.n}),
    "DC-F3": Fed(
        CURVES, [{"head": lambda r: round(10 * r.z), "head_formula": lambda r: round(10 * r.z)}, {"head_formula": 1}]
    ),
    "DC-C1": Fed(CURVES, {"d_ends": 2}),
    "DC-C2": Fed(CURVES, {"skipped": 1}),
    "DC-F4": Fed(CURVES, {"d": lambda r: r.n}),
    "DC-F5": Fed(
        {**CURVES, **OVER},
        [
            {"dc_over_pkg_drawn": 0.5},
            {"dc_over_pkg_drawn": lambda r: 0.24},
            {"wc_over_pkg_drawn": lambda r: 0.28 if r.z == 2 else 0.25},
        ],
    ),
    "DC-F5w": Fed(
        {**CURVES, **OVER},
        [{"wc_over_pkg_drawn": lambda r: 0.1 * r.z}, {"wc_over_pkg_drawn": lambda r: 0.5 - 0.1 * abs(r.z - 1)}],
    ),
    "DC-F6": Fed({**CURVES, **OVER}, {"dc_under_sg_drawn": 0.7}),
    "DC-G1": Fed(
        {"share": 1.0, "once": 0.4, "five_times": 0.999}, [{"share": 1.2}, {"once": 0.9}, {"five_times": 0.5}]
    ),
    "DC-E10": Fed({"share": 1.0}, {"share": 0.9}),
    "DC-E5": Fed({"below": False, "excess": 0.01}, {"below": True, "excess": -0.01}),
    "DC-P4.1": Fed(
        {
            "first": 0.5,
            "middle": 0.6,
            "whole": 0.9,
            "above": True,
            "first_bound": 0.4,
            "middle_bound": 0.5,
            "whole_bound": 0.8,
        },
        [{"first": 0.3}, {"whole_bound": 0.95}],
    ),
    "DC-I3": Fed(BALANCED, {"pkg": 0.2}, "reported"),
    "DC-P1": Fed(BALANCED, {"pkg": 0.2}, "reported"),
    "DC-F10": Fed(
        BALANCED,
        [{"pkg": 1e-4}, {"rr_printed": 0.5}, {"wc_printed": 1e-4, "dc_printed": 1e-4}, {"wc_printed": 2e-5}],
    ),
    "DC-F10k": Fed(BALANCED, {"pkg": lambda r: r.keys * 1e-6}),
    "DC-P2": Fed({"first": 2.0, "last": 2.1, "share": 0.01}, {"last": 50.0}),
    "DC-F7": Fed(
        schemes(1.0, 1.0, 1e-6, lambda r: 1e-5 * r.n * readings_theta(r.theta)),
        [{"rr_printed": lambda r: 1e-5 * r.n / readings_theta(r.theta)}, {"rr_printed": 1e-3}, {"wc_printed": 2e-5}],
    ),
    "DC-F8": Fed(
        {**schemes(0.1, 1.0, 1e-6, 1e-3), **LOADS}, [{"rr_printed": 1e-7}, {"pkg": 1e-5}, {"wc_printed": 2e-4}]
    ),
    "DC-F9": Fed(
        {"d": lambda r: 12.0 if r.n == 10 else 60.0, "within": lambda r: 11.0 if r.n == 10 else 58.0, "matching": 11.0},
        [{"within": lambda r: 13.0 if r.n == 10 else 62.0}, {"within": 2.0}],
        noise={"within": 20.0},
    ),
    "DC-F10s": Fed(VARIED, {"dc_printed": 6e-4}, noise=None),
    "OWN-DC-DISTINCT": Fed(VARIED, [{name: 1.1e-4 for name in own.RIVALS}, {name: 1e-5 for name in own.RIVALS}]),
    "OWN-DC-TIES": Fed(VARIED, [{"dc_rotated": 2e-4}, {"wc_rotated": 2e-5}]),
    "OWN-DC-GUARD": Fed({"on": 1e-4, "off": 1e-4, "on_over_pkg": 0.1, "off_over_pkg": 0.3}, {"on_over_pkg": 0.5}),
    "OWN-DC-GUARD-COST": Fed(
        {"on": 1e-4, "off": 1e-4, "on_over_pkg": 0.1, "off_over_pkg": 0.3}, {"on": 2e-3}, noise={"on": 0.1, "off": 0.1}
    ),
    "OWN-DC-EDGE": Fed(
        {
            **{"switch": 1e-6, "smooth": 1e-5, "switch_pairs": 2000.0, "smooth_pairs": 1500.0},
            **{"switch_jump": 0.4, "smooth_jump": 0.02, "switch_jumps": 3, "smooth_jumps": 0},
        },
        [{"smooth_pairs": 2100.0}, {"smooth_jump": 0.3}, {"smooth": 1e-3}],
    ),
    "DC-M1": Fed({**PAIRS, **BOUNDED_PAIRS}, {"wc_printed": 2201.0}, noise=None),
    "DC-M3": Fed(
        {**PAIRS, **BOUNDED_PAIRS, "pkg_estimate": 1100.0},
        [{"dc_printed": 900.0}, {"wc_printed": 1200.0}],
        noise={"pkg": 1e4, "dc_printed": 1e4, "wc_printed": 1e4, "dc_default": 1e4, "wc_default": 1e4},
    ),
    "DC-F5m": Fed({**PAIRS, **BOUNDED_PAIRS, "pkg_estimate": 1100.0}, {"dc_printed": 1500}, "reported"),
    "DC-TI": Fed(TABLE, [{"p1": 0.003}, {"keys": 100.0}, {"messages": 100}]),
    "DC-F1": Fed(TRACED, [{"pkg": lambda r: 0.1}, {"pkg": lambda r: {**WP_PKG, 100: 0.04}[r.n]}]),
    "DC-F1d": Fed(TRACED, [{"dc_printed": 2e-3}, {"wc_printed": 2e-3}]),
    "DC-F11": Fed(TRACED, [{"dc_printed": 0.05}, {"wc_printed": 1e-3}]),
    "DC-F12": Fed(OVER_TIME, {"wc_printed_late": 5e-3}),
    "DC-F12d": Fed(OVER_TIME, {"pkg_window": 1e-3}),
    "DC-F13": Fed({**GOOD}, [WRONG_WAY, {"wc_printed.throughput": 40.0}]),
    "DC-F13p": Fed({**GOOD}, [WRONG_WAY, FASTER]),
    "DC-F13k": Fed({**GOOD}, [WRONG_WAY, FASTER]),
    "DC-F14": Fed({**GOOD}, [WRONG_WAY, {"pkg.worker_max": 15.0}]),
    "DC-F14s": Fed({**GOOD}, [WRONG_WAY, FASTER]),
    "DC-F14p": Fed({**GOOD}, [WRONG_WAY, FASTER]),
    "DC-F14k": Fed({**GOOD}, [WRONG_WAY, {"kg.worker_p99": 10.0}]),
    "DC-A1": Fed({**GOOD}, [WRONG_WAY, FASTER]),
    "DC-A1k": Fed({**GOOD}, [WRONG_WAY, FASTER]),
    "DC-A1l": Fed({**GOOD}, [WRONG_WAY, FASTER]),
    "DC-A1m": Fed({**GOOD}, [WRONG_WAY, FASTER]),
    "DC-Q4": Fed({**GOOD}, [{"dc_printed.throughput": 30.0}, {"wc_printed.worker_max": 9.0}]),
}


def readings_theta(theta):
    return {"2/n": 32, "1/n": 16, "1/2n": 8, "1/4n": 4, "1/8n": 2}[theta]


def test_every_judge_is_fed():
    check_all_are_fed(FED, CLAIMS)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_judges_tell_true_from_false(claim):
    check_judge(claim, FED[claim.id])


def test_readings_matter_where_they_should():
    """Imbalances that grow as a share of the load are bounded in the theorem's sense only."""
    from streamlb.validation.verdicts import judge

    (claim,) = (claim for claim in CLAIMS if claim.id == "DC-P2")
    from claim_checks import fed_runs

    runs = fed_runs(claim, FED["DC-P2"], {"last": 49.0})
    decisions = judge(claim, runs, "quick", 0.0).decisions
    assert {name: decision.verdict for name, decision in decisions.items()} == {
        "printed": "differs",
        "theorem": "reproduced",
    }


def test_heads_that_bind_are_those_of_the_distribution():
    """DC-M3 is judged where d is between 2 and n: such settings exist in both profiles."""
    for profile in PROFILES:
        rows = EXPERIMENTS["dc_memory"].grid(profile)
        d = [min_choices(zipf_shares(10_000, row["z"]), row["n"], 0.2 / row["n"], 1e-4) for row in rows]
        assert sum(2 < found < row["n"] for found, row in zip(d, rows)) >= 4


def test_routing_in_pieces_is_routing_at_once():
    from streamlb import Zipf, imbalance

    stream, m = Zipf(100, 1.2), 150_000
    out = readings.route(stream, m, {"dc_printed": readings.build("dc_printed", 7, 5, 3)}, 4, checkpoints=7)
    whole = readings.build("dc_printed", 7, 5, 3)
    whole.route_many(stream.draw(m, 4))
    assert out["history"]["dc_printed"][-1] == imbalance(whole.loads)
    assert len(out["windows"]["dc_printed"]) == 7


def test_recorded_data_take_the_place_of_a_stand_in(tmp_path, monkeypatch):
    keys = np.random.default_rng(1).integers(0, 50, 3000)
    np.save(tmp_path / "tags.npy", keys)
    monkeypatch.setenv("STREAMLB_DATA", f"CT={tmp_path / 'tags.npy'}")
    rows = {row["trace"]: row for row in EXPERIMENTS["dc_table"].grid("quick")}
    assert rows["WP"]["data"] == ""
    found = EXPERIMENTS["dc_table"].measure(**rows["CT"], seed=1)
    assert found == {"messages": 3000, "keys": 50, "p1": np.bincount(keys).max() / 3000}
    routed = [row for row in EXPERIMENTS["dc_traces"].grid("quick") if row["trace"].startswith("CT") and row["n"] == 50]
    results = [EXPERIMENTS["dc_traces"].measure(**row, seed=1) for row in routed]
    assert len(results) == 2
    assert all(0 < result["dc_printed"] < 1 for result in results)
    monkeypatch.setenv("STREAMLB_DATA", "XX=here")
    with pytest.raises(ValueError, match="STREAMLB_DATA must be NAME=PATH with a NAME of WP, TW, CT, got 'XX=here'"):
        EXPERIMENTS["dc_table"].grid("quick")
