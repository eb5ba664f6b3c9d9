"""The checks of schedulers: drive one through a simulated operator, by `submit` and `complete`."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from streamlb.testing.compare import short
from streamlb.testing.contract import BadCall, Contract, refused, skewed_keys, whole
from streamlb.testing.report import Check, CheckError, Report, SkippedCheck, run_all

COSTS = (1.0, 2.0, 5.0, 9.0)  # what a key costs, by its remainder


class Job(NamedTuple):
    """A tuple to schedule: its key, and how long it takes."""

    key: Any
    cost: float


class Flight(NamedTuple):
    """A tuple that an instance has and that is not completed yet."""

    finish: float
    key: Any
    cost: float
    stamp: Any


class Operator:
    """A scheduler and its instances, each of which works first come, first served.

    A tuple arrives every `gap`. The scheduler hears of a completion before the next tuple comes.
    """

    def __init__(self, scheduler: Any, instances: int, calls: Calls):
        self.scheduler, self.calls = scheduler, calls
        self.gap = 1.1 * sum(COSTS) / len(COSTS) / instances  # a load of 91%
        self.now = 0.0
        self.queues: list[deque[Flight]] = [deque() for _ in range(instances)]

    def with_scheduler(self, scheduler: Any) -> Operator:
        """Return the same operator, as it is now, with another scheduler."""
        other = Operator(scheduler, len(self.queues), self.calls)
        other.now, other.queues = self.now, [deque(queue) for queue in self.queues]
        return other

    def complete_due(self) -> None:
        """Tell the scheduler what is completed by now, in the order of time."""
        while True:
            due = [(queue[0].finish, i) for i, queue in enumerate(self.queues) if queue and queue[0].finish <= self.now]
            if not due:
                return
            finish, instance = min(due)
            done = self.queues[instance].popleft()
            self.calls.complete(self.scheduler, instance, done, finish)

    def place(self, instance: int, job: Job, stamp: Any) -> None:
        """Let an instance have a tuple."""
        queue = self.queues[instance]
        start = max(self.now, queue[-1].finish) if queue else self.now
        queue.append(Flight(start + job.cost, job.key, job.cost, stamp))

    def flying(self) -> tuple[int, Flight]:
        """Return the tuple that came last, with its instance."""
        instance = max(range(len(self.queues)), key=lambda i: self.queues[i][-1].finish if self.queues[i] else -1.0)
        return instance, self.queues[instance][-1]


class Calls(NamedTuple):
    """The shape of a scheduler's calls: whether they take the time, and whether stamps travel."""

    now: bool
    stamps: bool

    def timed(self, now: float) -> dict[str, float]:
        """Return the argument that tells the time."""
        return {"now": now} if self.now else {}

    def submit(self, scheduler: Any, key: Any, now: float) -> tuple[int, Any]:
        """Return the instance and the stamp of a tuple."""
        reply = scheduler.submit(key, **self.timed(now))
        given = f"submit({short(key)})"
        if not self.stamps:
            return whole(reply, given), None
        if not isinstance(reply, tuple) or len(reply) != 2:
            raise CheckError(
                f"Given {given} and a complete that takes a stamp, a pair of instance and stamp was expected, but got {short(reply)}."
            )
        return whole(reply[0], given), reply[1]

    def complete(self, scheduler: Any, instance: int, done: Flight, now: float) -> None:
        """Tell a scheduler of a completion."""
        stamp = (done.stamp,) if self.stamps else ()
        scheduler.complete(instance, done.key, done.cost, *stamp, **self.timed(now))


class SchedulerContract(Contract):
    """What a scheduler keeps."""

    CHECKS = (
        "range",
        "keys",
        "one_instance",
        "batch",
        "chunks",
        "determinism",
        "instances",
        "reset",
        "copy",
        "pickle",
        "state",
        "bad_state",
        "fail",
        "bad_options",
        "bad_keys",
        "bad_completions",
        "bad_times",
    )
    PROMISES = {  # noqa: RUF012
        "work_conserving": "True where no tuple waits for a busy instance while another one is idle",
        "least_outstanding": "True where every tuple goes to an instance with the fewest tuples outstanding",
        "greedy": "after how many tuples the work of the instances stays within Graham's bound",
    }
    SEEN = ("estimates", "outstanding", "messages")

    def least(self) -> dict[str, Any]:
        """Return a number of instances."""
        return {"instances": 3}

    def shapes(self) -> list[dict[str, Any]]:
        """Return several numbers of instances, where none is given."""
        seed = {"seed": 3} if "seed" not in self.options and self.accepts("seed", 1) else {}
        if "instances" in self.options:
            return [seed]
        fewest = self.fewest("instances")
        counts = [{"instances": count} for count in (max(3, fewest), fewest)]
        return [{**count, **seed} for count in counts]

    def stream(self, seed: int, size: int) -> list[Job]:
        """Return tuples of twelve keys and four costs."""
        return [Job(key % 12, COSTS[key % 4]) for key in skewed_keys(seed, size)]

    def build(self, **more: Any) -> Operator:
        """Make a scheduler and the operator that it schedules."""
        scheduler = super().build(**more)
        calls = Calls(self.takes(scheduler.submit, "now"), self.takes(scheduler.complete, "stamp"))
        return Operator(scheduler, self._count(more), calls)

    def bare(self, made: Any) -> Any:
        """Return the scheduler itself."""
        return made.scheduler if isinstance(made, Operator) else made

    def renew(self, made: Any, change: Callable[[Any], Any]) -> Any:
        """Return the operator with another scheduler."""
        return made.with_scheduler(change(made.scheduler))

    def _count(self, shape: dict[str, Any]) -> int:
        return {**shape, **self.options}["instances"]

    def play(self, made: Any, part: list[Any]) -> list[int]:
        """Let tuples come, one each gap, and complete those that are done."""
        chosen = []
        for job in part:
            made.now += made.gap
            made.complete_due()
            chosen.append(self._submit(made, job))
        return chosen

    def _submit(self, made: Operator, job: Job) -> int:
        self.asked = f"submit({job.key!r}) at {made.now:g}"
        instance, stamp = made.calls.submit(made.scheduler, job.key, made.now)
        if not 0 <= instance < len(made.queues):
            raise CheckError(
                f"Given {self.asked}, an instance from 0 to {len(made.queues) - 1} was expected, but got {instance}."
            )
        made.place(instance, job, stamp)
        return instance

    def play_batch(self, made: Any, part: list[Any]) -> list[int]:
        """Let tuples come at once, by `submit_many`."""
        submit_many = self.offers(made, "submit_many")
        replies = submit_many([job.key for job in part], **made.calls.timed(made.now))
        instances, stamps = replies if made.calls.stamps else (replies, [None] * len(part))
        for job, instance, stamp in zip(part, instances, stamps):
            made.place(whole(instance, "submit_many"), job, stamp)
        return [int(instance) for instance in instances]

    def check_range(self) -> None:
        """Check that every tuple goes to one instance, a whole number from 0 to instances - 1."""
        for shape in [
            *self.shapes(),
            *([] if "instances" in self.options else [{**self.shapes()[0], "instances": 40}]),
        ]:
            self.play(self.build(**shape), self.stream(1, 500))

    def check_keys(self) -> None:
        """Check that keys are ints of 64 bits, str or bytes."""
        for shape in self.shapes():
            made = self.build(**shape)
            for key in (0, 2**63, 2**64 - 1, "a", "user-17", "ключ", b"a", b"\x00\xff"):
                self.play(made, [Job(key, 1.0)] * 20)

    def check_one_instance(self) -> None:
        """Check that a single instance gets every tuple."""
        if self.options.get("instances", 1) != 1:
            raise SkippedCheck(f"instances is given as {self.options['instances']}")
        if "instances" not in self.options and self.fewest("instances") > 1:
            raise SkippedCheck(f"{self.name} needs at least {self.fewest('instances')} instances")
        chosen = self.play(self.build(**{**self.shapes()[0], "instances": 1}), self.stream(2, 100))
        if set(chosen) != {0}:
            raise CheckError(
                f"Given one instance, instance 0 for each tuple was expected, but got {sorted(set(chosen))}."
            )

    def check_batch(self) -> None:
        """Check that a batch gives what a loop of single calls gives at that time."""
        self._batches([])

    def check_chunks(self) -> None:
        """Check that batches cut at random places give what one batch gives."""
        self._batches([3, 17, 60])

    def _batches(self, cuts: list[int]) -> None:
        for shape, part, given in self.each(1, size=160):
            one, many = self.build(**shape), self.build(**shape)
            self.play(one, part[:80])
            self.play(many, part[:80])
            rest, comp = part[80:], []
            ref = [self._submit(one, job) for job in rest]
            for start, stop in zip([0, *cuts], [*cuts, len(rest)]):
                comp += self.play_batch(many, rest[start:stop])
            text = (
                f"{given}, the last 80 at one time, in parts cut at {cuts}"
                if cuts
                else f"{given}, the last 80 at one time"
            )
            self.same_replies(text, "what a loop of single calls gives", rest, ref, comp)
            self.same_future(text, "what a loop of single calls leaves", one, many, self.stream(4, 50))

    def check_fail(self) -> None:
        """Check that a tuple that failed is no longer outstanding, and the scheduler goes on."""
        for shape, part, given in self.each(3, size=200):
            made = self.build(**shape)
            fail = self.offers(made, "fail")
            for job in part:
                made.now += made.gap
                instance = self._submit(made, job)
                flight = made.queues[instance].pop()
                fail(instance, flight.key, *((flight.stamp,) if made.calls.stamps else ()), **self._now_of(made, fail))
            if hasattr(made.scheduler, "outstanding") and sum(made.scheduler.outstanding) != 0:
                raise CheckError(
                    f"Given {given}, each of which fails, none outstanding was expected, but got {made.scheduler.outstanding}."
                )
            self.play(made, part)

    def _now_of(self, made: Operator, call: Callable[..., Any]) -> dict[str, float]:
        return {"now": made.now} if self.takes(call, "now") else {}

    def check_bad_options(self) -> None:
        """Check that numbers of instances that make no sense are refused by name."""
        if "instances" in self.options:
            raise SkippedCheck("instances is given")
        for value in (0, -3, 2.5, "4", None):
            options = {**self.shapes()[0], **self.options, "instances": value}
            refused(f"the option instances={value!r}", "instances", functools.partial(self.kind, **options))

    def check_bad_keys(self) -> None:
        """Check that keys that are no int, str or bytes are refused by name, and change nothing."""
        self.refuse(_bad("key", _submit, key=bad) for bad in (None, 1.5, [1]))

    def check_bad_completions(self) -> None:
        """Check that completions with a bad argument are refused by name, and change nothing."""
        calls = [_bad("instance", _complete, instance=bad) for bad in (-1, self._count(self.shapes()[0]), 0.5, None)]
        calls += [_bad("elapsed", _complete, elapsed=bad) for bad in (-1.0, float("nan"), float("inf"), "3")]
        self.refuse([*calls, *(_bad("key", _complete, key=bad) for bad in (None, 1.5))])

    def check_bad_times(self) -> None:
        """Check that a time that is no finite number is refused by name, and changes nothing."""
        if not self.build(**self.shapes()[0]).calls.now:
            raise SkippedCheck("submit takes no now")
        self.refuse(_bad("now", _submit, now=bad) for bad in (float("nan"), float("inf"), "noon"))

    # Bounds. They hold for certain, so no false alarm is possible.

    def bound_work_conserving(self) -> None:
        """Check that no tuple goes to a busy instance while another one is idle."""
        self._outstanding(
            "an idle instance, as there is one,", lambda waiting: min(waiting) if min(waiting) == 0 else max(waiting)
        )

    def bound_least_outstanding(self) -> None:
        """Check that every tuple goes to an instance with the fewest tuples outstanding."""
        self._outstanding("an instance with the fewest tuples outstanding", min)

    def _outstanding(self, wanted: str, most: Callable[[list[int]], int]) -> None:
        for shape, part, given in self.each(5, size=1500):
            made = self.build(**shape)
            for at, job in enumerate(part):
                made.now += made.gap
                made.complete_due()
                waiting = [len(queue) for queue in made.queues]
                instance = self._submit(made, job)
                if waiting[instance] > most(waiting):
                    raise CheckError(
                        f"Given {given}, at message {at} and with {waiting} tuples outstanding, {wanted} was expected, "
                        f"but got instance {instance}."
                    )

    def bound_greedy(self) -> None:
        """Check that no instance has more than the mean work and (1 - 1/k) of the longest tuple.

        The makespan of all tuples is then at most 2 - 1/k times the best possible (Graham 1966). It
        is so once a scheduler that sends each tuple to the least loaded instance knows the costs;
        every tuple is completed before the next one comes.
        """
        learning = whole(self.promises["greedy"], "promises['greedy']")
        for shape in self.shapes():
            made = self.build(**shape)
            given, k = self.asked, self._count(shape)
            work, longest = [0.0] * k, max(COSTS)
            for at, job in enumerate(self.stream(6, learning + 1000)):
                made.now += made.gap
                instance = self._submit(made, job)
                done = made.queues[instance].pop()
                made.calls.complete(made.scheduler, instance, done, made.now)
                work[instance] += job.cost
                bound = sum(work) / k + (1 - 1 / k) * longest
                if at >= learning and work[instance] > bound + 1e-9 * bound:
                    raise CheckError(
                        f"Given {given} and {at + 1} tuples of the costs {COSTS}, work of at most {bound:g} (Graham's bound) "
                        f"was expected on instance {instance}, but got {work[instance]:g}."
                    )


def _submit(made: Operator, *, key: Any = 1, now: Any = None) -> Any:
    """Submit a tuple with something wrong."""
    return made.calls.submit(made.scheduler, key, made.now if now is None else now)


def _complete(made: Operator, *, instance: Any = -2, **wrong: Any) -> Any:
    """Complete the tuple that came last, with something wrong."""
    where, flight = made.flying()
    done = flight._replace(key=wrong.get("key", flight.key), cost=wrong.get("elapsed", flight.cost))
    return made.calls.complete(made.scheduler, where if instance == -2 else instance, done, made.now)


def _bad(argument: str, call: Callable[..., Any], **wrong: Any) -> BadCall:
    text = ", ".join(f"{name}={value!r}" for name, value in wrong.items())
    return BadCall(f"{call.__name__[1:]} with {text}", argument, functools.partial(call, **wrong))


def scheduler_checks(
    kind: Callable[..., Any], /, *, promises: dict[str, Any] | None = None, **options: Any
) -> list[Check]:
    """Give the checks of `check_scheduler` one by one, for pytest's parametrisation.

    Parameters
    ----------
    kind : class or callable
        Makes a scheduler; as for `check_scheduler`.
    promises : dict, optional
        The bounds that it promises; as for `check_scheduler`.
    **options
        Given to every scheduler that is made.

    Returns
    -------
    list of Check
        Pairs (name, run), as from `grouping_checks`.

    Examples
    --------
    >>> from streamlb import POSG
    >>> from streamlb.testing import scheduler_checks
    >>> checks = dict(scheduler_checks(POSG, window=16))
    >>> checks["batch"]()
    """
    return SchedulerContract(kind, promises, options).checks()


def check_scheduler(
    kind: Callable[..., Any], /, *, promises: dict[str, Any] | None = None, skip: Any = (), **options: Any
) -> Report:
    """Check that a class keeps the contract of a scheduler, and the bounds that it promises.

    Parameters
    ----------
    kind : class or callable
        Makes a scheduler from ``instances`` and the options. It has ``submit(key)``, which gives an
        instance, and ``complete(instance, key, elapsed)``. Where `complete` takes a ``stamp``
        behind the elapsed time, `submit` gives a pair (instance, stamp), and the stamp comes back
        with the completion, or with ``fail(instance, key, stamp)``. All else is checked where it is
        offered: ``now`` of these calls, ``seed`` as an option, ``submit_many``, ``outstanding``,
        ``estimates``, ``reset``, ``state``, ``from_state``. They mean what they mean in
        `streamlb.POSG`.
    promises : dict, optional
        Bounds to check. ``work_conserving``: True where no tuple goes to a busy instance while
        another one is idle. ``least_outstanding``: True where every tuple goes to an instance with
        the fewest tuples outstanding. ``greedy``: after how many tuples the busiest instance has at
        most the mean work and (1 - 1/k) of the longest tuple, which is the bound of greedy
        scheduling with known costs.
    skip : iterable of str
        Names of checks to leave out.
    **options
        Given to every scheduler that is made.

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
        Where the scheduler does not offer what a check is about, and `skip` does not name it.

    References
    ----------
    R. L. Graham, "Bounds for certain multiprocessing anomalies", Bell System Technical Journal 45
    (1966).

    Examples
    --------
    >>> from streamlb import POSG
    >>> from streamlb.testing import check_scheduler
    >>> report = check_scheduler(POSG, window=16, skip=["fail"])  # it has no fail
    >>> report.skipped
    {'fail': 'the caller said so'}
    """
    contract = SchedulerContract(kind, promises, options)
    return run_all(contract.subject(), contract.checks(), skip)
