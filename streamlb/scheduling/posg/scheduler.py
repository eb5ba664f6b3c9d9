"""POSG's scheduler: states, epochs, corrections (Rivetti et al. 2015, section III-B, figure 3).

ROUND_ROBIN lasts until every instance has sent matrices. In SEND_ALL the next tuples go to the
instances in turn and carry a request. In WAIT_ALL tuples are scheduled greedily while the replies
come in, and in RUN they are scheduled greedily. Greedy takes the instance with the least estimated
clock and adds the tuple's estimate to it (listing III.2). New matrices, or `resync` tuples in RUN,
start SEND_ALL again under the next epoch. If the settings say `staggered`, only the first
synchronisation is such a barrier: from then on each instance is asked alone every `resync` tuples,
and its reply is applied at once.

All state is one flat int64 array, because each array costs a live call 40 ns. Its layout is known
to `_parts` and `scheduler_of` only; the latter gives the records and cells in it as a `Scheduler`.
"""

from __future__ import annotations

from collections import namedtuple
from dataclasses import replace
from typing import Any

import numpy as np

from streamlb import _check
from streamlb._jit import likely, njit, record
from streamlb._options import show_call
from streamlb.hashing import sketch_family
from streamlb.keys import key_int
from streamlb.learning import messages
from streamlb.learning.learner import Cells, clear_pair, copy_pair, estimate_cost, find_columns, mean_cost
from streamlb.scheduling.posg.options import NEVER, SETTINGS, POSGOptions

ROUND_ROBIN, SEND_ALL, WAIT_ALL, RUN = 0, 1, 2, 3
PHASES = ("ROUND_ROBIN", "SEND_ALL", "WAIT_ALL", "RUN")

# The scheduler's registers: its phase, the number of the present synchronisation, whose turn is
# next, tuples since the phase began, tuples that the phase may last before something is due, tuples
# submitted, whether the last of them carries a request; and counters of matrices and replies taken,
# requests sent, synchronisations done, synchronisations given up waiting for, and messages ignored.
SCHEDULER = record(
    [
        ("phase", "i8"),
        ("epoch", "i8"),
        ("turn", "i8"),
        ("since", "i8"),
        ("limit", "i8"),
        ("submitted", "i8"),
        ("carries", "i8"),
        ("matrices", "i8"),
        ("replies", "i8"),
        ("requests", "i8"),
        ("syncs", "i8"),
        ("timeouts", "i8"),
        ("ignored", "i8"),
    ]
)
# What the scheduler knows of an instance: its estimated clock (infinite for one that left), all
# that was ever assigned to it, its mean cost, the correction that it sent and that is not yet
# applied, and what is to be added to the clocks that it reports; whether it takes part, whether it
# has sent matrices, the epochs of its last request and of its last reply, and the numbers of the
# tuple for which it was last chosen and of the one from which on it is to be asked alone.
INSTANCE = record(
    [
        ("clock", "f8"),
        ("assigned", "f8"),
        ("average", "f8"),
        ("correction", "f8"),
        ("offset", "f8"),
        ("active", "i8"),
        ("known", "i8"),
        ("asked", "i8"),
        ("replied", "i8"),
        ("used", "i8"),
        ("due", "i8"),
    ]
)

# A scheduler: the matrices it received (Cells[instances]), INSTANCE[instances], SCHEDULER[1],
# SETTINGS[1], the hash functions uint64[rows, 3], and uint64[rows] for the columns of one key.
Scheduler = namedtuple("Scheduler", "cells instances own settings family at")

_SETTINGS, _OWN, _INSTANCE = (kind.itemsize // 8 for kind in (SETTINGS, SCHEDULER, INSTANCE))


@njit(cache=True, nogil=True)
def _parts(k, rows, columns):
    """Return where the parts of the flat array begin, from the second on, and where it ends."""
    own = _SETTINGS
    family = own + _OWN
    at = family + 3 * rows
    instances = at + rows
    F = instances + k * _INSTANCE
    W = F + k * rows * columns
    return own, family, at, instances, F, W, W + k * rows * columns


@njit(cache=True, nogil=True)
def scheduler_of(flat):
    """Return the `Scheduler` at the beginning of a flat array, and where it ends."""
    settings = flat[:_SETTINGS].view(SETTINGS)
    shape = settings[0]["instances"], settings[0]["rows"], settings[0]["columns"]
    own, family, at, instances, F, W, end = _parts(*shape)
    scheduler = Scheduler(
        Cells(flat[F:W].reshape(shape), flat[W:end].view(np.float64).reshape(shape)),
        flat[instances:F].view(INSTANCE),
        flat[own:family].view(SCHEDULER),
        settings,
        flat[family:at].view(np.uint64).reshape((shape[1], 3)),
        flat[at:instances].view(np.uint64),
    )
    return scheduler, end


@njit(cache=True, nogil=True)
def _next_in_turn(start, instances):
    """Return the first active instance from `start` on, cyclically; -1 when there is none."""
    k = instances.size
    for step in range(k):
        i = start + step
        if i >= k:
            i -= k
        if instances[i].active == 1:
            return i
    return -1


@njit(cache=True, nogil=True, forceinline=True)
def least_loaded(now, instances, clamp, least_recent):
    """Return the instance of least estimated clock; if `clamp`, none counts as less than `now`."""
    best = 0
    least = instances[0].clock
    if clamp and least < now:
        least = now
    for i in range(1, instances.size):
        clock = instances[i].clock
        if clamp and clock < now:
            clock = now
        if clock < least or (least_recent and clock == least and instances[i].used < instances[best].used):
            least = clock
            best = i
    return best


@njit(cache=True, nogil=True)
def _begin_sync(own):
    """Start the next epoch: every instance will be asked."""
    own.phase = SEND_ALL
    own.epoch += 1
    own.turn = 0
    own.since = 0


@njit(cache=True, nogil=True)
def _enter_run(scheduler):
    own, resync = scheduler.own[0], scheduler.settings[0].resync
    own.phase = RUN
    own.since = 0
    own.limit = resync if resync > 0 and scheduler.settings[0].staggered == 0 else NEVER
    k = scheduler.instances.size
    for i in range(k):
        scheduler.instances[i].due = own.submitted + (resync * (i + 1)) // k


@njit(cache=True, nogil=True)
def _correct(instance, clamp):
    """Apply the correction of an instance that replied; return by how much its clock moved."""
    before = instance.clock
    if clamp:  # absolute: the reported clock plus what was assigned since the request
        instance.clock = instance.correction + instance.assigned
    else:
        instance.clock = before + instance.correction
    return instance.clock - before


@njit(cache=True, nogil=True)
def _synchronise(scheduler):
    """Correct the clocks by the replies of this epoch and run.

    The clock of an instance that did not reply moves as those of the others did on average.
    """
    instances, own = scheduler.instances, scheduler.own[0]
    moved = 0.0
    replied = 0
    for i in range(instances.size):
        if instances[i].active == 1 and instances[i].replied == own.epoch:
            moved += _correct(instances[i], scheduler.settings[0].clamp == 1)
            replied += 1
    for i in range(instances.size):
        instance = instances[i]
        if instance.active == 1 and instance.replied != own.epoch:
            if replied > 0:
                instance.clock += moved / replied
            instance.asked = instance.replied  # its answer, should it still come, is stale
    own.syncs += 1
    _enter_run(scheduler)


@njit(cache=True, nogil=True)
def is_awaited(instance, epoch):
    """Return whether an instance was asked in this epoch and has not replied."""
    return (instance.active == 1) & (instance.asked == epoch) & (instance.replied != epoch)


@njit(cache=True, nogil=True)
def _end_of_waiting(scheduler):
    """Synchronise when the scheduler waits and every reply is in."""
    own = scheduler.own[0]
    if own.phase == WAIT_ALL:
        for i in range(scheduler.instances.size):
            if is_awaited(scheduler.instances[i], own.epoch):
                return
        _synchronise(scheduler)


@njit(cache=True, nogil=True)
def _ask(instance, own):
    """Let the tuple now submitted to an instance carry a request."""
    instance.asked = own.epoch
    own.carries = 1
    own.requests += 1


@njit(cache=True, nogil=True)
def _ask_alone(instance, own, settings):
    """Ask an instance outside of any barrier, unless a reply of it is still on its way."""
    if instance.replied == instance.asked or own.submitted - instance.due >= settings.timeout:
        own.epoch += 1
        instance.due = own.submitted + settings.resync
        _ask(instance, own)


@njit(cache=True, nogil=True)
def _send_in_turn(scheduler):
    """Return the next instance to ask; after the last one the scheduler waits."""
    instances, own = scheduler.instances, scheduler.own[0]
    i = _next_in_turn(own.turn, instances)
    _ask(instances[i], own)
    following = _next_in_turn(i + 1 if i + 1 < instances.size else 0, instances)
    own.turn = following
    if following <= i:
        own.phase = WAIT_ALL
        own.since = 0
        own.limit = scheduler.settings[0].timeout
    return i


@njit(cache=True, nogil=True)
def _choose_in_turn(scheduler):
    """Return the instance whose turn it is, where greedy does not apply.

    Where the replies awaited have taken too long, the scheduler runs without them, and -1 says that
    greedy applies after all.
    """
    own = scheduler.own[0]
    if own.phase == RUN:
        _begin_sync(own)
    elif own.phase == WAIT_ALL:
        own.timeouts += 1
        _synchronise(scheduler)
        return -1
    if own.phase == SEND_ALL:
        own.since += 1
        return _send_in_turn(scheduler)
    i = _next_in_turn(own.turn, scheduler.instances)
    own.turn = i + 1 if i + 1 < scheduler.instances.size else 0
    return i


@njit(cache=True, nogil=True, forceinline=True)
def choose_instance(now, scheduler):
    """Return the instance of the next tuple; at least one takes part.

    The register `carries` says whether the tuple takes a request along.
    """
    own, settings = scheduler.own[0], scheduler.settings[0]
    own.carries = 0
    own.submitted += 1
    if not likely(own.phase >= WAIT_ALL and own.since < own.limit):
        i = _choose_in_turn(scheduler)
        if i >= 0:
            return i
    own.since += 1
    i = least_loaded(now, scheduler.instances, settings.clamp == 1, settings.least_recent == 1)
    instance = scheduler.instances[i]
    instance.used = own.submitted
    if settings.staggered == 1 and own.phase == RUN and own.submitted >= instance.due:
        _ask_alone(instance, own, settings)
    return i


@njit(cache=True, nogil=True, forceinline=True)
def estimate_at(i, scheduler):
    """Return what the key with the columns `scheduler.at` is expected to cost on instance i."""
    unseen = 0.0 if scheduler.settings[0].unseen_zero == 1 else scheduler.instances[i].average
    return estimate_cost(scheduler.at, i, scheduler.cells, unseen)


@njit(cache=True, nogil=True, forceinline=True)
def charge(i, now, scheduler):
    """Add what the key with the columns `scheduler.at` costs on instance i to its clock."""
    instance = scheduler.instances[i]
    cost = estimate_at(i, scheduler)
    clock = instance.clock
    if scheduler.settings[0].clamp == 1 and clock < now:
        clock = now
    instance.clock = clock + cost
    instance.assigned += cost


@njit(cache=True, nogil=True)
def submit_key(key, now, scheduler):
    """Return the instance of a tuple, its estimate added to that instance's clock."""
    i = choose_instance(now, scheduler)
    if scheduler.own[0].phase != ROUND_ROBIN:
        find_columns(key, scheduler.family, scheduler.cells.F.shape[2], scheduler.at)
        charge(i, now, scheduler)
    return i


@njit(cache=True, nogil=True)
def _all_known(instances):
    known = 0
    for i in range(instances.size):
        if instances[i].active == 1:
            if instances[i].known == 0:
                return False
            known += 1
    return known > 0


@njit(cache=True, nogil=True)
def accept_matrices(i, source, from_cells, scheduler):
    """Take entry `source` of a stack of pairs as the matrices of instance i."""
    instance, own = scheduler.instances[i], scheduler.own[0]
    copy_pair(source, from_cells, i, scheduler.cells)
    instance.average = mean_cost(i, scheduler.cells)
    instance.known = 1
    own.matrices += 1
    if own.phase != ROUND_ROBIN:
        if scheduler.settings[0].staggered == 0:
            _begin_sync(own)
    elif _all_known(scheduler.instances):
        _begin_sync(own)


@njit(cache=True, nogil=True)
def accept_reply(i, epoch, clock, estimate, assigned, scheduler):
    """Take an instance's reply; False, and counted, when it is stale, doubled or not awaited."""
    instance, own, settings = scheduler.instances[i], scheduler.own[0], scheduler.settings[0]
    alone = own.phase == RUN and settings.staggered == 1
    in_epoch = epoch == own.epoch and (own.phase == SEND_ALL or own.phase == WAIT_ALL)
    if not is_awaited(instance, epoch) or not (alone or in_epoch):
        own.ignored += 1
        return False
    own.replies += 1
    instance.replied = epoch
    believed = assigned if settings.clamp == 1 else estimate
    instance.correction = clock + instance.offset - believed
    if alone:
        _correct(instance, settings.clamp == 1)
    else:
        _end_of_waiting(scheduler)
    return True


@njit(cache=True, nogil=True)
def enter_instance(i, scheduler):
    """Let instance i take part, with no matrices.

    Where others are known, it starts at their mean clock and cost.
    """
    instances, own, settings = scheduler.instances, scheduler.own[0], scheduler.settings[0]
    clear_pair(i, scheduler.cells)
    clock, cost, known = 0.0, 0.0, 0
    for j in range(instances.size):
        if instances[j].active == 1 and instances[j].known == 1:
            clock += instances[j].clock
            cost += instances[j].average
            known += 1
    fresh = instances[i]
    fresh.clock = clock / known if known > 0 else 0.0
    fresh.average = cost / known if known > 0 else 0.0
    # A fresh instance counts its busy time from 0.
    fresh.offset = fresh.clock if settings.busy == 1 else 0.0
    fresh.assigned = fresh.correction = 0.0
    fresh.active = 1
    fresh.known = fresh.used = fresh.due = 0
    fresh.asked = fresh.replied = -1
    if own.phase != ROUND_ROBIN and (settings.staggered == 0 or own.phase != RUN):
        _begin_sync(own)


@njit(cache=True, nogil=True)
def remove_instance(i, scheduler):
    """Let instance i go; what was awaited from it is awaited no more."""
    instances, own = scheduler.instances, scheduler.own[0]
    instances[i].active = instances[i].known = 0
    instances[i].clock = np.inf
    known = 0
    for j in range(instances.size):
        known += instances[j].active * instances[j].known
    if known == 0:  # nothing is known any more
        own.phase = ROUND_ROBIN
        own.turn = 0
    elif own.phase == SEND_ALL or (own.phase == ROUND_ROBIN and _all_known(instances)):
        _begin_sync(own)  # in SEND_ALL its turn may have been next
    else:
        _end_of_waiting(scheduler)


@njit(cache=True, nogil=True)
def _estimate_key(key, i, flat):
    scheduler, _ = scheduler_of(flat)
    find_columns(key, scheduler.family, scheduler.cells.F.shape[2], scheduler.at)
    return estimate_at(i, scheduler)


def count_messages(scheduler: Scheduler, options: POSGOptions) -> dict[str, int]:
    """Return the counters of a scheduler, with the bytes that its messages take."""
    own = scheduler.own[0]
    matrices, replies, requests = int(own["matrices"]), int(own["replies"]), int(own["requests"])
    size = messages.size_of
    return {
        "matrices": matrices,
        "replies": replies,
        "requests": requests,
        "bytes": matrices * size(messages.Matrices, options.rows, options.columns) + replies * size(messages.Reply),
        "piggybacked_bytes": requests * size(messages.Request),
        "synchronisations": int(own["syncs"]),
        "timeouts": int(own["timeouts"]),
        "ignored": int(own["ignored"]),
    }


def new_scheduler(options: POSGOptions, more: int = 0) -> np.ndarray:
    """Return the flat array of a fresh scheduler, with room for `more` numbers behind it."""
    end = _parts(options.instances, options.rows, options.columns)[-1]
    flat = np.zeros(end + more, np.int64)
    flat[:_SETTINGS] = options.settings().view(np.int64)
    scheduler = scheduler_of.py_func(flat)[0]
    scheduler.family[:] = sketch_family(options.rows, options.seed)
    scheduler.instances["active"] = 1
    scheduler.instances["asked"] = scheduler.instances["replied"] = -1
    return flat


class Scheduling:
    """What `POSG` and `POSGScheduler` share: a scheduler's state, and what users see of it."""

    __slots__ = ("_flat", "instances", "options")

    instances: int
    options: POSGOptions

    def _new_state(self) -> np.ndarray:
        """Return the flat array of a fresh object with these options."""
        return new_scheduler(self.options)

    def _by_instance(self) -> list[np.ndarray]:
        """Return all arrays whose first axis is the instances."""
        scheduler = self._scheduler
        return [*scheduler.cells, scheduler.instances]

    def _begin(self) -> None:
        self.instances = self.options.instances
        self._flat = self._new_state()

    def _grow(self) -> int:
        """Make room for one more instance, as new, and return its number."""
        before, own = self._by_instance(), self._scheduler.own
        self.options = replace(self.options, instances=self.instances + 1)
        self._begin()
        self._scheduler.own[:] = own
        for old, new in zip(before, self._by_instance()):
            new[: len(old)] = old
        return self.instances - 1

    @property
    def _scheduler(self) -> Scheduler:
        return scheduler_of.py_func(self._flat)[0]

    def _instance(self, instance: Any) -> int:
        return _check.integer("instance", instance, 0, self.instances - 1)

    def leave(self, instance: Any) -> None:
        """Send an instance no more tuples; what it still completes is ignored.

        The last one cannot leave.
        """
        instance = self._instance(instance)
        if self.active[instance] and self.active.sum() == 1:
            raise ValueError(f"instance must not be the last one that takes part, got {instance}")
        remove_instance(instance, self._scheduler)

    @property
    def active(self) -> np.ndarray:
        """bool[instances]: which take part."""
        return self._scheduler.instances["active"] == 1

    @property
    def known(self) -> np.ndarray:
        """bool[instances]: whose matrices the scheduler has."""
        return self._scheduler.instances["known"] == 1

    @property
    def awaited(self) -> np.ndarray:
        """bool[instances]: whose reply in the present synchronisation is still to come."""
        return is_awaited.py_func(self._scheduler.instances.view(np.recarray), self.epoch)

    @property
    def phase(self) -> str:
        """The scheduler's state: ROUND_ROBIN, SEND_ALL, WAIT_ALL or RUN."""
        return PHASES[self._scheduler.own[0]["phase"]]

    @property
    def epoch(self) -> int:
        """The number of the present synchronisation."""
        return int(self._scheduler.own[0]["epoch"])

    @property
    def estimates(self) -> np.ndarray:
        """float64[instances]: the estimated clock of each, infinite for one that left."""
        return self._scheduler.instances["clock"].copy()

    @property
    def messages(self) -> dict[str, int]:
        """How many messages of each kind were exchanged, and their bytes.

        Requests are carried by tuples, hence piggybacked. Timeouts are synchronisations that were
        not waited for any longer, ignored are messages that came too late or twice.
        """
        return count_messages(self._scheduler, self.options)

    def estimate(self, instance: Any, key: Any) -> float:
        """Return what the scheduler expects a key to cost on an instance."""
        return _estimate_key(key_int(key), self._instance(instance), self._flat)

    def __repr__(self) -> str:
        tuples = self._scheduler.own[0]["submitted"]
        return show_call(self, f"{self.phase}, epoch {self.epoch}, {tuples} tuples")
