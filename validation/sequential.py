"""How many seeds a claim gets: looks at growing numbers of seeds, until it is decided.

Every claim has a course of its own. At its first look each setting has the first number of seeds.
While an aspect is undecided, the settings on which it hangs get the seeds of the next look, until
the budget is spent; that is so even where the other aspect makes the verdict. A course is a
function of its claim alone: other claims may measure more seeds of the same settings, but a claim
is judged on those rows only that its own course has asked for.

The error is spent over the numbers of seeds: a check that rests on as many seeds as look j has may
be wrong with the share of alpha that belongs to look j, whenever it is judged. So each state of a
check's data is judged at one level, the levels add up to alpha, and it does not matter which
settings went on and which stood still.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from .claim import Claim
from .grid import READING, Grid, Run
from .judging import Decision


class Course:
    """The seeds of one claim, look by look.

    Parameters
    ----------
    claim : Claim
        Whose course it is.
    grid : Grid
        The settings of its experiment.
    """

    def __init__(self, claim: Claim, grid: Grid):
        self.claim = claim
        self.grid = grid
        self.looks = grid.looks
        self.look = 0
        self.counts = [self.looks[0]] * len(grid)
        self.decision: Decision | None = None
        self.ended = False

    @property
    def runs(self) -> list[Run]:
        """All the runs that the course has asked for, by setting and seed."""
        return self.grid.runs(self.counts)

    def decide(self, decision: Decision) -> list[Run]:
        """Take the decision of a look and return the runs that the next one needs besides.

        There are none when every aspect is decided or the budget is spent. The settings of other
        readings go along with those of the default one.
        """
        self.decision = decision
        before = list(self.counts)
        if not decision.settled and self.look + 1 < len(self.looks):
            self.look += 1
            cells = frozenset(range(len(self.grid))) if decision.cells is None else decision.cells
            for cell in self.grid.alike(cells, but=READING):
                self.counts[cell] = self.looks[self.look]
        more = self.grid.runs(self.counts, before)
        self.ended = not more
        return more


class Courses:
    """The courses of many claims, which share their runs.

    Parameters
    ----------
    claims : iterable of Claim
        The claims.
    grids : dict of Grid
        The grids of their experiments by name.
    decide : callable
        ``decide(course)`` judges a claim on its course's runs, all of which are there.
    """

    def __init__(self, claims: Iterable[Claim], grids: dict[str, Grid], decide: Callable[[Course], Decision]):
        self.courses = [Course(claim, grids[claim.experiment.name]) for claim in claims]
        self._decide = decide
        self._done: set[tuple[str, str]] = set()
        self._asked: set[tuple[str, str]] = set()
        self._waits_for: dict[tuple[str, str], list[Course]] = {}
        self._lacking: dict[int, int] = {}
        self.judged_runs = self.added_runs = 0

    def __len__(self) -> int:
        return len(self.courses)

    @property
    def decided(self) -> int:
        """How many claims have been judged and need no more runs."""
        return sum(course.decision is not None and course.decision.decided for course in self.courses)

    @property
    def undecided(self) -> int:
        """How many claims have been judged and are open, or stay so: their budget is spent."""
        return sum(course.decision is not None and not course.decision.decided for course in self.courses)

    @property
    def growth(self) -> float:
        """How many runs another look has added for each run that was judged, so far.

        It starts from a guess of 0.3, which the first hundred runs outweigh.
        """
        return (self.added_runs + 30.0) / (self.judged_runs + 100.0)

    def start(self, known: Iterable[tuple[str, str]] = ()) -> list[Run]:
        """Return the runs to measure first; `known` are the keys of runs that are there already."""
        self._done.update(known)
        return self._ask([(course, course.runs) for course in self.courses])

    def take(self, keys: Iterable[tuple[str, str]]) -> list[Run]:
        """Take note of runs, judge what is complete, and return the runs to measure next.

        Nothing depends on the order in which runs come in, save the order of what is returned.
        """
        ready: list[Course] = []
        for key in keys:
            self._done.add(key)
            for course in self._waits_for.pop(key, ()):
                self._lacking[id(course)] -= 1
                if not self._lacking[id(course)]:
                    ready.append(course)
        return self._ask([(course, self._next(course)) for course in ready])

    def _next(self, course: Course) -> list[Run]:
        more = course.decide(self._decide(course))
        self.judged_runs += len(course.runs) - len(more)
        self.added_runs += len(more)
        return more

    def _ask(self, wanted: list[tuple[Course, list[Run]]]) -> list[Run]:
        """Return those of the wanted runs that nobody has asked for.

        A course that wants only what is there already is judged at once.
        """
        new: list[Run] = []
        while wanted:
            course, runs = wanted.pop(0)
            if course.ended:
                continue
            missing = [run for run in runs if run.key not in self._done]
            if not missing:
                wanted.insert(0, (course, self._next(course)))
                continue
            self._lacking[id(course)] = len(missing)
            for run in missing:
                self._waits_for.setdefault(run.key, []).append(course)
                if run.key not in self._asked:
                    self._asked.add(run.key)
                    new.append(run)
        return new
