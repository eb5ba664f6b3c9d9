"""The simulated cluster on which latency, throughput, memory and balance are measured.

Tantalaki et al. 2020, section V, leaves out the service time, the load, the cost of distance, the
size of a part and what R-Storm is told. They are swept here, and every scheduler runs on the same
cells. Each run also holds the two halves of the method by themselves: its placement without gating,
and its gating on Storm's placement.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from streamlb.analysis import busy_fraction_bound

from streamlb.placement.even import even_schedule
from streamlb.placement.examples import PAPER_NODES, paper_topology
from streamlb.placement.resource_aware import resource_aware_schedule
from streamlb.simulation.pipeline import PipelineResult, simulate_pipeline

from ...claim import Experiment, Seeds
from ...figures import COLOURS
from .readings import NAMES, scheduled

if TYPE_CHECKING:
    import pandas as pd


_LINK_MS = 0.65536  # what 8 KB take on 100 Mbps, in milliseconds
_NODE_MEMORY = 1024.0
SCHEDULERS = ("pipeline", "even", "rstorm", "placed", "gated")
LABELS = {
    "pipeline": "pipeline",
    "even": "Storm's default",
    "rstorm": "R-Storm",
    "placed": "its placement, no gating",
    "gated": "its gating, Storm's placement",
}
SCHEDULER_COLOURS = dict(zip(SCHEDULERS, COLOURS))
# The sizes of each topology: tasks of its widest component.
_SIZES = {"random": (3, 4, 5, 6), "linear": (2, 3, 4), "diamond": (10,), "linear5": (16,)}
SETUP = (
    "Simulated: nodes with 4 cores, 100 Mbps for each node, buffers of 4,096 tuples for each task, resend when "
    "full, shuffle grouping; swept over service time, load, size of a part, cost of distance and R-Storm's "
    "declarations. Throughput is counted at the sinks, memory with what senders hold."
)
NOT_DECIDED = "report only: no steady state of the regimes that the text leaves open is mapped yet"
NO_REGIMES = (
    "No verdict: the runs are short and start empty, and the cells are not a declared grid of regimes in steady state."
)


def amended(before: str) -> str:
    """Say what a claim's criterion was, and why it is no more."""
    return (
        f"{before} in more than half of the cells of the sweep; a sweep of short runs that start empty cannot decide."
    )


GATING = (
    "A gated bolt is busy at most (upstream tasks)/(N + stalls) of the time, so the steps hold tuples back at "
    "their senders, which costs latency at any load and throughput as soon as that bound is passed."
)


def _grid(profile: str) -> list[dict[str, Any]]:
    quick = profile == "quick"
    cells = [
        {"service_ms": service, "load": load, "part": part, "distance": distance, "declared": declared}
        for service in (0.2, 1.0, 5.0)
        for load in ((0.3, 1.0) if quick else (0.1, 0.3, 0.6, 1.0))
        for part in ((64,) if quick else (16, 64, 256))
        for distance in ((0.2,) if quick else (0.0, 0.2))
        for declared in ("10/128",)
    ]
    # What R-Storm is told of a task (CPU points, MB) is swept where R-Storm is compared; the others
    # do not read it.
    told = [
        {**cell, "declared": declared} for cell in cells for declared in ("10/100", "60/160") if cell["distance"] == 0.2
    ]
    rows = []
    for topology, sizes in _SIZES.items():
        for tasks in sizes:
            mine = cells + told if topology in ("diamond", "linear5") else cells
            rows += [{"topology": topology, "tasks": tasks, "tuple_kb": 8, **cell} for cell in mine]
    # Figures 12 and 13 have tuples of 1 KB.
    for topology in ("random", "linear"):
        small = [cell for cell in cells if cell["load"] in (0.3, 1.0)]
        rows += [{"topology": topology, "tasks": max(_SIZES[topology]), "tuple_kb": 1, **cell} for cell in small]
    return [{**row, "reading": reading, "slots": _slots(row, quick)} for row in rows for reading in NAMES]


def _slots(row: dict[str, Any], quick: bool) -> int:
    """Return the slots of a run: 1,000, or in the paper's profile 20 minutes but at most 40,000."""
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
    reading: str,
    slots: int,
    seed: int,
) -> dict[str, Any]:
    """Run every scheduler on one cell of the sweep."""
    graph = paper_topology(topology).limited(tasks)
    nodes = PAPER_NODES[topology]
    printed = scheduled(graph, nodes, reading)
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
    """Return what is kept of one scheduler's run."""
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
    "pipe_simulation",
    _grid,
    measure_simulation,
    cost=lambda row: row["slots"] * (4.0 if row["tasks"] > 9 else 1.0),
    seeds=Seeds(quick=(2, 2), paper=(3, 3), start=11),
)


def drawn(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs that figures show: those under our reading."""
    return runs[runs["reading"] == NAMES[0]]


def cells(runs: pd.DataFrame, topology: str, *, full: bool = True, tuple_kb: int = 8) -> pd.DataFrame:
    """Return the runs of a topology, with all its tasks (`full`) or of every size."""
    mine = runs[(runs["topology"] == topology) & (runs["tuple_kb"] == tuple_kb)]
    return mine[mine["tasks"] == max(_SIZES[topology])] if full else mine


def gain(runs: pd.DataFrame, what: str, ours: str = "pipeline", theirs: str = "even") -> pd.Series:
    """Return, for each cell, the change of a measure against another scheduler, in percent."""
    return (runs[f"{ours}_{what}"] / runs[f"{theirs}_{what}"] - 1.0) * 100.0


def limits(topology: str, reading: str) -> str:
    """Say how busy each bolt of a topology can be, and how many nodes get no task."""
    graph, nodes = paper_topology(topology), PAPER_NODES[topology]
    bounds = []
    for bolt, name in enumerate(graph.names):
        senders = graph.edges[graph.edges[:, 1] == bolt, 0]
        if senders.size:
            bounds.append(f"{name} {float(busy_fraction_bound(int(graph.counts[senders].sum()), nodes)):.2f}")
    empty = nodes - np.unique(scheduled(graph, nodes, reading).placement.task_node).size
    return f"Without any stall the bound is {', '.join(bounds)}. Nodes without a task: {empty} of {nodes}."


def typical(mine: pd.DataFrame) -> Any:
    """Return the cell that is drawn over time: 1 ms service, parts of 64, load .3, distance .2."""
    pick = mine[(mine["service_ms"] == 1.0) & (mine["part"] == 64) & (mine["load"] == 0.3) & (mine["distance"] == 0.2)]
    return pick.iloc[0]


def times(row: Any, values: np.ndarray) -> np.ndarray:
    """Return the middle of each bin of a series, in slots."""
    return (np.arange(len(values)) + 0.5) * row["slots"] / len(values)
