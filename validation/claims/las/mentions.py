"""A stand-in for the tweets of Rivetti et al. 2016, section 5: tweets that mention entities.

Entities are drawn from a Zipf stream in which the first has the printed share and as many occur as
printed; each belongs to a class of 25, 5 or 1 ms, and a tweet costs the sum of what it mentions.
How many entities a tweet mentions, and the shares of the classes, follow from the printed mean,
share at 1 ms, and number of different costs.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

TWEETS, ENTITIES, TOP, MEAN, AT_1_MS, DEAREST = 500_000, 35_000, 0.065, 9.7, 0.36, 152
VALUES = 110  # different costs
CLASSES = np.array([25, 5, 1])  # ms: media, politicians, others
MOST = 12  # mentions of a tweet
MORE = 0.4  # the chance that a tweet has another mention
RARE = 50_000  # one tweet in so many has the printed greatest cost, by six media and two others


class Tweets(NamedTuple):
    """What came: the cost of each tweet, and its key when that is one of its entities or all."""

    costs: np.ndarray
    entity: np.ndarray
    field: np.ndarray


def mention_chances() -> np.ndarray:
    """Return the chance of 1, 2, ... `MOST` mentions: each more is `MORE` times as likely."""
    chances = MORE ** np.arange(MOST)
    return chances / chances.sum()


def class_shares() -> np.ndarray:
    """Return the shares of the classes among mentions that give the printed mean and share at 1 ms.

    A tweet costs 1 ms when its only mention is of an other.
    """
    chances = mention_chances()
    each = MEAN / float(chances @ np.arange(1, MOST + 1))  # the mean cost of a mention
    others = AT_1_MS / chances[0]
    media = (each - others - CLASSES[1] * (1 - others)) / (CLASSES[0] - CLASSES[1])
    return np.array([media, 1 - others - media, others])


def classes(pmf: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Deal entities to classes so that the mentions, not the entities, have the classes' shares.

    From the most frequent entity on, each class is drawn by what its share still lacks.
    """
    lacking = class_shares()
    out = np.empty(pmf.size, np.int64)
    for i, (share, u) in enumerate(zip(pmf.tolist(), rng.random(pmf.size).tolist())):
        first, second, third = (max(one, 0.0) for one in lacking)
        u *= first + second + third
        out[i] = 0 if u < first else 1 if u < first + second else 2
        lacking[out[i]] -= share
    return out


@functools.cache
def kept_costs(values: int = VALUES) -> np.ndarray:
    """Return which costs may occur, bool[cost]: the likeliest, and the printed greatest one."""
    one = np.zeros(CLASSES.max() + 1)
    one[CLASSES] = class_shares()
    total, of_n = np.zeros(MOST * CLASSES.max() + 1), np.ones(1)
    for chance in mention_chances():
        of_n = np.convolve(of_n, one)
        total[: of_n.size] += chance * of_n
    total[DEAREST:] = 0.0
    kept = np.zeros(total.size, bool)
    kept[np.argsort(-total, kind="stable")[: values - 1]] = True
    kept[DEAREST] = True
    return kept


@functools.cache
def entities(tweets: int):
    """Return the stream of entities of which as many as printed occur in so many tweets."""
    from streamlb.stand_ins import fitted

    mentions = tweets * float(mention_chances() @ np.arange(1, MOST + 1))
    seen = round(ENTITIES * min(1.0, tweets / TWEETS))  # of fewer tweets, as many fewer
    return fitted(seen, TOP, round(mentions))


def draw(tweets: int, seed: int) -> Tweets:
    """Draw so many tweets, with classes of their own.

    Examples
    --------
    >>> from streamlb.validation.claims.las.mentions import draw
    >>> costs = draw(50_000, seed=1).costs
    >>> float(costs.min()), float(costs.max())
    (1.0, 152.0)
    """
    stream = entities(tweets)
    rng = np.random.default_rng([seed, 8])
    cost_of = CLASSES[classes(stream.pmf, rng)]
    drawn = tweets + tweets // 100 + 100  # some have costs that do not occur
    counts = rng.choice(np.arange(1, MOST + 1), drawn, p=mention_chances())
    begins = np.concatenate([[0], np.cumsum(counts)[:-1]])
    mentioned = stream.draw(int(counts.sum()), seed)
    costs = np.add.reduceat(cost_of[mentioned.astype(np.int64)], begins)
    # The field is a set: its key is the sum of random numbers of its entities.
    number_of = rng.integers(0, 2**64, stream.keys, np.uint64)
    field = np.add.reduceat(number_of[mentioned.astype(np.int64)], begins)
    fits = np.flatnonzero(kept_costs()[costs])[:tweets]
    costs, entity, field = costs[fits].astype(np.float64), mentioned[begins[fits]], field[fits]
    dear = np.arange(RARE // 2, tweets, RARE)
    costs[dear], field[dear] = float(DEAREST), np.uint64(DEAREST)
    return Tweets(costs, entity, field)
