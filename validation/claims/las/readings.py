"""What the claims of Rivetti et al. 2016 share: the readings of the text, and the paper's streams.

The text leaves points open or says them twice. `READINGS` names what it allows; every figure is
measured under each reading that can change it. The first is what `streamlb` does unless told
otherwise, and makes the headline.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from ...claim import Reading
from ...judging import Runs
from ..posg.readings import ITEMS, MESSAGES, WINDOW, stream_of  # the same in both papers

THRESHOLD, EPSILON, REPORTS = 6.4, 0.05, 16
FRESH = 800_000  # our own claims draw from here on, where no variant was chosen
LAS, STRAW_MAN, KNOWLEDGE, BASE_LINE = PAPERS_FOUR = ("LAS", "Straw-Man", "Full Knowledge", "Base Line")

# The listings to the letter, all of the shedder's options: see `LoadAwareShedder.as_printed`.
_LISTING = {
    "timeout": 0, "clamp": False, "sync": "difference", "check": "listing", "start": "matrices", "clock": "busy",
    "unseen": "zero", "stability": "printed", "rounding": "floor", "look": "before",
}  # fmt: skip

# Options: "las" of the load-aware shedder, "known" of Straw-Man and Full Knowledge, "warm" whether
# LAS starts with matrices under a steady load, "load" of the seven phases, "key" of the tweets.
READINGS: dict[str, Reading] = {
    one.name: one
    for one in (
        Reading(
            "default",
            "average with the tuple in it",
            "Section 3.2: Check adds the tuple's wait to the average before it compares it with the threshold; section "
            "3.2 assumes that nothing need be shed while LAS learns, so that a steady load starts with matrices.",
        ),
        Reading(
            "sum",
            "average plus the tuple's own wait",
            "Section 3.2: Check adds the estimated wait to the current average itself, and drops the tuple if the "
            "result is larger than the threshold.",
            {"las": {"check": "sum"}, "known": {"check": "sum"}},
        ),
        Reading(
            "listing",
            "the listings to the letter",
            "Listing 3.1 looks at the matrices before it adds a tuple, listing 3.2 tests the average before it adds "
            "one, asks at once, adds every difference, and has a clock that stands still while the operator idles.",
            {"las": _LISTING, "known": {"check": "listing"}},
        ),
        Reading(
            "periodic",
            "the operator is asked periodically",
            "Section 3.2 asks with new matrices only; the authors' code for the scheduler of 2015, of which the "
            "shedder has the protocol, also asks after a number of tuples (here N = 1,024).",
            {"las": {"resync": WINDOW}},
        ),
        Reading(
            "factor",
            "the factor of 1.05 for all",
            "Section 5.1: Straw-Man and Full Knowledge use the same shedding strategy as LAS, of which the factor "
            "1 + epsilon is a part.",
            {"known": {"safety": EPSILON}},
        ),
        Reading(
            "cold",
            "LAS starts from NOP",
            "Section 3.2 and figure 3: the shedder starts in NOP and drops nothing before the first matrices.",
            {"warm": False},
        ),
        Reading(
            "own_rate",
            "rates of E and F by their own costs",
            "Section 5.1 defines provisioning by the mean cost, which the swap raises from phase D on and which "
            "doubles in phase F.",
            {"load": {"rates": "own"}},
        ),
        Reading(
            "swap_d",
            "the swap lasts for phase D alone",
            "Section 5.2 lists the swap under phase D; phases E and F name other changes.",
            {"load": {"swapped": "D"}},
        ),
        Reading(
            "field",
            "the key of a tweet is all of its mentions",
            "Section 5.1: the field `mention` holds the entities of a tweet, and a tuple is its value.",
            {"key": "field"},
        ),
        Reading(
            "profile",
            "the key of a tweet is its cost",
            "Section 5.1: the value of a tuple is the attribute that drives its execution time; section 5.3 has 110 "
            "of these.",
            {"key": "profile"},
        ),
        Reading(
            "online",
            "the optimum does not know where the stream ends",
            "Section 4: OPT is the online algorithm that provides the optimal solution, and decides by what it has "
            "received so far.",
        ),
    )
}
OF_A_STEADY_LOAD = ("default", "sum", "listing", "periodic", "factor", "cold")
OF_PHASES = ("default", "sum", "listing", "periodic", "factor", "own_rate", "swap_d")
OF_TWEETS = ("default", "sum", "listing", "periodic", "factor", "field", "profile")


def papers_shedders(reading: str) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return the paper's four shedders under a reading: the policy of each, and its options."""
    options = READINGS[reading].options
    known = options.get("known", {})
    return {
        LAS: ("load_aware", options.get("las", {})),
        STRAW_MAN: ("straw_man", known),
        KNOWLEDGE: ("full_knowledge", known),
        BASE_LINE: ("random", {}),
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


def run_steady(
    shedders: dict[str, tuple[str, dict[str, Any]]],
    exponent: float,
    underprovisioning: float,
    seed: int,
    orders: int,
    cold: tuple[str, ...] = (),
) -> dict[str, Any]:
    """Run shedders on `orders` orders of one association of costs to items, all drawn by `seed`.

    The result has for each shedder the mean over the orders of its average wait and of the share
    that it dropped, the least and the greatest average wait, and the share of orders above tau.
    Those named in `cold` start without matrices. What has two names is run once.
    """
    from streamlb import simulate_shedding

    stream, times = stream_of(exponent), times_of_items(seed)
    called = {name: f"{policy} {options} {name in cold}" for name, (policy, options) in shedders.items()}
    different = {call: name for name, call in called.items()}
    results: dict[str, list[tuple[float, float]]] = {call: [] for call in different}
    for order in range(orders):
        number = 1_000 * seed + order
        keys = stream.draw(MESSAGES, number)
        costs = times[keys.astype(np.int64)]
        for call, name in different.items():
            policy, options = shedders[name]
            shedder: Any = policy
            if policy == "load_aware" and name not in cold:
                shedder, options = warm_shedder(THRESHOLD, stream, times, number, **options), {}
            elif policy != "random":  # which has no goal
                options = {"threshold": THRESHOLD, **options}
            load = {"underprovisioning": underprovisioning, "seed": number}
            result = simulate_shedding(keys, costs, shedder, **load, **options)
            results[call].append((result.average_wait, result.dropped_ratio))
    out: dict[str, Any] = {}
    for name, call in called.items():
        waits, drops = np.array(results[call]).T
        out[f"{name}: wait"] = float(waits.mean())
        out[f"{name}: least"] = float(waits.min())
        out[f"{name}: most"] = float(waits.max())
        out[f"{name}: above"] = float((waits > THRESHOLD).mean())
        out[f"{name}: drop"] = float(drops.mean())
    return out


def listed(values: Iterable[Any], form: str = "{:.3g}") -> str:
    """Return numbers in a few words: their range."""
    values = list(values)
    low, high = form.format(min(values)), form.format(max(values))
    return low if low == high else f"{low} to {high}"


def by(runs, parameter: str, column: str, form: str = "{:.3g}") -> str:
    """Return the mean of a column for each value of a parameter, in a few words."""
    return ", ".join(f"{value:g}: {form.format(part[column].values.mean())}" for value, part in runs.by(parameter))


def means(frame, parameter: str, column: str):
    """Return the mean of a column for each value of a parameter, for figures."""
    return frame.groupby(parameter)[column].mean()


def errors(frame, parameter: str, column: str):
    """Return the standard error of `means`; 0 where there is a single run."""
    return frame.groupby(parameter)[column].sem().fillna(0.0)


def under(frame, reading: str = "default"):
    """Return the frame of runs that measure every reading, with the columns of this one alone.

    Their names lose the reading that they begin with.
    """
    others = tuple(f"{name}: " for name in READINGS if name != reading)
    own = frame[[column for column in frame.columns if not column.startswith(others)]]
    return own.rename(columns=lambda column: column.removeprefix(f"{reading}: "))


def read(runs: Runs) -> Runs:
    """Return the runs with the columns of the reading that is judged, under their plain names."""
    return replace(runs, frame=under(runs.frame, runs.reading))
