"""What has changed since an earlier table of verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

WORDS = ("verdict", "shape", "value")


class BaselineError(ValueError):
    """A file cannot be read as a table of verdicts; the message says why."""


@dataclass(frozen=True)
class Change:
    """A claim whose words have changed, or which only one of two tables has.

    Examples
    --------
    >>> from streamlb.validation.baseline import Change
    >>> print(Change("DC-F1", {"verdict": ("reproduced", "in shape"), "value": ("holds", "fails")}))
    DC-F1: verdict reproduced -> in shape, value holds -> fails
    >>> print(Change("DC-F2", {"verdict": (None, "differs")}))
    DC-F2: new, differs
    """

    claim: str
    words: dict[str, tuple[str | None, str | None]]

    def __str__(self) -> str:
        before, after = self.words.get("verdict", ("", ""))
        if before is None:
            return f"{self.claim}: new, {after}"
        if after is None:
            return f"{self.claim}: missing, was {before}"
        return f"{self.claim}: " + ", ".join(
            f"{name} {old or 'not stated'} -> {new or 'not stated'}" for name, (old, new) in self.words.items()
        )


def read_baseline(path: str | Path) -> pd.DataFrame:
    """Return the verdicts of an earlier validation, from `verdicts.parquet` or `verdicts.csv`.

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
    lacking = [name for name in ("claim", "verdict") if name not in table]
    if lacking:
        raise BaselineError(f"the baseline {str(path)!r} is no table of verdicts: it has no column {lacking[0]!r}")
    twice = table["claim"][table["claim"].duplicated()]
    if len(twice):
        raise BaselineError(f"the baseline {str(path)!r} has {twice.iloc[0]!r} twice")
    return table


def changes(before: pd.DataFrame, after: pd.DataFrame) -> list[Change]:
    """Return what differs between two tables of verdicts, in the order of the claims.

    Words that only one of the tables has a column for are not compared.
    """
    words = [name for name in WORDS if name in before and name in after]
    old, new = (dict(zip(table["claim"].astype(str), table[words].to_dict("records"))) for table in (before, after))
    found = []
    for claim in [*new, *(claim for claim in old if claim not in new)]:
        if claim not in old:
            found.append(Change(claim, {"verdict": (None, new[claim]["verdict"])}))
        elif claim not in new:
            found.append(Change(claim, {"verdict": (old[claim]["verdict"], None)}))
        else:
            pairs = {name: (old[claim][name], new[claim][name]) for name in words}
            differing = {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
            if differing:
                found.append(Change(claim, differing))
    return found
