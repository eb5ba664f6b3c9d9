"""POSG in two halves that talk in bytes: the scheduler here, an instance there (paper 000, section III-B, figure 1).

The scheduler never waits for a message. What is late, lost, doubled, out of order, of an earlier life of an instance,
of another version or altered is counted and changes nothing. State: as in `protocol` for the scheduler (one row of
lives int64[2, instances] more: the incarnation of each instance and the number of its last matrices), as in `learner`
for an instance.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from streamlb import _check
from streamlb.hashing import sketch_family
from streamlb.keys import key_int
from streamlb.learning.learner import LONGEST, CostLearner, worth_sending
from streamlb.learning.messages import Hello, Matrices, MessageError, Reply, Report, Request, decode, encode
from streamlb.scheduling.posg import _grown, _submit_one, check_not_last, count_messages
from streamlb.scheduling.protocol import (
    ACTIVE,
    ASSIGNED,
    CARRIES,
    CLOCK,
    CLOCK_RULES,
    EPOCH,
    IGNORED,
    KNOWN,
    PHASE,
    PHASES,
    SEND_RULES,
    SUBMITTED,
    Rules,
    accept_matrices,
    accept_reply,
    enter_instance,
    remove_instance,
)

_REFRESH = 8  # pairs held back in a row after which one is sent nevertheless: the last one sent may have been lost
_LEFT = -1  # the life of an instance that left before it said anything
_GAP = 64  # how far beyond the known instances a new one may be numbered: a stray number must not allocate much


def _time(now: Any) -> float:
    return time.monotonic() if now is None else _check.real("now", now, -LONGEST, LONGEST)


class POSGScheduler:
    """The scheduler's half of POSG: says where each tuple goes and takes the instances' messages, whenever they come.

    Parameters
    ----------
    instances : int
        How many instances there are at first; more join by their first message.
    window, tolerance, epsilon, delta, seed, **options
        As for `POSG`, and the same as the instances'.

    Examples
    --------
    >>> from streamlb import POSGInstance, POSGScheduler
    >>> scheduler = POSGScheduler(2, window=2, clock="busy")
    >>> instances = [POSGInstance(i, window=2, clock="busy") for i in range(2)]
    >>> for key in range(20):
    ...     i, request = scheduler.submit(key % 2)
    ...     for message in instances[i].complete(key % 2, 3.0, request):
    ...         accepted = scheduler.receive(message)
    >>> scheduler.phase
    'RUN'
    >>> scheduler.receive(b"garbage"), scheduler.rejected
    (False, 1)
    """

    __slots__ = ("_at", "_family", "_lives", "_rules", "_scheduler", "rejected")

    def __init__(
        self,
        instances: Any,
        window: Any = 1024,
        tolerance: Any = 0.05,
        epsilon: Any = 0.05,
        delta: Any = 0.1,
        seed: Any = 0,
        **options: Any,
    ):
        self._rules = rules = Rules(instances, window, tolerance, epsilon, delta, seed, **options)
        self._family = sketch_family(rules.rows, rules.seed)
        self._at = np.zeros(rules.rows, np.int64)
        self._scheduler = tuple(rules.scheduler().values())
        self._lives = np.zeros((2, rules.instances), np.int64)
        self.rejected = 0

    def submit(self, key: Any, now: Any = None) -> tuple[int, bytes | None]:
        """Return the instance of this tuple and the request that is to travel with it, if any.

        Parameters
        ----------
        key : int, str or bytes
            The attribute that drives the execution time.
        now : float, optional
            The present time, on the clock that the instances use; only ``idle="clamp"`` looks at it.
        """
        i = _submit_one(key_int(key), _time(now), self._family, *self._scheduler, self._at)
        clocks, regs = self._scheduler[2], self._scheduler[4]
        if regs[CARRIES] == 0:
            return i, None
        believes = float(clocks[CLOCK, i]), float(clocks[ASSIGNED, i])
        return i, encode(Request(i, int(regs[EPOCH]), *believes))

    def receive(self, data: bytes) -> bool:
        """Take a message of an instance; False when it was counted and ignored.

        Bytes that are no message add to `rejected`, messages that come too late or twice to ``messages["ignored"]``.
        """
        try:
            message = decode(data)
        except MessageError:
            self.rejected += 1
            return False
        if isinstance(message, (Request, Report)) or message.instance >= self.instances + _GAP:
            self.rejected += 1
            return False
        if isinstance(message, Matrices) and (message.seed != self._rules.seed or message.F.shape != self._at_shape()):
            self.rejected += 1
            return False
        if not self._in_this_life(message):
            self._scheduler[4][IGNORED] += 1
            return False
        if isinstance(message, Matrices):
            return self._take_matrices(message)
        if isinstance(message, Reply):
            numbers = message.clock, message.estimate, message.assigned
            return accept_reply(message.instance, message.epoch, *numbers, *self._scheduler[2:])
        return True

    def _at_shape(self) -> tuple[int, int]:
        return self._rules.rows, self._rules.columns

    def _in_this_life(self, message: Hello | Matrices | Reply) -> bool:
        """Whether a message is of the latest life of its instance; the first of a new life lets it join or start over."""
        i = message.instance
        while i >= self._lives.shape[1]:
            self._add()
        life, known = message.incarnation, int(self._lives[0, i])
        if life < known:
            return False
        if known == _LEFT and not isinstance(message, Hello):  # said before it was told to leave
            self._lives[0, i] = life
            return False
        if life > known:
            first = known == 0 and self._scheduler[3][ACTIVE, i] == 1 and self._scheduler[3][KNOWN, i] == 0
            self._lives[:, i] = life, 0
            if not first:  # its clock and what it carried are those of another life
                remove_instance(i, *self._scheduler[2:])
                enter_instance(i, self._rules.busy, *self._scheduler)
        return bool(self._scheduler[3][ACTIVE, i])

    def _add(self) -> None:
        """Make room for one more instance, which takes part from its first message on."""
        F, W, clocks, marks, regs = self._scheduler
        self._scheduler = _grown(F, 0), _grown(W, 0), _grown(clocks, 1, np.inf), _grown(marks, 1), regs
        self._lives = _grown(self._lives, 1)

    def _take_matrices(self, message: Matrices) -> bool:
        i = message.instance
        if message.sequence <= self._lives[1, i]:
            self._scheduler[4][IGNORED] += 1
            return False
        self._lives[1, i] = message.sequence
        accept_matrices(i, 0, message.F[None], message.W[None], *self._scheduler)
        return True

    def leave(self, instance: Any) -> None:
        """Send an instance no more tuples; a message of a later life brings it back. The last one cannot leave."""
        instance = _check.integer("instance", instance, 0, self.instances - 1)
        check_not_last(instance, self._scheduler[3])
        remove_instance(instance, *self._scheduler[2:])
        if self._lives[0, instance] == 0:
            self._lives[0, instance] = _LEFT

    @property
    def instances(self) -> int:
        """How many instances there are, those that left included."""
        return self._lives.shape[1]

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
    def messages(self) -> dict[str, int]:
        """Messages taken and sent, see `POSG.messages`."""
        return count_messages(self._scheduler[4], self._rules)

    def __repr__(self) -> str:
        tuples = self._scheduler[4][SUBMITTED]
        return f"<POSGScheduler {self.instances} instances, {self.phase}, epoch {self.epoch}, {tuples} tuples>"


class POSGInstance:
    """An operator instance's half of POSG: learns from each execution and says what to send to the scheduler.

    Parameters
    ----------
    instance : int
        Its number.
    window, tolerance, epsilon, delta, seed, stability, rounding, columns
        As for `POSG`, and the same as the scheduler's.
    clock : {"wall", "busy"}
        What it reports: when it completed a tuple, or the sum of its execution times.
    incarnation : int, optional
        Grows each time the instance starts; by default the time in nanoseconds.
    resend : {"always", "changed"}
        Whether every stable pair of matrices is sent, or only one that differs from the last. Of those that do not,
        every ninth in a row is sent too, as the last may have been lost.

    Examples
    --------
    >>> from streamlb import POSGInstance
    >>> instance = POSGInstance(0, window=2)
    >>> [len(instance.complete(key, 1.0, now=float(key))) for key in range(4)]
    [0, 0, 0, 1]

    Notes
    -----
    All instances must read one clock: `time.monotonic` on one machine (the default), else synchronised time given as
    `now`, in the unit of `elapsed`.
    """

    __slots__ = ("_held", "_sent", "busy", "incarnation", "instance", "learner", "on_change", "suppressed")

    def __init__(
        self,
        instance: Any,
        window: Any = 1024,
        tolerance: Any = 0.05,
        epsilon: Any = 0.05,
        delta: Any = 0.1,
        seed: Any = 0,
        stability: str = "nonempty",
        rounding: str = "ceil",
        clock: str = "wall",
        incarnation: Any = None,
        resend: str = "always",
        columns: Any = None,
    ):
        self.instance = _check.integer("instance", instance, 0, 2**20 - 1)
        self.busy = _check.choice("clock", clock, CLOCK_RULES) == "busy"
        self.incarnation = (
            time.time_ns() if incarnation is None else _check.integer("incarnation", incarnation, 1, 2**63 - 1)
        )
        self.on_change = _check.choice("resend", resend, SEND_RULES) == "changed"
        self.learner = CostLearner(window, tolerance, epsilon, delta, seed, stability, rounding, columns)
        self._sent = np.full_like(self.learner.snapshot, -1.0)
        self.suppressed = self._held = 0

    def hello(self) -> bytes:
        """Return the message that says that this instance started; needed to join or restart before any matrices."""
        return encode(Hello(self.instance, self.incarnation))

    def complete(self, key: Any, elapsed: Any, request: bytes | None = None, now: Any = None) -> list[bytes]:
        """Learn how long a tuple took; return the messages for the scheduler, mostly none.

        Parameters
        ----------
        key : int, str or bytes
            The tuple's attribute.
        elapsed : float
            Its execution time, finite and not negative.
        request : bytes, optional
            What came with the tuple. A `MessageError` tells that it is no request for this instance; nothing is
            learnt then.
        now : float, optional
            When it was completed.
        """
        asked = None if request is None else self._request(request)
        now = _time(now)
        stable = self.learner.learn(key, elapsed)
        out = []
        if asked is not None:
            clock = self.learner.busy if self.busy else now
            out.append(
                encode(Reply(self.instance, self.incarnation, asked.epoch, clock, asked.estimate, asked.assigned))
            )
        if stable and self.on_change and not self._changed() and self._held < _REFRESH:
            self.learner.take()
            self.suppressed += 1
            self._held += 1
        elif stable:
            self._held = 0
            F, W = self.learner.take()
            ids = self.instance, self.incarnation, self.learner.sent, self.learner.seed  # numbers grow, with gaps
            out.append(encode(Matrices(*ids, F, W)))
        return out

    def _changed(self) -> bool:
        return worth_sending(0, self.learner.F, self.learner.W, self._sent, self.learner.tolerance)

    def _request(self, data: bytes) -> Request:
        message = decode(data)
        if not isinstance(message, Request) or message.instance != self.instance:
            raise MessageError(f"request must be one to instance {self.instance}, got {message!r}")
        return message

    def __repr__(self) -> str:
        return f"<POSGInstance {self.instance}, {self.learner.phase}, {self.learner.sent} matrices sent>"
