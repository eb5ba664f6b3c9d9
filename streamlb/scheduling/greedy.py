"""Greedy online scheduling: each task goes to the machine with the least load so far.

Rivetti et al. 2015 build on it in sections III-A and IV-A. The state is load float64[machines]. For
many machines there is also heap int64[machines], a binary heap of the machines by (load, number).
Both kernels give ties to the machine with the lowest number, and so they agree task for task.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from streamlb import _check
from streamlb._jit import njit

_SCAN_UP_TO = 60  # machines; with more of them the heap is faster


@njit(cache=True, nogil=True)
def _schedule_scan(costs, load, out):
    for task in range(costs.size):
        best = 0
        least = load[0]
        for machine in range(1, load.size):
            if load[machine] < least:
                least = load[machine]
                best = machine
        load[best] = least + costs[task]
        out[task] = best


@njit(cache=True, nogil=True)
def _sift_down(load, heap):
    """Put the root of the heap, whose load has grown, where it belongs."""
    size = heap.size
    machine = heap[0]
    key = load[machine]
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        other = child + 1
        if other < size:
            a, b = heap[child], heap[other]
            if load[b] < load[a] or (load[b] == load[a] and b < a):
                child = other
        below = heap[child]
        if load[below] < key or (load[below] == key and below < machine):
            heap[at] = below
            at = child
        else:
            break
    heap[at] = machine


@njit(cache=True, nogil=True)
def _schedule_heap(costs, load, heap, out):
    for task in range(costs.size):
        machine = heap[0]
        out[task] = machine
        load[machine] += costs[task]
        _sift_down(load, heap)


def greedy_schedule(costs: Any, machines: Any) -> tuple[np.ndarray, float]:
    """Assign each task, in the order given, to the machine with the least total cost so far.

    The tasks need not be known in advance, and the makespan is at most 2 - 1/machines times the
    best possible (`streamlb.analysis.greedy_ratio`).

    Parameters
    ----------
    costs : array-like of float, shape (m,)
        What each task costs, on any machine; finite and not negative.
    machines : int
        How many machines, at least 1.

    Returns
    -------
    assignment : int32[m]
        The machine of each task; among machines with equal loads it is the one with the lowest
        number.
    makespan : float
        The largest total cost of a machine.

    References
    ----------
    R. L. Graham, "Bounds for certain multiprocessing anomalies", Bell System Technical Journal 45
    (1966).

    Examples
    --------
    >>> from streamlb import greedy_schedule
    >>> assignment, makespan = greedy_schedule([1.0, 1.0, 2.0], 2)
    >>> assignment.tolist(), makespan
    ([0, 1, 0], 3.0)
    """
    costs = _check.real_array("costs", costs)
    machines = _check.integer("machines", machines, 1, 2**31 - 1)
    load = np.zeros(machines)
    out = np.empty(costs.size, np.int32)
    if machines <= _SCAN_UP_TO:
        _schedule_scan(costs, load, out)
    else:
        _schedule_heap(costs, load, np.arange(machines), out)
    return out, float(load.max())
