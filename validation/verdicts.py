"""Judging: each claim's runs go to its judge, reading by reading; the decisions become a table."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .claim import Claim, Verdict
from .grid import READING
from .judging import REPRODUCED, UNDECIDED, VERDICTS, Decision, Finding, Runs, decide
from .judging.estimates import ALPHA
from .judging.samples import CELL

if TYPE_CHECKING:
    import pandas as pd

PAPERS = ("POSG", "LAS", "DC", "CG", "PIPE", "OWN")
COLUMNS = (
    *("claim", "paper", "kind", "verdict", "shape", "value", "measured", "estimate", "low", "high"),
    *("claimed", "criterion", "reading", "holds_under", "amended", "runs", "seeds", "seconds", "note"),
)
READINGS_COLUMNS = (
    *("claim", "paper", "reading", "verdict", "shape", "value"),
    *("estimate", "low", "high", "claimed", "measured", "note"),
)


_NUMBERS = dict.fromkeys(("estimate", "low", "high"), "float64")


class JudgeError(RuntimeError):
    """A judge or a figure failed; the message names the claim."""


class Failed(Decision):
    """The place of a decision that could not be made, because a judge or a measure failed.

    Its verdict is "undecided", no aspect has a word, `measured` says what failed, and `note` holds
    the traceback. It asks for no more seeds.
    """

    def __init__(self, reason: str, details: str):
        super().__init__(UNDECIDED, "", "", reason, details)


def failed_judge(error: JudgeError) -> Failed:
    """Return what takes the place of the decision of a judge that failed."""
    cause = error.__cause__ or error
    return Failed(str(error), "".join(traceback.format_exception(type(cause), cause, cause.__traceback__)))


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
    def failures(self) -> list[str]:
        """What failed: a measure, or the judge under one reading or another; empty if nothing."""
        found = (decision.measured for decision in self.decisions.values() if isinstance(decision, Failed))
        return list(dict.fromkeys(found))

    @property
    def seeds(self) -> int:
        """How many different seeds the runs have; 0 where nothing is drawn."""
        return int(self.runs["seed"].nunique()) if "seed" in self.runs else 0


def judge(
    claim: Claim,
    runs: pd.DataFrame,
    profile: str,
    seconds: float,
    alpha: float = ALPHA,
    known: Mapping[str, Decision] | None = None,
) -> Judged:
    """Judge a claim on its runs under each of its readings.

    Parameters
    ----------
    claim : Claim
        What is judged.
    runs : DataFrame
        One row for each run; the column `_cell`, if there is one, says to which setting it belongs.
    profile : str
        The profile of the runs.
    seconds : float
        The time that they took.
    alpha : float
        The chance of a wrong word on a reading, over all looks. A check that rests on as many seeds
        as a look has spends the share of that look, under every reading.
    known : mapping, optional
        The decisions on these runs that are there already, by reading.
    """
    known = known or {}
    decisions = {
        reading: known[reading] if reading in known else decide_reading(claim, runs, reading, profile, alpha)
        for reading in claim.readings
    }
    return Judged(claim, decisions, runs.drop(columns=CELL, errors="ignore"), seconds)


def decide_reading(claim: Claim, runs: pd.DataFrame, reading: str, profile: str, alpha: float = ALPHA) -> Decision:
    """Judge a claim on its runs under one reading.

    Raises
    ------
    JudgeError
        When the judge fails; the message names the claim.
    """
    try:
        return _decide(claim, runs, reading, profile, alpha)
    except Exception as error:
        under = f" under the reading {reading!r}" if reading else ""
        raise JudgeError(
            f"the judge of {claim.id} failed on {len(runs)} runs{under}: {type(error).__name__}: {error}"
        ) from error


def _decide(claim: Claim, runs: pd.DataFrame, reading: str, profile: str, alpha: float) -> Decision:
    """Return the decision under one reading; the judge gets a copy."""
    own = runs[runs[READING].isna() | (runs[READING] == reading)] if reading and READING in runs else runs
    call: Any = claim.judge
    if len(inspect.signature(call).parameters) == 2:
        old = call(own.drop(columns=CELL, errors="ignore"), profile)
        if not isinstance(old, Verdict):
            raise TypeError(f"a judge must return a Finding, got {type(old).__name__}")
        return Decision(old.verdict, "", "", old.measured, old.note)
    found = call(Runs(own.copy(), reading, profile))
    if not isinstance(found, Finding):
        raise TypeError(f"a judge must return a Finding, got {type(found).__name__}")
    seeds = claim.experiment.seeds
    return decide(found, seeds.level(profile, alpha) if seeds else alpha)


def verdict_table(judged: Iterable[Judged]) -> pd.DataFrame:
    """Return the verdicts as a frame, with one row for each claim."""
    import pandas as pd

    table = pd.DataFrame([_row(item) for item in judged], columns=list(COLUMNS))
    return table.astype({**_NUMBERS, "runs": "int64", "seeds": "int64", "seconds": "float64"})


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


def readings_table(judged: Iterable[Judged]) -> pd.DataFrame:
    """Return a frame with one row for each claim and reading of its paper."""
    import pandas as pd

    rows = [
        {
            "claim": item.claim.id,
            "paper": item.claim.paper,
            "reading": reading,
            "verdict": decision.verdict,
            "shape": decision.shape,
            "value": decision.value,
            "estimate": decision.estimate,
            "low": decision.low,
            "high": decision.high,
            "claimed": item.claim.claimed,
            "measured": decision.measured,
            "note": decision.note,
        }
        for item in judged
        for reading, decision in item.decisions.items()
    ]
    return pd.DataFrame(rows, columns=list(READINGS_COLUMNS)).astype(_NUMBERS)


def write_verdicts(judged: Iterable[Judged], folder: Path) -> None:
    """Write `verdicts` and `readings`, both as Parquet and as CSV."""
    judged = list(judged)
    for name, table in (("verdicts", verdict_table(judged)), ("readings", readings_table(judged))):
        table.to_parquet(folder / f"{name}.parquet", index=False)
        table.to_csv(folder / f"{name}.csv", index=False)


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
