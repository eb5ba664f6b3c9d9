"""Storm's default scheduler: executors in the order of their task numbers, dealt to slots that alternate between nodes.

Facts from Storm's own EvenScheduler (storm-server, org.apache.storm.scheduler): the free slots are grouped by node,
the nodes with more slots first, and interleaved; the first W of them are used, W the topology's number of workers;
executor i goes to slot i mod W. Task numbers follow the components in order of name; the paper numbers them in the
order of the graph, which is the default here.
"""

from __future__ import annotations

import numpy as np

from streamlb import _check
from streamlb.placement.placement import Placement
from streamlb.placement.topology import Topology, checked_topology


def even_schedule(
    topology: Topology, nodes: int, *, slots: int = 4, workers: int | None = None, order: str = "declared"
) -> Placement:
    """Place tasks as Storm's even scheduler does: round robin over slots that alternate between nodes.

    Parameters
    ----------
    topology : Topology
    nodes : int
        Nodes of the cluster, all with the same number of slots.
    slots : int
        Slots (worker processes) of a node.
    workers : int, optional
        Slots the topology asks for; all of them by default, and never more than there are.
    order : {"declared", "name"}
        Tasks numbered by components as declared (the paper) or by name (Storm).

    References
    ----------
    Apache Storm, `org.apache.storm.scheduler.EvenScheduler`.

    Examples
    --------
    >>> from streamlb import Topology, even_schedule
    >>> even_schedule(Topology({"s": 2, "b": 3}, [("s", "b")]), nodes=4, workers=2).task_node.tolist()
    [0, 1, 0, 1, 0]
    """
    checked_topology(topology)
    nodes = _check.integer("nodes", nodes, 1)
    slots = _check.integer("slots", slots, 1)
    workers = nodes * slots if workers is None else min(_check.integer("workers", workers, 1), nodes * slots)
    rank = np.arange(topology.tasks)
    if _check.choice("order", order, ("declared", "name")) == "name":
        by_name = sorted(range(len(topology.names)), key=topology.names.__getitem__)
        numbered = np.concatenate([np.arange(topology.offsets[i], topology.offsets[i + 1]) for i in by_name])
        rank[numbered] = np.arange(topology.tasks)
    slot_node = np.arange(workers) % nodes  # interleaved: slot s of every node before slot s + 1 of any
    return Placement(topology, nodes, slot_node[rank % workers].astype(np.int64), "even")
