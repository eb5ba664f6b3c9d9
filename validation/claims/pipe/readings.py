"""What the claims of Tantalaki et al. 2020 share: readings, printed matrices, and topologies."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from streamlb.placement.examples import PAPER_NODES, paper_topology
from streamlb.placement.pipeline import PipelineSchedule, pipeline_schedule
from streamlb.placement.topology import Topology

from ...claim import Reading

_READINGS = (
    Reading(
        "default",
        "our reading",
        "Section IV calls the result of Algorithm 2 exchanges between IDs of two blocks, at most half of a block; so "
        "each block has a count of its own, and an ID that has found its partner stays. Nothing is added where "
        "gcd(t, N) = 1, since Proposition 1 holds there too.",
        {"refine": "restated"},
    ),
    Reading(
        "added",
        "our reading, tasks added",
        "Section VII: where gcd(t, N) = 1 a minimum number of tasks must be added before scheduling.",
        {"refine": "restated", "add_tasks": True},
    ),
    Reading(
        "printed",
        "to the letter",
        "Algorithm 2 line by line: R-[source, k] with a k for each two blocks, M' and R- never brought up to date, "
        "the number of exchanges set back only at its limit; tasks added as section VII says.",
        {"refine": "printed", "add_tasks": True},
    ),
)
READINGS = {reading.name: reading for reading in _READINGS}
NAMES = tuple(READINGS)


def scheduled(topology: Topology, nodes: int, reading: str) -> PipelineSchedule:
    """Return the paper's schedule under a reading."""
    return pipeline_schedule(topology, nodes, **READINGS[reading].options)


# The matrices as printed. A dot stands for the printed square of a dummy task.
FIGURE1 = {
    "initial": "0 1 2 3 4 5 | 6 7 8 9 10 11 | 12 13 14 15 16 17 | 18 19 20 21 22 23",
    "components": "0 0 0 0 1 1 | 1 1 2 2 2 2 | 3 3 3 3 4 4 | 4 4 5 5 5 5",
}
RANDOM = {
    "components": "0 0 0 0 0 0 1 1 1 | 1 1 1 2 2 2 2 2 2 | 3 3 3 3 3 3 4 4 4 | "
    "4 4 4 5 5 5 5 5 5 | 6 6 6 6 6 6 7 7 7 | 7 7 7 8 8 8 8 8 8",
    "transposed": "0 0 0 0 0 0 1 1 1 | 3 3 3 3 3 3 4 4 4 | 6 6 6 6 6 6 7 7 7 | "
    "1 1 1 2 2 2 2 2 2 | 4 4 4 5 5 5 5 5 5 | 7 7 7 8 8 8 8 8 8",
    "blocks": "0 0 0 2 2 2 1 1 1 | 3 3 3 5 5 5 4 4 4 | 6 6 6 8 8 8 7 7 7 | "
    "1 1 1 0 0 0 2 2 2 | 4 4 4 3 3 3 5 5 5 | 7 7 7 6 6 6 8 8 8",
    "intermediate": "0 6 3 2 8 5 1 7 4 | 3 0 6 5 2 8 4 1 7 | 6 3 0 8 5 2 7 4 1 | "
    "1 7 4 0 6 3 2 8 5 | 4 1 7 3 0 6 5 2 8 | 7 4 1 6 3 0 8 5 2",
    "bitmap": "0 1 0 0 0 0 0 0 0 | 0 0 1 1 0 0 0 0 0 | 0 0 0 0 1 0 0 0 0 | 0 0 0 0 1 0 0 0 0 | "
    + " | ".join(["0 0 0 0 0 0 0 0 0"] * 5),
    "members": "0 3 6 | 2 5 8 | 1 4 7",
    "non_partners": "6 3 | 7 4 | 8 5 | 6 0 | 7 1 | 8 2 | 3 0 | 4 1 | 5 2",
    "swaps": "6 1 | 8 4",
    "final": "0 1 3 2 4 5 6 7 8 | 3 0 1 5 2 4 8 6 7 | 1 3 0 4 5 2 7 8 6 | "
    "6 7 8 0 1 3 2 4 5 | 8 6 7 3 0 1 5 2 4 | 7 8 6 1 3 0 4 5 2",
    "named": "U A J F N . . . . | K V B . G O . . . | C L W P . H . . . | . . . X D M I Q . | . . . . Y E . . R | "
    ". . . . . Z . . .",
    "schedule": "0 1 3 2 4 5 6 7 8 | 3 0 1 5 2 4 8 6 7 | 1 3 0 4 5 2 7 8 6 | 6 7 8 0 1 3 2 4 5 | 8 6 7 3 0 1 5 2 4 | "
    "7 8 6 1 3 0 4 5 2 | 2 4 5 6 7 8 0 1 3 | 5 2 4 8 6 7 3 0 1 | 4 5 2 7 8 6 1 3 0",
    "row_moves": "0 0 | 1 3 | 2 1 | 3 4 | 4 2 | 5 5",
}
LINEAR = {
    "components": "0 0 0 0 1 1 1 1 | 2 2 2 2 3 3 3 3 | 4 4 4 4 5 5 5 5 | 6 6 6 6 7 7 7 7",
    "transposed": "0 0 0 0 1 1 1 1 | 2 2 2 2 3 3 3 3 | 4 4 4 4 5 5 5 5 | 6 6 6 6 7 7 7 7",
    "intermediate": "0 6 4 2 1 7 5 3 | 2 0 6 4 3 1 7 5 | 4 2 0 6 5 3 1 7 | 6 4 2 0 7 5 3 1",
    "swaps": "6 1 | 4 3",
    "final": "0 1 3 2 6 7 5 4 | 2 0 1 3 4 6 7 5 | 3 2 0 1 5 4 6 7 | 1 3 2 0 7 5 4 6",
    "named": "L A H E . . . . | F M B I . . . . | J G N C . . . . | D K . . . . . .",
    "schedule": "0 1 3 2 6 7 5 4 | 2 0 1 3 4 6 7 5 | 3 2 0 1 5 4 6 7 | 1 3 2 0 7 5 4 6 | "
    "6 7 5 4 0 1 3 2 | 4 6 7 5 2 0 1 3 | 5 4 6 7 3 2 0 1 | 7 5 4 6 1 3 2 0",
}
PRINTED = {"figure1": FIGURE1, "random": RANDOM, "linear": LINEAR}


def text(matrix: Any) -> str:
    """Return a matrix as text, its rows between bars.

    That is short enough for a table of results, and it compares exactly.
    """
    return " | ".join(" ".join(str(v) if v != "" else "." for v in row) for row in np.asarray(matrix).tolist())


def example(case: str) -> tuple[Topology, int]:
    """Return the topology of an example and the number of nodes it runs on.

    `figure1` is that of figure 1: a spout and four bolts of four tasks each, on six nodes. The
    others are the paper's own by name.
    """
    if case != "figure1":
        return paper_topology(case), PAPER_NODES[case]
    names = ["spout", "bolt1", "bolt2", "bolt3", "bolt4"]
    edges = [("spout", "bolt1"), ("bolt1", "bolt2"), ("bolt1", "bolt3"), ("bolt2", "bolt4"), ("bolt3", "bolt4")]
    return Topology(dict.fromkeys(names, 4), edges), 6


def random_topology(seed: int, components: tuple[int, int] = (3, 5), tasks: tuple[int, int] = (2, 6)) -> Topology:
    """Return a random DAG: every bolt receives from one or two earlier components."""
    return _drawn(np.random.default_rng(seed), components, tasks)


def _drawn(rng: np.random.Generator, components: tuple[int, int], tasks: tuple[int, int]) -> Topology:
    n = int(rng.integers(components[0], components[1] + 1))
    counts = rng.integers(tasks[0], tasks[1] + 1, n)
    edges = []
    for v in range(1, n):
        senders = rng.choice(v, size=min(v, int(rng.integers(1, 3))), replace=False)
        edges += [(f"c{u}", f"c{v}") for u in sorted(senders.tolist())]
    return Topology({f"c{i}": int(c) for i, c in enumerate(counts)}, edges)


def random_case(
    seed: int, gcd_is_one: bool, components: tuple[int, int], tasks: tuple[int, int], nodes: tuple[int, int]
) -> tuple[Topology, int]:
    """Return a random DAG and a number of nodes for which there is something to refine, or not.

    There is where 1 < gcd(t, N) < N, so that blocks hold several IDs and there are several blocks.
    With `gcd_is_one`, gcd(t, N) = 1 instead.
    """
    rng = np.random.default_rng(seed)
    while True:
        graph = _drawn(rng, components, tasks)
        least = max(nodes[0], len(graph.names))
        gcds = {n: math.gcd(graph.widest, n) for n in range(least, nodes[1] + 1)}
        fit = [n for n, g in gcds.items() if (g == 1 if gcd_is_one else 1 < g < n)]
        if fit:
            return graph, int(rng.choice(fit))
