"""Definitions and sizes (Nasir et al. 2016, sections II-B, III-A and IV-B).

They are read off running groupings: the imbalance, the default threshold, the state of a source.
"""

from __future__ import annotations

from typing import Any

from ...claim import Claim, Experiment, Verdict, claims_into
from .readings import build

CLAIMS: list[Claim] = []
claim = claims_into(CLAIMS, paper="DC", kind="a")


def _structure(n: int, s: int, seed: int) -> dict[str, Any]:
    """Route a stream in two parts, and compare what the grouping says with exact arithmetic."""
    from fractions import Fraction

    from streamlb import Zipf, imbalance

    grouping = build("wc", n, s, seed)
    stream = Zipf(10_000, 1.2)
    grouping.route_many(stream.draw(20_000, seed))
    early = len(grouping.state())
    grouping.route_many(stream.draw(200_000, seed, 20_000))
    loads = [int(load) for load in grouping.loads]
    total = sum(loads)
    exact = Fraction(max(loads), total) - Fraction(1, n)
    return {
        "theta": grouping.theta,
        "loads": int(grouping.source_loads.size),
        "counters": grouping.capacity,
        "growth": len(grouping.state()) - early,
        "identity": abs(float(exact) - imbalance(loads)) < 1e-15,
        "average": float(sum(Fraction(load, total) for load in loads) / n - Fraction(1, n)),
    }


STRUCTURE = Experiment(
    "dc_structure",
    lambda profile: [{"n": n, "s": s, "seed": 3} for n in (5, 50, 100, 1000) for s in (1, 5)],
    _structure,
)


@claim(
    "DC-D1",
    where="II-B",
    statement="Imbalance is the greatest load less the average, and the average is 1/n.",
    claimed="definition",
    criterion="identity in exact arithmetic",
    experiment=STRUCTURE,
)
def _judge_definition(runs, profile) -> Verdict:
    return Verdict.when(
        bool(runs["identity"].all() and (runs["average"] == 0).all()),
        f"I = max − 1/n in all {len(runs)} runs; the average load is 1/n exactly",
        "Loads are fractions of all messages; exact arithmetic.",
    )


@claim(
    "DC-T1",
    where="III-A",
    statement="The threshold θ lies in [1/5n, 2/n], 1/5n by default.",
    claimed="1/5n",
    criterion="definition",
    experiment=STRUCTURE,
)
def _judge_theta(runs, profile) -> Verdict:
    low, high = 0.2 / runs["n"], 2 / runs["n"]
    holds = bool((runs["theta"] == low).all() and (low <= high).all())
    return Verdict.when(holds, "default θ = 1/5n, the lower end of [1/5n, 2/n]", "A definition.")


@claim(
    "DC-M2",
    where="IV-B",
    statement="Sources keep s·n load counters and a sketch of constant size.",
    claimed="s·n; O(1)",
    criterion="sizes of the state",
    experiment=STRUCTURE,
)
def _judge_source_memory(runs, profile) -> Verdict:
    holds = bool((runs["loads"] == runs["s"] * runs["n"]).all() and (runs["growth"].abs() <= 32).all())
    return Verdict.when(
        holds,
        f"s·n load counters; {runs['counters'].min()} to {runs['counters'].max()} counters a sketch, the same after "
        "11 times the messages",
        "The sketch's size depends on θ alone (2/θ, at least 1,000): O(n) for θ = 1/5n, constant in m and in the "
        "number of keys.",
    )
