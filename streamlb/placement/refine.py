"""Refinement: relabel components so that those that talk share nodes, as printed (Algorithm 2) and by local search.

A relabelling keeps every row a permutation. Component v at base value a runs its task q on column[q, a], the node at
which row q of M'_inter holds a, so a relabelling is a choice of one base value for each component and finding the
best is a quadratic assignment. State of the search: slot int64[n], the base value of each component; owner int64[N],
who holds it (-1: a dummy); load float64[N], local float64[e], the share of each stream that stays within a node.
"""

from __future__ import annotations

import math

import numpy as np

from streamlb._jit import njit
from streamlb.rng import permutation


def block_members(intermediate: np.ndarray) -> np.ndarray:
    """Return M': the sorted IDs of each block of the first block row, int64[N', G]."""
    t, nodes = intermediate.shape
    g = math.gcd(t, nodes)
    return np.sort(intermediate[0].reshape(nodes // g, g), axis=1)


def non_partners(members: np.ndarray, bitmap: np.ndarray) -> list[list[int]]:
    """Return R-: for each ID the IDs of its block to which it does not send, in descending order."""
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


def printed_swaps(intermediate: np.ndarray, edges: np.ndarray) -> list[tuple[int, int]]:
    """Return the exchanges (v, d) of Algorithm 2: v leaves the sender's block, the receiver d takes its place."""
    members = block_members(intermediate)
    blocks, g = members.shape
    sends = bitmap(edges, members.size)
    spare = non_partners(members, sends)
    home = np.empty(members.size, np.int64)
    home[members] = np.arange(blocks)[:, None]
    at = home.copy()
    place = np.empty(members.size, np.int64)
    place[members] = np.arange(g)[None, :]
    used: set[int] = set()
    swaps = []
    for i in range(blocks - 1):
        moved = 0
        # The printed loops run over every pair; only pairs joined by a stream do anything, in this order.
        pairs = sorted((home[d], place[s], place[d], s, d) for s, d in edges.tolist() if home[s] == i and home[d] > i)
        for j, _, _, s, d in pairs:
            if moved >= g // 2 or at[s] != i or at[d] != j or d in used:
                continue
            v = next((v for v in spare[s] if v not in used and at[v] == i), None)
            if v is None:
                continue
            at[v], at[d] = at[d], at[v]
            used.update((s, d))
            moved += 1
            swaps.append((int(v), int(d)))
    return swaps


def printed_labels(intermediate: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Return the new label of each ID after Algorithm 2: int64[N]."""
    labels = np.arange(intermediate.shape[1], dtype=np.int64)
    for v, d in printed_swaps(intermediate, edges):
        labels[v], labels[d] = labels[d], labels[v]
    return labels


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def _shift_load(column, tasks, slot, weight, load):
    """Add a component's load to its nodes; return by how much the sum of squares grows."""
    grown = 0.0
    for q in range(tasks):
        node = column[q, slot]
        grown += weight * (2.0 * load[node] + weight)
        load[node] += weight
    return grown


@njit(cache=True, nogil=True)
def _local(column, counts, streams, traffic, slot, a, skip, mark):
    """Return the traffic that stays within nodes over the streams of component a, without those to `skip`."""
    kept = 0.0
    for i in range(streams[a, 0], streams[a + 1, 0]):
        e, b = streams[i, 0], streams[i, 1]
        if b != skip:
            pairs = _shared(column, counts[a], slot[a], counts[b], slot[b], mark)
            kept += traffic[e] * pairs / (counts[a] * counts[b])
    return kept


@njit(cache=True, nogil=True)
def _climb(column, counts, streams, weights, slot, order, sweeps, owner, mark, load):
    """Exchange base values while that lowers the objective; `weights` is [load factor, load a task.., traffic..].

    `streams` holds where each component's (stream, partner) pairs begin, then the pairs. Returns the number of
    exchanges. The objective is (1 - traffic within nodes) + factor * N * sum of squared loads.
    """
    n, size = counts.size, column.shape[1]
    factor, each, traffic = weights[0], weights[1 : 1 + n], weights[1 + n :]
    nobody = np.int64(-1)  # a plain -1 would be a type of its own to the function called
    owner[:] = -1
    load[:] = 0.0
    for v in range(n):
        owner[slot[v]] = v
        _shift_load(column, counts[v], slot[v], each[v], load)
    exchanges = 0
    for _ in range(sweeps):
        improved = False
        for v in range(n):
            for k in range(size):
                target = order[k]
                here = slot[v]
                if target == here or (owner[target] >= 0 and owner[target] < v):
                    continue
                other = owner[target]
                before = _local(column, counts, streams, traffic, slot, v, nobody, mark)
                if other >= 0:
                    before += _local(column, counts, streams, traffic, slot, other, v, mark)
                grown = _shift_load(column, counts[v], here, -each[v], load)
                if other >= 0:
                    grown += _shift_load(column, counts[other], target, -each[other], load)
                    grown += _shift_load(column, counts[other], here, each[other], load)
                    slot[other] = here
                grown += _shift_load(column, counts[v], target, each[v], load)
                slot[v] = target
                after = _local(column, counts, streams, traffic, slot, v, nobody, mark)
                if other >= 0:
                    after += _local(column, counts, streams, traffic, slot, other, v, mark)
                if (before - after) + factor * size * grown < -1e-10:
                    owner[target], owner[here] = v, other
                    improved = True
                    exchanges += 1
                    continue
                _shift_load(column, counts[v], target, -each[v], load)
                if other >= 0:
                    _shift_load(column, counts[other], here, -each[other], load)
                    _shift_load(column, counts[other], target, each[other], load)
                    slot[other] = target
                _shift_load(column, counts[v], here, each[v], load)
                slot[v] = here
        if not improved:
            break
    return exchanges


def _incident(edges: np.ndarray, n: int) -> np.ndarray:
    """Return int64[n + 1 + 2e, 2]: row v holds where v's streams begin, and from there on rows of (stream, partner)."""
    both = np.concatenate([edges, edges[:, ::-1]])
    number = np.tile(np.arange(len(edges)), 2)
    order = np.argsort(both[:, 0], kind="stable")
    begins = n + 1 + np.searchsorted(both[order, 0], np.arange(n + 1))
    heads = np.stack([begins, np.zeros_like(begins)], axis=1)
    return np.ascontiguousarray(np.concatenate([heads, np.stack([number[order], both[order, 1]], axis=1)]), np.int64)


def columns_of(intermediate: np.ndarray) -> np.ndarray:
    """Return column[q, a]: the node at which row q holds the base value a, int64[t, N]."""
    return np.ascontiguousarray(np.argsort(intermediate, axis=1))


def objective(
    column: np.ndarray, counts: np.ndarray, edges: np.ndarray, rates: np.ndarray, slot: np.ndarray, load_factor: float
) -> float:
    """Return what the search lowers: the inter-node share plus `load_factor` times the loads' squared variation."""
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
    """Return labels by local search from Algorithm 2's result and from random starts, the best of all: int64[N].

    It starts from the printed result and only accepts what lowers the objective, so it is never worse.
    """
    size, n = intermediate.shape[1], counts.size
    column = columns_of(intermediate)
    total = rates[edges[:, 0]].sum()
    traffic = rates[edges[:, 0]] / total if edges.size else np.zeros(0)
    weights = np.concatenate([[load_factor], rates / counts / rates.sum(), traffic])
    streams = _incident(edges, n)
    owner, mark, load = np.empty(size, np.int64), np.zeros(size, np.int64), np.empty(size)
    base = np.argsort(printed_labels(intermediate, edges))[:n]
    best, best_value = base, objective(column, counts, edges, rates, base, load_factor)
    for k in range(restarts + 1):
        slot = base.copy() if k == 0 else permutation((seed + 2 * k) & 0xFFFFFFFFFFFFFFFF, size)[:n].copy()
        order = permutation((seed + 2 * k + 1) & 0xFFFFFFFFFFFFFFFF, size)
        _climb(column, counts, streams, weights, slot, order, sweeps, owner, mark, load)
        value = objective(column, counts, edges, rates, slot, load_factor)
        if value < best_value - 1e-12:
            best, best_value = slot, value
    labels = np.full(size, -1, np.int64)
    labels[best] = np.arange(n)
    labels[labels < 0] = np.arange(n, size)  # dummies take what is left, in order
    return labels
