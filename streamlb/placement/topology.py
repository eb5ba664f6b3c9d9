"""A streaming application as a graph: components, their tasks, and who sends to whom.

This is the model of Tantalaki et al. 2020, section II-A.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from streamlb import _check


class Topology:
    """Describe a streaming application: spouts and bolts, their tasks, and their streams.

    Parameters
    ----------
    components : mapping of str to int
        The name of each component and its number of tasks, at least 1. Components are numbered in
        this order.
    edges : iterable of (str, str)
        The streams: (sender, receiver), each at most once, without a cycle.
    spouts : iterable of str, optional
        The sources. They must have no incoming streams, and every component must be reachable from
        one of them. By default they are all components without an incoming stream.
    task_names : mapping of str to sequence of str, optional
        Names of a component's tasks, one for each; ``component[q]`` where none are given.

    Attributes
    ----------
    names : tuple of str
        The components, in order.
    counts : int64[n]
        Tasks of each component.
    edges : int64[e, 2]
        The streams, as numbers of components.
    spouts : tuple of int
        The sources, as numbers of components.
    depth : int64[n]
        Longest path from a spout to the component.
    stages : int64[e]
        The stage of each stream: the depth of its sender.

    Examples
    --------
    >>> from streamlb import Topology
    >>> t = Topology({"spout": 2, "split": 3, "count": 1}, [("spout", "split"), ("split", "count")])
    >>> t.tasks, t.stages.tolist(), t.task_names[:3]
    (6, [0, 1], ('spout[0]', 'spout[1]', 'split[0]'))
    """

    __slots__ = ("_index", "counts", "depth", "edges", "names", "offsets", "spouts", "stages", "task_names")

    def __init__(
        self,
        components: Mapping[str, int],
        edges: Iterable[tuple[str, str]],
        *,
        spouts: Iterable[str] | None = None,
        task_names: Mapping[str, Sequence[str]] | None = None,
    ):
        counts = _checked_counts(components)
        self.names: tuple[str, ...] = tuple(counts)
        self._index = {name: i for i, name in enumerate(self.names)}
        self.counts = np.array(list(counts.values()), np.int64)
        self.edges = self._checked_edges(edges)
        self.depth = self._longest_paths()
        self.spouts = self._checked_spouts(spouts)
        self.stages = self.depth[self.edges[:, 0]]
        self.offsets = np.concatenate([[0], np.cumsum(self.counts)])
        self.task_names = self._checked_task_names(task_names or {})

    @classmethod
    def from_networkx(cls, graph: Any, tasks: str = "tasks") -> Topology:
        """Read a `networkx.DiGraph`.

        A node's attribute `tasks` is its number of tasks, 1 where it has no such attribute.

        Examples
        --------
        >>> import networkx as nx
        >>> from streamlb import Topology
        >>> graph = nx.DiGraph([("spout", "bolt")])
        >>> graph.nodes["bolt"]["tasks"] = 4
        >>> Topology.from_networkx(graph).counts.tolist()
        [1, 4]
        """
        if not (hasattr(graph, "is_directed") and graph.is_directed()):
            raise TypeError(f"graph must be a directed graph of networkx, got {type(graph).__name__}")
        return cls(
            {str(node): data.get(tasks, 1) for node, data in graph.nodes(data=True)}, map(_both_str, graph.edges())
        )

    @classmethod
    def from_yaml(cls, text: str) -> Topology:
        """Read YAML as for Storm's Flux.

        Spouts and bolts have an id and a parallelism, streams have from and to.

        Examples
        --------
        >>> from streamlb import Topology
        >>> Topology.from_yaml('''
        ... spouts: [{id: words, parallelism: 2}]
        ... bolts: [{id: count, parallelism: 3}]
        ... streams: [{from: words, to: count}]
        ... ''')
        Topology({'words': 2, 'count': 3}, [('words', 'count')])
        """
        import yaml

        if not isinstance(text, str):
            raise TypeError(f"text must be a string of YAML, got {type(text).__name__}")
        try:
            data = yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise ValueError(f"text must be YAML: {error}") from error
        if not isinstance(data, dict):
            raise ValueError(f"text must be a YAML mapping with spouts, bolts and streams, got {type(data).__name__}")
        spouts, bolts, flows = (data.get(part) or [] for part in ("spouts", "bolts", "streams"))
        for name, part in (("spouts", spouts), ("bolts", bolts), ("streams", flows)):
            if not isinstance(part, list):
                raise ValueError(f"{name} must be a list, got {part!r}")
        components: dict[str, int] = {}
        for part in [*spouts, *bolts]:
            if not isinstance(part, dict) or "id" not in part:
                raise ValueError(f"each spout and bolt must be a mapping with an id, got {part!r}")
            if str(part["id"]) in components:
                raise ValueError(f"component ids must be distinct, got {part['id']!r} twice")
            components[str(part["id"])] = part.get("parallelism", 1)
        streams = []
        for stream in flows:
            if not isinstance(stream, dict) or not {"from", "to"} <= stream.keys():
                raise ValueError(f"each stream must be a mapping with from and to, got {stream!r}")
            streams.append((str(stream["from"]), str(stream["to"])))
        return cls(components, streams, spouts=[str(part["id"]) for part in spouts])

    @property
    def tasks(self) -> int:
        """Tasks of all components together."""
        return int(self.offsets[-1])

    @property
    def widest(self) -> int:
        """The most tasks of one component (t in the paper)."""
        return int(self.counts.max())

    @property
    def sinks(self) -> tuple[int, ...]:
        """Components that send to no one."""
        return tuple(i for i in range(len(self.names)) if i not in set(self.edges[:, 0].tolist()))

    @property
    def task_component(self) -> np.ndarray:
        """The component of each task: int64[tasks]."""
        return np.repeat(np.arange(len(self.names)), self.counts)

    @property
    def rates(self) -> np.ndarray:
        """Messages that each component handles when each spout task emits one: float64[n].

        Every component that receives a stream gets a copy of each message.
        """
        rates = np.zeros(len(self.names))
        for i in np.argsort(self.depth, kind="stable"):
            senders = self.edges[self.edges[:, 1] == i, 0]
            rates[i] = rates[senders].sum() if senders.size else self.counts[i]
        return rates

    def limited(self, tasks: int) -> Topology:
        """Return the same graph with at most `tasks` tasks in each component."""
        tasks = _check.integer("tasks", tasks, 1)
        return Topology({n: min(int(c), tasks) for n, c in zip(self.names, self.counts)}, self._named_edges())

    def to_dict(self) -> dict[str, Any]:
        """Return the topology as JSON values: components, edges."""
        return {
            "components": dict(zip(self.names, self.counts.tolist())),
            "edges": [list(e) for e in self._named_edges()],
        }

    def _named_edges(self) -> list[tuple[str, str]]:
        return [(self.names[a], self.names[b]) for a, b in self.edges.tolist()]

    def _checked_edges(self, edges: Iterable[tuple[str, str]]) -> np.ndarray:
        found: dict[tuple[int, int], None] = {}
        if not isinstance(edges, Iterable):
            raise TypeError(f"edges must be pairs (sender, receiver), got {edges!r}")
        for edge in edges:
            if not isinstance(edge, (tuple, list)) or len(edge) != 2:
                raise ValueError(f"edges must be pairs (sender, receiver), got {edge!r}")
            for name in edge:
                if not isinstance(name, str) or name not in self._index:
                    raise ValueError(
                        f"edges must join components of the topology, got unknown component {name!r} in {tuple(edge)!r}"
                    )
            pair = (self._index[edge[0]], self._index[edge[1]])
            if pair in found:
                raise ValueError(f"edges must be distinct, got {tuple(edge)!r} twice")
            found[pair] = None
        return np.array(list(found), np.int64).reshape(-1, 2)

    def _longest_paths(self) -> np.ndarray:
        """Return the depth of each component, found in Kahn's order.

        What is left over when the order ends lies on a cycle or behind one.
        """
        n = len(self.names)
        depth, missing = np.zeros(n, np.int64), np.bincount(self.edges[:, 1], minlength=n)
        after: list[list[int]] = [[] for _ in range(n)]
        for a, b in self.edges.tolist():
            after[a].append(b)
        ready = [i for i in range(n) if missing[i] == 0]
        for i in ready:
            for j in after[i]:
                depth[j] = max(depth[j], depth[i] + 1)
                missing[j] -= 1
                if missing[j] == 0:
                    ready.append(j)
        if len(ready) < n:
            raise ValueError(f"edges must not form a cycle, got {' -> '.join(self._cycle(missing > 0))}")
        return depth

    def _cycle(self, left: np.ndarray) -> list[str]:
        """Name a cycle: walk backwards among what is left over until a component comes again."""
        path = [int(np.argmax(left))]
        while path[-1] not in path[:-1]:
            path.append(next(a for a, b in self.edges.tolist() if b == path[-1] and left[a]))
        cycle = path[path.index(path[-1]) :][::-1]
        return [self.names[i] for i in cycle]

    def _checked_spouts(self, spouts: Iterable[str] | None) -> tuple[int, ...]:
        sources = [i for i in range(len(self.names)) if i not in set(self.edges[:, 1].tolist())]
        if spouts is None:
            return tuple(sources)
        given = set()
        for name in spouts:
            if name not in self._index:
                raise ValueError(f"spouts must be components of the topology, got {name!r}")
            if self._index[name] not in sources:
                raise ValueError(f"spouts must have no incoming stream, got {name!r}")
            given.add(self._index[name])
        for i in sources:  # in a DAG, whatever no spout reaches lies behind such a source
            if i not in given:
                raise ValueError(
                    f"every component must be reachable from a spout, got {self.names[i]!r} without an incoming stream"
                )
        return tuple(sorted(given))

    def _checked_task_names(self, given: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
        for name in given:
            if name not in self._index:
                raise ValueError(f"task_names must name components of the topology, got {name!r}")
            if len(given[name]) != self.counts[self._index[name]]:
                raise ValueError(
                    f"task_names must have a name for each of the {self.counts[self._index[name]]} tasks of {name!r}, "
                    f"got {len(given[name])}"
                )
        return tuple(
            str(given[name][q]) if name in given else f"{name}[{q}]"
            for name, count in zip(self.names, self.counts.tolist())
            for q in range(count)
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Topology):
            return NotImplemented
        return self.to_dict() == other.to_dict() and self.task_names == other.task_names

    def __hash__(self) -> int:
        return hash((self.names, self.counts.tobytes(), self.edges.tobytes()))

    def __repr__(self) -> str:
        return f"Topology({dict(zip(self.names, self.counts.tolist()))}, {self._named_edges()})"


def _checked_counts(components: Mapping[str, int]) -> dict[str, int]:
    if not isinstance(components, Mapping):
        raise TypeError(f"components must be a mapping of names to task counts, got {type(components).__name__}")
    if not components:
        raise ValueError("components must not be empty: a topology has at least one spout")
    for name in components:
        if not isinstance(name, str) or not name:
            raise TypeError(f"component names must be non-empty strings, got {name!r}")
    return {name: _check.integer(f"tasks of component {name!r}", count, 1) for name, count in components.items()}


def checked_topology(topology: Any) -> Topology:
    """Return the topology, or raise a TypeError if it is none."""
    if not isinstance(topology, Topology):
        raise TypeError(f"topology must be a Topology, got {type(topology).__name__}")
    return topology


def _both_str(edge: tuple[Any, Any]) -> tuple[str, str]:
    return str(edge[0]), str(edge[1])
