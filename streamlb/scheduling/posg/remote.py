"""POSG in two halves that talk in bytes: scheduler and instance (Rivetti et al. 2015, figure 1).

The scheduler never waits for a message. What is late, lost, doubled, out of order, of an earlier
life of an instance, of another version or altered is counted and changes nothing. The scheduler's
state is that of `scheduler` and one `LIFE` for each instance, an instance's state is that of
`CostLearner`.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from streamlb import _check
from streamlb._jit import njit, record
from streamlb._options import as_dict, options_of, show_call, takes
from streamlb.keys import key_int
from streamlb.learning.learner import EMPTY, LONGEST, Cells, CostLearner, LearnerOptions, worth_sending
from streamlb.learning.messages import Hello, Matrices, MessageError, Reply, Report, Request, decode, encode
from streamlb.scheduling.posg.options import INSTANCE_ORDER, SCHEDULER_ORDER, InstanceOptions, POSGOptions
from streamlb.scheduling.posg.scheduler import (
    Scheduling,
    accept_matrices,
    accept_reply,
    enter_instance,
    remove_instance,
    scheduler_of,
    submit_key,
)

# What the scheduler knows of the present life of an instance: its incarnation (0: not heard of,
# _LEFT: it left before it said anything) and the number of the last matrices taken.
LIFE = record([("incarnation", "i8"), ("sequence", "i8")])

_LEFT = -1
# Pairs held back in a row after which one is sent nevertheless: the last one sent may have been
# lost.
_REFRESH = 8
# How far beyond the known instances a new one may be numbered: a stray number must not allocate
# much.
_GAP = 64


@njit(cache=True, nogil=True)
def _submit(key, now, flat):
    """Return the instance of a tuple and whether it carries a request."""
    scheduler, _ = scheduler_of(flat)
    i = submit_key(key, now, scheduler)
    return i, scheduler.own[0].carries == 1


def _time(now: Any) -> float:
    return time.monotonic() if now is None else _check.real("now", now, -LONGEST, LONGEST)


@takes(POSGOptions, SCHEDULER_ORDER)
class POSGScheduler(Scheduling):
    """The scheduler's half of POSG: says where each tuple goes and takes the instances' messages.

    Parameters
    ----------
    instances : int
        How many instances there are at first; more join by their first message.
    window, tolerance, epsilon, delta, seed, stability, rounding, columns, clock, resend
        As for `POSG`, and the same as the instances'.
    idle, ties, unseen, synchronise, resync, timeout
        As for `POSG`.

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

    __slots__ = ("_lives", "rejected")

    def __init__(self, *args: Any, **options: Any):
        self.options = options_of(self, args, options)
        self._begin()
        self._lives = np.zeros(self.instances, LIFE)
        self.rejected = 0

    def submit(self, key: Any, now: Any = None) -> tuple[int, bytes | None]:
        """Return the instance of this tuple and the request that is to travel with it, if any.

        Parameters
        ----------
        key : int, str or bytes
            The attribute that drives the execution time.
        now : float, optional
            The present time, on the clock that the instances use; only ``idle="clamp"`` looks at
            it.
        """
        i, carries = _submit(key_int(key), _time(now), self._flat)
        if not carries:
            return i, None
        instance = self._scheduler.instances[i]
        return i, encode(Request(i, self.epoch, float(instance["clock"]), float(instance["assigned"])))

    def receive(self, data: bytes) -> bool:
        """Take a message of an instance; False when it was counted and ignored.

        Bytes that are no message add to `rejected`, messages that come too late or twice to
        ``messages["ignored"]``.
        """
        try:
            message = decode(data)
        except MessageError:
            self.rejected += 1
            return False
        if isinstance(message, (Request, Report)) or message.instance >= self.instances + _GAP:
            self.rejected += 1
            return False
        if isinstance(message, Matrices) and not self._fits(message):
            self.rejected += 1
            return False
        accepted = self._in_this_life(message)
        if not accepted or (isinstance(message, Matrices) and not self._is_next(message)):
            self._scheduler.own["ignored"] += 1
            return False
        if isinstance(message, Matrices):
            accept_matrices(message.instance, 0, Cells(message.F[None], message.W[None]), self._scheduler)
        elif isinstance(message, Reply):
            numbers = message.clock, message.estimate, message.assigned
            return accept_reply(message.instance, message.epoch, *numbers, self._scheduler)
        return True

    def _fits(self, message: Matrices) -> bool:
        """Whether matrices were made with this scheduler's hash functions and shape."""
        return message.seed == self.options.seed and message.F.shape == (self.options.rows, self.options.columns)

    def _in_this_life(self, message: Hello | Matrices | Reply) -> bool:
        """Whether a message is of its instance's latest life.

        The first message of a new life lets the instance join or start over.
        """
        i = message.instance
        while i >= self.instances:
            self._add()
        life, known = message.incarnation, int(self._lives[i]["incarnation"])
        if life < known:
            return False
        if known == _LEFT and not isinstance(message, Hello):  # said before it was told to leave
            self._lives[i]["incarnation"] = life
            return False
        if life > known:
            first = known == 0 and self.active[i] and not self.known[i]
            self._lives[i] = life, 0
            if not first:  # its clock and what it carried are those of another life
                remove_instance(i, self._scheduler)
                enter_instance(i, self._scheduler)
        return bool(self.active[i])

    def _is_next(self, message: Matrices) -> bool:
        """Whether matrices are newer than the last that this instance sent; if so, note it."""
        life = self._lives[message.instance]
        if message.sequence <= life["sequence"]:
            return False
        life["sequence"] = message.sequence
        return True

    def _add(self) -> None:
        """Make room for one more instance, which takes part from its first message on."""
        i = self._grow()
        added = self._scheduler.instances[i]
        added["active"], added["clock"] = 0, np.inf
        self._lives = np.append(self._lives, np.zeros(1, LIFE))

    def leave(self, instance: Any) -> None:
        """Send an instance no more tuples; a message of a later life brings it back.

        The last one cannot leave.
        """
        super().leave(instance)
        if self._lives[instance]["incarnation"] == 0:
            self._lives[instance]["incarnation"] = _LEFT


@takes(InstanceOptions, INSTANCE_ORDER)
class POSGInstance:
    """An instance's half of POSG: learns from each execution and says what to send.

    Parameters
    ----------
    instance : int
        Its number.
    window, tolerance, epsilon, delta, seed, stability, rounding, columns
        As for `POSG`, and the same as the scheduler's.
    clock : {"wall", "busy"}
        What it reports: when it completed a tuple, or the sum of its execution times.
    resend : {"always", "changed"}
        Whether every stable pair of matrices is sent, or only one that differs from the last. Of
        those that do not, every ninth in a row is sent too, as the last may have been lost.
    incarnation : int, optional
        Grows each time the instance starts; by default the time in nanoseconds.

    Examples
    --------
    >>> from streamlb import POSGInstance
    >>> instance = POSGInstance(0, window=2)
    >>> [len(instance.complete(key, 1.0, now=float(key))) for key in range(4)]
    [0, 0, 0, 1]

    Notes
    -----
    All instances must read one clock: `time.monotonic` on one machine (the default), else
    synchronised time given as `now`, in the unit of `elapsed`.
    """

    __slots__ = ("_held", "_sent", "learner", "options", "suppressed")

    def __init__(self, *args: Any, **options: Any):
        self.options: InstanceOptions = options_of(self, args, options)
        self.learner = CostLearner(**as_dict(self.options, LearnerOptions))
        self._sent = np.full_like(self.learner.snapshot, EMPTY)
        self.suppressed = self._held = 0

    def hello(self) -> bytes:
        """Return the message that says that this instance started.

        It lets the instance join or restart before it has any matrices to send.
        """
        return encode(Hello(self.options.instance, self.options.incarnation))

    def complete(self, key: Any, elapsed: Any, request: bytes | None = None, now: Any = None) -> list[bytes]:
        """Learn how long a tuple took; return the messages for the scheduler, mostly none.

        Parameters
        ----------
        key : int, str or bytes
            The tuple's attribute.
        elapsed : float
            Its execution time, finite and not negative.
        request : bytes, optional
            What came with the tuple. A `MessageError` tells that it is no request for this
            instance; nothing is learnt then.
        now : float, optional
            When it was completed.
        """
        elapsed = _check.real("elapsed", elapsed, 0.0, LONGEST)
        asked = None if request is None else self._request(request)
        now = _time(now)
        stable = self.learner.learn(key, elapsed)
        out = []
        if asked is not None:
            out.append(self._reply(asked, now))
        if stable:
            out += self._matrices()
        return out

    def _reply(self, asked: Request, now: float) -> bytes:
        options = self.options
        clock = self.learner.busy if options.clock == "busy" else now
        return encode(Reply(options.instance, options.incarnation, asked.epoch, clock, asked.estimate, asked.assigned))

    def _matrices(self) -> list[bytes]:
        """Take the matrices; return their message, or none where they are held back."""
        options, learner = self.options, self.learner
        hold = options.resend == "changed" and not self._changed() and self._held < _REFRESH
        F, W = learner.take()
        if hold:
            self.suppressed += 1
            self._held += 1
            return []
        self._held = 0
        # The number of matrices taken grows with gaps where some were held back.
        return [encode(Matrices(options.instance, options.incarnation, learner.sent, options.seed, F, W))]

    def _changed(self) -> bool:
        return worth_sending(0, Cells(self.learner.F, self.learner.W), self._sent, self.options.tolerance)

    def _request(self, data: bytes) -> Request:
        message = decode(data)
        if not isinstance(message, Request) or message.instance != self.options.instance:
            raise MessageError(f"request must be one to instance {self.options.instance}, got {message!r}")
        return message

    def __repr__(self) -> str:
        return show_call(self, f"{self.learner.phase}, {self.learner.sent} matrices sent")
