"""Judging: each claim's runs go to its judge; the verdicts become a table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .claim import DIFFERS, NOT_APPLICABLE, REPRODUCED, Claim, Verdict

if TYPE_CHECKING:
    import pandas as pd

VERDICTS = (REPRODUCED, DIFFERS, NOT_APPLICABLE)
PAPERS = ("POSG", "LAS", "DC", "CG", "PIPE", "OWN")
COLUMNS = ("claim", "paper", "kind", "verdict", "measured", "claimed", "criterion", "runs", "seconds", "note")


class JudgeError(RuntimeError):
    """A judge or a figure failed; the message names the claim."""


@dataclass(frozen=True)
class Judged:
    """A claim, its verdict, and the runs that it rests on, with the seconds that they took."""

    claim: Claim
    verdict: Verdict
    runs: pd.DataFrame
    seconds: float


def judge(claim: Claim, runs: pd.DataFrame, profile: str, seconds: float) -> Judged:
    """Judge a claim on its runs; a copy, so that no judge can change what another sees."""
    try:
        verdict = claim.judge(runs.copy(), profile)
    except Exception as error:
        raise JudgeError(
            f"the judge of {claim.id} failed on {len(runs)} runs: {type(error).__name__}: {error}"
        ) from error
    if not isinstance(verdict, Verdict):
        raise JudgeError(f"the judge of {claim.id} must return a Verdict, got {type(verdict).__name__}")
    return Judged(claim, verdict, runs, seconds)


def verdict_table(judged: Iterable[Judged]) -> pd.DataFrame:
    """Return the verdicts as a frame, with one row for each claim."""
    import pandas as pd

    rows = [
        (
            item.claim.id,
            item.claim.paper,
            item.claim.kind,
            item.verdict.verdict,
            item.verdict.measured,
            item.claim.claimed,
            item.claim.criterion,
            len(item.runs),
            round(item.seconds, 3),
            item.verdict.note,
        )
        for item in judged
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


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
