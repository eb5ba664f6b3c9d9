"""What POSG's kernels touch and hold, counted.

This is the only module of the package that knows how the library works inside.
"""

from __future__ import annotations

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
    from streamlb.scheduling import protocol

    at = np.arange(rows) % COLUMNS
    F, W = (Counted(np.ones((k, rows, COLUMNS))) for _ in range(2))
    counts, values = np.zeros((k, 4), np.int64), np.zeros((k, 2))
    learner.add_execution.py_func(at, 1.0, 0, F, W, counts, values, 1024)
    update = F.touched + W.touched
    F.touched = W.touched = 0
    learner.estimate_cost.py_func(at, 0, F, W, 0.0)
    clocks, marks = Counted(np.zeros((7, k))), Counted(np.zeros((10, k), np.int64))
    protocol.least_loaded.py_func(0.0, clocks, marks, False, False)
    return {"update": update, "estimate": F.touched + W.touched, "choice": clocks.touched}


def numbers_held(rows: int, k: int) -> dict[str, int]:
    """Return how many numbers an instance and the scheduler keep."""
    from streamlb import POSG

    posg = POSG(k, delta=2.0**-rows, columns=COLUMNS)
    own = {name: int(array.size) for name, array in posg._rules.learners().items()}
    held = {name: int(array.size) for name, array in posg._rules.scheduler().items()}
    return {
        "instance": (own["F"] + own["W"]) // k,
        "snapshots": (own["snapshot"] + own["sent"]) // k,
        "scheduler": held["F"] + held["W"],
        "vectors": held["clocks"] + held["marks"],
    }
