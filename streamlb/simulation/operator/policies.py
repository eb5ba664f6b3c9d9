"""The policies of `simulate_operator`: one small class each, which keeps its state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from inspect import Signature
from typing import Any, ClassVar

import numpy as np

from streamlb import _check
from streamlb._options import checked, signature_of
from streamlb.learning.learner import EMPTY, LEARNER, LEARNING, Cells, Learners
from streamlb.learning.messages import Matrices, Reply, size_of
from streamlb.scheduling.posg.options import POSGOptions
from streamlb.scheduling.posg.scheduler import PHASES, ROUND_ROBIN, count_messages, new_scheduler, scheduler_of
from streamlb.simulation.operator.kernels import (
    MESSAGE,
    NOTE,
    PROGRESS,
    REPORT,
    REPORTER,
    Box,
    Instances,
    Stretch,
    run_feedback,
    run_full_knowledge,
    run_least_work,
    run_posg,
    run_round_robin,
    train,
)


@dataclass(frozen=True)
class PolicyOptions:
    """What the simulator tells every policy; those that take options add them."""

    instances: int
    seed: int


class Policy:
    """What chooses the instances: made for k of them, then given the tuples stretch by stretch.

    `Options` is the dataclass of its options, `takes` the signature of those that a user gives.
    `free` is when each instance has done all that it was given.
    """

    Options: ClassVar[type] = PolicyOptions
    takes: ClassVar[Signature] = signature_of(PolicyOptions, "", without="instances seed")

    def __init__(self, instances: int, seed: int, given: Mapping[str, Any]):
        self.options: Any = self.Options(instances=instances, seed=seed, **given)
        self.free = np.zeros(instances)

    def train(self, keys: np.ndarray, costs: np.ndarray, speeds: np.ndarray) -> None:
        """Learn beforehand from the whole stream, if that was asked for; only POSG can."""

    def run(self, stretch: Stretch) -> int:
        """Handle tuples and return how many; if not all, there is room now for the rest."""
        handled = self._handle(stretch)
        if handled < stretch.costs.size:
            self._make_room()
        return handled

    def _handle(self, stretch: Stretch) -> int:
        raise NotImplementedError

    def _make_room(self) -> None:
        raise NotImplementedError

    def report(self) -> dict[str, Any]:
        """Return the fields of `OperatorResult` that only this policy can fill."""
        return {}


class RoundRobin(Policy):
    """The instances in turn."""

    def __init__(self, instances: int, seed: int, given: Mapping[str, Any]):
        super().__init__(instances, seed, given)
        self.turn = 0

    def _handle(self, stretch: Stretch) -> int:
        self.turn = run_round_robin(stretch, self.turn, self.free)
        return stretch.costs.size


class FullKnowledge(Policy):
    """Greedy on cumulated true execution times: the ideal of Rivetti et al. 2015."""

    def __init__(self, instances: int, seed: int, given: Mapping[str, Any]):
        super().__init__(instances, seed, given)
        self.load = np.zeros(instances)

    def _handle(self, stretch: Stretch) -> int:
        run_full_knowledge(stretch, self.free, self.load)
        return stretch.costs.size


class LeastWork(Policy):
    """Greedy on true backlogs."""

    def _handle(self, stretch: Stretch) -> int:
        run_least_work(stretch, self.free)
        return stretch.costs.size


@dataclass(frozen=True)
class FeedbackOptions(PolicyOptions):
    """The options of feedback: completions between two reports."""

    every: Any = 10

    def __post_init__(self):
        checked(self, every=_check.integer("every", self.every, 1, _check.MOST))


class Feedback(Policy):
    """No sketch: instances report their clock every `every` completions; idle ones are known."""

    Options = FeedbackOptions
    takes = signature_of(FeedbackOptions, "", without="instances seed")

    def __init__(self, instances: int, seed: int, given: Mapping[str, Any]):
        super().__init__(instances, seed, given)
        self.reporters, self.queue = np.zeros(instances, REPORTER), np.zeros((instances, 64), REPORT)

    def _handle(self, stretch: Stretch) -> int:
        return run_feedback(stretch, self.options.every, self.free, self.reporters, self.queue)

    def _make_room(self) -> None:
        k, capacity = self.queue.shape
        wider = np.zeros((k, 2 * capacity), REPORT)
        for i in range(k):
            wider[i, :capacity] = np.roll(self.queue[i], -self.reporters["oldest"][i])
        self.reporters["oldest"] = 0
        self.queue = wider

    def report(self) -> dict[str, Any]:
        """Return the number of reports sent."""
        return {"messages": {"reports": int((self.reporters["executed"] // self.options.every).sum())}}


@dataclass(frozen=True)
class WarmPOSGOptions(POSGOptions):
    """The options of `streamlb.POSG`, and whether it starts with nothing learnt."""

    warmup: Any = True

    def __post_init__(self):
        super().__post_init__()
        checked(self, warmup=_check.flag("warmup", self.warmup))


@dataclass(frozen=True)
class OneColumnOptions(WarmPOSGOptions):
    """The same for matrices of a single cell in each row, of which one row is enough."""

    delta: Any = 0.5
    columns: Any = 1


class POSG(Policy):
    """The protocol of Rivetti et al. 2015, with the options of `streamlb.POSG`."""

    Options = WarmPOSGOptions
    takes = signature_of(WarmPOSGOptions, "", without="instances seed")

    def __init__(self, instances: int, seed: int, given: Mapping[str, Any]):
        super().__init__(instances, seed, given)
        k = instances
        self.scheduler = scheduler_of.py_func(new_scheduler(self.options))[0]
        learners = Learners(self._cells(k), np.full(self._shape(k), EMPTY), np.zeros(k, LEARNER))
        rules = self.options.rules().view(LEARNING)
        self.instances = Instances(self.free, learners, np.full(self._shape(k), EMPTY), rules)
        self.box = self._new_box(16 + 4 * k)
        self.notes, self.progress = np.zeros(64 + 8 * k, NOTE), np.zeros(1, PROGRESS)
        self.progress["first_run"] = -1

    def _shape(self, entries: int) -> tuple[int, int, int]:
        return entries, self.options.rows, self.options.columns

    def _cells(self, entries: int) -> Cells:
        return Cells(np.zeros(self._shape(entries), np.int64), np.zeros(self._shape(entries)))

    def _new_box(self, slots: int) -> Box:
        return Box(np.full(slots, np.inf), np.zeros(slots, MESSAGE), self._cells(slots))

    def train(self, keys: np.ndarray, costs: np.ndarray, speeds: np.ndarray) -> None:
        """Give the scheduler matrices that the instances learnt beforehand."""
        if not self.options.warmup:
            train(keys, costs, speeds, self.scheduler, self.instances)

    def _handle(self, stretch: Stretch) -> int:
        return run_posg(stretch, self.scheduler, self.instances, self.box, self.notes, self.progress)

    def _make_room(self) -> None:
        (due, messages, cells), slots = self.box, self.box.due.size
        self.box = self._new_box(2 * slots)
        wider = self.box.due, self.box.messages, *self.box.cells
        for wide, narrow in zip(wider, (due, messages, *cells)):
            wide[:slots] = narrow
        self.notes = np.append(self.notes, np.zeros_like(self.notes))

    def report(self) -> dict[str, Any]:
        """Return when the scheduler ran, its phases, when matrices came, and the messages."""
        taken, first_run = int(self.progress[0]["notes"]), int(self.progress[0]["first_run"])
        notes = self.notes[:taken].tolist()
        return {
            "first_run": first_run if first_run >= 0 else None,
            "phases": [(0, PHASES[ROUND_ROBIN]), *((t, PHASES[phase]) for t, phase, _ in notes if phase >= 0)],
            "received": [(t, instance) for t, phase, instance in notes if phase < 0],
            "messages": self._count_messages(),
        }

    def _count_messages(self) -> dict[str, int]:
        """Return the messages that arrived, those that are still on their way, and their bytes.

        What came too late was sent all the same: its bytes count, and here it can only be replies.
        """
        counted = count_messages(self.scheduler, self.options)
        under_way = self.box.messages["brings_matrices"][self.box.due < np.inf]
        matrices = int(under_way.sum())
        replies = under_way.size - matrices
        shape = self.options.rows, self.options.columns
        more = matrices * size_of(Matrices, *shape) + (replies + counted["ignored"]) * size_of(Reply)
        return {
            **counted,
            "bytes": counted["bytes"] + more,
            "matrices_under_way": matrices,
            "replies_under_way": replies,
        }


class OneColumn(POSG):
    """POSG that knows no content: matrices of a single cell."""

    Options = OneColumnOptions
    takes = signature_of(OneColumnOptions, "", without="instances seed epsilon rounding columns")


POLICIES: dict[str, type[Policy]] = {
    "posg": POSG,
    "round_robin": RoundRobin,
    "full_knowledge": FullKnowledge,
    "least_work": LeastWork,
    "one_column": OneColumn,
    "feedback": Feedback,
}
