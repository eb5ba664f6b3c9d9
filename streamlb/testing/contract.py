"""The contract that groupings, sketches and schedulers share, each promise of it one check.

A `Contract` makes objects of the class under test, plays messages to them and looks at what can be
seen of them. Two objects count as equal when all that can be seen is equal now, and when both do
the same with the messages that come next: for this nothing need be known of their insides.
"""

from __future__ import annotations

import copy
import functools
import inspect
import itertools
import operator
import pickle
import random
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from streamlb.testing.compare import apart, plain, same, short
from streamlb.testing.report import Check, CheckError, SkippedCheck

_REFUSED = (TypeError, ValueError)
_UNABLE = re.compile("can(not|'t) (be )?(pickle|cop(y|ied)|deepcop)|local object|not (picklable|copyable)", re.I)

# Sizes are prime, so that no stream ends where a turn of the sources begins again.
SIZE, HALF = 307, 151


def in_two(part: Any) -> tuple[Any, Any]:
    """Return a stream in two parts, of which the first ends at no turn of the sources."""
    cut = HALF
    return part[:cut], part[cut:]


LONG = 20_011  # beyond the borders of the chunks in which batches are commonly cut


class BadCall(NamedTuple):
    """A call to be refused: its text, the argument that is bad, and a function of the object."""

    text: str
    argument: str
    call: Callable[[Any], Any]


class Contract:
    """The checks of one class; those of a kind of balancer extend it.

    A check is a method `check_NAME`; a bound, which is checked where it is promised, is a method
    `bound_NAME`. Their docstrings begin with what they want, and so do the errors. All streams
    are drawn from fixed seeds, so that a check gives the same result every time.
    """

    CHECKS: tuple[str, ...] = ()
    PROMISES: dict[str, str] = {}  # noqa: RUF012
    SEEN: tuple[str, ...] = ()  # public attributes that are compared where they are offered

    def __init__(self, kind: Callable[..., Any], promises: dict[str, Any] | None, options: dict[str, Any]):
        if not callable(kind):
            raise TypeError(f"kind must be a class, or a function that makes objects, got {kind!r}")
        self.kind, self.options = kind, options
        self.name = getattr(kind, "__name__", None) or repr(kind)
        given = {} if promises is None else dict(promises)
        unknown = sorted(set(given) - set(self.PROMISES))
        if unknown:
            known = "; ".join(f"{name}, {text}" for name, text in self.PROMISES.items())
            raise ValueError(f"promises must be of {known}; got {', '.join(map(repr, unknown))}")
        self.promises = {name: value for name, value in {**self.known_promises(), **given}.items() if value is not None}
        self._fewest: dict[str, int] = {}
        self.asked = ""  # the last call, for the message of an error that nobody expected

    # What a kind of balancer says of itself.

    def known_promises(self) -> dict[str, Any]:
        """Return the promises of streamlb's own classes, which need not be given."""
        return {}

    def shapes(self) -> list[dict[str, Any]]:
        """Return the options of the objects to check: of different sizes, where none are given."""
        return [{}]

    def stream(self, seed: int, size: int) -> list[Any]:
        """Return messages."""
        raise NotImplementedError

    def play(self, made: Any, part: list[Any]) -> list[Any]:
        """Send messages one by one and return what comes back."""
        raise NotImplementedError

    def play_batch(self, made: Any, part: list[Any]) -> list[Any]:
        """Send messages in one call; a `SkippedCheck` where there is none for many."""
        raise NotImplementedError

    def bare(self, made: Any) -> Any:
        """Return the object under test itself."""
        return made

    def renew(self, made: Any, change: Callable[[Any], Any]) -> Any:
        """Return what `build` returns, with the object that `change` makes of the present one."""
        return change(made)

    # Objects, and what is seen of them.

    def build(self, **more: Any) -> Any:
        """Make an object."""
        options = {**more, **self.options}
        self.asked = f"{self.name}({', '.join(f'{name}={value!r}' for name, value in options.items())})"
        return self.kind(**options)

    def takes(self, call: Callable[..., Any], name: str) -> bool:
        """Return whether a call has a parameter of this name."""
        try:
            return name in inspect.signature(call).parameters
        except (TypeError, ValueError):
            return False

    def accepts(self, name: str, value: Any) -> bool:
        """Return whether the class takes an option of this name."""
        try:
            parameters = inspect.signature(self.kind).parameters
        except (TypeError, ValueError):
            return False
        if name in parameters:
            return True
        if not any(each.kind is each.VAR_KEYWORD for each in parameters.values()):
            return False
        try:
            self.kind(**{**self.options, **self.least(), name: value})
        except TypeError:
            return False
        return True

    def least(self) -> dict[str, Any]:
        """Return the options without which no object can be made."""
        return {}

    def fewest(self, name: str) -> int:
        """Return the least number that the class takes as this option; some need 2 or more."""
        if name not in self._fewest:
            self._fewest[name] = next((count for count in range(1, 51) if self._takes_count(name, count)), 1)
        return self._fewest[name]

    def _takes_count(self, name: str, count: int) -> bool:
        try:
            self.kind(**{**self.options, name: count})
        except ValueError:
            return False
        except Exception:  # a check will meet it, and say so
            return True
        return True

    def offers(self, made: Any, *names: str) -> Any:
        """Return the first of these attributes that the object has, else skip the check."""
        for name in names:
            if hasattr(self.bare(made), name):
                return getattr(self.bare(made), name)
        raise SkippedCheck(f"{self.name} has no {' or '.join(names)}")

    def state_of(self, made: Any) -> Any:
        """Return `state()`, or None where there is none or where it tells the time of day."""
        bare = self.bare(made)
        if not callable(getattr(bare, "state", None)):
            return None
        one, two = plain(bare.state()), plain(bare.state())
        return one if same(one, two) else None

    def seen(self, made: Any) -> dict[str, Any]:
        """Return all that can be seen of an object, in plain Python values."""
        bare = self.bare(made)
        found = {name: plain(getattr(bare, name)) for name in self.SEEN if hasattr(bare, name)}
        found["state()"] = self.state_of(made)
        return found

    # Comparisons.

    def same_replies(self, given: str, wanted: str, part: list[Any], ref: list[Any], comp: list[Any]) -> None:
        """Raise unless both lists are the same; the message names the first difference."""
        if len(ref) != len(comp):
            raise CheckError(f"Given {given}, {wanted} was expected: {len(ref)} replies, but got {len(comp)}.")
        for at, (one, other) in enumerate(zip(ref, comp)):
            if one is not other and not same(one, other):
                of = f", {short(part[at])}" if at < len(part) else ""
                raise CheckError(
                    f"Given {given}, {wanted} was expected: at message {at} of {len(ref)}{of}, "
                    f"{short(one)}, but got {short(other)}."
                )

    def same_look(self, given: str, wanted: str, ref: dict[str, Any], comp: dict[str, Any]) -> None:
        """Raise unless all that is seen of two objects is the same."""
        for name, value in ref.items():
            if not same(value, comp.get(name)):
                shown = short(value), short(comp.get(name))
                if shown[0] == shown[1]:
                    shown = apart(value, comp.get(name))
                raise CheckError(f"Given {given}, {wanted} was expected: {name} of {shown[0]}, but got {shown[1]}.")

    def same_future(self, given: str, wanted: str, ref: Any, comp: Any, part: list[Any]) -> None:
        """Raise unless two objects look the same and do the same with the messages that come."""
        self.same_look(given, wanted, self.seen(ref), self.seen(comp))
        after = f"{given}, and then {len(part)} messages more"
        self.same_replies(after, wanted, part, self.play(ref, part), self.play(comp, part))
        self.same_look(after, wanted, self.seen(ref), self.seen(comp))

    def each(
        self, *seeds: int, size: int = SIZE, shapes: Any = None
    ) -> Iterator[tuple[dict[str, Any], list[Any], str]]:
        """Give each shape with the stream of each seed, and the two in words."""
        for shape, seed in itertools.product(self.shapes() if shapes is None else shapes, seeds):
            part = self.stream(seed, size)
            self.build(**shape)
            yield shape, part, f"{self.asked} and {size} messages, {', '.join(map(short, part[:4]))} and so on"

    def refuse(self, calls: Iterable[BadCall]) -> None:
        """Raise unless each call is refused without effect, by an error naming the argument."""
        shape = self.shapes()[0]
        for text, argument, call in calls:
            hit, spared = self.build(**shape), self.build(**shape)
            made = self.asked
            part = self.stream(7, 80)
            self.play(hit, part[:41])
            self.play(spared, part[:41])
            refused(f"{made} after 41 messages, and the call {text}", argument, functools.partial(call, hit))
            given = f"{made} after 41 messages, and the refused call {text}"
            self.same_future(given, "an object that the call has not changed", spared, hit, part[41:])

    # The checks that all kinds share.

    def check_batch(self) -> None:
        """Check that a batch gives what a loop of single calls gives, and leaves the same."""
        for shape, part, given in self.each(1, 2):
            one, many = self.build(**shape), self.build(**shape)
            comp = self.play_batch(many, part)
            self.same_replies(given, "what a loop of single calls gives", part, self.play(one, part), comp)
            wanted = "what a loop of single calls leaves"
            self.same_look(given, wanted, self.seen(one), self.seen(many))
            self.same_replies(given, "no message from an empty batch", [], [], self.play_batch(many, []))
            self.same_future(given, wanted, one, many, self.stream(2, 53))

    def check_chunks(self) -> None:
        """Check that batches cut at random places give what one batch gives."""
        for shape, part, given in self.each(3, 4):
            for seed in range(4):
                cuts = sorted(np.random.default_rng(seed).integers(0, len(part) + 1, 3).tolist())
                whole, parts = self.build(**shape), self.build(**shape)
                ref, comp = self.play_batch(whole, part), []
                for at, (start, stop) in enumerate(zip([0, *cuts], [*cuts, len(part)])):
                    play = self.play if at == 1 else self.play_batch
                    comp += play(parts, part[start:stop])
                text = f"{given}, cut at {cuts}, the second part message by message"
                self.same_replies(text, "what one batch gives", part, ref, comp)
                self.same_future(text, "what one batch leaves", whole, parts, self.stream(4, 53))

    def check_long(self) -> None:
        """Check that a batch of many thousands gives and leaves what a loop does."""
        for shape, part, given in self.each(13, 14, size=LONG, shapes=self.shapes()[:1]):
            one, many = self.build(**shape), self.build(**shape)
            comp = [*self.play(many, part[:2]), *self.play_batch(many, part[2:])]
            text = f"{given}, all but two of them in one batch"
            self.same_replies(text, "what a loop of single calls gives", part, self.play(one, part), comp)
            self.same_future(text, "what a loop of single calls leaves", one, many, self.stream(4, 53))

    def check_state(self) -> None:
        """Check that `from_state(state())` goes on exactly as the original does, from any place."""
        for shape, part, given in self.each(5):
            for cut in (0, 17, 199):
                made = self.build(**shape)
                state = self.offers(made, "state")
                self.offers(made, "from_state")
                self.play(made, part[:cut])
                before, data = self.seen(made), state()
                kept = plain(data)
                restored = type(self.bare(made)).from_state(data)
                twin = self.renew(made, functools.partial(_instead, restored))
                text = f"{given}, restored from its state after {cut}"
                self.same_look(text, "state() not to change the object", before, self.seen(made))
                self.same_future(text, "an object that goes on as the original", made, twin, part[cut:])
                wanted = "what state() gave to stay as it was while both objects go on"
                self.same_look(text, wanted, {"the state": kept}, {"the state": plain(data)})

    def check_bad_state(self) -> None:
        """Check that `from_state` refuses what `state()` never gave."""
        for shape, part, given in self.each(6, size=61):
            made = self.build(**shape)
            self.offers(made, "from_state")
            state = self.offers(made, "state")
            self.play(made, part)
            good, restore = state(), type(self.bare(made)).from_state
            bad: list[Any] = [None, 5]
            if isinstance(good, (bytes, str)):
                bad += [good[:0], good[: len(good) // 2], good[:-1]]
            for value in bad:
                refused(f"{given}, and from_state({short(value)})", "", functools.partial(restore, value))

    def check_pickle(self) -> None:
        """Check that a pickled object goes on exactly as the original does."""
        for shape, part, given in self.each(8):
            first, rest = in_two(part)
            made = self.build(**shape)
            if "<locals>" in type(self.bare(made)).__qualname__:
                raise SkippedCheck("Python pickles no class that is defined inside a function")
            self._able("pickled", self.bare(made), pickle.dumps)
            self.play(made, first)
            twin = self.renew(made, lambda old: pickle.loads(pickle.dumps(old)))
            text = f"{given}, pickled after {HALF}"
            self.same_future(text, "an object that goes on alike", made, twin, rest)

    def check_copy(self) -> None:
        """Check that a deep copy goes on as the original does, and neither touches the other.

        So does a plain copy, where the class says itself how it is copied.
        """
        for shape, part, given in self.each(9):
            first, rest = in_two(part)
            fresh = self.bare(self.build(**shape))
            ways: dict[str, Callable[[Any], Any]] = {}
            if hasattr(type(fresh), "__copy__") or type(fresh).__reduce__ is not object.__reduce__:
                self._able("copied", fresh, copy.copy)
                ways["copy.copy"] = copy.copy
            self._able("copied", fresh, copy.deepcopy)
            ways["copy.deepcopy"] = copy.deepcopy
            for word, way in ways.items():
                made = self.build(**shape)
                self.play(made, first)
                before, twin = self.seen(made), self.renew(made, way)
                text = f"{given}, and {word} after {HALF}"
                self.play(self.renew(made, way), rest)
                self.same_look(text, "a copy that does not touch the original", before, self.seen(made))
                self.same_future(text, "a copy that goes on as the original", made, twin, rest)

    def _able(self, word: str, fresh: Any, way: Callable[[Any], Any]) -> None:
        """Skip the check where even a new object says that it cannot be copied or pickled."""
        try:
            way(fresh)
        except (TypeError, AttributeError, pickle.PicklingError, NotImplementedError) as error:
            if isinstance(error, NotImplementedError) or _UNABLE.search(str(error)):
                raise SkippedCheck(f"{self.name} cannot be {word}: {error}") from None
            raise

    def check_reset(self) -> None:
        """Check that `reset()` makes an object as new."""
        for shape, part, given in self.each(10):
            made, fresh = self.build(**shape), self.build(**shape)
            self.offers(made, "reset")
            self.play(made, part)
            self.bare(made).reset()
            made = self.renew(fresh, functools.partial(_instead, self.bare(made)))
            self.same_future(f"{given}, and reset()", "an object as new", fresh, made, part)

    def check_determinism(self) -> None:
        """Check that equal objects do the same, whatever else draws random numbers."""
        if "seed" in self.options and self.options["seed"] is None:
            raise SkippedCheck("seed=None asks for another draw each time")
        for shape, part, given in self.each(11):
            ref, comp = self.build(**shape), self.build(**shape)
            expected = self.play(ref, part)
            got = []
            for at in range(0, len(part), 50):
                with _other_random_numbers(at):
                    got += self.play(comp, part[at : at + 50])
            self.same_replies(given, "the same from two equal objects", part, expected, got)
            self.same_look(given, "the same from two equal objects", self.seen(ref), self.seen(comp))

    def check_instances(self) -> None:
        """Check that objects share nothing: what one is told does not reach another."""
        for shape, part, given in self.each(12, size=199):
            alone, one, other = (self.build(**shape) for _ in range(3))
            ref, comp = self.play(alone, part), []
            for at in range(0, len(part), 20):
                comp += self.play(one, part[at : at + 20])
                self.play(other, self.stream(at, 30))
            text = f"{given}, while another object gets other messages"
            self.same_replies(text, "the same as when it is alone", part, ref, comp)
            self.same_look(text, "the same as when it is alone", self.seen(alone), self.seen(one))

    # The checks one by one.

    def subject(self) -> str:
        """Return what is checked, as its user wrote it."""
        return f"{self.name}({', '.join(f'{name}={value!r}' for name, value in self.options.items())})"

    def checks(self) -> list[Check]:
        """Return every check of the contract, and behind them the bounds that are promised."""
        bounds = [name for name in self.PROMISES if name in self.promises and hasattr(self, f"bound_{name}")]
        named = [(name, getattr(self, f"check_{name}")) for name in self.CHECKS]
        named += [(f"bound_{name}", getattr(self, f"bound_{name}")) for name in bounds]
        return [Check(name, self._guarded(name, method)) for name, method in named]

    def _guarded(self, name: str, method: Callable[[], None]) -> Callable[[], None]:
        wants = (inspect.getdoc(method) or "").split("\n\n")[0].replace("\n", " ").removeprefix("Check that ")

        def run() -> None:
            head = f"{self.subject()} fails the check '{name}': {wants}"
            try:
                method()
            except SkippedCheck:
                raise
            except CheckError as error:
                raise CheckError(f"{head} {error}") from error.__cause__
            except Exception as error:
                raise CheckError(
                    f"{head} Given {self.asked}, no error was expected, but got {type(error).__name__}: {error}."
                ) from error

        run.__name__ = run.__qualname__ = name
        run.__doc__ = wants
        return run


class _other_random_numbers:  # noqa: N801
    """Inside it the global generators of Python and NumPy stand elsewhere."""

    def __init__(self, seed: int):
        self.seed = seed

    def __enter__(self) -> None:
        self.python, self.numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
        random.seed(self.seed)
        np.random.seed(self.seed)  # noqa: NPY002

    def __exit__(self, *_: object) -> None:
        random.setstate(self.python)
        np.random.set_state(self.numpy)  # noqa: NPY002


def _instead(made: Any, _: Any) -> Any:
    return made


def refused(given: str, argument: str, call: Callable[[], Any]) -> None:
    """Raise unless the call raises a TypeError or a ValueError that names the argument."""
    named = f" that names {argument}" if argument else ""
    wanted = f"Given {given}, a ValueError or TypeError{named} was expected, but"
    try:
        got = call()
    except _REFUSED as error:
        if argument not in str(error):
            raise CheckError(f"{wanted} the {type(error).__name__} says: {error}.") from error
    except Exception as error:
        raise CheckError(f"{wanted} got {type(error).__name__}: {error}.") from error
    else:
        raise CheckError(f"{wanted} it returned {short(got)}.")


def bad_call(argument: str, method: str, *args: Any, **kwargs: Any) -> BadCall:
    """Return the call of a method with a bad argument."""
    shown = ", ".join([*map(short, args), *(f"{name}={short(value)}" for name, value in kwargs.items())])
    return BadCall(f"{method}({shown})", argument, operator.methodcaller(method, *args, **kwargs))


def whole(value: Any, given: str) -> int:
    """Return a whole number as an int; anything else fails the check."""
    try:
        if isinstance(value, bool):
            raise TypeError
        return operator.index(value)
    except TypeError:
        raise CheckError(
            f"Given {given}, a whole number was expected, but got {short(value)} of type {type(value).__name__}."
        ) from None


def skewed_keys(seed: int, size: int, keys: int = 60) -> list[int]:
    """Return keys of which few are hot, and others in the second half; some take all 64 bits."""
    rng = np.random.default_rng(seed)
    weights = 1.0 / np.arange(1, keys + 1) ** 1.3
    drawn = rng.choice(keys, size, p=weights / weights.sum())
    drawn[size // 2 :] += keys // 2
    wide = rng.integers(0, 2**64, size, dtype=np.uint64)
    return [int(wide[i]) if i % 23 == 22 else int(key) for i, key in enumerate(drawn)]
