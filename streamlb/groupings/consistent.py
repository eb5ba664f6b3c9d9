"""Consistent grouping (CG): equal virtual workers, mapped to unequal workers by their signals.

From Nasir et al. 2017, section IV. An inner grouping sends each message to one of the virtual
workers; a map, one for each source, says which worker that is now. Signals move virtual workers
between workers and so concern later messages only. The number of virtual workers never changes:
their hash functions, and with them the inner grouping, stay as they are while workers come and go.

State: load int64[sources, workers]; meta, the record SHARED of all groupings and a record SLOTS;
owners and book, the maps of all sources as in `virtual_map`; said int64[workers], what each worker
said when it was last observed (IDLE, BUSY or 0); and the arrays of the inner grouping.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from streamlb import _check, _state
from streamlb._jit import njit, record
from streamlb._options import checked, takes
from streamlb.groupings.base import (
    MAX_WORKERS,
    SHARED,
    Grouping,
    GroupingOptions,
    rest_of,
    shared_of,
    source_of,
    weight_of,
)
from streamlb.groupings.bounded import Probes
from streamlb.groupings.bounded_hash import BoundedLoadHashing
from streamlb.groupings.key import KeyGrouping
from streamlb.groupings.partial_key import PartialKeyGrouping
from streamlb.groupings.power_of_two import PowerOfTwoChoices
from streamlb.groupings.random_choices import PowerOfRandomChoices
from streamlb.groupings.shuffle import ShuffleGrouping
from streamlb.groupings.virtual_map import (
    BUSY,
    IDLE,
    POLICIES,
    apply_signal,
    book_words,
    fresh_maps,
    in_range,
    join,
    leave,
    map_of,
    source_records,
    virtual_of,
    with_new_worker,
    worker_records,
)
from streamlb.hashing import family_of, first_candidate, key_hash
from streamlb.keys import key_array

# What follows SHARED in meta: how many messages make a time slot (0: they make none), and how many
# slots were ended by `next_slot` or `observe`.
SLOTS = record([("messages", "i8"), ("ended", "i8")])

_START, _SLOT_WORDS = SHARED.itemsize // 8, SLOTS.itemsize // 8
_INNER = {
    "porc": PowerOfRandomChoices,
    "kg": KeyGrouping,
    "pkg": PartialKeyGrouping,
    "potc": PowerOfTwoChoices,
    "sg": ShuffleGrouping,
    "ch": BoundedLoadHashing,
}
# How many candidates of a message are hashed by the inner groupings that keep no counts.
_HASHES = {"kg": 1, "pkg": 2, "potc": 2, "sg": 0}
_SIGN = {"busy": BUSY, "idle": IDLE}


@njit(cache=True, nogil=True, forceinline=True)
def send(number, weight, s, load, virtual):
    """Add a message of source s to the worker that holds a virtual worker; return the worker.

    Both are uint32, because unsigned indices need no test for negative ones.
    """
    worker = virtual[s, number].owner
    load[s, worker] += weight
    return worker


@njit(cache=True, nogil=True)
def _assign(number, source, weight, load, meta, owners):
    """Return the worker of one message that went to virtual worker `number`."""
    s = source_of(source, load, meta)
    shared_of(meta).messages += 1
    return send(np.uint32(number), weight, s, load, virtual_of(owners))


@njit(cache=True, nogil=True)
def _assign_many(weights, source, load, meta, owners, out):
    """Replace each message's virtual worker in `out` by its worker."""
    virtual = virtual_of(owners)
    turn = 1 if source < 0 else 0
    s = source_of(source, load, meta)
    shared_of(meta).messages += out.size
    for i in range(out.size):
        out[i] = send(np.uint32(out[i]), weight_of(weights, i), s, load, virtual)
        s += turn
        if s == load.shape[0]:
            s = 0


@njit(cache=True, nogil=True)
def _principals(keys, s, seed, owners, out):
    family, virtual = family_of(seed), virtual_of(owners)[s]
    for i in range(keys.size):
        out[i] = virtual[first_candidate(key_hash(keys[i], family), virtual.size)].owner


@njit(cache=True, nogil=True)
def _slot_now(meta):
    """Return the number of the time slot."""
    slots = rest_of(meta).view(SLOTS)[0]
    return slots.ended + (shared_of(meta).messages // slots.messages if slots.messages > 0 else 0)


@njit(cache=True, nogil=True)
def _hear(worker, sign, strength, source, meta, owners, book):
    """Let one source, or for -1 all of them, act on a worker's signal.

    Return the virtual workers moved, or -1 if the worker is removed.
    """
    if map_of(0, owners, book).workers[worker].held == 0:
        return -1
    slot = _slot_now(meta)
    first, stop = (0, owners.shape[0]) if source < 0 else (source, source + 1)
    moves = 0
    for s in range(first, stop):
        moves += apply_signal(worker, sign, strength, slot, map_of(s, owners, book))
    return moves


@njit(cache=True, nogil=True)
def _hear_all(signs, strengths, meta, owners, book):
    """Let all sources act on the signals of all workers; return the virtual workers moved.

    A sign of 0 is no signal. The idle ones come first, so that the busy find them. Sources know
    nothing of each other, so each takes all signals in one go.
    """
    slot = _slot_now(meta)
    moves = 0
    for s in range(owners.shape[0]):
        its = map_of(s, owners, book)
        for sign in (IDLE, BUSY):
            for worker in range(signs.size):
                if signs[worker] == sign:
                    moves += apply_signal(worker, sign, strengths[worker], slot, its)
    return moves


@dataclass(frozen=True)
class ConsistentOptions(GroupingOptions):
    """Hold the options of `ConsistentGrouping` and check them."""

    _: KW_ONLY
    virtual: int = 10
    inner: str = "porc"
    epsilon: float = 0.01
    policy: str = "lru"
    slot: int | None = None
    idle: float = 0.75
    busy: float = 0.85
    hysteresis: float = 0.0
    proportional: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        inner = self.inner.lower() if isinstance(self.inner, str) else self.inner
        virtual = _check.integer("virtual", self.virtual, 1)
        busy = _check.real("busy", self.busy, 0, low_open=True)
        idle = _check.real("idle", self.idle, 0, busy, high_open=True)
        if not isinstance(self.proportional, (bool, np.bool_)):
            raise TypeError(f"proportional must be True or False, got {self.proportional!r}")
        if self.workers * virtual > MAX_WORKERS:
            raise ValueError(
                f"virtual must leave fewer than 2**31 virtual workers, got {virtual} for {self.workers} workers"
            )
        checked(
            self,
            virtual=virtual,
            inner=_check.choice("inner", inner, tuple(_INNER)),
            epsilon=_check.real("epsilon", self.epsilon, 0, low_open=True),
            policy=_check.choice("policy", self.policy, tuple(POLICIES)),
            slot=None if self.slot is None else _check.integer("slot", self.slot, 1),
            idle=idle,
            busy=busy,
            hysteresis=_check.real("hysteresis", self.hysteresis, 0, busy - idle, high_open=True),
            proportional=bool(self.proportional),
        )


@takes(ConsistentOptions)
class ConsistentGrouping(Grouping):
    """Send messages to equal virtual workers, and these to workers as each can bear them.

    Workers say when they are busy or idle; virtual workers then move from the busy to the idle.
    Nobody has to know a capacity.

    Parameters
    ----------
    workers : int
        Number of workers at the start; see `add_worker` and `remove_worker`.
    sources : int, default 1
        Number of sources, each with its own loads and its own map.
    virtual : int, default 10
        Virtual workers for each worker at the start. `streamlb.analysis.virtual_workers_needed`
        says how many a set of capacities takes.
    inner : {"porc", "kg", "pkg", "potc", "sg", "ch"}, default "porc"
        The grouping by which messages find their virtual worker; in letters of either case.
    epsilon : float, default 0.01
        The epsilon of the inner grouping, for "porc" and "ch".
    policy : {"lru", "fcfs"}, default "lru"
        Where a busy worker's virtual worker goes. "fcfs": to the worker that has waited longest in
        the queue of idle ones, when there is one. "lru": to that one too, and if none is idle to
        the one that was busy least recently.
    slot : int, optional
        Messages in a time slot. Of a worker's signals in one slot only the first counts. By default
        slots end by `next_slot`.
    idle, busy : float, default 0.75 and 0.85
        For `observe`: the utilisation below which a worker is idle and above which it is busy.
    hysteresis : float, default 0
        For `observe`: a worker that was busy remains so until its utilisation is this far below
        `busy`, and an idle one likewise.
    proportional : bool, default False
        For `observe`: signals ask for as many virtual workers as lead to the middle of the band,
        not for one.
    seed : int, numpy.random.SeedSequence or None, default 0
        The seed of the hash functions; None takes OS entropy.

    Notes
    -----
    A worker waits in at most one queue, and only once; a signal of the other kind moves it to the
    other queue. A worker always keeps one virtual worker. Sources may hear signals late and in
    different order: their maps then differ for a while, which costs balance and memory but loses no
    message, as each message is routed once, by one map.

    References
    ----------
    Nasir et al. 2017, "Load balancing for skewed streams on heterogeneous cluster", sections IV and
    V-A.

    Examples
    --------
    >>> from streamlb import ConsistentGrouping
    >>> grouping = ConsistentGrouping(4, virtual=10)
    >>> grouping.signal(3, "idle"), grouping.signal(0, "busy")
    (0, 1)
    >>> grouping.shares[0].tolist()
    [9, 10, 10, 11]
    >>> grouping.signal(0, "busy")  # the second one in a slot
    0
    >>> grouping.next_slot()
    >>> grouping.signal(0, "busy")
    1
    """

    # The option `workers` is the number at the start, the attribute changes.
    __slots__ = ("_inner", "workers")
    virtual: int  # options, as attributes to read
    inner: str
    epsilon: float
    policy: str
    slot: int | None
    idle: float
    busy: float
    hysteresis: float
    proportional: bool
    _version = 4  # 4: what a worker has received stands in a list of its own
    _arrays = ("load", "meta", "owners", "book", "said")

    @property
    def _bins(self) -> int:
        """The number of virtual workers."""
        return self.options.workers * self.virtual

    def _fresh(self):
        self.workers = self.options.workers
        options = {"epsilon": self.epsilon} if self.inner in ("porc", "ch") else {}
        self._inner = _INNER[self.inner](self._bins, self.sources, seed=self.seed, **options)
        meta = self._fresh_meta(_START + _SLOT_WORDS)
        meta[_START:].view(SLOTS)["messages"] = self.slot or 0
        return (
            np.zeros((self.sources, self.workers), np.int64),
            meta,
            *fresh_maps(self.sources, self.workers, self.virtual, POLICIES[self.policy]),
            np.zeros(self.workers, np.int64),
        )

    def route(self, key: Any, source: int | None = None, weight: int = 1) -> int:
        """Return the worker of one message.

        Parameters
        ----------
        key : int, str or bytes
            The message's key.
        source : int, optional
            The source that sends it; by default message i of the grouping's life comes from source
            i mod sources.
        weight : int, default 1
            How many messages it counts for.

        Returns
        -------
        int
            The worker.
        """
        # The inner grouping has routed as many messages as this one, so it takes the same source in
        # turn.
        number = self._inner.route(key, source, weight)
        load, meta, owners = self._state[:3]
        return _assign(number, -1 if source is None else int(source), int(weight), load, meta, owners)

    def _batch(self, keys, weights, source, out):
        self._inner._batch(keys, weights, source, out)
        load, meta, owners = self._state[:3]
        _assign_many(weights, source, load, meta, owners, out)

    def signal(self, worker: int, word: str, *, strength: float = 0.0, source: int | None = None) -> int:
        """Let the sources act on what a worker says about itself.

        Parameters
        ----------
        worker : int
            Who says it.
        word : {"busy", "idle"}
            Busy: take a virtual worker from me. Idle: give me one.
        strength : float, default 0
            The share of its virtual workers that it wants to lose or gain, in [0, 1]; at least one
            is meant.
        source : int, optional
            The source that hears it, when they do not all hear it now.

        Returns
        -------
        int
            Virtual workers moved, over all sources that heard it: 0 also when it was the worker's
            second signal in the slot.
        """
        worker = _check.integer("worker", worker, 0, self.workers - 1)
        sign = _SIGN[_check.choice("word", word, tuple(_SIGN))]
        strength = _check.real("strength", strength, 0, 1)
        source = -1 if source is None else _check.integer("source", source, 0, self.sources - 1)
        moves = _hear(worker, sign, strength, source, *self._state[1:4])
        if moves < 0:
            raise _removed(worker)
        return moves

    def observe(self, utilisation: Any) -> int:
        """End a time slot: let all sources act on the signals that the utilisations amount to.

        Parameters
        ----------
        utilisation : array_like of float
            Load over capacity of each worker, removed ones included (what they say is not heard).

        Returns
        -------
        int
            Virtual workers moved, over all sources.
        """
        utilisation = _check.real_array("utilisation", utilisation)
        if utilisation.size != self.workers:
            raise ValueError(
                f"utilisation must have one entry for each of {self.workers} workers, got {utilisation.size}"
            )
        moves = self._hear(*self._judge(utilisation))
        self.next_slot()
        return moves

    def next_slot(self) -> None:
        """End the time slot: every worker may signal again."""
        self._state[1][_START:].view(SLOTS)["ended"] += 1

    def add_worker(self) -> int:
        """Add a worker and return its number; it gets an equal share of the virtual workers.

        Each of those gives in proportion to what it holds. Keys whose first virtual worker does not
        move stay where they are.
        """
        load, meta, owners, book, said = self._state
        alive = self.active.size
        if alive == self._bins:
            raise ValueError(
                f"workers must leave each at least one of the {self._bins} virtual workers: there are {alive}"
            )
        new = self.workers
        book = with_new_worker(book, new)
        load = np.concatenate([load, np.zeros((self.sources, 1), np.int64)], axis=1)
        self.workers += 1
        self._state = (load, meta, owners, book, np.append(said, 0))
        join(new, self._bins // (alive + 1), owners, book, np.empty(self.workers, np.int64))
        return new

    def remove_worker(self, worker: int) -> None:
        """Remove a worker; its number stays unused.

        The others take its virtual workers, in proportion to what they hold.

        Parameters
        ----------
        worker : int
            Not the last one.
        """
        worker = _check.integer("worker", worker, 0, self.workers - 1)
        if not self._held[0, worker]:
            raise _removed(worker)
        if self.active.size == 1:
            raise ValueError(f"worker must not be the last one, got {worker}")
        _, _, owners, book, said = self._state
        said[worker] = 0
        leave(worker, owners, book, np.empty(self.workers, np.int64))

    def principal(self, keys: Any, source: int = 0) -> np.ndarray:
        """Return the worker that a source tries first for each key.

        This is where the messages of a light key go.

        Parameters
        ----------
        keys : array_like
            Keys of any supported kind.
        source : int, default 0
            Whose map.

        Returns
        -------
        int32[m]
            The worker of each key's first virtual worker.
        """
        if self.inner not in ("porc", "kg", "pkg"):
            raise ValueError(
                f"inner must be 'porc', 'kg' or 'pkg' for keys to have a principal worker, got {self.inner!r}"
            )
        source = _check.integer("source", source, 0, self.sources - 1)
        keys = key_array(keys)
        out = np.empty(keys.size, np.int32)
        _principals(keys, source, np.uint64(self.seed), self._state[2], out)
        return out

    @property
    def active(self) -> np.ndarray:
        """The numbers of the workers that are not removed."""
        return np.flatnonzero(self._held[0])

    @property
    def shares(self) -> np.ndarray:
        """Virtual workers of each worker by each source's map: int64[sources, workers]."""
        return self._held.astype(np.int64)

    @property
    def moves(self) -> int:
        """Moves of virtual workers so far, over all sources."""
        return int(source_records(self._state[3])["moves"].sum())

    @property
    def virtual_loads(self) -> np.ndarray:
        """Messages sent to each virtual worker, over all sources."""
        return self._inner.loads

    @property
    def probes(self) -> Probes:
        """Hash probes per message so far: mean and maximum."""
        if self.inner in _HASHES:
            return Probes(float(_HASHES[self.inner]), _HASHES[self.inner])
        return self._inner.probes

    def state(self) -> bytes:
        """Return all there is to know as bytes, for `from_state`."""
        inner = {f"inner_{name}": array for name, array in zip(self._inner._arrays, self._inner._state)}
        arrays = {**dict(zip(self._arrays, self._state)), **inner}
        return _state.pack(type(self).__name__, self._version, self._parameters(), arrays)

    def _restore(self, arrays):
        prefix = "inner_"
        self._inner._restore({name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)})
        load = arrays.get("load")
        workers = load.shape[1] if load is not None and load.ndim == 2 else 0
        shapes = {
            "load": (self.sources, workers),
            "meta": self._state[1].shape,
            "owners": self._state[2].shape,
            "book": (self.sources, book_words(workers)),
            "said": (workers,),
        }
        for name, shape in shapes.items():
            found = arrays.get(name)
            if found is None or found.dtype != np.int64 or found.shape != shape or workers < self.workers:
                raise ValueError(f"state must hold {name} as int64{list(shape)} for these parameters")
        if not in_range(arrays["owners"], arrays["book"], workers):
            raise ValueError(f"state must map virtual workers to workers 0 to {workers - 1}")
        self.workers = workers
        self._state = tuple(arrays[name] for name in self._arrays)

    @property
    def _held(self) -> np.ndarray:
        """How many virtual workers each worker holds by each source's map, a view."""
        return worker_records(self._state[3], self.workers)["held"]

    def _slot_now(self) -> int:
        """Return the number of the time slot."""
        return _slot_now(self._state[1])

    def _hear(self, signs: np.ndarray, strengths: np.ndarray) -> int:
        """Let all sources act on the signals of all workers; return the virtual workers moved."""
        return _hear_all(signs, strengths, *self._state[1:4])

    def _judge(self, utilisation: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return what each worker says (IDLE, BUSY or 0) and how strongly, and remember it."""
        said = self._state[4]
        is_busy = utilisation > np.where(said == BUSY, self.busy - self.hysteresis, self.busy)
        is_idle = utilisation < np.where(said == IDLE, self.idle + self.hysteresis, self.idle)
        # The hysteresis is smaller than the band, so nobody is both.
        signs = np.where(is_busy, BUSY, np.where(is_idle, IDLE, 0))
        signs[self._held[0] == 0] = 0
        said[:] = signs
        strengths = np.zeros(utilisation.size)
        if self.proportional:
            middle = (self.idle + self.busy) / 2
            with np.errstate(divide="ignore"):
                strengths = np.minimum(1.0, np.abs(utilisation - middle) / utilisation)
        return signs, strengths


def _removed(worker: int) -> ValueError:
    return ValueError(f"worker must not be a removed one, got {worker}")
