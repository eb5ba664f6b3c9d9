"""Where the tasks run: the result of every scheduler, and what it tells before anything runs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from streamlb.placement.topology import Topology


@dataclass(frozen=True, eq=False)
class Placement:
    """Say on which node each task runs.

    Parameters
    ----------
    topology : Topology
        What is placed.
    nodes : int
        Nodes of the cluster.
    task_node : int64[tasks]
        The node of each task, tasks in the order of the components.
    scheduler : str
        The name of the scheduler that placed them.

    Examples
    --------
    >>> from streamlb import Topology, even_schedule
    >>> print(even_schedule(Topology({"s": 2, "b": 3}, [("s", "b")]), nodes=3).table())
    N0  s[0] b[1]
    N1  s[1] b[2]
    N2  b[0]
    """

    topology: Topology
    nodes: int
    task_node: np.ndarray
    scheduler: str

    def __post_init__(self):
        node = np.ascontiguousarray(self.task_node, np.int64)
        if node.shape != (self.topology.tasks,):
            raise ValueError(
                f"task_node must have a node for each of the {self.topology.tasks} tasks, got shape {node.shape}"
            )
        if node.size and not 0 <= node.min() <= node.max() < self.nodes:
            raise ValueError(f"task_node must be in [0, {self.nodes - 1}], got {node.min()} to {node.max()}")
        object.__setattr__(self, "task_node", node)

    def tasks_on(self, node: int) -> list[str]:
        """Return the names of a node's tasks."""
        return [self.topology.task_names[i] for i in np.flatnonzero(self.task_node == node)]

    def node_loads(self) -> np.ndarray:
        """Return each node's share of the work: float64[nodes].

        The tasks of a component share its messages evenly.
        """
        topology = self.topology
        each = np.repeat(topology.rates / topology.counts, topology.counts)
        loads = np.bincount(self.task_node, weights=each, minlength=self.nodes)
        return loads / loads.sum()

    def load_deviation(self) -> float:
        """Return the mean distance of a node's load from the mean load, as a share of the mean.

        It is 0 for perfect balance.
        """
        loads = self.node_loads() * self.nodes
        return float(np.abs(loads - 1.0).mean())

    def demand(self) -> np.ndarray:
        """Return the share of the traffic from each node to each node under shuffle grouping.

        The result is float64[nodes, nodes], with a sum of 1.
        """
        topology = self.topology
        out = np.zeros((self.nodes, self.nodes))
        spread = self._spread()
        for (a, b), rate in zip(topology.edges, topology.rates[topology.edges[:, 0]]):
            out += rate * np.outer(spread[a], spread[b])
        return out / out.sum() if topology.edges.size else out

    def step_demand(self) -> np.ndarray:
        """Return the most that one pair of tasks sends between each two nodes.

        The result is float64[nodes, nodes], scaled to a sum of 1. A step lets every pair of tasks
        on its two nodes send a part, so the busiest pair says how often the step is needed.
        """
        topology = self.topology
        out = np.zeros((self.nodes, self.nodes))
        present = self._spread() > 0
        for a, b in topology.edges.tolist():
            each = topology.rates[a] / (topology.counts[a] * topology.counts[b])
            out = np.maximum(out, each * np.outer(present[a], present[b]))
        return out / out.sum() if topology.edges.size else out

    def inter_node_share(self) -> float:
        """Return the share of the traffic that crosses between nodes under shuffle grouping."""
        topology, spread = self.topology, self._spread()
        if not topology.edges.size:
            return 0.0
        rates = topology.rates[topology.edges[:, 0]]
        local = np.einsum("ej,ej->e", spread[topology.edges[:, 0]], spread[topology.edges[:, 1]])
        return float(1.0 - (rates * local).sum() / rates.sum())

    def _spread(self) -> np.ndarray:
        """Return the share of each component's tasks on each node: float64[n, nodes]."""
        topology = self.topology
        out = np.zeros((len(topology.names), self.nodes))
        np.add.at(out, (topology.task_component, self.task_node), 1.0)
        return out / topology.counts[:, None]

    def table(self) -> str:
        """Return the placement as text, with one line for each node."""
        width = len(f"N{self.nodes - 1}")
        return "\n".join(f"{f'N{j}':<{width}}  {' '.join(self.tasks_on(j)) or '-'}" for j in range(self.nodes))

    def to_json(self) -> str:
        """Return the placement as JSON text: scheduler, topology, nodes, each task's node."""
        return json.dumps(self.to_dict(), indent=1)

    def to_dict(self) -> dict[str, Any]:
        """Return the placement as JSON values."""
        return {
            "scheduler": self.scheduler,
            "topology": self.topology.to_dict(),
            "nodes": self.nodes,
            "tasks": dict(zip(self.topology.task_names, self.task_node.tolist())),
        }
