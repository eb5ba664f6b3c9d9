"""Stand-ins for the papers' private data sets.

Each is a Zipf stream with the printed number of messages, fitted to the printed share of the most
frequent key and, for Nasir et al., to the printed number of keys: as many different ones as a
stream of that length has on average. They have the papers' skew at the top and none of their other
structure.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from streamlb import _check
from streamlb.streams import Drifting, Zipf


def fitted(seen: int, share: float, messages: int) -> Zipf:
    """Return the Zipf stream of this top share that meets `seen` different keys on average."""
    low, high = seen, 2 * seen
    while Zipf.from_top_share(high, share).distinct(messages) < seen:
        low, high = high, 2 * high
        if high > 64 * seen:
            raise ValueError(f"keys must be fewer than can be met, got {seen} in {messages} messages")
    while low < high:
        middle = (low + high) // 2
        if Zipf.from_top_share(middle, share).distinct(messages) < seen - 0.5:
            low = middle + 1
        else:
            high = middle
    return Zipf.from_top_share(low, share, messages)


def wikipedia(scale: float = 1.0) -> Zipf:
    """Stand in for the page views of Nasir et al. 2016 and 2017: 22 M messages on 2.9 M keys.

    The most frequent key has 9.32% of the messages. Keys are drawn from more than are met, so that
    the stream has as many different ones as printed.

    Parameters
    ----------
    scale : float
        Multiplies messages and keys; the top share stays.

    Examples
    --------
    >>> from streamlb import wikipedia
    >>> stream = wikipedia(0.01)
    >>> stream.messages, round(stream.distinct())
    (220000, 29000)
    """
    scale = _check.real("scale", scale, 1e-5, 1)
    return fitted(max(2, round(2_900_000 * scale)), 0.0932, round(22_000_000 * scale))


def twitter(keys: int = 31_000_000, messages: int = 1_200_000_000) -> Zipf:
    """Stand in for the words of tweets: 1.2 G messages on 31 M keys, the first has 2.67%.

    Parameters
    ----------
    keys : int
        How many different keys the messages have on average.
    messages : int
        How many messages.
    """
    return fitted(_check.integer("keys", keys, 2), 0.0267, _check.integer("messages", messages, 1))


def cashtags(scale: float = 1.0, seed: Any = 0) -> Drifting:
    """Stand in for the drifting cashtags of Nasir et al. 2016: 690 k messages on 2,900 keys.

    Over the whole stream the most frequent key has 3.29% of the messages. It leads in every second
    twentieth of the stream; in the others all ranks are dealt anew, so that another key leads.

    Parameters
    ----------
    scale : float
        Multiplies messages.
    seed : int, SeedSequence or None
        Draws the permutations.

    Examples
    --------
    >>> from streamlb import cashtags
    >>> keys = cashtags(seed=1).draw(seed=1)
    >>> bool(abs((keys == 0).mean() - 0.0329) < 0.001)
    True
    """
    messages = round(690_000 * _check.real("scale", scale, 1e-4, 1e12))
    points = [messages * i // 20 for i in range(1, 20)]
    seed = _check.seed_value(seed)
    # The share in the parts where it leads is what makes up for the parts where it does not.
    low, high = 0.0329, 2 * 0.0329
    for _ in range(40):
        lead = (low + high) / 2
        stream = Drifting(Zipf.from_top_share(2_900, lead, messages), points, seed, returning=2)
        share = float(np.mean([stream.pmf_at(start)[0] for start in (0, *points)]))
        low, high = (lead, high) if share < 0.0329 else (low, lead)
    return stream


def tweets(messages: int = 500_000) -> Zipf:
    """Stand in for the entities in tweets of Rivetti et al. 2015 and 2016.

    There are 35,000, of which the most frequent has 6.5% of the messages.
    """
    return Zipf.from_top_share(35_000, 0.065, messages)
