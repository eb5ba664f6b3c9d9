"""Verify a balancer of your own: the contract and the bounds of streamlb, as checks for pytest.

`check_grouping`, `check_sketch` and `check_scheduler` take a class and run every check that applies
to it. `grouping_checks`, `sketch_checks` and `scheduler_checks` give the same checks one by one.
The class may be plain Python; it need not derive from anything. The functions `assert_mean_below`
and its kin compare a random sample with a bound at a stated chance of a false alarm.
"""

from streamlb.testing.groupings import check_grouping, grouping_checks
from streamlb.testing.report import Check, CheckError, Outcome, Report, SkippedCheck, SkippedCheckWarning
from streamlb.testing.schedulers import check_scheduler, scheduler_checks
from streamlb.testing.sketches import check_sketch, sketch_checks
from streamlb.testing.statistics import (
    assert_mean_above,
    assert_mean_below,
    assert_paired_above,
    assert_paired_below,
    assert_proportion_above,
    assert_proportion_below,
)

__all__ = [
    "Check",
    "CheckError",
    "Outcome",
    "Report",
    "SkippedCheck",
    "SkippedCheckWarning",
    "assert_mean_above",
    "assert_mean_below",
    "assert_paired_above",
    "assert_paired_below",
    "assert_proportion_above",
    "assert_proportion_below",
    "check_grouping",
    "check_scheduler",
    "check_sketch",
    "grouping_checks",
    "scheduler_checks",
    "sketch_checks",
]
