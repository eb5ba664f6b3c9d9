"""The policies of `simulate_shedding`: one small class each, which makes its shedder and runs it.

A policy that has a name makes the shedder that the name stands for, from the options that it takes.
A shedder of one of the same kinds that the user made runs by the same policy, compiled where that
is possible.
"""

from __future__ import annotations

from inspect import Signature
from typing import Any, ClassVar

import numpy as np

from streamlb import _check
from streamlb._options import joined, signature_of
from streamlb.shedding.baselines import (
    FullKnowledge,
    KnowledgeOptions,
    RandomOptions,
    RandomShedder,
    StrawMan,
    StrawManOptions,
)
from streamlb.shedding.local import LoadAwareShedder
from streamlb.shedding.rules import ShedderOptions
from streamlb.shedding.shedder import Shedder
from streamlb.simulation.shedding.kernels import Tuples, simulate_known, simulate_learnt, simulate_random
from streamlb.simulation.shedding.options import NoOptions, SheddingRunOptions, WarmupOptions


class Policy:
    """How a shedder is made, and how one of its kind runs compiled.

    `takes` is the signature of the options that a user gives, `kind` the class of the shedder.
    """

    takes: ClassVar[Signature]
    kind: ClassVar[type[Shedder]]

    def make(self, run: SheddingRunOptions, given: dict[str, Any]) -> Any:
        """Return the shedder for a run, from the options that the user gave; they are checked."""
        raise NotImplementedError

    def compiled(self, shedder: Any) -> bool:
        """Say whether this shedder can run compiled: a goal of the user's own cannot."""
        return shedder._own_goal is None

    def run(self, shedder: Any, tuples: Tuples, waits: np.ndarray) -> int:
        """Run a shedder of this kind; return the first tuple at which it watched its goal."""
        raise NotImplementedError


class _LoadAware(Policy):
    """Load-aware shedding, with the options of `LoadAwareShedder`."""

    takes = joined("", signature_of(ShedderOptions, "", without="seed"), signature_of(WarmupOptions, ""))
    kind = LoadAwareShedder

    def make(self, run, given):
        before = WarmupOptions(given.pop("warmup", None))
        return _taught(LoadAwareShedder(seed=run.seed, **given), before)

    def compiled(self, shedder):
        return super().compiled(shedder) and shedder.outstanding == 0

    def run(self, shedder, tuples, waits):
        return simulate_learnt(tuples, waits, *shedder._arrays())


class _Knowing(Policy):
    """Full knowledge: every offer tells the cost of its tuple."""

    takes = signature_of(KnowledgeOptions, "", without="costs")
    kind = FullKnowledge

    def make(self, run, given):
        return FullKnowledge(**given)

    def run(self, shedder, tuples, waits):
        simulate_known(tuples, waits, float("nan"), shedder._registers, shedder._ring)
        return 0


class _SameCost(Policy):
    """The straw man: every tuple costs the stream's mean, unless the user says otherwise."""

    takes = signature_of(StrawManOptions, "")
    kind = StrawMan

    def make(self, run, given):
        mean = given.pop("mean_cost", None)
        if mean is None:
            mean = float(run.costs.mean()) if run.costs.size else 0.0
        return StrawMan(mean_cost=mean, **given)

    def compiled(self, shedder):
        # Without a mean cost the shedder learns as it goes.
        return super().compiled(shedder) and shedder.options.mean_cost is not None

    def run(self, shedder, tuples, waits):
        simulate_known(tuples, waits, shedder.mean_cost, shedder._registers, shedder._ring)
        return 0


class _Random(Policy):
    """The base line: drops the share by which the operator is too slow."""

    takes = signature_of(RandomOptions, "", without="share seed")
    kind = RandomShedder

    def make(self, run, given):
        return RandomShedder(max(0.0, run.underprovisioning), run.seed, **given)

    def compiled(self, shedder):
        return True

    def run(self, shedder, tuples, waits):
        simulate_random(tuples, waits, shedder.share, np.uint64(shedder.seed), shedder._registers)
        return 0


class _Nothing(_Random):
    """The policy that drops nothing."""

    takes = signature_of(NoOptions, "")

    def make(self, run, given):
        return RandomShedder(0.0, run.seed)


class _Given(Policy):
    """A shedder that the user made, which is used as it is."""

    takes = signature_of(NoOptions, "")

    def make(self, run, given):
        return run.policy


class _GivenLoadAware(_Given):
    """A load-aware one, which may learn beforehand."""

    takes = signature_of(WarmupOptions, "")

    def make(self, run, given):
        return _taught(run.policy, WarmupOptions(**given))


POLICIES: dict[str, Policy] = {
    "load_aware": _LoadAware(),
    "straw_man": _SameCost(),
    "full_knowledge": _Knowing(),
    "random": _Random(),
    "none": _Nothing(),
}


def policy_of(policy: Any) -> Policy:
    """Return what is meant by a name or a shedder."""
    if isinstance(policy, str):
        return POLICIES[_check.choice("policy", policy, tuple(POLICIES))]
    if not (hasattr(policy, "offer") and hasattr(policy, "complete")):
        raise TypeError(f"policy must be a name or an object with offer and complete, got {policy!r}")
    return _GivenLoadAware() if isinstance(policy, LoadAwareShedder) else _Given()


def _taught(shedder: LoadAwareShedder, before: WarmupOptions) -> LoadAwareShedder:
    if before.warmup is not None:
        shedder.train(*before.warmup)
    return shedder
