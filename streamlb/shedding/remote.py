"""Load-aware shedding with the shedder here and the operator elsewhere, talking in bytes (paper 003, figure 1).

`RemoteShedder.offer` decides and says in `request` what to send along with the kept tuple; `RemoteOperator.complete`
learns and gives the messages to carry back to `RemoteShedder.receive`. Messages (`streamlb.learning.messages`) may
be late, lost, repeated or out of order: stale ones are ignored and counted, a lost reply is asked for again, and the
shedder never blocks. Both sides need the same time base for `now`, since the operator's clock is compared with the
shedder's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from streamlb import _check
from streamlb.hashing import sketch_family
from streamlb.keys import key_int
from streamlb.learning.learner import CostLearner, sketch_shape
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
from streamlb.shedding import core
from streamlb.shedding.load_aware import Shedder, _time, protocol_slots


class RemoteShedder(Shedder):
    """The shedder's side of load-aware shedding, for an operator in another process.

    Parameters
    ----------
    threshold, window, epsilon, delta, seed, safety, goal, span, share
        As for `LoadAwareShedder`. The operator needs the same `epsilon`, `delta` and `seed`.
    reports, timeout, clamp, sync, check, start, clock, unseen, rounding
        As for `LoadAwareShedder`. The operator needs the same `reports`, `clock` and `rounding`.

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

    __slots__ = (
        "F",
        "W",
        "_at",
        "bad",
        "family",
        "incarnation",
        "marks",
        "request",
        "seed",
        "sequence",
        "stale",
        "used",
    )  # fmt: skip

    def __init__(
        self,
        threshold: Any = 6.4,
        window: Any = 1024,
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
        rounding: str = "ceil",
    ):
        self._s, self._ring, self._goal = core.goal_slots(threshold, goal, span, share, check)
        protocol_slots(
            self._s, window, 0.0, epsilon, safety, reports, timeout, clamp, sync, start, clock, unseen, "nonempty"
        )
        rows, columns = sketch_shape(epsilon, delta, rounding)
        self.seed = _check.seed_value(seed)
        self.family = sketch_family(rows, self.seed)
        self.F = np.zeros((1, rows, columns), np.int64)
        self.W = np.zeros((1, rows, columns))
        self._at = np.zeros(rows, np.int64)
        self.marks = np.zeros((core.MARKS if self._s[core.REPORTS] else 1, 2))
        self.request: bytes | None = None
        self.incarnation, self.sequence = 0, 0
        self.used, self.stale, self.bad = 0, 0, 0

    @property
    def phase(self) -> str:
        """NOP before the first matrices, SEND when a request is to go with the next kept tuple, then RUN."""
        return core.PHASES[int(self._s[core.PHASE])]

    @property
    def active(self) -> bool:
        """Whether the goal is being watched."""
        return bool(self._s[core.ACTIVE])

    @property
    def waiting(self) -> int:
        """Tuples kept since the request that is not answered yet; 0 when none is on its way."""
        return int(self._s[core.KEPT] - self._s[core.ASKED]) + 1 if self._s[core.WAITING] else 0

    def offer(self, key: Any, now: Any) -> bool:
        """Say whether to drop a tuple; if it is kept, send `request` along with it unless that is None."""
        number = key_int(key)
        now = _time("now", now)
        forced = -1 if self._goal is None else self._own_verdict(now)
        answer = core.offer_learnt(
            number, now, forced, self._s, 0, self.F, self.W, self.family, self._at, self._ring, self.marks
        )
        if answer == core.BACKWARDS:
            raise self._refuse(now)
        self.request = self._request() if answer == core.KEEP_AND_ASK else None
        return answer == core.DROP

    def complete(self, key: Any, elapsed: Any, now: Any = None) -> None:
        """Refuse: executions are told to the `RemoteOperator`."""
        raise TypeError("complete must be called on the RemoteOperator; the shedder hears from it through receive")

    def receive(self, data: bytes) -> bool:
        """Take a message of the operator; False when it was ignored as stale or bad (and counted)."""
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
        s = self._s
        believed = s[core.CLOCK] if s[core.BUSY_CLOCK] else s[core.CLOCK] + s[core.ORIGIN]
        return encode(Request(0, int(s[core.EPOCH]), float(believed), float(s[core.ASSIGNED])))

    def _fits(self, message: Any) -> bool:
        if not isinstance(message, Matrices):
            return True
        return message.F.shape == self.F.shape[1:] and message.seed == self.seed

    def _take(self, message: Any) -> bool:
        if message.incarnation > self.incarnation:
            self._restarted(message.incarnation)
            if isinstance(message, Hello):
                return True
        if isinstance(message, Hello):
            return False
        if isinstance(message, Matrices):
            if message.sequence <= self.sequence:
                return False
            self.sequence = message.sequence
            self.F[0], self.W[0] = message.F, message.W
            core.take_matrices(0, self._s, self.F, self.W)
            return True
        s = self._s
        clock = message.clock if s[core.BUSY_CLOCK] else message.clock - s[core.ORIGIN]
        if isinstance(message, Reply):
            if not s[core.WAITING] or message.epoch != s[core.EPOCH]:
                return False
            core.settle(float(clock), s)
            return True
        return bool(core.settle_report(float(message.completed), float(clock), s, self.marks))

    def _restarted(self, incarnation: int) -> None:
        """Follow an operator that started again: its queue is taken to be lost, what was known of costs stays.

        The clock is set back to the last tuple's time, and asked for again: what the old life held is no one's wait.
        """
        first = self.incarnation == 0
        self.incarnation, self.sequence = incarnation, 0
        if first:
            return
        s = self._s
        s[core.BASE], s[core.REPORTED], s[core.KNOWN] = s[core.KEPT], 0.0, 0.0
        s[core.CLOCK] = min(s[core.CLOCK], s[core.LAST] - s[core.ORIGIN])
        s[core.WAITING] = s[core.AGAIN] = 0.0
        if s[core.PHASE] != core.NOP:
            s[core.PHASE] = core.SEND

    def __repr__(self) -> str:
        unanswered = f", {self.waiting} kept since an unanswered request" if self.waiting else ""
        counts = f"offered {self.offered}, dropped {self.dropped}"
        return f"<RemoteShedder threshold {self.threshold:g}, {self.phase}: {counts}{unanswered}>"


class RemoteOperator:
    """The operator's side of load-aware shedding, for a shedder in another process.

    Parameters
    ----------
    window, tolerance, epsilon, delta, seed, stability, rounding
        As for `CostLearner`; the shedder needs the same `epsilon`, `delta`, `rounding` and `seed`.
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

    __slots__ = ("_busy_clock", "completed", "incarnation", "learner", "reports")

    def __init__(
        self, window: Any = 1024, tolerance: Any = 0.05, epsilon: Any = 0.05, delta: Any = 0.1, seed: Any = 0, *,
        reports: Any = 0, clock: str = "wall", incarnation: Any = 1, stability: str = "nonempty", rounding: str = "ceil",
    ):  # fmt: skip
        self.learner = CostLearner(window, tolerance, epsilon, delta, seed, stability, rounding)
        self.reports = _check.integer("reports", reports, 0)
        self._busy_clock = _check.choice("clock", clock, ("wall", "busy")) == "busy"
        self.incarnation = _check.integer("incarnation", incarnation, 1, 2**63 - 1)
        self.completed = 0

    def hello(self) -> bytes:
        """Return the message that tells the shedder of this operator's start."""
        return encode(Hello(0, self.incarnation))

    def complete(self, key: Any, elapsed: Any, now: Any, request: bytes | None = None) -> list[bytes]:
        """Learn from an executed tuple and return the messages for the shedder.

        Parameters
        ----------
        key : int, str or bytes
            The tuple's key.
        elapsed : float
            How long it took, finite and not negative.
        now : float
            The time, of the clock that the shedder uses; taken as it is, as by `LoadAwareShedder.complete`.
        request : bytes, optional
            What came along with the tuple. Bytes that cannot be read are left unanswered: the shedder asks again.
        """
        number = key_int(key)
        elapsed, now = _time("elapsed", elapsed), _time("now", now)
        asked = _read_request(request)
        stable = self.learner._learn(number, elapsed)
        self.completed += 1
        clock = self.learner.busy if self._busy_clock else now
        out = []
        if asked is not None:
            reply = Reply(0, self.incarnation, asked.epoch, clock, asked.estimate, asked.assigned)
            out.append(encode(reply))
        if self.reports and self.completed % self.reports == 0:
            out.append(encode(Report(0, self.incarnation, self.completed, clock, self.learner.busy)))
        if stable:
            F, W = self.learner.take()
            out.append(encode(Matrices(0, self.incarnation, self.learner.sent, self.learner.seed, F, W)))
        return out

    def __repr__(self) -> str:
        return f"<RemoteOperator incarnation {self.incarnation}, completed {self.completed}: {self.learner!r}>"


def _read_request(data: bytes | None) -> Request | None:
    if data is None:
        return None
    try:
        message = decode(data)
    except MessageError:
        return None
    return message if isinstance(message, Request) else None
