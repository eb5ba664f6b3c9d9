"""Storm's default scheduler: it deals executors in turn to slots that alternate between nodes.

The facts are from Storm's own EvenScheduler (storm-server, org.apache.storm.scheduler). The free
slots are grouped by node, the nodes with more slots first, and interleaved. The first W of them are
used, where W is the topology's number of workers, and executor i goes to slot i mod W. Storm
numbers tasks by the names of their components. Tantalaki et al. 2020 number them in the order of
the graph, which is the default here.
"""

from __future__ import annotations

import numpy as np

from streamlb import _check
from streamlb.placement.placement import Placement
from streamlb.placement.topology import Topology, checked_topology


def even_schedule(
    topology: Topology, nodes: int, *, slots: int = 4, workers: int | None = None, order: str = "declared"
) -> Placement:
    """Place tasks as Storm's even scheduler does: in turn on slots that alternate between nodes.

    Parameters
    ----------
    topology : Topology
    nodes : int
        Nodes of the cluster, all with the same number of slots.
    slots : int
        Slots (worker processes) on each node.
    workers : int, optional
        How many slots the topology asks for; all by default, and never more than there are.
    order : {"declared", "name"}
        Whether tasks are numbered in the order in which components were declared (the paper) or by
        the components' names (Storm).

    References
    ----------
    Apache Storm, `org.apache.storm.scheduler.EvenScheduler`.

    Examples
    --------
    >>> from streamlb import Topology, even_schedule
    >>> topology = Topology({"s": 2, "b": 3}, [("s", "b")])
    >>> even_schedule(topology, nodes=4, workers=2).task_node.tolist()
    [0, 1, 0, 1, 0]
    """
    checked_topology(topology)
    nodes = _check.integer("nodes", nodes, 1, _check.LENGTH)
    slots = _check.integer("slots", slots, 1, _check.LENGTH // nodes)
    workers = nodes * slots if workers is None else min(_check.integer("workers", workers, 1), nodes * slots)
    rank = np.arange(topology.tasks)
    if _check.choice("order", order, ("declared", "name")) == "name":
        by_name = sorted(range(len(topology.names)), key=topology.names.__getitem__)
        numbered = np.concatenate([np.arange(topology.offsets[i], topology.offsets[i + 1]) for i in by_name])
        rank[numbered] = np.arange(topology.tasks)
    slot_node = np.arange(workers) % nodes  # slot s of every node comes before slot s + 1 of any
    return Placement(topology, nodes, slot_node[rank % workers].astype(np.int64), "even")
