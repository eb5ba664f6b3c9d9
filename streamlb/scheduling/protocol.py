"""POSG's scheduler as kernels: four states, epochs, corrections (paper 000, section III-B, figure 3, listing III.2).

ROUND_ROBIN until every instance has sent matrices; SEND_ALL: the next tuples go to the instances in turn and carry a
request; WAIT_ALL: greedy while the replies come in; RUN: greedy. Greedy takes the instance with the least estimated
clock and adds the tuple's estimate to it. New matrices, or `RESYNC` tuples in RUN, start SEND_ALL again under the
next epoch. With `STAGGERED` only the first synchronisation is such a barrier: then each instance is asked alone every
`RESYNC` tuples and its reply applied at once.

State: F int64 and W float64[instances, rows, columns], the matrices received; clocks float64[7, instances], marks
int64[10, instances] and regs int64[29], whose rows and registers are named below.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from streamlb import _check
from streamlb._jit import njit
from streamlb.learning.learner import clear_pair, copy_pair, estimate_cost, mean_cost
from streamlb.sketches.count_min import sketch_shape

ROUND_ROBIN, SEND_ALL, WAIT_ALL, RUN = 0, 1, 2, 3
PHASES = ("ROUND_ROBIN", "SEND_ALL", "WAIT_ALL", "RUN")

# Rows of clocks: estimated clock (infinite for an instance that left), all that was ever assigned, mean cost, correction received and not
# yet applied, offset of its reports; what the request on its way carries.
CLOCK, ASSIGNED, MEAN, CORRECTION, OFFSET, CARRIED_CLOCK, CARRIED_ASSIGNED = range(7)
CLOCKS = 7
# Rows of marks: takes part, has sent matrices, epoch of its last request, of its last reply, when last used, when to be asked alone; tuples
# submitted to it, completed by it, and which of them carries the request on its way (0: none) of which epoch.
ACTIVE, KNOWN, ASKED, REPLIED, USED, DUE, SENT_TO, DONE, CARRIER, CARRIED_EPOCH = range(10)
MARKS = 10
# Registers: state, counters, two for the simulator, rules; LIMIT: tuples that this phase may last before something is due.
PHASE, EPOCH, TURN, WAITING, SINCE, SUBMITTED, CARRIES = 0, 1, 2, 3, 4, 5, 6
MATRICES, REPLIES, REQUESTS, SYNCS, TIMEOUTS, IGNORED, FIRST_RUN = 7, 8, 9, 10, 11, 12, 13
LAST, EVENT = 14, 15
TIES, CLAMP, RESYNC, TIMEOUT, UNSEEN_ZERO, STAGGERED, BUSY_CLOCK, PRINTED, WINDOW = 16, 17, 18, 19, 20, 21, 22, 23, 24
INSTANCES, COLUMNS, LIMIT, ON_CHANGE = 25, 26, 27, 28
REGISTERS = 29
_NEVER = np.iinfo(np.int64).max

TIE_RULES = ("first", "least_recent")
IDLE_RULES = ("ignore", "clamp")
UNSEEN_RULES = ("mean", "zero")
SYNC_RULES = ("barrier", "staggered")
SEND_RULES = ("always", "changed")
CLOCK_RULES = ("wall", "busy")


@njit(cache=True, nogil=True)
def _next_in_turn(start, marks):
    """Return the first active instance from `start` on, cyclically; -1 when there is none."""
    k = marks.shape[1]
    for step in range(k):
        i = start + step
        if i >= k:
            i -= k
        if marks[ACTIVE, i] == 1:
            return i
    return -1


@njit(cache=True, nogil=True, forceinline=True)
def least_loaded(now, clocks, marks, clamp, least_recent):
    """Return the instance with the least estimated clock; idle ones count as `now` when clamping."""
    best = 0
    least = clocks[CLOCK, 0]
    if clamp and least < now:
        least = now
    for i in range(1, clocks.shape[1]):
        clock = clocks[CLOCK, i]
        if clamp and clock < now:
            clock = now
        if clock < least or (least_recent and clock == least and marks[USED, i] < marks[USED, best]):
            least = clock
            best = i
    return best


@njit(cache=True, nogil=True)
def begin_sync(regs):
    """Start the next epoch: every instance will be asked."""
    regs[PHASE] = SEND_ALL
    regs[EPOCH] += 1
    regs[TURN] = 0
    regs[WAITING] = 0
    regs[SINCE] = 0


@njit(cache=True, nogil=True)
def _enter_run(marks, regs):
    regs[PHASE] = RUN
    regs[SINCE] = 0
    regs[LIMIT] = regs[RESYNC] if regs[RESYNC] > 0 and regs[STAGGERED] == 0 else _NEVER
    k = marks.shape[1]
    for i in range(k):
        marks[DUE, i] = regs[SUBMITTED] + (regs[RESYNC] * (i + 1)) // k
    if regs[FIRST_RUN] < 0:
        regs[FIRST_RUN] = regs[SUBMITTED]


@njit(cache=True, nogil=True)
def _correct(i, clocks, regs):
    """Apply the correction of an instance that replied; return by how much its clock moved."""
    before = clocks[CLOCK, i]
    if regs[CLAMP] == 1:  # absolute: the reported clock plus what was assigned since the request
        clocks[CLOCK, i] = clocks[CORRECTION, i] + clocks[ASSIGNED, i]
    else:
        clocks[CLOCK, i] = before + clocks[CORRECTION, i]
    return clocks[CLOCK, i] - before


@njit(cache=True, nogil=True)
def _synchronise(clocks, marks, regs):
    """Correct the clocks by the replies of this epoch and run; who did not reply moves as the others did on average."""
    moved = 0.0
    replied = 0
    for i in range(marks.shape[1]):
        if marks[ACTIVE, i] == 1 and marks[REPLIED, i] == regs[EPOCH]:
            moved += _correct(i, clocks, regs)
            replied += 1
    for i in range(marks.shape[1]):
        if marks[ACTIVE, i] == 1 and marks[REPLIED, i] != regs[EPOCH]:
            if replied > 0:
                clocks[CLOCK, i] += moved / replied
            marks[ASKED, i] = marks[REPLIED, i]  # its answer, should it still come, is stale
    regs[SYNCS] += 1
    _enter_run(marks, regs)


@njit(cache=True, nogil=True)
def _ask(i, marks, regs):
    """Let the tuple now submitted to instance i carry a request."""
    marks[ASKED, i] = regs[EPOCH]
    regs[CARRIES] = 1
    regs[REQUESTS] += 1


@njit(cache=True, nogil=True)
def _ask_alone(i, marks, regs):
    """Ask an instance outside of any barrier, unless a reply of it is still on its way."""
    if marks[REPLIED, i] == marks[ASKED, i] or regs[SUBMITTED] - marks[DUE, i] >= regs[TIMEOUT]:
        regs[EPOCH] += 1
        marks[DUE, i] = regs[SUBMITTED] + regs[RESYNC]
        _ask(i, marks, regs)


@njit(cache=True, nogil=True)
def _send_in_turn(marks, regs):
    """Return the next instance to ask; after the last one the scheduler waits."""
    i = _next_in_turn(regs[TURN], marks)
    _ask(i, marks, regs)
    regs[WAITING] += 1
    following = _next_in_turn(i + 1 if i + 1 < marks.shape[1] else 0, marks)
    regs[TURN] = following
    if following <= i:
        regs[PHASE] = WAIT_ALL
        regs[SINCE] = 0
        regs[LIMIT] = regs[TIMEOUT]
    return i


@njit(cache=True, nogil=True)
def _choose_in_turn(clocks, marks, regs):
    """Choose where greedy does not apply; -1 when it does after all, the synchronisation that was awaited being given up."""
    if regs[PHASE] == RUN:
        begin_sync(regs)
    elif regs[PHASE] == WAIT_ALL:
        regs[TIMEOUTS] += 1
        _synchronise(clocks, marks, regs)
        return -1
    if regs[PHASE] == SEND_ALL:
        regs[SINCE] += 1
        return _send_in_turn(marks, regs)
    i = _next_in_turn(regs[TURN], marks)
    regs[TURN] = i + 1 if i + 1 < marks.shape[1] else 0
    return i


@njit(cache=True, nogil=True, forceinline=True)
def choose_instance(now, clocks, marks, regs):
    """Return the instance of the next tuple; at least one takes part. CARRIES says whether it takes a request along."""
    regs[CARRIES] = 0
    regs[SUBMITTED] += 1
    if regs[PHASE] < WAIT_ALL or regs[SINCE] >= regs[LIMIT]:
        i = _choose_in_turn(clocks, marks, regs)
        if i >= 0:
            return i
    regs[SINCE] += 1
    i = least_loaded(now, clocks, marks, regs[CLAMP] == 1, regs[TIES] == 1)
    marks[USED, i] = regs[SUBMITTED]
    if regs[STAGGERED] == 1 and regs[PHASE] == RUN and regs[SUBMITTED] >= marks[DUE, i]:
        _ask_alone(i, marks, regs)
    return i


@njit(cache=True, nogil=True, forceinline=True)
def charge(at, i, now, F, W, clocks, regs):
    """Add the estimate of the tuple with columns `at` to the clock of instance i and return it (listing III.2)."""
    unseen = 0.0 if regs[UNSEEN_ZERO] == 1 else clocks[MEAN, i]
    cost = estimate_cost(at, i, F, W, unseen)
    clock = clocks[CLOCK, i]
    if regs[CLAMP] == 1 and clock < now:
        clock = now
    clocks[CLOCK, i] = clock + cost
    clocks[ASSIGNED, i] += cost
    return cost


@njit(cache=True, nogil=True)
def _all_known(marks):
    known = 0
    for i in range(marks.shape[1]):
        if marks[ACTIVE, i] == 1:
            if marks[KNOWN, i] == 0:
                return False
            known += 1
    return known > 0


@njit(cache=True, nogil=True)
def _mean_of_known(row, clocks, marks):
    """Return the mean of a row of `clocks` over the active instances that have sent matrices, 0 when none has."""
    total = 0.0
    known = 0
    for i in range(marks.shape[1]):
        if marks[ACTIVE, i] == 1 and marks[KNOWN, i] == 1:
            total += clocks[row, i]
            known += 1
    return total / known if known > 0 else 0.0


@njit(cache=True, nogil=True)
def accept_matrices(i, source, from_F, from_W, F, W, clocks, marks, regs):
    """Take entry `source` of a stack of pairs as the matrices of instance i."""
    copy_pair(source, from_F, from_W, i, F, W)
    clocks[MEAN, i] = mean_cost(i, F, W)
    marks[KNOWN, i] = 1
    regs[MATRICES] += 1
    if regs[PHASE] != ROUND_ROBIN:
        if regs[STAGGERED] == 0:
            begin_sync(regs)
    elif _all_known(marks):
        begin_sync(regs)


@njit(cache=True, nogil=True)
def accept_reply(i, epoch, clock, estimate, assigned, clocks, marks, regs):
    """Take an instance's reply; False (and counted) when it is stale, a duplicate or not awaited."""
    if marks[ACTIVE, i] == 0 or marks[ASKED, i] != epoch or marks[REPLIED, i] == epoch:
        regs[IGNORED] += 1
        return False
    alone = regs[PHASE] == RUN and regs[STAGGERED] == 1
    if not alone and (epoch != regs[EPOCH] or regs[PHASE] == ROUND_ROBIN or regs[PHASE] == RUN):
        regs[IGNORED] += 1
        return False
    regs[REPLIES] += 1
    marks[REPLIED, i] = epoch
    believed = assigned if regs[CLAMP] == 1 else estimate
    clocks[CORRECTION, i] = clock + clocks[OFFSET, i] - believed
    if alone:
        _correct(i, clocks, regs)
        return True
    regs[WAITING] -= 1
    if regs[PHASE] == WAIT_ALL and regs[WAITING] == 0:
        _synchronise(clocks, marks, regs)
    return True


@njit(cache=True, nogil=True)
def enter_instance(i, busy, F, W, clocks, marks, regs):
    """Let instance i take part, with no matrices; where the others are known it starts at their mean clock and cost."""
    clear_pair(i, F, W)
    clock, cost = _mean_of_known(np.int64(CLOCK), clocks, marks), _mean_of_known(np.int64(MEAN), clocks, marks)
    for row in range(CLOCKS):
        clocks[row, i] = 0.0
    clocks[CLOCK, i] = clock
    clocks[MEAN, i] = cost
    clocks[OFFSET, i] = clock if busy else 0.0  # a fresh instance counts its busy time from 0
    for row in range(MARKS):
        marks[row, i] = 0
    marks[ACTIVE, i] = 1
    marks[ASKED, i] = marks[REPLIED, i] = -1
    if regs[PHASE] != ROUND_ROBIN and (regs[STAGGERED] == 0 or regs[PHASE] != RUN):
        begin_sync(regs)


@njit(cache=True, nogil=True)
def remove_instance(i, clocks, marks, regs):
    """Let instance i go; what was awaited from it is awaited no more."""
    awaited = marks[ASKED, i] == regs[EPOCH] and marks[REPLIED, i] != regs[EPOCH]
    marks[ACTIVE, i] = 0
    marks[KNOWN, i] = 0
    clocks[CLOCK, i] = np.inf
    known = 0
    for j in range(marks.shape[1]):
        known += marks[ACTIVE, j] * marks[KNOWN, j]
    if known == 0:  # nothing is known any more
        regs[PHASE] = ROUND_ROBIN
        regs[TURN] = 0
        return
    if (regs[PHASE] == ROUND_ROBIN and _all_known(marks)) or regs[PHASE] == SEND_ALL:
        begin_sync(regs)  # in SEND_ALL its turn may have been next
    elif regs[PHASE] == WAIT_ALL and awaited:
        regs[WAITING] -= 1
        if regs[WAITING] == 0:
            _synchronise(clocks, marks, regs)


class Rules:
    """The checked parameters of POSG, shared by the live classes and the simulator; see `streamlb.POSG` for their meaning."""

    __slots__ = (
        "busy", "columns", "idle", "instances", "printed", "resend", "resync", "rows", "seed", "synchronise", "ties", "timeout",
        "tolerance", "unseen", "window",
    )  # fmt: skip

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
        timeout: Any = None,
        resend: str = "always",
    ):
        self.instances = _check.integer("instances", instances, 1, 2**31 - 1)
        self.window = _check.integer("window", window, 1)
        self.tolerance = _check.real("tolerance", tolerance, 0.0)
        self.rows, self.columns = sketch_shape(epsilon, delta, rounding)
        if columns is not None:
            self.columns = _check.integer("columns", columns, 1, 2**31 - 1)
        self.seed = _check.seed_value(seed)
        self.printed = _check.choice("stability", stability, ("nonempty", "printed")) == "printed"
        self.busy = _check.choice("clock", clock, CLOCK_RULES) == "busy"
        self.idle = _check.choice("idle", idle, IDLE_RULES)
        if self.busy and idle == "clamp":
            raise ValueError("idle must be 'ignore' with clock='busy': a sum of execution times knows no present time")
        self.ties = _check.choice("ties", ties, TIE_RULES)
        self.unseen = _check.choice("unseen", unseen, UNSEEN_RULES)
        self.synchronise = _check.choice("synchronise", synchronise, SYNC_RULES)
        self.resend = _check.choice("resend", resend, SEND_RULES)
        cycle = self.window * self.instances
        self.resync = self._period("resync", resync, cycle)
        if synchronise == "staggered" and self.resync == 0:
            raise ValueError("resync must be a number of tuples with synchronise='staggered', got False")
        self.timeout = self._period("timeout", True if timeout is None else timeout, cycle)

    @staticmethod
    def _period(name: str, value: Any, default: int) -> int:
        """Return a number of tuples: `default` for True, 0 for False or None."""
        if value is True:
            return default
        return 0 if value is None or value is False else _check.integer(name, value, 1)

    def registers(self) -> np.ndarray:
        """Return a fresh scheduler's registers."""
        regs = np.zeros(REGISTERS, np.int64)
        regs[FIRST_RUN] = -1
        regs[TIES] = TIE_RULES.index(self.ties)
        regs[CLAMP] = self.idle == "clamp"
        regs[RESYNC] = self.resync
        regs[TIMEOUT] = self.timeout if self.timeout else _NEVER
        regs[UNSEEN_ZERO] = self.unseen == "zero"
        regs[STAGGERED] = self.synchronise == "staggered"
        regs[BUSY_CLOCK] = self.busy
        regs[PRINTED] = self.printed
        regs[WINDOW] = self.window
        regs[INSTANCES] = self.instances
        regs[COLUMNS] = self.columns
        regs[ON_CHANGE] = self.resend == "changed"
        return regs

    def scheduler(self) -> dict[str, np.ndarray]:
        """Return a fresh scheduler's arrays by name: F, W, clocks, marks, regs."""
        shape = (self.instances, self.rows, self.columns)
        marks = np.zeros((MARKS, self.instances), np.int64)
        marks[ACTIVE] = 1
        marks[ASKED] = marks[REPLIED] = -1
        return {
            "F": np.zeros(shape, np.int64),
            "W": np.zeros(shape),
            "clocks": np.zeros((CLOCKS, self.instances)),
            "marks": marks,
            "regs": self.registers(),
        }

    def learners(self) -> dict[str, np.ndarray]:
        """Return fresh learners' arrays by name, a stack of all instances: F, W, snapshot, counts, values, sent."""
        shape = (self.instances, self.rows, self.columns)
        return {
            "F": np.zeros(shape, np.int64),
            "W": np.zeros(shape),
            "snapshot": np.full(shape, -1.0),
            "counts": np.zeros((self.instances, 4), np.int64),
            "values": np.zeros((self.instances, 2)),
            "sent": np.full(shape, -1.0),
        }
