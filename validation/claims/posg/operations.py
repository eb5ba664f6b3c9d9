"""What POSG's kernels touch and hold, counted.

This is the only module of the package that knows how the library works inside.
"""

from __future__ import annotations

from typing import Any

import numpy as np


class Counted:
    """An array that counts the reads and writes of its cells."""

    def __init__(self, array: np.ndarray):
        self.array, self.shape, self.size, self.touched = array, array.shape, array.size, 0

    def __getitem__(self, at):
        self.touched += 1
        return self.array[at]

    def __setitem__(self, at, value):
        self.touched += 1
        self.array[at] = value


def _stack(k: int, rows: int, columns: int) -> Any:
    """Return matrices for k instances that count what is touched."""
    from streamlb.learning import learner

    return learner.Cells(*(Counted(np.ones((k, rows, columns))) for _ in range(2)))


def _touched(*arrays: Counted) -> int:
    return sum(array.touched for array in arrays)


def cells_touched(rows: int, k: int, columns: int) -> dict[str, int]:
    """Count the cells that one execution, one estimate and one choice touch, and the rarer work.

    The rarer work is that of an execution that ends a window (`first`: the snapshot is made;
    `later`: it is compared, found stable, copied into a message and the matrices are emptied), and
    of a pair that the scheduler takes (`accept`). The library's kernels run uncompiled, on arrays
    that count.
    """
    from streamlb.learning import learner
    from streamlb.scheduling.posg import scheduler

    at = np.arange(rows) % columns
    cells, own = _stack(k, rows, columns), np.zeros(k, learner.LEARNER).view(np.recarray)
    learner.add_execution.py_func(at, 1.0, 0, learner.Learners(cells, None, own), 1024)
    update = _touched(*cells)
    learner.estimate_cost.py_func(at, 0, cells, 0.0)
    estimate = _touched(*cells) - update
    instances = Counted(np.zeros(k, scheduler.INSTANCE).view(np.recarray))
    scheduler.least_loaded.py_func(0.0, instances, False, False)

    first = _window_end(rows, k, columns, stable=False)
    later = _window_end(rows, k, columns, stable=True)
    message, target = _stack(1, rows, columns), _stack(k, rows, columns)
    learner.copy_pair.py_func(0, message, 0, target)
    learner.mean_cost.py_func(0, target)
    accept = _touched(*message, *target)
    return {
        **{"update": update, "estimate": estimate, "choice": instances.touched},
        **{"first": first, "later": later, "accept": accept},
    }


def _window_end(rows: int, k: int, columns: int, stable: bool) -> int:
    """Count what the end of a window touches: parts of `end_of_window` and what sending adds.

    They are called one by one because uncompiled kernels call compiled ones, which cannot count.
    """
    from streamlb.learning import learner

    cells, snapshot = _stack(k, rows, columns), Counted(np.ones((k, rows, columns)))
    if not stable:
        learner.take_snapshot.py_func(0, cells, snapshot)
        return _touched(*cells, snapshot)
    message = _stack(1, rows, columns)
    learner.relative_error.py_func(0, cells, snapshot, False)
    learner.copy_pair.py_func(0, cells, 0, message)
    learner.clear_pair.py_func(0, cells)
    return _touched(*cells, snapshot, *message)


def numbers_held(rows: int, k: int, columns: int) -> dict[str, int]:
    """Return how many numbers an instance and the scheduler keep."""
    from streamlb.learning.learner import CostLearner
    from streamlb.scheduling.posg import POSGOptions, scheduler

    precision: dict[str, Any] = {"delta": 2.0**-rows, "columns": columns}
    instance = CostLearner(**precision)
    held = scheduler.scheduler_of.py_func(scheduler.new_scheduler(POSGOptions(instances=k, **precision)))[0]
    return {
        "instance": instance.F.size + instance.W.size,
        "snapshots": instance.snapshot.size,
        "scheduler": held.cells.F.size + held.cells.W.size,
        "vectors": held.instances.nbytes // 8,
    }
