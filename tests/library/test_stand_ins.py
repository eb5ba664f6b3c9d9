"""Stand-ins: the streams have what the papers' tables say of the data sets."""

import numpy as np
import pytest

from streamlb import cashtags, tweets, twitter, wikipedia


@pytest.mark.bound
@pytest.mark.parametrize(
    ("stream", "messages", "keys", "share"),
    [
        (wikipedia(0.05), 1_100_000, 145_000, 0.0932),
        (twitter(1_000_000, 5_000_000), 5_000_000, 1_000_000, 0.0267),
        (cashtags(), 690_000, 2_900, 0.0329),
        (cashtags(seed=3), 690_000, 2_900, 0.0329),
    ],
    ids=["WP", "TW", "CT", "CT, other seed"],
)
def test_streams_have_the_printed_sizes_and_shares(stream, messages, keys, share):
    """The top share within its binomial spread and the keys within theirs: 5.5 and 6 standard
    errors, a false alarm in less than 1e-6 of eight tests. The variance of the number of keys met
    is below its mean."""
    drawn = stream.draw(seed=7).astype(np.int64)
    counts = np.bincount(drawn)
    assert drawn.size == stream.messages == messages
    assert counts.argmax() == 0
    assert abs(counts[0] - messages * share) < 5.5 * (messages * share * (1 - share)) ** 0.5
    assert abs((counts > 0).sum() - keys) < 6 * keys**0.5


def test_tweets_have_the_printed_top_share():
    assert (tweets().keys, tweets().messages) == (35_000, 500_000)
    assert tweets().pmf[0] == pytest.approx(0.065, rel=1e-9)


def test_cashtags_drift():
    stream = cashtags(seed=4)
    leaders = [int(stream.pmf_at(start).argmax()) for start in (0, *stream.points)]
    assert len(leaders) == 20
    assert leaders[::2] == [0] * 10
    assert 0 not in leaders[1::2]
    assert len(set(leaders[1::2])) > 5


def test_thirty_one_million_keys_stream_in_bounded_memory():
    stream = twitter()
    assert stream.messages == 1_200_000_000
    assert stream.distinct() == pytest.approx(31e6, rel=1e-6)
    chunks = stream.chunks(seed=1, start=stream.messages - 100_000)
    assert sum(chunk.size for chunk in chunks) == 100_000


def test_bad_input():
    with pytest.raises(ValueError, match="scale must be"):
        wikipedia(0)
    with pytest.raises(ValueError, match="keys must be fewer than can be met, got 1000 in 500 messages"):
        twitter(1000, 500)
    with pytest.raises(ValueError, match="scale must be"):
        cashtags(0)
