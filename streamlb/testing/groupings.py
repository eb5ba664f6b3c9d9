"""The checks of groupings: every message goes to one worker, and loads are what was sent."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from streamlb.testing.compare import short
from streamlb.testing.contract import LONG, Contract, bad_call, refused, skewed_keys, whole
from streamlb.testing.report import Check, CheckError, Report, SkippedCheck, run_all


class Message(NamedTuple):
    """A message to route; a source of None means the next in turn."""

    key: Any
    weight: Any = 1
    source: int | None = None


class GroupingContract(Contract):
    """What a grouping keeps."""

    CHECKS = (
        "range",
        "one_worker",
        "keys",
        "conservation",
        "weights",
        "sources",
        "batch",
        "chunks",
        "long",
        "determinism",
        "instances",
        "reset",
        "copy",
        "pickle",
        "state",
        "bad_state",
        "bad_options",
        "bad_keys",
        "bad_weights",
        "bad_sources",
    )
    PROMISES = {  # noqa: RUF012
        "workers_per_key": "the most workers that one key is sent to, a number or a function of the grouping",
        "imbalance": "a function (grouping, m) that bounds the largest load minus the mean after m messages",
    }
    SEEN = ("loads", "source_loads", "messages")

    def known_promises(self) -> dict[str, Any]:
        """Return those of streamlb's own groupings."""
        return _promises_of(self.kind, self.options)

    def least(self) -> dict[str, Any]:
        """Return a number of workers."""
        return {} if "workers" in self.options else {"workers": max(7, self.fewest("workers"))}

    def shapes(self) -> list[dict[str, Any]]:
        """Return several numbers of workers, of sources and seeds, where none are given."""
        shapes: list[dict[str, Any]] = []
        fewest = 1 if "workers" in self.options else self.fewest("workers")
        for workers, sources, seed in ((max(7, fewest), 3, 3), (fewest, 2, 11), (50, 7, 5), (max(5, fewest), 1, 8)):
            shape = {} if "workers" in self.options else {"workers": workers}
            if "sources" not in self.options and self.accepts("sources", 2):
                shape["sources"] = sources
            if "seed" not in self.options and self.accepts("seed", 1):
                shape["seed"] = seed
            if shape not in shapes:
                shapes.append(shape)
        return shapes

    def stream(self, seed: int, size: int) -> list[Message]:
        """Return skewed messages, for odd seeds with weights where the grouping takes them."""
        keys = skewed_keys(seed, size)
        if seed % 2 == 0 or not self._weighted(self.build(**self.shapes()[0])):
            return [Message(key) for key in keys]
        weights = np.random.default_rng(seed).integers(0, 4, size).tolist()
        return [Message(key, weight) for key, weight in zip(keys, weights)]

    def play(self, made: Any, part: list[Any]) -> list[int]:
        """Route messages one by one."""
        return [self._route(made, message) for message in part]

    def play_batch(self, made: Any, part: list[Any]) -> list[int]:
        """Route messages by `route_many`."""
        route_many = self.offers(made, "route_many")
        keys = [message.key for message in part]
        weights = [message.weight for message in part]
        more = {"source": part[0].source} if part and part[0].source is not None else {}
        given = np.array(keys, np.uint64) if all(isinstance(key, int) for key in keys) and len(keys) % 2 else keys
        if set(weights) <= {1}:
            replies = route_many(given, **more)
        elif self.takes(route_many, "weights"):
            replies = route_many(given, weights=weights, **more)
        else:
            raise CheckError(
                "Given a route that takes weight, a route_many that takes weights was expected, but it takes none."
            )
        self.asked = f"route_many of {len(part)} messages"
        return [whole(reply, self.asked) for reply in replies]

    def _route(self, grouping: Any, message: Message) -> int:
        more: dict[str, Any] = {} if message.weight == 1 else {"weight": message.weight}
        if message.source is not None:
            more["source"] = message.source
        self.asked = f"route({', '.join([short(message.key), *(f'{name}={value}' for name, value in more.items())])})"
        return whole(grouping.route(message.key, **more), self.asked)

    def _weighted(self, grouping: Any) -> bool:
        return self.takes(grouping.route, "weight")

    def _sources(self, grouping: Any, shape: dict[str, Any]) -> int:
        return {**shape, **self.options}.get("sources", getattr(grouping, "sources", 1))

    def _workers(self, shape: dict[str, Any]) -> int:
        return {**shape, **self.options}["workers"]

    def check_range(self) -> None:
        """Check that every message goes to one worker, a whole number from 0 to workers - 1."""
        shapes = self.shapes()
        if "workers" not in self.options:
            shapes.append({**shapes[0], "workers": 1000})
        for shape in shapes:
            workers = self._workers(shape)
            for part in (self.stream(1, 400), [Message(5)] * 400, [Message(key) for key in range(400)]):
                grouping = self.build(**shape)
                made = self.asked
                for at, reply in enumerate(self.play(grouping, part)):
                    if not 0 <= reply < workers:
                        raise CheckError(
                            f"Given {made} and message {at}, {part[at]}, "
                            f"a worker from 0 to {workers - 1} was expected, but got {reply}."
                        )

    def check_one_worker(self) -> None:
        """Check that a single worker gets every message."""
        if self.options.get("workers", 1) != 1:
            raise SkippedCheck(f"workers is given as {self.options['workers']}")
        if "workers" not in self.options and self.fewest("workers") > 1:
            raise SkippedCheck(f"{self.name} needs at least {self.fewest('workers')} workers")
        grouping = self.build(**{**self.shapes()[0], **({} if "workers" in self.options else {"workers": 1})})
        made, replies = self.asked, self.play(grouping, self.stream(2, 100))
        if set(replies) != {0}:
            raise CheckError(f"Given {made}, worker 0 for each message was expected, but got {sorted(set(replies))}.")

    def check_keys(self) -> None:
        """Check that keys are ints of 64 bits, str or bytes, alone and in lists."""
        kinds: list[list[Any]] = [
            [0, 1, 2**63, 2**64 - 1],
            ["a", "user-17", "", "ключ"],
            [b"a", b"user-17", b"", b"\x00\xff"],
            list(np.array([0, 1, 2**63], np.uint64)),
        ]
        for shape in self.shapes():
            weights = (1, 3) if self._weighted(self.build(**shape)) else (1,)
            for keys in kinds:
                part = [Message(key, weight) for weight in weights for key in keys]
                one, many = self.build(**shape), self.build(**shape)
                given = f"{self.asked} and the keys {keys}"
                replies = self.play(one, part)
                outside = [reply for reply in replies if not 0 <= reply < self._workers(shape)]
                if outside:
                    raise CheckError(f"Given {given}, workers in range were expected, but got {outside}.")
                self._counts_all(one, shape, part, replies, given)
                if hasattr(many, "route_many"):
                    comp = self.play_batch(many, part[: len(keys)]) + self.play_batch(many, part[len(keys) :])
                    self.same_replies(given, "what a loop of single calls gives", part, replies, comp)
                    self.same_look(given, "what a loop of single calls leaves", self.seen(one), self.seen(many))

    def check_conservation(self) -> None:
        """Check that no message is lost or doubled: loads are what the replies say."""
        for shape, part, given in (*self.each(3), *self.each(3, size=LONG, shapes=self.shapes()[:1])):
            grouping = self.build(**shape)
            if not any(hasattr(grouping, name) for name in self.SEEN):
                raise SkippedCheck(f"{self.name} has no loads, source_loads or messages")
            self._counts_all(grouping, shape, part, self.play(grouping, part), given)

    def _counts_all(
        self, grouping: Any, shape: dict[str, Any], part: list[Message], replies: list[int], given: str
    ) -> None:
        """Raise unless what is counted is what these messages, and no others, brought."""
        weights = [message.weight for message in part]
        loads = np.bincount(replies, weights, self._workers(shape)).astype(np.int64).tolist()
        expected = {
            "loads": loads,
            "messages": len(part),
            "the sum of source_loads over the sources": loads,
        }
        seen = self.seen(grouping)
        if "source_loads" in seen:
            seen["the sum of source_loads over the sources"] = np.sum(seen["source_loads"], axis=0).tolist()
        for name, value in expected.items():
            if name in seen and seen[name] != value:
                raise CheckError(f"Given {given}, {name} of {short(value)} was expected, but got {short(seen[name])}.")

    def check_weights(self) -> None:
        """Check that a message of weight w counts for w, and one of weight 0 for none."""
        for shape in self.shapes():
            grouping = self.build(**shape)
            made = self.asked
            if not self._weighted(grouping):
                raise SkippedCheck("route takes no weight")
            self.offers(grouping, "loads")
            loads = np.zeros(self._workers(shape), np.int64)
            for weight in (5, 0, 1, np.int64(3), 2**40):
                worker = self._route(grouping, Message("a", weight))
                loads[worker] += int(weight)
                got = np.asarray(grouping.loads).tolist()
                if got != loads.tolist():
                    raise CheckError(
                        f"Given {made} and a message of weight {weight} to worker {worker}, "
                        f"loads of {loads.tolist()} was expected, but got {got}."
                    )

    def check_sources(self) -> None:
        """Check that message i comes from source i mod sources unless told otherwise."""
        for shape, part, given in self.each(3, 4, size=97):
            turns, named = self.build(**shape), self.build(**shape)
            sources = self._sources(turns, shape)
            if not self.takes(turns.route, "source"):
                raise SkippedCheck("route takes no source")
            ref = self.play(turns, part)
            said = [message._replace(source=i % sources) for i, message in enumerate(part)]
            text = f"{given}, message i from source i mod {sources}"
            self.same_replies(text, "what routing without a source gives", said, ref, self.play(named, said))
            self.same_look(text, "what routing without a source leaves", self.seen(turns), self.seen(named))
            self._sent(named, said, sources, text)
            # Then each source in its turn says more than the others.
            for source in range(sources):
                one, many = self.build(**shape), self.build(**shape)
                alone = [message._replace(source=source) for message in part]
                replies = self.play(one, alone)
                text = f"{given}, all from source {source}"
                self._sent(one, alone, sources, text)
                if not (hasattr(many, "route_many") and self.takes(many.route_many, "source")):
                    continue
                comp = [*self.play_batch(many, alone[:31]), *self.play_batch(many, alone[31:])]
                self.same_replies(f"{text}, in two batches", "what a loop gives", alone, replies, comp)
                self.same_look(f"{text}, in two batches", "what a loop leaves", self.seen(one), self.seen(many))
                # What the source itself was told before is what counts, also in a batch.
                one, many = self.build(**shape), self.build(**shape)
                text = f"{given}, and then as many in one batch from source {source}"
                before = said[: -1 - source]
                self.play(one, before)
                self.play(many, before)
                self.same_replies(text, "what a loop gives", alone, self.play(one, alone), self.play_batch(many, alone))
                self.same_future(text, "what a loop leaves", one, many, part)

    def _sent(self, grouping: Any, part: list[Message], sources: int, given: str) -> None:
        """Raise unless source_loads has what each source sent, and nothing of another."""
        if "source_loads" in self.seen(grouping):
            sent = np.array(self.seen(grouping)["source_loads"]).sum(axis=1).tolist()
            expected = [sum(each.weight for each in part if each.source == source) for source in range(sources)]
            if sent != expected:
                raise CheckError(f"Given {given}, {expected} from the sources was expected, but got {sent}.")

    def check_bad_options(self) -> None:
        """Check that senseless numbers of workers or sources, and seeds, are refused by name."""
        shape = self.shapes()[0]
        numbers: tuple[Any, ...] = (0, -3, 2.5, "4", None)
        for name, values in (("workers", numbers), ("sources", numbers), ("seed", (0.5, "1"))):
            if name in self.options or name not in shape:
                continue
            for value in values:
                options = {**shape, **self.options, name: value}
                refused(f"the option {name}={value!r}", name, functools.partial(self.kind, **options))

    def check_bad_keys(self) -> None:
        """Check that keys that are no int, str or bytes are refused by name, and change nothing."""
        calls = [bad_call("key", "route", bad) for bad in (None, 1.5, float("nan"), [1])]
        if hasattr(self.build(**self.shapes()[0]), "route_many"):
            calls += [
                bad_call("key", "route_many", bad) for bad in ([1, 2, None], [3, 1.5], "text", 5, np.array([0.5]))
            ]
        self.refuse(calls)

    def check_bad_weights(self) -> None:
        """Check that weights below 0 or not whole are refused by name, and change nothing."""
        grouping = self.build(**self.shapes()[0])
        if not self._weighted(grouping):
            raise SkippedCheck("route takes no weight")
        calls = [bad_call("weight", "route", 1, weight=bad) for bad in (-1, 0.5, float("nan"), "2")]
        if hasattr(grouping, "route_many") and self.takes(grouping.route_many, "weights"):
            lists: tuple[list[float], ...] = ([1, -1], [1, 0.5], [1], [1, float("nan")])
            calls += [bad_call("weights", "route_many", [1, 2], weights=bad) for bad in lists]
        self.refuse(calls)

    def check_bad_sources(self) -> None:
        """Check that sources that do not exist are refused by name, and change nothing."""
        shape = self.shapes()[0]
        grouping = self.build(**shape)
        if not self.takes(grouping.route, "source"):
            raise SkippedCheck("route takes no source")
        bad_ones = (-1, self._sources(grouping, shape), 0.5, "0")
        calls = [bad_call("source", "route", 1, source=bad) for bad in bad_ones]
        if hasattr(grouping, "route_many") and self.takes(grouping.route_many, "source"):
            calls += [bad_call("source", "route_many", [1, 2], source=bad) for bad in bad_ones]
        self.refuse(calls)

    # Bounds. They are exact and hold for every stream, so no false alarm is possible.

    def bound_workers_per_key(self) -> None:
        """Check that no key is on more workers than promised."""
        for shape in self.shapes():
            grouping = self.build(**shape)
            given, promise = self.asked, self.promises["workers_per_key"]
            most = promise(grouping) if callable(promise) else promise
            used: dict[Any, set[int]] = {}
            part = [Message(key) for key in [*skewed_keys(1, 2000), *[3] * 1000]]
            for message, worker in zip(part, self.play(grouping, part)):
                used.setdefault(message.key, set()).add(worker)
                if len(used[message.key]) > most:
                    raise CheckError(
                        f"Given {given} and a skewed stream, key {message.key} on at most {most} workers "
                        f"was expected, but got it on {sorted(used[message.key])}."
                    )

    def bound_imbalance(self) -> None:
        """Check that at no message the largest load is above the mean by more than promised."""
        for shape in self.shapes():
            workers = self._workers(shape)
            streams = {
                "one key all the time": [5] * 1500,
                "a skewed stream": skewed_keys(2, 1500),
                "keys that all differ": range(1500),
            }
            for word, keys in streams.items():
                grouping = self.build(**shape)
                loads = [0] * workers
                for m, (key, worker) in enumerate(zip(keys, self.play(grouping, [Message(key) for key in keys])), 1):
                    loads[worker] += 1
                    # Only this worker has come nearer to the bound.
                    bound = self.promises["imbalance"](grouping, m)
                    if loads[worker] * workers - m > bound * workers:
                        raise CheckError(
                            f"Given {grouping!r} and {word}, a load of at most the mean {m / workers:g} and {float(bound):g} "
                            f"was expected after {m} messages, but got {loads[worker]} on worker {worker}, the last with key {key}."
                        )


def grouping_checks(
    kind: Callable[..., Any], /, *, promises: dict[str, Any] | None = None, **options: Any
) -> list[Check]:
    """Give the checks of `check_grouping` one by one, for pytest's parametrisation.

    Parameters
    ----------
    kind : class or callable
        Makes a grouping; as for `check_grouping`.
    promises : dict, optional
        The bounds that it promises; as for `check_grouping`.
    **options
        Given to every grouping that is made.

    Returns
    -------
    list of Check
        Pairs (name, run). `run()` raises `CheckError` where the check does not hold, and
        `SkippedCheck`, which pytest shows as skipped, where the grouping does not offer what it is
        about.

    Examples
    --------
    >>> from streamlb import KeyGrouping
    >>> from streamlb.testing import grouping_checks
    >>> checks = dict(grouping_checks(KeyGrouping))
    >>> checks["range"]()
    >>> [name for name in checks if name.startswith("bound")]
    ['bound_workers_per_key']
    """
    return GroupingContract(kind, promises, options).checks()


def check_grouping(
    kind: Callable[..., Any], /, *, promises: dict[str, Any] | None = None, skip: Any = (), **options: Any
) -> Report:
    """Check that a class keeps the contract of a grouping, and the bounds that it promises.

    Parameters
    ----------
    kind : class or callable
        Makes a grouping from ``workers`` and the options. It has ``route(key)``; all else is
        checked where it is offered: ``sources`` and ``seed`` as options, ``source`` and ``weight``
        of `route`, ``route_many``, ``loads``, ``source_loads``, ``messages``, ``reset``, ``state``
        and ``from_state``. They mean what they mean in `streamlb.KeyGrouping`.
    promises : dict, optional
        Bounds to check. ``workers_per_key``: the most workers that one key is sent to, a number or
        a function of the grouping. ``imbalance``: a function (grouping, m) that bounds the largest
        load minus the mean after m messages, at every message. Those of streamlb's own classes,
        and of classes that derive from them, are known; None takes one back.
    skip : iterable of str
        Names of checks to leave out.
    **options
        Given to every grouping that is made. With ``workers`` or ``sources`` the checks use those
        numbers; otherwise they use several.

    Returns
    -------
    Report
        What passed and what was skipped; prints as a table.

    Raises
    ------
    CheckError
        An AssertionError that says of each check which fails: given what, expected what, got what.

    Warns
    -----
    SkippedCheckWarning
        Where the grouping does not offer what a check is about, and `skip` does not name it.

    Examples
    --------
    >>> from streamlb import PowerOfRandomChoices
    >>> from streamlb.testing import check_grouping
    >>> report = check_grouping(PowerOfRandomChoices, epsilon=0.1)
    >>> report.passed[-1], report.skipped
    ('bound_imbalance', {})
    """
    contract = GroupingContract(kind, promises, options)
    return run_all(contract.subject(), contract.checks(), skip)


# The bounds of streamlb's own groupings, by name, so that a check of something else loads none.


def _random_choices_bound(grouping: Any, m: int) -> Any:
    from fractions import Fraction

    from streamlb.ratios import fraction_of

    # Less than epsilon m / n + sources, by the proof at
    # streamlb.analysis.random_choices_imbalance_bound.
    return fraction_of(grouping.epsilon) * Fraction(m, grouping.workers) + grouping.sources


_KNOWN: dict[str, dict[str, Any]] = {
    "KeyGrouping": {"workers_per_key": 1},
    "PartialKeyGrouping": {"workers_per_key": 2},
    "ShuffleGrouping": {"imbalance": lambda grouping, m: grouping.sources},
    "PowerOfRandomChoices": {"imbalance": _random_choices_bound},
    "BoundedLoadHashing": {"imbalance": _random_choices_bound},
}


def _promises_of(kind: Any, options: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for base in reversed(getattr(kind, "__mro__", ())):
        if base.__module__.startswith("streamlb."):
            found |= _KNOWN.get(base.__name__, {})
    return found
