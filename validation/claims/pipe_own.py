"""Our own claims beside paper 002: schedules that beat the printed one on its own measures, and bounds that every run keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from streamlb.analysis import birkhoff_bound, busy_fraction_bound, weighted_schedule

from streamlb.placement.even import even_schedule
from streamlb.placement.examples import PAPER_NODES, paper_topology
from streamlb.placement.pipeline import pipeline_schedule
from streamlb.placement.topology import Topology
from streamlb.simulation.pipeline import PipelineResult, simulate_pipeline

from ..claim import Claim, Experiment, Verdict
from .pipe_refine import REFINE, random_topology

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

WINDOW = 8  # parts: as a receiver takes no more than it can handle in a slot, a sender needs to hold little

_LABELS = {
    "printed": "as printed",
    "decoupled": "Storm's placement, Latin square",
    "weighted": "Storm's placement, weighted steps",
    "conserving": "printed placement, work-conserving",
    "ours": "optimised placement, work-conserving",
    "even": "Storm's default",
}


def _grid(profile: str) -> list[dict[str, Any]]:
    seeds = 12 if profile == "quick" else 100
    slots = 1000 if profile == "quick" else 10_000
    topologies = [(name, 0) for name in PAPER_NODES] + [("dag", seed) for seed in range(seeds)]
    return [
        {"topology": name, "seed": seed, "load": load, "bandwidth": bandwidth, "part": part, "slots": slots}
        for name, seed in topologies
        for load in (0.2, 0.6, 1.0)
        for bandwidth in (1, 8)  # parts a slot over a node's link
        for part in (16, 64)
    ]


def _case(topology: str, seed: int) -> tuple[Topology, int]:
    if topology != "dag":
        return paper_topology(topology), PAPER_NODES[topology]
    graph = random_topology(1000 + seed, components=(3, 8), tasks=(2, 8))
    return graph, max(len(graph.names), 6) + seed % 5


def measure_own(topology: str, seed: int, load: float, bandwidth: int, part: int, slots: int) -> dict[str, Any]:
    """Run the printed schedule and ours on one cell."""
    graph, nodes = _case(topology, seed)
    printed = pipeline_schedule(graph, nodes, "printed")
    ours = pipeline_schedule(graph, nodes, "optimised")
    even = even_schedule(graph, nodes)
    demand = even.step_demand()
    steps = weighted_schedule(demand, 8 * nodes)
    settings: dict[str, Any] = {
        "load": load,
        "part": part,
        "slots": slots,
        "seed": 5,
        "bandwidth": bandwidth * part,
        "distance_cost": 0.1,
    }
    runs = {
        "printed": simulate_pipeline(printed, gate="steps", **settings),
        "decoupled": simulate_pipeline(even, gate="steps", schedule=printed.schedule, **settings),
        "weighted": simulate_pipeline(even, gate="steps", schedule=steps, **settings),
        "conserving": simulate_pipeline(printed, gate="work-conserving", **settings),
        "ours": simulate_pipeline(ours, gate="work-conserving", window=WINDOW * part, **settings),
        "even": simulate_pipeline(even, **settings),
    }
    out: dict[str, Any] = {
        "nodes": nodes,
        "uniform_slots": float(nodes * demand.max()),
        "weighted_slots": birkhoff_bound(demand),
        "over_bound": sum(_over_bound(graph, nodes, part, runs[name]) for name in ("printed", "decoupled")),
        "bolts": int(graph.tasks - graph.counts[list(graph.spouts)].sum()),
    }
    for name, run in runs.items():
        out |= {
            f"{name}_throughput": run.throughput,
            f"{name}_latency": run.latency,
            f"{name}_memory": run.peak_tuples,
            f"{name}_deviation": run.load_deviation,
        }
    return out


def _over_bound(graph: Topology, nodes: int, part: int, run: PipelineResult) -> int:
    """Count the bolts that handled more than one part of each upstream task in each started cycle of N steps."""
    cycles = -(-run.steps // nodes) + 1  # a started cycle counts, and one for stages that lag behind the first
    component, over = graph.task_component, 0
    for task in range(graph.tasks):
        senders = graph.edges[graph.edges[:, 1] == component[task], 0]
        if senders.size:
            upstream = int(graph.counts[senders].sum())
            share = upstream / nodes if upstream > nodes else float(busy_fraction_bound(upstream, nodes))
            over += run.task_load[task] > part * share * nodes * cycles + 1e-9
    return int(over)


OWN = Experiment(
    "pipe_own", _grid, measure_own, cost=lambda row: row["slots"] * (3.0 if row["topology"] == "linear5" else 1.0)
)


def _lines_grid(profile: str) -> list[dict[str, Any]]:
    most = 16 if profile == "quick" else 32
    return [{"t": t, "most_nodes": most} for t in range(1, most + 1)]


def measure_lines(t: int, most_nodes: int) -> dict[str, Any]:
    """Count lines of components with at most t tasks, t <= N, whose pipeline stalls."""
    stalled = lines = 0
    for nodes in range(max(t, 3), most_nodes + 1):
        for length in (2, 3):
            counts = {f"c{i}": max(t - i, 1) for i in range(length)}
            line = Topology(counts, [(f"c{i}", f"c{i + 1}") for i in range(length - 1)])
            for how in ("printed", "optimised"):
                lines += 1
                stalled += pipeline_schedule(line, nodes, how).stall_slots > 0
    return {"lines": lines, "stalled": stalled}


LINES = Experiment("pipe_lines", _lines_grid, measure_lines)


def _judge_search(runs: pd.DataFrame, profile: str) -> Verdict:
    worse = int((runs["optimised_value"] > runs["printed_value"] + 1e-9).sum())
    best = int((runs["optimised_value"] <= runs["best_value"] + 1e-9).sum())
    better = int((runs["optimised_value"] < runs["printed_value"] - 1e-9).sum())
    return Verdict.when(
        worse == 0 and best >= 0.9 * len(runs),
        f"worse in {worse}, better in {better} and exactly optimal in {best} of {len(runs)} topologies",
    )


def _judge_deviation(runs: pd.DataFrame, profile: str) -> Verdict:
    lower = int((runs["ours_deviation"] <= runs["printed_deviation"] + 0.01).sum())
    return Verdict.when(
        lower >= 0.9 * len(runs),
        f"mean deviation {runs['ours_deviation'].mean():.0%} against {runs['printed_deviation'].mean():.0%}; "
        f"not worse in {lower} of {len(runs)} cells",
    )


def _judge_faster(ours: str, theirs: str, note: str = ""):
    """Return a judge that wants no less throughput (1%) and no more latency (1%) in nine of ten cells, and a gain on average."""

    def judge(runs: pd.DataFrame, profile: str) -> Verdict:
        rate = runs[f"{ours}_throughput"] / runs[f"{theirs}_throughput"]
        delay = runs[f"{ours}_latency"] / runs[f"{theirs}_latency"]
        good = int(((rate >= 0.99) & (delay <= 1.01)).sum())
        return Verdict.when(
            good >= 0.9 * len(runs) and rate.mean() > 1,
            f"throughput x{rate.mean():.2f} on average, latency x{delay.median():.2f} in the median; both at least as good in {good} of "
            f"{len(runs)} cells",
            note,
        )

    return judge


def _judge_weighted(runs: pd.DataFrame, profile: str) -> Verdict:
    full = runs[runs["load"] == 1.0]
    rate = full["weighted_throughput"] / full["decoupled_throughput"]
    theory = (runs["uniform_slots"] / runs["weighted_slots"]).mean()
    good = int((rate >= 0.99).sum())
    return Verdict.when(
        good >= 0.9 * len(full),
        f"saturated throughput x{rate.mean():.2f} (x{rate.min():.2f} to x{rate.max():.2f}), not less in {good} of {len(full)} cells; "
        f"slots a cycle needs fall by x{theory:.2f}",
        "All stages share the steps, so a step is needed as often as the busiest pair of tasks between its nodes. Where the traffic is "
        "nearly even that gains little, and rounding to 8N steps and other stalls cost more.",
    )


def _judge_all(runs: pd.DataFrame, profile: str) -> Verdict:
    names = ("throughput", "latency", "memory", "deviation")
    good = (
        (runs["ours_throughput"] >= 0.99 * runs["printed_throughput"])
        & (runs["ours_latency"] <= 1.01 * runs["printed_latency"])
        & (runs["ours_memory"] <= 1.01 * runs["printed_memory"])
        & (runs["ours_deviation"] <= runs["printed_deviation"] + 0.01)
    )
    means = ", ".join(
        f"{n} x{(runs[f'ours_{n}'] / runs[f'printed_{n}'].replace(0, np.nan)).median():.2f}" for n in names
    )
    against = ", ".join(
        f"{n} x{(runs[f'ours_{n}'] / runs[f'even_{n}'].replace(0, np.nan)).median():.2f}" for n in names
    )
    return Verdict.when(
        good.sum() >= 0.9 * len(runs),
        f"no measure worse in {int(good.sum())} of {len(runs)} cells; in the median {means}",
        f"Against Storm's default, which gates nothing: {against}.",
    )


def _judge_bound(runs: pd.DataFrame, profile: str) -> Verdict:
    over, bolts = int(runs["over_bound"].sum()), int(2 * runs["bolts"].sum())
    return Verdict.when(over == 0, f"{over} of {bolts} bolts in gated runs above the bound")


def _judge_lines(runs: pd.DataFrame, profile: str) -> Verdict:
    return Verdict.when(
        runs["stalled"].sum() == 0, f"{int(runs['stalled'].sum())} of {int(runs['lines'].sum())} lines stall"
    )


def _figure_own(runs: pd.DataFrame, profile: str) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4), layout="constrained")
    for axes, (what, unit) in zip(figure.subplots(1, 3), (("throughput", "x"), ("latency", "x"), ("memory", "x"))):
        for name in ("decoupled", "weighted", "conserving", "ours", "even"):
            ratio = runs[f"{name}_{what}"] / runs[f"printed_{what}"].clip(lower=1e-6)
            axes.plot(np.sort(ratio), label=_LABELS[name])
        axes.axhline(1.0, color="k", ls="--", label=_LABELS["printed"])
        axes.set(
            title=f"{what} against the printed schedule", xlabel="cells, sorted", ylabel=f"ratio ({unit})", yscale="log"
        )
    figure.axes[0].legend(fontsize=8)
    return figure


def _figure_balance(runs: pd.DataFrame, profile: str) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.5, 4.5), layout="constrained")
    axes = figure.subplots()
    axes.plot(runs["printed_deviation"], runs["ours_deviation"], ".", label="a cell")
    top = float(runs["printed_deviation"].max())
    axes.plot([0, top], [0, top], "k--", label="as the printed placement")
    axes.set(title="Load of the nodes: mean deviation", xlabel="printed placement", ylabel="optimised placement")
    axes.legend()
    return figure


def _claim(
    number: int,
    statement: str,
    claimed: str,
    criterion: str,
    experiment: Experiment,
    judge,
    figure=None,
    kind: str = "b",
) -> Claim:
    return Claim(
        f"OWN-PIPE-{number}", "OWN", kind, "beside paper 002", statement, claimed, criterion, experiment, judge, figure
    )


EXPERIMENTS = [OWN, LINES]

CLAIMS = [
    _claim(
        1, "local search over relabellings is never worse than Algorithm 2 on inter-node traffic plus load", "never worse, mostly optimal",
        "never worse, and exactly optimal in nine of ten small topologies", REFINE, _judge_search, kind="a",
    ),
    _claim(
        2, "optimised refinement with a load term balances the nodes at least as well", "no more deviation",
        "deviation not more than .01 above the printed one in nine of ten cells", OWN, _judge_deviation, _figure_balance,
    ),
    _claim(
        3, "work-conserving gating on the printed placement beats gating by steps", "more throughput, less latency",
        "both at least as good (1%) in nine of ten cells, more throughput on average", OWN,
        _judge_faster("conserving", "printed"), _figure_own,
    ),
    _claim(
        4, "the Latin square on Storm's placement beats the coupled placement", "more throughput, less latency",
        "both at least as good (1%) in nine of ten cells, more throughput on average", OWN,
        _judge_faster("decoupled", "printed", "Placement and square need not be one matrix; another placement meets other stalls."),
    ),
    _claim(
        5, "steps weighted by the traffic (Birkhoff-von Neumann) carry at least what all steps alike do",
        "no less throughput at saturation",
        "not less (1%) in nine of ten saturated cells", OWN, _judge_weighted,
    ),
    _claim(
        6, "optimised placement with work-conserving gating and a sender's window of 8 parts is no worse than the printed schedule",
        "throughput, latency, memory and balance", "no measure worse (by 1%; balance by .01) in nine of ten cells", OWN, _judge_all,
    ),
    _claim(
        7, "a gated bolt handles at most one part of each upstream task in N steps", "upstream/(N + stalls) of the time",
        "no bolt above the bound in any run", OWN, _judge_bound, kind="a",
    ),
    _claim(8, "lines of components with t <= N never stall", "0 stalls", "none on the grid", LINES, _judge_lines, kind="a"),
]  # fmt: skip
