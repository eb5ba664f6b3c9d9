"""The hashing behind the number of choices (Nasir et al. 2016, sections III-B, IV-A, appendix A).

How many hashes reach every worker, how large the union of several keys' workers is, how often the
workers of a tail key lie inside it, and the necessary condition of Proposition 4.1.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from streamlb.analysis import coupon_collector_mean, coverage_moments, expected_workers, head_size, zipf_shares

from ...claim import Claim, Experiment, Verdict, claims_into
from ...figures import PAPER, new_figure
from .readings import EPSILON, build, by_profile, hash_seed

CLAIMS: list[Claim] = []
claim = claims_into(CLAIMS, paper="DC", kind="a")


def _candidates(key: int, seed: int, d: int, n: int) -> np.ndarray:
    """Return the first d workers of n in a key's sequence, hashed one by one as printed."""
    from streamlb.hashing import candidate, hash_one

    h = np.uint64(hash_one(np.uint64(key), np.uint64(seed)))
    return np.array([candidate(h, i, n) for i in range(d)])


def _coupons(n: int, trials: int, seed: int) -> dict[str, Any]:
    """Draw workers by the hash family until all have been met."""
    longest = int(20 * n * math.log(n + 1)) + 50
    reached = []
    for t in range(trials):
        draws = _candidates(t, hash_seed(seed), longest, n)
        reached.append(int(np.unique(draws, return_index=True)[1].max()) + 1)
    times = np.array(reached)
    return {
        "mean": float(times.mean()),
        "error": float(times.std(ddof=1) / math.sqrt(trials)),
        "expected": float(coupon_collector_mean(n)),
        "covered_once": float((times <= n * math.log(n)).mean()),
        "covered_twice": float((times <= 2 * n * math.log(n)).mean()),
    }


COUPONS = Experiment(
    "dc_coupons",
    lambda profile: [{"n": n, "trials": by_profile(profile, 300, 3000), "seed": 12} for n in (5, 10, 50, 100)],
    _coupons,
)


@claim(
    "DC-G1",
    where="III-B",
    statement="With d well above n ln n hashes a key reaches every worker.",
    claimed="d ≫ n ln n",
    criterion="mean draws to meet all workers n Hₙ within 3 s.e.; 2 n ln n suffice but for about 1/n",
    experiment=COUPONS,
)
def _judge_coupons(runs, profile) -> Verdict:
    off = ((runs["mean"] - runs["expected"]).abs() / runs["error"]).max()
    return Verdict.when(
        bool(off <= 3 and (runs["covered_twice"] >= 1 - 2.5 / runs["n"]).all()),
        f"mean draws within {off:.1f} standard errors of n Hₙ; 2 n ln n draws meet all in "
        f"{runs['covered_twice'].min():.1%} or more",
        f"n ln n draws alone meet all of them in only {runs['covered_once'].min():.0%} to "
        f"{runs['covered_once'].max():.0%} of cases: d must be well above n ln n, as stated.",
    )


def _union(n: int, d: int, h: int, trials: int, seed: int) -> dict[str, Any]:
    """Hash h keys d times each, again and again: the size of the union of their workers.

    Beside it stand the expected size of the paper and the moments of the exact distribution.
    """
    sizes = np.array(
        [
            len(set(np.concatenate([_candidates(key, hash_seed(seed) + t, d, n) for key in range(h)]).tolist()))
            for t in range(trials)
        ]
    )
    first, second = coverage_moments(n, h * d) if h * d <= 60 else (expected_workers(n, d, h, exact=True) / n, None)
    return {
        "mean": float(sizes.mean()),
        "error": float(sizes.std(ddof=1) / math.sqrt(trials)),
        "expected": expected_workers(n, d, h),
        "exact_first": bool(first == expected_workers(n, d, h, exact=True) / n),
        "second": None if second is None else float(second),
        "second_measured": float(((sizes / n) ** 2).mean()),
        "printed_square": float(first**2),
    }


UNION = Experiment(
    "dc_union",
    lambda profile: [
        {"n": n, "d": d, "h": h, "trials": by_profile(profile, 400, 4000), "seed": 11}
        for n, d, h in ((5, 3, 1), (10, 4, 2), (20, 8, 3), (50, 22, 1), (50, 10, 5), (100, 12, 20), (100, 43, 10))
    ],
    _union,
    lambda row: row["trials"] * row["h"],
)


@claim(
    "DC-E10",
    where="(10), appendix A",
    statement="h keys with d hashes each have b_h = n − n((n−1)/n)^{hd} workers on average.",
    claimed="formula",
    criterion="Monte Carlo within 3 s.e.; exact fractions",
    experiment=UNION,
)
def _judge_union(runs, profile) -> Verdict:
    off = ((runs["mean"] - runs["expected"]).abs() / runs["error"].clip(lower=1e-12)).where(runs["error"] > 0, 0.0)
    return Verdict.when(
        bool(off.max() <= 3 and runs["exact_first"].all()),
        f"largest deviation {off.max():.1f} standard errors over {len(runs)} settings",
        f"{int(runs['trials'].iloc[0])} draws of the hash functions each. The exact occupancy distribution has the "
        "same mean.",
    )


@claim(
    "DC-E5",
    where="(5)",
    statement="A tail key's two workers lie among a set of expected size b with probability (b/n)².",
    claimed="(b/n)²",
    criterion="E[(B/n)²] ≥ (b/n)²: still a valid lower bound",
    experiment=UNION,
)
def _judge_collision(runs, profile) -> Verdict:
    own = runs[runs["second"].notna()]
    excess = own["second"] / own["printed_square"] - 1
    return Verdict.when(
        bool((excess >= 0).all()),
        f"E[(B/n)²] exceeds (b/n)² by {excess.min():.2%} to {excess.max():.2%}",
        "(b/n)² would be the chance of a full collision only if |W| were constant. By Jensen's inequality the true "
        "chance is at least that, so the bound stays a lower one, as the paper uses it.",
    )


def _necessary(n: int, z: float, d: int, m: int, seed: int) -> dict[str, Any]:
    """Route by Greedy-d and measure the load on the workers of three prefixes of the head.

    The prefixes are the first key, half of the head and the whole of it; beside each load stands
    the left side of (3).
    """
    from streamlb import Zipf, imbalance

    p = zipf_shares(10_000, z)
    theta = 0.2 / n
    heads = head_size(p, theta)
    grouping = build("dc", n, 1, hash_seed(seed), choices=d)
    grouping.route_many(Zipf(10_000, z).draw(m, seed=seed))
    load = grouping.loads / m
    lists = [_candidates(key, hash_seed(seed), d, n) for key in range(heads)]
    measured, bound = [], []
    for h in sorted({1, (heads + 1) // 2, heads}):
        covered = expected_workers(n, d, h) / n
        head, tail = p[h:heads].sum(), p[heads:].sum()
        measured.append(float(load[np.unique(np.concatenate(lists[:h]))].sum()))
        bound.append(float(p[:h].sum() + covered**d * head + covered**2 * tail))
    return {"measured": measured, "bound": bound, "imbalance": imbalance(grouping.loads)}


NECESSARY = Experiment(
    "dc_necessary",
    lambda profile: [
        {"n": n, "z": z, "d": d, "m": by_profile(profile, 100_000, 1_000_000), "seed": seed}
        for n, z, d in ((10, 1.4, 8), (50, 1.0, 6), (50, 1.4, 22), (100, 1.4, 43))
        for seed in range(by_profile(profile, 40, 200))
    ],
    _necessary,
)


def _figure_necessary(runs, profile):
    figure, axes = new_figure(
        "Load on the workers of the whole head, by hash seed",
        "bound of Proposition 4.1 (share)",
        "measured load (share)",
    )
    for (n, z, d), own in runs.groupby(["n", "z", "d"]):
        axes.plot(
            [b[-1] for b in own["bound"]],
            [v[-1] for v in own["measured"]],
            "o",
            ms=3,
            label=f"n = {n}, z = {z:g}, d = {d}",
        )
    ends = [0.3, 1.02]
    axes.plot(ends, ends, color=PAPER, ls="--", label="load = bound")
    axes.legend(fontsize=8)
    return figure


@claim(
    "DC-P4.1",
    kind="a+b",
    where="Proposition 4.1, (3)-(9)",
    statement=(
        "For every prefix of the head the expected load on its workers is at least the left side of (3): a lower "
        "bound on d."
    ),
    claimed="necessary condition",
    criterion="mean over hash seeds at least the bound (3 s.e.), for the first, the middle and the last prefix",
    experiment=NECESSARY,
    figure=_figure_necessary,
)
def _judge_necessary(runs, profile) -> Verdict:
    worst, over = math.inf, []
    for _, own in runs.groupby(["n", "z", "d"]):
        gap = np.array(own["measured"].tolist()) - np.array(own["bound"].tolist())
        error = gap.std(axis=0, ddof=1) / math.sqrt(len(own))
        worst = min(worst, float((gap.mean(axis=0) / np.maximum(error, 1e-9)).min()))
        over.append(float((own["imbalance"] > EPSILON).mean()))
    return Verdict.when(
        worst >= -3,
        f"mean load on the prefixes' workers at least the left side of (3): least margin {worst:+.1f} standard errors",
        f"Necessary, not sufficient: with the d that meets (3), {min(over):.0%} to {max(over):.0%} of hash seeds "
        "still have an imbalance above ε.",
    )
