"""The harness that feeds judges finds the judges that it is there to find."""

import pytest
from claim_checks import Fed, check_all_are_fed, check_judge, few_rows, judge_and_draw
from streamlb.validation.claim import Claim, Experiment, Seeds
from streamlb.validation.judging import close_to, exact, finding, less, mean, never, printed, reported

SEEDED = Experiment("seeded", lambda profile: [{"n": 5}, {"n": 9}], lambda n, seed: {}, seeds=Seeds((4, 9), (4, 9)))
PLAIN = Experiment("plain", lambda profile: [{"n": 5}, {"n": 9}], lambda n: {"wrong": 0})


def claim_of(judge, experiment=SEEDED):
    return Claim("X-1", "X", "b", "1", "A is below B.", "1.2", "A below B; B 1.2", experiment, judge)


def good(runs):
    shape = less(runs["a"], runs["b"])
    return finding(f"b is {mean(runs['b']):.3f}", shape=shape, value=close_to(runs["b"], printed("1.2", neutral=1.0)))


FED = Fed(true={"a": 0.5, "b": lambda row: 1.15 + row.n / 140}, false=[{"a": 3.0, "b": 1.3}, {"b": 4.0}])


def test_a_good_judge_passes():
    check_judge(claim_of(good), FED)
    exactly = claim_of(lambda runs: finding(f"{runs.frame.wrong.sum()}", value=never(runs.frame.wrong.sum(), 9)), PLAIN)
    check_judge(exactly, Fed(true={"wrong": 0}, false={"wrong": 1}))
    shown = claim_of(lambda runs: reported(f"{runs.frame.wrong.sum()}"), PLAIN)
    check_judge(shown, Fed(true={"wrong": 0}, false={"wrong": 1}, verdict="reported"))


@pytest.mark.parametrize(
    ("judge", "message"),
    [
        (lambda runs: finding("as stated", shape=less(runs["a"], runs["b"])), "true|false by|same text"),
        (lambda runs: finding(f"{runs['a'].values[0]}", shape=less(runs["b"], runs["a"])), "true"),
        (lambda runs: finding(f"{mean(runs['b'])}", shape=less(runs["a"], runs["b"])), "false by"),
        (lambda runs: finding(f"{mean(runs['b'])}", value=_of_point(runs)), "in noise"),
        (lambda runs: reported(f"{mean(runs['b'])}"), "true"),
    ],
    ids=["constant text", "wrong way round", "half of the claim", "no interval", "no verdict"],
)
def test_a_bad_judge_is_found(judge, message):
    with pytest.raises(AssertionError, match=message):
        check_judge(claim_of(judge), FED)


def _of_point(runs):
    return close_to(exact(mean(runs["b"]).point), printed("1.2", neutral=1.0))


def test_every_claim_must_be_fed():
    check_all_are_fed({"X-1": FED}, [claim_of(good)])
    with pytest.raises(AssertionError):
        check_all_are_fed({}, [claim_of(good)])


def test_real_runs_get_few_seeds():
    assert few_rows(SEEDED) == [{"n": n, "seed": seed} for n in (5, 9) for seed in (0, 1)]
    assert few_rows(PLAIN) == [{"n": 5}, {"n": 9}]


def test_a_judge_of_real_runs(few_runs):
    exactly = claim_of(lambda runs: finding(f"{len(runs)}", value=never(runs.frame.wrong.sum(), len(runs))), PLAIN)
    assert judge_and_draw(exactly, few_runs(PLAIN)).verdict == "reproduced"
