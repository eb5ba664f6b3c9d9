"""Courses of seeds: what a claim is judged on, whatever else is measured and in whatever order."""

import itertools
import json
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlb.validation.claim import Claim, Experiment, Seeds
from streamlb.validation.grid import Grid
from streamlb.validation.judging import UNDECIDED, Decision, all_of, at_least, exact, finding, less, mean
from streamlb.validation.judging.samples import CELL
from streamlb.validation.sequential import Course, Courses
from streamlb.validation.verdicts import decide_reading

SEEDS = Seeds(quick=(4, 20), paper=(10, 100))
LOOKS = [4, 6, 9, 14, 20]


def grid_of(settings, seeds=SEEDS, name="synthetic", first_seed=0):
    return Grid(Experiment(name, lambda profile: settings, dict, seeds=seeds), "quick", first_seed)


def claim_of(grid, judge, name="OWN-1", readings=("",)):
    return Claim(name, "OWN", "b", "here", "s", "c", "k", grid.experiment, judge, readings=readings)


def undecided(cells):
    return Decision(UNDECIDED, "", UNDECIDED, "m", "", cells=None if cells is None else frozenset(cells))


DECIDED = Decision("reproduced", "", "holds", "m", "")


def noise(row, scale=1.0):
    """Return a number that depends on the row alone."""
    return scale * np.random.default_rng([row["seed"], row["n"]]).standard_normal()


class World:
    """Measures rows as they are asked for, in an order of its own, in batches of its own size."""

    def __init__(self, measure, rng=None, batch=1):
        self.measure, self.rng, self.batch = measure, rng, batch
        self.rows, self.measured = {}, []

    def frame(self, course):
        return pd.DataFrame([{**json.loads(run.params), **self.rows[run.key], CELL: run.index} for run in course.runs])

    def run(self, courses, known=()):
        waiting = courses.start(known)
        while waiting:
            if self.rng is not None:
                self.rng.shuffle(waiting)
            batch, waiting = waiting[: self.batch], waiting[self.batch :]
            for run in batch:
                assert run.key not in self.rows, "measured twice"
                self.rows[run.key] = self.measure(json.loads(run.params))
                self.measured.append(run.key)
            waiting = waiting + courses.take(run.key for run in batch)
        assert all(course.ended for course in courses.courses)


def validate(claims, grids, measure, rng=None, batch=1, world=None):
    """Run claims to their end; return what each was decided and on which rows."""
    world = world or World(measure, rng, batch)
    known = list(world.rows)
    courses = Courses(claims, grids, lambda course: decide_reading(course.claim, world.frame(course), "", "quick"))
    world.run(courses, known)
    return {course.claim.id: (course.decision, tuple(course.counts)) for course in courses.courses}, world


def test_a_course_goes_on_while_undecided_and_ends_with_the_budget():
    grid = grid_of([{"n": n} for n in range(3)])
    course = Course(claim_of(grid, None), grid)
    assert [run.params for run in course.runs[:4]] == [f'{{"n":0,"seed":{seed}}}' for seed in range(4)]
    for look, count in enumerate(LOOKS[1:], start=1):
        more = course.decide(undecided(None))
        assert course.counts == [count] * 3
        assert [run.index for run in more] == [n for n in range(3) for _ in range(count - LOOKS[look - 1])]
        assert not course.ended
    assert course.decide(undecided(None)) == []
    assert course.ended
    assert course.counts == [20] * 3


def test_a_course_goes_on_while_any_aspect_is_undecided():
    """The shape fails, which makes the verdict; the value hangs on setting 1, which goes on."""
    grid = grid_of([{"n": n} for n in range(2)])

    def judge(runs):
        low, high = (runs.where(n=n)["x"] for n in (0, 1))
        return finding("m", shape=less(high, low), value=at_least(high, 1000.0))

    decided, _ = validate(
        [claim_of(grid, judge)], {"synthetic": grid}, lambda row: {"x": 1000.0 * row["n"] + noise(row)}
    )
    decision, counts = decided["OWN-1"]
    assert (decision.verdict, decision.shape, decision.value) == ("differs", "fails", UNDECIDED)
    assert decision.cells == {1}
    assert counts == (4, 20)
    assert not decision.settled


def test_only_the_settings_on_which_it_hangs_go_on_and_late_ones_catch_up():
    grid = grid_of([{"n": n} for n in range(3)])
    course = Course(claim_of(grid, None), grid)
    assert {run.index for run in course.decide(undecided([1]))} == {1}
    assert course.counts == [4, 6, 4]
    more = course.decide(undecided([0, 1]))
    assert course.counts == [9, 9, 4]
    assert [json.loads(run.params)["seed"] for run in more] == [4, 5, 6, 7, 8, 6, 7, 8]
    assert course.decide(DECIDED) == []
    assert course.ended


def test_settings_of_other_readings_go_along():
    settings = [{"n": n, "reading": reading} for n in (1, 2) for reading in ("a", "b", None)]
    grid = grid_of(settings)
    course = Course(claim_of(grid, None, readings=("a", "b")), grid)
    course.decide(undecided([0]))
    assert course.counts == [6, 6, 6, 4, 4, 4]


def test_without_seeds_there_is_one_look():
    grid = Grid(Experiment("exact", lambda profile: [{"seed": 3}, {"seed": 4}], dict), "quick", first_seed=100)
    course = Course(claim_of(grid, None), grid)
    assert [run.params for run in course.runs] == ['{"seed":103}', '{"seed":104}']
    assert course.decide(undecided(None)) == []
    assert course.ended


def test_first_seed_shifts_every_seed():
    grid = grid_of([{"n": 1}], Seeds((4, 6), (4, 6), start=50), first_seed=1000)
    assert [json.loads(run.params)["seed"] for run in grid.first_runs()] == [1050, 1051, 1052, 1053]


def test_a_grid_with_seeds_of_its_own_and_twins_are_errors():
    with pytest.raises(ValueError, match="synthetic: it has seeds, so its grid must not name any"):
        grid_of([{"n": 1, "seed": 3}])
    with pytest.raises(ValueError, match="synthetic: rows 0 and 2 are the same"):
        grid_of([{"n": 1}, {"n": 2}, {"n": 1}])


def test_the_levels_of_the_looks_add_up_to_alpha():
    for seeds, profile in itertools.product((SEEDS, Seeds((2, 2), (5, 1000))), ("quick", "paper")):
        level = seeds.level(profile, 1e-3)
        spent = [level(count) for count in seeds.looks(profile)]
        assert math.isclose(sum(spent), 1e-3)
        assert spent == sorted(spent)


BOUNDS = st.lists(st.floats(-2, 2), min_size=1, max_size=4)


@given(bounds=BOUNDS, shuffle=st.integers(0, 99), batch=st.integers(1, 30), data=st.data())
def test_a_verdict_depends_on_the_claim_alone(bounds, shuffle, batch, data):
    """Alone, with others, in another order, resumed from what others have left: the same word.

    The numbers of seeds and the interval are the same too, and no run is measured twice.
    """
    grid = grid_of([{"n": n} for n in range(3)])
    grids = {"synthetic": grid}

    def judge_at(bound):
        def judge(runs):
            first, last = (runs.where(n=n)["x"] for n in (0, 2))
            return finding(f"{mean(first)}", shape=less(first, last), value=at_least(first, bound))

        return judge

    claims = [claim_of(grid, judge_at(bound), f"OWN-{i}") for i, bound in enumerate(bounds)]

    def measure(row):
        return {"x": row["n"] * 0.8 + noise(row)}

    together, world = validate(claims, grids, measure, np.random.default_rng(shuffle), batch)
    assert len(world.measured) == len(set(world.measured))
    chosen = data.draw(st.permutations(claims))[:2]
    again, _ = validate(chosen, grids, measure)
    resumed, more = validate(chosen, grids, measure, world=world)
    assert again == resumed == {claim.id: together[claim.id] for claim in chosen}
    assert len(more.measured) == len(set(more.measured))
    assert {key for key in world.rows} == {
        run.key for _, counts in together.values() for run in grid.runs(counts)
    }  # nothing was measured that nobody asked for


@given(shuffle=st.integers(0, 999))
def test_two_noisy_settings_need_more_and_a_plain_one_does_not(shuffle):
    grid = grid_of([{"n": n} for n in range(3)], Seeds((10, 200), (10, 200)))

    def judge(runs):
        # A plain check on setting 0, one that noise hides on setting 1, an exact one on setting 2.
        parts = [at_least(runs.where(n=n)["x"], bound) for n, bound in ((0, -90.0), (1, 0.0))]
        return finding("m", value=all_of(*parts, at_least(exact(1.0), 0.0)))

    decided, _ = validate(
        [claim_of(grid, judge)], {"synthetic": grid}, lambda row: {"x": noise(row)}, np.random.default_rng(shuffle), 7
    )
    decision, counts = decided["OWN-1"]
    assert decision.verdict == UNDECIDED
    assert counts == (10, 200, 10)


def test_claims_that_share_an_experiment_measure_it_once_and_the_engine_knows_what_is_open():
    grid = grid_of([{"n": 1}])

    def plain(runs):
        return finding("m", value=at_least(runs["x"], -100.0))

    def hidden(runs):
        return finding("m", value=at_least(runs["x"], 0.0))

    claims = [claim_of(grid, judge, f"OWN-{i}") for i, judge in enumerate((plain, hidden, plain, hidden))]
    world = World(lambda row: {"x": noise(row)})
    courses = Courses(
        claims, {"synthetic": grid}, lambda course: decide_reading(course.claim, world.frame(course), "", "quick")
    )
    first = courses.start()
    assert len(first) == 4
    assert (len(courses), courses.decided, courses.undecided) == (4, 0, 0)
    for run in first:
        world.rows[run.key] = world.measure(json.loads(run.params))
    more = courses.take(run.key for run in first)
    assert [json.loads(run.params)["seed"] for run in more] == [4, 5]  # once for both
    assert (courses.decided, courses.undecided) == (2, 2)
