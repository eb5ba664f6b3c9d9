"""Refinement: relabel components so that those that talk to each other share nodes.

There are three ways: Algorithm 2 of Tantalaki et al. 2020 to the letter, our restatement of it, and
a local search. A relabelling keeps every row a permutation. Component v at base value a runs its
task q on column[q, a], the node at which row q of M'_inter holds a. A relabelling is therefore a
choice of one base value for each component, and finding the best one is a quadratic assignment
problem.
"""

from __future__ import annotations

import math
from collections import namedtuple

import numpy as np

from streamlb._jit import njit, record
from streamlb.rng import permutation

# A component: its number of tasks, the load that each of them carries as a share of all load, and
# its partners, partners[first_partner:end_partner].
COMPONENT = record([("tasks", "i8"), ("load", "f8"), ("first_partner", "i8"), ("end_partner", "i8")])
# The component at the other end of a stream, and the stream's share of all traffic.
PARTNER = record([("component", "i8"), ("traffic", "f8")])

# What is given: column int64[t, N], components COMPONENT[n], partners PARTNER[2 e] (each stream
# stands there once for each of its ends), and the load factor, a float.
Problem = namedtuple("Problem", ["column", "components", "partners", "factor"])
# What the search changes: slot int64[n], the base value of each component; owner int64[N], the
# component that holds each base value, or -1; load float64[N], the load of each node; and mark
# int64[N], all zeros between two calls, in which `_shared` counts tasks by node.
Search = namedtuple("Search", ["slot", "owner", "load", "mark"])


def block_members(intermediate: np.ndarray) -> np.ndarray:
    """Return M', the sorted IDs of each block of the first block row: int64[N', G]."""
    t, nodes = intermediate.shape
    g = math.gcd(t, nodes)
    return np.sort(intermediate[0].reshape(nodes // g, g), axis=1)


def non_partners(members: np.ndarray, bitmap: np.ndarray) -> list[list[int]]:
    """Return R-: for each ID those of its block to which it does not send, in descending order."""
    out: list[list[int]] = [[] for _ in range(members.size)]
    for block in members.tolist():
        for s in block:
            out[s] = [v for v in sorted(block, reverse=True) if v != s and not bitmap[s, v]]
    return out


def bitmap(edges: np.ndarray, nodes: int) -> np.ndarray:
    """Return the matrix of who sends to whom, padded to N IDs: int64[N, N]."""
    out = np.zeros((nodes, nodes), np.int64)
    out[edges[:, 0], edges[:, 1]] = 1
    return out


def _talking(members: np.ndarray, edges: np.ndarray) -> list[list[tuple[int, ...]]]:
    """Return the streams that leave each block for a later one, in the order of the printed loops.

    The loops run over blocks j, then places x in the sender's block, then places y in the
    receiver's. A stream is (j, x, y, sender, receiver).
    """
    blocks, g = members.shape
    home, place = np.empty(members.size, np.int64), np.empty(members.size, np.int64)
    home[members], place[members] = np.arange(blocks)[:, None], np.arange(g)[None, :]
    leaving: list[list[tuple[int, ...]]] = [[] for _ in range(blocks)]
    for s, d in edges.tolist():
        if home[d] > home[s]:
            leaving[home[s]].append((int(home[d]), int(place[s]), int(place[d]), s, d))
    return [sorted(pairs) for pairs in leaving]


def printed_swaps(intermediate: np.ndarray, edges: np.ndarray) -> list[tuple[int, int]]:
    """Return the exchanges (v, d) of Algorithm 2 to the letter.

    M' and R- stay as they are at the beginning, so that an ID that has moved may be exchanged
    again. The index k into R- counts the exchanges between two blocks, whoever the sender is; where
    R- has no such entry there is nothing to exchange. The number of exchanges is set back only
    when it meets its limit, which ends block i: "GoTo Line 3" goes on with the next i, since
    starting that loop afresh would never end.
    """
    members = block_members(intermediate)
    spare = non_partners(members, bitmap(edges, members.size))
    limit = members.shape[1] // 2
    swaps: list[tuple[int, int]] = []
    count = 0
    for pairs in _talking(members, edges):
        block, k = -1, 0
        for j, _, _, s, d in pairs:
            if j != block:
                block, k = j, 0
            if count >= limit:
                count = 0
                break
            if k < len(spare[s]):
                swaps.append((spare[s][k], d))
                k += 1
                count += 1
    return swaps


def restated_swaps(intermediate: np.ndarray, edges: np.ndarray) -> list[tuple[int, int]]:
    """Return the exchanges (v, d) of Algorithm 2 as we restate it.

    In each of them v leaves the sender's block and the receiver d takes its place. Both are still
    where they began, and no ID that has found its partner moves again. Each block i has a count of
    exchanges of its own.
    """
    members = block_members(intermediate)
    blocks, g = members.shape
    spare = non_partners(members, bitmap(edges, members.size))
    at = np.empty(members.size, np.int64)
    at[members] = np.arange(blocks)[:, None]
    used: set[int] = set()
    swaps = []
    for i, pairs in enumerate(_talking(members, edges)):
        moved = 0
        for j, _, _, s, d in pairs:
            if moved >= g // 2 or at[s] != i or at[d] != j or d in used:
                continue
            v = next((v for v in spare[s] if v not in used and at[v] == i), None)
            if v is None:
                continue
            at[v], at[d] = at[d], at[v]
            used.update((s, d))
            moved += 1
            swaps.append((v, d))
    return swaps


SWAPS = {"restated": restated_swaps, "printed": printed_swaps}


def swapped_labels(swaps: list[tuple[int, int]], nodes: int) -> np.ndarray:
    """Return the new label of each ID after exchanges, wherever the two IDs then are: int64[N]."""
    place = np.arange(nodes, dtype=np.int64)
    for v, d in swaps:
        place[v], place[d] = place[d], place[v]
    return np.argsort(place)


@njit(cache=True, nogil=True, forceinline=True)
def _shared(column, tasks_a, a, tasks_b, b, mark):
    """Return how many pairs of a task of one component and a task of another run on one node."""
    for q in range(tasks_a):
        mark[column[q, a]] += 1
    pairs = 0
    for q in range(tasks_b):
        pairs += mark[column[q, b]]
    for q in range(tasks_a):
        mark[column[q, a]] = 0
    return pairs


@njit(cache=True, nogil=True, forceinline=True)
def _shift_load(column, tasks, slot, weight, load):
    """Add `weight` to the load of the node of each task of a component.

    Return by how much the sum of the squared loads grows.
    """
    grown = 0.0
    for q in range(tasks):
        node = column[q, slot]
        grown += weight * (2.0 * load[node] + weight)
        load[node] += weight
    return grown


@njit(cache=True, nogil=True, forceinline=True)
def _local(problem, v, skip, search):
    """Return the traffic of component v that stays within nodes, without that to `skip`."""
    kept = 0.0
    own = problem.components[v]
    for i in range(own.first_partner, own.end_partner):
        partner = problem.partners[i]
        if partner.component != skip:
            tasks = problem.components[partner.component].tasks
            there = search.slot[partner.component]
            pairs = _shared(problem.column, own.tasks, search.slot[v], tasks, there, search.mark)
            kept += partner.traffic * pairs / (own.tasks * tasks)
    return kept


@njit(cache=True, nogil=True, forceinline=True)
def _local_of_both(problem, v, other, search):
    """Return the traffic of v and of `other` that stays within nodes; -1 stands for no other."""
    kept = _local(problem, v, -1, search)
    if other >= 0:
        kept += _local(problem, other, v, search)
    return kept


@njit(cache=True, nogil=True, forceinline=True)
def _exchange(problem, v, target, other, search):
    """Move v to the base value `target`, and `other`, which holds it (-1: nobody), to that of v.

    Return by how much the sum of the squared loads grows.
    """
    column, load, slot = problem.column, search.load, search.slot
    own, here = problem.components[v], slot[v]
    grown = _shift_load(column, own.tasks, here, -own.load, load)
    if other >= 0:
        theirs = problem.components[other]
        grown += _shift_load(column, theirs.tasks, target, -theirs.load, load)
        grown += _shift_load(column, theirs.tasks, here, theirs.load, load)
        slot[other] = here
    grown += _shift_load(column, own.tasks, target, own.load, load)
    slot[v] = target
    return grown


@njit(cache=True, nogil=True)
def _climb(problem, order, sweeps, search):
    """Exchange base values while that lowers the objective; return the number of exchanges.

    The objective is (1 - traffic within nodes) + factor * N * sum of squared loads. Each sweep
    tries the base values in the order given for every component; a sweep without an exchange is the
    last.
    """
    components, slot, owner = problem.components, search.slot, search.owner
    owner[:] = -1
    search.load[:] = 0.0
    for v in range(components.size):
        owner[slot[v]] = v
        _shift_load(problem.column, components[v].tasks, slot[v], components[v].load, search.load)
    exchanges = 0
    for _ in range(sweeps):
        improved = False
        for v in range(components.size):
            for target in order:
                here, other = slot[v], owner[target]
                if target == here or (other >= 0 and other < v):
                    continue
                before = _local_of_both(problem, v, other, search)
                grown = _exchange(problem, v, target, other, search)
                after = _local_of_both(problem, v, other, search)
                if (before - after) + problem.factor * order.size * grown < -1e-10:
                    owner[target], owner[here] = v, other
                    improved = True
                    exchanges += 1
                else:
                    _exchange(problem, v, here, other, search)
        if not improved:
            break
    return exchanges


def relabelling_problem(
    column: np.ndarray, counts: np.ndarray, edges: np.ndarray, rates: np.ndarray, load_factor: float
) -> Problem:
    """Return the problem of the local search: the tasks, load and partners of each component."""
    traffic = rates[edges[:, 0]] / rates[edges[:, 0]].sum() if edges.size else np.zeros(0)
    both = np.concatenate([edges, edges[:, ::-1]])
    order = np.argsort(both[:, 0], kind="stable")
    begins = np.searchsorted(both[order, 0], np.arange(counts.size + 1))
    components, partners = np.zeros(counts.size, COMPONENT), np.zeros(len(both), PARTNER)
    components["tasks"], components["load"] = counts, rates / counts / rates.sum()
    components["first_partner"], components["end_partner"] = begins[:-1], begins[1:]
    partners["component"], partners["traffic"] = both[order, 1], np.tile(traffic, 2)[order]
    return Problem(column, components, partners, float(load_factor))


def climb(problem: Problem, start: np.ndarray, order: np.ndarray, sweeps: int) -> np.ndarray:
    """Return the base value of each component, int64[n], after a local search from `start`."""
    nodes = problem.column.shape[1]
    search = Search(start.copy(), np.empty(nodes, np.int64), np.empty(nodes), np.zeros(nodes, np.int64))
    _climb(problem, order, sweeps, search)
    return search.slot


def columns_of(intermediate: np.ndarray) -> np.ndarray:
    """Return column[q, a], the node at which row q holds the base value a: int64[t, N]."""
    return np.ascontiguousarray(np.argsort(intermediate, axis=1))


def objective(
    column: np.ndarray, counts: np.ndarray, edges: np.ndarray, rates: np.ndarray, slot: np.ndarray, load_factor: float
) -> float:
    """Return what the search lowers.

    It is the inter-node share plus `load_factor` times the loads' squared coefficient of variation.
    """
    size = column.shape[1]
    spread = np.zeros((counts.size, size))
    for v, tasks in enumerate(counts.tolist()):
        np.add.at(spread[v], column[:tasks, slot[v]], 1.0 / tasks)
    load = rates @ spread / rates.sum()
    if not edges.size:
        return float(load_factor * (size * (load**2).sum() - 1.0))
    traffic = rates[edges[:, 0]] / rates[edges[:, 0]].sum()
    local = np.einsum("ej,ej->e", spread[edges[:, 0]], spread[edges[:, 1]])
    return float(1.0 - traffic @ local + load_factor * (size * (load**2).sum() - 1.0))


def optimised_labels(
    intermediate: np.ndarray,
    counts: np.ndarray,
    edges: np.ndarray,
    rates: np.ndarray,
    *,
    load_factor: float = 1.0,
    seed: int = 0,
    restarts: int = 4,
    sweeps: int = 20,
) -> np.ndarray:
    """Return the best labels of several local searches: int64[N].

    One starts from the best of the two readings of Algorithm 2 and no refinement, the others start
    at random. A search accepts only what lowers the objective, so the result is never worse than
    any of the three.
    """
    size, n = intermediate.shape[1], counts.size
    column = columns_of(intermediate)
    problem = relabelling_problem(column, counts, edges, rates, load_factor)
    bases = [np.argsort(swapped_labels(swaps(intermediate, edges), size))[:n] for swaps in SWAPS.values()]
    bases.append(np.arange(n))
    values = [objective(column, counts, edges, rates, base, load_factor) for base in bases]
    base, best_value = bases[int(np.argmin(values))], min(values)
    best = base
    for k in range(restarts + 1):
        start = base if k == 0 else permutation((seed + 2 * k) & 0xFFFFFFFFFFFFFFFF, size)[:n]
        order = permutation((seed + 2 * k + 1) & 0xFFFFFFFFFFFFFFFF, size)
        slot = climb(problem, start, order, sweeps)
        value = objective(column, counts, edges, rates, slot, load_factor)
        if value < best_value - 1e-12:
            best, best_value = slot, value
    labels = np.full(size, -1, np.int64)
    labels[best] = np.arange(n)
    labels[labels < 0] = np.arange(n, size)  # dummies take what is left, in order
    return labels
