"""Equal workers on the stand-in for Wikipedia (Nasir et al. 2017, figures 5, 6 and 9).

They are swept over ε, over the number of workers and over the number of sources. No worker has a
capacity in these figures, so that no one signals first; under the reading "to the letter" the
workers run at 80% and signal.
"""

from __future__ import annotations

from typing import Any

from ...claim import Claim, Experiment, Seeds, claims_into
from ...figures import PAPER, panels, paper_line, positive
from ...judging import (
    Finding,
    Runs,
    all_of,
    at_most,
    between,
    finding,
    geometric_mean,
    greater,
    less,
    mean,
    monotone,
    never,
    ratio,
)
from .readings import STAND_IN, by_profile, colour_of, grouping_of, logs, option, routed, times, wikipedia

EPSILONS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
CLUSTERS = (5, 10, 50, 100)
SOURCES = (1, 10, 50, 100)
PLAIN = ("KG", "PKG", "PoTC", "SG", "CH", "CH on virtual workers")  # of figure 6, whoever signals
SIGNALS = ("still", "printed")  # the readings that send messages elsewhere
CLAIMS: list[Claim] = []
claim = claims_into(CLAIMS, paper="CG", kind="c", setup=STAND_IN + " ε = .01, 10 virtual workers for each worker.")


def _signals(reading: str) -> bool:
    return option(reading, "signals", True)


def _grid_epsilon(profile):
    rows = [{"inner": inner, "epsilon": 0.01} for inner in ("kg", "sg")]
    epsilons = by_profile(profile, (0.001, 0.01, 0.1, 1.0), EPSILONS)
    rows += [{"inner": "porc", "epsilon": epsilon} for epsilon in epsilons]
    return [{**row, "profile": profile, "reading": reading} for row in rows for reading in SIGNALS]


def _epsilon(inner: str, epsilon: float, profile: str, reading: str, seed: int) -> dict[str, Any]:
    from streamlb import ConsistentGrouping

    stream = wikipedia(profile)
    grouping = ConsistentGrouping(10, virtual=10, inner=inner, epsilon=epsilon, policy="fcfs", seed=seed)
    return routed(stream, grouping, stream.messages, seed, _signals(reading))


EPSILON = Experiment("cg_epsilon", _grid_epsilon, _epsilon, seeds=Seeds((10, 80), (4, 20)))


def _figure_epsilon(runs, profile):
    runs = runs[runs["reading"] == SIGNALS[0]]
    own = runs[runs["inner"] == "porc"].groupby("epsilon")[["imbalance", "memory"]].mean()
    ends = runs[runs["inner"] != "porc"].groupby("inner")[["imbalance", "memory"]].mean()
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
        "shape: imbalance rises and memory falls with each step of ε; for every ε memory is above KG's and below SG's, "
        "and imbalance below KG's"
    ),
    amended="Memory no less than KG's and imbalance up to 1.05 of KG's.",
    experiment=EPSILON,
    readings=SIGNALS,
    figure=_figure_epsilon,
)
def _judge_epsilon(runs: Runs) -> Finding:
    own = {e: part for e, part in runs.where(inner="porc").by("epsilon")}
    load = {e: part["imbalance"] for e, part in own.items()}
    memory = {e: part["memory"] for e, part in own.items()}
    kg, sg = runs.where(inner="kg"), runs.where(inner="sg")
    first, last = min(own), max(own)
    return finding(
        f"ε {first:g} to {last:g}: imbalance {mean(load[first]):.2g} to {mean(load[last]):.2g} of the mean, memory "
        f"{mean(memory[first]):.3f} to {mean(memory[last]):.3f} pairs a message",
        shape=all_of(
            monotone({e: logs(i) for e, i in load.items()}, rising=True, label="imbalance"),
            monotone(memory, rising=False, label="memory"),
            [greater(m, kg["memory"], f"memory above KG's at {e}") for e, m in memory.items()],
            [less(m, sg["memory"], f"memory below SG's at {e}") for e, m in memory.items()],
            [less(logs(i), logs(kg["imbalance"]), f"imbalance below KG's at {e}") for e, i in load.items()],
        ),
        note=f"With KG in place of PoRC: imbalance {mean(kg['imbalance']):.2g}, memory {mean(kg['memory']):.3f}; with SG: "
        f"{mean(sg['imbalance']):.2g} and {mean(sg['memory']):.3f}.",
    )


def _grid_clusters(profile):
    rows = [{"scheme": scheme, "signals": False} for scheme in (*PLAIN, "CG")] + [{"scheme": "CG", "signals": True}]
    return [{**row, "workers": n, "profile": profile} for row in rows for n in CLUSTERS]


def _cluster(scheme: str, signals: bool, workers: int, profile: str, seed: int) -> dict[str, Any]:
    stream = wikipedia(profile)
    grouping = grouping_of(scheme, workers, seed=seed, points=10)
    return routed(stream, grouping, stream.messages, seed, signals)


CLUSTER = Experiment("cg_clusters", _grid_clusters, _cluster, seeds=Seeds((10, 60), (4, 20)))


def _figure_clusters(runs, profile):
    runs = runs[~runs["signals"]]
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
        for scheme in (*PLAIN, "CG"):
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


def _columns(runs: Runs, column: str):
    """Return the samples of a column by scheme and number of workers; CG's as the reading says."""
    frame = runs.frame
    own = runs.where((frame["scheme"] != "CG") | (frame["signals"] == option(runs.reading, "signals", True)))
    return {key: part[column] for key, part in own.by("scheme", "workers")}


def _bounded(runs: Runs, scheme: str, signals: bool):
    """Return the check that no run's imbalance is above ε and a message for each virtual worker."""
    own = runs.where(scheme=scheme, signals=signals).frame
    limit = 0.01 + 10 * own["workers"] / _messages(runs)
    return never(int((own["imbalance"] > limit).sum()), len(own), f"runs of {scheme} beyond ε")


def _pairs_text(ratios) -> str:
    return ", ".join(f"{e:.3f} (n = {n})" for n, e in ratios.items())


def _messages(runs: Runs) -> int:
    return wikipedia(runs.frame["profile"].iloc[0]).messages


@claim(
    "CG-F6",
    where="Fig. 6",
    statement="5, 10, 50 and 100 equal workers: CG has bounded imbalance and less memory than CH.",
    claimed="CG bounded, memory below CH's",
    criterion=(
        "shape: CG's memory is below CH's for each number of workers, and its imbalance in no run above ε, with a message "
        "for each virtual worker to spare"
    ),
    amended="One claim for the five statements of figure 6: the others are now CG-F6k, p, t and c.",
    experiment=CLUSTER,
    readings=("still", "bins", "printed"),
    figure=_figure_clusters,
)
def _judge_clusters(runs: Runs) -> Finding:
    memory, load = _columns(runs, "memory"), _columns(runs, "imbalance")
    ring = option(runs.reading, "ring", "CH")
    ratios = {n: ratio(memory["CG", n], memory[ring, n]) for n in CLUSTERS}
    worst = max((mean(load["CG", n]) for n in CLUSTERS), key=lambda e: e.point)
    return finding(
        f"CG's memory over CH's: {_pairs_text(ratios)}; imbalance at most {worst:.2%} of the mean",
        shape=all_of(
            [less(memory["CG", n], memory[ring, n], f"memory on {n} workers") for n in CLUSTERS],
            _bounded(runs, "CG", option(runs.reading, "signals", True)),
        ),
        note="CH is a ring with 10 points for each worker, or, where the virtual workers are its bins, one point for "
        "each of these.",
    )


@claim(
    "CG-F6k",
    where="Fig. 6",
    statement="5, 10, 50 and 100 equal workers: KG performs worst in imbalance and generates the optimal memory footprint.",
    claimed="KG: most imbalance, least memory",
    criterion="shape: KG's imbalance above and its memory below that of PKG, PoTC, SG, CH and CG, on each cluster",
    experiment=CLUSTER,
    readings=("still", "bins", "printed"),
    figure=_figure_clusters,
)
def _judge_kg(runs: Runs) -> Finding:
    load, memory = _columns(runs, "imbalance"), _columns(runs, "memory")
    others = ("PKG", "PoTC", "SG", option(runs.reading, "ring", "CH"), "CG")
    return finding(
        "KG's imbalance "
        + ", ".join(f"{mean(load['KG', n]):.2f} (n = {n})" for n in CLUSTERS)
        + f"; memory {mean(memory['KG', 5]):.3f} pairs a message, the next "
        f"{min(mean(memory[s, n]).point for s in others for n in CLUSTERS):.3f}",
        shape=all_of(
            part
            for n in CLUSTERS
            for s in others
            for part in (
                greater(logs(load["KG", n]), logs(load[s, n]), f"imbalance above {s}'s on {n}"),
                less(memory["KG", n], memory[s, n], f"memory below {s}'s on {n}"),
            )
        ),
    )


@claim(
    "CG-F6p",
    where="Fig. 6",
    statement="On equal workers PKG has nearly perfect balance on 5 and 10 workers; its imbalance grows with the workers.",
    claimed="good at 5 and 10 only",
    criterion="shape: PKG's imbalance, by its geometric mean, is at most the ε = .01 of CG on 5 and 10 workers, and rises "
    "from 10 to 50 to 100",
    amended="By the mean, which a few seeds make: with them the top key is on a worker that is full already.",
    experiment=CLUSTER,
    figure=_figure_clusters,
)
def _judge_pkg(runs: Runs) -> Finding:
    load = {n: own["imbalance"] for n, own in runs.where(scheme="PKG").by("workers")}
    typical = {n: geometric_mean(load[n], least=1e-7) for n in CLUSTERS}
    return finding(
        "imbalance " + ", ".join(f"{e:.3g} (n = {n})" for n, e in typical.items()),
        shape=all_of(
            [at_most(typical[n], 0.01, f"on {n} workers") for n in (5, 10)],
            monotone({n: logs(load[n]) for n in CLUSTERS if n >= 10}, rising=True, label="imbalance"),
        ),
        note="The top key has 9.32%: two workers can take it while n is below 2/.0932 = 21.",
    )


@claim(
    "CG-F6t",
    where="Fig. 6",
    statement="5, 10, 50 and 100 equal workers: PoTC and SG perform alike: nearly perfect balance and more memory than the others.",
    claimed="PoTC ≈ SG",
    criterion=(
        "shape: their memory within 10% of each other and above KG's, PKG's, CH's and CG's, their imbalance at most the "
        "ε = .01 of CG, on each cluster"
    ),
    experiment=CLUSTER,
    readings=("still", "bins", "printed"),
    figure=_figure_clusters,
)
def _judge_shuffled(runs: Runs) -> Finding:
    load, memory = _columns(runs, "imbalance"), _columns(runs, "memory")
    alike = {n: ratio(memory["PoTC", n], memory["SG", n]) for n in CLUSTERS}
    others = ("KG", "PKG", option(runs.reading, "ring", "CH"), "CG")
    return finding(
        f"memory of PoTC over SG's: {_pairs_text(alike)}; imbalance at most "
        f"{max(mean(load[s, n]).point for s in ('PoTC', 'SG') for n in CLUSTERS):.2%}",
        shape=all_of(
            [between(e, 0.9, 1.1, f"memory alike on {n}") for n, e in alike.items()],
            [at_most(load[s, n], 0.01, f"{s}'s imbalance on {n}") for s in ("PoTC", "SG") for n in CLUSTERS],
            [
                less(memory[o, n], memory[s, n], f"{o} < {s} on {n}")
                for o in others
                for s in ("PoTC", "SG")
                for n in CLUSTERS
            ],
        ),
    )


@claim(
    "CG-F6c",
    where="Fig. 6",
    statement="5, 10, 50 and 100 equal workers: CH has bounded imbalance and less memory than PoTC and SG.",
    claimed="CH bounded, memory below PoTC's and SG's",
    criterion=(
        "shape: CH's imbalance in no run above ε, with a message for each virtual worker to spare, and its memory below "
        "PoTC's and SG's, on each cluster"
    ),
    experiment=CLUSTER,
    readings=("still", "bins"),
    figure=_figure_clusters,
)
def _judge_ring(runs: Runs) -> Finding:
    load, memory = _columns(runs, "imbalance"), _columns(runs, "memory")
    ring = option(runs.reading, "ring", "CH")
    ratios = {n: ratio(memory[ring, n], memory["SG", n]) for n in CLUSTERS}
    return finding(
        f"CH's memory over SG's: {_pairs_text(ratios)}; imbalance at most "
        f"{max(mean(load[ring, n]).point for n in CLUSTERS):.2%} of the mean",
        shape=all_of(
            _bounded(runs, ring, False),
            [less(memory[ring, n], memory[s, n], f"below {s}'s on {n}") for s in ("PoTC", "SG") for n in CLUSTERS],
        ),
    )


def _grid_sources(profile):
    sources, clusters = by_profile(profile, ((1, 100), (5, 100)), (SOURCES, CLUSTERS))
    rows = [{"sources": s, "reading": "still"} for s in sources]
    rows += [{"sources": s, "reading": "printed"} for s in (sources[0], sources[-1])]
    return [{**row, "workers": n, "part": by_profile(profile, 0.25, 1.0)} for n in clusters for row in rows]


def _sources(workers: int, sources: int, part: float, reading: str, seed: int) -> dict[str, Any]:
    import streamlb

    stream = streamlb.wikipedia(part)
    grouping = grouping_of("CG", workers, sources=sources, seed=seed)
    return routed(stream, grouping, round(22_000_000 * part), seed, _signals(reading))


SOURCE = Experiment("cg_sources", _grid_sources, _sources, seeds=Seeds((10, 23), (4, 20)))
# With a hundred sources the bound has a hundred messages beside ε m/n: m must be large for these.
LONGER = STAND_IN.replace("a twentieth", "a quarter") + " ε = .01, 10 virtual workers for each worker."


def _figure_sources(runs, profile):
    runs = runs[runs["reading"] == SIGNALS[0]]
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
        for s, alpha in zip(table.columns, (1.0, 0.75, 0.5, 0.3)):
            ax.plot(range(len(table)), table[s], marker="o", color=colour_of("CG"), alpha=alpha, label=f"{s} sources")
        ax.plot(range(len(table)), 2 * table[1], ls="--", color=PAPER, lw=1, label="twice one source's")
        ax.set_xticks(range(len(table)), [str(n) for n in table.index])
    axes[0, 0].legend(fontsize=8)
    return fig


def _alike(runs: Runs, by: str, first: int, within: str) -> Finding:
    """Judge that imbalance and memory stay within a factor 2 of those at the first of `by`."""
    checks, shown = [], []
    for column in ("imbalance", "memory"):
        cells = {key: own[column] for key, own in runs.by(within, by)}
        ratios = {key: times(cells[key], cells[key[0], first]) for key in cells if key[1] != first}
        checks += [between(e, 0.5, 2.0, f"{column} at {key[1]} {by}, {key[0]} {within}") for key, e in ratios.items()]
        low, high = (pick(ratios, key=lambda key: ratios[key].point) for pick in (min, max))
        shown.append(
            f"{column} {ratios[low]:.2f} ({low[1]} {by}, {low[0]} {within}) to {ratios[high]:.2f} "
            f"({high[1]} {by}, {high[0]} {within})"
        )
    return finding(
        f"of the value at {first} {by}: " + ", ".join(shown),
        shape=all_of(checks),
        note="Each source spreads its own messages within its own ε: the bound grows from ε m/n + 1 to ε m/n + s.",
    )


@claim(
    "CG-F9",
    where="Fig. 9",
    statement="5 to 100 equal workers with 1, 10, 50 and 100 sources: CG's imbalance and memory hardly change.",
    claimed="almost the same on a log scale",
    criterion="shape: within a factor 2 of one source's, on each cluster, by the geometric mean",
    amended="By ratios of means, and first at a twentieth of the log in the quick profile: both left it on the edge.",
    experiment=SOURCE,
    setup=LONGER,
    readings=SIGNALS,
    figure=_figure_sources,
)
def _judge_sources(runs: Runs) -> Finding:
    return _alike(runs, "sources", 1, "workers")


@claim(
    "CG-F9w",
    where="Fig. 9",
    statement="From 5 to 100 workers CG's imbalance and memory hardly change, whatever the number of sources.",
    claimed="almost the same on a log scale",
    criterion="shape: within a factor 2 of those on 5 workers, for each number of sources, by the geometric mean",
    amended="By ratios of means.",
    experiment=SOURCE,
    setup=LONGER,
    readings=SIGNALS,
    figure=_figure_sources,
)
def _judge_workers(runs: Runs) -> Finding:
    return _alike(runs, "workers", 5, "sources")
