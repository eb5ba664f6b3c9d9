"""The share of virtual workers that an overloaded worker has (Nasir et al. 2017, section V-A2).

Everything is in exact fractions.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from streamlb.analysis import least_share_of_overloaded, least_share_printed, optimal_share

from ...claim import Claim, Experiment, Verdict, claims_into

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


@claim(
    "CG-V1",
    where="V-A2",
    statement="θ_i c/α* ≤ 1/(n α) ≤ θ_b c/α*, for α* = c n α.",
    claimed="identity",
    criterion="in fractions, all cases",
    experiment=INEQUALITIES,
)
def _judge_chain(runs, profile):
    return Verdict.when(
        bool(runs["chain"].all()),
        f"{int(runs['chain'].sum())} of {len(runs)} cases",
        "In fractions; an identity in the middle, as α* = c n α.",
    )


@claim(
    "CG-V2",
    where="V-A2",
    statement="An overloaded worker has α_w ≥ θ_b c n α (1 − ε n α), by Bernoulli's inequality.",
    claimed="inequality",
    criterion="in fractions, all cases",
    experiment=INEQUALITIES,
)
def _judge_bernoulli(runs, profile):
    return Verdict.when(
        bool(runs["bernoulli"].all()),
        f"{int(runs['bernoulli'].sum())} of {len(runs)} cases",
        "In fractions, also where ε n α is above 1.",
    )


@claim(
    "CG-V3",
    where="V-A2",
    statement="With θ_b = 1 + ε n α an overloaded worker has at least its optimal share, by the form as printed.",
    claimed="at least 1",
    criterion="the printed lower bound over the optimal share is at least 1",
    experiment=INEQUALITIES,
)
def _judge_printed_end(runs, profile):
    return Verdict.when(
        bool((runs["printed"] >= 1).all()),
        "share of the optimum: "
        + ", ".join(f"{v:.6g} (ε n α = {p})" for p, v in runs.groupby("part", sort=False)["printed"].min().items()),
        "(1 + x)(1 − x) = 1 − x² < 1: Bernoulli's inequality has given away what θ_b = 1 + x was to win. The "
        "conclusion holds without it (CG-V3c).",
    )


@claim(
    "CG-V3c",
    where="V-A2, corrected",
    statement="The same through θ_b/(1 + ε n α) = 1.",
    claimed="exactly 1",
    criterion="in fractions, all cases",
    experiment=INEQUALITIES,
)
def _judge_corrected_end(runs, profile):
    return Verdict.when(
        bool(runs["exact_is_one"].all()),
        f"exactly 1 in {int(runs['exact_is_one'].sum())} of {len(runs)} cases",
        "θ_b / (1 + ε n α) = 1.",
    )
