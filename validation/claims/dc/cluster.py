"""Throughput and latency on a Storm cluster, here a simulated one.

Nasir et al. 2016, abstract and section V (figures 13 and 14, question Q4).
"""

from __future__ import annotations

from typing import Any

from streamlb.analysis import memory_cost, zipf_shares

from ...claim import Claim, Experiment, Verdict, claims_into
from ...figures import panels, paper_line
from .readings import LETTERS, SCHEME_COLOURS, build, by_profile, hash_seed, zipf

SCHEMES = ("kg", "pkg", "sg", "dc", "wc", "own", "bare")
SKEWS = (1.4, 1.7, 2.0)
SOURCES, WORKERS, SERVICE, NETWORK, IN_FLIGHT = 48, 80, 1.0, 0.5, 100
SETUP = (
    "Storm on nine machines in the paper; here a closed loop of 48 sources with at most 100 messages in flight "
    "each, 80 workers, 1 ms service, .5 ms network. Capped: the sources together send at most 2.3 times what the "
    "hottest key's worker can do."
)
CLAIMS: list[Claim] = []
claim = claims_into(CLAIMS, paper="DC", kind="c", setup=SETUP)


def _cluster(z: float, scheme: str, capped: bool, m: int, seed: int) -> dict[str, Any]:
    """Run one scheme on the simulated cluster: throughput, latencies and (key, worker) pairs."""
    from streamlb import replication, simulate_cluster

    stream = zipf(10_000, z)
    # The paper's 2.3 between D-C and KG is what a cluster shows whose sources are the limit, at 2.3
    # times KG's throughput.
    rate = 2.3 / float(stream.pmf[0]) if capped else None
    result = simulate_cluster(
        stream,
        build(scheme, WORKERS, SOURCES, hash_seed(seed)),
        messages=m,
        service_time=SERVICE,
        network=NETWORK,
        in_flight=IN_FLIGHT,
        rate=rate,
        seed=seed,
    )
    p50, p95, p99 = result.latency_percentiles(over="workers").tolist()
    return {
        **result.summary(),
        "worker_p50": p50,
        "worker_p95": p95,
        "worker_p99": p99,
        "pairs": replication(result.keys, result.workers),
    }


CLUSTER = Experiment(
    "dc_cluster",
    lambda profile: [
        {"z": z, "scheme": scheme, "capped": capped, "m": 2_000_000, "seed": seed}
        for z in SKEWS
        for scheme in SCHEMES
        for capped in (False, True)
        for seed in by_profile(profile, (41,), (41, 42, 43, 44, 45))
    ],
    _cluster,
)


def _table(runs, column: str, capped: bool = False):
    """Return the means over seeds: a row for each skew, a column for each scheme."""
    return runs[runs["capped"] == capped].pivot_table(index="z", columns="scheme", values=column, aggfunc="mean")


def _figure_throughput(runs, profile):
    figure, (all_axes,) = panels(
        "Throughput, 48 sources, 80 workers, 1 ms",
        [f"z = {z:g}" for z in SKEWS],
        "",
        ["messages / ms"],
        share_y=True,
        log_y=True,
    )
    free, capped = _table(runs, "throughput"), _table(runs, "throughput", capped=True)
    for axes, z in zip(all_axes, SKEWS):
        for i, scheme in enumerate(SCHEMES):
            axes.bar(i - 0.2, free.loc[z, scheme], 0.4, color=SCHEME_COLOURS[scheme])
            axes.bar(i + 0.2, capped.loc[z, scheme], 0.4, color=SCHEME_COLOURS[scheme], alpha=0.4)
        paper_line(axes, 2.3 * free.loc[z, "kg"], "the paper: 2.3 × KG")
        axes.set_xticks(range(len(SCHEMES)), [LETTERS[s].replace(" ", "\n") for s in SCHEMES], fontsize=7)
        axes.set_xlabel("grouping (pale: sources capped)")
    all_axes[0].set_ylim(top=200)  # room for the legend
    all_axes[0].legend(fontsize=7, loc="upper left")
    return figure


@claim(
    "DC-F13",
    where="Figure 13",
    statement="D-C and W-C match SG's throughput; in the best case 1.5 times PKG's and 2.3 times KG's.",
    claimed="1.5; 2.3",
    criterion="D-C ≥ .95 SG; D-C/PKG ≥ 1.5 and D-C/KG ≥ 2.3 at z = 2",
    experiment=CLUSTER,
    figure=_figure_throughput,
)
def _judge_throughput(runs, profile) -> Verdict:
    free = _table(runs, "throughput")
    to_sg, to_pkg, to_kg = (free["dc"] / free[s] for s in ("sg", "pkg", "kg"))
    capped = _table(runs, "throughput", capped=True).loc[2.0]
    return Verdict.when(
        bool(to_sg.min() >= 0.95 and to_pkg[2.0] >= 1.5 and to_kg[2.0] >= 2.3),
        f"D-C/SG {to_sg.min():.2f} or more; at z = 2 D-C/PKG = {to_pkg[2.0]:.1f}, D-C/KG = {to_kg[2.0]:.1f}",
        "The hottest key's worker alone limits KG to 1/p₁ and PKG to 2/p₁ messages a ms, all 80 workers together "
        "D-C to 80: the ratios are far above the paper's. With sources that send at most 2.3/p₁ a ms, at z = 2: "
        f"D-C/KG = {capped['dc'] / capped['kg']:.1f}, D-C/PKG = {capped['dc'] / capped['pkg']:.1f}.",
    )


def _figure_latency(runs, profile):
    figure, (all_axes,) = panels(
        "Latency, sources not capped",
        [f"z = {z:g}" for z in SKEWS],
        "grouping",
        ["latency (ms)"],
        share_y=True,
        log_y=True,
    )
    marks = {
        "worker_max": "greatest worker's mean",
        "worker_p50": "p50",
        "worker_p95": "p95",
        "worker_p99": "p99 over workers",
    }
    tables = {column: _table(runs, column) for column in marks}
    for axes, z in zip(all_axes, SKEWS):
        for (column, name), shape in zip(marks.items(), "_osD"):
            values = [tables[column].loc[z, s] for s in SCHEMES]
            axes.plot(
                range(len(SCHEMES)),
                values,
                shape,
                ms=12 if shape == "_" else 4,
                mew=2 if shape == "_" else 1,
                label=name,
            )
        axes.set_xticks(range(len(SCHEMES)), [LETTERS[s].replace(" ", "\n") for s in SCHEMES], fontsize=7)
        paper_line(axes, 0.5 * tables["worker_max"].loc[z, "kg"], "the paper: PKG half of KG")
    all_axes[-1].legend(fontsize=6, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


@claim(
    "DC-F14",
    where="Figure 14",
    statement=(
        "PKG has about half of KG's latency at the highest skew, SG up to a third of PKG's; D-C and W-C cut p99 by "
        "60% and over 75%."
    ),
    claimed="50%; 3; 60%; 75%",
    criterion="PKG/KG in .4 to .6; PKG/SG ≥ 3; cuts at least these",
    experiment=CLUSTER,
    figure=_figure_latency,
)
def _judge_latency(runs, profile) -> Verdict:
    top, tail = _table(runs, "worker_max").loc[2.0], _table(runs, "p99").loc[2.0]
    means = _table(runs, "worker_p99").loc[2.0]
    half = top["pkg"] / top["kg"]
    third = max(_table(runs, "worker_max")["pkg"] / _table(runs, "worker_max")["sg"])
    cut_pkg = 1 - max(tail["dc"], tail["wc"]) / tail["pkg"]
    cut_kg = 1 - max(tail["dc"], tail["wc"]) / tail["kg"]
    return Verdict.when(
        bool(0.4 <= half <= 0.6 and third >= 3 and cut_pkg >= 0.6 and cut_kg >= 0.75),
        f"z = 2: PKG/KG {half:.2f} (greatest worker's mean); PKG/SG up to {third:.0f}; p99 of D-C and W-C "
        f"{cut_pkg:.0%} below PKG, {cut_kg:.0%} below KG",
        "In a closed loop nearly all 4,800 messages in flight wait at the hottest key's one or two workers, so "
        "that latencies compare as 1 to 2; p99 over all messages. Over the workers' means p99 is "
        f"{1 - max(means['dc'], means['wc']) / means['pkg']:.0%} below PKG and "
        f"{1 - max(means['dc'], means['wc']) / means['kg']:.0%} below KG.",
    )


@claim(
    "DC-A1",
    where="abstract, I, VII",
    statement="D-C and W-C improve throughput by 150% and latency by 60% over PKG, 230% and 75% over KG.",
    claimed="ratios 1.5 and 2.3 (read with section V)",
    criterion="ratios within 25% of 1.5 and 2.3; p99 at least 60% and 75% lower",
    experiment=CLUSTER,
)
def _judge_abstract(runs, profile) -> Verdict:
    free, tail = _table(runs, "throughput").loc[2.0], _table(runs, "p99").loc[2.0]
    ratios = (free["dc"] / free["pkg"], free["dc"] / free["kg"])
    cuts = (1 - tail["dc"] / tail["pkg"], 1 - tail["dc"] / tail["kg"])
    near = all(abs(ratio / said - 1) <= 0.25 for ratio, said in zip(ratios, (1.5, 2.3)))
    return Verdict.when(
        near and cuts[0] >= 0.6 and cuts[1] >= 0.75,
        f"z = 2: {ratios[0]:.1f} times PKG's throughput, {ratios[1]:.1f} times KG's; p99 latency {cuts[0]:.0%} and "
        f"{cuts[1]:.0%} less",
        "The abstract's +150% and +230% are 1.5 and 2.3 times in section V, that is +50% and +130%; neither fits a "
        "cluster whose workers are the limit, where the gain is 2/p₁-bound and grows with the number of workers.",
    )


@claim(
    "DC-Q4",
    where="V, end",
    statement="D-C and W-C reach SG's throughput and latency at a fraction of its memory.",
    claimed="as SG, a fraction",
    criterion="F13 and F6: throughput ≥ .95 SG; memory at least 79.5% less by the estimate",
    experiment=CLUSTER,
)
def _judge_fraction(runs, profile) -> Verdict:
    throughput, mean, tail, pairs = (_table(runs, c) for c in ("throughput", "mean", "p99", "pairs"))

    def over_sg(table, schemes=("dc", "wc")):
        return [float(r) for s in schemes for r in table[s] / table["sg"]]

    saved = 1 - max(over_sg(pairs))
    estimate = min(
        1 - memory_cost(zipf_shares(10_000, z), 1e7, n, s) / memory_cost(zipf_shares(10_000, z), 1e7, n, "SG")
        for z in SKEWS
        for n in (50, 100)
        for s in ("D-C", "W-C")
    )
    return Verdict.when(
        min(over_sg(throughput)) >= 0.95 and estimate >= 0.795,
        f"throughput {min(over_sg(throughput)):.2f} of SG's or more, mean latency {max(over_sg(mean)):.2f} times "
        f"SG's or less; {saved:.0%} fewer (key, worker) pairs counted, {estimate:.0%} by the estimate of figure 6",
        f"p99 latency is up to {max(over_sg(tail)):.1f} times SG's: queues that built up while no key was known to "
        "be hot, and differences between workers, hardly drain in a saturated closed loop (no guard: "
        f"{max(over_sg(tail, ('bare',))):.1f} times).",
    )
