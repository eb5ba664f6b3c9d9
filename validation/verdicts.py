"""Judging: each claim's runs go to its judge, reading by reading; the decisions become a table."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .claim import Claim, Verdict
from .judging import REPRODUCED, VERDICTS, Decision, Finding, Runs, decide
from .judging.estimates import ALPHA

if TYPE_CHECKING:
    import pandas as pd

PAPERS = ("POSG", "LAS", "DC", "CG", "PIPE", "OWN")
COLUMNS = (
    *("claim", "paper", "kind", "verdict", "shape", "value", "measured", "estimate", "low", "high"),
    *("claimed", "criterion", "reading", "holds_under", "amended", "runs", "seeds", "seconds", "note"),
)
READING = "reading"  # the column that says to which reading a run belongs


class JudgeError(RuntimeError):
    """A judge or a figure failed; the message names the claim."""


@dataclass(frozen=True)
class Judged:
    """A claim, its decision under each reading, and its runs with the seconds that they took."""

    claim: Claim
    decisions: dict[str, Decision]
    runs: pd.DataFrame
    seconds: float

    @property
    def verdict(self) -> Decision:
        """The decision under the default reading, which makes the headline."""
        return self.decisions[self.claim.readings[0]]

    @property
    def holds_under(self) -> list[str]:
        """The readings under which the claim is reproduced."""
        return [name for name, decision in self.decisions.items() if name and decision.verdict == REPRODUCED]

    @property
    def seeds(self) -> int:
        """How many different seeds the runs have; 0 where nothing is drawn."""
        return int(self.runs["seed"].nunique()) if "seed" in self.runs else 0


def judge(claim: Claim, runs: pd.DataFrame, profile: str, seconds: float, alpha: float = ALPHA) -> Judged:
    """Judge a claim on its runs under each of its readings, with this chance of a wrong word."""
    try:
        decisions = {reading: _decide(claim, runs, reading, profile, alpha) for reading in claim.readings}
    except Exception as error:
        raise JudgeError(
            f"the judge of {claim.id} failed on {len(runs)} runs: {type(error).__name__}: {error}"
        ) from error
    return Judged(claim, decisions, runs, seconds)


def _decide(claim: Claim, runs: pd.DataFrame, reading: str, profile: str, alpha: float) -> Decision:
    """Return the decision under one reading; the judge gets a copy."""
    own = runs[runs[READING].isna() | (runs[READING] == reading)] if reading and READING in runs else runs
    call: Any = claim.judge
    if len(inspect.signature(call).parameters) == 2:
        old = call(own.copy(), profile)
        if not isinstance(old, Verdict):
            raise TypeError(f"a judge must return a Finding, got {type(old).__name__}")
        return Decision(old.verdict, "", "", old.measured, old.note)
    found = call(Runs(own.copy(), reading, profile))
    if not isinstance(found, Finding):
        raise TypeError(f"a judge must return a Finding, got {type(found).__name__}")
    return decide(found, alpha)


def verdict_table(judged: Iterable[Judged]) -> pd.DataFrame:
    """Return the verdicts as a frame, with one row for each claim."""
    import pandas as pd

    return pd.DataFrame([_row(item) for item in judged], columns=list(COLUMNS))


def _row(item: Judged) -> dict[str, Any]:
    claim, verdict = item.claim, item.verdict
    return {
        "claim": claim.id,
        "paper": claim.paper,
        "kind": claim.kind,
        "verdict": verdict.verdict,
        "shape": verdict.shape,
        "value": verdict.value,
        "measured": verdict.measured,
        "estimate": verdict.estimate,
        "low": verdict.low,
        "high": verdict.high,
        "claimed": claim.claimed,
        "criterion": claim.criterion,
        "reading": claim.readings[0],
        "holds_under": ", ".join(item.holds_under),
        "amended": claim.amended,
        "runs": len(item.runs),
        "seeds": item.seeds,
        "seconds": round(item.seconds, 3),
        "note": verdict.note,
    }


def write_verdicts(judged: Iterable[Judged], folder: Path) -> None:
    """Write `verdicts.parquet` and `verdicts.csv`."""
    table = verdict_table(judged)
    table.to_parquet(folder / "verdicts.parquet", index=False)
    table.to_csv(folder / "verdicts.csv", index=False)


def papers_of(judged: Iterable[Judged]) -> list[str]:
    """Return the papers that occur, in the order of `PAPERS`, others after them."""
    present = dict.fromkeys(item.claim.paper for item in judged)
    return sorted(present, key=lambda paper: (PAPERS.index(paper) if paper in PAPERS else len(PAPERS), paper))


def count_verdicts(judged: Iterable[Judged]) -> dict[str, dict[str, int]]:
    """Return the number of claims by paper and verdict, with the row `all`."""
    judged = list(judged)
    counts = {paper: dict.fromkeys(VERDICTS, 0) for paper in [*papers_of(judged), "all"]}
    for item in judged:
        counts[item.claim.paper][item.verdict.verdict] += 1
        counts["all"][item.verdict.verdict] += 1
    return counts
