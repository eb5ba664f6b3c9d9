"""Equal workers on the stand-in for Wikipedia (Nasir et al. 2017, figures 5, 6 and 9).

They are swept over ε, over the number of workers and over the number of sources.
"""

from __future__ import annotations

from typing import Any

from ...claim import Claim, Experiment, Verdict, claims_into
from ...figures import PAPER, panels, paper_line, positive
from .readings import STAND_IN, colour_of, grouping_of, routed, wikipedia

EPSILONS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
CLUSTERS = (5, 10, 50, 100)
SOURCES = (1, 10, 50, 100)
SCHEMES = ("KG", "PKG", "PoTC", "SG", "CH", "CH on virtual workers", "CG")  # of figure 6
CLAIMS: list[Claim] = []
claim = claims_into(CLAIMS, paper="CG", kind="c", setup=STAND_IN)


def _grid_epsilon(profile):
    rows = [{"inner": inner, "epsilon": 0.01} for inner in ("kg", "sg")]
    rows += [{"inner": "porc", "epsilon": epsilon} for epsilon in EPSILONS]
    return [{**row, "profile": profile, "seed": seed} for row in rows for seed in range(2)]


def _epsilon(inner: str, epsilon: float, profile: str, seed: int) -> dict[str, Any]:
    from streamlb import ConsistentGrouping

    stream = wikipedia(profile)
    return routed(
        stream, ConsistentGrouping(10, virtual=10, inner=inner, epsilon=epsilon, seed=seed), stream.messages, seed
    )


EPSILON = Experiment("cg_epsilon", _grid_epsilon, _epsilon)


def _by_epsilon(runs):
    """Return the means over seeds of CG by ε, and of CG with KG and SG in place of PoRC."""
    own = runs[runs["inner"] == "porc"].groupby("epsilon")[["imbalance", "memory"]].mean()
    ends = runs[runs["inner"] != "porc"].groupby("inner")[["imbalance", "memory"]].mean()
    return own, ends


def _figure_epsilon(runs, profile):
    own, ends = _by_epsilon(runs)
    fig, axes = panels(
        "ε trades balance for memory (10 workers × 10 virtual workers)",
        [""],
        "ε",
        ["imbalance / mean", "pairs / message"],
        size=(6, 2.4),
        log_y=True,
    )
    for ax, column in zip(axes[:, 0], ("imbalance", "memory")):
        ax.plot(own.index, own[column], marker="o", color=colour_of("CG"), label="CG (PoRC)")
        for inner, style in (("kg", "--"), ("sg", ":")):
            ax.axhline(
                max(ends.loc[inner, column], 1e-7),
                color=colour_of(inner.upper()),
                ls=style,
                label=f"CG ({inner.upper()})",
            )
        ax.axvline(0.01, color=PAPER, lw=1, label="the paper's choice")
        ax.set_xscale("log")
    axes[0, 0].legend(fontsize=8)
    return fig


@claim(
    "CG-F5",
    where="Fig. 5",
    statement=(
        "10 equal workers with 10 virtual workers each, one source: ε trades imbalance for memory, between KG and SG."
    ),
    claimed="I up, memory down in ε",
    criterion=(
        "imbalance rises and memory falls with ε throughout; memory between KG's and SG's, imbalance at most KG's"
    ),
    experiment=EPSILON,
    figure=_figure_epsilon,
)
def _judge_epsilon(runs, profile):
    own, ends = _by_epsilon(runs)
    rises, falls = own["imbalance"].is_monotonic_increasing, own["memory"].is_monotonic_decreasing
    between = own["memory"].between(ends.loc["kg", "memory"], ends.loc["sg", "memory"]).all() and (
        own["imbalance"].le(ends.loc["kg", "imbalance"] * 1.05).all()
    )
    return Verdict.when(
        bool(rises and falls and between),
        f"ε .001 to 3: imbalance {own['imbalance'].iloc[0]:.2g} to {own['imbalance'].iloc[-1]:.2g} of the mean, "
        f"memory {own['memory'].iloc[0]:.3f} to {own['memory'].iloc[-1]:.3f} pairs a message",
        f"KG: {ends.loc['kg', 'imbalance']:.2g} and {ends.loc['kg', 'memory']:.3f}; SG: "
        f"{ends.loc['sg', 'imbalance']:.2g} and {ends.loc['sg', 'memory']:.3f}. Imbalance of the 10 workers, each "
        f"with 10 virtual workers. Monotone: imbalance {rises}, memory {falls}; within KG and SG: {bool(between)}.",
    )


def _grid_clusters(profile):
    return [
        {"scheme": scheme, "workers": n, "profile": profile, "seed": seed}
        for scheme in SCHEMES
        for n in CLUSTERS
        for seed in range(2 if profile == "quick" else 1)
    ]


def _cluster(scheme: str, workers: int, profile: str, seed: int) -> dict[str, Any]:
    from streamlb import ConsistentGrouping

    stream = wikipedia(profile)
    if scheme == "CH on virtual workers":
        grouping: Any = ConsistentGrouping(workers, virtual=10, inner="ch", seed=seed)
    else:
        grouping = grouping_of(scheme, workers, seed=seed, points=10)
    return routed(stream, grouping, stream.messages, seed)


CLUSTER = Experiment("cg_clusters", _grid_clusters, _cluster)


def _figure_clusters(runs, profile):
    fig, axes = panels(
        "Equal workers, Wikipedia stand-in",
        [""],
        "workers",
        ["imbalance / mean", "pairs / message"],
        size=(6.4, 2.6),
        log_y=True,
    )
    for ax, column in zip(axes[:, 0], ("imbalance", "memory")):
        table = runs.pivot_table(index="workers", columns="scheme", values=column)
        for scheme in SCHEMES:
            ax.plot(
                range(len(CLUSTERS)),
                positive(table[scheme]),
                marker="o",
                ms=4,
                color=colour_of(scheme),
                label=scheme,
            )
        ax.set_xticks(range(len(CLUSTERS)), [str(n) for n in CLUSTERS])
    paper_line(axes[0, 0], 0.01, "ε of CH and CG")
    axes[0, 0].legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return fig


@claim(
    "CG-F6",
    where="Fig. 6",
    statement=(
        "5, 10, 50 and 100 equal workers: KG is worst in balance and best in memory, PKG good on 5 and 10 only, "
        "PoTC like SG, CH bounded, CG with less memory than CH."
    ),
    claimed="order",
    criterion="each of the five orders at every number of workers",
    experiment=CLUSTER,
    figure=_figure_clusters,
)
def _judge_clusters(runs, profile):
    load = runs.pivot_table(index="workers", columns="scheme", values="imbalance")
    memory = runs.pivot_table(index="workers", columns="scheme", values="memory")
    checks = {
        "KG has the most imbalance and the least memory": bool(
            (load.idxmax(axis=1) == "KG").all() and (memory.idxmin(axis=1) == "KG").all()
        ),
        "PKG is within ε at 5 and 10 workers only": bool(
            (load.loc[[5, 10], "PKG"] <= 0.01).all() and (load.loc[[50, 100], "PKG"] > 0.01).all()
        ),
        "PoTC and SG alike": bool(
            (memory["PoTC"] / memory["SG"] - 1).abs().max() <= 0.1 and load[["PoTC", "SG"]].max().max() < 0.01
        ),
        "CH within ε, less memory than SG": bool((load["CH"] <= 0.0101).all() and (memory["CH"] < memory["SG"]).all()),
        "CG has less memory than CH": bool((memory["CG"] < memory["CH"]).all()),
    }
    ratio = memory["CG"] / memory["CH"]
    ring = memory["CG"] / memory["CH on virtual workers"]
    return Verdict.when(
        all(checks.values()),
        f"{sum(checks.values())} of {len(checks)} orders hold; CG/CH memory "
        + ", ".join(f"{r:.2f} (n={n})" for n, r in ratio.items()),
        "; ".join(f"{name}: {'yes' if ok else 'no'}" for name, ok in checks.items())
        + ". CH has 10 points for each worker. Against CH over the same virtual workers (one point each) the "
        "memory ratio is " + ", ".join(f"{r:.2f}" for r in ring) + ".",
    )


def _grid_sources(profile):
    return [{"workers": n, "sources": s, "profile": profile, "seed": 0} for n in CLUSTERS for s in SOURCES]


def _sources(workers: int, sources: int, profile: str, seed: int) -> dict[str, Any]:
    stream = wikipedia(profile)
    return routed(stream, grouping_of("CG", workers, sources=sources, seed=seed), stream.messages, seed)


SOURCE = Experiment("cg_sources", _grid_sources, _sources)


def _figure_sources(runs, profile):
    fig, axes = panels(
        "CG with more sources",
        [""],
        "workers",
        ["imbalance / mean", "pairs / message"],
        size=(6, 2.4),
        log_y=True,
    )
    for ax, column in zip(axes[:, 0], ("imbalance", "memory")):
        table = runs.pivot_table(index="workers", columns="sources", values=column)
        for s, alpha in zip(SOURCES, (1.0, 0.75, 0.5, 0.3)):
            ax.plot(
                range(len(CLUSTERS)), table[s], marker="o", color=colour_of("CG"), alpha=alpha, label=f"{s} sources"
            )
        ax.plot(range(len(CLUSTERS)), 2 * table[1], ls="--", color=PAPER, lw=1, label="twice one source's")
        ax.set_xticks(range(len(CLUSTERS)), [str(n) for n in CLUSTERS])
    axes[0, 0].legend(fontsize=8)
    return fig


@claim(
    "CG-F9",
    where="Fig. 9",
    statement="The same clusters with 1, 10, 50 and 100 sources: CG's imbalance and memory hardly change.",
    claimed="almost the same on a log scale",
    criterion="within a factor 2 of one source's",
    experiment=SOURCE,
    figure=_figure_sources,
)
def _judge_sources(runs, profile):
    ratios = {}
    for column in ("imbalance", "memory"):
        table = runs.pivot_table(index="workers", columns="sources", values=column)
        ratios[column] = table.div(table[1], axis=0)
    spread = {column: (float(r.min().min()), float(r.max().max())) for column, r in ratios.items()}
    within = all(low >= 0.5 and high <= 2.0 for low, high in spread.values())
    return Verdict.when(
        within,
        "of one source's value: "
        + ", ".join(f"{column} {low:.2f} to {high:.2f}" for column, (low, high) in spread.items()),
        "Each source spreads its own messages within its own ε: the bound grows from ε m/n + 1 to ε m/n + s. More "
        "sources also see a hot key's workers fill up each on its own, so small loads of each source make memory "
        "grow.",
    )
