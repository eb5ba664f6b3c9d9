"""POSG, proactive online shuffle grouping, in one process: scheduler and instances behind two calls (paper 000, section III).

State: all of the learners (see `learner`) and of the scheduler (see `protocol`) in two flat arrays, ints int64 and
floats float64, of which the kernels take views: handing over one array costs a live call more than all it computes. A
request that a tuple carries is answered when its instance has completed as many tuples as were submitted to it up to
that one: instances work first come, first served.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from streamlb import _check, _state
from streamlb._jit import njit
from streamlb.hashing import sketch_family
from streamlb.keys import key_array, key_int
from streamlb.learning import messages
from streamlb.learning.learner import (
    BUSY,
    LONGEST,
    estimate_cost,
    find_columns,
    learn_execution,
    start_anew,
    worth_sending,
)
from streamlb.scheduling.protocol import (
    ACTIVE,
    ASKED,
    ASSIGNED,
    BUSY_CLOCK,
    CARRIED_ASSIGNED,
    CARRIED_CLOCK,
    CARRIED_EPOCH,
    CARRIER,
    CARRIES,
    CLOCK,
    CLOCKS,
    COLUMNS,
    DONE,
    EPOCH,
    IGNORED,
    INSTANCES,
    KNOWN,
    MARKS,
    MATRICES,
    MEAN,
    ON_CHANGE,
    PHASE,
    PHASES,
    PRINTED,
    REGISTERS,
    REPLIES,
    REQUESTS,
    ROUND_ROBIN,
    SENT_TO,
    SUBMITTED,
    SYNCS,
    TIMEOUTS,
    WINDOW,
    Rules,
    accept_matrices,
    accept_reply,
    charge,
    choose_instance,
    enter_instance,
    remove_instance,
)


@njit(cache=True, nogil=True)
def _submit_one(key, now, family, F, W, clocks, marks, regs, at):
    """Return the instance of a tuple."""
    i = choose_instance(now, clocks, marks, regs)
    if regs[PHASE] != ROUND_ROBIN:
        find_columns(key, family, F.shape[2], at)
        charge(at, i, now, F, W, clocks, regs)
    marks[SENT_TO, i] += 1
    if regs[CARRIES] == 1:
        marks[CARRIER, i] = marks[SENT_TO, i]
        marks[CARRIED_EPOCH, i] = marks[ASKED, i]
        clocks[CARRIED_CLOCK, i] = clocks[CLOCK, i]
        clocks[CARRIED_ASSIGNED, i] = clocks[ASSIGNED, i]
    return i


@njit(cache=True, nogil=True)
def _scheduler_views(ints, floats, family):
    """Return F, W, clocks, marks, regs and the scratch columns, views of the packed state."""
    k, rows, columns = ints[INSTANCES], family.shape[0], ints[COLUMNS]
    cells = k * rows * columns
    a = REGISTERS + rows
    b = a + MARKS * k
    marks = ints[a:b].reshape(MARKS, k)
    F = ints[b : b + cells].reshape(k, rows, columns)
    a = 1 + CLOCKS * k
    clocks = floats[1:a].reshape(CLOCKS, k)
    W = floats[a : a + cells].reshape(k, rows, columns)
    return F, W, clocks, marks, ints[:REGISTERS], ints[REGISTERS : REGISTERS + rows]


@njit(cache=True, nogil=True)
def _learner_views(ints, floats, family):
    """Return F, W, snapshot, counts, values and sent of all instances, views of the packed state."""
    k, rows, columns = ints[INSTANCES], family.shape[0], ints[COLUMNS]
    cells = k * rows * columns
    a = REGISTERS + rows + MARKS * k + cells
    F = ints[a : a + cells].reshape(k, rows, columns)
    counts = ints[a + cells : a + cells + 4 * k].reshape(k, 4)
    a = 1 + CLOCKS * k + cells
    W = floats[a : a + cells].reshape(k, rows, columns)
    snapshot = floats[a + cells : a + 2 * cells].reshape(k, rows, columns)
    sent = floats[a + 2 * cells : a + 3 * cells].reshape(k, rows, columns)
    values = floats[a + 3 * cells : a + 3 * cells + 2 * k].reshape(k, 2)
    return F, W, snapshot, counts, values, sent


@njit(cache=True, nogil=True)
def _submit_live(key, now, family, ints, floats):
    F, W, clocks, marks, regs, at = _scheduler_views(ints, floats, family)
    return _submit_one(key, now, family, F, W, clocks, marks, regs, at)


@njit(cache=True, nogil=True)
def _submit_many(keys, now, family, ints, floats, out):
    F, W, clocks, marks, regs, at = _scheduler_views(ints, floats, family)
    for t in range(keys.size):
        out[t] = _submit_one(np.int64(keys[t]), now, family, F, W, clocks, marks, regs, at)


@njit(cache=True, nogil=True)
def _complete_live(i, key, elapsed, now, family, ints, floats):
    """Learn from one execution; the instance's reply and matrices, if due, reach the scheduler at once."""
    F, W, clocks, marks, regs, at = _scheduler_views(ints, floats, family)
    if marks[ACTIVE, i] == 0:
        regs[IGNORED] += 1
        return
    lF, lW, snapshot, counts, values, sent = _learner_views(ints, floats, family)
    find_columns(key, family, F.shape[2], at)
    ready = learn_execution(
        at, elapsed, i, lF, lW, snapshot, counts, values, regs[WINDOW], floats[0], regs[PRINTED] == 1
    )
    marks[DONE, i] += 1
    if marks[CARRIER, i] > 0 and marks[DONE, i] >= marks[CARRIER, i]:
        clock = values[i, BUSY] if regs[BUSY_CLOCK] == 1 else now
        carried = clocks[CARRIED_CLOCK, i], clocks[CARRIED_ASSIGNED, i]
        marks[CARRIER, i] = 0
        accept_reply(i, marks[CARRIED_EPOCH, i], clock, carried[0], carried[1], clocks, marks, regs)
    if ready:
        if regs[ON_CHANGE] == 0 or worth_sending(i, lF, lW, sent, floats[0]):
            accept_matrices(i, i, lF, lW, F, W, clocks, marks, regs)
        start_anew(i, lF, lW, counts)


class POSG:
    """Send each tuple to the instance that will be free first, by learning what tuples cost from how long they took.

    Call `submit` for each tuple, run it where it says, and `complete` it with the time it took. The paper's protocol
    runs behind these two calls; until every instance has shown stable execution times the tuples go round robin.

    Parameters
    ----------
    instances : int
        How many operator instances (k).
    window : int
        Executions between two looks at stability (N).
    tolerance : float
        Largest relative error of a stable pair of matrices (mu).
    epsilon, delta : float
        Precision of the matrices: ceil(log2(1/delta)) rows and e/epsilon columns.
    seed : int, SeedSequence or None
        Of the hash functions.
    columns : int, optional
        The number of columns itself; 1 gives a scheduler that knows no content.
    rounding : {"ceil", "floor"}
        How e/epsilon becomes a number of columns; the paper has both.
    stability : {"nonempty", "printed"}
        Cells that count in the relative error: those not empty at the snapshot, or all of them, the paper's letter.
    clock : {"wall", "busy"}
        What an instance reports: the time at which it completed the tuple, or the sum of its execution times, the
        paper's letter.
    idle : {"ignore", "clamp"}
        Whether an estimated clock behind the present counts as the present (then replies are taken as absolute
        times). Wall clock only.
    ties : {"first", "least_recent"}
        Which of equal instances is taken.
    unseen : {"mean", "zero"}
        Estimate of a key that an instance's matrices do not know.
    synchronise : {"barrier", "staggered"}
        All instances asked together, as printed, or each alone, its reply applied at once.
    resync : bool or int
        Tuples in RUN after which instances are asked again; True is window * instances, False never (as printed).
    resend : {"always", "changed"}
        Whether a stable pair of matrices is sent each time, as printed, or only when it differs from the one sent last.
    timeout : int, optional
        Tuples after which missing replies are awaited no more; window * instances by default.

    Examples
    --------
    >>> from streamlb import POSG
    >>> p = POSG(instances=2, window=4, tolerance=0.05, clock="busy")
    >>> for key in [0, 0, 1, 1] * 6:
    ...     i = p.submit(key)
    ...     p.complete(i, key, 8.0 if key else 2.0)
    >>> p.phase, p.messages["matrices"] >= 2
    ('RUN', True)
    >>> p.estimate(0, 1), p.estimate(1, 0)
    (8.0, 2.0)

    Notes
    -----
    With ``clock="wall"`` the time is the seconds since the scheduler was made, so execution times must be in seconds
    too, unless `submit` and `complete` are given `now` in the unit of `elapsed`.
    """

    __slots__ = (
        "_family",
        "_floats",
        "_ints",
        "_learners",
        "_origin",
        "_rules",
        "_scheduler",
        "instances",
        "parameters",
    )
    _VERSION = 1

    def __init__(
        self,
        instances: Any,
        window: Any = 1024,
        tolerance: Any = 0.05,
        epsilon: Any = 0.05,
        delta: Any = 0.1,
        seed: Any = 0,
        *,
        columns: Any = None,
        rounding: str = "ceil",
        stability: str = "nonempty",
        clock: str = "wall",
        idle: str = "ignore",
        ties: str = "first",
        unseen: str = "mean",
        synchronise: str = "barrier",
        resync: Any = True,
        resend: str = "always",
        timeout: Any = None,
    ):
        options = {
            "columns": columns, "rounding": rounding, "stability": stability, "clock": clock, "idle": idle, "ties": ties,
            "unseen": unseen, "synchronise": synchronise, "resync": resync, "resend": resend, "timeout": timeout,
        }  # fmt: skip
        self._rules = rules = Rules(instances, window, tolerance, epsilon, delta, seed, **options)
        options |= {"columns": rules.columns, "resync": rules.resync or False, "timeout": rules.timeout or False}
        self.parameters = {
            "instances": rules.instances, "window": rules.window, "tolerance": rules.tolerance, "epsilon": float(epsilon),
            "delta": float(delta), "seed": rules.seed, **options,
        }  # fmt: skip
        self._family = sketch_family(rules.rows, rules.seed)
        self.reset()

    @classmethod
    def economical(cls, instances: Any, window: Any = 1024, tolerance: Any = 0.2, **options: Any) -> POSG:
        """Return a POSG that does more with fewer and smaller messages than the printed one.

        Matrices are sent only when they changed, estimated clocks count idle time, and each instance is asked alone,
        every eight windows. The claims OWN-POSG-* measure it against the printed protocol and against plain feedback.

        Parameters
        ----------
        instances, window, tolerance, **options
            As for `POSG`; an option given here replaces that of this choice.
        """
        window = _check.integer("window", window, 1)
        chosen = {
            "resend": "changed",
            "synchronise": "staggered",
            "idle": "clamp",
            "ties": "least_recent",
            "resync": 8 * window,
        }
        return cls(instances, window, tolerance, **(chosen | options))

    def reset(self) -> None:
        """Forget everything; instances that left are back."""
        self._pack(self._rules.learners(), self._rules.scheduler())
        self._origin = time.perf_counter()

    def _pack(self, learners: dict[str, np.ndarray], scheduler: dict[str, np.ndarray]) -> None:
        """Lay all arrays into the two that the kernels take, in the order of their views."""
        at = np.zeros(self._rules.rows, np.int64)
        whole = (scheduler["regs"], at, scheduler["marks"], scheduler["F"], learners["F"], learners["counts"])
        real = (
            scheduler["clocks"],
            scheduler["W"],
            learners["W"],
            learners["snapshot"],
            learners["sent"],
            learners["values"],
        )
        self._ints = np.concatenate([array.ravel() for array in whole])
        self._floats = np.concatenate([[self._rules.tolerance], *(array.ravel() for array in real)])
        self._take_views()

    def _take_views(self) -> None:
        self.instances = int(self._ints[INSTANCES])
        *self._scheduler, _ = _scheduler_views.py_func(self._ints, self._floats, self._family)
        self._learners = _learner_views.py_func(self._ints, self._floats, self._family)

    def _time(self, now: Any) -> float:
        if now is None:
            return time.perf_counter() - self._origin
        return now if type(now) is float and -LONGEST <= now <= LONGEST else _check.real("now", now, -LONGEST, LONGEST)

    def submit(self, key: Any, now: Any = None) -> int:
        """Return the instance that is to execute this tuple.

        Parameters
        ----------
        key : int, str or bytes
            The attribute that drives the execution time.
        now : float, optional
            The present time; only ``idle="clamp"`` looks at it.
        """
        return _submit_live(key_int(key), self._time(now), self._family, self._ints, self._floats)

    def submit_many(self, keys: Any, now: Any = None) -> np.ndarray:
        """Return the instances of many tuples, int32[m]: what looping `submit` gives."""
        keys = key_array(keys)
        out = np.empty(keys.size, np.int32)
        _submit_many(keys, self._time(now), self._family, self._ints, self._floats, out)
        return out

    def complete(self, instance: Any, key: Any, elapsed: Any, now: Any = None) -> None:
        """Tell how long an instance took to execute a tuple.

        Parameters
        ----------
        instance : int
            Where it ran; instances complete their tuples in the order of submission. Complete those that failed too:
            which of them carried a request is known by counting.
        key : int, str or bytes
            As submitted.
        elapsed : float
            The execution time, finite and not negative.
        now : float, optional
            When it was completed, in the unit of `elapsed`; by default the present, in seconds.
        """
        # The usual types pass by a comparison: the full checks would cost more than the protocol.
        if type(instance) is not int or not 0 <= instance < self.instances:
            instance = self._instance(instance)
        if type(elapsed) is not float or not 0.0 <= elapsed <= LONGEST:
            elapsed = _check.real("elapsed", elapsed, 0.0, LONGEST)
        _complete_live(instance, key_int(key), elapsed, self._time(now), self._family, self._ints, self._floats)

    def _instance(self, instance: Any) -> int:
        return _check.integer("instance", instance, 0, self.instances - 1)

    def join(self) -> int:
        """Add an instance that has learnt nothing and return its number."""
        fresh = zip(self._rules.learners(), self._learners, (0, 0, -1, 0, 0, -1))
        learners = {name: _grown(array, 0, empty) for name, array, empty in fresh}
        F, W, clocks, marks, regs = self._scheduler
        scheduler = {
            "F": _grown(F, 0),
            "W": _grown(W, 0),
            "clocks": _grown(clocks, 1),
            "marks": _grown(marks, 1),
            "regs": regs,
        }
        regs[INSTANCES] += 1
        self._pack(learners, scheduler)
        enter_instance(self.instances - 1, self._rules.busy, *self._scheduler)
        return self.instances - 1

    def leave(self, instance: Any) -> None:
        """Send an instance no more tuples; what it still completes is ignored. The last one cannot leave."""
        instance = self._instance(instance)
        check_not_last(instance, self._scheduler[3])
        remove_instance(instance, *self._scheduler[2:])

    def restart(self, instance: Any) -> None:
        """Let an instance start over with nothing learnt: after a crash, or after `leave`."""
        instance = self._instance(instance)
        remove_instance(instance, *self._scheduler[2:])
        for array, empty in zip(self._learners, (0, 0, -1, 0, 0, -1)):
            array[instance] = empty
        enter_instance(instance, self._rules.busy, *self._scheduler)

    @property
    def active(self) -> np.ndarray:
        """bool[instances]: which take part."""
        return self._scheduler[3][ACTIVE].astype(bool)

    @property
    def phase(self) -> str:
        """The scheduler's state: ROUND_ROBIN, SEND_ALL, WAIT_ALL or RUN."""
        return PHASES[self._scheduler[4][PHASE]]

    @property
    def epoch(self) -> int:
        """The number of the present synchronisation."""
        return int(self._scheduler[4][EPOCH])

    @property
    def estimates(self) -> np.ndarray:
        """float64[instances]: the estimated clock of each, infinite for one that left."""
        return self._scheduler[2][CLOCK].copy()

    @property
    def known(self) -> np.ndarray:
        """bool[instances]: whose matrices the scheduler has."""
        return self._scheduler[3][KNOWN].astype(bool)

    @property
    def messages(self) -> dict[str, int]:
        """Messages exchanged: matrices, replies, requests (carried by tuples), their bytes; synchronisations, time-outs, ignored."""
        return count_messages(self._scheduler[4], self._rules)

    def estimate(self, instance: Any, key: Any) -> float:
        """Return what the scheduler expects a key to cost on an instance."""
        F, W, clocks = self._scheduler[:3]
        instance = self._instance(instance)
        at = np.zeros(self._rules.rows, np.int64)
        find_columns(key_int(key), self._family, F.shape[2], at)
        unseen = 0.0 if self._rules.unseen == "zero" else float(clocks[MEAN, instance])
        return estimate_cost(at, instance, F, W, unseen)

    def state(self) -> bytes:
        """Return parameters and all arrays as bytes, with a version and a checksum."""
        parameters = self.parameters | {"instances": self.instances}
        arrays = {"ints": self._ints, "floats": self._floats}
        return _state.pack("POSG", self._VERSION, {"parameters": parameters, "now": self._time(None)}, arrays)

    @classmethod
    def from_state(cls, data: bytes) -> POSG:
        """Return the scheduler whose `state` gave these bytes; its time goes on from there."""
        parameters, arrays = _state.unpack(data, "POSG", cls._VERSION)
        posg = cls(**parameters["parameters"])
        _state.fill(posg._ints, arrays, "ints")
        _state.fill(posg._floats, arrays, "floats")
        posg._origin = time.perf_counter() - parameters["now"]
        return posg

    def __getstate__(self) -> bytes:
        return self.state()

    def __setstate__(self, data: bytes) -> None:
        other = type(self).from_state(data)
        for name in self.__slots__:
            setattr(self, name, getattr(other, name))

    def __repr__(self) -> str:
        return f"<POSG {self.instances} instances, {self.phase}, epoch {self.epoch}, {self._ints[SUBMITTED]} tuples>"


def check_not_last(instance: int, marks: np.ndarray) -> None:
    """Refuse to let the only instance go."""
    if marks[ACTIVE, instance] and marks[ACTIVE].sum() == 1:
        raise ValueError(f"instance must not be the last one that takes part, got {instance}")


def _grown(array: np.ndarray, axis: int, fill: float = 0) -> np.ndarray:
    """Return a C-contiguous copy with one more entry along an axis."""
    shape = list(array.shape)
    shape[axis] = 1
    return np.ascontiguousarray(np.concatenate([array, np.full(shape, fill, array.dtype)], axis))


def count_messages(regs: np.ndarray, rules: Rules) -> dict[str, int]:
    """Return the counters of a scheduler, with the bytes that its messages take."""
    matrices, replies, requests = (int(regs[at]) for at in (MATRICES, REPLIES, REQUESTS))
    size = messages.size_of
    return {
        "matrices": matrices,
        "replies": replies,
        "requests": requests,
        "bytes": matrices * size(messages.Matrices, rules.rows, rules.columns) + replies * size(messages.Reply),
        "piggybacked_bytes": requests * size(messages.Request),
        "synchronisations": int(regs[SYNCS]),
        "timeouts": int(regs[TIMEOUTS]),
        "ignored": int(regs[IGNORED]),
    }
