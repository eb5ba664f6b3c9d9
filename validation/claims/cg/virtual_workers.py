"""The share of virtual workers that an overloaded worker has (Nasir et al. 2017, section V-A2).

Everything is in exact fractions.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from streamlb.analysis import least_share_of_overloaded, least_share_printed, optimal_share

from ...claim import Claim, Experiment, claims_into
from ...judging import Finding, Runs, finding, never, reported

CLAIMS: list[Claim] = []
claim = claims_into(CLAIMS, paper="CG", kind="a")


def _inequalities(n: int, virtual: int, part: str) -> dict[str, Any]:
    """Evaluate the chain of V-A2 in fractions, for ε n α = `part` and several capacities."""
    x = Fraction(part)
    epsilon = x / (n * virtual)
    chain = bernoulli = True
    printed, exact = [], []
    for capacity in (Fraction(1, n), Fraction(3, 2 * n), Fraction(1, 3 * n)):
        best = optimal_share(capacity, n, virtual)
        equal = Fraction(1, n * virtual)
        chain &= (
            Fraction(3, 4) * capacity / best <= equal <= Fraction(5, 4) * capacity / best and capacity / best == equal
        )
        for threshold in (Fraction(21, 20), 1 + x):
            bernoulli &= least_share_of_overloaded(capacity, n, virtual, epsilon, threshold) >= least_share_printed(
                capacity, n, virtual, epsilon, threshold
            )
        printed.append(least_share_printed(capacity, n, virtual, epsilon, 1 + x) / best)
        exact.append(least_share_of_overloaded(capacity, n, virtual, epsilon, 1 + x) / best)
    return {
        "chain": bool(chain),
        "bernoulli": bool(bernoulli),
        "printed": float(min(printed)),
        "exact_is_one": all(e == 1 for e in exact),
    }


INEQUALITIES = Experiment(
    "cg_inequalities",
    lambda profile: [
        {"n": n, "virtual": v, "part": part}
        for n in (5, 10, 100)
        for v in (5, 10, 100)
        for part in ("1/1000", "1/100", "1/10", "1/2", "2")
    ],
    _inequalities,
)


def _cases(runs: Runs, column: str) -> tuple[int, int]:
    """Return in how many cases a column is false, and the number of cases."""
    return int((~runs.frame[column].astype(bool)).sum()), len(runs)


@claim(
    "CG-V1",
    where="V-A2",
    statement="θ_i c/α* ≤ 1/(n α) ≤ θ_b c/α*, for α* = c n α.",
    claimed="identity",
    criterion="report only: it holds by construction, as α* = c n α makes the middle an identity and θ_i < 1 < θ_b",
    amended="In fractions, all cases; this could not fail.",
    experiment=INEQUALITIES,
)
def _judge_chain(runs: Runs) -> Finding:
    wrong, cases = _cases(runs, "chain")
    return reported(f"holds in {cases - wrong} of {cases} cases, in fractions")


@claim(
    "CG-V2",
    where="V-A2",
    statement="An overloaded worker has α_w ≥ θ_b c n α (1 − ε n α), by Bernoulli's inequality.",
    claimed="inequality",
    criterion="in exact fractions, in all cases, also where ε n α is above 1",
    experiment=INEQUALITIES,
)
def _judge_bernoulli(runs: Runs) -> Finding:
    wrong, cases = _cases(runs, "bernoulli")
    return finding(
        f"broken in {wrong} of {cases} cases",
        shape=never(wrong, cases),
        note="The two sides differ by θ_b c n α x²/(1 + x) with x = ε n α, which is never below 0.",
    )


@claim(
    "CG-V3",
    where="V-A2",
    statement="With θ_b = 1 + ε n α an overloaded worker has at least its optimal share, by the form as printed.",
    claimed="at least 1",
    criterion="the printed lower bound over the optimal share is at least 1, in exact fractions, in all cases",
    experiment=INEQUALITIES,
)
def _judge_printed_end(runs: Runs) -> Finding:
    frame = runs.frame
    return finding(
        "share of the optimum: "
        + ", ".join(f"{v:.6g} (ε n α = {p})" for p, v in frame.groupby("part", sort=False)["printed"].min().items()),
        shape=never(int((frame["printed"] < 1).sum()), len(frame)),
        note="(1 + x)(1 − x) = 1 − x² < 1: Bernoulli's inequality has given away what θ_b = 1 + x was to win. The "
        "conclusion holds without it (CG-V3c).",
    )


@claim(
    "CG-V3c",
    where="V-A2, corrected",
    statement="With θ_b = 1 + ε n α an overloaded worker has at least its optimal share, by the step before Bernoulli.",
    claimed="exactly 1",
    criterion="the least share of an overloaded worker over the optimal share is exactly 1, in fractions, in all cases",
    experiment=INEQUALITIES,
)
def _judge_corrected_end(runs: Runs) -> Finding:
    wrong, cases = _cases(runs, "exact_is_one")
    return finding(
        f"not exactly 1 in {wrong} of {cases} cases", value=never(wrong, cases), note="θ_b / (1 + ε n α) = 1."
    )
