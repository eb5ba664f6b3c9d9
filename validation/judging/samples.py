"""The runs as judges see them: one number for each seed, paired by the seed.

Seeds are the independent replicates. Whatever a judge averages over (several settings, several
numbers of workers) is averaged within each seed first, so that an interval over seeds is right
also where the settings share their streams.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

CELL = "_cell"  # the column that says which setting of the grid a run belongs to


@dataclass(frozen=True)
class Sample:
    """One number for each seed, and the settings that they come from.

    `scale` is how large the numbers are from which the sample was made: a difference of two samples
    that are the same keeps theirs.

    Arithmetic pairs two samples by their seeds: what only one of them has is left out.

    Examples
    --------
    >>> from streamlb.validation.judging import Sample
    >>> plain, ours = Sample([0, 1, 2], [4.0, 6.0, 5.0]), Sample([0, 1], [2.0, 3.0])
    >>> (plain / ours).values.tolist()
    [2.0, 2.0]
    """

    seeds: Any
    values: Any
    cells: frozenset[int] = frozenset()
    name: str = ""
    scale: float = -1.0  # below 0: that of the values

    def __post_init__(self):
        seeds = np.asarray(self.seeds, dtype=np.int64)
        values = np.asarray(self.values, dtype=np.float64)
        if seeds.shape != values.shape or seeds.ndim != 1:
            raise ValueError(f"a sample needs one value for each seed, got {values.shape} for {seeds.shape}")
        if np.unique(seeds).size != seeds.size:
            raise ValueError(f"the seeds of a sample must differ, got {seeds.tolist()}")
        if not np.isfinite(values).all():
            at = int(np.argmin(np.isfinite(values)))
            raise ValueError(f"{self.name or 'a sample'} must be finite, got {values[at]} for seed {seeds[at]}")
        order = np.argsort(seeds, kind="stable")
        object.__setattr__(self, "seeds", seeds[order])
        object.__setattr__(self, "values", values[order])
        if self.scale < 0:
            object.__setattr__(self, "scale", float(np.abs(values).max(initial=0.0)))

    def __len__(self) -> int:
        return self.values.size

    def map(self, function: Callable[[np.ndarray], Any]) -> Sample:
        """Return the sample of ``function(values)``, applied to all at once."""
        return replace(self, values=function(self.values), scale=-1.0)

    def _with(self, other: Any, operation: Callable[[Any, Any], Any], swapped: bool = False) -> Sample:
        if isinstance(other, Sample):
            if np.array_equal(self.seeds, other.seeds):
                seeds, mine, theirs = self.seeds, self.values, other.values
            else:
                seeds, at, there = np.intersect1d(self.seeds, other.seeds, return_indices=True)
                mine, theirs = self.values[at], other.values[there]
            cells, scales = self.cells | other.cells, (self.scale, other.scale)
        else:
            seeds, mine, theirs, cells = self.seeds, self.values, float(other), self.cells
            scales = (self.scale, abs(theirs))
        with np.errstate(divide="ignore", invalid="ignore"):
            values = operation(theirs, mine) if swapped else operation(mine, theirs)
        scale = max(scales) if operation in (operator.add, operator.sub) else -1.0
        return Sample(seeds, values, cells, self.name, scale)

    def __add__(self, other: Any) -> Sample:
        return self._with(other, operator.add)

    def __sub__(self, other: Any) -> Sample:
        return self._with(other, operator.sub)

    def __mul__(self, other: Any) -> Sample:
        return self._with(other, operator.mul)

    def __truediv__(self, other: Any) -> Sample:
        return self._with(other, operator.truediv)

    def __radd__(self, other: Any) -> Sample:
        return self._with(other, operator.add, swapped=True)

    def __rsub__(self, other: Any) -> Sample:
        return self._with(other, operator.sub, swapped=True)

    def __rmul__(self, other: Any) -> Sample:
        return self._with(other, operator.mul, swapped=True)

    def __rtruediv__(self, other: Any) -> Sample:
        return self._with(other, operator.truediv, swapped=True)


@dataclass(frozen=True)
class Runs:
    """The runs of a claim under one reading, as its judge sees them.

    `frame` has one row for each run, with parameters and results as columns; `reading` is the name
    of the reading that is judged, and `profile` the profile of the runs.

    Examples
    --------
    >>> import pandas as pd
    >>> from streamlb.validation.judging import Runs
    >>> columns = {"n": [5, 5, 9, 9], "seed": [0, 1, 0, 1], "load": [1.0, 3.0, 5.0, 5.0]}
    >>> frame = pd.DataFrame(columns)
    >>> Runs(frame).where(n=5)["load"].values.tolist()
    [1.0, 3.0]
    >>> Runs(frame)["load"].values.tolist()  # averaged over n, seed by seed
    [3.0, 4.0]
    >>> {n: part["load"].values.tolist() for n, part in Runs(frame).by("n")}
    {5: [1.0, 3.0], 9: [5.0, 5.0]}
    """

    frame: pd.DataFrame
    reading: str = ""
    profile: str = "quick"

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def cells(self) -> frozenset[int]:
        """The settings that these runs belong to."""
        return frozenset(self.frame[CELL].unique().tolist()) if CELL in self.frame else frozenset()

    def where(self, condition: Any = None, **values: Any) -> Runs:
        """Return the runs that fulfil a condition (a mask) and have these parameters.

        A tuple or list as value stands for any of its members. Raises ValueError if none is left:
        a judge that looks at nothing would accept everything.
        """
        frame = self.frame if condition is None else self.frame[np.asarray(condition, dtype=bool)]
        for name, value in values.items():
            if name not in frame:
                raise ValueError(f"where: the runs have no column {name!r}; they have {', '.join(map(str, frame))}")
            frame = frame[frame[name].isin(value) if isinstance(value, (tuple, list)) else frame[name] == value]
        if frame.empty:
            asked = ", ".join(f"{name} = {value!r}" for name, value in values.items()) or "the condition"
            raise ValueError(f"where: no run has {asked}")
        return replace(self, frame=frame)

    def by(self, *names: str) -> Iterator[tuple[Any, Runs]]:
        """Yield (value, its runs) in increasing order; tuples of values for several names."""
        for value, part in self.frame.groupby(list(names) if len(names) > 1 else names[0], sort=True):
            yield value, replace(self, frame=part)

    def values_of(self, name: str) -> list[Any]:
        """Return the different values of a parameter in increasing order."""
        return sorted(self.frame[name].dropna().unique().tolist())

    def sample(self, column: str | Any, name: str = "") -> Sample:
        """Return a column, or a series computed from columns, as one number for each seed.

        Runs of one seed are averaged. Runs without a seed are replicates of their own.
        """
        series = self.frame[column] if isinstance(column, str) else column
        values = np.asarray(series, dtype=np.float64)
        name = name or (column if isinstance(column, str) else "")
        if "seed" not in self.frame:
            return Sample(np.arange(values.size), values, self.cells, name)
        seeds, place = np.unique(np.asarray(self.frame["seed"], dtype=np.int64), return_inverse=True)
        counts = np.bincount(place)
        settings = counts.max(initial=0)
        means = np.bincount(place, weights=values) / counts
        # Where one setting has more seeds than another, only those that all have are comparable.
        whole = counts == settings
        return Sample(seeds[whole], means[whole], self.cells, name)

    def __getitem__(self, column: str) -> Sample:
        return self.sample(column)
