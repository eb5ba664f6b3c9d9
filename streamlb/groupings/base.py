"""What all groupings share: the public calls, the options and their check, state as bytes.

A grouping keeps its state in a few arrays, handed to its two kernels in one order: `_route` for a
live message and `_route_many` for a batch. The first two arrays are the same everywhere: load
int64[sources, workers], what each source has sent to each worker, and meta int64[2 or more], which
begins with the record SHARED.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, TypeVar

import numpy as np

from streamlb import _check, _state
from streamlb._jit import njit, record
from streamlb._options import as_dict, bind, checked, show, takes
from streamlb.keys import key_array, key_int

# The start of meta: how many messages were routed, each counted once, and the seed of the hash
# functions.
SHARED = record([("messages", "i8"), ("seed", "u8")])
_NO_WEIGHTS = np.empty(0, np.int64)
MAX_WORKERS = 2**31 - 1

_Self = TypeVar("_Self", bound="Grouping")


@njit(nogil=True, inline="always")
def shared_of(meta):
    """Return the record SHARED at the start of meta, a view."""
    return meta[:2].view(SHARED)[0]


@njit(nogil=True, inline="always")
def rest_of(meta):
    """Return what follows SHARED in meta, a view: the words of a grouping's own."""
    return meta[2:]


@njit(cache=True, nogil=True, forceinline=True)
def source_of(source, load, meta):
    """Return the source of the next message: the one given, or for -1 the next in turn."""
    return source if source >= 0 else shared_of(meta).messages % load.shape[0]


@njit(nogil=True)  # compiled into its callers only, which count with or without a sign
def weight_of(weights, i):
    """Return message i's weight; an empty array stands for ones."""
    return weights[i] if weights.size > 0 else np.int64(1)


@njit(cache=True, nogil=True)
def send_to_lesser(a, b, weight, load):
    """Add a message to the less loaded of two workers, the first on a tie, and return it."""
    # Unsigned indices and one load of each counter: without a branch, twice as fast as the obvious
    # form.
    a, b = np.uint32(a), np.uint32(b)
    load_a, load_b = load[a], load[b]
    first = load_a <= load_b
    worker = a if first else b
    load[worker] = (load_a if first else load_b) + weight
    return np.int64(worker)


@dataclass(frozen=True)
class GroupingOptions:
    """Hold the options of every grouping and check them; groupings with more extend this class."""

    workers: int
    sources: int = 1
    _: KW_ONLY
    seed: Any = 0

    def __post_init__(self) -> None:
        checked(
            self,
            workers=_check.integer("workers", self.workers, 1, MAX_WORKERS),
            sources=_check.integer("sources", self.sources, 1, MAX_WORKERS),
            seed=_check.seed_value(self.seed),
        )


@takes(GroupingOptions)
class Grouping:
    """Base of all groupings: decides, message by message, which worker gets a key.

    Parameters
    ----------
    workers : int
        Number of workers, numbered from 0.
    sources : int, default 1
        Number of sources, each with its own view of the loads: what it has sent itself.
    seed : int, numpy.random.SeedSequence or None, default 0
        The seed of the hash functions; None takes OS entropy.
    """

    __slots__ = ("_state", "options")
    workers: int  # options, as attributes to read
    sources: int
    seed: int

    _version = 2  # 2: seeds are spread before they meet a key
    _Options: type[GroupingOptions]
    # The names of the state arrays, in the kernels' order.
    _arrays: tuple[str, ...] = ("load", "meta")
    _route: Any  # _route(key, source, weight, *state) -> worker; source -1: the next in turn
    _route_many: Any  # _route_many(keys, weights, source, *state, out)

    def __init__(self, *args: Any, **kwargs: Any):
        self.options: Any = bind(type(self).__name__, self._Options, args, kwargs)
        self._state = self._fresh()

    def _fresh(self) -> tuple[np.ndarray, ...]:
        """Return the arrays of a grouping that has routed nothing."""
        return np.zeros((self.sources, self.workers), np.int64), self._fresh_meta(2)

    def _fresh_meta(self, size: int) -> np.ndarray:
        meta = np.zeros(size, np.int64)
        meta[:2].view(SHARED)["seed"] = self.seed
        return meta

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
            The worker, 0 to workers - 1.
        """
        worker = self._route(
            # Most keys need no call.
            key if type(key) is int and 0 <= key < 2**63 else key_int(key),
            -1 if source is None else _check.integer("source", source, 0, self.options.sources - 1),
            1 if weight == 1 else _check.integer("weight", weight, 0, 2**62 - 1),
            *self._state,
        )
        return worker if worker >= 0 else self._route_again(key, source, weight)

    def _route_again(self, key: Any, source: int | None, weight: int) -> int:
        """Route a message after its kernel has returned -1, which asks for larger state arrays."""
        self._make_room()
        return self.route(key, source, weight)

    def _make_room(self) -> None:
        """Make the state arrays larger; only for groupings whose kernels ask for it."""
        raise NotImplementedError

    def _enlarge(self, number: int, shape: tuple[int, ...]) -> None:
        """Give a state array more room: in place, so that there is no moment with both.

        A call in another thread may hold the array, which is then left alone and copied.
        """
        arrays = list(self._state)
        self._state = ()
        array = arrays.pop(number)
        try:
            array.resize(shape)
        except ValueError:
            before, array = array.ravel(), np.zeros(shape, np.int64)
            array.reshape(-1)[: before.size] = before
        finally:  # also where there was no memory, which leaves the array as it was
            self._state = (*arrays[:number], array, *arrays[number:])

    def route_many(self, keys: Any, weights: Any = None, source: int | None = None) -> np.ndarray:
        """Return the workers of many messages: what looping over `route` gives, faster.

        Parameters
        ----------
        keys : array_like
            Keys of any supported kind, in order.
        weights : array_like of int, optional
            How many messages each counts for; 1 by default.
        source : int, optional
            The source that sends them all; by default they go round robin over the sources.

        Returns
        -------
        int32[m]
            The worker of each message.
        """
        keys = key_array(keys)
        weights = _NO_WEIGHTS if weights is None else _check.weight_array("weights", weights, keys.size)
        source = -1 if source is None else _check.integer("source", source, 0, self.sources - 1)
        out = np.empty(keys.size, np.int32)
        if keys.size:
            self._batch(keys, weights, source, out)
        return out

    def _batch(self, keys: np.ndarray, weights: np.ndarray, source: int, out: np.ndarray) -> None:
        self._route_many(keys, weights, source, *self._state, out)

    @property
    def loads(self) -> np.ndarray:
        """Messages sent to each worker by all sources, counted by weight: int64[workers]."""
        return self._state[0].sum(axis=0)

    @property
    def source_loads(self) -> np.ndarray:
        """Messages each source has sent to each worker: int64[sources, workers], a copy."""
        return self._state[0].copy()

    @property
    def messages(self) -> int:
        """Messages routed so far, each counted once."""
        return int(self._state[1][:2].view(SHARED)["messages"][0])

    def reset(self) -> None:
        """Forget all messages: as new, with the same parameters and hash functions."""
        self._state = self._fresh()

    def _parameters(self) -> dict[str, Any]:
        return as_dict(self.options)

    def state(self) -> bytes:
        """Return all there is to know as bytes, for `from_state`."""
        arrays = dict(zip(self._arrays, self._settled()))
        return _state.pack(type(self).__name__, self._version, self._parameters(), arrays)

    def _settled(self) -> tuple[np.ndarray, ...]:
        """Return the arrays that `state` writes: equal for groupings that go on in the same way."""
        return self._state

    @classmethod
    def from_state(cls: type[_Self], data: bytes) -> _Self:
        """Return the grouping whose `state()` this is: it goes on exactly as that one would have.

        Parameters
        ----------
        data : bytes
            From `state()` of the same class and version.
        """
        parameters, arrays = _state.unpack(data, cls.__name__, cls._version)
        try:
            grouping = cls(**parameters)
        except TypeError as error:
            raise ValueError(f"state must be one of {cls.__name__}: its parameters do not fit") from error
        grouping._restore(arrays)
        return grouping

    def _restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Take over the arrays of a state; names, types and shapes must be this grouping's."""
        for name, fresh in zip(self._arrays, self._state):
            found = arrays.get(name)
            if found is None or found.dtype != fresh.dtype or found.shape != fresh.shape:
                raise ValueError(f"state must hold {name} as {fresh.dtype}{list(fresh.shape)} for these parameters")
        self._state = tuple(arrays[name] for name in self._arrays)

    def __reduce__(self):
        return type(self).from_state, (self.state(),)

    def __repr__(self) -> str:
        return show(type(self).__name__, self._parameters())
