"""What an operator instance learns about its tuples' execution times (paper 000, section III-B; the same in paper 003).

Two Count-Min matrices under the same hash functions: F counts the executions of a cell, W sums their times. START
lasts `window` executions and ends with a snapshot of W/F; then every `window` executions the snapshot is compared
with the present W/F: if their relative error is at most `tolerance` the pair is stable, is sent and starts anew, else
the snapshot is taken again (STABILIZING).

State, for a stack of instances: F int64[instances, rows, columns], W and snapshot float64 of the same shape (-1 marks
a cell that was empty), counts int64[instances, 4] (executions since the last check, phase, checks made, pairs sent),
values float64[instances, 2] (busy time in total, last relative error). One instance is a stack of one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from streamlb import _check, _state
from streamlb._jit import njit
from streamlb.hashing import mix, sketch_column, sketch_family
from streamlb.keys import key_int
from streamlb.sketches.count_min import sketch_shape

START, STABILIZING = 0, 1
PHASES = ("START", "STABILIZING")
STABILITY = ("nonempty", "printed")

SINCE, PHASE, CHECKS, SENT = 0, 1, 2, 3
BUSY, ERROR = 0, 1
_EMPTY = -1.0
LONGEST = 1e100  # execution time or clock: what is added up from such numbers stays finite


@njit(cache=True, nogil=True, forceinline=True)
def find_columns(key, family, columns, at):
    """Write the column of a key in each row into `at`, int64[rows]."""
    mixed, width = mix(np.uint64(key)), np.uint64(columns)
    for row in range(at.size):
        at[row] = sketch_column(mixed, family[row, 0], family[row, 1], family[row, 2], width)


@njit(cache=True, nogil=True, forceinline=True)
def estimate_cost(at, i, F, W, unseen):
    """Return W/F of instance i in the row of least F (the first of equals), or `unseen` where that cell is empty."""
    best = 0
    least = F[i, 0, at[0]]
    for row in range(1, at.size):
        count = F[i, row, at[row]]
        if count < least:
            least = count
            best = row
    return W[i, best, at[best]] / least if least > 0 else unseen


@njit(cache=True, nogil=True)
def mean_cost(i, F, W):
    """Return the mean cost of all that instance i's matrices hold (any row sums to it), 0 when they are empty."""
    count = 0
    total = 0.0
    for column in range(F.shape[2]):
        count += F[i, 0, column]
        total += W[i, 0, column]
    return total / count if count > 0 else 0.0


@njit(cache=True, nogil=True)
def relative_error(i, F, W, snapshot, printed):
    """Return eta (equation 1) of instance i: over the cells not empty at the snapshot or, as printed, over all."""
    moved = 0.0
    total = 0.0
    for row in range(F.shape[1]):
        for column in range(F.shape[2]):
            old = snapshot[i, row, column]
            count = F[i, row, column]
            now = W[i, row, column] / count if count > 0 else 0.0
            if old != _EMPTY:
                moved += abs(old - now)
                total += old
            elif printed:
                moved += now
    if total > 0.0:
        return moved / total
    return 0.0 if moved == 0.0 else np.inf


@njit(cache=True, nogil=True)
def take_snapshot(i, F, W, snapshot):
    """Set the snapshot of instance i to W/F."""
    for row in range(F.shape[1]):
        for column in range(F.shape[2]):
            count = F[i, row, column]
            snapshot[i, row, column] = W[i, row, column] / count if count > 0 else _EMPTY


@njit(cache=True, nogil=True)
def end_of_window(i, F, W, snapshot, counts, values, tolerance, printed):
    """Move the state machine of instance i; True when its pair is stable."""
    counts[i, SINCE] = 0
    if counts[i, PHASE] == STABILIZING:
        counts[i, CHECKS] += 1
        values[i, ERROR] = relative_error(i, F, W, snapshot, printed)
        if values[i, ERROR] <= tolerance:
            return True
    counts[i, PHASE] = STABILIZING
    take_snapshot(i, F, W, snapshot)
    return False


@njit(cache=True, nogil=True, forceinline=True)
def add_execution(at, cost, i, F, W, counts, values, window):
    """Add one execution of the key with columns `at` on instance i; True when a window ends, then `end_of_window`."""
    for row in range(at.size):
        F[i, row, at[row]] += 1
        W[i, row, at[row]] += cost
    values[i, BUSY] += cost
    counts[i, SINCE] += 1
    return counts[i, SINCE] >= window


@njit(cache=True, nogil=True)
def learn_execution(at, cost, i, F, W, snapshot, counts, values, window, tolerance, printed):
    """Add one execution of the key with columns `at` on instance i; True when the pair is to be sent."""
    if not add_execution(at, cost, i, F, W, counts, values, window):
        return False
    return end_of_window(i, F, W, snapshot, counts, values, tolerance, printed)


@njit(cache=True, nogil=True)
def worth_sending(i, F, W, sent, tolerance):
    """Whether the pair of instance i differs from the one it sent last, whose W/F are in `sent`; then note it as sent.

    It differs when a cell that both know moved by more than 3 tolerance (relative, on average) or the mean over all
    of them by more than tolerance: cells are noisy, their mean is not. Before the first pair everything in `sent` is
    -1.
    """
    moved, old_sum, new_sum = 0.0, 0.0, 0.0
    for row in range(F.shape[1]):
        for column in range(F.shape[2]):
            count, old = F[i, row, column], sent[i, row, column]
            if count > 0 and old != _EMPTY:
                moved += abs(old * count - W[i, row, column])
                old_sum += old * count
                new_sum += W[i, row, column]
    if old_sum > 0.0 and moved <= 3.0 * tolerance * old_sum and abs(new_sum - old_sum) <= tolerance * old_sum:
        return False
    take_snapshot(i, F, W, sent)
    return True


# Loops, not slices: a slice counts references and can raise, which slows every kernel that it is inlined into.
@njit(cache=True, nogil=True)
def clear_pair(i, F, W):
    """Empty entry i of a stack of pairs."""
    for row in range(F.shape[1]):
        for column in range(F.shape[2]):
            F[i, row, column] = 0
            W[i, row, column] = 0.0


@njit(cache=True, nogil=True)
def copy_pair(source, from_F, from_W, target, F, W):
    """Copy entry `source` of a stack of pairs to entry `target` of another."""
    for row in range(F.shape[1]):
        for column in range(F.shape[2]):
            F[target, row, column] = from_F[source, row, column]
            W[target, row, column] = from_W[source, row, column]


@njit(cache=True, nogil=True)
def start_anew(i, F, W, counts):
    """Empty the matrices of instance i after they were sent and go back to START."""
    clear_pair(i, F, W)
    counts[i, SINCE] = 0
    counts[i, PHASE] = START
    counts[i, SENT] += 1


@njit(cache=True, nogil=True)
def _learn_key(key, cost, family, F, W, snapshot, counts, values, at, window, tolerance, printed):
    find_columns(key, family, F.shape[2], at)
    return learn_execution(at, cost, np.int64(0), F, W, snapshot, counts, values, window, tolerance, printed)


@njit(cache=True, nogil=True)
def _estimate_key(key, family, F, W, at, unseen):
    find_columns(key, family, F.shape[2], at)
    return estimate_cost(at, np.int64(0), F, W, unseen)


class CostLearner:
    """Learn what tuples cost on one operator instance, and say when that knowledge is stable enough to send.

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
        Cells that count in the relative error: those that held something at the snapshot, or all (empty ones as 0,
        the papers' letter).
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

    __slots__ = ("F", "W", "_at", "counts", "family", "printed", "seed", "snapshot", "tolerance", "values", "window")
    _VERSION = 1

    def __init__(
        self,
        window: Any = 1024,
        tolerance: Any = 0.05,
        epsilon: Any = 0.05,
        delta: Any = 0.1,
        seed: Any = 0,
        stability: str = "nonempty",
        rounding: str = "ceil",
        columns: Any = None,
    ):
        self.window = _check.integer("window", window, 1)
        self.tolerance = _check.real("tolerance", tolerance, 0.0)
        self.printed = _check.choice("stability", stability, STABILITY) == "printed"
        rows, width = sketch_shape(epsilon, delta, rounding)
        self.seed = _check.seed_value(seed)
        self._allocate(rows, width if columns is None else _check.integer("columns", columns, 1, 2**31 - 1))

    def _allocate(self, rows: int, columns: int) -> None:
        self.family = sketch_family(rows, self.seed)
        self.F = np.zeros((1, rows, columns), np.int64)
        self.W = np.zeros((1, rows, columns), np.float64)
        self.snapshot = np.full((1, rows, columns), _EMPTY)
        self.counts = np.zeros((1, 4), np.int64)
        self.values = np.zeros((1, 2), np.float64)
        self._at = np.zeros(rows, np.int64)

    @property
    def phase(self) -> str:
        """START or STABILIZING."""
        return PHASES[self.counts[0, PHASE]]

    @property
    def busy(self) -> float:
        """The sum of all execution times so far."""
        return float(self.values[0, BUSY])

    @property
    def error(self) -> float:
        """The relative error at the last look."""
        return float(self.values[0, ERROR])

    @property
    def sent(self) -> int:
        """How many pairs of matrices were taken."""
        return int(self.counts[0, SENT])

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
        return self._learn(key_int(key), cost)

    def _learn(self, key: int, cost: float) -> bool:
        """`learn` for arguments that were checked."""
        return _learn_key(
            key, cost, self.family, self.F, self.W, self.snapshot, self.counts, self.values, self._at,
            self.window, self.tolerance, self.printed,
        )  # fmt: skip

    def take(self) -> tuple[np.ndarray, np.ndarray]:
        """Return copies of F and W, int64 and float64[rows, columns], and start anew with empty ones."""
        pair = self.F[0].copy(), self.W[0].copy()
        start_anew(0, self.F, self.W, self.counts)
        return pair

    def estimate(self, key: Any, unseen: Any = 0.0) -> float:
        """Return the cost of a key by the present matrices, `unseen` where they do not know it."""
        return _estimate_key(key_int(key), self.family, self.F, self.W, self._at, _check.real("unseen", unseen))

    def reset(self) -> None:
        """Forget everything."""
        self.F[:] = 0
        self.W[:] = 0.0
        self.snapshot[:] = _EMPTY
        self.counts[:] = 0
        self.values[:] = 0.0

    def state(self) -> bytes:
        """Return all of it as bytes, for `from_state`."""
        parameters = {"window": self.window, "tolerance": self.tolerance, "printed": self.printed, "seed": self.seed}
        names = ("F", "W", "snapshot", "counts", "values")
        return _state.pack("CostLearner", self._VERSION, parameters, {name: getattr(self, name) for name in names})

    @classmethod
    def from_state(cls, data: bytes) -> CostLearner:
        """Return the learner whose `state` gave these bytes."""
        parameters, arrays = _state.unpack(data, "CostLearner", cls._VERSION)
        learner = cls.__new__(cls)
        for name, value in parameters.items():
            setattr(learner, name, value)
        learner._allocate(*arrays["F"].shape[1:])
        for name, array in arrays.items():
            setattr(learner, name, array)
        return learner

    def __repr__(self) -> str:
        _, rows, columns = self.F.shape
        progress = f"{self.counts[0, SINCE]} of {self.window} executions, {self.sent} sent"
        return f"<CostLearner {rows} x {columns}, {self.phase}, {progress}>"
