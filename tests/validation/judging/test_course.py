"""A whole course of looks decides wrongly no more often than alpha says, all looks together."""

import math

import numpy as np
import pytest
from streamlb.validation.claim import Seeds
from streamlb.validation.judging import UNDECIDED, Sample, all_of, any_of, at_least, at_most, decide, finding

SEEDS = Seeds(quick=(10, 60), paper=(10, 60))
ALPHA = 0.05
COURSES = 1500


def words(draw, make, alpha=ALPHA):
    """Return the words of many courses, and the look that said them."""
    level, looks = SEEDS.level("quick", alpha), SEEDS.looks("quick")
    found = []
    for number in range(COURSES):
        values = draw(np.random.default_rng([number, 3]))
        for n in looks:
            word = decide(finding("m", value=make([Sample(range(n), row[:n]) for row in values])), level).value
            if word != UNDECIDED:
                break
        found.append((word, looks.index(n)))
    return found


def most(share):
    """Return the count that a share of wrong words does not exceed by chance.

    It allows for five standard deviations: less than one false alarm in a million.
    """
    return COURSES * share + 5 * math.sqrt(COURSES * share) + 1


def decided(found):
    return sum(word != UNDECIDED for word, _ in found)


@pytest.mark.bound
@pytest.mark.parametrize("name", ["normal", "exponential"])
def test_a_mean_on_the_border_stays_undecided(name):
    """Whatever is said of a mean that lies on the border is said without reason."""
    draw = {
        "normal": lambda rng: rng.standard_normal((1, 60)),
        "exponential": lambda rng: rng.standard_exponential((1, 60)) - 1.0,
    }[name]
    assert decided(words(draw, lambda samples: at_least(samples[0], 0.0))) <= most(ALPHA)


@pytest.mark.bound
@pytest.mark.parametrize("combine", [all_of, any_of])
def test_several_checks_share_the_error(combine):
    def make(samples):
        return combine(at_least(sample, 0.0) for sample in samples)

    assert decided(words(lambda rng: rng.standard_normal((5, 60)), make)) <= most(ALPHA)


@pytest.mark.bound
def test_without_the_spending_of_the_error_it_would_be_far_too_often():
    """The simulation can tell: with all of alpha at each look twice as many words are wrong."""
    level = SEEDS.level("quick", ALPHA)
    greedy = {n: ALPHA / level(n) for n in SEEDS.looks("quick")}
    wrong = 0
    for number in range(COURSES):
        values = np.random.default_rng([number, 3]).standard_normal(60)
        wrong += any(
            decide(finding("m", value=at_least(Sample(range(n), values[:n]), 0.0)), level(n) * greedy[n]).value
            != UNDECIDED
            for n in SEEDS.looks("quick")
        )
    assert wrong > most(ALPHA)


@pytest.mark.bound
def test_a_plain_effect_is_decided_rightly_and_early():
    found = words(lambda rng: 3.0 + rng.standard_normal((1, 60)), lambda samples: at_least(samples[0], 0.0), 1e-3)
    assert {word for word, _ in found} == {"holds"}
    assert np.mean([look for _, look in found]) < 1.5
    found = words(lambda rng: 3.0 + rng.standard_normal((1, 60)), lambda samples: at_most(samples[0], 0.0), 1e-3)
    assert {word for word, _ in found} == {"fails"}
