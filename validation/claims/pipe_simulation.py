"""Claims of paper 002 on performance: latency, memory, balance and throughput, on a simulated cluster.

The paper leaves out service time, load, the cost of distance, the size of a part and what R-Storm is told. They are swept, every
scheduler runs on the same cells, and a claim holds when more than half of its cells meet its criterion. Each run also holds the
two halves of the method by themselves: its placement without gating, and its gating on Storm's placement.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from streamlb.analysis import busy_fraction_bound

from streamlb.placement.even import even_schedule
from streamlb.placement.examples import PAPER_NODES, paper_topology
from streamlb.placement.pipeline import pipeline_schedule
from streamlb.placement.resource_aware import resource_aware_schedule
from streamlb.simulation.pipeline import PipelineResult, simulate_pipeline

from ..claim import Claim, Experiment, Verdict
from ._pipe import PAPER

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_LINK_MS = 0.65536  # 8 KB on 100 Mbps
_NODE_MEMORY = 1024.0
SCHEDULERS = ("pipeline", "even", "rstorm", "placed", "gated")
_LABELS = {
    "pipeline": "pipeline (as printed)",
    "even": "Storm's default",
    "rstorm": "R-Storm",
    "placed": "its placement, no gating",
    "gated": "its gating, Storm's placement",
}
_COLOURS = {name: f"C{k}" for k, name in enumerate(SCHEDULERS)}
_SIZES = {"random": (3, 4, 5, 6), "linear": (2, 3, 4), "diamond": (10,), "linear5": (16,)}


def _grid(profile: str) -> list[dict[str, Any]]:
    quick = profile == "quick"
    cells = [
        {"service_ms": service, "load": load, "part": part, "distance": distance, "declared": declared}
        for service in (0.2, 1.0, 5.0)
        for load in (0.1, 0.3, 0.6, 1.0)
        for part in ((16, 64) if quick else (16, 64, 256))
        for distance in (0.0, 0.2)
        for declared in ("10/128",)
    ]
    # What R-Storm is told (CPU points, MB a task) is swept where it is compared; the others do not read it.
    told = [
        {**cell, "declared": declared} for cell in cells for declared in ("10/100", "60/160") if cell["distance"] == 0.2
    ]
    rows = []
    for topology, sizes in _SIZES.items():
        for tasks in sizes:
            mine = cells + told if topology in ("diamond", "linear5") else cells
            rows += [{"topology": topology, "tasks": tasks, "tuple_kb": 8, **cell} for cell in mine]
    # Figs 12 and 13: 1 KB tuples.
    for topology in ("random", "linear"):
        small = [cell for cell in cells if cell["load"] in (0.3, 1.0)]
        rows += [{"topology": topology, "tasks": max(_SIZES[topology]), "tuple_kb": 1, **cell} for cell in small]
    return [
        {**row, "slots": _slots(row, quick), "seed": seed}
        for row in rows
        for seed in ((11,) if quick else (11, 12, 13))
    ]


def _slots(row: dict[str, Any], quick: bool) -> int:
    """Return the slots of a run: 20 minutes in the paper's profile, at most 40,000 slots; 1,000 in the quick one."""
    return 1000 if quick else int(min(20 * 60_000 / (row["part"] * row["service_ms"]), 40_000))


def measure_simulation(
    topology: str,
    tasks: int,
    tuple_kb: int,
    service_ms: float,
    load: float,
    part: int,
    distance: float,
    declared: str,
    slots: int,
    seed: int,
) -> dict[str, Any]:
    """Run every scheduler on one cell of the sweep."""
    graph = paper_topology(topology).limited(tasks)
    nodes = PAPER_NODES[topology]
    printed = pipeline_schedule(graph, nodes, "printed")
    even = even_schedule(graph, nodes)
    cpu, memory = (float(x) for x in declared.split("/"))
    told = resource_aware_schedule(graph, nodes, cpu=cpu, memory=memory, node_memory=_NODE_MEMORY)
    settings: dict[str, Any] = {
        "load": load,
        "part": part,
        "slots": slots,
        "seed": seed,
        "distance_cost": distance,
        "bandwidth": max(int(part * service_ms / (_LINK_MS * tuple_kb / 8)), 1),
    }
    runs = {
        "pipeline": simulate_pipeline(printed, gate="steps", **settings),
        "even": simulate_pipeline(even, **settings),
        "rstorm": simulate_pipeline(told, **settings),
        "placed": simulate_pipeline(printed, **settings),
        "gated": simulate_pipeline(even, gate="steps", schedule=printed.schedule, **settings),
    }
    return {key: value for name, run in runs.items() for key, value in _columns(name, run).items()}


def _columns(name: str, run: PipelineResult) -> dict[str, Any]:
    return {
        f"{name}_throughput": run.throughput,
        f"{name}_latency": run.latency,
        f"{name}_memory": run.peak_memory,
        f"{name}_deviation": run.load_deviation,
        f"{name}_crossing": run.inter_node_share,
        f"{name}_stalled": run.stalled,
        f"{name}_over_time": run.series["throughput"].tolist(),
        f"{name}_latency_over_time": [None if np.isnan(x) else float(x) for x in run.series["latency"]],
        f"{name}_memory_over_time": run.series["memory"].tolist(),
        f"{name}_by_node": run.node_load.tolist(),
    }


SIMULATION = Experiment(
    "pipe_simulation", _grid, measure_simulation, cost=lambda row: row["slots"] * (4.0 if row["tasks"] > 9 else 1.0)
)


def cells(runs: pd.DataFrame, topology: str, *, full: bool = True, tuple_kb: int = 8) -> pd.DataFrame:
    """Return the runs of a topology: with all its tasks, or of every size; `declared` counts where R-Storm takes part."""
    mine = runs[(runs["topology"] == topology) & (runs["tuple_kb"] == tuple_kb)]
    return mine[mine["tasks"] == max(_SIZES[topology])] if full else mine


def gain(runs: pd.DataFrame, what: str, ours: str = "pipeline", theirs: str = "even") -> pd.Series:
    """Return the relative change of a measure against another scheduler, in percent, of each cell."""
    return (runs[f"{ours}_{what}"] / runs[f"{theirs}_{what}"] - 1.0) * 100.0


def _parts(runs: pd.DataFrame, what: str) -> str:
    """Say what comes from placement and what from gating."""
    placed, gated = gain(runs, what, "placed").mean(), gain(runs, what, "gated").mean()
    return f"Against Storm's default, placement alone: {placed:+.0f}% on average; gating alone: {gated:+.0f}%."


def _kept_up(runs: pd.DataFrame, change: pd.Series, what: str) -> str:
    """Say how latency changed where the method carried what the default did: elsewhere it grows with the length of the run."""
    if what != "latency":
        return ""
    calm = change[runs["pipeline_throughput"] >= 0.98 * runs["even_throughput"]]
    return (
        f"In the {len(calm)} cells where it keeps up with the default: {calm.mean():+.0f}%."
        if len(calm)
        else "It never keeps up."
    )


def _judge_change(
    topology: str, what: str, low: float, high: float, theirs: str = "even", full: bool = True, why: str = ""
):
    """Return a judge that wants the change of more than half of the cells in [low, high] percent."""

    def judge(runs: pd.DataFrame, profile: str) -> Verdict:
        mine = cells(runs, topology, full=full)
        change = gain(mine, what, theirs=theirs)
        inside = int(((change >= low) & (change <= high)).sum())
        measured = (
            f"{change.mean():+.0f}% on average, {change.median():+.0f}% in the median, {change.min():+.0f}% to {change.max():+.0f}%; "
            f"{inside} of {len(mine)} cells within {low:+.0f}..{high:+.0f}%"
        )
        return Verdict.when(
            2 * inside > len(mine),
            measured,
            " ".join([_kept_up(mine, change, what), _parts(mine, what), why, _limits(topology)]).strip(),
        )

    return judge


_GATING = (
    "A gated bolt is busy at most (upstream tasks)/(N + stalls) of the time, so the steps hold tuples back at their senders, which "
    "costs latency at any load and throughput as soon as that bound is passed."
)


def _limits(topology: str) -> str:
    """Say what the bound comes to for the bolts of a topology with all its tasks, and how many nodes get no task."""
    graph, nodes = paper_topology(topology), PAPER_NODES[topology]
    schedule = pipeline_schedule(graph, nodes, "printed")
    bounds = []
    for bolt, name in enumerate(graph.names):
        senders = graph.edges[graph.edges[:, 1] == bolt, 0]
        if senders.size:
            share = busy_fraction_bound(int(graph.counts[senders].sum()), nodes, schedule.stall_slots)
            bounds.append(f"{name} {float(share):.2f}")
    empty = nodes - np.unique(schedule.placement.task_node).size
    return f"The bound, with the pipeline's own stalls: {', '.join(bounds)}. Nodes without a task: {empty} of {nodes}."


def _judge_memory(topology: str, ours: tuple[float, float], default: tuple[float, float]):
    """Return a judge on the largest share of memory used by the method and by Storm's default, in percent."""

    def judge(runs: pd.DataFrame, profile: str) -> Verdict:
        mine = cells(runs, topology)
        a, b = mine["pipeline_memory"] * 100, mine["even_memory"] * 100
        inside = int((a.between(*ours) & b.between(*default)).sum())
        return Verdict.when(
            2 * inside > len(mine),
            f"pipeline {a.min():.0f}..{a.max():.0f}% (mean {a.mean():.0f}), default {b.min():.0f}..{b.max():.0f}% (mean {b.mean():.0f}); "
            f"{inside} of {len(mine)} cells in both ranges",
            "Tuples held back at a sender are memory too: gating moves the queue from the receiver's buffer to the sender. "
            f"Input buffers and senders' windows count, with 4,096 tuples each. Its placement without gating uses "
            f"{mine['placed_memory'].mean():.0%} on average, its gating on Storm's placement {mine['gated_memory'].mean():.0%}. {_GATING} "
            + _limits(topology),
        )

    return judge


def _judge_balance(topology: str, why: str):
    def judge(runs: pd.DataFrame, profile: str) -> Verdict:
        mine = cells(runs, topology, tuple_kb=1)
        deviation, default = mine["pipeline_deviation"] * 100, mine["even_deviation"] * 100
        inside = int((deviation <= 10).sum())
        loads = np.mean([np.asarray(row) / np.sum(row) for row in mine["pipeline_by_node"]], axis=0)
        heavy = ", ".join(f"N{j}" for j in np.argsort(-loads, kind="stable")[:3])
        return Verdict.when(
            2 * inside > len(mine),
            f"mean deviation {deviation.mean():.0f}% (default {default.mean():.0f}%); most loaded nodes {heavy}; "
            f"{int((loads == 0).sum())} nodes without work",
            why,
        )

    return judge


def _judge_crossover(runs: pd.DataFrame, profile: str) -> Verdict:
    """R-Storm ahead in the first tenth of the run and the method ahead in the last half."""
    seen = total = ahead = 0
    for topology in ("diamond", "linear5"):
        for _, row in cells(runs, topology).iterrows():
            ours, theirs = np.asarray(row["pipeline_over_time"]), np.asarray(row["rstorm_over_time"])
            first, half = max(len(ours) // 10, 1), len(ours) // 2
            early, late = theirs[:first].sum() > ours[:first].sum(), ours[half:].sum() > theirs[half:].sum()
            total += 1
            seen += bool(early and late)
            ahead += bool(early)
    return Verdict.when(
        2 * seen > total,
        f"R-Storm ahead at first in {ahead} of {total} cells, overtaken later in {seen}",
        f"The start-up loss is there (the pipeline must fill), but the gain that should follow is not. {_GATING} Diamond: "
        f"{_limits('diamond')} Line of five: {_limits('linear5')}",
    )


def _judge_a1(runs: pd.DataFrame, profile: str) -> Verdict:
    both = [gain(cells(runs, topology), "memory") for topology in ("random", "linear")]
    change = np.concatenate(both)
    inside = int(((change >= -54) & (change <= -36)).sum())
    return Verdict.when(
        2 * inside > change.size,
        f"memory {np.median(change):+.0f}% in the median cell, less than the default in {int((change < 0).sum())} of {change.size} cells",
        "See PIPE-F10: what the receivers do not buffer the senders hold.",
    )


def _judge_a2(runs: pd.DataFrame, profile: str) -> Verdict:
    parts = {
        claim.id: claim.judge(runs, profile)
        for claim in CLAIMS
        if claim.id in ("PIPE-F14", "PIPE-F15", "PIPE-F17", "PIPE-F18")
    }
    held = [name for name, verdict in parts.items() if verdict.verdict == "reproduced"]
    means = [
        f"{gain(cells(runs, topology, full=theirs == 'rstorm'), 'throughput', theirs=theirs).mean():+.0f}% ({topology}, {_LABELS[theirs]})"
        for topology, theirs in (("random", "even"), ("linear", "even"), ("diamond", "rstorm"), ("linear5", "rstorm"))
    ]
    return Verdict.when(
        len(held) == 4, f"{len(held)} of 4 hold; throughput {', '.join(means)}", "See PIPE-F14, F15, F17 and F18."
    )


# --- figures: one cell over time, and the whole sweep


def _typical(mine: pd.DataFrame) -> Any:
    """Return the cell drawn over time: 1 ms service, parts of 64, load .3, distance .2, Storm's own declarations."""
    pick = mine[(mine["service_ms"] == 1.0) & (mine["part"] == 64) & (mine["load"] == 0.3) & (mine["distance"] == 0.2)]
    return pick.iloc[0]


def _times(row: Any, values: np.ndarray) -> np.ndarray:
    """Return the middle of each bin of a series, in slots."""
    return (np.arange(len(values)) + 0.5) * row["slots"] / len(values)


def _figure_sweep(
    topology: str, what: str, column: str, unit: str, claimed: float, theirs: str = "even", full: bool = True
):
    """Return a figure: on the left one cell over time, on the right the change in every cell with the paper's value."""

    def figure(runs: pd.DataFrame, profile: str) -> Figure:
        from matplotlib.figure import Figure

        mine = cells(runs, topology, full=full)
        row = _typical(cells(runs, topology))
        figure = Figure(figsize=(10, 4), layout="constrained")
        left, right = figure.subplots(1, 2)
        for name in (n for n in SCHEDULERS if n != "rstorm" or theirs == n):
            values = np.array([np.nan if x is None else x for x in row[f"{name}_{column}"]], float)
            left.plot(_times(row, values), values, label=_LABELS[name], color=_COLOURS[name])
        left.set(
            title=f"{topology}: load .3, 1 ms a tuple, parts of 64", xlabel="time (slots)", ylabel=f"{what} ({unit})"
        )
        if what == "latency":
            left.set_yscale("log")
        left.legend(fontsize=8)
        for name in ("pipeline", "placed", "gated"):
            right.plot(np.sort(gain(mine, what, name, theirs)), label=_LABELS[name], color=_COLOURS[name])
        right.axhline(claimed, color="k", ls="--", label=f"the paper: {claimed:+.0f}%")
        right.axhline(0, color="0.7", lw=1)
        right.set(
            title=f"Change against {_LABELS[theirs]}",
            xlabel="cells of the sweep, sorted",
            ylabel=f"change of {what} (%)",
        )
        if gain(mine, what, "pipeline", theirs).max() > 300:
            right.set_yscale("symlog", linthresh=100)
        right.legend(fontsize=8)
        return figure

    return figure


def _figure_memory(topology: str, ours: float, default: float | None):
    def figure(runs: pd.DataFrame, profile: str) -> Figure:
        from matplotlib.figure import Figure

        mine = cells(runs, topology)
        row = _typical(mine)
        figure = Figure(figsize=(10, 4), layout="constrained")
        left, right = figure.subplots(1, 2)
        for name in ("pipeline", "even", "placed", "gated"):
            values = np.asarray(row[f"{name}_memory_over_time"], float) * 100
            left.plot(_times(row, values), values, label=_LABELS[name], color=_COLOURS[name])
            right.plot(np.sort(mine[f"{name}_memory"] * 100), label=_LABELS[name], color=_COLOURS[name])
        left.set(
            title=f"{topology}: load .3, 1 ms a tuple, parts of 64",
            xlabel="time (slots)",
            ylabel="memory used (% of buffers)",
        )
        right.axhline(ours, color="C0", ls="--", label=f"the paper, pipeline: {ours:.0f}%")
        if default is not None:
            right.axhline(default, color="C1", ls="--", label=f"the paper, default: {default:.0f}%")
        right.set(
            title="Largest memory of each cell",
            xlabel="cells of the sweep, sorted",
            ylabel="memory used (% of buffers)",
        )
        for axes in (left, right):
            axes.legend(fontsize=8)
        return figure

    return figure


def _figure_balance(topology: str):
    def figure(runs: pd.DataFrame, profile: str) -> Figure:
        from matplotlib.figure import Figure

        mine = cells(runs, topology, tuple_kb=1)
        figure = Figure(figsize=(6.5, 4), layout="constrained")
        axes = figure.subplots()
        for k, name in enumerate(("pipeline", "even")):
            loads = np.mean([np.asarray(row) / np.mean(row) for row in mine[f"{name}_by_node"]], axis=0)
            axes.bar(np.arange(len(loads)) + 0.4 * k - 0.2, loads, width=0.4, label=_LABELS[name])
        axes.axhspan(0.93, 1.07, color="0.8", zorder=0, label="the paper: 7% deviation")
        axes.set(
            title=f"{topology}: work by node, 1 KB tuples", xlabel="node", ylabel="tuples handled / mean of the nodes"
        )
        axes.legend()
        return figure

    return figure


_SETUP = (
    "Simulated: nodes with 4 cores, 100 Mbps a node, buffers of 4,096 tuples a task, resend when full, shuffle grouping; swept over "
    "service time, load, size of a part, cost of distance and R-Storm's declarations. Throughput is counted at the sinks, memory "
    "with what senders hold."
)
_MORE = "in more than half of the cells of the sweep"


def _claim(claim: str, where: str, statement: str, claimed: str, criterion: str, judge, figure=None) -> Claim:
    return Claim(claim, PAPER, "c", where, statement, claimed, criterion, SIMULATION, judge, figure, _SETUP)


EXPERIMENTS = [SIMULATION]

CLAIMS = [
    _claim(
        "PIPE-F8", "Fig. 8", "random topology on 9 nodes: less latency than Storm's default", "-25% on average", f"-20..-30% {_MORE}",
        _judge_change("random", "latency", -30, -20, why=_GATING), _figure_sweep("random", "latency", "latency_over_time", "slots", -25),
    ),
    _claim(
        "PIPE-F9", "Fig. 9", "linear topology on 8 nodes: less latency than Storm's default", "-40% on average", f"-32..-48% {_MORE}",
        _judge_change("linear", "latency", -48, -32, why=_GATING), _figure_sweep("linear", "latency", "latency_over_time", "slots", -40),
    ),
    _claim(
        "PIPE-F10", "Fig. 10", "random topology: most memory used, default and method", "70% against 26%",
        f"60..80% against 20..32% {_MORE}",
        _judge_memory("random", (20, 32), (60, 80)), _figure_memory("random", 26, 70),
    ),
    _claim(
        "PIPE-F11", "Fig. 11", "linear topology: most memory used by the method, the default below its 70%", "7%",
        f"4..10% and default below 70% {_MORE}",
        _judge_memory("linear", (4, 10), (0, 70)), _figure_memory("linear", 7, None),
    ),
    _claim(
        "PIPE-F12", "Fig. 12", "random topology, 1 KB tuples: load of the nodes, N3 to N5 more", "7% mean deviation",
        f"at most 10% {_MORE}",
        _judge_balance("random", "The placement fixes the load: nodes 6 to 8 hold one task each, node 5 five. N3 to N5 carry most."),
        _figure_balance("random"),
    ),
    _claim(
        "PIPE-F13", "Fig. 13", "linear topology, 1 KB tuples: the nodes are balanced (the text says nine, the set-up eight)", "balanced",
        f"mean deviation at most 10% {_MORE}",
        _judge_balance("linear", "The placement fixes the load, and its work runs on half of the cluster."), _figure_balance("linear"),
    ),
    _claim(
        "PIPE-F14", "Fig. 14", "random topology, 3 to 6 tasks, 20 minutes: more throughput than the default",
        "+25% on average, +35% at most", f"+20..+30% {_MORE}", _judge_change("random", "throughput", 20, 30, full=False, why=_GATING),
        _figure_sweep("random", "throughput", "over_time", "tuples a slot", 25, full=False),
    ),
    _claim(
        "PIPE-F15", "Fig. 15", "linear topology, 2 to 4 tasks: more throughput than the default", "+40% on average", f"+32..+48% {_MORE}",
        _judge_change("linear", "throughput", 32, 48, full=False, why=_GATING),
        _figure_sweep("linear", "throughput", "over_time", "tuples a slot", 40, full=False),
    ),
    _claim(
        "PIPE-F17", "Fig. 17", "diamond topology on 8 nodes: more throughput than R-Storm", "about +35%", f"+28..+42% {_MORE}",
        _judge_change("diamond", "throughput", 28, 42, theirs="rstorm", why=_GATING),
        _figure_sweep("diamond", "throughput", "over_time", "tuples a slot", 35, theirs="rstorm"),
    ),
    _claim(
        "PIPE-F18", "Fig. 18", "line of five components on 8 nodes: more throughput than R-Storm", "about +45%", f"+36..+54% {_MORE}",
        _judge_change(
            "linear5", "throughput", 36, 54, theirs="rstorm",
            why=f"{_GATING} The last bolt has one task, which caps every scheduler.",
        ),
        _figure_sweep("linear5", "throughput", "over_time", "tuples a slot", 45, theirs="rstorm"),
    ),
    _claim(
        "PIPE-F17b", "V.E", "R-Storm is ahead in the first seconds and is overtaken once the pipeline is full", "crossover",
        f"R-Storm ahead in the first tenth and behind in the last half {_MORE}", _judge_crossover,
    ),
    _claim("PIPE-A1", "Abstract", "the method needs 45% less memory than the default", "-45%", f"-36..-54% {_MORE}", _judge_a1),
    _claim(
        "PIPE-A2", "Abstract", "25 to 40% more throughput than the default and 35 to 45% more than R-Storm", "+25..40%, +35..45%",
        "PIPE-F14, F15, F17 and F18 all hold", _judge_a2,
    ),
]  # fmt: skip
