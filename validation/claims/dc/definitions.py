"""Definitions and sizes (Nasir et al. 2016, sections II-B, III-A and IV-B).

They are read off running groupings: the imbalance, the default threshold, the state of a source.
"""

from __future__ import annotations

from typing import Any

from ...claim import Claim, Experiment, Seeds, claims_into
from ...judging import Finding, Runs, finding, never, reported
from .readings import build, hash_seed

CLAIMS: list[Claim] = []
claim = claims_into(CLAIMS, paper="DC", kind="a")


def _structure(n: int, s: int, seed: int) -> dict[str, Any]:
    """Route a stream in two parts, and compare what the grouping says with exact arithmetic."""
    from fractions import Fraction

    from streamlb import Zipf, imbalance

    grouping = build("wc_default", n, s, hash_seed(seed))
    stream = Zipf(1_000_000, 1.0)
    grouping.route_many(stream.draw(300_000, seed))
    early = len(grouping.state())
    grouping.route_many(stream.draw(3_000_000, seed, 300_000))
    loads = [int(load) for load in grouping.loads]
    total = sum(loads)
    exact = Fraction(max(loads), total) - Fraction(1, n)
    return {
        "theta": grouping.theta,
        "loads": int(grouping.source_loads.size),
        "counters": grouping.capacity,
        "growth": len(grouping.state()) - early,
        "off": abs(float(exact - Fraction(imbalance(loads)))),
        "unsent": 3_300_000 - total,
    }


STRUCTURE = Experiment(
    "dc_structure",
    lambda profile: [{"n": n, "s": s} for n in (5, 50, 100, 1000) for s in (1, 5)],
    _structure,
    seeds=Seeds(quick=(2, 2), paper=(5, 5)),
)


@claim(
    "DC-D1",
    where="II-B",
    statement="Imbalance is the greatest load less the average, and the average is 1/n.",
    claimed="definition",
    criterion="value: the library's imbalance equals the exact fraction max − 1/n to 10⁻¹⁵, and no message is lost",
    experiment=STRUCTURE,
)
def _judge_definition(runs: Runs) -> Finding:
    wrong = int(((runs.frame["off"] > 1e-15) | (runs.frame["unsent"] != 0)).sum())
    return finding(
        f"max − 1/n in {len(runs) - wrong} of {len(runs)} runs, at most {runs.frame['off'].max():.0e} off",
        value=never(wrong, len(runs)),
        note="Loads are fractions of all messages; exact arithmetic. That the average is 1/n holds by construction.",
    )


@claim(
    "DC-T1",
    where="III-A",
    statement="The threshold θ lies in [1/5n, 2/n], 1/5n by default.",
    claimed="1/5n",
    criterion="reported: a definition",
    experiment=STRUCTURE,
)
def _judge_theta(runs: Runs) -> Finding:
    products = runs.frame["theta"] * runs.frame["n"]
    return reported(
        f"the default θ of a running grouping is {products.min():.3f}/n to {products.max():.3f}/n",
        "A definition, and 1/5n is the lower end of the range.",
    )


@claim(
    "DC-M2",
    where="IV-B",
    statement="Sources keep s·n load counters and a sketch of constant size.",
    claimed="s·n; O(1)",
    criterion="value: s·n load counters, and a state that does not grow from 300,000 to 3,300,000 messages on a million keys, in every run",
    experiment=STRUCTURE,
)
def _judge_source_memory(runs: Runs) -> Finding:
    frame = runs.frame
    wrong = int(((frame["loads"] != frame["s"] * frame["n"]) | (frame["growth"].abs() > 32)).sum())
    return finding(
        f"{(frame['loads'] / frame['s'] / frame['n']).max():g} s·n load counters and a state that grows by at most "
        f"{frame['growth'].max()} bytes, as stated in {len(runs) - wrong} of {len(runs)} runs; "
        f"{frame['counters'].min()} to {frame['counters'].max()} counters a sketch",
        value=never(wrong, len(runs)),
        note="The sketch's size depends on θ alone (2/θ, at least 1,000): O(n) for θ = 1/5n, constant in m and in "
        "the number of keys. A state may differ by 32 bytes, the digits of its numbers.",
    )
