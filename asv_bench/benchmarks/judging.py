"""What it costs to judge a claim look by look, in seeds, and how often the word is wrong."""

import numpy as np
from streamlb.validation.claim import Seeds
from streamlb.validation.judging import UNDECIDED, Sample, all_of, at_least, decide, finding, mean
from streamlb.validation.judging.estimates import ALPHA

SEEDS = Seeds(quick=(10, 60), paper=(10, 200))
FIXED = {"quick": 20, "paper": 100}  # seeds for every setting, as it used to be


def course(values, profile, alpha=ALPHA):
    """Return the word on "the mean is at least 0" and the seeds that it took."""
    level, word = SEEDS.level(profile, alpha), UNDECIDED
    for n in SEEDS.looks(profile):
        found = finding("mean", value=at_least(Sample(range(n), values[:n]), 0.0))
        word = decide(found, level).value
        if word != UNDECIDED:
            return word, n
    return word, SEEDS.looks(profile)[-1]


def fixed_size(samples, share=0.9):
    """Return the least number of seeds that decides this share of the samples, in one look."""
    for n in range(2, samples.shape[1] + 1):
        lows = [mean(Sample(range(n), values[:n])).interval(ALPHA)[0] for values in samples]
        if np.mean(np.array(lows) >= 0.0) >= share:
            return n
    return samples.shape[1]


class Looks:
    """Runs of a course for one claim whose effect is so many standard deviations."""

    params = [["quick", "paper"], [0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0]]
    param_names = ["profile", "effect"]
    timeout = 300

    def setup(self, profile, effect):
        most = SEEDS.looks(profile)[-1]
        self.samples = effect + np.random.default_rng(1).standard_normal((200, most))
        self.seeds = [course(values, profile)[1] for values in self.samples]

    def track_seeds(self, profile, effect):
        return float(np.mean(self.seeds))

    def track_seeds_over_best_fixed_size(self, profile, effect):
        return float(np.mean(self.seeds)) / fixed_size(self.samples)

    def track_share_saved_over_former_size(self, profile, effect):
        return 1.0 - float(np.mean(self.seeds)) / FIXED[profile]

    def track_undecided(self, profile, effect):
        return float(np.mean([course(values, profile)[0] == UNDECIDED for values in self.samples]))


class JudgeTime:
    """Time of one look: twelve checks on thirty seeds."""

    def setup(self):
        rng = np.random.default_rng(2)
        self.samples = [Sample(range(30), rng.standard_normal(30)) for _ in range(12)]

    def time_decide(self):
        decide(finding("means", value=all_of(at_least(sample, 0.0) for sample in self.samples)))
