"""The runs on disk: `results/<experiment>.parquet`, and what an interrupted run has left.

Finished jobs are written at once to `results/.unfinished/`, each as a whole file; at the end they
are gathered into one file for each experiment, with one row for each run, and parameters and
results as columns. The columns `params_json` and `result_json` hold the same without loss: they
are what `--resume` reads.
"""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .engine import Outcome
from .grid import Grid, Run, to_json
from .judging.samples import CELL

if TYPE_CHECKING:
    import pandas as pd

_RAW = ("experiment", "index", "params", "result", "seconds")


class Results:
    """The runs of one output folder.

    Parameters
    ----------
    folder : path
        The folder `results`; it is made if need be.
    resume : bool
        Whether to take up what is there; if not, what an interrupted run has left is removed.
    say : callable, optional
        Is told of each damaged file in a line; its runs count as not there.
    """

    def __init__(self, folder: str | Path, *, resume: bool = False, say: Callable[[str], None] | None = None):
        self._folder = Path(folder)
        self._unfinished = self._folder / ".unfinished"
        self._outcomes: dict[tuple[str, str], Outcome] = {}
        if resume:
            self._load(say)
        else:
            shutil.rmtree(self._unfinished, ignore_errors=True)
        self._unfinished.mkdir(parents=True, exist_ok=True)

    def _load(self, say: Callable[[str], None] | None) -> None:
        for read, folder in ((_finished, self._folder), (_unfinished, self._unfinished)):
            for path in sorted(folder.glob("*.parquet")):
                try:
                    outcomes = list(read(path))
                # pyarrow has many errors, and what is in a damaged file may be anything.
                except Exception as error:
                    if say is not None:
                        reason = (str(error).splitlines() or [type(error).__name__])[0]
                        say(f"{path} is damaged ({reason}): its runs are measured again")
                    continue
                for outcome in outcomes:
                    self._add(outcome)

    def _add(self, outcome: Outcome) -> None:
        self._outcomes[outcome.experiment, outcome.params] = outcome

    def keep(self, outcomes: list[Outcome]) -> None:
        """Write the outcomes of a finished job."""
        import pyarrow as pa

        for outcome in outcomes:
            self._add(outcome)
        if outcomes:
            columns = {name: [getattr(outcome, name) for outcome in outcomes] for name in _RAW}
            _write(pa.table(columns), self._unfinished / f"{uuid.uuid4().hex}.parquet")

    def known(self) -> set[tuple[str, str]]:
        """Return the keys of the runs that are there."""
        return set(self._outcomes)

    def missing(self, runs: list[Run]) -> list[Run]:
        """Return the runs that are not there yet."""
        return [run for run in runs if run.key not in self._outcomes]

    def seconds(self, runs: list[Run]) -> float:
        """Return the time that the runs took in all."""
        return sum(self._outcomes[run.key].seconds for run in runs)

    def frame(self, runs: list[Run]) -> pd.DataFrame:
        """Return the runs as judges see them, in the order given, with their settings' places."""
        import pandas as pd

        return pd.DataFrame([{**self._row(run), CELL: run.index} for run in runs])

    def _row(self, run: Run) -> dict[str, Any]:
        return {**json.loads(run.params), **json.loads(self._outcomes[run.key].result)}

    def finish(self, grids: Iterable[Grid]) -> None:
        """Write one file for each experiment and remove the unfinished ones.

        It holds every run that belongs to the grid, by setting and seed: also those that an earlier
        validation has measured for other claims or with other seeds, which `--resume` may need.
        """
        import pyarrow as pa

        by_experiment: dict[str, list[str]] = {}
        for name, params in self._outcomes:
            by_experiment.setdefault(name, []).append(params)
        for grid in grids:
            name = grid.experiment.name
            own = grid.in_order(by_experiment.get(name, []))
            if not own:
                continue
            rows = [self._row(run) for run in own]
            outcomes = [self._outcomes[run.key] for run in own]
            columns = {
                column: _column([row.get(column) for row in rows])
                for column in dict.fromkeys(c for r in rows for c in r)
            }
            columns["run_seconds"] = pa.array([outcome.seconds for outcome in outcomes], pa.float64())
            columns["params_json"] = pa.array([outcome.params for outcome in outcomes], pa.string())
            columns["result_json"] = pa.array([outcome.result for outcome in outcomes], pa.string())
            _write(pa.table(columns), self._folder / f"{name}.parquet")
        shutil.rmtree(self._unfinished, ignore_errors=True)


def _finished(path: Path) -> Iterable[Outcome]:
    """Read the file of an experiment; nothing from a file that is not one of ours."""
    import pyarrow.parquet as pq

    columns = ["params_json", "result_json", "run_seconds"]
    if not {*columns} <= {*pq.read_schema(path).names}:
        return []
    rows = pq.read_table(path, columns=columns).to_pylist()
    return [_checked(Outcome(path.stem, 0, *(row[name] for name in columns))) for row in rows]


def _unfinished(path: Path) -> Iterable[Outcome]:
    """Read what a finished job of an interrupted run has left."""
    import pyarrow.parquet as pq

    return [_checked(Outcome(**row)) for row in pq.read_table(path).to_pylist()]


def _checked(outcome: Outcome) -> Outcome:
    """Return an outcome that can be used: JSON objects, and a number of seconds."""
    for name in ("params", "result"):
        if not isinstance(json.loads(getattr(outcome, name)), dict):
            raise ValueError(f"{name} must be a JSON object, got {getattr(outcome, name)!r}")
    if not isinstance(outcome.seconds, float):
        raise ValueError(f"seconds must be a number, got {outcome.seconds!r}")
    return outcome


def _column(values: list[Any]) -> Any:
    """Return an Arrow column; one of mixed types, which Arrow does not hold, as JSON text."""
    import pyarrow as pa

    if {type(value) for value in values if value is not None} == {int, float}:
        values = [None if value is None else float(value) for value in values]
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return pa.array([None if value is None else to_json(value) for value in values], pa.string())


def _write(table: Any, path: Path) -> None:
    """Write a Parquet file whole or not at all."""
    import pyarrow.parquet as pq

    draft = path.with_name(f".{path.name}.{os.getpid()}")
    pq.write_table(table, draft)
    os.replace(draft, path)
