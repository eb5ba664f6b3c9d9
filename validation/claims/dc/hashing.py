"""The hashing behind the number of choices (Nasir et al. 2016, sections III-B, IV-A, appendix A).

How many hashes reach every worker, how large the union of several keys' workers is, how often the
workers of a tail key lie inside it, and the necessary condition of Proposition 4.1.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from streamlb.analysis import coupon_collector_mean, coverage_moments, expected_workers, head_size, zipf_shares

from ...claim import Claim, Experiment, Seeds, claims_into
from ...figures import PAPER, new_figure
from ...judging import Finding, Runs, all_of, at_least, at_most, between, finding, mean, never
from .readings import EPSILON, build, by_profile, hash_seed

CLAIMS: list[Claim] = []
claim = claims_into(CLAIMS, paper="DC", kind="a")


def _candidates(key: int, seed: int, d: int, n: int) -> np.ndarray:
    """Return the first d workers of n in a key's sequence, hashed one by one as printed."""
    from streamlb.hashing import candidate, hash_one

    h = np.uint64(hash_one(np.uint64(key), np.uint64(seed)))
    return np.array([candidate(h, i, n) for i in range(d)])


def _coupons(n: int, trials: int, seed: int) -> dict[str, Any]:
    """Draw workers by the hash family until all have been met, again and again."""
    longest = math.ceil(5 * n * math.log(n))
    times = np.empty(trials)
    for t in range(trials):
        # As many as are needed: five times n ln n, seldom more.
        d = longest
        while len(first := np.unique(_candidates(t, hash_seed(seed), d, n), return_index=True)[1]) < n:
            d *= 2
        times[t] = first.max() + 1
    return {
        "share": float(times.mean()) / float(coupon_collector_mean(n)),
        "once": float((times <= n * math.log(n)).mean()),
        "five_times": float((times <= longest).mean()),
    }


COUPONS = Experiment(
    "dc_coupons",
    lambda profile: [{"n": n, "trials": 120} for n in (5, 10, 50, 100)],
    _coupons,
    lambda row: row["n"],
    Seeds(quick=(20, 80), paper=(60, 240)),
)


@claim(
    "DC-G1",
    kind="b",
    where="III-B",
    statement="With d well above n ln n hashes a key reaches every worker.",
    claimed="d ≫ n ln n",
    criterion=(
        "shape: for n = 5 to 100, n ln n hashes reach all workers for less than 60% of keys, 5 n ln n for 99%; on "
        "average it takes n Hₙ hashes, within 5%"
    ),
    amended="n Hₙ within 3 standard errors, and 2 n ln n but for about 1/n: an interval of a mean of seeds decides.",
    experiment=COUPONS,
)
def _judge_coupons(runs: Runs) -> Finding:
    cells = dict(runs.by("n"))
    return finding(
        "hashes to reach all workers over n Hₙ: "
        + ", ".join(f"{mean(own['share']):.3f} at n = {n}" for n, own in cells.items())
        + f"; n ln n reach all for {runs['once'].values.mean():.0%} of keys, 5 n ln n for "
        f"{runs['five_times'].values.mean():.1%}",
        shape=all_of(
            all_of(
                between(own["share"], 0.95, 1.05, f"hashes over n Hₙ at n = {n}"),
                at_most(own["once"], 0.6, f"keys that n ln n suffice for, n = {n}"),
                at_least(own["five_times"], 0.99, f"keys that 5 n ln n suffice for, n = {n}"),
            )
            for n, own in cells.items()
        ),
    )


def _union(n: int, d: int, h: int, trials: int, seed: int) -> dict[str, Any]:
    """Hash h keys d times each, again and again: the size of the union of their workers.

    Beside it stand the expected size of the paper and the moments of the exact distribution.
    """
    sizes = [
        len(set(np.concatenate([_candidates(t * h + key, hash_seed(seed), d, n) for key in range(h)]).tolist()))
        for t in range(trials)
    ]
    return {"share": float(np.mean(sizes)) / expected_workers(n, d, h)}


UNION = Experiment(
    "dc_union",
    lambda profile: [
        {"n": n, "d": d, "h": h, "trials": 120}
        for n, d, h in ((5, 3, 1), (10, 4, 2), (20, 8, 3), (50, 22, 1), (50, 10, 5), (100, 12, 20), (100, 43, 10))
    ],
    _union,
    lambda row: row["d"] * row["h"],
    Seeds(quick=(20, 80), paper=(60, 240)),
)


@claim(
    "DC-E10",
    kind="b",
    where="(10), appendix A",
    statement="h keys with d hashes each have b_h = n − n((n−1)/n)^{hd} workers on average.",
    claimed="formula",
    criterion="value: the mean number of different workers of our hash functions within 2% of b_h, in seven settings",
    amended="Monte Carlo within 3 standard errors; the exact occupancy distribution is a test now.",
    experiment=UNION,
)
def _judge_union(runs: Runs) -> Finding:
    cells = {f"n = {n}, d = {d}, h = {h}": own["share"] for (n, d, h), own in runs.by("n", "d", "h")}
    farthest = max(cells, key=lambda name: abs(cells[name].values.mean() - 1))
    return finding(
        f"workers over b_h: {mean(cells[farthest]):.3f} where it is farthest from 1 ({farthest})",
        value=all_of(between(sample, 0.98, 1.02, f"workers over b_h, {name}") for name, sample in cells.items()),
        note=f"{runs.frame['trials'].iloc[0]} draws of keys for each seed.",
    )


def _collision(n: int, draws: int) -> dict[str, Any]:
    """Compare the chance that a tail key's two workers lie in a set with the printed square."""
    first, second = coverage_moments(n, draws)
    return {"below": bool(second < first**2), "excess": float(second / first**2 - 1), "chance": float(second)}


COLLISION = Experiment(
    "dc_collision",
    lambda profile: [{"n": n, "draws": d} for n in (5, 10, 20, 50) for d in (2, 4, 8, 16, 32, 60)],
    _collision,
)


@claim(
    "DC-E5",
    where="(5)",
    statement="A tail key's two workers lie among a set of expected size b with probability at least (b/n)².",
    claimed="(b/n)²",
    criterion="value: E[(B/n)²] ≥ (b/n)², in exact fractions: a valid lower bound, as the paper uses it",
    experiment=COLLISION,
)
def _judge_collision(runs: Runs) -> Finding:
    frame = runs.frame
    worst = frame.iloc[int(frame["excess"].to_numpy().argmax())]
    return finding(
        f"E[(B/n)²] is below (b/n)² in {int(frame['below'].sum())} of {len(frame)} settings and exceeds it by "
        f"{frame['excess'].min():.2%} to {worst.excess:.1%} (n = {worst.n:g}, {worst.draws:g} hashes)",
        value=never(int(frame["below"].sum()), len(frame)),
        note="(b/n)² would be the chance of a full collision only if |W| were constant; the true chance is at least "
        "that, by Jensen's inequality.",
    )


PREFIXES = {"first": 0.0, "middle": 0.5, "whole": 1.0}  # shares of the head


def _necessary(n: int, z: float, d: int, m: int, seed: int) -> dict[str, Any]:
    """Route by Greedy-d and measure the load on the workers of three prefixes of the head.

    The prefixes are the first key, half of the head and the whole of it; beside each load stands
    the left side of (3).
    """
    from streamlb import Zipf, imbalance

    p = zipf_shares(10_000, z)
    theta = 0.2 / n
    heads = head_size(p, theta)
    grouping = build("dc_printed", n, 1, hash_seed(seed), choices=d)
    grouping.route_many(Zipf(10_000, z).draw(m, seed=seed))
    load = grouping.loads / m
    lists = [_candidates(key, hash_seed(seed), d, n) for key in range(heads)]
    result: dict[str, Any] = {"above": imbalance(grouping.loads) > EPSILON}
    for name, h in PREFIXES.items():
        h = max(1, round(h * heads))
        covered = expected_workers(n, d, h) / n
        head, tail = p[h:heads].sum(), p[heads:].sum()
        result[name] = float(load[np.unique(np.concatenate(lists[:h]))].sum())
        result[f"{name}_bound"] = float(p[:h].sum() + covered**d * head + covered**2 * tail)
    return result


NECESSARY = Experiment(
    "dc_necessary",
    lambda profile: [
        {"n": n, "z": z, "d": d, "m": by_profile(profile, 20_000, 200_000)}
        for n, z, d in ((10, 1.4, 8), (50, 1.0, 6), (50, 1.4, 22), (100, 1.4, 43))
    ],
    _necessary,
    seeds=Seeds(quick=(100, 900), paper=(200, 900)),
)


def _figure_necessary(runs, profile):
    figure, axes = new_figure(
        "Load on the workers of the whole head, by hash seed",
        "bound of Proposition 4.1 (share)",
        "measured load (share)",
    )
    for (n, z, d), own in runs.groupby(["n", "z", "d"]):
        axes.plot(
            own["whole_bound"],
            own["whole"],
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
    kind="b",
    where="Proposition 4.1, (3)-(9)",
    statement=(
        "For every prefix of the head the expected load on its workers is at least the left side of (3): a lower "
        "bound on d."
    ),
    claimed="necessary condition",
    criterion=(
        "value: the mean over hash seeds is at least the bound less .01 (where the head covers all workers both are 1), "
        "for the first key, half of the head and the whole of it, in four settings"
    ),
    amended="At least the bound less 3 standard errors.",
    experiment=NECESSARY,
    figure=_figure_necessary,
)
def _judge_necessary(runs: Runs) -> Finding:
    gaps = {
        f"{name} prefix, n = {n}, z = {z:g}": own[name] - own[f"{name}_bound"]
        for (n, z), own in runs.by("n", "z")
        for name in PREFIXES
    }
    least = min(gaps, key=lambda name: gaps[name].values.mean())
    above = runs.frame.groupby(["n", "z"])["above"].mean()
    return finding(
        f"load on the prefixes' workers less the left side of (3): least mean {mean(gaps[least]):.4f} ({least})",
        value=all_of(at_least(gap, -0.01, name) for name, gap in gaps.items()),
        note=f"Necessary, not sufficient: with the d that meets (3), {above.min():.0%} to {above.max():.0%} of hash "
        "seeds still have an imbalance above ε.",
    )
