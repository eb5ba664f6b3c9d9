"""What shedders share: counting tuples, watching a goal, going by what the operator has learnt.

State: `_registers` int64, records one after the other: `CLOCK` in every shedder, then `GOAL` where
a goal is watched, then the rest of `SHEDDER` and what the shedder's own file names, where the
operator is listened to.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from streamlb import _check
from streamlb._jit import njit
from streamlb._options import options_of, show_call
from streamlb.hashing import sketch_family
from streamlb.keys import key_int
from streamlb.learning.learner import Cells, estimate_cost, find_columns
from streamlb.shedding.clock import CLOCK, MARKS, PHASES, REQUESTS, SHEDDER, expected_wait, own_of, words
from streamlb.shedding.rules import GOAL, ShedderOptions

_CLOCK, _GOAL, _SHEDDER = words(CLOCK), words(CLOCK) + words(GOAL), words(SHEDDER)
_INF = float("inf")


@njit(cache=True, nogil=True)
def _expected_wait(now, registers):
    return expected_wait(now, registers[:_CLOCK].view(CLOCK)[0])


@njit(cache=True, nogil=True)
def _estimate(key, i, registers, F, W, family):
    at = registers[registers.size - family.shape[0] :].view(np.uint64)
    find_columns(key, family, F.shape[2], at)
    return estimate_cost(at, i, Cells(F, W), own_of(registers).exchange.unseen)


def clock_record(growth: float, clamp: bool = True) -> np.ndarray:
    """Return the CLOCK record at the start."""
    record = np.zeros(1, CLOCK)
    record["growth"], record["clamp"] = growth, clamp
    return record


def in_one(*records: np.ndarray) -> np.ndarray:
    """Return records one after the other as int64, the form in which kernels take them."""
    return np.concatenate([record.view(np.int64) for record in records])


def check_time(name: str, value: Any, longest: float | None = None) -> float:
    """Return a time as a finite float, not negative and at most `longest`; quick for a float."""
    if type(value) is float and 0.0 <= value < _INF and (longest is None or value <= longest):
        return value
    return _check.real(name, value, 0.0, longest)


class Shedder:
    """What every shedder offers: `offer` a tuple, `complete` a kept one, and counts of both.

    Attributes
    ----------
    offered, kept, dropped : int
        Tuples so far.
    """

    __slots__ = ("_registers", "options")
    _registers: np.ndarray
    options: Any

    @property
    def _clock(self) -> Any:
        return self._registers[:_CLOCK].view(CLOCK)[0]

    @property
    def offered(self) -> int:
        """Tuples offered so far."""
        return int(self._clock["offered"])

    @property
    def kept(self) -> int:
        """Tuples kept so far."""
        return int(self._clock["kept"])

    @property
    def dropped(self) -> int:
        """Tuples dropped so far."""
        return self.offered - self.kept

    @property
    def last(self) -> float:
        """The time of the last tuple offered, 0 before the first."""
        return float(self._clock["last"])

    def expected_wait(self, now: Any) -> float:
        """Return the estimated queuing time of a tuple that comes at `now`; nothing changes."""
        return 0.0 if self.offered == 0 else _expected_wait(check_time("now", now), self._registers)

    def offer(self, key: Any, now: Any) -> bool:
        """Say whether to drop a tuple: True to drop it, False to hand it to the operator."""
        raise NotImplementedError

    def complete(self, key: Any, elapsed: Any, now: Any = None) -> None:
        """Tell that the operator executed a kept tuple."""
        raise NotImplementedError

    def _refuse(self, now: float) -> ValueError:
        return ValueError(f"now must not go backwards: the last tuple came at {self.last!r}, got {now!r}")

    def _told(self) -> str:
        """Return what has become of the shedder, in a few words."""
        return f"offered {self.offered}, dropped {self.dropped}"

    def __repr__(self) -> str:
        return show_call(self, self._told())


class GoalShedder(Shedder):
    """A shedder that watches a goal."""

    __slots__ = ("_own_goal",)
    _own_goal: Any

    @property
    def _goal(self) -> Any:
        return self._registers[_CLOCK:_GOAL].view(GOAL)[0]

    @property
    def active(self) -> bool:
        """Whether the goal is being watched."""
        return True

    @property
    def average_wait(self) -> float:
        """The average that the goal is about, by the shedder's own estimates; 0 at first.

        It runs over all tuples that were kept while the goal was watched, or over the last `span`
        of them with the goal "windowed".
        """
        goal = self._goal
        count = min(goal["count"], goal["span"]) if goal["span"] else goal["count"]
        return float(goal["total"] / count) if count else 0.0

    def _own_verdict(self, now: float) -> int:
        """Ask the user's own goal; -1 while the shedder knows too little to estimate a wait."""
        # Such a time is refused later, and the goal must not count it.
        if not self.active or now < self.last:
            return -1
        answer = self._own_goal(_expected_wait(now, self._registers))
        if not isinstance(answer, (bool, np.bool_)):  # NaN would count as true and drop the tuple
            raise TypeError(f"goal must return True or False, got {answer!r}")
        return int(answer)


class LearntShedder(GoalShedder):
    """A shedder that goes by what the operator has learnt, in the same process or in another.

    `F` int64 and `_times` float64 hold the matrices, the shedder's own in entry `_ENTRY`; `_room`
    float64 holds the ring of the goal and the marks of reports.
    """

    __slots__ = ("F", "_room", "_times", "family")
    _ENTRY = 0
    F: np.ndarray
    _times: np.ndarray
    options: ShedderOptions

    def __init__(self, *args: Any, **options: Any):
        self.options = options_of(self, args, options)
        self._own_goal = self.options.own_goal
        self.family = sketch_family(self.options.rows, self.options.seed)
        self._start()

    def _start(self) -> None:
        """Begin with nothing known."""
        options = self.options
        shedder = np.zeros(1, SHEDDER)
        shedder["clock"] = clock_record(1.0 + options.safety, options.clamp)
        shedder["goal"] = options.goal_record()
        protocol = shedder["protocol"]
        protocol["exact"] = options.sync == "exact"
        protocol["reports"], protocol["timeout"] = options.reports, options.timeout
        protocol["marks"] = MARKS if options.reports else 0
        protocol["early"] = options.start == "matrices"
        protocol["busy_clock"] = options.clock == "busy"
        protocol["unseen_mean"] = options.unseen == "mean"
        protocol["resync"] = options.resync
        protocol["requests"] = REQUESTS if options.sync == "difference" else 0
        shedder["exchange"]["since"]["idle"] = -np.inf
        self._registers = in_one(shedder, *self._operator_records(), np.zeros(options.rows, np.int64))
        self._room = np.zeros(self._history_size())

    def _operator_records(self) -> tuple[np.ndarray, ...]:
        """Return the records of the operator's side, where it lives in the same process."""
        return ()

    def _history_size(self) -> int:
        """Return the size of the ring, the marks and the requests, with which the room begins."""
        own = self._shedder
        return int(own["goal"]["span"] + 2 * (own["protocol"]["marks"] + own["protocol"]["requests"]))

    def _arrays(self) -> tuple[np.ndarray, ...]:
        """Return the arrays that a kernel's `shedding_of` takes, in its order."""
        return self._registers, self.F, self._times, self.family, self._room

    @property
    def _shedder(self) -> Any:
        return self._registers[:_SHEDDER].view(SHEDDER)[0]

    @property
    def _exchange(self) -> Any:
        return self._shedder["exchange"]

    @property
    def W(self) -> np.ndarray:
        """The sums of execution times, float64 of the shape of F."""
        return self._times[: self.F.shape[0]]

    @property
    def phase(self) -> str:
        """NOP before the first matrices, SEND when the next kept tuple asks, then RUN."""
        return PHASES[self._exchange["phase"]]

    @property
    def active(self) -> bool:
        """Whether the goal is being watched: see `start`."""
        return bool(self._exchange["active"])

    @property
    def epoch(self) -> int:
        """How many requests were sent."""
        return int(self._exchange["epoch"])

    @property
    def waiting(self) -> int:
        """Tuples kept since the request that is not answered yet; 0 when none is on its way."""
        exchange = self._exchange
        return self.kept - int(exchange["asked"]) + 1 if exchange["waiting"] else 0

    @property
    def matrices(self) -> int:
        """How many pairs of matrices the shedder received."""
        return int(self._exchange["matrices"])

    @property
    def replies(self) -> int:
        """How many requests were answered."""
        return int(self._exchange["replies"])

    def estimate(self, key: Any) -> float:
        """Return what a key is taken to cost, without the safety share; 0 if nothing is known."""
        return _estimate(key_int(key), self._ENTRY, self._registers, self.F, self._times, self.family)

    def _told(self) -> str:
        unanswered = f", {self.waiting} kept since an unanswered request" if self.waiting else ""
        return f"{self.phase}, {super()._told()}{unanswered}"
