"""The memory of shuffle grouping and of PoRC (Nasir et al. 2017, section V-B)."""

from __future__ import annotations

from typing import Any

import numpy as np
from streamlb.analysis import (
    random_choices_memory_bound,
    random_choices_memory_printed,
    replicated_everywhere_possible,
    shuffle_memory_bound,
)

from ...claim import Claim, Experiment, Seeds, claims_into
from ...figures import OURS, PAPER, SECOND, new_figure
from ...judging import Finding, Runs, all_of, at_least, at_most, finding, mean, never
from .readings import option

CLAIMS: list[Claim] = []
claim = claims_into(CLAIMS, paper="CG", kind="a")


def _grid_memory(profile):
    messages = 300_000 if profile == "quick" else 10_000_000
    return [{"exponent": z, "workers": n, "messages": messages} for z in (0.5, 1.0, 1.5, 2.0) for n in (10, 100)]


def _memory(exponent: float, workers: int, messages: int, seed: int) -> dict[str, Any]:
    """Count the (key, worker) pairs of SG and PoRC on one stream, beside the bounds on them."""
    from streamlb import KeyFootprint, PowerOfRandomChoices, ShuffleGrouping, Zipf

    stream, epsilon = Zipf(100_000, exponent), 0.01
    shuffle, random = ShuffleGrouping(workers, seed=seed), PowerOfRandomChoices(workers, epsilon=epsilon, seed=seed)
    footprints = [KeyFootprint(stream.keys, workers) for _ in range(2)]
    counts = np.zeros(stream.keys, np.int64)
    for keys in stream.chunks(messages, seed):
        counts += np.bincount(keys.astype(np.int64), minlength=stream.keys)
        for grouping, footprint in zip((shuffle, random), footprints):
            footprint.add(keys, grouping.route_many(keys))
    return {
        "shuffle": footprints[0].pairs,
        "eq1": shuffle_memory_bound(stream.pmf, messages, workers),
        "porc": footprints[1].pairs,
        "eq2_all": random_choices_memory_printed(stream.pmf, workers, epsilon),
        "eq2": random_choices_memory_printed(stream.pmf[counts > 0], workers, epsilon),
        "corrected": random_choices_memory_bound(counts, workers, epsilon),
    }


MEMORY = Experiment("cg_memory", _grid_memory, _memory, seeds=Seeds((10, 60), (6, 30)))


def _figure_memory(runs, profile):
    own = runs[runs["workers"] == 100].groupby("exponent").mean(numeric_only=True)
    fig, axes = new_figure("Memory of SG and PoRC and their bounds, 100 workers", "skew z", "(key, worker) pairs")
    axes.plot(own.index, own["shuffle"], color=SECOND, marker="o", label="SG, measured")
    axes.plot(own.index, own["eq1"], color=PAPER, ls="--", label="Eq. 1: upper bound of SG")
    axes.plot(own.index, own["porc"], color=OURS, marker="o", label="PoRC, measured")
    axes.plot(own.index, own["eq2"], color=PAPER, ls=":", label="Eq. 2, keys that occur: lower bound of PoRC")
    axes.set_yscale("log")
    axes.legend(fontsize=8)
    return fig


def _over(runs: Runs, measured: str, bound: str):
    """Return by skew and workers the mean of what was measured over its bound."""
    return {cell: mean(own[measured] / own[bound]) for cell, own in runs.by("exponent", "workers")}


def _extremes(estimates) -> str:
    low, high = min(estimates, key=lambda e: e.point), max(estimates, key=lambda e: e.point)
    return f"{low:.3f} at the least, {high:.3f} at the most"


@claim(
    "CG-E1",
    kind="b",
    where="Eq. 1",
    statement="Shuffle grouping makes at most Σ min(⌈p m⌉, n) pairs on average.",
    claimed="upper bound",
    criterion="the mean number of pairs over the bound is at most 1 for each skew and number of workers",
    experiment=MEMORY,
    figure=_figure_memory,
)
def _judge_eq1(runs: Runs) -> Finding:
    parts = _over(runs, "shuffle", "eq1")
    return finding(
        f"measured over bound: {_extremes(parts.values())}",
        value=all_of(at_most(e, 1.0, f"z = {z}, {n} workers") for (z, n), e in parts.items()),
        note="It is a bound by concavity of the minimum: E min(f, n) ≤ min(p m, n). Measured are (key, worker) pairs.",
    )


@claim(
    "CG-E2",
    kind="b",
    where="Eq. 2",
    statement="PoRC makes at least Σ ⌈p n/(1 + ε)⌉ pairs on average.",
    claimed="lower bound",
    criterion=(
        "the mean number of pairs over the bound is at least 1 for each skew and number of workers, the sum being over "
        "the keys that occur; to the letter, over all keys"
    ),
    experiment=MEMORY,
    readings=("met", "printed"),
    figure=_figure_memory,
)
def _judge_eq2(runs: Runs) -> Finding:
    parts = _over(runs, "porc", option(runs.reading, "bound", "eq2_all"))
    certain = int((runs.frame["porc"] < runs.frame["corrected"]).sum())
    return finding(
        f"measured over bound: {_extremes(parts.values())}",
        value=all_of(at_least(e, 1.0, f"z = {z}, {n} workers") for (z, n), e in parts.items()),
        note="As printed the sum counts keys that never occur. With frequencies in place of probabilities, and + 1 for "
        f"the limit's rounding, it is certain for every stream: {certain} of {len(runs)} runs are below that.",
    )


EXPONENTS = (1.0, 2.0)


def _grid_everywhere(profile):
    messages = 200_000 if profile == "quick" else 10_000_000
    return [
        {"workers": n, "epsilon": e, "messages": messages, "seed": seed}
        for n in (3, 5, 10, 50)
        for e in (0.01, 0.1, 0.3, 0.6, 1.0)
        for seed in range(3)
    ]


def _everywhere(workers: int, epsilon: float, messages: int, seed: int) -> dict[str, Any]:
    """Count the keys that have been on all workers at some time, of those that occur n times."""
    from streamlb import KeyFootprint, PowerOfRandomChoices, Zipf

    everywhere = able = 0
    for exponent in EXPONENTS:
        stream = Zipf(100_000, exponent)
        # Nearly no search ends without its last free worker (one in e^64).
        grouping = PowerOfRandomChoices(workers, epsilon=epsilon, max_probes=64 * workers, seed=seed)
        footprint = KeyFootprint(stream.keys, workers)
        counts = np.zeros(stream.keys, np.int64)
        for keys in stream.chunks(messages, seed):
            footprint.add(keys, grouping.route_many(keys))
            counts += np.bincount(keys.astype(np.int64), minlength=stream.keys)
        everywhere += int((footprint.per_key == workers).sum())
        able += int((counts >= workers).sum())
    return {"everywhere": everywhere, "able": able, "possible": replicated_everywhere_possible(workers, epsilon)}


EVERYWHERE = Experiment("cg_everywhere", _grid_everywhere, _everywhere)


@claim(
    "CG-E3",
    kind="a",
    where="V-B",
    statement="With ε > 1/(n − 1) no key can be on all workers.",
    claimed="none",
    criterion="of the keys that occur n times or more, none has been on all n workers, at any time of any run",
    experiment=EVERYWHERE,
)
def _judge_everywhere(runs: Runs) -> Finding:
    own, rest = (runs.where(possible=possible).frame for possible in (False, True))
    found, able = int(own["everywhere"].sum()), int(own["able"].sum())
    return finding(
        f"{found} of {able:,} keys on all workers with ε > 1/(n − 1); {int(rest['everywhere'].sum()):,} of "
        f"{int(rest['able'].sum()):,} with ε < 1/(n − 1)",
        shape=never(found, able),
        note="A theorem: the last worker in a key's hash sequence is reached only when the n − 1 others are full, which "
        "takes (n − 1)(1 + ε) < n. The sequence is always the same, so that a key cannot go there at one moment "
        "never does.",
    )
