"""R-Storm: each task goes to the nearest node, in network and in resources left.

The method is that of Peng et al. 2015. The order and the distance are those of Storm 1.0's
DefaultResourceAwareStrategy. Components are taken breadth first from each spout, over children and
parents, and one task of each in turn. The first task goes to the rack with the most resources.
After that every node that can hold the task is measured by

    sqrt( ((cpu - free)/(free + 1))^2 + ((memory - free)/(free + 1))^2 + distance^2 )

where the distance is 0 to the node of the previous task, 1/2 within its rack and 1 across racks,
and the smallest wins. Storm leaves ties to the order of a map; here the lower node number wins. CPU
is a hard limit in Storm and a soft one in the article.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from streamlb import _check
from streamlb.placement.placement import Placement
from streamlb.placement.topology import Topology, checked_topology

# What a node has left, or what a task of a component needs: CPU in points and memory in MB.
RESOURCES = np.dtype([("cpu", "f8"), ("memory", "f8")])


def resource_aware_schedule(
    topology: Topology,
    nodes: int,
    *,
    cpu: float | Mapping[str, float] = 10.0,
    memory: float | Mapping[str, float] = 128.0,
    node_cpu: float = 400.0,
    node_memory: float = 1024.0,
    racks: Sequence[int] | None = None,
    cpu_limit: str = "hard",
) -> Placement:
    """Place tasks as R-Storm does, by declared CPU and memory and by network distance.

    Parameters
    ----------
    topology : Topology
    nodes : int
        Nodes of the cluster.
    cpu, memory : float or mapping of component to float
        What a task declares: CPU in points, where 100 is a core, and memory in MB. Storm's defaults
        are 10 and 128.
    node_cpu, node_memory : float
        What a node offers: 400 points (four cores) and 1,024 MB by default.
    racks : sequence of int, optional
        The rack of each node; one rack by default.
    cpu_limit : {"hard", "soft"}
        Whether a node may take more CPU than it offers.

    Raises
    ------
    ValueError
        When a task fits on no node; the message names the task.

    References
    ----------
    Peng, Hosseini, Hong, Farivar, Campbell, "R-Storm: resource-aware scheduling in Storm",
    Middleware 2015; Apache Storm 1.0, `DefaultResourceAwareStrategy`.

    Examples
    --------
    >>> from streamlb import Topology, resource_aware_schedule
    >>> t = Topology({"s": 2, "b": 4}, [("s", "b")])
    >>> resource_aware_schedule(t, nodes=3, memory=256.0).task_node.tolist()
    [0, 0, 0, 0, 1, 1]
    """
    checked_topology(topology)
    nodes = _check.integer("nodes", nodes, 1, _check.LENGTH)
    free, needs = np.zeros(nodes, RESOURCES), np.zeros(len(topology.names), RESOURCES)
    free["cpu"] = _check.real("node_cpu", node_cpu, 0.0, low_open=True)
    free["memory"] = _check.real("node_memory", node_memory, 0.0, low_open=True)
    needs["cpu"], needs["memory"] = _declared("cpu", cpu, topology), _declared("memory", memory, topology)
    rack = np.zeros(nodes, np.int64) if racks is None else np.asarray(racks)
    if rack.shape != (nodes,) or rack.dtype.kind not in "iu":
        raise ValueError(f"racks must have one integer for each of the {nodes} nodes, got {racks!r}")
    soft = _check.choice("cpu_limit", cpu_limit, ("hard", "soft")) == "soft"

    task_node = np.full(topology.tasks, -1, np.int64)
    last = -1
    for component, task in _task_order(topology):
        need = needs[component]
        allowed = (free["memory"] >= need["memory"]) & (soft | (free["cpu"] >= need["cpu"]))
        if last < 0:  # Storm limits the first choice to the rack with the most left
            totals = [free["cpu"][rack == r].sum() + free["memory"][rack == r].sum() for r in np.unique(rack)]
            allowed &= rack == np.unique(rack)[int(np.argmax(totals))]
        node = _nearest(need, free, allowed, rack, last)
        if node < 0:
            raise ValueError(
                f"every task must fit on a node: no node has cpu {need['cpu']:g} and memory {need['memory']:g} "
                f"left for {topology.task_names[task]}"
            )
        task_node[task] = last = node
        free["cpu"][node] -= need["cpu"]
        free["memory"][node] -= need["memory"]
    return Placement(topology, nodes, task_node, "resource-aware")


def _declared(name: str, value: float | Mapping[str, float], topology: Topology) -> list[float]:
    if isinstance(value, Mapping):
        for component in topology.names:
            if component not in value:
                raise ValueError(f"{name} must have a value for every component, got none for {component!r}")
        return [_check.real(f"{name} of {c!r}", value[c], 0.0) for c in topology.names]
    return [_check.real(name, value, 0.0)] * len(topology.names)


def _task_order(topology: Topology) -> list[tuple[int, int]]:
    """Return pairs (component, task) in the order in which they are placed.

    Components are taken breadth first over children and parents, and one task of each in turn.
    """
    children: list[list[int]] = [[] for _ in topology.names]
    parents: list[list[int]] = [[] for _ in topology.names]
    for a, b in topology.edges.tolist():
        children[a].append(b)
        parents[b].append(a)
    order: list[int] = []
    for spout in topology.spouts:
        queue = [] if spout in order else [spout]
        seen = {*order, *queue}
        for component in queue:
            order.append(component)
            for other in children[component] + parents[component]:
                if other not in seen:
                    seen.add(other)
                    queue.append(other)
    return [(c, int(topology.offsets[c]) + q) for q in range(topology.widest) for c in order if q < topology.counts[c]]


def _nearest(need: np.void, free: np.ndarray, allowed: np.ndarray, rack: np.ndarray, last: int) -> int:
    best, best_distance = -1, math.inf
    for node in np.flatnonzero(allowed).tolist():
        away = 0.0 if last in (-1, node) else 0.5 if rack[last] == rack[node] else 1.0
        cpu, memory = (float((need[k] - free[node][k]) / (abs(free[node][k]) + 1.0)) for k in ("cpu", "memory"))
        distance = math.sqrt(cpu**2 + memory**2 + away**2)
        if distance < best_distance:
            best, best_distance = node, distance
    return best
