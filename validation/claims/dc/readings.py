"""What the claims of Nasir et al. 2016 share: the readings, the schemes and the streams.

The algorithm of the paper is complete as printed but for ties, so that the letter is what is judged
first. Our defaults (distinct workers, a guard of the head test, rotated ties) are shown beside it:
they change the algorithm, and a claim that holds only with them is not the paper's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...claim import Reading
from ...figures import COLOURS
from ...judging import Estimate, Sample, geometric_mean

# As printed: the workers of a hot key are hashed one by one, every key that reaches the threshold
# is hot, and the first of equals is taken.
GROUPINGS: dict[str, dict[str, Any]] = {
    "printed": {"candidates": "independent", "guard": False, "ties": "first"},
    "rotated": {"candidates": "independent", "guard": False, "ties": "rotate"},
    "default": {},
}
_READINGS = (
    Reading(
        "printed",
        "to the letter",
        "Algorithm 1 and section III-B: d independent hash functions, a key is hot as soon as its estimated share "
        "reaches θ, and of equally loaded workers the first is taken.",
        {"grouping": "printed"},
    ),
    Reading(
        "rotated",
        "to the letter, ties rotated",
        "Section III-B breaks ties arbitrarily: each source takes equals in a turn of its own.",
        {"grouping": "rotated"},
    ),
    Reading(
        "averaged",
        "to the letter, imbalance averaged over the stream",
        "Section V says that figure 10 shows the average imbalance: the mean of a hundred checkpoints.",
        {"grouping": "printed", "averaged": True},
    ),
    Reading(
        "default",
        "our defaults",
        "Not in the text: distinct workers for a hot key, a guard of the head test, rotated ties.",
        {"grouping": "default"},
    ),
    Reading(
        "expected",
        "memory of expected counts",
        "Section IV-B sums min(f_k, choices) and does not say whether f_k is drawn or expected.",
        {"counts": "expected"},
    ),
    Reading(
        "matching",
        "at most twice W-C's imbalance",
        "Section V asks for the least d that matches W-C's imbalance, without saying how closely: within ε to the "
        "letter, here at most twice as large.",
        {"least": "matching"},
    ),
    Reading(
        "theorem",
        "bounded as in the theorem cited",
        "Section III-A cites the bound of two choices, whose theorem gives O(m/n): a share of the mean load.",
        {"growth": "share"},
    ),
    Reading(
        "ratios",
        "percentages as ratios",
        "Section V calls 1.5 and 2.3 times what the abstract calls 150% and 230%.",
        {"neutral": 0.0},
    ),
    Reading(
        "messages",
        "percentiles over messages",
        "Section V reports percentiles across all workers: of all their messages, rather than of their averages.",
        {"percentiles": "messages"},
    ),
)
READINGS = {reading.name: reading for reading in _READINGS}
ROUTED = ("printed", "rotated", "default")  # what may change where messages go

EPSILON, SOURCES = 1e-4, 5
BOUND = SOURCES * EPSILON  # the imbalance of five sources that each keep ε
SKEWS = [round(0.1 * i, 1) for i in range(1, 21)]
PLAIN = {"kg": "KeyGrouping", "sg": "ShuffleGrouping", "pkg": "PartialKeyGrouping"}
HEADED = {"dc": "DChoices", "wc": "WChoices", "rr": "RoundRobinHead"}
LETTERS = {"kg": "KG", "sg": "SG", "pkg": "PKG", "dc": "D-C", "wc": "W-C", "rr": "RR"}
SCHEME_COLOURS = dict(zip(("pkg", "dc", "wc", "rr", "dc_default", "kg", "sg", "dc_rotated"), COLOURS))
SETUP = (
    "Five sources fed round robin. To the letter: independent hashes, no guard of the head test, the first of equals; "
    "our defaults: distinct workers, the guard, rotated ties."
)
_PIECE = 65_536
FLOOR = 1e-7  # a tenth of a message in a million: imbalances below it count as this
FIFTH = 1.2  # an order between imbalances holds where they differ by at least a fifth


def by_profile(profile: str, quick: Any, paper: Any) -> Any:
    """Return what belongs to the profile."""
    return quick if profile == "quick" else paper


def stream_size(profile: str) -> int:
    """Return the number of messages of a synthetic stream."""
    return by_profile(profile, 1_000_000, 10_000_000)


def column(scheme: str, reading: str) -> str:
    """Return the column of a scheme's results under a reading: ``pkg``, ``dc_printed``.

    A claim without readings is judged as printed.
    """
    options = READINGS[reading or "printed"].options
    name = scheme if scheme in PLAIN else f"{scheme}_{options.get('grouping', 'printed')}"
    return f"{name}_mean" if options.get("averaged") else name


def label(name: str) -> str:
    """Return what a figure calls a column: ``D-C, our defaults`` for ``dc_default``."""
    scheme, _, variant = name.partition("_")
    return LETTERS[scheme] + (f", {READINGS[variant].title}" if variant not in ("", "printed") else "")


def build(name: str, n: int, sources: int, seed: int, **options: Any) -> Any:
    """Return the grouping of a column, such as ``pkg`` or ``dc_printed``."""
    import streamlb

    scheme, _, variant = name.partition("_")
    if scheme in PLAIN:
        return getattr(streamlb, PLAIN[scheme])(n, sources, seed=seed)
    return getattr(streamlb, HEADED[scheme])(n, sources, seed=seed, **{**GROUPINGS[variant], **options})


def times(a: Sample, b: Sample) -> Estimate:
    """Return how many times `b` a heavy-tailed imbalance `a` is: the geometric mean over seeds.

    Where the few hashes of a hot key happen to coincide an imbalance is a hundred times as large,
    so that a mean shows little but these seeds.
    """
    return geometric_mean(a.map(_at_least) / b.map(_at_least))


def typical(a: Sample) -> Estimate:
    """Return the imbalance that most seeds show: the geometric mean."""
    return geometric_mean(a, FLOOR)


def _at_least(values: Any) -> Any:
    return np.maximum(values, FLOOR)


def hash_seed(seed: int) -> int:
    """Return the seed of the hash functions that goes with a stream's: no two runs share either."""
    return 1_000_003 * (seed + 1)


def route(stream: Any, m: int, groupings: dict[str, Any], seed: int, checkpoints: int = 100) -> dict[str, Any]:
    """Route one stream through several groupings, drawing it once.

    Return each grouping's imbalance at the checkpoints: over all messages so far (`history`), and
    over those since the checkpoint before (`windows`).
    """
    from streamlb import imbalance

    history: dict[str, list[float]] = {name: [] for name in groupings}
    windows: dict[str, list[float]] = {name: [] for name in groupings}
    before = {name: 0 for name in groupings}
    chunks = stream.chunks(m, seed, size=_PIECE)
    keys, at, start = next(chunks), 0, 0
    for i in range(1, checkpoints + 1):
        end = m * i // checkpoints
        while start < end:
            if at == keys.size:
                keys, at = next(chunks), 0
            part = keys[at : at + end - start]
            for grouping in groupings.values():
                grouping.route_many(part)
            start, at = start + part.size, at + part.size
        for name, grouping in groupings.items():
            loads = grouping.loads
            history[name].append(imbalance(loads))
            windows[name].append(imbalance(loads - before[name]))
            before[name] = loads
    return {"history": history, "windows": windows}


def final_and_mean(history: dict[str, list[float]]) -> dict[str, float]:
    """Return each grouping's imbalance at the end, and its mean over the checkpoints (`_mean`)."""
    ends = {name: values[-1] for name, values in history.items()}
    return ends | {f"{name}_mean": sum(values) / len(values) for name, values in history.items()}


_streams: dict[tuple[int, float], Any] = {}


def zipf(keys: int, exponent: float) -> Any:
    """Return the Zipf stream; the process keeps the last one, whose table takes time to make."""
    from streamlb import Zipf

    if (keys, exponent) not in _streams:
        _streams.clear()  # one at a time: a table of a million keys takes 8 MB
        _streams[keys, exponent] = Zipf(keys, exponent)
    return _streams[keys, exponent]
