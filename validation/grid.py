"""The rows of an experiment: its settings under a profile, and the seeds that each may get."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from .claim import Claim, Experiment

SEED = "seed"
READING = "reading"  # the parameter that says to which reading of the paper a run belongs


@dataclass(frozen=True)
class Run:
    """One row of an experiment: its setting's place in the grid, parameters as JSON, and cost."""

    experiment: str
    index: int
    params: str
    cost: float = 1.0

    @property
    def key(self) -> tuple[str, str]:
        """What makes it this run and no other."""
        return self.experiment, self.params


def to_json(value: Any) -> str:
    """Return canonical JSON: sorted keys, NumPy scalars and arrays as plain numbers and lists."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), default=_plain)


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{value!r} of type {type(value).__name__} is not a JSON value")


def experiments_of(claims: Iterable[Claim]) -> dict[str, Experiment]:
    """Return the experiments of the claims by name, each once."""
    experiments: dict[str, Experiment] = {}
    for claim in claims:
        known = experiments.setdefault(claim.experiment.name, claim.experiment)
        if known != claim.experiment:
            raise ValueError(f"two experiments are named {known.name!r}; the second is that of {claim.id}")
    return experiments


class Grid:
    """The settings of an experiment under a profile, and their runs.

    Parameters
    ----------
    experiment : Experiment
        Whose grid it is.
    profile : str
        ``quick`` or ``paper``.
    first_seed : int
        Is added to every seed, so that two validations can have no run in common.

    Examples
    --------
    >>> from streamlb.validation.claim import Experiment, Seeds
    >>> from streamlb.validation.grid import Grid
    >>> seeds = Seeds(quick=(2, 6), paper=(2, 9))
    >>> dice = Experiment("dice", lambda profile: [{"n": 1}, {"n": 2}], dict, seeds=seeds)
    >>> [run.params for run in Grid(dice, "quick", first_seed=10).runs([1, 2])]
    ['{"n":1,"seed":10}', '{"n":2,"seed":10}', '{"n":2,"seed":11}']
    """

    def __init__(self, experiment: Experiment, profile: str, first_seed: int = 0):
        self.experiment = experiment
        self.profile = profile
        self._seeds = experiment.seeds
        self._settings = [dict(setting) for setting in experiment.grid(profile)]
        self._start = first_seed + (self._seeds.start if self._seeds else 0)
        for setting in self._settings:
            if self._seeds and SEED in setting:
                raise ValueError(
                    f"experiment {experiment.name}: it has seeds, so its grid must not name any: {setting}"
                )
            if not self._seeds and isinstance(setting.get(SEED), int):
                setting[SEED] += first_seed
        self._known: dict[tuple[int, int], Run] = {}
        self._cells: dict[str, int] = {}
        for cell, setting in enumerate(self._settings):
            first = self._cells.setdefault(to_json(setting), cell)
            if first != cell:
                raise ValueError(
                    f"experiment {experiment.name}: rows {first} and {cell} are the same: {to_json(setting)}"
                )

    def __len__(self) -> int:
        return len(self._settings)

    @property
    def looks(self) -> list[int]:
        """The numbers of seeds at which claims are judged; where nothing is drawn, one run."""
        return self._seeds.looks(self.profile) if self._seeds else [1]

    def runs(self, counts: Sequence[int], have: Sequence[int] | None = None) -> list[Run]:
        """Return the runs of so many seeds for each setting, without those that it has already."""
        have = [0] * len(self) if have is None else have
        return [
            self._run(cell, number)
            for cell, (low, high) in enumerate(zip(have, counts, strict=True))
            for number in range(low, high)
        ]

    def first_runs(self) -> list[Run]:
        """Return the runs of the first look."""
        return self.runs([self.looks[0]] * len(self))

    def _run(self, cell: int, number: int) -> Run:
        known = self._known.get((cell, number))
        if known is None:
            row = self._settings[cell]
            if self._seeds:
                row = {**row, SEED: self._start + number}
            known = Run(self.experiment.name, cell, to_json(row), float(self.experiment.cost(row)))
            self._known[cell, number] = known
        return known

    def at_seed(self, seed: int) -> list[Run]:
        """Return the runs of every setting with this seed, for grids with seeds and without."""
        if self._seeds:
            return [
                Run(self.experiment.name, cell, to_json({**row, SEED: seed})) for cell, row in enumerate(self._settings)
            ]
        return [
            Run(self.experiment.name, cell, to_json(row))
            for cell, row in enumerate(self._settings)
            if row.get(SEED, seed) == seed
        ]

    def in_order(self, params: Iterable[str]) -> list[Run]:
        """Return the runs with these parameters by setting and seed, those of this grid only."""
        found = []
        for text in params:
            row = json.loads(text)
            seed = row.pop(SEED, 0) if self._seeds else 0
            cell = self._cells.get(to_json(row))
            if cell is not None:
                found.append((cell, seed, text))
        return [Run(self.experiment.name, cell, text) for cell, _, text in sorted(found)]

    def alike(self, cells: frozenset[int], but: str) -> frozenset[int]:
        """Return the settings that differ from some of these in one parameter at most."""
        groups: dict[str, list[int]] = {}
        names = [to_json({**row, but: None}) for row in self._settings]
        for cell, name in enumerate(names):
            groups.setdefault(name, []).append(cell)
        return frozenset(other for cell in cells for other in groups[names[cell]])
