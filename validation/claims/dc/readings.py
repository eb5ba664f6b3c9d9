"""What the claims of Nasir et al. 2016 share: the schemes and their readings, and streams.

D-Choices runs under three readings side by side: as printed but for the guard of the head test,
as printed without that guard, and with our defaults (distinct workers, rotated ties).
"""

from __future__ import annotations

from typing import Any

from ...figures import COLOURS

# As printed: the workers of a hot key are hashed one by one, and the first of equals is taken.
PRINTED = {"candidates": "independent", "ties": "first"}
EPSILON, SOURCES = 1e-4, 5
BOUND = SOURCES * EPSILON  # the imbalance of five sources that each keep ε
SKEWS = [round(0.1 * i, 1) for i in range(1, 21)]
QUICK_SKEWS = [0.4, 0.8, 1.2, 1.4, 1.7, 2.0]
LETTERS = {
    "kg": "KG",
    "sg": "SG",
    "pkg": "PKG",
    "dc": "D-C as printed",
    "wc": "W-C",
    "rr": "RR",
    "own": "D-C distinct",
    "bare": "D-C no guard",
}
SCHEME_COLOURS = dict(zip(("pkg", "dc", "wc", "rr", "own", "kg", "sg", "bare"), COLOURS))
SETUP = (
    "Five sources fed round robin; D-C, W-C and RR as printed but for the guard of the head test, D-C distinct "
    "with distinct workers."
)
_PIECE = 65_536


def by_profile(profile: str, quick: Any, paper: Any) -> Any:
    """Return what belongs to the profile."""
    return quick if profile == "quick" else paper


def stream_size(profile: str) -> int:
    """Return the number of messages of a synthetic stream."""
    return by_profile(profile, 1_000_000, 10_000_000)


def build(scheme: str, n: int, sources: int, seed: int, **options: Any) -> Any:
    """Return the grouping of a scheme.

    `dc`, `wc` and `rr` are as printed but for the guard of the head test, `bare` is D-Choices
    without that guard, and `own` is D-Choices with our defaults.
    """
    import streamlb

    plain = {"kg": "KeyGrouping", "sg": "ShuffleGrouping", "pkg": "PartialKeyGrouping"}
    if scheme in plain:
        return getattr(streamlb, plain[scheme])(n, sources, seed=seed)
    if scheme == "own":
        return streamlb.DChoices(n, sources, seed=seed, **options)
    if scheme == "bare":
        options["guard"] = False
    name = {"dc": "DChoices", "bare": "DChoices", "wc": "WChoices", "rr": "RoundRobinHead"}[scheme]
    return getattr(streamlb, name)(n, sources, seed=seed, **{**PRINTED, **options})


def hash_seed(seed: int) -> int:
    """Return the seed of the hash functions that goes with a stream's: no two runs share either."""
    return 1_000_003 * (seed + 1)


def route(stream: Any, m: int, groupings: dict[str, Any], seed: int, checkpoints: int = 100) -> dict[str, Any]:
    """Route one stream through several groupings, drawing it once.

    Return the share of key 0 and each grouping's imbalance at the checkpoints: over all messages
    so far (`history`), and over those since the checkpoint before (`windows`).
    """
    from streamlb import imbalance

    history: dict[str, list[float]] = {name: [] for name in groupings}
    windows: dict[str, list[float]] = {name: [] for name in groupings}
    before = {name: 0 for name in groupings}
    hottest = start = 0
    for i in range(1, checkpoints + 1):
        end = m * i // checkpoints
        while start < end:
            keys = stream.draw(min(_PIECE, end - start), seed, start)
            hottest += int((keys == 0).sum())
            for grouping in groupings.values():
                grouping.route_many(keys)
            start += keys.size
        for name, grouping in groupings.items():
            loads = grouping.loads
            history[name].append(imbalance(loads))
            windows[name].append(imbalance(loads - before[name]))
            before[name] = loads
    return {"p1": hottest / m, "history": history, "windows": windows}


_streams: dict[tuple[int, float], Any] = {}


def zipf(keys: int, exponent: float) -> Any:
    """Return the Zipf stream; the process keeps the last one, whose table takes time to make."""
    from streamlb import Zipf

    if (keys, exponent) not in _streams:
        _streams.clear()  # one at a time: a table of a million keys takes 8 MB
        _streams[keys, exponent] = Zipf(keys, exponent)
    return _streams[keys, exponent]
