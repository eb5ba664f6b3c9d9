"""What the text of the paper allows beside our defaults, by hand: the listings and both Checks."""

import pytest

from streamlb import FullKnowledge, LoadAwareShedder


def test_as_printed_sets_every_option_that_differs_from_the_paper():
    printed, default = LoadAwareShedder.as_printed(6.4), LoadAwareShedder(6.4)
    choices = (
        *("timeout", "clamp", "sync", "check", "start", "clock", "unseen", "stability", "rounding"),
        "look",
    )
    assert all(getattr(printed, name) != getattr(default, name) for name in choices)
    assert LoadAwareShedder.as_printed(6.4, clamp=True).clamp is True


def test_the_listing_drops_everything_after_the_first_crossing():
    """The listing's average changes only by keeping: above the threshold it stays there, even when
    the queue is empty."""
    listing, text = (LoadAwareShedder(1.0, window=2, safety=0.0, check=check) for check in ("listing", "text"))
    for shedder in (listing, text):
        assert shedder.train([1, 1, 1, 1], [4.0] * 4)
        shedder.offer(1, 0.0)
        shedder.offer(1, 0.0)  # waits 4: the listing keeps it, with an average of 2 after that
    assert [listing.offer(1, now) for now in (1e3, 2e3, 3e3)] == [True, True, True]
    assert [text.offer(1, now) for now in (1e3, 2e3, 3e3)] == [False, False, False]


def test_a_check_of_the_sum_adds_the_wait_to_the_average():
    """Costs of 4 at once and a threshold of 5: waits of 0 and 4 have an average of 2, to which the
    next, of 8, adds up to 10; two units later 2 + 6 are 8, and five units later 2 + 3 are 5."""
    shedder = FullKnowledge(5.0, lambda key: 4.0, check="sum")
    assert [shedder.offer(1, now) for now in (0.0, 0.0, 0.0, 2.0, 5.0)] == [False, False, True, True, False]


def test_the_listing_looks_before_it_adds():
    """The second look, at the fourth execution, sends what the first three have told."""
    for look, counted in (("after", 4), ("before", 3)):
        shedder = LoadAwareShedder(9.0, window=2, tolerance=9.0, look=look)
        for i in range(4):
            shedder.offer(7, 9.0 * i)
            shedder.complete(7, 1.0)
        assert (shedder.matrices, int(shedder.F[1, 0].sum())) == (1, counted)
        # The fourth is the first of the next window.
        assert int(shedder.F[0, 0].sum()) == 4 - counted


@pytest.mark.parametrize(("sync", "asked", "wait"), [("exact", 1, 6.0), ("difference", 3, 14.0)])
def test_a_printed_request_waits_for_no_reply(sync, asked, wait):
    """Five tuples at once are estimated at 1 each and cost 2; the shedder asks at every other.

    The operator is asked at the first, third and fifth, when the clock stands at 1, 3 and 5, and
    replies 2, 6 and 10: as printed each difference is added in full, though the second and third
    tell again what the first has told.
    """
    options = {"window": 100, "tolerance": 9.0, "safety": 0.0, "sync": sync, "resync": 2}
    shedder = LoadAwareShedder(1e9, **options)
    assert shedder.train([1] * 200, [1.0] * 200)
    for _ in range(5):
        assert not shedder.offer(1, 0.0)
    for _ in range(5):
        shedder.complete(1, 2.0)
    assert (shedder.epoch, shedder.replies, shedder.waiting) == (asked, asked, 0)
    assert shedder.expected_wait(0.0) == wait


def test_one_column_knows_the_mean_cost_alone():
    shedder = LoadAwareShedder(9.0, window=2, tolerance=9.0, columns=1)
    assert shedder.train([1, 2, 1, 2], [1.0, 4.0, 1.0, 4.0])
    assert [shedder.estimate(key) for key in (1, 2, 3)] == [2.5, 2.5, 2.5]
    # Section 5.1 goes up to an epsilon of 1.
    assert LoadAwareShedder(9.0, epsilon=1.0).F.shape[2] == 3
