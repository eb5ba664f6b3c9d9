"""What POSG's kernels touch and hold, counted.

This is the only module of the package that knows how the library works inside.
"""

from __future__ import annotations

from typing import Any

import numpy as np

COLUMNS = 55


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


def cells_touched(rows: int, k: int) -> dict[str, int]:
    """Count the cells that one execution, one estimate and one choice touch.

    The library's kernels run uncompiled, on arrays that count.
    """
    from streamlb.learning import learner
    from streamlb.scheduling.posg import scheduler

    at = np.arange(rows) % COLUMNS
    cells = learner.Cells(*(Counted(np.ones((k, rows, COLUMNS))) for _ in range(2)))
    own = np.zeros(k, learner.LEARNER).view(np.recarray)
    learner.add_execution.py_func(at, 1.0, 0, learner.Learners(cells, None, own), 1024)
    update = cells.F.touched + cells.W.touched
    learner.estimate_cost.py_func(at, 0, cells, 0.0)
    estimate = cells.F.touched + cells.W.touched - update
    instances = Counted(np.zeros(k, scheduler.INSTANCE).view(np.recarray))
    scheduler.least_loaded.py_func(0.0, instances, False, False)
    return {"update": update, "estimate": estimate, "choice": instances.touched}


def numbers_held(rows: int, k: int) -> dict[str, int]:
    """Return how many numbers an instance and the scheduler keep."""
    from streamlb.learning.learner import CostLearner
    from streamlb.scheduling.posg import POSGOptions, scheduler

    precision: dict[str, Any] = {"delta": 2.0**-rows, "columns": COLUMNS}
    instance = CostLearner(**precision)
    held = scheduler.scheduler_of.py_func(scheduler.new_scheduler(POSGOptions(instances=k, **precision)))[0]
    return {
        "instance": instance.F.size + instance.W.size,
        "snapshots": instance.snapshot.size,
        "scheduler": held.cells.F.size + held.cells.W.size,
        "vectors": held.instances.nbytes // 8,
    }
