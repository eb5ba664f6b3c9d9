"""Memory counted as (key, worker) pairs (Nasir et al. 2016, section IV-B, and beside figure 5)."""

from __future__ import annotations

from typing import Any

from streamlb.analysis import head_size, memory_cost, min_choices, zipf_shares

from ...claim import Claim, Experiment, Seeds, claims_into
from ...figures import panels, paper_line
from ...judging import Finding, Runs, all_of, at_least, finding, geometric_mean, mean, never, reported
from .readings import EPSILON, SCHEME_COLOURS, SETUP, SKEWS, SOURCES, build, by_profile, column, hash_seed, label

CLAIMS: list[Claim] = []
claim = claims_into(CLAIMS, paper="DC", kind="b", setup=SETUP)
SCHEMES = ("pkg", "dc_printed", "wc_printed", "dc_default", "wc_default")
READ = ("printed", "default")


def _memory(z: float, n: int, m: int, seed: int) -> dict[str, Any]:
    """Count (key, worker) pairs, beside the printed bounds for the head of the distribution."""
    from streamlb import Zipf, replication

    p = zipf_shares(10_000, z)
    keys = Zipf(10_000, z).draw(m, seed)
    heads = head_size(p, 0.2 / n)
    result: dict[str, Any] = {"pkg_estimate": memory_cost(p, m, n, "PKG")}
    for name in SCHEMES:
        grouping = build(name, n, SOURCES, hash_seed(seed))
        result[name] = replication(keys, grouping.route_many(keys))
        d = {"pkg": 2, "wc": n}.get(name.partition("_")[0]) or grouping.d
        result[f"{name}_bound"] = d * heads + 2 * (10_000 - heads)
    return result


MEMORY = Experiment(
    "dc_memory",
    lambda profile: [
        {"z": z, "n": n, "m": by_profile(profile, 300_000, 10_000_000)}
        for z in by_profile(profile, (0.4, 1.0, 1.4, 2.0), SKEWS[3::4])
        for n in (50, 100)
    ],
    _memory,
    lambda row: 3 * row["m"],
    Seeds(quick=(10, 36), paper=(5, 15)),
)


@claim(
    "DC-M1",
    where="IV-B",
    statement="Memory is at most 2|K| for PKG, d|H| + 2|K∖H| for D-C, n|H| + 2|K∖H| for W-C.",
    claimed="bounds",
    criterion="value: no run has more pairs than the bound, H that of the distribution, d that of the end",
    experiment=MEMORY,
    readings=READ,
)
def _judge_memory_bounds(runs: Runs) -> Finding:
    names = ("pkg", column("dc", runs.reading), column("wc", runs.reading))
    shares = {label(name).split(",")[0]: runs.frame[name] / runs.frame[f"{name}_bound"] for name in names}
    over = sum(int((share > 1).sum()) for share in shares.values())
    return finding(
        f"more pairs than the bound in {over} of {len(names) * len(runs)} cases; pairs over the bound at most "
        + ", ".join(f"{name} {share.max():.2f}" for name, share in shares.items()),
        value=never(over, len(names) * len(runs)),
        note="The bounds suppose one head for the whole stream. A head that is learnt changes: keys near θ, and as "
        "printed nearly all of the first keys, are hot for a while and stay on all the workers they then had.",
    )


@claim(
    "DC-M3",
    where="IV-B",
    statement="D-C needs less memory than W-C, and more than PKG.",
    claimed="PKG ≤ D-C ≤ W-C",
    criterion=(
        "shape: counted pairs are in this order (geometric means over seeds of their ratios) where the d of the "
        "distribution is above 2 and below n"
    ),
    amended="The order of the estimates in every setting, which holds by construction since 2 ≤ d ≤ n.",
    experiment=MEMORY,
    readings=READ,
)
def _judge_memory_order(runs: Runs) -> Finding:
    dc, wc = column("dc", runs.reading), column("wc", runs.reading)
    cells = {}
    for (z, n), own in runs.by("z", "n"):
        if 2 < min_choices(zipf_shares(10_000, z), n, 0.2 / n, EPSILON) < n:
            cells[f"z = {z:g}, n = {n}"] = (own["pkg"], own[dc], own[wc])
    return finding(
        "pairs of PKG, D-C and W-C: "
        + "; ".join(
            f"{' < '.join(f'{s.values.mean():,.0f}' for s in three)} ({name})" for name, three in cells.items()
        ),
        shape=all_of(
            all_of(
                at_least(geometric_mean(d / pkg), 1.0, f"D-C over PKG, {name}"),
                at_least(geometric_mean(w / d), 1.0, f"W-C over D-C, {name}"),
            )
            for name, (pkg, d, w) in cells.items()
        ),
    )


def _figure_memory(runs, profile):
    workers = sorted(runs["n"].unique())
    figure, (all_axes,) = panels(
        f"Memory over PKG, counted as (key, worker) pairs, m = {runs['m'].iloc[0]:,}",
        [f"n = {n}" for n in workers],
        "skew z",
        ["more than PKG (%)"],
        share_y=True,
    )
    for axes, n in zip(all_axes, workers):
        own = runs[runs["n"] == n]
        for name in SCHEMES[1:]:
            more = 100 * (own[name] / own["pkg"] - 1).groupby(own["z"]).mean()
            colour, style = SCHEME_COLOURS[name.partition("_")[0]], ":" if name.endswith("default") else "-"
            axes.plot(more.index, more, marker="o", ms=3, color=colour, ls=style, label=label(name))
        paper_line(axes, 30, "the paper: at most 30%")
    all_axes[0].legend(fontsize=8)
    return figure


@claim(
    "DC-F5m",
    where="Figure 5, measured",
    statement="The same as figure 5, with the pairs counted: at most 30% over PKG.",
    claimed="not in the paper",
    criterion="reported (beside figure 5's 30%)",
    experiment=MEMORY,
    readings=READ,
    figure=_figure_memory,
)
def _judge_measured_memory(runs: Runs) -> Finding:
    parts = []
    for name, scheme in (("D-C", "dc"), ("W-C", "wc")):
        cells = {cell: own[column(scheme, runs.reading)] / own["pkg"] - 1 for cell, own in runs.by("z", "n")}
        worst = max(cells, key=lambda cell: cells[cell].values.mean())
        parts.append(f"{name} up to {mean(cells[worst]):+.1%} (z = {worst[0]:g}, n = {worst[1]})")
    estimate = (runs.frame["pkg_estimate"] / runs.frame["pkg"] - 1).max()
    return reported(
        "pairs over PKG's: " + "; ".join(parts),
        f"The paper's estimate overstates PKG by up to {estimate:.0%}: a key's two hashes may coincide, and a rare key "
        "may be met on one of the two only. Over the true PKG every hot key weighs more, and keys that were hot for a "
        f"while count too, the more the shorter the stream: m = {runs.frame['m'].iloc[0]:,}.",
    )
