"""What must be true of every claim, whatever its paper.

A judge is fed runs that nobody measured. A table with one `Fed` for each claim says what the runs
look like where the claim is plainly true and where it is plainly false, and `check_judge` asks for
the right verdict on both, on the true ones drowned in noise, and for a text that changes::

    FED = {
        "DC-I1": Fed(true={"p1": 0.6}, false={"p1": 0.5}),
        "DC-P1": Fed(
            true={"p1": 0.6, "pkg": lambda row: 0.4 - 1 / row.n},  # of the parameters, or `rng`
            false={"pkg": 0.0},  # the other columns are as in `true`
            noise={"pkg": 1.0},
        ),
        "DC-F5m": Fed(true={"dc": 5}, false={"dc": 6}, verdict="reported"),
    }


    def test_every_judge_is_fed():
        check_all_are_fed(FED, CLAIMS)


    @pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
    def test_judges_tell_true_from_false(claim):
        check_judge(claim, FED[claim.id])

`judge_and_draw` judges a claim on real runs and draws its figure; `few_rows` gives their rows.
"""

import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from streamlb.validation.engine import to_json
from streamlb.validation.judging import DIFFERS, IN_SHAPE, NOT_APPLICABLE, REPORTED, REPRODUCED, UNDECIDED, VERDICTS
from streamlb.validation.judging.samples import CELL
from streamlb.validation.verdicts import judge

MANY, FEW = 40, 4  # seeds where all is plain, and in noise
JITTER = 1e-4  # relative, of floats where all is plain: no interval has a width of 0
Columns = Mapping[str, Any]


@dataclass(frozen=True)
class Fed:
    """What a judge is fed.

    Parameters
    ----------
    true : mapping
        Column to value where the claim is plainly true. A value is a constant or a function of a
        namespace with the row's parameters, its seed, and `rng`, a generator of its own.
    false : mapping, or a list of mappings
        The columns that differ where it is plainly false. With several, each makes it false by
        itself, as with one for the shape and one for the value.
    verdict : str
        What is asked for on the true runs: ``"reproduced"``. Or ``"reported"`` or ``"not
        applicable"``, which are asked for on the false runs too: these are then another input.
    noise : mapping, optional
        Column to the size of the noise, where a typical size of the column itself is too small to
        drown the claim in. Whole numbers are left alone unless they are named here. None: no noise,
        for a judge that counts without error.
    rows : list, optional
        The settings, where those of the experiment's quick grid will not do.
    seeds : int
        How many seeds there are where all is plain: a share of nine in ten takes more to be seen.
    """

    true: Columns
    false: Columns | Sequence[Columns]
    verdict: str = REPRODUCED
    noise: Mapping[str, float] | None = field(default_factory=dict)
    rows: list[dict[str, Any]] | None = None
    seeds: int = MANY


def check_all_are_fed(fed: Mapping[str, Fed], claims: Sequence[Any]) -> None:
    """Every claim has its `Fed`, and nothing else has."""
    assert sorted(fed) == sorted(claim.id for claim in claims)


def check_judge(claim: Any, fed: Fed) -> None:
    """Feed a judge true, false and noisy runs, and ask for the right words."""
    spoken = fed.verdict not in (REPORTED, NOT_APPLICABLE)
    true = _decide(claim, fed, {})
    assert true.verdict == fed.verdict, f"{claim.id}, true: {true}"
    texts = {true.measured}
    falses = [fed.false] if isinstance(fed.false, Mapping) else fed.false
    for false in falses:
        found = _decide(claim, fed, false)
        allowed = (DIFFERS, IN_SHAPE) if spoken else (fed.verdict,)
        assert found.verdict in allowed, f"{claim.id}, false by {sorted(false)}: {found}"
        texts.add(found.measured)
    assert len(texts) == 1 + len(falses), f"{claim.id}: the same text for different runs: {texts}"
    if spoken and fed.noise is not None and claim.experiment.seeds is not None:
        noisy = _decide(claim, fed, {}, noisy=True)
        assert noisy.verdict == UNDECIDED, f"{claim.id}, in noise: {noisy}"
        assert noisy.measured not in texts, f"{claim.id}: the text in noise is that without"


def _decide(claim: Any, fed: Fed, changed: Columns, noisy: bool = False) -> Any:
    runs = fed_runs(claim, fed, changed, noisy)
    decisions = judge(claim, runs, "quick", 0.0).decisions
    assert all(decision.verdict in VERDICTS and decision.measured for decision in decisions.values())
    return decisions[claim.readings[0]]


def fed_runs(claim: Any, fed: Fed, changed: Columns, noisy: bool = False) -> pd.DataFrame:
    """Return made-up runs of the claim's experiment, with columns `changed` from the true ones."""
    rng = np.random.default_rng(zlib.crc32(claim.id.encode()))
    experiment, columns = claim.experiment, {**fed.true, **changed}
    settings = fed.rows if fed.rows is not None else experiment.grid("quick")
    seeds = [{}] if experiment.seeds is None else [{"seed": seed} for seed in range(FEW if noisy else fed.seeds)]
    runs = []
    for seed in seeds:
        common = {name: rng.exponential() for name in columns}
        for cell, setting in enumerate(settings):
            row = {**setting, **seed}
            run = SimpleNamespace(**row, rng=rng)
            result = {name: value(run) if callable(value) else value for name, value in columns.items()}
            for name, value in result.items():
                if noisy and not isinstance(value, (bool, str)):
                    size = (fed.noise or {}).get(name)
                    result[name] = _drown(value, size, common[name], rng)
                elif seed:
                    result[name] = _each(value, lambda x: x * (1 + JITTER * rng.standard_normal()))
            runs.append({**row, **json.loads(to_json(result)), CELL: cell})
    return pd.DataFrame(runs)


def _drown(value: Any, size: float | None, common: float, rng: np.random.Generator) -> Any:
    """Return a value, or each of a list, in noise that no order of its size survives.

    Part of the noise is common to all settings of a seed, so that averages do not remove it. It is
    of one sign, because many results cannot be negative, and four seeds of it say nothing.
    """
    if size is not None:
        return _each(value, lambda x: x + size * common * rng.exponential(), whole=True)
    return _each(value, lambda x: x * common * rng.exponential())


def _each(value: Any, change: Callable[[float], float], whole: bool = False) -> Any:
    if isinstance(value, (list, tuple, np.ndarray)):
        return [_each(item, change, whole) for item in value]
    if isinstance(value, (bool, np.bool_)) or value is None:
        return value
    kinds = (float, np.floating, int, np.integer) if whole else (float, np.floating)
    return change(float(value)) if isinstance(value, kinds) else value


def few_rows(experiment: Any, seeds: int = 2, profile: str = "quick") -> list[dict[str, Any]]:
    """Return an experiment's grid with its first few seeds."""
    if experiment.seeds is None:
        return experiment.grid(profile)
    numbers = range(experiment.seeds.start, experiment.seeds.start + seeds)
    return [{**setting, "seed": seed} for setting in experiment.grid(profile) for seed in numbers]


def judge_and_draw(claim, runs):
    """Judge a claim on real runs and draw its figure, if it has one; return the decision."""
    judged = judge(claim, runs.copy(), "quick", 0.0)
    for decision in judged.decisions.values():
        assert decision.verdict in VERDICTS
        assert decision.measured
    if claim.figure is not None:
        figure = claim.figure(runs.copy(), "quick")
        assert isinstance(figure, Figure)
        assert figure.get_suptitle() or figure.axes[0].get_title()
        assert any(axes.get_xlabel() for axes in figure.axes)
        assert all(axes.get_ylabel() for axes in figure.axes if _is_first_of_its_row(axes))
        figure.canvas.draw()
    return judged.verdict


def _is_first_of_its_row(axes):
    place = axes.get_subplotspec()
    return place is None or place.is_first_col()
