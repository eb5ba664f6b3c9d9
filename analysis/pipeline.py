"""The theory of pipeline-based linear scheduling: the closed form, its counts and its limits.

It is about the method of Tantalaki et al. 2020.

**The closed form.** With G = gcd(t, N), t' = t/G, N' = N/G, u = t'^-1 mod N' (0 if N' = 1), p = rho
G + rho' and j = c G + c', the matrix M'_inter and its extension to N rows are

    L[p][j] = ((rho' - c') mod G) N' + ((c - rho) u mod N').

*Proof.* Row i of M'_init holds floor((iN + j)/t). Write i = m t' + k (k its class) and j = cG + c'.
Then iN + j = mN't + kN'G + cG + c' with t = t'G, so the entry is m N' + floor((kN' + c)/t'),
because c' < G cannot carry. Eq. 6 sends the row to block row k, place m inside it: block (k, c) has
entry m N' + floor((kN' + c)/t') in its row m. Eq. 10 sends the block to block row rho = (kN' + c)
mod t', so kN' + c = rho + v t' for v = floor((kN' + c)/t') in 0..N'-1, hence v t' = c - rho (mod
N'). As t' and N' have no common factor, v = (c - rho) u mod N'; and for given rho and c exactly one
k in 0..t'-1 leads there, so Eq. 10 is a bijection. Eq. 11 sends (m, c') to row rho' = (m + c') mod
G, so m = (rho' - c') mod G. Together that is L. For fixed rho the map c -> v is a bijection of
0..N'-1 and for fixed rho' the map c' -> m is one of 0..G-1, so every row is a permutation of
0..N-1. The same holds for rho and rho', so every column of N successive rows is one, too: a Latin
square, for every t and N, G = 1 included. Shifting rho and c by 1 together changes nothing, which
is how the missing block rows follow from those before. QED.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np


def allocation_period(t: int, n: int) -> int:
    """Return LCM(t, N), the period of the allocation (Proposition 1.1).

    Tasks share both node and class exactly when their numbers differ by a multiple of it.

    Parameters
    ----------
    t : int
        Tasks of a component.
    n : int
        Nodes, the paper's N.

    Examples
    --------
    >>> from streamlb.analysis import allocation_period
    >>> allocation_period(6, 9)
    18
    """
    return math.lcm(t, n)


def latin_entry(t: int, n: int, row: int, column: int) -> int:
    """Return L[row][column] of the closed form.

    Rows beyond t extend the matrix to N rows; after N rows it repeats itself.

    Parameters
    ----------
    t, n : int
        Tasks of a component, and nodes.
    row, column : int
        The step and the node.

    Examples
    --------
    >>> from streamlb.analysis import latin_entry
    >>> [latin_entry(6, 9, 3, j) for j in range(9)]
    [1, 7, 4, 0, 6, 3, 2, 8, 5]
    """
    g = math.gcd(t, n)
    short_t, short_n = t // g, n // g
    inverse = pow(short_t, -1, short_n) if short_n > 1 else 0
    outer_row, inner_row = divmod(row, g)
    outer_column, inner_column = divmod(column, g)
    return ((inner_row - inner_column) % g) * short_n + (outer_column - outer_row) * inverse % short_n


def latin_matrix(t: int, n: int, rows: int) -> np.ndarray:
    """Return the first `rows` rows of the closed form: int64[rows, n]."""
    return np.array([[latin_entry(t, n, p, j) for j in range(n)] for p in range(rows)], np.int64)


def pipeline_moves(t: int, n: int) -> dict[str, int]:
    """Return how many rows Eq. 6 moves, how many blocks Eq. 10 moves, and the paper's counts.

    Of the t rows of Eq. 6 those with i mod t' = 0 and i div t' = 0 stay, and others by coincidence.
    Of the t'N' blocks of Eq. 10 those with (rN' + c) mod t' = r stay. Both counts grow with the
    whole matrix, not with t' or N' alone.

    Parameters
    ----------
    t, n : int
        Tasks of a component, and nodes.

    Examples
    --------
    >>> from streamlb.analysis import pipeline_moves
    >>> pipeline_moves(6, 9)
    {'rows': 4, 'rows_printed': 2, 'blocks': 2, 'blocks_printed': 2, 'total_printed': 8}
    """
    g = math.gcd(t, n)
    short_t, short_n = t // g, n // g
    rows = sum(i // short_t + (i % short_t) * g != i for i in range(t))
    blocks = sum((r * short_n + c) % short_t != r for r in range(short_t) for c in range(short_n))
    return {
        "rows": rows,
        "rows_printed": short_t,
        "blocks": blocks,
        "blocks_printed": short_n - 1,
        "total_printed": short_t + short_n - 1 + (short_n - 1) * short_t,
    }


def busy_fraction_bound(upstream_tasks: int, nodes: int, stall_slots: Fraction | int = 0) -> Fraction:
    """Return the largest share of time a bolt can be busy when sending is gated by steps.

    In a cycle of `nodes` steps and its stalls each upstream task may send one part to the bolt, and
    a part keeps the bolt busy for one slot.

    How many stalls there are depends on what is sent: `PipelineSchedule.stall_slots` counts them
    for full parts from every task, and a run in which less is sent has fewer. Without stalls the
    bound holds for every run.

    Parameters
    ----------
    upstream_tasks : int
        Tasks that send to the bolt.
    nodes : int
        Steps of a cycle.
    stall_slots : int or Fraction
        Slots lost to stalls in a cycle, on average over the run.

    Examples
    --------
    >>> from streamlb.analysis import busy_fraction_bound
    >>> busy_fraction_bound(4, 8)
    Fraction(1, 2)
    """
    return min(Fraction(upstream_tasks) / (nodes + stall_slots), Fraction(1))


def inter_node_share_bound(sender_tasks: int, receiver_tasks: int, nodes: int) -> Fraction:
    """Return the least share of a stream that crosses nodes when a Latin square places the tasks.

    The method places them so. A component then has between floor(t/N) and ceil(t/N) tasks on a
    node. With at most one on a node, at most min(s, r) of the s r pairs of tasks share a node, and
    the share that crosses is at least 1 - 1/max(s, r), which is 1 - 1/t for full components.

    Parameters
    ----------
    sender_tasks, receiver_tasks : int
        Tasks at the two ends of the stream.
    nodes : int
        Nodes of the cluster.

    Examples
    --------
    >>> from streamlb.analysis import inter_node_share_bound
    >>> inter_node_share_bound(6, 6, 9), inter_node_share_bound(10, 10, 8)
    (Fraction(5, 6), Fraction(43, 50))
    """
    most = [
        sorted((tasks // nodes + (j < tasks % nodes) for j in range(nodes)), reverse=True)
        for tasks in (sender_tasks, receiver_tasks)
    ]
    # Most pairs share a node when the fuller nodes coincide (rearrangement inequality).
    together = sum(a * b for a, b in zip(*most))
    return 1 - Fraction(together, sender_tasks * receiver_tasks)


def birkhoff_bound(demand: np.ndarray) -> float:
    """Return the fewest slots in which one-to-one steps can carry a demand.

    That is the largest sum of a row or a column. In each slot a step, which is a permutation, lets
    a node send one unit and receive one, which gives the lower bound; the Birkhoff-von Neumann
    theorem gives steps and weights that reach it. The paper's schedule runs all N permutations for
    equally long and needs N times the largest entry.

    Parameters
    ----------
    demand : float[N, N]
        Units to be carried from node to node.

    Examples
    --------
    >>> import numpy as np
    >>> from streamlb.analysis import birkhoff_bound
    >>> float(birkhoff_bound(np.array([[0.0, 3.0], [1.0, 1.0]])))
    4.0
    """
    demand = np.asarray(demand, float)
    return float(max(demand.sum(axis=0).max(), demand.sum(axis=1).max()))


def birkhoff_steps(demand: np.ndarray, resolution: int = 10**6) -> list[tuple[float, np.ndarray]]:
    """Return weighted permutations that cover a demand in `birkhoff_bound` slots.

    Each is a pair (weight, receiver of each node). The demand is rounded up to multiples of its
    largest entry / `resolution`, so that everything after that is exact. It is filled up until all
    rows and columns have the same sum; then permutations are taken off it, each with its smallest
    entry as weight.

    Parameters
    ----------
    demand : float[N, N]
        Units to be carried from node to node.
    resolution : int
        Parts into which the largest entry is divided.

    Examples
    --------
    >>> import numpy as np
    >>> from streamlb.analysis import birkhoff_steps
    >>> steps = birkhoff_steps(np.array([[1.0, 2.0], [2.0, 1.0]]))
    >>> sorted((weight, step.tolist()) for weight, step in steps)
    [(1.0, [0, 1]), (2.0, [1, 0])]
    """
    from scipy.optimize import linear_sum_assignment

    demand = np.asarray(demand, float)
    unit = demand.max() / resolution
    left = _filled(np.ceil(demand / unit - 1e-6).astype(np.int64))
    steps = []
    while left.any():
        # All rows and columns have the same sum, so there is a permutation within the support
        # (Birkhoff), and the assignment of least cost is one.
        rows, columns = linear_sum_assignment(left == 0)
        weight = int(left[rows, columns].min())
        steps.append((float(weight * unit), columns.astype(np.int64)))
        left[rows, columns] -= weight
    return steps


def weighted_schedule(demand: np.ndarray, length: int) -> np.ndarray:
    """Return `length` steps that repeat the permutations of `birkhoff_steps` by their weights.

    The result is int64[length, N], with the turns of each permutation spread evenly. Every
    permutation appears at least once when `length` allows it, so that no pair of nodes with traffic
    is left out.
    """
    steps = birkhoff_steps(demand)
    weights = np.array([weight for weight, _ in steps])
    turns = np.maximum(np.floor(weights / weights.sum() * length), 1).astype(int)
    wanted = weights / weights.sum() * length
    while turns.sum() > length and turns.max() > 1:
        turns[np.argmax(np.where(turns > 1, turns - wanted, -np.inf))] -= 1
    while turns.sum() < length:
        turns[np.argmax(wanted - turns)] += 1
    when = sorted(((k + 0.5) / count, i) for i, count in enumerate(turns.tolist()) for k in range(count))
    return np.array([steps[i][1] for _, i in when], np.int64)


def _filled(demand: np.ndarray) -> np.ndarray:
    """Return the demand, added to until every row and column has the sum of the largest of them."""
    filled, line = demand.copy(), int(max(demand.sum(axis=0).max(), demand.sum(axis=1).max()))
    rows, columns = line - filled.sum(axis=1), line - filled.sum(axis=0)
    i = j = 0
    while i < len(rows) and j < len(columns):
        extra = min(rows[i], columns[j])
        filled[i, j] += extra
        rows[i] -= extra
        columns[j] -= extra
        if rows[i] <= columns[j]:
            i += 1
        else:
            j += 1
    return filled


def relabelling_shares(
    t: int, n: int, counts: list[int], edges: list[tuple[int, int]], places: tuple[int, ...]
) -> tuple[Fraction, list[Fraction]]:
    """Return the inter-node share of the traffic and the load of each node, exactly.

    Component v takes base value places[v]. Every spout task emits one tuple, each receiving
    component gets a copy, and the tasks of a component share evenly.
    """
    where = [[_column(t, n, q, place) for q in range(tasks)] for place, tasks in zip(places, counts)]
    rates = _rates(counts, edges)
    total = sum(rates[a] for a, _ in edges)
    local = Fraction(0)
    for a, b in edges:
        pairs = sum(x == y for x in where[a] for y in where[b])
        local += rates[a] * Fraction(pairs, counts[a] * counts[b])
    loads = [Fraction(0)] * n
    for v, nodes in enumerate(where):
        for node in nodes:
            loads[node] += rates[v] / counts[v]
    share = 1 - local / total if edges else Fraction(0)
    work = sum(loads)
    return share, [load / work for load in loads]


def best_relabelling(
    t: int, n: int, counts: list[int], edges: list[tuple[int, int]], load_factor: Fraction | int = 0
) -> tuple[Fraction, tuple[int, ...]]:
    """Return the least objective over all relabellings, and one that reaches it, by trying all.

    The objective is the inter-node share plus `load_factor` times the squared coefficient of
    variation of the loads. For small cases only: there are n!/(n - components)! relabellings.
    """
    best: tuple[Fraction, tuple[int, ...]] | None = None
    for places in itertools.permutations(range(n), len(counts)):
        share, loads = relabelling_shares(t, n, counts, edges, places)
        value = share + load_factor * (n * sum(load * load for load in loads) - 1)
        if best is None or value < best[0]:
            best = (value, places)
    assert best is not None
    return best


def _column(t: int, n: int, row: int, value: int) -> int:
    """Return the column at which a row of the closed form holds a value, by inverting it."""
    g = math.gcd(t, n)
    short_t, short_n = t // g, n // g
    outer_row, inner_row = divmod(row, g)
    inner, outer = divmod(value, short_n)
    return ((outer * short_t + outer_row) % short_n) * g + (inner_row - inner) % g


def _rates(counts: list[int], edges: list[tuple[int, int]]) -> list[Fraction]:
    """Return the tuples that each component handles when each spout task emits one.

    The components may come in any order.
    """
    senders: list[list[int]] = [[] for _ in counts]
    for a, b in edges:
        senders[b].append(a)
    rates: list[Fraction | None] = [None] * len(counts)

    def rate(v: int) -> Fraction:
        known = rates[v]
        if known is None:
            known = sum((rate(a) for a in senders[v]), Fraction(0)) if senders[v] else Fraction(counts[v])
            rates[v] = known
        return known

    return [rate(v) for v in range(len(counts))]
