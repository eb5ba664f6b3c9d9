"""Load-aware shedding: drop what would make the queue too long, knowing what each tuple costs (paper 003, section 3).

The operator learns the cost of its tuples (`streamlb.learning.learner`) and sends its matrices when they are
stable; the shedder estimates the wait of each tuple from them and drops those that would break its goal. Here both
sides live in one process; `streamlb.shedding.remote` has them apart. State: `s` and the small arrays of
`streamlb.shedding.core`; F int64 and W float64[2, rows, columns], the operator's matrices and the shedder's; the
learner's snapshot, counts and values.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from streamlb import _check, _state
from streamlb._jit import njit
from streamlb.hashing import sketch_family
from streamlb.keys import key_array, key_int
from streamlb.learning.learner import STABILITY, find_columns, learn_execution, sketch_shape
from streamlb.shedding import core

_NO_TIME = float("nan")
_INF = float("inf")


@njit(cache=True, nogil=True)
def _train(keys, costs, s, F, W, family, at, snapshot, counts, values):
    """Execute tuples without load until the first stable matrices; return how many it took, -1 if never stable."""
    for i in range(keys.size):
        find_columns(np.int64(keys[i]), family, F.shape[2], at)
        window, printed = int(s[core.WINDOW]), s[core.PRINTED] != 0.0
        if learn_execution(at, costs[i], 0, F, W, snapshot, counts, values, window, s[core.TOLERANCE], printed):
            core.hand_over(s, F, W, counts)
            return i + 1
    return -1


@njit(cache=True, nogil=True)
def _estimate(key, s, F, W, family, at):
    find_columns(key, family, F.shape[2], at)
    return core.estimate_cost(at, 1, F, W, s[core.UNSEEN])


class Shedder:
    """What every shedder offers: `offer` a tuple, `complete` a kept one, and counts of both.

    Attributes
    ----------
    offered, kept, dropped : int
        Tuples so far.
    """

    __slots__ = ("_goal", "_ring", "_s")
    _s: np.ndarray
    _ring: np.ndarray
    _goal: Any

    @property
    def threshold(self) -> float:
        """The bound of the goal."""
        return float(self._s[core.THRESHOLD])

    @property
    def offered(self) -> int:
        """Tuples offered so far."""
        return int(self._s[core.OFFERED])

    @property
    def kept(self) -> int:
        """Tuples kept so far."""
        return int(self._s[core.KEPT])

    @property
    def dropped(self) -> int:
        """Tuples dropped so far."""
        return self.offered - self.kept

    def expected_wait(self, now: Any) -> float:
        """Return the estimated queuing time of a tuple that would come at `now`, which changes nothing."""
        return 0.0 if self.offered == 0 else float(core.expected_wait(_time("now", now), self._s))

    def offer(self, key: Any, now: Any) -> bool:
        """Say whether to drop a tuple: True to drop it, False to hand it to the operator."""
        raise NotImplementedError

    def complete(self, key: Any, elapsed: Any, now: Any = None) -> None:
        """Tell that the operator executed a kept tuple."""
        raise NotImplementedError

    def _own_verdict(self, now: float) -> int:
        """Ask the user's own goal, once the shedder knows enough to estimate a wait; -1 when there is none to ask."""
        if self._goal is None or self._s[core.ACTIVE] == 0.0:
            return -1
        if now < self._s[core.LAST]:
            return -1  # refused below, and the goal must not count it
        answer = self._goal(float(core.expected_wait(now, self._s)))
        if not isinstance(answer, (bool, np.bool_)):  # NaN would count as true and drop the tuple
            raise TypeError(f"goal must return True or False, got {answer!r}")
        return int(answer)

    def _refuse(self, now: float) -> ValueError:
        last = float(self._s[core.LAST])
        return ValueError(f"now must not go backwards: the last tuple came at {last!r}, got {now!r}")


def _time(name: str, value: Any) -> float:
    """Return a time as a finite float that is not negative; quick for a float."""
    if type(value) is float and 0.0 <= value < _INF:
        return value
    return _check.real(name, value, 0.0)


class LoadAwareShedder(Shedder):
    """Drop tuples so that the queuing time stays within a goal, by what each tuple costs the operator.

    Offer every tuple before it goes to the operator, and report every executed one: the protocol of the paper runs
    behind the two calls. Until the operator's first stable matrices nothing is dropped.

    Parameters
    ----------
    threshold : float
        The goal's bound on the queuing time, in the unit of `now` and `elapsed`.
    window : int
        Executions between two looks at the stability of the matrices (N).
    tolerance : float
        The largest relative change of stable matrices (mu).
    epsilon, delta : float
        Precision of the matrices: e/epsilon columns, log2(1/delta) rows.
    seed : int, SeedSequence or None
        Draws the hash functions.
    safety : float, optional
        Every estimate is raised by this share; `epsilon` as printed when None, 0 for none.
    goal : {"average", "windowed", "bound", "percentile"} or callable
        What the threshold is for: the average wait of all kept tuples, of the last `span` ones, each single wait, or
        the `share` quantile of the waits. A callable gets the estimated wait of each tuple and returns True to drop it,
        False to keep it.
    span : int
        Kept tuples in the windowed average.
    share : float
        Share of the kept tuples that must wait at most the threshold, for the goal "percentile".
    reports : int
        The operator reports its clock every so many executions, besides its replies; 0 for replies alone, as printed.
    timeout : int, optional
        Kept tuples after which an unanswered request is made again, with twice the time; 16 windows when None, 0 for
        never.
    clamp : bool
        Whether the estimated clock runs on while the operator is idle; as printed it does not (False).
    sync : {"exact", "difference"}
        How a reply corrects the clock: to what it would be had the reply been known at the request, or by the
        difference as printed.
    check : {"text", "listing"}
        Whether the average is tested with the tuple in it, or before it is added as in the printed listing.
    start : {"reply", "matrices"}
        When the goal begins to count: with the first reply, or with the first matrices as printed.
    clock : {"wall", "busy"}
        What the operator reports: the time, idle or not, or the sum of execution times as printed.
    unseen : {"mean", "zero"}
        The cost of a tuple that the matrices do not know.
    stability : {"nonempty", "printed"}
        Cells that count in the stability of the matrices, see `CostLearner`.
    rounding : {"ceil", "floor"}
        How e/epsilon becomes a number of columns.

    Examples
    --------
    >>> from streamlb import LoadAwareShedder
    >>> shedder = LoadAwareShedder(threshold=2.0, window=2, safety=0.0, goal="bound")
    >>> for time in range(5):  # a tuple of cost 1 every unit of time: the operator keeps up and its costs are learnt
    ...     assert not shedder.offer("tick", now=float(time))
    ...     shedder.complete("tick", elapsed=1.0)
    >>> shedder.phase
    'RUN'
    >>> [shedder.offer("tick", now=5.0) for _ in range(5)]  # five at once: two wait more than 2
    [False, False, False, True, True]
    >>> shedder
    <LoadAwareShedder threshold 2, RUN: offered 10, dropped 2>

    Notes
    -----
    Completions are taken to come in the order in which tuples were kept. When the operator never answers, the shedder
    goes on with what it last knew; `waiting` says for how long.

    References
    ----------
    N. Rivetti, Y. Busnel, L. Querzoni, "Load-aware shedding in stream processing systems", DEBS 2016.
    """

    __slots__ = ("F", "W", "_at", "_options", "counts", "family", "marks", "pending", "seed", "snapshot", "values")
    _VERSION = 1

    def __init__(
        self,
        threshold: Any = 6.4,
        window: Any = 1024,
        tolerance: Any = 0.05,
        epsilon: Any = 0.05,
        delta: Any = 0.1,
        seed: Any = 0,
        *,
        safety: Any = None,
        goal: Any = "average",
        span: Any = 1024,
        share: Any = 0.95,
        reports: Any = 0,
        timeout: Any = None,
        clamp: bool = True,
        sync: str = "exact",
        check: str = "text",
        start: str = "reply",
        clock: str = "wall",
        unseen: str = "mean",
        stability: str = "nonempty",
        rounding: str = "ceil",
    ):
        self._s, self._ring, self._goal = core.goal_slots(threshold, goal, span, share, check)
        protocol_slots(
            self._s, window, tolerance, epsilon, safety, reports, timeout, clamp, sync, start, clock, unseen, stability
        )
        rows, columns = sketch_shape(epsilon, delta, rounding)
        self.seed = _check.seed_value(seed)
        self._options = {
            "threshold": threshold, "window": window, "tolerance": tolerance, "epsilon": epsilon, "delta": delta,
            "seed": self.seed, "safety": safety, "goal": goal if self._goal is None else "own", "span": span,
            "share": share, "reports": reports, "timeout": timeout, "clamp": bool(clamp), "sync": sync, "check": check,
            "start": start, "clock": clock, "unseen": unseen, "stability": stability, "rounding": rounding,
        }  # fmt: skip
        self.family = sketch_family(rows, self.seed)
        self.F = np.zeros((2, rows, columns), np.int64)
        self.W = np.zeros((2, rows, columns))
        self.snapshot = np.full((1, rows, columns), -1.0)
        self.counts = np.zeros((1, 4), np.int64)
        self.values = np.zeros((1, 2))
        self._at = np.zeros(rows, np.int64)
        self.marks = np.zeros((core.MARKS if self._s[core.REPORTS] else 1, 2))
        self.pending = np.zeros(64)

    @classmethod
    def as_printed(cls, threshold: Any = 6.4, **options: Any) -> LoadAwareShedder:
        """Return the shedder of the paper's letter: every option at its printed value, but for those given.

        Examples
        --------
        >>> from streamlb import LoadAwareShedder
        >>> LoadAwareShedder.as_printed(6.4).F.shape
        (2, 4, 54)
        """
        printed = {
            "clamp": False, "sync": "difference", "check": "listing", "start": "matrices", "clock": "busy",
            "unseen": "zero", "stability": "printed", "rounding": "floor", "timeout": 0,
        }  # fmt: skip
        return cls(threshold, **{**printed, **options})

    @property
    def phase(self) -> str:
        """NOP before the first matrices, SEND when a request is to go with the next kept tuple, then RUN."""
        return core.PHASES[int(self._s[core.PHASE])]

    @property
    def active(self) -> bool:
        """Whether the goal is being watched: from the first reply (or, with start="matrices", the first matrices)."""
        return bool(self._s[core.ACTIVE])

    @property
    def epoch(self) -> int:
        """How many requests were sent."""
        return int(self._s[core.EPOCH])

    @property
    def waiting(self) -> int:
        """Tuples kept since the request that is not answered yet; 0 when none is on its way."""
        return int(self._s[core.KEPT] - self._s[core.ASKED]) + 1 if self._s[core.WAITING] else 0

    @property
    def matrices(self) -> int:
        """How many pairs of matrices the shedder received."""
        return int(self._s[core.MATRICES])

    @property
    def replies(self) -> int:
        """How many requests were answered."""
        return int(self._s[core.REPLIES])

    @property
    def outstanding(self) -> int:
        """Tuples kept and not completed."""
        return int(self._s[core.KEPT] - self._s[core.DONE])

    def estimate(self, key: Any) -> float:
        """Return what the shedder takes a key to cost, without the safety share; 0 before the first matrices."""
        return _estimate(key_int(key), self._s, self.F, self.W, self.family, self._at)

    def offer(self, key: Any, now: Any) -> bool:
        """Say whether to drop a tuple.

        Parameters
        ----------
        key : int, str or bytes
            The attribute that drives the execution time.
        now : float
            The time, finite, not negative and never before that of the last tuple.

        Returns
        -------
        bool
            True: drop it. False: hand it to the operator, and call `complete` when it is executed.
        """
        number = key_int(key)
        now = _time("now", now)
        forced = -1 if self._goal is None else self._own_verdict(now)
        answer = core.offer_local(
            number, now, forced, self._s, self.F, self.W, self.family, self._at, self._ring, self.marks, self.pending
        )
        if answer == core.FULL:
            self._grow()
            answer = core.offer_local(
                number, now, forced, self._s, self.F, self.W, self.family, self._at, self._ring, self.marks,
                self.pending,
            )  # fmt: skip
        if answer == core.BACKWARDS:
            raise self._refuse(now)
        return answer == core.DROP

    def complete(self, key: Any, elapsed: Any, now: Any = None) -> None:
        """Tell that the operator executed the oldest kept tuple.

        Parameters
        ----------
        key : int, str or bytes
            Its key.
        elapsed : float
            How long it took, finite and not negative.
        now : float, optional
            The time. Without it the operator is taken to work on one tuple after the other, as soon as they come. It
            is taken as it is: one before the last completion's sets the estimate of the queue too low, never too high.
        """
        number = key_int(key)
        elapsed = _time("elapsed", elapsed)
        now = _NO_TIME if now is None else _time("now", now)
        if not core.complete_local(
            number, elapsed, now, self._s, self.F, self.W, self.family, self._at, self.marks, self.pending,
            self.snapshot, self.counts, self.values,
        ):  # fmt: skip
            raise ValueError(f"complete must follow an offer that kept a tuple: all {self.kept} are completed already")

    def train(self, keys: Any, costs: Any) -> bool:
        """Learn from executions that happened before, without load, up to the first stable matrices.

        Afterwards the shedder watches its goal from the first tuple on.

        Parameters
        ----------
        keys : array-like
            See `streamlb.key_array`.
        costs : array-like of float
            What each took.

        Returns
        -------
        bool
            Whether the matrices became stable. If not, the shedder starts in NOP, with what it has learnt so far.
        """
        if self.offered:
            raise ValueError(f"train must come before the first offer, got {self.offered} offers already")
        batch = key_array(keys)
        paid = _check.real_array("costs", costs, batch.size)
        used = _train(
            batch, paid, self._s, self.F, self.W, self.family, self._at, self.snapshot, self.counts, self.values
        )
        if used > 0:
            self.values[0, 0] = 0.0  # the operator's clock starts with the first offer
            self._s[core.ACTIVE] = 1.0
        return used > 0

    def reset(self) -> None:
        """Forget everything but the parameters."""
        fresh = type(self)(**{**self._options, **({} if self._goal is None else {"goal": self._goal})})
        for name in ("_s", "_ring", "F", "W", "snapshot", "counts", "values", "marks", "pending"):
            setattr(self, name, getattr(fresh, name))

    def state(self) -> bytes:
        """Return all of it as bytes, with a version and a checksum, for `from_state`."""
        arrays = {name: getattr(self, name) for name in ("F", "W", "snapshot", "counts", "values", "marks", "pending")}
        return _state.pack(
            "LoadAwareShedder", self._VERSION, self._options, {**arrays, "s": self._s, "ring": self._ring}
        )

    @classmethod
    def from_state(cls, data: bytes, goal: Any = None) -> LoadAwareShedder:
        """Return the shedder whose `state` gave these bytes.

        Parameters
        ----------
        data : bytes
            From `state`.
        goal : callable, optional
            The user's own goal, which does not travel: needed if there was one.
        """
        options, arrays = _state.unpack(data, "LoadAwareShedder", cls._VERSION)
        if options["goal"] == "own":
            if not callable(goal):
                raise TypeError(f"goal must be the callable this shedder had, got {goal!r}")
            options["goal"] = goal
        shedder = cls(**options)
        shedder.pending = np.zeros(arrays["pending"].size)
        for name in ("F", "W", "snapshot", "counts", "values", "marks", "pending"):
            _state.fill(getattr(shedder, name), arrays, name)
        _state.fill(shedder._s, arrays, "s")
        _state.fill(shedder._ring, arrays, "ring")
        return shedder

    def _grow(self) -> None:
        """Double the room for kept tuples that are not completed."""
        old, size = self.pending, self.pending.size
        done, kept = int(self._s[core.DONE]), int(self._s[core.KEPT])
        self.pending = np.zeros(2 * size)
        numbers = np.arange(done, kept)
        self.pending[numbers & (2 * size - 1)] = old[numbers & (size - 1)]

    def __repr__(self) -> str:
        unanswered = f", {self.waiting} kept since an unanswered request" if self.waiting else ""
        counts = f"offered {self.offered}, dropped {self.dropped}"
        return f"<LoadAwareShedder threshold {self.threshold:g}, {self.phase}: {counts}{unanswered}>"


def protocol_slots(
    s: np.ndarray, window: Any, tolerance: Any, epsilon: Any, safety: Any, reports: Any, timeout: Any, clamp: Any,
    sync: str, start: str, clock: str, unseen: str, stability: str,
) -> None:  # fmt: skip
    """Check the protocol's parameters and write them into `s`."""
    s[core.WINDOW] = _check.integer("window", window, 1)
    s[core.TOLERANCE] = _check.real("tolerance", tolerance, 0.0)
    epsilon = _check.real("epsilon", epsilon, 0.0, low_open=True)
    s[core.GROWTH] = 1.0 + (epsilon if safety is None else _check.real("safety", safety, 0.0))
    s[core.REPORTS] = _check.integer("reports", reports, 0)
    s[core.TIMEOUT] = 16 * s[core.WINDOW] if timeout is None else _check.integer("timeout", timeout, 0)
    if not isinstance(clamp, (bool, np.bool_)):
        raise TypeError(f"clamp must be True or False, got {clamp!r}")
    s[core.CLAMP] = clamp
    s[core.EXACT] = _check.choice("sync", sync, ("exact", "difference")) == "exact"
    s[core.EARLY] = _check.choice("start", start, ("reply", "matrices")) == "matrices"
    s[core.BUSY_CLOCK] = _check.choice("clock", clock, ("wall", "busy")) == "busy"
    s[core.UNSEEN_MEAN] = _check.choice("unseen", unseen, ("mean", "zero")) == "mean"
    s[core.PRINTED] = _check.choice("stability", stability, STABILITY) == "printed"
