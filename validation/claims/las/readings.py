"""What the claims of Rivetti et al. 2016 share: the paper's streams, and the shedders compared.

Each stream is run under the paper's four shedders and under readings of them: with and without the
safety factor, with matrices learnt before the run or during it, with and without reports.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..posg.readings import ITEMS, MESSAGES, WINDOW, stream_of  # the same in both papers

THRESHOLD, SAFETY, REPORTS = 6.4, 0.05, 16
FRESH = 700_000  # our own claims draw from here on, where no variant was chosen
PAPERS_FOUR = ("LAS", "Straw-Man", "Full Knowledge", "Base Line")

# The policy, its parameters, and whether it starts with matrices that were learnt before ("warm").
SHEDDERS: dict[str, tuple[str, dict[str, Any], bool]] = {
    "LAS": ("load_aware", {}, True),
    "LAS from NOP": ("load_aware", {}, False),
    "LAS, no factor": ("load_aware", {"safety": 0.0}, True),
    "LAS + reports": ("load_aware", {"reports": REPORTS}, True),
    "Straw-Man": ("straw_man", {}, False),
    "Straw-Man + factor": ("straw_man", {"safety": SAFETY}, False),
    "Full Knowledge": ("full_knowledge", {}, False),
    "Full Knowledge + factor": ("full_knowledge", {"safety": SAFETY}, False),
    "Base Line": ("random", {}, False),
    "Base Line + factor": ("random", {"safety": SAFETY}, False),
}
# Under a changing load and on tweets LAS starts from NOP, as the text describes phase A.
SPAN = 4_000
FROM_NOP: dict[str, tuple[str, dict[str, Any]]] = {
    "LAS": ("load_aware", {}),
    "Straw-Man": ("straw_man", {}),
    "Full Knowledge": ("full_knowledge", {}),
    "LAS, no factor": ("load_aware", {"safety": 0.0}),
    "Straw-Man + factor": ("straw_man", {"safety": SAFETY}),
    "Full Knowledge + factor": ("full_knowledge", {"safety": SAFETY}),
    "LAS + reports": ("load_aware", {"reports": REPORTS}),
    "LAS, windowed": ("load_aware", {"goal": "windowed", "span": SPAN}),
    "LAS + reports, windowed": ("load_aware", {"reports": REPORTS, "goal": "windowed", "span": SPAN}),
}


def times_of_items(seed: int) -> np.ndarray:
    """Return an execution time for each item: 64 values from .1 to 6.4 ms, each equally often."""
    from streamlb import execution_times

    return execution_times(ITEMS, 64, 0.1, 6.4, seed=seed)


def warm_shedder(threshold: float, stream, times: np.ndarray, seed: int, **options: Any):
    """Return a load-aware shedder that starts with matrices.

    Its operator has run this stream without load, up to its first stable matrices.
    """
    from streamlb import LoadAwareShedder

    shedder = LoadAwareShedder(threshold, seed=seed, **options)
    for part in range(8):  # other tuples than those of the run
        keys = stream.draw(8 * WINDOW, 1_000_000_007 + seed, start=part * 8 * WINDOW)
        if shedder.train(keys, times[keys.astype(np.int64)]):
            break
    return shedder


def run(name: str, keys, costs, times, stream, underprovisioning: float, seed: int):
    """Simulate one of SHEDDERS on a stream."""
    from streamlb import simulate_shedding

    policy, options, warm = SHEDDERS[name]
    shedder: Any = policy
    if warm:
        shedder, options = warm_shedder(THRESHOLD, stream, times, seed, **options), {}
    elif policy != "random":  # which has no goal
        options = {"threshold": THRESHOLD, **options}
    return simulate_shedding(keys, costs, shedder, underprovisioning=underprovisioning, seed=seed, **options)


def sweep(exponent: float, underprovisioning: float, association: int, seeds: int, first: int = 0) -> dict[str, Any]:
    """Run every shedder on `seeds` orders of one association of costs to items.

    The result has the mean over the orders for each shedder, and its extremes.
    """
    stream, times = stream_of(exponent), times_of_items(first + association)
    results: dict[str, list[tuple[float, float, float]]] = {name: [] for name in SHEDDERS}
    watched = 0
    for seed in range(seeds):
        number = (first + association) * 1_000 + seed
        keys = stream.draw(MESSAGES, number)
        costs = times[keys.astype(np.int64)]
        for name in SHEDDERS:
            result = run(name, keys, costs, times, stream, underprovisioning, number)
            kept = result.waits[result.waits >= 0]
            top = float(result.running_average().max()) if name.startswith("Full") else 0.0
            results[name].append((float(kept.mean()), 1 - kept.size / keys.size, top))
            watched += name == "LAS" and result.active_from == 0
    out: dict[str, Any] = {"warm": watched / seeds}
    for name, rows in results.items():
        waits, drops, tops = np.array(rows).T
        out[f"{name}: wait"] = float(waits.mean())
        out[f"{name}: least"] = float(waits.min())
        out[f"{name}: most"] = float(waits.max())
        out[f"{name}: drop"] = float(drops.mean())
        if name.startswith("Full"):
            out[f"{name}: top"] = float(tops.max())
    return out


def means(runs, by: str, name: str, what: str):
    """Return the mean over associations of a shedder's number, by a parameter."""
    return runs.groupby(by)[f"{name}: {what}"].mean()


def errors(runs, by: str, name: str, what: str):
    """Return the standard error of `means`; 0 where there is a single association."""
    return runs.groupby(by)[f"{name}: {what}"].sem().fillna(0.0)


def by_level(runs, name: str, what: str = "wait"):
    """Return the mean over associations of a shedder's number for each load."""
    return means(runs, "underprovisioning", name, what)


def listed(values, form: str = "{:.3g}") -> str:
    """Return numbers in a few words: their range."""
    values = list(values)
    low, high = form.format(min(values)), form.format(max(values))
    return low if low == high else f"{low} to {high}"
