"""The checks of sketches: what they count is what was sent, within the errors that they promise."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from streamlb.testing.compare import short
from streamlb.testing.contract import LONG, Contract, bad_call, skewed_keys
from streamlb.testing.report import Check, CheckError, Report, SkippedCheck, run_all
from streamlb.testing.statistics import assert_proportion_below

_UNKNOWN = 987_654_321  # a key that no stream has


class Item(NamedTuple):
    """A key and its weight or, for a sketch of costs, its cost."""

    key: Any
    value: float = 1


class SketchContract(Contract):
    """What a sketch keeps."""

    CHECKS = (
        "keys",
        "conservation",
        "weights",
        "estimates",
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
        "merge",
        "bad_merge",
        "bad_keys",
        "bad_values",
    )
    PROMISES = {  # noqa: RUF012
        "never_under": "True where no estimate is below the true count",
        "never_over": "True where no estimate is above the true count",
        "bracket": "True where estimate - error <= true count <= estimate, with error(key)",
        "heavy": "the share above which every key is in heavy_hitters, a number or a function of the sketch",
        "accuracy": "(epsilon, delta), or a function of the sketch that gives them: the chance over the seeds "
        "that an estimate is off by epsilon * (total - true count) or more is at most delta",
        "between": "True where an estimated cost is between the least and the greatest cost seen",
    }
    SEEN = ("total", "messages")

    def known_promises(self) -> dict[str, Any]:
        """Return those of streamlb's own sketches."""
        found: dict[str, Any] = {}
        for base in reversed(getattr(self.kind, "__mro__", ())):
            if base.__module__.startswith("streamlb."):
                found |= _KNOWN.get(base.__name__, {})
        return found

    def shapes(self) -> list[dict[str, Any]]:
        """Return a seed, where none is given."""
        return [{"seed": 3}] if "seed" not in self.options and self.accepts("seed", 1) else [{}]

    def _values(self, sketch: Any) -> str:
        """Return "costs" or "weights", whichever `update` takes, or nothing."""
        for name in ("costs", "cost", "weights", "weight"):
            if self.takes(sketch.update, name):
                return name
        return ""

    def _of_costs(self, sketch: Any) -> bool:
        return self._values(sketch).startswith("cost")

    def stream(self, seed: int, size: int, kinds: int = 60) -> list[Item]:
        """Return messages of about so many keys."""
        keys = skewed_keys(seed, size, kinds)
        sketch = self.build(**self.shapes()[0])
        if self._of_costs(sketch):
            return [Item(key, float(key % 7) + 0.25) for key in keys]
        if seed % 2 == 0 or not self._values(sketch):
            return [Item(key) for key in keys]
        return [Item(key, int(weight)) for key, weight in zip(keys, np.random.default_rng(seed).integers(0, 4, size))]

    def play(self, made: Any, part: list[Any]) -> list[Any]:
        """Count messages one by one."""
        for item in part:
            self.asked = f"update{tuple(item)!r}"
            made.update(item.key) if self._plain(made, [item]) else made.update(item.key, item.value)
        return []

    def play_batch(self, made: Any, part: list[Any]) -> list[Any]:
        """Count messages by one call."""
        keys, values = [item.key for item in part], [item.value for item in part]
        self.asked = f"update({short(keys)}, {short(values)})"
        made.update(keys) if self._plain(made, part) else made.update(keys, values)
        return []

    def _plain(self, sketch: Any, part: list[Item]) -> bool:
        return not self._of_costs(sketch) and {item.value for item in part} <= {1}

    def seen(self, made: Any) -> dict[str, Any]:
        """Return the estimates, also of keys that never came, and what all kinds show."""
        keys = [*range(90), 2**63 + 5, _UNKNOWN]
        found = super().seen(made)
        for name in ("estimate", "error"):
            if hasattr(made, name):
                found[f"{name} of {short(keys)}"] = [_number(getattr(made, name)(key)) for key in keys]
        return found

    def check_keys(self) -> None:
        """Check that keys are ints of 64 bits, str or bytes, alone and in lists."""
        for shape in self.shapes():
            kinds: tuple[list[Any], ...] = ([0, 1, 2**63, 2**64 - 1], ["a", "user-17", "ключ"], [b"a", b"\x00\xff"])
            for keys in kinds:
                one, many = self.build(**shape), self.build(**shape)
                given = f"{self.asked} and the keys {keys}"
                part = [Item(key) for key in keys] * 2
                self.play(one, part)
                self.play_batch(many, part)
                ref, comp = ([_number(sketch.estimate(key)) for key in keys] for sketch in (one, many))
                self.same_replies(given, "the same estimates after a loop and after a batch", part, ref, comp)
                asked = [_number(value) for value in one.estimate(keys)]
                self.same_replies(given, "what estimate of one gives, for many", keys, ref, asked)
                self._keeps_exact_promises(one, part, given)
                self.same_look(given, "the same after a loop and after a batch", self.seen(one), self.seen(many))
                self._counts_all(one, part, given)

    def check_conservation(self) -> None:
        """Check that no message is lost or doubled: the total is the weight of all."""
        for shape, part, given in (*self.each(3), *self.each(3, size=LONG, shapes=self.shapes()[:1])):
            sketch = self.build(**shape)
            self.offers(sketch, *self.SEEN)
            self.play(sketch, part)
            self._counts_all(sketch, part, given)

    def _counts_all(self, sketch: Any, part: list[Item], given: str) -> None:
        expected = {"total": sum(item.value for item in part), "messages": len(part)}
        for name, value in expected.items():
            # What the total of a sketch of costs is, is its own affair.
            if (name == "messages" or not self._of_costs(sketch)) and hasattr(sketch, name):
                got = _number(getattr(sketch, name))
                if got != value:
                    raise CheckError(f"Given {given}, {name} of {value} was expected, but got {got}.")

    def check_weights(self) -> None:
        """Check that a message of weight w counts as w messages, and one of weight 0 as none."""
        for shape in self.shapes():
            one, many, none = (self.build(**shape) for _ in range(3))
            made = self.asked
            if not self._values(one).startswith("weight"):
                raise SkippedCheck("update takes no weights")
            self.play(one, [Item("a", 5)])
            self.play(many, [Item("a")] * 5)
            ref, comp = _number(many.estimate("a")), _number(one.estimate("a"))
            if ref != comp:
                raise CheckError(
                    f"Given {made} and a message of weight 5, the estimate {ref} of five messages was expected, but got {comp}."
                )
            self._weighs(made, shape)
            self.play(none, [Item("a", 0)])
            if hasattr(none, "total") and _number(none.total) != 0:
                raise CheckError(
                    f"Given {made} and a message of weight 0, a total of 0 was expected, but got {none.total}."
                )

    def _weighs(self, made: str, shape: dict[str, Any]) -> None:
        """Raise unless a large weight is counted whole, alone and in a batch."""
        for play in (self.play, self.play_batch):
            sketch = self.build(**shape)
            play(sketch, [Item("a", 2**40)])
            self._counts_all(sketch, [Item("a", 2**40)], f"{made} and a message of weight {2**40}")
            self._keeps_exact_promises(sketch, [Item("a", 2**40)], f"{made} and a message of weight {2**40}")

    def check_estimates(self) -> None:
        """Check that estimates of many keys are those of each alone, and asking changes nothing."""
        for shape, part, given in self.each(4):
            sketch = self.build(**shape)
            self.play(sketch, part)
            before, keys = self.seen(sketch), [item.key for item in part[:40]]
            for name in ("estimate", "error"):
                if hasattr(sketch, name):
                    ask = getattr(sketch, name)
                    ref, comp = [_number(ask(key)) for key in keys], [_number(value) for value in ask(keys)]
                    self.same_replies(f"{given}, and {name} of many", f"what {name} of one gives", keys, ref, comp)
            self.same_look(f"{given}, and then estimates", "an object as before", before, self.seen(sketch))

    def check_merge(self) -> None:
        """Check that a merged sketch keeps its promises for both streams; the other stays as is."""
        for shape, part, given in self.each(5):
            one, two = self.build(**shape), self.build(**shape)
            self.offers(one, "merge")
            self.play(one, part[:180])
            self.play(two, part[180:])
            before, text = self.seen(two), f"{given}, 180 in one sketch and the rest in another, merged"
            one.merge(two)
            self.same_look(text, "the other sketch as it was", before, self.seen(two))
            whole = self.build(**shape)
            self.play(whole, part)
            for name in self.SEEN:
                if hasattr(one, name) and _number(getattr(one, name)) != _number(getattr(whole, name)):
                    raise CheckError(
                        f"Given {text}, {name} of {getattr(whole, name)} was expected, but got {getattr(one, name)}."
                    )
            self._keeps_exact_promises(one, part, text)
            self.play(one, part)
            self._keeps_exact_promises(one, [*part, *part], f"{text}, and all messages once more")
            self.same_look(f"{text} into one that then gets more", "the other as it was", before, self.seen(two))
            one, two = self.build(**shape), self.build(**shape)
            self.play(two, part)
            before, text = self.seen(two), f"{given}, merged into an empty sketch that then gets more"
            one.merge(two)
            self.play(one, part)
            self.same_look(text, "the other as it was", before, self.seen(two))

    def check_bad_merge(self) -> None:
        """Check that what is no sketch of the same kind is not merged, and changes nothing."""
        self.offers(self.build(**self.shapes()[0]), "merge")
        self.refuse(bad_call("", "merge", bad) for bad in (None, 3, "sketch"))

    def check_bad_keys(self) -> None:
        """Check that keys that are no int, str or bytes are refused by name, and change nothing."""
        costs = self._of_costs(self.build(**self.shapes()[0]))
        calls = []
        for bad in (None, 1.5, [1, None], [3, 1.5]):
            values: list[Any] = [] if not costs else [[1.0, 1.0] if isinstance(bad, list) else 1.0]
            calls += [bad_call("key", "update", bad, *values), bad_call("key", "estimate", bad)]
        self.refuse(calls)

    def check_bad_values(self) -> None:
        """Check that senseless weights or costs are refused by name, and change nothing."""
        name = self._values(self.build(**self.shapes()[0]))
        if not name:
            raise SkippedCheck("update takes no weights or costs")
        bad_ones: list[Any] = [[1, -1], [1], [1, float("nan")], ["a", "b"], [1, float("inf")]]
        if name.startswith("weight"):
            bad_ones.append([1, 0.5])
        self.refuse(bad_call(name.rstrip("s"), "update", [1, 2], bad) for bad in bad_ones)

    # Bounds. All but the accuracy hold for certain.

    def bound_never_under(self) -> None:
        """Check that no estimate is below the true count."""
        self._bound("never_under")

    def bound_never_over(self) -> None:
        """Check that no estimate is above the true count."""
        self._bound("never_over")

    def bound_bracket(self) -> None:
        """Check that the true count is from estimate - error to estimate, for every key."""
        self._bound("bracket")

    def bound_heavy(self) -> None:
        """Check that every key above the promised share of the total is in heavy_hitters."""
        self._bound("heavy")

    def bound_between(self) -> None:
        """Check that an estimated cost is between the least and the greatest cost seen."""
        self._bound("between")

    def bound_accuracy(self) -> None:
        """Check that estimates are off by epsilon (total - true) with a chance of at most delta.

        The chance is that over the seeds, of which 300 are drawn for each of four keys. A sketch
        that keeps the promise fails with a chance below 1e-6.
        """
        if "seed" in self.options or not self.accepts("seed", 1):
            raise SkippedCheck("the promise is about the seed, and none can be given")
        keys = skewed_keys(2, 600, 200)
        true = Counter(keys)
        ranked = [key for key, _ in true.most_common()]
        asked = [ranked[0], ranked[10], ranked[-1], _UNKNOWN]
        failures = dict.fromkeys(asked, 0)
        for seed in range(300):
            sketch = self.build(seed=seed)
            promise = self.promises["accuracy"]
            epsilon, delta = promise(sketch) if callable(promise) else promise
            sketch.update(keys)
            for key in asked:
                off = abs(_number(sketch.estimate(key)) - true[key])
                failures[key] += off > 0 and off >= epsilon * (len(keys) - true[key])
        for key, count in failures.items():
            try:
                assert_proportion_below(count, 300, delta, alpha=1e-6 / len(asked))
            except AssertionError as error:
                raise CheckError(
                    f"Given {self.name}, a skewed stream of {len(keys)} messages, 300 seeds and key {key}, an error of "
                    f"{epsilon:g} of the other messages or more with a chance of at most {delta:g} was expected, "
                    f"but got one for {count} seeds: {error}"
                ) from error

    def _bound(self, only: str) -> None:
        for shape in self.shapes():
            for seed, size, keys in ((1, LONG, 60), (2, 3000, 1000), (3, 50, 60)):
                part, sketch = self.stream(seed, size, keys), self.build(**shape)
                given = f"{self.asked} and {size} messages of about {keys} keys"
                self.play_batch(sketch, part)
                self._keeps_exact_promises(sketch, part, given, only)

    def _keeps_exact_promises(self, sketch: Any, part: list[Item], given: str, only: str | None = None) -> None:
        """Raise unless every promise that holds for certain is kept; or only one of them."""
        promised = [name for name in self.promises if self.promises[name] and only in (None, name)]
        true: defaultdict[Any, float] = defaultdict(float)
        for key, value in part:
            true[key] += value
        costs = [item.value for item in part]
        for key in [*true, _UNKNOWN]:
            estimate, count = _number(sketch.estimate(key)), true.get(key, 0)
            rules = {
                "never_under": (count, np.inf),
                "never_over": (-np.inf, count),
                "between": (min(costs), max(costs)),
            }
            for name in promised:
                low, high = rules.get(name, (-np.inf, np.inf))
                slack = 1e-12 * abs(high) if name == "between" else 0  # sums of costs are rounded
                if not low - slack <= estimate <= high + slack:
                    raise CheckError(
                        f"Given {given}, an estimate of key {key} from {low} to {high} was expected, but got {estimate}."
                    )
            if "bracket" in promised:
                error = _number(sketch.error(key))
                if not estimate - error <= count <= estimate:
                    raise CheckError(
                        f"Given {given}, a count of key {key} from {estimate - error} (estimate - error) to {estimate} "
                        f"(estimate) was expected, but it is {count}."
                    )
        if "heavy" in promised:
            promise = self.promises["heavy"]
            share, total = promise(sketch) if callable(promise) else promise, sum(true.values())
            # Text may be listed by its hash, so only ints are looked for.
            true = defaultdict(float, {key: count for key, count in true.items() if isinstance(key, int)})
            found = {int(row[0]) for row in sketch.heavy_hitters(share)} if true else set()
            missing = sorted(key for key, count in true.items() if count > share * total and key not in found)
            if missing:
                raise CheckError(
                    f"Given {given}, every key above a share of {share:g} among the heavy hitters was expected, "
                    f"but {missing} are not, of counts {[true[key] for key in missing]} in {total}."
                )


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, (np.generic, np.ndarray)) else value


_KNOWN: dict[str, dict[str, Any]] = {
    "CountMin": {"never_under": True, "accuracy": lambda sketch: (sketch.epsilon, sketch.delta)},
    "SpaceSaving": {"never_under": True, "bracket": True, "heavy": lambda sketch: 1 / sketch.capacity},
    "CostSketch": {"between": True},
}


def sketch_checks(
    kind: Callable[..., Any], /, *, promises: dict[str, Any] | None = None, **options: Any
) -> list[Check]:
    """Give the checks of `check_sketch` one by one, for pytest's parametrisation.

    Parameters
    ----------
    kind : class or callable
        Makes a sketch; as for `check_sketch`.
    promises : dict, optional
        The bounds that it promises; as for `check_sketch`.
    **options
        Given to every sketch that is made.

    Returns
    -------
    list of Check
        Pairs (name, run), as from `grouping_checks`.

    Examples
    --------
    >>> from streamlb import SpaceSaving
    >>> from streamlb.testing import sketch_checks
    >>> [name for name, _ in sketch_checks(SpaceSaving, capacity=20) if name.startswith("bound")]
    ['bound_never_under', 'bound_bracket', 'bound_heavy']
    """
    return SketchContract(kind, promises, options).checks()


def check_sketch(
    kind: Callable[..., Any], /, *, promises: dict[str, Any] | None = None, skip: Any = (), **options: Any
) -> Report:
    """Check that a class keeps the contract of a sketch, and the bounds that it promises.

    Parameters
    ----------
    kind : class or callable
        Makes a sketch from the options. It has ``update(keys)``, with ``weights`` or ``costs``
        where it takes them, and ``estimate(keys)``, both for one key or many; all else is checked
        where it is offered: ``seed`` as an option, ``error``, ``total``, ``messages``, ``merge``,
        ``reset``, ``state``, ``from_state``. They mean what they mean in `streamlb.CountMin`,
        `streamlb.CostSketch` and `streamlb.SpaceSaving`.
    promises : dict, optional
        Bounds to check. ``never_under``, ``never_over``: True where no estimate is below, or above,
        the true count. ``bracket``: True where estimate - error <= true count <= estimate.
        ``heavy``: the share of the total above which every key is in `heavy_hitters`, a number or a
        function of the sketch. ``accuracy``: (epsilon, delta), or a function of the sketch that
        gives them; the chance over the seeds that an estimate is off by epsilon * (total - true
        count) or more is at most delta. ``between``: True where an estimated cost is between the
        least and the greatest cost seen. Those of streamlb's own classes are known; None takes one
        back.
    skip : iterable of str
        Names of checks to leave out.
    **options
        Given to every sketch that is made.

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
        Where the sketch does not offer what a check is about, and `skip` does not name it.

    Examples
    --------
    >>> from streamlb import CountMin
    >>> from streamlb.testing import check_sketch
    >>> check_sketch(CountMin, epsilon=0.1, delta=0.2).passed[-2:]
    ['bound_never_under', 'bound_accuracy']
    """
    contract = SketchContract(kind, promises, options)
    return run_all(contract.subject(), contract.checks(), skip)
