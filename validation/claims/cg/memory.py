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

from ...claim import Claim, Experiment, Verdict, claims_into
from ...figures import OURS, PAPER, SECOND, new_figure

CLAIMS: list[Claim] = []
claim = claims_into(CLAIMS, paper="CG", kind="a")


def _grid_memory(profile):
    messages = 1_000_000 if profile == "quick" else 10_000_000
    return [
        {"exponent": z, "workers": n, "messages": messages, "seed": seed}
        for z in (0.5, 1.0, 1.5, 2.0)
        for n in (10, 100)
        for seed in range(3)
    ]


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


MEMORY = Experiment("cg_memory", _grid_memory, _memory, cost=lambda row: row["messages"])


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


@claim(
    "CG-E1",
    where="Eq. 1",
    statement="Shuffle grouping makes at most Σ min(⌈p m⌉, n) pairs.",
    claimed="upper bound",
    criterion="measured at most the bound in every run",
    experiment=MEMORY,
    figure=_figure_memory,
)
def _judge_eq1(runs, profile):
    ratio = runs.groupby(["exponent", "workers"])[["shuffle", "eq1"]].mean().eval("shuffle / eq1")
    return Verdict.when(
        bool((runs["shuffle"] <= runs["eq1"]).all()),
        f"measured over bound: {ratio.min():.3f} to {ratio.max():.3f}",
        "An upper bound in expectation, by concavity of the minimum. Measured are (key, worker) pairs of shuffle "
        "grouping.",
    )


@claim(
    "CG-E2",
    where="Eq. 2",
    statement="PoRC makes at least Σ ⌈p n/(1 + ε)⌉ pairs.",
    claimed="lower bound",
    criterion="measured at least the sum over keys that occur, in every run",
    experiment=MEMORY,
    figure=_figure_memory,
)
def _judge_eq2(runs, profile):
    ratio = runs["porc"] / runs["eq2"]
    short = int((runs["porc"] < runs["eq2_all"]).sum())
    return Verdict.when(
        bool((ratio >= 1).all() and (runs["porc"] >= runs["corrected"]).all()),
        f"measured over the bound for keys that occur: {ratio.min():.3f} to {ratio.max():.3f}",
        f"As printed the sum also counts keys that never occur: {short} of {len(runs)} runs are below that. With "
        "frequencies in place of probabilities and + 1 for the limit's rounding it is certain.",
    )


def _grid_everywhere(profile):
    messages = 500_000 if profile == "quick" else 10_000_000
    return [
        {"workers": n, "epsilon": e, "exponent": z, "messages": messages, "seed": seed}
        for n in (5, 10, 50)
        for e in (0.01, 0.3, 1.0)
        for z in (1.0, 2.0)
        for seed in range(3)
    ]


def _everywhere(workers: int, epsilon: float, exponent: float, messages: int, seed: int) -> dict[str, Any]:
    """Count the keys that have been on all workers: since the start, and in the second half."""
    from streamlb import KeyFootprint, PowerOfRandomChoices, Zipf

    stream = Zipf(100_000, exponent)
    grouping = PowerOfRandomChoices(workers, epsilon=epsilon, seed=seed)
    ever, late = KeyFootprint(stream.keys, workers), KeyFootprint(stream.keys, workers)
    half = messages // 2
    for i, part in enumerate((stream.draw(half, seed), stream.draw(half, seed, half))):
        chosen = grouping.route_many(part)
        ever.add(part, chosen)
        if i:
            late.add(part, chosen)
    return {
        "ever": int((ever.per_key == workers).sum()),
        "late": int((late.per_key == workers).sum()),
        "possible": replicated_everywhere_possible(workers, epsilon),
    }


EVERYWHERE = Experiment("cg_everywhere", _grid_everywhere, _everywhere)


@claim(
    "CG-E3",
    kind="b",
    where="V-B",
    statement="With ε > 1/(n − 1) no key can be on all workers.",
    claimed="none",
    criterion="no key on all n workers in any run",
    experiment=EVERYWHERE,
)
def _judge_everywhere(runs, profile):
    own = runs[~runs["possible"]]
    return Verdict.when(
        bool((own["ever"] == 0).all()),
        f"keys on all workers with ε > 1/(n − 1): {int(own['ever'].sum())} in {len(own)} runs "
        f"({int(own['late'].sum())} in the second halves)",
        f"With ε ≤ 1/(n − 1): {int(runs[runs['possible']]['ever'].sum())} in {int(runs['possible'].sum())} runs. "
        "The argument is about one moment; a hot key can be on one worker after the other as their loads rise, "
        "above all at the start, when a limit of two or three messages is coarse.",
    )
