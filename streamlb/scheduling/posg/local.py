"""POSG in one process: scheduler and learners behind two calls (Rivetti et al. 2015, section III).

All state is one flat int64 array: the scheduler (see `scheduler`) and behind it what the instances
have, laid out by `_parts`. A tuple that carries a request is known by counting: instances work
first come, first served, so the request is answered when its instance has completed as many tuples
as were submitted to it up to that one.
"""

from __future__ import annotations

import time
from collections import namedtuple
from typing import Any

import numpy as np

from streamlb import _check, _state
from streamlb._jit import njit, record
from streamlb._options import options_dict, options_of, takes
from streamlb.keys import key_array, key_int
from streamlb.learning.learner import (
    EMPTY,
    LEARNER,
    LEARNING,
    LONGEST,
    Cells,
    Learners,
    find_columns,
    learn_execution,
    start_anew,
    worth_sending,
)
from streamlb.scheduling.posg.options import SCHEDULER_ORDER, POSGOptions
from streamlb.scheduling.posg.scheduler import (
    Scheduling,
    accept_matrices,
    accept_reply,
    enter_instance,
    new_scheduler,
    remove_instance,
    scheduler_of,
    submit_key,
)

# For each instance: tuples submitted to it, tuples that it completed, which of them carries a
# request (0: none), and what the request says: its epoch, and what the scheduler believed once that
# tuple was assigned, namely the instance's clock and the sum of all that was ever assigned to it.
TRAFFIC = record(
    [
        ("submitted", "i8"),
        ("completed", "i8"),
        ("carrier", "i8"),
        ("epoch", "i8"),
        ("estimate", "f8"),
        ("assigned", "f8"),
    ]
)

# What the instances have learnt: `Learners`, W/F of the pairs sent last as float64[instances, rows,
# columns], and LEARNING[1].
Learnt = namedtuple("Learnt", "learners sent rules")

_TRAFFIC, _RULES, _LEARNER = (kind.itemsize // 8 for kind in (TRAFFIC, LEARNING, LEARNER))


@njit(cache=True, nogil=True)
def _parts(start, k, rows, columns):
    """Return where the parts that follow the traffic begin, and where the last one ends."""
    cells = k * rows * columns
    rules = start + k * _TRAFFIC
    own = rules + _RULES
    F = own + k * _LEARNER
    W = F + cells
    snapshot = W + cells
    sent = snapshot + cells
    return rules, own, F, W, snapshot, sent, sent + cells


@njit(nogil=True, inline="always")
def traffic_of(flat, start, shape):
    """Return the TRAFFIC in a flat array; it follows a scheduler with matrices of this shape."""
    return flat[start : _parts(start, *shape)[0]].view(TRAFFIC)


@njit(cache=True, nogil=True)
def learnt_of(flat, start, shape):
    """Return the `Learnt` in a flat array.

    Apart from the traffic, which is all that `submit` needs: each reshape costs a call 10 ns.
    """
    rules, own, F, W, snapshot, sent, end = _parts(start, *shape)
    cells = Cells(flat[F:W].reshape(shape), flat[W:snapshot].view(np.float64).reshape(shape))
    learners = Learners(cells, flat[snapshot:sent].view(np.float64).reshape(shape), flat[own:F].view(LEARNER))
    return Learnt(learners, flat[sent:end].view(np.float64).reshape(shape), flat[rules:own].view(LEARNING))


@njit(cache=True, nogil=True)
def _submit_one(key, now, scheduler, traffic):
    """Return the instance of a tuple, and note what it carries."""
    i = submit_key(key, now, scheduler)
    seen = traffic[i]
    seen.submitted += 1
    if scheduler.own[0].carries == 1:
        instance = scheduler.instances[i]
        seen.carrier = seen.submitted
        seen.epoch = instance.asked
        seen.estimate = instance.clock
        seen.assigned = instance.assigned
    return i


@njit(cache=True, nogil=True)
def _submit(key, now, flat):
    scheduler, start = scheduler_of(flat)
    return _submit_one(key, now, scheduler, traffic_of(flat, start, scheduler.cells.F.shape))


@njit(cache=True, nogil=True)
def _submit_many(keys, now, flat, out):
    scheduler, start = scheduler_of(flat)
    traffic = traffic_of(flat, start, scheduler.cells.F.shape)
    for t in range(keys.size):
        out[t] = _submit_one(np.int64(keys[t]), now, scheduler, traffic)


@njit(cache=True, nogil=True)
def _complete(i, key, elapsed, now, flat):
    """Learn from one execution; a reply and matrices that are due reach the scheduler at once."""
    scheduler, start = scheduler_of(flat)
    if scheduler.instances[i].active == 0:
        scheduler.own[0].ignored += 1
        return
    learners, sent, rules = learnt_of(flat, start, scheduler.cells.F.shape)
    find_columns(key, scheduler.family, scheduler.cells.F.shape[2], scheduler.at)
    stable = learn_execution(scheduler.at, elapsed, i, learners, rules[0])
    seen = traffic_of(flat, start, scheduler.cells.F.shape)[i]
    seen.completed += 1
    if seen.carrier > 0 and seen.completed >= seen.carrier:
        seen.carrier = 0
        clock = learners.own[i].busy if scheduler.settings[0].busy == 1 else now
        accept_reply(i, seen.epoch, clock, seen.estimate, seen.assigned, scheduler)
    if stable:
        if scheduler.settings[0].changed == 0 or worth_sending(i, learners.cells, sent, rules[0].tolerance):
            accept_matrices(i, i, learners.cells, scheduler)
        start_anew(i, learners)


def _views(flat: np.ndarray) -> tuple[np.ndarray, Learnt]:
    scheduler, start = scheduler_of.py_func(flat)
    where = flat, start, scheduler.cells.F.shape
    return traffic_of.py_func(*where), learnt_of.py_func(*where)


@takes(POSGOptions, SCHEDULER_ORDER)
class POSG(Scheduling):
    """Send each tuple to the instance that will be free first, by learning what tuples cost.

    Call `submit` for each tuple, run it where it says, and `complete` it with the time it took. The
    protocol of Rivetti et al. 2015 runs behind these two calls. Until every instance has shown
    stable execution times, tuples go round robin.

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
    stability : {"nonempty", "printed"}
        Cells that count in the relative error: those that were not empty at the snapshot or,
        exactly as printed in the paper, all of them.
    rounding : {"ceil", "floor"}
        How e/epsilon becomes a number of columns; the paper has both.
    columns : int, optional
        The number of columns itself; 1 gives a scheduler that knows no content.
    clock : {"wall", "busy"}
        What an instance reports: the time at which it completed the tuple or, exactly as printed in
        the paper, the sum of its execution times.
    resend : {"always", "changed"}
        Whether a stable pair of matrices is sent each time, as printed, or only when it differs
        from the one sent last.
    idle : {"ignore", "clamp"}
        Whether an estimated clock behind the present counts as the present; replies are then taken
        as absolute times. Wall clock only.
    ties : {"first", "least_recent"}
        Which of equal instances is taken.
    unseen : {"mean", "zero"}
        Estimate of a key that an instance's matrices do not know.
    synchronise : {"barrier", "staggered"}
        Whether all instances are asked together, as printed, or each alone, its reply applied at
        once.
    resync : bool or int
        Tuples in RUN after which instances are asked again; True is window * instances, False never
        (as printed).
    timeout : int, optional
        Tuples after which missing replies are awaited no more; window * instances by default, never
        for False.

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
    With ``clock="wall"`` the time is the seconds since the scheduler was made, so execution times
    must be in seconds too, unless `submit` and `complete` are given `now` in the unit of `elapsed`.
    """

    __slots__ = ("_origin",)
    # 2: one array of records instead of two of numbers, and hash functions of spread seeds.
    _VERSION = 2

    def __init__(self, *args: Any, **options: Any):
        self.options = options_of(self, args, options)
        self.reset()

    @classmethod
    def economical(cls, instances: Any, window: Any = 1024, tolerance: Any = 0.2, **options: Any) -> POSG:
        """Return a POSG that does more with fewer and smaller messages than the printed one.

        Matrices are sent only when they changed, estimated clocks count idle time, and each
        instance is asked alone, every eight windows. The claims OWN-POSG-* measure it against the
        printed protocol and against plain feedback.

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
            "resync": min(8 * window, _check.MOST),
        }
        return cls(instances, window, tolerance, **(chosen | options))

    def reset(self) -> None:
        """Forget everything; instances that left are back."""
        self._begin()
        self._origin = time.perf_counter()

    def _new_state(self) -> np.ndarray:
        shape = self.options.instances, self.options.rows, self.options.columns
        flat = new_scheduler(self.options, _parts(0, *shape)[-1])
        _, learnt = _views(flat)
        learnt.rules[:] = self.options.rules().view(LEARNING)
        learnt.learners.snapshot[:] = learnt.sent[:] = EMPTY
        return flat

    def _by_instance(self) -> list[np.ndarray]:
        traffic, (learners, sent, _) = _views(self._flat)
        return [*super()._by_instance(), traffic, *learners.cells, learners.snapshot, learners.own, sent]

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
        return _submit(key_int(key), self._time(now), self._flat)

    def submit_many(self, keys: Any, now: Any = None) -> np.ndarray:
        """Return the instances of many tuples, int32[m]: what looping `submit` gives."""
        keys = key_array(keys)
        out = np.empty(keys.size, np.int32)
        _submit_many(keys, self._time(now), self._flat, out)
        return out

    def complete(self, instance: Any, key: Any, elapsed: Any, now: Any = None) -> None:
        """Tell how long an instance took to execute a tuple.

        Parameters
        ----------
        instance : int
            Where it ran; instances complete their tuples in the order of submission. Complete those
            that failed too: which of them carried a request is known by counting.
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
        _complete(instance, key_int(key), elapsed, self._time(now), self._flat)

    def join(self) -> int:
        """Add an instance that has learnt nothing and return its number."""
        instance = self._grow()
        enter_instance(instance, self._scheduler)
        return instance

    def restart(self, instance: Any) -> None:
        """Let an instance start over with nothing learnt: after a crash, or after `leave`."""
        instance = self._instance(instance)
        traffic, (learners, sent, _) = _views(self._flat)
        remove_instance(instance, self._scheduler)
        for array in (traffic, learners.own, *learners.cells):
            array[instance] = 0
        learners.snapshot[instance] = sent[instance] = EMPTY
        enter_instance(instance, self._scheduler)

    @property
    def parameters(self) -> dict[str, Any]:
        """The options by name, with those filled in that depend on others."""
        return options_dict(self)

    def state(self) -> bytes:
        """Return options and all arrays as bytes, with a version and a checksum."""
        parameters = {"options": self.parameters, "now": self._time(None)}
        return _state.pack("POSG", self._VERSION, parameters, {"state": self._flat})

    @classmethod
    def from_state(cls, data: bytes) -> POSG:
        """Return the scheduler whose `state` gave these bytes; its time goes on from there."""
        parameters, arrays = _state.unpack(data, "POSG", cls._VERSION)
        posg = cls(**parameters["options"])
        _state.fill(posg._flat, arrays, "state")
        posg._origin = time.perf_counter() - parameters["now"]
        return posg

    def __reduce__(self) -> tuple:
        return type(self).from_state, (self.state(),)
