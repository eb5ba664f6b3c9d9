"""How a claim is judged: estimates with intervals, regions, aspects, and the verdict from them.

A judge looks at the runs of a claim through `Runs`, makes an `Estimate` of each quantity that the
claim speaks of, and puts it against the region in which the claim says that it lies. These checks
make up an aspect: the *shape* (an order, a direction, where a peak lies) or the *value* (a printed
number). The words `holds`, `fails` and `undecided`, and the verdict, follow from the intervals
alone; no judge writes them.

`samples` holds the runs as judges see them, `estimates` the intervals, `aspects` the checks, and
`findings` the verdict.
"""

from .aspects import (
    Aspect,
    all_of,
    any_of,
    at_least,
    at_most,
    between,
    close_to,
    flat,
    greater,
    less,
    monotone,
    never,
    no_less,
    no_more,
    peak,
    share_of,
)
from .estimates import Estimate, exact, geometric_mean, mean, median, proportion, ratio, spread_ratio
from .findings import (
    DIFFERS,
    FAILS,
    HOLDS,
    IN_SHAPE,
    NOT_APPLICABLE,
    REPORTED,
    REPRODUCED,
    UNDECIDED,
    VERDICTS,
    Decision,
    Finding,
    decide,
    finding,
    not_applicable,
    reported,
)
from .printed import Printed, printed
from .samples import Runs, Sample

__all__ = [
    "DIFFERS",
    "FAILS",
    "HOLDS",
    "IN_SHAPE",
    "NOT_APPLICABLE",
    "REPORTED",
    "REPRODUCED",
    "UNDECIDED",
    "VERDICTS",
    "Aspect",
    "Decision",
    "Estimate",
    "Finding",
    "Printed",
    "Runs",
    "Sample",
    "all_of",
    "any_of",
    "at_least",
    "at_most",
    "between",
    "close_to",
    "decide",
    "exact",
    "finding",
    "flat",
    "geometric_mean",
    "greater",
    "less",
    "mean",
    "median",
    "monotone",
    "never",
    "no_less",
    "no_more",
    "not_applicable",
    "peak",
    "printed",
    "proportion",
    "ratio",
    "reported",
    "share_of",
    "spread_ratio",
]
