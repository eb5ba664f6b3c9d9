"""Unequal and changing workers, simulated in 1,440 slots of a minute.

Nasir et al. 2017, section VI-B, figures 7, 8, 10 and 11.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from streamlb.analysis import granularity

from ...claim import Claim, Experiment, Verdict, claims_into
from ...figures import COLOURS, PAPER, panels, positive
from .readings import STAND_IN, colour_of, grouping_of, thin, wikipedia

WORKERS, SLOTS = 10, 1440
VIRTUAL = (5, 10, 20, 50, 100, 1000)
PHASES = ((3, 5), (5, 4), (2, 10))  # y of the workers are z times faster
CHANGES = (6 / 22, 12 / 22)  # after these shares of all messages
SIMULATED = (
    STAND_IN
    + " Messages arrive evenly over 1,440 slots of a minute; capacities are such that shuffle grouping on equal "
    "workers runs at 80%; idle is below .75 and busy above .85 of capacity; signals are piggybacked. CG pairs "
    "by the least recently busy (lru)."
)
CLAIMS: list[Claim] = []
claim = claims_into(CLAIMS, paper="CG", kind="c", setup=SIMULATED)


def _grouping(scheme: str, virtual: int, seed: int):
    """Return the grouping of a scheme. CG pairs by lru unless its name says fcfs, as printed."""
    from streamlb import ConsistentGrouping

    if scheme.startswith("CG"):
        return ConsistentGrouping(WORKERS, virtual=virtual, policy="fcfs" if "fcfs" in scheme else "lru", seed=seed)
    return grouping_of(scheme, WORKERS, seed=seed)


def simulate(profile: str, grouping, capacities, seed: int, **options):
    """Run the stand-in through a grouping."""
    from streamlb import simulate_capacity

    return simulate_capacity(wikipedia(profile), grouping, capacities, slots=SLOTS, seed=seed, **options)


def summary(result) -> dict[str, Any]:
    """Return what the figures and the judges need of a simulation."""
    top = result.queue.max(axis=1)
    late = slice(SLOTS // 2, None)
    # Settled: the first slot from which on no worker's utilisation, over 30 slots, is above 1.
    smooth = np.apply_along_axis(lambda u: np.convolve(u, np.ones(30) / 30, "valid"), 0, result.utilisation)
    over = np.flatnonzero((smooth > 1.0).any(axis=1))
    return {
        "queue": thin(result.queue_gap),
        "latency": thin(result.latency_gap),
        "spread": thin(np.ptp(result.utilisation, axis=1)),
        "max_queue": float(top.max()),
        "mean_queue": float(top.mean()),
        "end_queue": float(top[-1]),
        "first_half_queue": float(top[: SLOTS // 2].max()),
        "second_half_queue": float(top[late].max()),
        "max_latency": float(result.worst_latency.max()),
        "max_queue_gap": float(result.queue_gap.max()),
        "max_latency_gap": float(result.latency_gap.max()),
        "max_spread": float(np.ptp(result.utilisation, axis=1).max()),
        "late_imbalance": float(result.imbalance[late].mean()),
        "late_utilisation": [float(u) for u in result.utilisation[late].mean(axis=0)],
        "settled": int(over[-1] + 30) if over.size else 0,
        "moves": int(result.moves.sum()),
        "shares": [int(a) for a in result.shares[-1]],
    }


def _series_figure(runs, title, label_of, marks=()):
    """Draw queue, latency and utilisation over the day, with dashed lines at the hours `marks`."""
    names = ["queue (messages)", "latency (minutes)", "utilisation"]
    fig, axes = panels(
        title,
        [f"{name}: longest less shortest" for name in names],
        "hour of the day",
        [""],
        size=(4.0, 3.0),
        log_y=True,
    )
    for i, (_, run) in enumerate(runs.iterrows()):
        label, colour = label_of(run, i)
        for ax, column in zip(axes[0], ("queue", "latency", "spread")):
            values = positive(run[column], 1e-3)
            ax.plot(np.linspace(0, 24, len(values)), values, color=colour, lw=1.2, label=label)
    for ax, name in zip(axes[0], names):
        ax.set_ylabel(name)
        for at in marks:
            ax.axvline(at, color=PAPER, lw=1, ls="--", label="capacities change" if at == marks[0] else None)
    axes[0, 0].legend(fontsize=7)
    return fig


def _scheme_label(run, i):
    return run["scheme"], colour_of(run["scheme"]) if run["scheme"] != "CG, fcfs" else COLOURS[4]


def _grid_equal(profile):
    return [{"scheme": scheme, "profile": profile, "seed": 0} for scheme in ("KG", "CG", "PKG", "PoTC", "SG")]


def _equal(scheme: str, profile: str, seed: int) -> dict[str, Any]:
    return summary(simulate(profile, _grouping(scheme, 10, seed), np.ones(WORKERS), seed))


EQUAL = Experiment("cg_equal", _grid_equal, _equal)


def _figure_equal(runs, profile):
    return _series_figure(runs[runs["scheme"].isin(("KG", "CG"))], "Equal workers at 80%", _scheme_label)


@claim(
    "CG-F7",
    where="Fig. 7",
    statement="10 equal workers at 80%: with KG queues and latencies grow apart, with CG they stay near 0.",
    claimed="CG near 0",
    criterion="CG's longest queue below 1/1000 of KG's, and KG's grows",
    experiment=EQUAL,
    figure=_figure_equal,
)
def _judge_equal(runs, profile):
    own = runs.set_index("scheme")
    ratio = own["max_queue"]["CG"] / own["max_queue"]["KG"]
    grows = own["second_half_queue"]["KG"] > 1.5 * own["first_half_queue"]["KG"]
    return Verdict.when(
        bool(ratio < 1e-3 and grows),
        f"longest queue {own['max_queue']['CG']:.0f} (CG) against {own['max_queue']['KG']:,.0f} (KG): {ratio:.1e}",
        f"Mean imbalance of utilisation in the second half: CG {own['late_imbalance']['CG']:.3f}, KG "
        f"{own['late_imbalance']['KG']:.3f}. KG's queue at the end is {own['end_queue']['KG']:,.0f}.",
    )


@claim(
    "CG-F7s",
    kind="b",
    where="VI-B, Q1",
    statement=(
        "PKG, PoTC and SG on the same workers: no difference between longest and shortest queue, latency, utilisation."
    ),
    claimed="exactly 0",
    criterion="all three differences 0 in every slot",
    experiment=EQUAL,
)
def _judge_equal_others(runs, profile):
    own = runs.set_index("scheme").loc[["PKG", "PoTC", "SG"]]
    zero = (own[["max_queue_gap", "max_latency_gap", "max_spread"]] == 0).all(axis=None)
    parts = [
        f"{name}: queue {row['max_queue_gap']:.0f}, latency {row['max_latency_gap'] * 60:.2g} s, utilisation "
        f"{row['max_spread']:.2g}"
        for name, row in own.iterrows()
    ]
    return Verdict.when(
        bool(zero),
        "; ".join(parts) + " (largest over all slots)",
        "Longest less shortest, slot by slot. SG is off by the one message that a slot does not divide by, PKG and "
        "PoTC by their random choices: little, not nothing.",
    )


def _grid_unequal(profile):
    return [{"scheme": scheme, "profile": profile, "seed": 0} for scheme in ("KG", "SG", "CG", "CG, fcfs")]


def _unequal(scheme: str, profile: str, seed: int) -> dict[str, Any]:
    from streamlb import fast_and_slow

    return summary(simulate(profile, _grouping(scheme, 10, seed), fast_and_slow(WORKERS, 3, 5), seed))


UNEQUAL = Experiment("cg_unequal", _grid_unequal, _unequal)


def _figure_unequal(runs, profile):
    return _series_figure(runs, "Unequal workers {y=3, z=5}", _scheme_label)


@claim(
    "CG-F8",
    where="Fig. 8",
    statement=(
        "3 of 10 workers are 5 times faster, 10 virtual workers: queues grow with KG and SG, and stay low with CG."
    ),
    claimed="CG low, imbalance close to 0",
    criterion=(
        "CG's longest queue is no longer in the second half than in the first (bounded), and ends below 1% of KG's "
        "and SG's (gap)"
    ),
    experiment=UNEQUAL,
    figure=_figure_unequal,
)
def _judge_unequal(runs, profile):
    own = runs.set_index("scheme")
    growth = {s: own["second_half_queue"][s] / max(own["first_half_queue"][s], 1) for s in ("KG", "SG")}
    bounded = own["second_half_queue"]["CG"] <= max(own["first_half_queue"]["CG"], 10)
    small = own["end_queue"]["CG"] < 0.01 * min(own["end_queue"]["KG"], own["end_queue"]["SG"])
    return Verdict.when(
        bool(bounded and small),
        f"queue at the end: CG {own['end_queue']['CG']:.0f}, SG {own['end_queue']['SG']:,.0f}, KG "
        f"{own['end_queue']['KG']:,.0f}; imbalance: CG {own['late_imbalance']['CG']:.3f}, SG "
        f"{own['late_imbalance']['SG']:.3f}",
        f"Bounded: longest in the first half {own['first_half_queue']['CG']:,.0f}, in the second "
        f"{own['second_half_queue']['CG']:,.0f}; KG's grows {growth['KG']:.1f} times, SG's {growth['SG']:.1f} "
        f"times. By FCFS queues: longest {own['max_queue']['CG, fcfs']:,.0f}, at the end "
        f"{own['end_queue']['CG, fcfs']:.0f}. 10 virtual workers cannot bring every worker into the band (4 are too "
        "few for a slow worker, 5 too many), so they keep moving: the imbalance, in parts of capacity, is low but "
        "not close to 0.",
    )


def _grid_virtual(profile):
    return [
        {"scheme": scheme, "virtual": v, "profile": profile, "seed": seed}
        for scheme in ("CG", "CG, fcfs")
        for v in VIRTUAL
        for seed in range(2 if profile == "quick" else 1)
    ]


def _virtual(scheme: str, virtual: int, profile: str, seed: int) -> dict[str, Any]:
    from streamlb import fast_and_slow

    return summary(simulate(profile, _grouping(scheme, virtual, seed), fast_and_slow(WORKERS, 3, 5), seed))


MANY = Experiment("cg_virtual", _grid_virtual, _virtual, cost=lambda row: row["virtual"])


def _figure_virtual(runs, profile):
    own = runs[(runs["scheme"] == "CG") & (runs["seed"] == 0)]
    return _series_figure(
        own,
        "Virtual workers for each worker, {y=3, z=5}",
        lambda run, i: (f"{run['virtual']}", COLOURS[i % len(COLOURS)]),
    )


@claim(
    "CG-F10",
    where="Fig. 10",
    statement="The same workers with 5, 10, 20, 50, 100 and 1,000 virtual workers each.",
    claimed="5 bad, 10 like 20, 1,000 slow, 100 best",
    criterion=(
        "by the mean over slots of the longest queue: 5 ten times the best, 10 within a factor 2 of 20, 100 best; "
        "1,000 the last to settle"
    ),
    experiment=MANY,
    figure=_figure_virtual,
)
def _judge_virtual(runs, profile):
    tables = {}
    checks = {}
    for scheme in ("CG", "CG, fcfs"):
        own = runs[runs["scheme"] == scheme].groupby("virtual")[["mean_queue", "settled", "late_imbalance"]].mean()
        tables[scheme] = own
        checks[scheme] = {
            "5 bad": own["mean_queue"][5] >= 10 * own["mean_queue"].min(),
            "10 like 20": 0.5 <= own["mean_queue"][10] / own["mean_queue"][20] <= 2,
            "1,000 slow": own["settled"].idxmax() == 1000,
            "100 best": own["mean_queue"].idxmin() == 100,
        }
    own = tables["CG"]
    fits = [v for v in VIRTUAL if granularity([5] * 3 + [1] * 7, v).feasible]
    return Verdict.when(
        all(checks["CG"].values()),
        "mean of the longest queue: " + ", ".join(f"{q:,.0f} ({v})" for v, q in own["mean_queue"].items()),
        "; ".join(f"{name}: {'yes' if ok else 'no'}" for name, ok in checks["CG"].items())
        + " (lru); "
        + "; ".join(f"{name}: {'yes' if ok else 'no'}" for name, ok in checks["CG, fcfs"].items())
        + " (fcfs). A signal moves one virtual worker, so the time to settle grows with their number "
        f"({', '.join(f'{s:.0f}' for s in own['settled'])} slots): fewer are faster. What fewer cannot do is "
        f"come to rest: whole numbers within [.75, .85] exist for {', '.join(map(str, fits))} of these, not for "
        f"5 and 10, whose mean imbalance in the second half is {own['late_imbalance'][5]:.3f} and "
        f"{own['late_imbalance'][10]:.3f} against {own['late_imbalance'][100]:.3f} for 100.",
    )


def changing(profile: str) -> tuple[np.ndarray, list[tuple[int, np.ndarray]]]:
    """Return the capacities at the start and the two changes of Fig. 11."""
    from streamlb import fast_and_slow

    messages = wikipedia(profile).messages
    first, *later = [fast_and_slow(WORKERS, y, z) for y, z in PHASES]
    return first, [(int(share * messages), capacities) for share, capacities in zip(CHANGES, later)]


def _grid_changing(profile):
    return [{"scheme": scheme, "profile": profile, "seed": 0} for scheme in ("KG", "SG", "CG", "CG, fcfs")]


def _changing(scheme: str, profile: str, seed: int) -> dict[str, Any]:
    first, changes = changing(profile)
    result = simulate(profile, _grouping(scheme, 100, seed), first, seed, changes=changes)
    ends = [int(share * SLOTS) - 1 for share in CHANGES] + [SLOTS - 1]
    return {**summary(result), "phase_ends": [float(result.queue[slot].max()) for slot in ends]}


CHANGING = Experiment("cg_changing", _grid_changing, _changing)


def _figure_changing(runs, profile):
    return _series_figure(
        runs,
        "Capacities change twice: {3,5}, {5,4}, {2,10}",
        _scheme_label,
        marks=tuple(24 * share for share in CHANGES),
    )


@claim(
    "CG-F11",
    where="Fig. 11",
    statement=(
        "Capacities change from {3,5} to {5,4} after 6M of 22M messages and to {2,10} after 12M; 100 virtual "
        "workers: CG adapts."
    ),
    claimed="adapts very efficiently",
    criterion="CG's longest queue is back below 1% of SG's at the end of each phase",
    experiment=CHANGING,
    figure=_figure_changing,
)
def _judge_changing(runs, profile):
    own = runs.set_index("scheme")
    ours, shuffle = np.array(own["phase_ends"]["CG"]), np.array(own["phase_ends"]["SG"])
    parts = ours / np.maximum(shuffle, 1)
    fcfs = np.array(own["phase_ends"]["CG, fcfs"]) / np.maximum(shuffle, 1)
    return Verdict.when(
        bool((parts < 0.01).all()),
        "queue at the end of each phase over SG's: " + ", ".join(f"{p:.2%}" for p in parts),
        f"Longest queue on the way: CG {own['max_queue']['CG']:,.0f}, SG {own['max_queue']['SG']:,.0f}, KG "
        f"{own['max_queue']['KG']:,.0f}. By FCFS queues: {', '.join(f'{p:.2%}' for p in fcfs)}. A worker moves one "
        "virtual worker in a slot, so each change takes hours; proportional signals do it in minutes "
        "(OWN-CG-PROP).",
    )
