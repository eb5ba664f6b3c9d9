"""The threshold of the head and the number of choices, on synthetic keys.

Nasir et al. 2016, section V: figures 7 and 8 on the threshold, figure 9 on the least number of
choices.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from streamlb.analysis import head_size, zipf_shares

from ...claim import Claim, Experiment, Verdict, claims_into
from ...figures import COLOURS, PAPER, panels, paper_line, positive
from .readings import EPSILON, SETUP, SKEWS, SOURCES, build, by_profile, hash_seed, route, stream_size, zipf

THETAS = {"2/n": 2.0, "1/n": 1.0, "1/2n": 0.5, "1/4n": 0.25, "1/8n": 0.125}
CLAIMS: list[Claim] = []
claim = claims_into(CLAIMS, paper="DC", kind="b", setup=SETUP)


def _threshold(z: float, n: int, theta: str, m: int, seed: int) -> dict[str, Any]:
    """Route one stream by W-C and RR with a given threshold: the imbalance at the end."""
    share = min(THETAS[theta] / n, 0.999)
    groupings = {scheme: build(scheme, n, SOURCES, hash_seed(seed), theta=share) for scheme in ("wc", "rr")}
    history = route(zipf(10_000, z), m, groupings, seed, checkpoints=10)["history"]
    return {scheme: values[-1] for scheme, values in history.items()}


THRESHOLD = Experiment(
    "dc_threshold",
    lambda profile: [
        {"z": z, "n": n, "theta": theta, "m": stream_size(profile), "seed": 22}
        for z in by_profile(profile, [0.8, 1.2, 1.6, 2.0], SKEWS)
        for n in (5, 10, 50, 100)
        for theta in THETAS
    ],
    _threshold,
    lambda row: row["m"],
)


def _figure_threshold(runs, profile):
    workers = sorted(runs["n"].unique())
    figure, (all_axes,) = panels(
        "Imbalance by threshold", [f"n = {n}" for n in workers], "skew z", ["imbalance I(m)"], share_y=True, log_y=True
    )
    for axes, n in zip(all_axes, workers):
        for theta, colour in zip(THETAS, COLOURS):
            curve = runs[(runs["n"] == n) & (runs["theta"] == theta)].groupby("z")[["wc", "rr"]].mean()
            axes.plot(curve.index, positive(curve["wc"]), color=colour, label=f"W-C, θ = {theta}")
            axes.plot(curve.index, positive(curve["rr"]), color=colour, ls=":", label=f"RR, θ = {theta}")
        paper_line(axes, 1e-5, "ideal: 1e-5")
    all_axes[-2].legend(fontsize=6, ncol=2, loc="lower left")
    return figure


@claim(
    "DC-F7",
    where="Figure 7",
    statement="W-C is ideally balanced for every θ ≤ 1/n; RR is graded, worse with skew and scale.",
    claimed="ideal for θ ≤ 1/n",
    criterion="W-C: I < 10⁻⁵ for θ ≤ 1/n; RR's mean does not rise as θ falls",
    experiment=THRESHOLD,
    figure=_figure_threshold,
)
def _judge_threshold(runs, profile) -> Verdict:
    low = runs[runs["theta"] != "2/n"]
    worst = low["wc"].max()
    at = low.loc[low["wc"].idxmax()]
    means = runs.pivot_table(index="n", columns="theta", values="rr", aggfunc="mean")[list(THETAS)]
    graded = bool((np.diff(means.to_numpy(), axis=1) <= 1e-5).all())
    default = low[low["theta"].isin(["1/4n", "1/8n"])]["wc"].max()
    return Verdict.when(
        bool(worst < 1e-5 and graded),
        f"W-C with θ ≤ 1/n at most {worst:.1e} (n = {at.n:g}, z = {at.z:g}, θ = {at.theta}), with θ ≤ 1/4n "
        f"{default:.1e}; RR's mean imbalance {'falls' if graded else 'does not always fall'} with θ for every n",
        "RR averaged over the skews. Means at n = 100 for θ = 2/n to 1/8n: "
        + ", ".join(f"{v:.1e}" for v in means.loc[100])
        + ".",
    )


def _head_tail(scheme: str, m: int, seed: int) -> dict[str, Any]:
    """Split the load of each worker into that of hot keys and that of the others."""
    from streamlb import Zipf, head_tail_load

    n, theta = 5, 1 / 40
    keys = Zipf(10_000, 2.0).draw(m, seed)
    options = {} if scheme == "pkg" else {"theta": theta}
    workers = build(scheme, n, SOURCES, hash_seed(seed), **options).route_many(keys)
    hot = np.arange(head_size(zipf_shares(10_000, 2.0), theta))
    head, tail = head_tail_load(keys, workers, hot, n)
    return {"head": (head / m).tolist(), "tail": (tail / m).tolist()}


HEAD_TAIL = Experiment(
    "dc_head_tail",
    lambda profile: [{"scheme": s, "m": stream_size(profile), "seed": 23} for s in ("pkg", "wc", "rr")],
    _head_tail,
)


def _loads(runs) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return each scheme's load of the head and of the tail, by worker."""
    return {r.scheme: (np.array(r.head), np.array(r.tail)) for r in runs.itertuples()}


def _figure_head_tail(runs, profile):
    figure, (all_axes,) = panels(
        "Load of each worker by head and tail, n = 5, θ = 1/8n, z = 2",
        ["PKG", "W-C", "RR"],
        "worker",
        ["share of messages"],
        share_y=True,
    )
    for axes, (head, tail) in zip(all_axes, _loads(runs).values()):
        axes.bar(range(5), head, color=COLOURS[0], label="head")
        axes.bar(range(5), tail, bottom=head, color=COLOURS[1], label="tail")
        axes.axhline(0.2, color=PAPER, ls=":", label="1/n")
    all_axes[0].legend(fontsize=8)
    return figure


@claim(
    "DC-F8",
    where="Figure 8",
    statement="PKG overloads two workers; W-C mixes head and tail to 1/n; RR evens the head but not the total.",
    claimed="as stated",
    criterion="two workers over; W-C within 10⁻⁴; RR's head within 10⁻², its total ten times less even than W-C's",
    experiment=HEAD_TAIL,
    figure=_figure_head_tail,
)
def _judge_head_tail(runs, profile) -> Verdict:
    loads = _loads(runs)
    total = {scheme: head + tail for scheme, (head, tail) in loads.items()}
    over = int((total["pkg"] > 0.2 * 1.2).sum())
    flat = float(np.abs(total["wc"] - 0.2).max())
    even = float(np.ptp(loads["rr"][0]))
    uneven = float(total["rr"].max() - 0.2)
    return Verdict.when(
        over == 2 and flat < 1e-4 and even < 1e-2 and uneven > 10 * flat,
        f"PKG: {over} of 5 workers more than 20% above 1/n; W-C within {flat:.1e} of 1/n; RR: head spread over "
        f"{even:.1e}, total {uneven:.1e} above 1/n",
        "z = 2, θ = 1/8n.",
    )


def _least_choices(z: float, n: int, m: int, seed: int) -> dict[str, Any]:
    """Try Greedy-d with every d from that on which the hottest key fits.

    Return the first d that comes within ε of W-C's imbalance (`within`), and the first that matches
    it, at most twice as large (`matching`), beside the d that D-C solves for.
    """
    from streamlb import imbalance

    keys = zipf(10_000, z).draw(m, seed)

    def final(grouping) -> float:
        grouping.route_many(keys)
        return imbalance(grouping.loads)

    target = final(build("wc", n, SOURCES, hash_seed(seed)))
    solved = build("dc", n, SOURCES, hash_seed(seed))
    reached = final(solved)
    within = matching = None
    for d in range(max(2, int(zipf_shares(10_000, z)[0] * n) - 1), n + 1):
        value = final(build("dc", n, SOURCES, hash_seed(seed), choices=d))
        if within is None and value <= target + EPSILON:
            within = d
        if value <= 2 * target + 1 / m:
            matching = d
            break
    return {"target": target, "d": solved.d, "reached": reached, "within": within or n, "matching": matching or n}


LEAST = Experiment(
    "dc_least_choices",
    lambda profile: [
        {"z": z, "n": n, "m": by_profile(profile, 200_000, 10_000_000), "seed": seed}
        for z in by_profile(profile, [0.8, 1.2, 1.6, 2.0], SKEWS)
        for n in by_profile(profile, (10, 50, 100), (5, 10, 50, 100))
        for seed in by_profile(profile, (24, 25, 26), (24,))
    ],
    _least_choices,
    lambda row: row["m"] * row["n"] * row["z"],
)


def _figure_least(runs, profile):
    workers = sorted(runs["n"].unique())
    figure, (all_axes,) = panels(
        "d of D-Choices and the least d as good as W-C",
        [f"n = {n}" for n in workers],
        "skew z",
        ["d / n"],
        share_y=True,
    )
    for axes, n in zip(all_axes, workers):
        own = runs[runs["n"] == n]
        means = own.groupby("z")[["d", "within", "matching"]].mean() / n
        axes.plot(means.index, means["d"], marker="o", ms=3, color=COLOURS[0], label="D-C")
        axes.plot(means.index, means["within"], marker="s", ms=3, color=PAPER, label="least d, within ε of W-C")
        axes.plot(means.index, means["matching"], ls=":", color=COLOURS[2], label="least d, matching W-C")
    all_axes[0].legend(fontsize=7)
    return figure


@claim(
    "DC-F9",
    where="Figure 9",
    statement="D-C's d is very close to the least d that matches W-C, and in all cases slightly larger.",
    claimed="very close; never less",
    criterion="|d − min| ≤ .15 n and d ≥ min in every run",
    experiment=LEAST,
    figure=_figure_least,
)
def _judge_least(runs, profile) -> Verdict:
    off = (runs["d"] - runs["within"]) / runs["n"]
    below = runs[runs["d"] < runs["within"]]
    return Verdict.when(
        bool(off.abs().max() <= 0.15 and below.empty),
        f"d − minimum between {(runs['d'] - runs['within']).min():+d} and {(runs['d'] - runs['within']).max():+d} "
        f"workers ({off.min():+.0%} to {off.max():+.0%} of n); d below the minimum in {len(below)} of {len(runs)} "
        "runs",
        "The minimum is the first d whose imbalance is within ε of W-C's. d follows from expected values: on a "
        "seed whose hashes of a hot key coincide more than expected, it is too small. To match W-C itself (twice "
        f"its imbalance) takes up to {(runs['matching'] - runs['d']).max()} workers more than d.",
    )
