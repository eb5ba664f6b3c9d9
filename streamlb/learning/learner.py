"""What an operator instance learns about execution times (Rivetti et al. 2015, section III-B).

An instance keeps two Count-Min matrices under the same hash functions: F counts the executions of a
cell and W sums their times. After the first `window` executions (START) it takes a snapshot of W/F.
From then on (STABILIZING) it compares the snapshot with the present W/F every `window` executions:
if their relative error is at most `tolerance` the pair is stable, is sent and starts anew, and if
not the snapshot is taken again. Load-aware shedding (Rivetti et al. 2016, section 3.1) learns in
the same way.

State, for a stack of instances: the cells `F` int64, `W` and `snapshot` float64[instances, rows,
columns], and one `LEARNER` record for each instance. One instance is a stack of one.
"""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import numpy as np

from streamlb import _check, _state
from streamlb._jit import njit, record
from streamlb._options import as_dict, checked, options_of, show_call, takes
from streamlb.hashing import mix, sketch_column, sketch_family
from streamlb.keys import key_int
from streamlb.sketches.count_min import sketch_shape

# What an instance knows beside its cells: executions since the last look at stability; whether it
# is past START; looks at stability so far; pairs of matrices sent; the sum of all execution times;
# the relative error at the last look.
LEARNER = record(
    [("since", "i8"), ("stabilizing", "i8"), ("looks", "i8"), ("sent", "i8"), ("busy", "f8"), ("error", "f8")]
)
# How instances learn: executions between two looks, whether empty cells count in the relative
# error, and its bound.
LEARNING = record([("window", "i8"), ("printed", "i8"), ("tolerance", "f8")])

# Cells of a stack of pairs, int64 and float64[entries, rows, columns].
Cells = namedtuple("Cells", "F W")
# A stack of learners: their cells, W/F at the last snapshot (EMPTY where a cell was empty), and
# their LEARNER records.
Learners = namedtuple("Learners", "cells snapshot own")

PHASES = ("START", "STABILIZING")
STABILITY = ("nonempty", "printed")
EMPTY = -1.0  # in a snapshot: the cell held nothing
LONGEST = 1e100  # execution time or clock: what is added up from such numbers stays finite


@njit(cache=True, nogil=True, forceinline=True)
def find_columns(key, family, columns, at):
    """Write the column of a key in each row into `at`, uint64[rows]."""
    mixed, width = mix(np.uint64(key)), np.uint64(columns)
    for row in range(at.size):
        at[row] = sketch_column(mixed, family[row, 0], family[row, 1], family[row, 2], width)


@njit(cache=True, nogil=True, forceinline=True)
def estimate_cost(at, i, cells, unseen):
    """Return W/F of entry i in the row of least F (the first of equals), or `unseen` if empty."""
    i = np.uint64(i)
    least, total = cells.F[i, 0, at[0]], cells.W[i, 0, at[0]]
    for row in range(np.uint64(1), np.uint64(at.size)):
        # Both are read before the test, so that it becomes a select and not a branch.
        count, cost = cells.F[i, row, at[row]], cells.W[i, row, at[row]]
        if count < least:
            least, total = count, cost
    return total / least if least > 0 else unseen


@njit(cache=True, nogil=True)
def mean_cost(i, cells):
    """Return the mean cost of all that entry i holds (any row sums to it), 0 when it is empty."""
    count = 0
    total = 0.0
    for column in range(cells.F.shape[2]):
        count += cells.F[i, 0, column]
        total += cells.W[i, 0, column]
    return total / count if count > 0 else 0.0


@njit(cache=True, nogil=True)
def relative_error(i, cells, snapshot, printed):
    """Return eta (equation 1), over the cells that were not empty at the snapshot.

    With `printed` it is over all cells, exactly as printed in the paper.
    """
    moved = 0.0
    total = 0.0
    for row in range(cells.F.shape[1]):
        for column in range(cells.F.shape[2]):
            old = snapshot[i, row, column]
            count = cells.F[i, row, column]
            now = cells.W[i, row, column] / count if count > 0 else 0.0
            if old != EMPTY:
                moved += abs(old - now)
                total += old
            elif printed:
                moved += now
    if total > 0.0:
        return moved / total
    return 0.0 if moved == 0.0 else np.inf


@njit(cache=True, nogil=True)
def take_snapshot(i, cells, snapshot):
    """Set entry i of a snapshot to W/F."""
    for row in range(cells.F.shape[1]):
        for column in range(cells.F.shape[2]):
            count = cells.F[i, row, column]
            snapshot[i, row, column] = cells.W[i, row, column] / count if count > 0 else EMPTY


@njit(cache=True, nogil=True)
def end_of_window(i, learners, rules):
    """Look at the stability of learner i by the LEARNING `rules`; True when its pair is stable."""
    own = learners.own[i]
    own.since = 0
    if own.stabilizing == 1:
        own.looks += 1
        own.error = relative_error(i, learners.cells, learners.snapshot, rules.printed == 1)
        if own.error <= rules.tolerance:
            return True
    own.stabilizing = 1
    take_snapshot(i, learners.cells, learners.snapshot)
    return False


@njit(cache=True, nogil=True, forceinline=True)
def add_execution(at, cost, i, learners, window):
    """Add one execution of the key with columns `at` to learner i; True when a window ends.

    The caller then calls `end_of_window`.
    """
    cells, own = learners.cells, learners.own[i]
    i = np.uint64(i)
    for row in range(np.uint64(at.size)):
        cells.F[i, row, at[row]] += 1
        cells.W[i, row, at[row]] += cost
    own.busy += cost
    own.since += 1
    return own.since >= window


@njit(cache=True, nogil=True)
def learn_execution(at, cost, i, learners, rules):
    """Add one execution of the key with columns `at` to learner i; True when its pair is stable."""
    if not add_execution(at, cost, i, learners, rules.window):
        return False
    return end_of_window(i, learners, rules)


@njit(cache=True, nogil=True)
def worth_sending(i, cells, sent, tolerance):
    """Return whether pair i differs from the one sent last; if so, note it as sent.

    `sent` holds W/F of the pairs sent last. A pair differs when a cell that both know moved by more
    than 3 tolerance (relative, on average) or the mean over all of them by more than tolerance:
    cells are noisy, their mean is not. Before the first pair, `sent` is all EMPTY.
    """
    moved, old_sum, new_sum = 0.0, 0.0, 0.0
    for row in range(cells.F.shape[1]):
        for column in range(cells.F.shape[2]):
            count, old = cells.F[i, row, column], sent[i, row, column]
            if count > 0 and old != EMPTY:
                moved += abs(old * count - cells.W[i, row, column])
                old_sum += old * count
                new_sum += cells.W[i, row, column]
    if old_sum > 0.0 and moved <= 3.0 * tolerance * old_sum and abs(new_sum - old_sum) <= tolerance * old_sum:
        return False
    take_snapshot(i, cells, sent)
    return True


# Loops, not slices: a slice counts references and can raise, which slows every kernel that it is
# inlined into.
@njit(cache=True, nogil=True)
def clear_pair(i, cells):
    """Empty entry i of a stack of pairs."""
    for row in range(cells.F.shape[1]):
        for column in range(cells.F.shape[2]):
            cells.F[i, row, column] = 0
            cells.W[i, row, column] = 0.0


@njit(cache=True, nogil=True)
def copy_pair(source, from_cells, target, cells):
    """Copy entry `source` of a stack of pairs to entry `target` of another."""
    for row in range(cells.F.shape[1]):
        for column in range(cells.F.shape[2]):
            cells.F[target, row, column] = from_cells.F[source, row, column]
            cells.W[target, row, column] = from_cells.W[source, row, column]


@njit(cache=True, nogil=True)
def start_anew(i, learners):
    """Empty the matrices of learner i after they were sent and go back to START."""
    clear_pair(i, learners.cells)
    own = learners.own[i]
    own.since = 0
    own.stabilizing = 0
    own.sent += 1


@njit(nogil=True, inline="always")
def _one(F, W, snapshot, registers):
    """Return a stack of one learner, from the flat arrays at the door of a live call."""
    return Learners(Cells(F, W), snapshot, registers[3:].view(LEARNER))


@njit(cache=True, nogil=True)
def _learn_key(key, cost, family, F, W, snapshot, registers, at):
    find_columns(key, family, F.shape[2], at)
    rules = registers[:3].view(LEARNING)[0]
    return learn_execution(at, cost, np.int64(0), _one(F, W, snapshot, registers), rules)


@njit(cache=True, nogil=True)
def _take(F, W, snapshot, registers):
    start_anew(np.int64(0), _one(F, W, snapshot, registers))


@njit(cache=True, nogil=True)
def _estimate_key(key, family, F, W, at, unseen):
    find_columns(key, family, F.shape[2], at)
    return estimate_cost(at, np.int64(0), Cells(F, W), unseen)


@dataclass(frozen=True)
class LearnerOptions:
    """How an instance learns: what POSG, load-aware shedding and `CostLearner` have in common."""

    window: Any = 1024
    tolerance: Any = 0.05
    epsilon: Any = 0.05
    delta: Any = 0.1
    seed: Any = 0
    stability: str = "nonempty"
    rounding: str = "ceil"
    columns: Any = None

    def __post_init__(self):
        shape = sketch_shape(self.epsilon, self.delta, self.rounding)
        checked(
            self,
            window=_check.integer("window", self.window, 1),
            tolerance=_check.real("tolerance", self.tolerance, 0.0),
            epsilon=float(self.epsilon),
            delta=float(self.delta),
            seed=_check.seed_value(self.seed),
            stability=_check.choice("stability", self.stability, STABILITY),
            columns=shape[1] if self.columns is None else _check.integer("columns", self.columns, 1, 2**31 - 1),
        )

    @property
    def rows(self) -> int:
        """How many rows the matrices have."""
        return sketch_shape(self.epsilon, self.delta, self.rounding)[0]

    def rules(self) -> np.ndarray:
        """Return the LEARNING record that the kernels read, as int64[3]."""
        rules = np.zeros(1, LEARNING)
        rules["window"], rules["printed"], rules["tolerance"] = self.window, self.stability == "printed", self.tolerance
        return rules.view(np.int64)


@takes(LearnerOptions)
class CostLearner:
    """Learn what tuples cost on one operator instance, and say when that is stable enough to send.

    Parameters
    ----------
    window : int
        Executions between two looks at stability (N of the papers).
    tolerance : float
        Largest relative error between two looks of a stable pair (mu).
    epsilon, delta : float
        Precision of the matrices: ceil(log2(1/delta)) rows and e/epsilon columns.
    seed : int, SeedSequence or None
        Of the hash functions. Whoever reads the matrices needs the same.
    stability : {"nonempty", "printed"}
        Cells that count in the relative error: those that held something at the snapshot or, as
        printed in the papers, all of them (empty ones as 0).
    rounding : {"ceil", "floor"}
        How e/epsilon becomes a number of columns.
    columns : int, optional
        The number of columns itself.

    Examples
    --------
    >>> from streamlb.learning.learner import CostLearner
    >>> learner = CostLearner(window=2, tolerance=0.05)
    >>> [learner.learn(key, cost) for key, cost in [(1, 5.0), (2, 7.0), (1, 5.0), (2, 7.0)]]
    [False, False, False, True]
    >>> learner.estimate(2)
    7.0
    >>> F, W = learner.take()
    >>> F.shape, int(F[0].sum()), learner.phase
    ((4, 55), 4, 'START')
    """

    __slots__ = ("F", "W", "_at", "_registers", "family", "options", "snapshot")
    _VERSION = 2  # 2: one array of registers instead of counts and values
    _ARRAYS = ("F", "W", "snapshot", "_registers")

    def __init__(self, *args: Any, **options: Any):
        self.options: LearnerOptions = options_of(self, args, options)
        rows, columns = self.options.rows, self.options.columns
        self.family = sketch_family(rows, self.options.seed)
        self.F = np.zeros((1, rows, columns), np.int64)
        self.W = np.zeros((1, rows, columns), np.float64)
        self.snapshot = np.full((1, rows, columns), EMPTY)
        self._registers = np.concatenate([self.options.rules(), np.zeros(1, LEARNER).view(np.int64)])
        self._at = np.zeros(rows, np.uint64)

    @property
    def _own(self) -> np.ndarray:
        return self._registers[3:].view(LEARNER)[0]

    @property
    def phase(self) -> str:
        """START or STABILIZING."""
        return PHASES[self._own["stabilizing"]]

    @property
    def busy(self) -> float:
        """The sum of all execution times so far."""
        return float(self._own["busy"])

    @property
    def error(self) -> float:
        """The relative error at the last look."""
        return float(self._own["error"])

    @property
    def sent(self) -> int:
        """How many pairs of matrices were taken."""
        return int(self._own["sent"])

    def learn(self, key: Any, cost: Any) -> bool:
        """Add one execution; True when the matrices are stable: then `take` them.

        Parameters
        ----------
        key : int, str or bytes
            The attribute that drives the execution time.
        cost : float
            The execution time, finite and not negative.
        """
        cost = _check.real("cost", cost, 0.0, LONGEST)
        return _learn_key(key_int(key), cost, self.family, self.F, self.W, self.snapshot, self._registers, self._at)

    def take(self) -> tuple[np.ndarray, np.ndarray]:
        """Return copies of F and W, each [rows, columns], and start anew with empty ones."""
        pair = self.F[0].copy(), self.W[0].copy()
        _take(self.F, self.W, self.snapshot, self._registers)
        return pair

    def estimate(self, key: Any, unseen: Any = 0.0) -> float:
        """Return the cost of a key by the present matrices, `unseen` where they do not know it."""
        return _estimate_key(key_int(key), self.family, self.F, self.W, self._at, _check.real("unseen", unseen))

    def reset(self) -> None:
        """Forget everything."""
        self.F[:] = 0
        self.W[:] = 0.0
        self.snapshot[:] = EMPTY
        self._registers[3:] = 0

    def state(self) -> bytes:
        """Return all of it as bytes, for `from_state`."""
        arrays = {name: getattr(self, name) for name in self._ARRAYS}
        return _state.pack("CostLearner", self._VERSION, as_dict(self.options), arrays)

    @classmethod
    def from_state(cls, data: bytes) -> CostLearner:
        """Return the learner whose `state` gave these bytes."""
        parameters, arrays = _state.unpack(data, "CostLearner", cls._VERSION)
        learner = cls(**parameters)
        for name in cls._ARRAYS:
            _state.fill(getattr(learner, name), arrays, name)
        return learner

    def __repr__(self) -> str:
        return show_call(self, f"{self.phase}, {self._own['since']} executions since, {self.sent} matrices sent")
