"""Load-aware shedding with the shedder here and the operator elsewhere, talking in bytes.

These are the two sides of Rivetti et al. 2016, figure 1. `RemoteShedder.offer` decides and says in
`request` what to send along with the kept tuple; `RemoteOperator.complete` learns and gives the
messages to carry back to `RemoteShedder.receive`. Messages (`streamlb.learning.messages`) may be
late, lost, repeated or out of order: stale ones are ignored and counted, a lost reply is asked for
again, and the shedder never blocks. Both sides need the same time base for `now`, since the
operator's clock is compared with the shedder's.

State of the shedder: `_registers` int64, one `SHEDDER` record and room for a key's columns; F int64
and `_times` float64[1, rows, columns], the matrices received last; `_room` float64, the ring and
the marks. The operator's is a `CostLearner` and a count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from streamlb import _check
from streamlb._jit import njit
from streamlb._options import as_dict, checked, options_of, show_call, takes
from streamlb.keys import key_int
from streamlb.learning.learner import LONGEST, Cells, CostLearner, LearnerOptions
from streamlb.learning.messages import (
    Hello,
    Matrices,
    MessageError,
    Reply,
    Report,
    Request,
    decode,
    encode,
)
from streamlb.shedding.clock import (
    BACKWARDS,
    DROP,
    KEEP_AND_ASK,
    NOP,
    SEND,
    offer_learnt,
    own_of,
    settle,
    settle_report,
    shedding_of,
    take_matrices,
)
from streamlb.shedding.rules import ReportOptions, ShedderOptions
from streamlb.shedding.shedder import LearntShedder, check_time


@njit(cache=True, nogil=True)
def _offer(key, now, forced, registers, F, W, family, room):
    return offer_learnt(key, now, forced, 0, shedding_of(registers, F, W, family, room))


@njit(cache=True, nogil=True)
def _take_matrices(registers, F, W):
    take_matrices(0, Cells(F, W), own_of(registers))


@njit(nogil=True, inline="always")
def _origin(own):
    """Return what the operator's clock shows at the first tuple: its time, or 0 for busy time."""
    return 0.0 if own.protocol.busy_clock == 1 else own.clock.origin


@njit(cache=True, nogil=True)
def _believed(registers):
    """Return what the shedder takes the operator's clock to be once all that was kept is done."""
    own = own_of(registers)
    return own.clock.busy_until + _origin(own)


@njit(cache=True, nogil=True)
def _settle(epoch, clock, registers, F, W, family, room):
    """Take the reply to the request of an epoch; False when another one is waited for, or none."""
    shedding = shedding_of(registers, F, W, family, room)
    own, requests = shedding.own[0], shedding.requests
    exchange = own.exchange
    if requests.size > 0:
        if not exchange.answered < epoch <= exchange.epoch:
            return False
        settle(epoch, clock - _origin(own), requests[epoch % requests.size].believed, own)
        return True
    if exchange.waiting == 0 or exchange.epoch != epoch:
        return False
    settle(epoch, clock - _origin(own), exchange.believed, own)
    return True


@njit(cache=True, nogil=True)
def _settle_report(completed, clock, registers, F, W, family, room):
    """Take a report of so many executions; False when it tells nothing new."""
    shedding = shedding_of(registers, F, W, family, room)
    own = shedding.own[0]
    return settle_report(completed, clock - _origin(own), own, shedding.marks)


@takes(ShedderOptions, "threshold window epsilon delta seed", without="tolerance stability look")
class RemoteShedder(LearntShedder):
    """The shedder's side of load-aware shedding, for an operator in another process.

    Parameters
    ----------
    threshold, window, epsilon, delta, seed, safety, goal, span, share
        As for `LoadAwareShedder`. The operator needs the same `epsilon`, `delta` and `seed`.
    reports, timeout, clamp, sync, check, start, clock, unseen, resync, rounding, columns
        As for `LoadAwareShedder`. The operator needs the same `reports`, `clock`, `rounding` and
        `columns`.

    Attributes
    ----------
    request : bytes or None
        What to send along with the tuple just kept, if anything.
    used, stale, bad : int
        Messages that told something, that came too late or twice, and that could not be read.

    Examples
    --------
    >>> from streamlb import RemoteOperator, RemoteShedder
    >>> shedder, operator = RemoteShedder(threshold=2.0, goal="bound"), RemoteOperator(window=2)
    >>> for i in range(5):
    ...     assert not shedder.offer("tick", now=float(i))
    ...     for message in operator.complete("tick", 1.0, now=i + 1.0, request=shedder.request):
    ...         _ = shedder.receive(message)
    >>> shedder.phase, shedder.active, shedder.used
    ('RUN', True, 2)
    """

    __slots__ = ("bad", "incarnation", "request", "sequence", "stale", "used")

    def _start(self) -> None:
        super()._start()
        shape = 1, self.options.rows, self.options.columns
        self.F = np.zeros(shape, np.int64)
        self._times = np.zeros(shape)
        self.request: bytes | None = None
        self.incarnation, self.sequence = 0, 0
        self.used, self.stale, self.bad = 0, 0, 0

    def offer(self, key: Any, now: Any) -> bool:
        """Say whether to drop a tuple; if it is kept, send `request` along unless that is None."""
        number = key_int(key)
        now = check_time("now", now)
        forced = -1 if self._own_goal is None else self._own_verdict(now)
        answer = _offer(number, now, forced, self._registers, self.F, self._times, self.family, self._room)
        if answer == BACKWARDS:
            raise self._refuse(now)
        self.request = self._request() if answer == KEEP_AND_ASK else None
        return answer == DROP

    def complete(self, key: Any, elapsed: Any, now: Any = None) -> None:
        """Refuse: executions are told to the `RemoteOperator`."""
        raise TypeError("complete must be called on the RemoteOperator; the shedder hears from it through receive")

    def receive(self, data: bytes) -> bool:
        """Take a message of the operator; False when it was stale or bad, and only counted."""
        try:
            message = decode(data)
        except MessageError:
            self.bad += 1
            return False
        if isinstance(message, Request) or message.instance != 0 or not self._fits(message):
            self.bad += 1
            return False
        told = message.incarnation >= self.incarnation and self._take(message)
        if told:
            self.used += 1
        else:
            self.stale += 1
        return told

    def _request(self) -> bytes:
        assigned = float(self._exchange["assigned"])
        return encode(Request(0, self.epoch, _believed(self._registers), assigned))

    def _fits(self, message: Any) -> bool:
        if not isinstance(message, Matrices):
            return True
        return message.F.shape == self.F.shape[1:] and message.seed == self.options.seed

    def _take(self, message: Any) -> bool:
        if message.incarnation > self.incarnation:
            self._restarted(message.incarnation)
            if isinstance(message, Hello):
                return True
        if isinstance(message, Hello):
            return False
        if isinstance(message, Reply):
            return _settle(message.epoch, message.clock, *self._arrays())
        if isinstance(message, Report):
            return _settle_report(message.completed, message.clock, *self._arrays())
        if message.sequence <= self.sequence:
            return False
        self.sequence = message.sequence
        self.F[0], self._times[0] = message.F, message.W
        _take_matrices(self._registers, self.F, self._times)
        return True

    def _restarted(self, incarnation: int) -> None:
        """Follow an operator that started again: its queue is lost, what is known of costs stays.

        The clock is set back to the last tuple's time, and asked for again: what the old life held
        is no one's wait.
        """
        first = self.incarnation == 0
        self.incarnation, self.sequence = incarnation, 0
        if first:
            return
        clock, exchange = self._clock, self._exchange
        exchange["base"], exchange["reported"], exchange["known"] = clock["kept"], 0, 0
        clock["busy_until"] = min(clock["busy_until"], clock["last"] - clock["origin"])
        exchange["waiting"], exchange["again"], exchange["answered"] = 0, 0, exchange["epoch"]
        if exchange["phase"] != NOP:
            exchange["phase"] = SEND


@dataclass(frozen=True)
class OperatorOptions(LearnerOptions, ReportOptions):
    """All options of `RemoteOperator`."""

    incarnation: Any = 1

    def __post_init__(self):
        LearnerOptions.__post_init__(self)
        ReportOptions.__post_init__(self)
        checked(self, incarnation=_check.integer("incarnation", self.incarnation, 1, 2**63 - 1))


@takes(OperatorOptions, "window tolerance epsilon delta seed")
class RemoteOperator:
    """The operator's side of load-aware shedding, for a shedder in another process.

    Parameters
    ----------
    window, tolerance, epsilon, delta, seed, stability, rounding, columns
        As for `CostLearner`; the shedder needs the same `epsilon`, `delta`, `rounding`, `columns`
        and `seed`.
    reports : int
        Also report the clock every so many executions; 0 for replies alone.
    clock : {"wall", "busy"}
        What is reported: the time, or the sum of execution times.
    incarnation : int
        To be raised each time the operator starts, from 1.

    Examples
    --------
    >>> from streamlb import RemoteOperator
    >>> operator = RemoteOperator(window=2, reports=4)
    >>> [len(operator.complete("tick", 1.0, now=float(i))) for i in range(4)]
    [0, 0, 0, 2]
    """

    __slots__ = ("completed", "learner", "options")

    def __init__(self, *args: Any, **options: Any):
        self.options: OperatorOptions = options_of(self, args, options)
        self.learner = CostLearner(**as_dict(self.options, LearnerOptions))
        self.completed = 0

    def hello(self) -> bytes:
        """Return the message that tells the shedder of this operator's start."""
        return encode(Hello(0, self.options.incarnation))

    def complete(self, key: Any, elapsed: Any, now: Any, request: bytes | None = None) -> list[bytes]:
        """Learn from an executed tuple and return the messages for the shedder.

        Parameters
        ----------
        key : int, str or bytes
            The tuple's key.
        elapsed : float
            How long it took, finite and not negative.
        now : float
            The time, of the clock that the shedder uses; taken as it is, as by
            `LoadAwareShedder.complete`.
        request : bytes, optional
            What came along with the tuple. Bytes that cannot be read are left unanswered: the
            shedder asks again.
        """
        elapsed, now = check_time("elapsed", elapsed, LONGEST), check_time("now", now)
        asked = _read_request(request)
        stable = self.learner.learn(key, elapsed)
        self.completed += 1
        incarnation, reports = self.options.incarnation, self.options.reports
        due = reports > 0 and self.completed % reports == 0
        if asked is None and not due and not stable:
            return []
        clock = self.learner.busy if self.options.clock == "busy" else now
        out = []
        if asked is not None:
            out.append(encode(Reply(0, incarnation, asked.epoch, clock, asked.estimate, asked.assigned)))
        if due:
            out.append(encode(Report(0, incarnation, self.completed, clock, self.learner.busy)))
        if stable:
            F, W = self.learner.take()
            out.append(encode(Matrices(0, incarnation, self.learner.sent, self.options.seed, F, W)))
        return out

    def __repr__(self) -> str:
        return show_call(self, f"completed {self.completed}, {self.learner.phase}, {self.learner.sent} matrices sent")


def _read_request(data: bytes | None) -> Request | None:
    if data is None:
        return None
    try:
        message = decode(data)
    except MessageError:
        return None
    return message if isinstance(message, Request) else None
