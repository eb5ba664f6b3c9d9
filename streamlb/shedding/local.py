"""Load-aware shedding: drop what would make the queue too long, knowing what each tuple costs.

This is the algorithm of Rivetti et al. 2016, section 3. The operator learns the cost of its tuples
(`streamlb.learning.learner`) and sends its matrices when they are stable; the shedder estimates the
wait of each tuple from them (`streamlb.shedding.clock`) and drops those that would break its goal
(`streamlb.shedding.rules`). Here both sides live in one process; `streamlb.shedding.remote` has
them apart.

State: `_registers` int64, the records SHEDDER, OPERATOR and LEARNER and room for a key's
columns; F int64[2, rows, columns], the counts of the operator and of the shedder; `_times`
float64[3, rows, columns], their sums of execution times and the operator's snapshot; `_room`
float64, the ring, the marks and, from there on, when the tuples that are still with the operator
were kept (a power of two of places).
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from streamlb import _check, _state
from streamlb._jit import njit, record
from streamlb._options import options_dict, takes
from streamlb.keys import key_array, key_int
from streamlb.learning.learner import (
    EMPTY,
    LEARNER,
    LEARNING,
    Cells,
    Learners,
    add_execution,
    copy_pair,
    end_of_window,
    find_columns,
    learn_execution,
    start_anew,
)
from streamlb.shedding.clock import (
    BACKWARDS,
    DROP,
    FULL,
    KEEP,
    KEEP_AND_ASK,
    SHEDDER,
    offer_learnt,
    settle,
    settle_report,
    shedding_of,
    take_matrices,
    words,
)
from streamlb.shedding.rules import PRINTED, ShedderOptions
from streamlb.shedding.shedder import LearntShedder, check_time

# The operator: how it learns; 1 if it looks at the stability before it adds the tuple that ends a
# window, as in listing 3.1; how many tuples it has executed, and when it was done with the last.
OPERATOR = record([("rules", LEARNING), ("look_first", "i8"), ("done", "i8"), ("wall", "f8")])

# What an execution works on: the OPERATOR record and the learner, each an array or a stack of one.
Operator = namedtuple("Operator", "own learners")

# Where the records of the operator begin in the registers, and where they end.
_OPERATOR = words(SHEDDER)
_LEARNER = _OPERATOR + words(OPERATOR)
_END = _LEARNER + words(LEARNER)

_LEAST_ROOM = 64  # for kept tuples that are not completed
_NO_TIME = float("nan")


@njit(nogil=True, inline="always")
def operator_of(registers, F, W):
    """Return what an execution works on, from the flat arrays at the door; W[2] is the snapshot."""
    learners = Learners(Cells(F, W), W[2:], registers[_LEARNER:_END].view(LEARNER))
    return Operator(registers[_OPERATOR:_LEARNER].view(OPERATOR), learners)


@njit(nogil=True, inline="always")
def _pending(room, shedding):
    """Return the part of the room that says when the tuples with the operator were kept."""
    return room[shedding.ring.size + 2 * (shedding.marks.size + shedding.requests.size) :]


@njit(cache=True, nogil=True)
def _hand_over(learners, own):
    """Give the operator's matrices (entry 0) to the shedder (entry 1) and start anew."""
    copy_pair(0, learners.cells, 1, learners.cells)
    start_anew(0, learners)
    take_matrices(1, learners.cells, own)


@njit(cache=True, nogil=True, forceinline=True)
def _answer(clock, shedding, done):
    """Reply to the oldest request on its way, if the tuple just executed carried it."""
    own, requests = shedding.own[0], shedding.requests
    exchange = own.exchange
    if exchange.waiting == 0:
        return
    if requests.size == 0:
        if done == exchange.asked:
            settle(exchange.epoch, clock, exchange.believed, own)
        return
    epoch = exchange.answered + 1
    request = requests[epoch % requests.size]
    if done == request.asked:
        settle(epoch, clock, request.believed, own)


@njit(cache=True, nogil=True)
def _look_and_learn(cost, shedding, operator):
    """Look at the stability, send the matrices if they are stable, and only then add the tuple.

    The tuple that ends a window is the first in what is counted from then on (listing 3.1).
    """
    learners, own = operator.learners, shedding.own[0]
    if end_of_window(0, learners, operator.own[0].rules):
        _hand_over(learners, own)
    add_execution(shedding.at, cost, 0, learners, operator.own[0].rules.window)
    learners.own[0].since = 0


@njit(cache=True, nogil=True, forceinline=True)
def execute(key, cost, wall, shedding, operator):
    """Execute the next kept tuple, done at `wall`: learn its cost, pass on what would be sent."""
    own, work, learners = shedding.own[0], operator.own[0], operator.learners
    protocol = own.protocol
    work.wall = wall
    work.done += 1
    find_columns(key, shedding.family, shedding.cells.F.shape[2], shedding.at)
    first = work.look_first == 1 and learners.own[0].since + 1 >= work.rules.window
    stable = False if first else learn_execution(shedding.at, cost, 0, learners, work.rules)
    busy = learners.own[0].busy + cost if first else learners.own[0].busy
    clock = busy if protocol.busy_clock == 1 else wall
    _answer(clock, shedding, work.done)
    if protocol.reports > 0 and work.done % protocol.reports == 0:
        settle_report(work.done, clock, own, shedding.marks)
    if first:
        _look_and_learn(cost, shedding, operator)
    elif stable:
        _hand_over(learners, own)


@njit(cache=True, nogil=True)
def _offer(key, now, forced, registers, F, W, family, room):
    """Offer a tuple and, if it is kept, remember when; FULL when there is no room for that."""
    shedding, operator = shedding_of(registers, F, W, family, room), registers[_OPERATOR:_LEARNER].view(OPERATOR)[0]
    pending, kept = _pending(room, shedding), shedding.own[0].clock.kept
    if kept - operator.done >= pending.size:
        return FULL
    answer = offer_learnt(key, now, forced, 1, shedding)
    if answer in (KEEP, KEEP_AND_ASK):
        pending[kept & (pending.size - 1)] = now
    return answer


@njit(cache=True, nogil=True)
def _complete(key, cost, now, registers, F, W, family, room):
    """Execute the oldest kept tuple, done `now` or (NaN) as soon as it could be.

    Return False when all that was kept is executed already.
    """
    shedding, operator = shedding_of(registers, F, W, family, room), operator_of(registers, F, W)
    clock, work = shedding.own[0].clock, operator.own[0]
    if work.done >= clock.kept:
        return False
    wall = now - clock.origin
    if wall != wall:
        pending = _pending(room, shedding)
        wall = max(work.wall, pending[work.done & (pending.size - 1)] - clock.origin) + cost
    execute(key, cost, wall, shedding, operator)
    return True


@njit(cache=True, nogil=True)
def _train(keys, costs, registers, F, W, family, room):
    """Execute tuples without load until the first stable matrices; return whether it got there."""
    shedding, operator = shedding_of(registers, F, W, family, room), operator_of(registers, F, W)
    learners, own, work = operator.learners, shedding.own[0], operator.own[0]
    for i in range(keys.size):
        find_columns(np.int64(keys[i]), family, F.shape[2], shedding.at)
        if work.look_first == 1 and learners.own[0].since + 1 >= work.rules.window:
            _look_and_learn(costs[i], shedding, operator)
        elif learn_execution(shedding.at, costs[i], 0, learners, work.rules):
            _hand_over(learners, own)
        if own.exchange.matrices > 0:
            learners.own[0].busy = 0.0  # the operator's clock starts with the first offer
            own.exchange.active = 1
            return True
    return False


@takes(ShedderOptions, "threshold window tolerance epsilon delta seed")
class LoadAwareShedder(LearntShedder):
    """Drop tuples so that the queuing time stays within a goal, by what each costs the operator.

    Offer every tuple before it goes to the operator, and report every executed one: the protocol of
    the paper runs behind the two calls. Until the operator's first stable matrices nothing is
    dropped.

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
        What the threshold is for: the average wait of all kept tuples, of the last `span` ones,
        each single wait, or the `share` quantile of the waits. A callable gets the estimated wait
        of each tuple and returns True to drop it, False to keep it.
    span : int
        Kept tuples in the windowed average.
    share : float
        Share of the kept tuples that must wait at most the threshold, for the goal "percentile".
    reports : int
        The operator reports its clock every so many executions, besides its replies; 0 for replies
        alone, as printed.
    timeout : int, optional
        Kept tuples after which an unanswered request is made again, with twice the time; 16 windows
        when None, 0 for never.
    clamp : bool
        Whether the estimated clock runs on while the operator is idle; as printed it does not
        (False).
    sync : {"exact", "difference"}
        How a reply corrects the clock: to what it would be had the reply been known at the request,
        where a new request waits for the reply to the last; or by the difference as printed, where
        a request goes out for each pair of matrices at once and every reply counts.
    check : {"text", "sum", "listing"}
        What must not exceed the threshold, for the goal "average": the average with the tuple in
        it, the average so far plus the tuple's own wait, or the average so far as in the printed
        listing.
    start : {"reply", "matrices"}
        When the goal begins to count: with the first reply, or with the first matrices as printed.
    clock : {"wall", "busy"}
        What the operator reports: the time, idle or not, or the sum of execution times as printed.
    unseen : {"mean", "zero"}
        The cost of a tuple that the matrices do not know.
    resync : int
        Kept tuples after which the operator is asked for its clock again, matrices or not; 0 for
        never, as printed.
    look : {"after", "before"}
        Whether the operator looks at the stability of its matrices after it has added the tuple
        that ends a window, or before as in the printed listing.
    stability : {"nonempty", "printed"}
        Cells that count in the stability of the matrices, see `CostLearner`.
    rounding : {"ceil", "floor"}
        How e/epsilon becomes a number of columns.
    columns : int, optional
        The number of columns itself: with 1 the shedder knows the mean cost alone.

    Examples
    --------
    >>> from streamlb import LoadAwareShedder
    >>> shedder = LoadAwareShedder(threshold=2.0, window=2, safety=0.0, goal="bound")
    >>> for time in range(5):  # a tuple of cost 1 every unit of time, so that the operator keeps up
    ...     assert not shedder.offer("tick", now=float(time))
    ...     shedder.complete("tick", elapsed=1.0)
    >>> shedder.phase
    'RUN'
    >>> [shedder.offer("tick", now=5.0) for _ in range(5)]  # five at once: two wait more than 2
    [False, False, False, True, True]
    >>> shedder.offered, shedder.dropped
    (10, 2)

    Notes
    -----
    Completions are taken to come in the order in which tuples were kept. When the operator never
    answers, the shedder goes on with what it last knew; `waiting` says for how long.

    References
    ----------
    N. Rivetti, Y. Busnel, L. Querzoni, "Load-aware shedding in stream processing systems", DEBS
    2016.
    """

    __slots__ = ()
    _VERSION = 3  # 3: requests on their way, and when the operator looks
    _ENTRY = 1

    def _start(self) -> None:
        super()._start()
        shape = self.options.rows, self.options.columns
        self.F = np.zeros((2, *shape), np.int64)
        self._times = np.zeros((3, *shape))
        self._times[2] = EMPTY
        self._room = np.concatenate([self._room, np.zeros(_LEAST_ROOM)])

    def _operator_records(self) -> tuple[np.ndarray, ...]:
        operator = np.zeros(1, OPERATOR)
        operator["rules"] = self.options.rules().view(LEARNING)
        operator["look_first"] = self.options.look == "before"
        return operator, np.zeros(1, LEARNER)

    @classmethod
    def as_printed(cls, threshold: Any = 6.4, **options: Any) -> LoadAwareShedder:
        """Return the shedder exactly as printed in the paper, but for the options given.

        Examples
        --------
        >>> from streamlb import LoadAwareShedder
        >>> LoadAwareShedder.as_printed(6.4).F.shape
        (2, 4, 54)
        """
        return cls(threshold, **{**PRINTED, **options})

    @property
    def _done(self) -> int:
        return int(self._registers[_OPERATOR:_LEARNER].view(OPERATOR)[0]["done"])

    @property
    def outstanding(self) -> int:
        """Tuples kept and not completed."""
        return self.kept - self._done

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
        now = check_time("now", now)
        forced = -1 if self._own_goal is None else self._own_verdict(now)
        answer = _offer(number, now, forced, self._registers, self.F, self._times, self.family, self._room)
        if answer == FULL:
            self._make_room(2 * self.outstanding)
            answer = _offer(number, now, forced, self._registers, self.F, self._times, self.family, self._room)
        if answer == BACKWARDS:
            raise self._refuse(now)
        return answer == DROP

    def complete(self, key: Any, elapsed: Any, now: Any = None) -> None:
        """Tell that the operator executed the oldest kept tuple.

        Parameters
        ----------
        key : int, str or bytes
            Its key.
        elapsed : float
            How long it took, finite and not negative.
        now : float, optional
            The time. Without it the operator is taken to work on one tuple after the other, as soon
            as they come. It is taken as it is: one before the last completion's sets the estimate
            of the queue too low, never too high.
        """
        number = key_int(key)
        elapsed = check_time("elapsed", elapsed)
        now = _NO_TIME if now is None else check_time("now", now)
        if not _complete(number, elapsed, now, self._registers, self.F, self._times, self.family, self._room):
            raise ValueError(f"complete must follow an offer that kept a tuple: all {self.kept} are completed already")

    def train(self, keys: Any, costs: Any) -> bool:
        """Learn from executions of before, without load, up to the first stable matrices.

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
            Whether the matrices became stable. If not, the shedder starts in NOP, with what it has
            learnt so far.
        """
        if self.offered:
            raise ValueError(f"train must come before the first offer, got {self.offered} offers already")
        batch = key_array(keys)
        paid = _check.real_array("costs", costs, batch.size)
        return _train(batch, paid, *self._arrays())

    def reset(self) -> None:
        """Forget everything but the parameters."""
        self._start()

    def state(self) -> bytes:
        """Return all of it as bytes, with a version and a checksum, for `from_state`."""
        parameters = options_dict(self)
        if self._own_goal is not None:
            parameters["goal"] = "own"
        arrays = {"F": self.F, "times": self._times, "registers": self._registers[:_END]}
        arrays["history"], arrays["pending"] = self._history, self._kept_at()
        return _state.pack("LoadAwareShedder", self._VERSION, parameters, arrays)

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
        parameters, arrays = _state.unpack(data, "LoadAwareShedder", cls._VERSION)
        if parameters["goal"] == "own":
            if not callable(goal):
                raise TypeError(f"goal must be the callable this shedder had, got {goal!r}")
            parameters["goal"] = goal
        shedder = cls(**parameters)
        _state.fill(shedder.F, arrays, "F")
        _state.fill(shedder._times, arrays, "times")
        _state.fill(shedder._registers[:_END], arrays, "registers")
        _state.fill(shedder._history, arrays, "history")
        pending = np.zeros(shedder.outstanding)
        _state.fill(pending, arrays, "pending")
        shedder._make_room(pending.size, pending)
        return shedder

    @property
    def _history(self) -> np.ndarray:
        """The ring, the marks and the requests, which the room begins with."""
        return self._room[: self._history_size()]

    def _kept_at(self) -> np.ndarray:
        """Return when the tuples that are with the operator were kept, the oldest first."""
        pending = self._room[self._history.size :]
        return pending[np.arange(self._done, self.kept) & (pending.size - 1)]

    def _make_room(self, size: int, kept_at: np.ndarray | None = None) -> None:
        """Give `size` tuples or more a place in the room for those that are with the operator."""
        kept_at = self._kept_at() if kept_at is None else kept_at
        pending = np.zeros(max(_LEAST_ROOM, 1 << (size - 1).bit_length()))
        pending[np.arange(self._done, self.kept) & (pending.size - 1)] = kept_at
        self._room = np.concatenate([self._history, pending])
