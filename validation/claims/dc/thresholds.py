"""The threshold of the head and the number of choices, on synthetic keys.

Nasir et al. 2016, section V: figures 7 and 8 on the threshold, figure 9 on the least number of
choices.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from streamlb.analysis import head_size, zipf_shares

from ...claim import Claim, Experiment, Seeds, claims_into
from ...figures import COLOURS, PAPER, panels, paper_line, positive
from ...judging import Finding, Runs, all_of, at_least, at_most, between, finding, mean, never
from .readings import (
    EPSILON,
    FIFTH,
    READINGS,
    SETUP,
    SKEWS,
    SOURCES,
    build,
    by_profile,
    column,
    hash_seed,
    route,
    stream_size,
    times,
    typical,
    zipf,
)

THETAS = {"2/n": 2.0, "1/n": 1.0, "1/2n": 0.5, "1/4n": 0.25, "1/8n": 0.125}
READ = ("printed", "default")
CLAIMS: list[Claim] = []
claim = claims_into(CLAIMS, paper="DC", kind="b", setup=SETUP)


def _threshold(z: float, n: int, theta: str, m: int, seed: int) -> dict[str, Any]:
    """Route one stream by W-C and RR with a given threshold: the imbalance at the end."""
    share = min(THETAS[theta] / n, 0.999)
    names = [f"{scheme}_{variant}" for scheme in ("wc", "rr") for variant in READ]
    groupings = {name: build(name, n, SOURCES, hash_seed(seed), theta=share) for name in names}
    history = route(zipf(10_000, z), m, groupings, seed, checkpoints=1)["history"]
    return {name: values[-1] for name, values in history.items()}


THRESHOLD = Experiment(
    "dc_threshold",
    lambda profile: [
        {"z": z, "n": n, "theta": theta, "m": stream_size(profile)}
        for z in by_profile(profile, [1.2, 2.0], SKEWS[3::4])
        for n in by_profile(profile, (10, 100), (5, 10, 50, 100))
        for theta in THETAS
    ],
    _threshold,
    lambda row: row["m"],
    Seeds(quick=(8, 30), paper=(6, 20)),
)


def _figure_threshold(runs, profile):
    workers = sorted(runs["n"].unique())
    figure, (all_axes,) = panels(
        "Imbalance by threshold", [f"n = {n}" for n in workers], "skew z", ["imbalance I(m)"], share_y=True, log_y=True
    )
    for axes, n in zip(all_axes, workers):
        for theta, colour in zip(THETAS, COLOURS):
            curve = runs[(runs["n"] == n) & (runs["theta"] == theta)].groupby("z")[["wc_printed", "rr_printed"]].mean()
            axes.plot(
                curve.index, positive(curve["wc_printed"]), color=colour, marker="o", ms=3, label=f"W-C, θ = {theta}"
            )
            axes.plot(
                curve.index,
                positive(curve["rr_printed"]),
                color=colour,
                ls=":",
                marker="o",
                ms=3,
                label=f"RR, θ = {theta}",
            )
        paper_line(axes, 1e-5, "ideal: 1e-5")
    all_axes[-1].legend(fontsize=6, ncol=2, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


@claim(
    "DC-F7",
    where="Figure 7",
    statement="W-C is ideally balanced for every θ ≤ 1/n; RR is graded, worse with skew and scale.",
    claimed="ideal for θ ≤ 1/n",
    criterion=(
        "shape: RR's imbalance rises by no more than a fifth at any step of θ down, for every n; for θ = 2/n and 1/n it is "
        "at least 1.2 times as large at the largest n as at the least, and there 1.2 times W-C's or more. Value: W-C < "
        "10⁻⁵ in every run with θ ≤ 1/n"
    ),
    amended="RR's mean on one seed; geometric means over seeds now, and growth with scale and W-C are judged.",
    experiment=THRESHOLD,
    readings=READ,
    figure=_figure_threshold,
)
def _judge_threshold(runs: Runs) -> Finding:
    wc, rr = column("wc", runs.reading), column("rr", runs.reading)
    low = runs.where(theta=[theta for theta in THETAS if theta != "2/n"]).frame
    worst = low.iloc[int(low[wc].to_numpy().argmax())]
    over = int((low[wc] >= 1e-5).sum())
    workers = runs.values_of("n")
    steps = [
        at_most(
            times(runs.where(n=n, theta=b)[rr], runs.where(n=n, theta=a)[rr]), FIFTH, f"RR, n = {n}, θ from {a} to {b}"
        )
        for n in workers
        for a, b in itertools.pairwise(THETAS)
    ]
    for theta in ("2/n", "1/n"):
        small, large = (runs.where(n=n, theta=theta) for n in (workers[0], workers[-1]))
        steps.append(
            at_least(times(large[rr], small[rr]), FIFTH, f"RR at n = {workers[-1]} over {workers[0]}, θ = {theta}")
        )
        steps.append(at_least(times(large[rr], large[wc]), FIFTH, f"RR over W-C at n = {workers[-1]}, θ = {theta}"))
    top = runs.where(n=workers[-1])
    return finding(
        f"W-C with θ ≤ 1/n 10⁻⁵ or more in {over} of {len(low)} runs, at most {worst[wc]:.1e} (n = {worst['n']}, z = "
        f"{worst['z']:g}, θ = {worst['theta']}); RR at n = {workers[-1]} for θ = 2/n to 1/8n: "
        + ", ".join(f"{typical(top.where(theta=theta)[rr]):.1e}" for theta in THETAS),
        shape=all_of(steps),
        value=never(over, len(low)),
        note="Geometric means over seeds, RR averaged over the skews.",
    )


def _head_tail(m: int, seed: int) -> dict[str, Any]:
    """Split the load of each worker into that of hot keys and that of the others."""
    from streamlb import Zipf, head_tail_load

    n, theta = 5, 1 / 40
    keys = Zipf(10_000, 2.0).draw(m, seed)
    hot = np.arange(head_size(zipf_shares(10_000, 2.0), theta))
    result: dict[str, Any] = {}
    for name in ("pkg", *(f"{scheme}_{variant}" for scheme in ("wc", "rr") for variant in READ)):
        options = {} if name == "pkg" else {"theta": theta}
        workers = build(name, n, SOURCES, hash_seed(seed), **options).route_many(keys)
        head, tail = head_tail_load(keys, workers, hot, n)
        result[name] = float(((head + tail) / m).max() - 1 / n)
        if not name.endswith(("rotated", "default")):
            result[f"{name}_head"], result[f"{name}_tail"] = (head / m).tolist(), (tail / m).tolist()
    return result


HEAD_TAIL = Experiment(
    "dc_head_tail",
    lambda profile: [{"m": by_profile(profile, 200_000, 10_000_000)}],
    _head_tail,
    seeds=Seeds(quick=(30, 120), paper=(15, 60)),
)


def _figure_head_tail(runs, profile):
    figure, (all_axes,) = panels(
        "Load of each worker by head and tail, n = 5, θ = 1/8n, z = 2, one seed",
        ["PKG", "W-C", "RR"],
        "worker",
        ["share of messages"],
        share_y=True,
    )
    for axes, name in zip(all_axes, ("pkg", "wc_printed", "rr_printed")):
        head, tail = (np.array(runs[f"{name}_{part}"].iloc[0]) for part in ("head", "tail"))
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
    criterion=(
        "shape: RR's imbalance is at least 1.2 times W-C's, and PKG's 1.2 times RR's. Value: W-C's greatest load is within "
        "10⁻⁴ of 1/n in every run"
    ),
    amended="Also two workers over under PKG and RR's head even, which hold by construction, on one seed.",
    experiment=HEAD_TAIL,
    readings=READ,
    figure=_figure_head_tail,
)
def _judge_head_tail(runs: Runs) -> Finding:
    wc, rr, pkg = runs[column("wc", runs.reading)], runs[column("rr", runs.reading)], runs["pkg"]
    over = int((wc.values > 1e-4).sum())
    return finding(
        f"greatest load above 1/n: PKG {typical(pkg):.2g}, RR {typical(rr):.1e}, W-C {typical(wc):.1e}, more than 10⁻⁴ in "
        f"{over} of {len(wc)} runs",
        shape=all_of(at_least(times(rr, wc), FIFTH, "RR over W-C"), at_least(times(pkg, rr), FIFTH, "PKG over RR")),
        value=never(over, len(wc)),
        note="z = 2, θ = 1/8n. The hottest key has .61 of the messages on two workers under PKG, or on one where its "
        "hashes coincide, and RR deals hot keys out evenly: these two parts hold by construction.",
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

    target = final(build("wc_printed", n, SOURCES, hash_seed(seed)))
    solved = build("dc_printed", n, SOURCES, hash_seed(seed))
    final(solved)
    within = matching = None
    for d in range(max(2, int(zipf_shares(10_000, z)[0] * n) - 1), n + 1):
        value = final(build("dc_printed", n, SOURCES, hash_seed(seed), choices=d))
        if within is None and value <= target + EPSILON:
            within = d
        if value <= 2 * target + 1 / m:
            matching = d
            break
    return {"d": solved.d, "within": within or n, "matching": matching or n}


LEAST = Experiment(
    "dc_least_choices",
    lambda profile: [
        {"z": z, "n": n, "m": by_profile(profile, 200_000, 1_000_000)}
        for z in by_profile(profile, [1.2, 1.6, 2.0], SKEWS[7::2])
        for n in by_profile(profile, (10, 50), (10, 50, 100))
    ],
    _least_choices,
    lambda row: row["m"] * row["n"] * row["z"],
    Seeds(quick=(10, 60), paper=(10, 40)),
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
    criterion=(
        "shape: the mean of d less the least d is 0 or more in every setting. Value: it is at most .15 n, either way"
    ),
    amended="Every run by itself; a least d found on one seed is chance, so that means over seeds are judged.",
    experiment=LEAST,
    readings=("printed", "matching"),
    figure=_figure_least,
)
def _judge_least(runs: Runs) -> Finding:
    least = READINGS[runs.reading].options.get("least", "within")
    off = {f"z = {z:g}, n = {n}": (own["d"] - own[least], n) for (z, n), own in runs.by("z", "n")}
    means = {name: sample.values.mean() / n for name, (sample, n) in off.items()}
    low, high = min(means, key=means.__getitem__), max(means, key=means.__getitem__)
    below = float((runs.frame["d"] < runs.frame[least]).mean())
    return finding(
        f"d less the least d: {mean(off[low][0]):.1f} workers ({low}) to {mean(off[high][0]):.1f} ({high}); d is below "
        f"the least in {below:.0%} of runs",
        shape=all_of(at_least(sample, 0.0, f"d less the least d, {name}") for name, (sample, _) in off.items()),
        value=all_of(between(sample / n, -0.15, 0.15, f"the same over n, {name}") for name, (sample, n) in off.items()),
        note="The least d is the first whose imbalance is within ε of W-C's, or at most twice as large. D-C's d "
        "follows from expected values: on a seed whose hashes of a hot key coincide more than expected it is too small.",
    )
