"""What has changed since an earlier table of verdicts."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .verdicts import Judged, readings_table, verdict_table

if TYPE_CHECKING:
    import pandas as pd

WORDS = ("verdict", "shape", "value", "holds_under")
_NAMES = {"holds_under": "holds under"}


class BaselineError(ValueError):
    """A file cannot be read as a table of verdicts; the message says why."""


@dataclass(frozen=True)
class Change:
    """A claim whose words have changed, or which only one of two tables has.

    `reading` is empty for the headline, and else the reading under which the words have changed.

    Examples
    --------
    >>> from streamlb.validation.baseline import Change
    >>> print(Change("DC-F1", {"verdict": ("reproduced", "in shape"), "value": ("holds", "fails")}))
    DC-F1: verdict reproduced -> in shape, value holds -> fails
    >>> print(Change("DC-F2", {"verdict": (None, "differs")}))
    DC-F2: new, differs
    >>> print(Change("DC-F1", {"verdict": ("differs", "in shape")}, "the letter"))
    DC-F1 under the reading 'the letter': verdict differs -> in shape
    """

    claim: str
    words: dict[str, tuple[str | None, str | None]]
    reading: str = ""

    def __str__(self) -> str:
        name = f"{self.claim} under the reading {self.reading!r}" if self.reading else self.claim
        before, after = self.words.get("verdict", ("", ""))
        if before is None:
            return f"{name}: new, {after}"
        if after is None:
            return f"{name}: missing, was {before}"
        return f"{name}: " + ", ".join(_step(*item) for item in self.words.items())


def _step(name: str, words: tuple[str | None, str | None]) -> str:
    nothing = "no reading" if name == "holds_under" else "not stated"
    old, new = (word or nothing for word in words)
    return f"{_NAMES.get(name, name)} {old} -> {new}"


class Baseline:
    """An earlier validation: its verdicts, and its decisions under all readings if they are there.

    Parameters
    ----------
    path : path
        Its table of verdicts. A table of readings beside it (`readings.parquet` beside a Parquet
        file, `readings.csv` beside a CSV file) is compared too.

    Raises
    ------
    BaselineError
        When a file is missing or holds no such table.
    """

    def __init__(self, path: str | Path):
        file = Path(path)
        self._verdicts = read_baseline(file)
        beside = file.with_name(f"readings{file.suffix}")
        self._readings = read_baseline(beside, by=("claim", "reading")) if beside.is_file() else None

    def changes(self, judged: Sequence[Judged], patterns: str | None = None) -> list[Change]:
        """Return what has changed in the claims that a list of patterns names; None names all."""
        found = changes(chosen_from(self._verdicts, patterns), verdict_table(judged))
        if self._readings is not None:
            found += reading_changes(chosen_from(self._readings, patterns), readings_table(judged))
        return found


def chosen_from(table: pd.DataFrame, patterns: str | None) -> pd.DataFrame:
    """Return the rows of a table of verdicts whose claims a list of patterns names."""
    if patterns is None:
        return table
    wanted = [pattern.strip().upper() for pattern in patterns.split(",")]
    mask = [any(fnmatch.fnmatchcase(str(name).upper(), pattern) for pattern in wanted) for name in table["claim"]]
    return table[mask]


def read_baseline(path: str | Path, by: Sequence[str] = ("claim",)) -> pd.DataFrame:
    """Return the verdicts of an earlier validation, from `verdicts.parquet` or `verdicts.csv`.

    `by` are the columns that no two rows may share.

    Raises
    ------
    BaselineError
        When the file is missing or holds no verdicts.
    """
    import pandas as pd

    file = Path(path)
    if not file.is_file():
        raise BaselineError(f"the baseline {str(path)!r} is not there")
    try:
        if file.suffix == ".csv":
            table = pd.read_csv(file, keep_default_na=False)
        else:
            table = pd.read_parquet(file)
    except Exception as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise BaselineError(f"the baseline {str(path)!r} cannot be read as a table of verdicts: {reason}") from error
    lacking = [name for name in (*by, "verdict") if name not in table]
    if lacking:
        raise BaselineError(f"the baseline {str(path)!r} is no table of verdicts: it has no column {lacking[0]!r}")
    # Files that were written elsewhere have nulls where ours have empty texts.
    words = [name for name in (*by, *WORDS) if name in table]
    table[words] = table[words].astype(object).where(table[words].notna(), "").astype(str)
    twice = table.loc[table.duplicated([*by]), "claim"]
    if len(twice):
        raise BaselineError(f"the baseline {str(path)!r} has {twice.iloc[0]!r} twice")
    return table


def changes(before: pd.DataFrame, after: pd.DataFrame) -> list[Change]:
    """Return what differs between two tables of verdicts, in the order of the claims.

    Words that only one of the tables has a column for are not compared.
    """
    return _changes(before.assign(reading=""), after.assign(reading=""))


def reading_changes(before: pd.DataFrame, after: pd.DataFrame) -> list[Change]:
    """Return what differs between two tables of readings where both tables have the claim.

    The default reading of a claim, its first, makes the headline, which `changes` compares.
    """
    shared = {*before["claim"]} & {*after["claim"]}
    default = {*after.drop_duplicates("claim")[["claim", "reading"]].itertuples(index=False, name=None)}
    old, new = (
        table[
            [
                row[0] in shared and row not in default
                for row in table[["claim", "reading"]].itertuples(index=False, name=None)
            ]
        ]
        for table in (before, after)
    )
    return _changes(old, new)


def _changes(before: pd.DataFrame, after: pd.DataFrame) -> list[Change]:
    words = [name for name in WORDS if name in before and name in after]
    old, new = (
        dict(zip(zip(table["claim"], table["reading"]), table[words].to_dict("records"))) for table in (before, after)
    )
    found = []
    for key in [*new, *(key for key in old if key not in new)]:
        claim, reading = key
        if key not in old:
            found.append(Change(claim, {"verdict": (None, new[key]["verdict"])}, reading))
        elif key not in new:
            found.append(Change(claim, {"verdict": (old[key]["verdict"], None)}, reading))
        else:
            pairs = {name: (old[key][name], new[key][name]) for name in words}
            differing = {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
            if differing:
                found.append(Change(claim, differing, reading))
    return found
