"""The four topologies of Tantalaki et al. 2020.

They are random and linear (figures 2 and 6), diamond, and a longer line (figure 16).
"""

from __future__ import annotations

from streamlb import _check
from streamlb.placement.topology import Topology

_LETTERS = {
    "random": {"spout": "UVWXYZ", "bolt1": "ABCDE", "bolt2": "FGHI", "bolt3": "JKLM", "bolt4": "NOPQR"},
    "linear": {"spout": "LMN", "bolt1": "ABCD", "bolt2": "EFG", "bolt3": "HIJK"},
}
_EDGES = {
    "random": [("spout", "bolt1"), ("bolt1", "bolt2"), ("bolt1", "bolt3"), ("bolt2", "bolt4"), ("bolt3", "bolt4")],
    "linear": [("spout", "bolt1"), ("bolt1", "bolt2"), ("bolt2", "bolt3")],
    "diamond": [("spout", "bolt1"), ("spout", "bolt2"), ("bolt1", "sink"), ("bolt2", "sink")],
    "linear5": [("spout", "bolt1"), ("bolt1", "bolt2"), ("bolt2", "bolt3"), ("bolt3", "bolt4")],
}
_COUNTS = {
    "diamond": {"spout": 10, "bolt1": 10, "bolt2": 10, "sink": 10},
    "linear5": {"spout": 16, "bolt1": 16, "bolt2": 8, "bolt3": 4, "bolt4": 1},
}
PAPER_NODES = {"random": 9, "linear": 8, "diamond": 8, "linear5": 8}


def paper_topology(name: str) -> Topology:
    """Return a topology of the paper by name: random, linear, diamond or linear5.

    The tasks of the first two have the letters of the paper as names. `PAPER_NODES` says on how
    many nodes the paper runs each.

    Examples
    --------
    >>> from streamlb.placement.examples import paper_topology
    >>> paper_topology("linear").counts.tolist()
    [3, 4, 3, 4]
    """
    name = _check.choice("name", name, tuple(_EDGES))
    letters = _LETTERS.get(name)
    if letters is None:
        return Topology(_COUNTS[name], _EDGES[name])
    return Topology({c: len(tasks) for c, tasks in letters.items()}, _EDGES[name], task_names=letters)
