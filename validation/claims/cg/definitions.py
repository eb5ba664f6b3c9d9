"""Definitions, thresholds and data sets (Nasir et al. 2017, sections III and VI-A, table I)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...claim import Claim, Experiment, Verdict, claims_into

CLAIMS: list[Claim] = []
claim = claims_into(CLAIMS, paper="CG", kind="a")


def _definitions(seed: int) -> dict[str, Any]:
    """Recompute L, U, I and M of a simulated run from its messages, by arrival and by finish."""
    from streamlb import KeyGrouping, Zipf, simulate_capacity

    keys = Zipf(500, 1.0).draw(20_000, seed)
    capacities = np.array([400.0, 200.0, 100.0, 100.0])
    run: Any = simulate_capacity(
        keys, KeyGrouping(4, seed=seed), capacities, slots=20, utilisation=None, keep_workers=True
    )
    load = np.array([np.bincount(part, minlength=4) for part in np.split(run.workers, 20)])
    u = load / capacities
    arrived = len(set(zip(keys[:10_000].tolist(), run.workers[:10_000].tolist())))
    done = 0
    for w in range(4):
        mine = np.flatnonzero(run.workers[:10_000] == w)
        served = mine[: mine.size - int(run.queue[9, w]) - 1] if run.queue[9, w] > 0 else mine
        done += len(set(keys[served].tolist()))
    return {
        "utilisation_error": float(np.abs(u - run.utilisation).max()),
        "imbalance_error": float(np.abs(u.max(axis=1) - u.mean(axis=1) - run.imbalance).max()),
        "memory_by_arrival": arrived,
        "memory_by_finish": done,
    }


DEFINITIONS = Experiment("cg_definitions", lambda profile: [{"seed": s} for s in range(5)], _definitions)


@claim(
    "CG-D1",
    where="III",
    statement="U = L/c, imbalance is the largest less the mean U, memory the number of keys on a worker.",
    claimed="definitions",
    criterion="U and I recomputed from the messages equal the simulation's",
    experiment=DEFINITIONS,
)
def _judge_definitions(runs, profile):
    error = max(runs["utilisation_error"].max(), runs["imbalance_error"].max())
    behind = (runs["memory_by_arrival"] - runs["memory_by_finish"]).mean()
    return Verdict.when(
        error < 1e-12,
        f"largest deviation {error:.1g}; M by arrival {runs['memory_by_arrival'].mean():.0f}, by finish "
        f"{runs['memory_by_finish'].mean():.0f}",
        "L counts messages that have arrived, M the keys of messages that have finished: with queues they differ, "
        f"here by {behind:.0f} pairs half-way. Both figures in this report count at arrival.",
    )


def _thresholds(low: float, high: float) -> dict[str, Any]:
    """Return how many virtual workers move when one worker is at `high` and one at `low`."""
    from streamlb import ConsistentGrouping

    return {"moves": ConsistentGrouping(3, virtual=4, policy="fcfs").observe([high, 0.8, low])}


THRESHOLDS = Experiment(
    "cg_thresholds",
    lambda profile: [{"low": low, "high": high} for low in (0.7499, 0.75) for high in (0.85, 0.8501)],
    _thresholds,
)


@claim(
    "CG-Th",
    where="VI-A",
    statement="A worker is idle with U < .75 and busy with U > .85.",
    claimed="rule",
    criterion="signals beyond the thresholds only",
    experiment=THRESHOLDS,
)
def _judge_thresholds(runs, profile):
    moves = {(row["low"], row["high"]): row["moves"] for _, row in runs.iterrows()}
    holds = moves == {(0.7499, 0.85): 0, (0.7499, 0.8501): 1, (0.75, 0.85): 0, (0.75, 0.8501): 0}
    return Verdict.when(holds, "a move at U = .7499 and .8501 only", "Exactly .75 and .85 are inside the band.")


def _table(name: str, profile: str) -> dict[str, Any]:
    """Compare the size and the top share of a data set's stand-in with those printed."""
    import streamlb

    if name == "WP":
        stream, messages, keys, share = streamlb.wikipedia(), 22_000_000, 2_900_000, 0.0932
    elif name == "TW":
        size = {} if profile == "paper" else {"keys": 1_000_000, "messages": 5_000_000}
        stream, share = streamlb.twitter(**size), 0.0267
        messages, keys = size.get("messages", 1_200_000_000), size.get("keys", 31_000_000)
    else:
        stream, messages, keys = streamlb.Zipf(100_000, 1.0, 10_000_000), 10_000_000, 100_000
        share = 1 / sum(1 / i for i in range(1, 100_001))
    return {
        "size_ok": stream.messages == messages and abs(stream.distinct() / keys - 1) < 1e-3,
        "p1": float(stream.pmf[0]),
        "claimed_p1": share,
    }


TABLE = Experiment("cg_table", lambda profile: [{"name": n, "profile": profile} for n in ("WP", "TW", "ZF")], _table)


@claim(
    "CG-TI",
    kind="c",
    where="Table I",
    statement="Messages, keys and share of the top key of WP, TW and ZF.",
    claimed="9.32%, 2.67%, 1/Σ x^-z",
    criterion="sizes equal, shares within .005 percentage points",
    experiment=TABLE,
)
def _judge_table(runs, profile):
    near = (runs["p1"] - runs["claimed_p1"]).abs() < 5e-5
    return Verdict.when(
        bool(runs["size_ok"].all() and near.all()),
        "; ".join(f"{row['name']}: p1 = {row['p1']:.2%}" for _, row in runs.iterrows()),
        "WP and TW are Zipf stand-ins with the exponent that gives the printed share of the top key."
        + (" TW with 1M keys and 5M messages in this profile." if profile == "quick" else ""),
    )
