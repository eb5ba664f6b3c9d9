"""One seed of a claim, measured here and printed: `streamlb validate --claim ID --show`."""

from __future__ import annotations

import json
import math
import shutil
import textwrap
import time
from collections.abc import Iterator
from typing import Any

from .claim import Claim
from .engine import measured
from .grid import Grid, Run
from .judging import Decision
from .judging.samples import CELL
from .verdicts import JudgeError, decide_reading

_LONGEST = 24  # characters of a value in the table


class NothingToShowError(ValueError):
    """A claim has no run with the seed or the setting that was asked for."""


class MeasureError(RuntimeError):
    """A measure failed; the message names the claim and the row."""


def show(claim: Claim, seed: int | None = None, setting: int | None = None, profile: str = "quick") -> Iterator[str]:
    """Measure a claim's runs of one seed in this process, and yield lines about each and the judge.

    Parameters
    ----------
    claim : Claim
        What is shown.
    seed : int, optional
        The seed of the runs; the first one if None.
    setting : int, optional
        The place of one setting in the grid; all settings if None.
    profile : str
        The profile of the grid.

    Raises
    ------
    NothingToShowError
        When there is no such run; before anything is measured.
    MeasureError
        When a run fails.
    JudgeError
        When the judge fails though all settings are there; after everything has been shown. That
        it cannot do with some of them is no error.
    """
    import pandas as pd

    grid = Grid(claim.experiment, profile)
    asked = seed
    if seed is None:
        seed = int(json.loads(grid.first_runs()[0].params).get("seed", 0))
    if setting is not None and not 0 <= setting < len(grid):
        raise NothingToShowError(f"setting must be 0 to {len(grid) - 1} for {claim.id}, got {setting}")
    runs = [run for run in grid.at_seed(seed) if setting is None or run.index == setting]
    if not runs:
        raise NothingToShowError(f"{claim.id} has no run with seed {seed} in the {profile} profile")
    width = max(60, min(shutil.get_terminal_size((100, 24)).columns, 140))
    yield f"{claim.id}: {claim.where}"
    for name, text in (("statement", claim.statement), ("claimed", claim.claimed), ("criterion", claim.criterion)):
        yield _field(name, text, width)
    if asked is not None and not any("seed" in json.loads(run.params) for run in runs):
        yield _field("seed", f"nothing is drawn for this claim, so that the seed {asked} changes nothing", width)
    yield ""
    rows, seconds = [], []
    for run in runs:
        begun = time.perf_counter()
        try:
            result = measured(claim.experiment, run.params)
        except Exception as error:
            raise MeasureError(
                f"the measure of {claim.id} failed in setting {run.index} {run.params}: {type(error).__name__}: {error}"
            ) from error
        rows.append({**json.loads(run.params), **json.loads(result), CELL: run.index})
        seconds.append(time.perf_counter() - begun)
    yield from _table(runs, rows, seconds, width)
    frame = pd.DataFrame(rows)
    failed: JudgeError | None = None
    for reading in claim.readings:
        yield f"The judge{f', reading {reading}' if reading else ''}, on these runs:"
        try:
            decision = decide_reading(claim, frame, reading, profile)
        except JudgeError as error:
            yield _field("error", f"{type(error.__cause__).__name__}: {error.__cause__}", width)
            failed = failed or error
            continue
        yield from (_field(name, text, width) for name, text in _words(decision))
    if failed is not None and len(runs) == len(grid):
        raise failed


def _words(decision: Decision) -> Iterator[tuple[str, str]]:
    yield "measured", decision.measured
    yield "verdict", decision.verdict
    for name in ("shape", "value", "note"):
        if getattr(decision, name):
            yield name, getattr(decision, name)
    if not math.isnan(decision.estimate):
        ends = f" ({decision.low:.6g} to {decision.high:.6g})"
        yield "estimate", f"{decision.estimate:.6g}{ends}{f', {decision.label}' if decision.label else ''}"


def _field(name: str, text: str, width: int) -> str:
    return textwrap.fill(text, width, initial_indent=f"  {name:<10} ", subsequent_indent=" " * 13)


def _table(runs: list[Run], rows: list[dict[str, Any]], seconds: list[float], width: int) -> Iterator[str]:
    """Yield the runs side by side, parameters above results, as many as the width holds."""
    parameters = list(dict.fromkeys(name for run in runs for name in json.loads(run.params)))
    results = [name for name in dict.fromkeys(n for row in rows for n in row) if name not in (*parameters, CELL)]
    names = [*parameters, *results]
    stub = max(map(len, [*names, "setting", "seconds"])) + 2
    columns = [
        [str(row[CELL]), *(_value(row.get(name)) for name in names), f"{spent:.3f}"]
        for row, spent in zip(rows, seconds)
    ]
    while columns:
        taken, total = 0, stub
        while taken < len(columns) and (not taken or total + _width(columns[taken]) <= width):
            total += _width(columns[taken])
            taken += 1
        block, columns = columns[:taken], columns[taken:]
        for number, name in enumerate(["setting", *names, "seconds"]):
            yield f"{name:<{stub}}" + "".join(f"{column[number]:>{_width(column)}}" for column in block)
            if number in (0, len(parameters)):
                yield "-" * (stub + sum(map(_width, block)))
        yield ""


def _width(column: list[str]) -> int:
    return max(map(len, column)) + 2


def _value(value: Any) -> str:
    """Return a value in a few characters; a list with its length."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.6g}"
    text = json.dumps(value) if isinstance(value, (list, dict)) else str(value)
    if len(text) <= _LONGEST:
        return text
    size = f" ({len(value)})" if isinstance(value, (list, dict)) else ""
    return f"{text[: _LONGEST - 3 - len(size)]}...{size}"
