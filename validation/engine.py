"""Runs experiments on Spark: each row is a run, which gives the same numbers everywhere.

Rows (experiment, index, parameters as JSON) go through `mapInPandas`; a worker finds the
experiment by its name, so that neither functions nor streams are shipped. Rows are dealt to at
least eight partitions for each core, the longest runs first. They go to Spark in jobs of one task
for each core, and two jobs are under way at a time: no core waits at the end of a job, and what is
done is on disk. Where runs are short a task takes several partitions at once. More rows may come
while others run.
"""

from __future__ import annotations

import functools
import heapq
import importlib
import itertools
import json
import time
import traceback
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .claim import Experiment
from .grid import Run, experiments_of, to_json

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import SparkSession

CLAIMS_MODULE = "streamlb.validation.claims"
PARTITIONS_PER_CORE = 8
ROWS_PER_PARTITION = 8
_JOBS_AT_ONCE = 2
_SHORT_TASK = 4.0  # seconds
_SHORT_QUEUE = 0.5  # seconds for each core: what goes to Spark as one job
_OUT = "experiment string, index long, params string, result string, seconds double, error string"


class RunError(RuntimeError):
    """Spark gave up on a job; the message says why."""


@dataclass(frozen=True)
class Failure:
    """A run whose measure raised an error: what it was, and the traceback."""

    experiment: str
    index: int
    params: str
    traceback: str

    @property
    def key(self) -> tuple[str, str]:
        """Whose failure it is: the key of its run."""
        return self.experiment, self.params

    def __str__(self) -> str:
        reason = self.traceback.rstrip().splitlines()[-1]
        return f"experiment {self.experiment}, row {self.index} {self.params} failed: {reason}"


@dataclass(frozen=True)
class Outcome:
    """What a run gave: its result (canonical JSON) and the seconds it took."""

    experiment: str
    index: int
    params: str
    result: str
    seconds: float

    @property
    def key(self) -> tuple[str, str]:
        """Whose outcome it is: the key of its run."""
        return self.experiment, self.params


@functools.cache
def _known_experiments(module: str) -> dict[str, Experiment]:
    return experiments_of(importlib.import_module(module).all_claims())


def measure_tasks(
    frames: Iterator[pd.DataFrame], tasks: list[list[tuple[str, int, str]]], module: str
) -> Iterator[pd.DataFrame]:
    """Measure the rows of the tasks whose numbers come in. This is what workers do.

    An error of a measure becomes text: it would fail again, so that Spark is not to retry it.
    """
    import pandas as pd

    for frame in frames:
        outcomes = [_outcome(row[0], row[1], row[2], module) for number in frame["id"] for row in tasks[number]]
        yield pd.DataFrame(outcomes, columns=["experiment", "index", "params", "result", "seconds", "error"])


def _outcome(experiment: str, index: int, params: str, module: str) -> tuple[str, int, str, str, float, str]:
    result, error = "", ""
    begun = time.perf_counter()
    try:
        result = measured(_known_experiments(module)[experiment], params)
    except Exception:
        error = traceback.format_exc()
    return experiment, index, params, result, time.perf_counter() - begun, error


def measured(experiment: Experiment, params: str) -> str:
    """Measure a row and return its result as canonical JSON."""
    row = json.loads(params)
    result = experiment.measure(**row)
    if not isinstance(result, dict):
        raise TypeError(f"measure must return a dict, got {type(result).__name__}")
    text = to_json(result)
    clash = [name for name, value in json.loads(text).items() if name in row and row[name] != value]
    if clash:
        raise ValueError(f"measure returns {clash[0]!r}, which is the name of a parameter with another value")
    return text


def deal(runs: list[Run], cores: int, rows: int = ROWS_PER_PARTITION) -> list[list[Run]]:
    """Deal runs to about eight partitions for each core, so that all take about the same time.

    The longest runs come first. Costs compare the runs of one experiment, and not experiments:
    each experiment is dealt evenly by itself, and a partition with a run of an experiment of few
    runs comes before one without.

    Parameters
    ----------
    runs : list of Run
        What to deal.
    cores : int
        How many cores there are.
    rows : int
        The most runs that a partition may have, so that little is lost by an interruption.
    """
    # The same number for each core, or one waits at the end.
    per_core = max(PARTITIONS_PER_CORE, -(-len(runs) // (rows * cores)))
    size = min(len(runs), per_core * cores)
    partitions: list[list[Run]] = [[] for _ in range(size)]
    weights = [0.0] * size
    by_experiment: dict[str, list[Run]] = {}
    for run in runs:
        by_experiment.setdefault(run.experiment, []).append(run)
    for own in sorted(by_experiment.values(), key=len):
        total = sum(run.cost for run in own)
        loads = [(0.0, weight, i) for i, weight in enumerate(weights)]
        heapq.heapify(loads)
        for run in sorted(own, key=lambda run: -run.cost):
            load, weight, i = heapq.heappop(loads)
            partitions[i].append(run)
            weights[i] = weight + (run.cost / total if total else 1 / len(own))
            heapq.heappush(loads, (load + run.cost, weights[i], i))
    return [partitions[i] for i in sorted(range(size), key=lambda i: -weights[i])]


Progress = Callable[[float, float, int], None]


def run_on_spark(
    spark: SparkSession,
    runs: list[Run],
    keep: Callable[[list[Outcome], list[Failure]], list[Run] | None],
    *,
    module: str = CLAIMS_MODULE,
    progress: Progress | None = None,
) -> None:
    """Measure runs on Spark.

    Parameters
    ----------
    spark : SparkSession
        Where to run.
    runs : list of Run
        What to run.
    keep : callable
        ``keep(outcomes, failures)`` is called from this thread with the outcomes of each finished
        job, to write them down, and with the rows whose measure failed. It may return more runs,
        which are measured as soon as cores are free.
    module : str
        The module whose `all_claims()` holds the experiments; workers import it.
    progress : callable, optional
        ``progress(done, left, runs)`` is told the seconds of work that are done and that are left
        of the runs known so far, and the number of runs done.

    Raises
    ------
    RunError
        When Spark gives up on a job; what succeeded until then has been kept.
    """
    cores = spark.sparkContext.defaultParallelism
    waiting = deque(deal(runs, cores))
    tracker = _Tracker(spark, runs, progress)
    under_way: dict[Future, _Job] = {}
    bundle = 1
    with ThreadPoolExecutor(_JOBS_AT_ONCE) as pool:
        try:
            while waiting or under_way:
                while waiting and len(under_way) < _JOBS_AT_ONCE:
                    short = tracker.expected(itertools.chain(*waiting)) < _SHORT_QUEUE * cores
                    job = _next_job(waiting, cores, len(waiting) if short else bundle, keep_some=not short)
                    under_way[pool.submit(_run_job, spark, job, module)] = job
                for future in wait(under_way, timeout=0.5, return_when=FIRST_COMPLETED).done:
                    outcomes, failures = _result(future)
                    more = keep(outcomes, failures) or []
                    job = under_way.pop(future)
                    tracker.finished(job, outcomes)
                    tracker.add(more)
                    waiting.extend(deal(more, cores))
                    bundle = _next_bundle(bundle, sum(outcome.seconds for outcome in outcomes) / len(job.tasks))
                tracker.show(under_way.values())
        except BaseException:
            spark.sparkContext.cancelAllJobs()
            raise


@dataclass(frozen=True)
class _Job:
    """What goes to Spark at once: one task for each core."""

    tasks: list[list[Run]]
    group: str = field(default_factory=lambda: f"streamlb-{uuid.uuid4().hex}")

    @property
    def runs(self) -> int:
        return sum(map(len, self.tasks))


def _next_job(waiting: deque[list[Run]], cores: int, bundle: int, keep_some: bool = True) -> _Job:
    """Take one task for each core from the front of the queue.

    A task has `bundle` partitions, fewer when the queue gets short, unless it need not `keep_some`
    for the end.
    """
    if keep_some:
        bundle = max(1, min(bundle, len(waiting) // (PARTITIONS_PER_CORE * cores)))
    taken = [waiting.popleft() for _ in range(min(len(waiting), bundle * cores))]
    tasks = [list(itertools.chain(*taken[i::cores])) for i in range(min(cores, len(taken)))]
    return _Job(tasks)


def _next_bundle(bundle: int, seconds: float) -> int:
    """Return how many partitions the next tasks are to hold, from how long the last ones took.

    A task costs Spark about a tenth of a second; one that takes long is lost by an interruption.
    """
    if seconds < _SHORT_TASK:
        return 2 * bundle
    return max(1, bundle // 2) if seconds > 2 * _SHORT_TASK else bundle


def _result(future: Future) -> tuple[list[Outcome], list[Failure]]:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        return future.result()
    except (Py4JError, PySparkException) as error:
        reason = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise RunError(f"Spark gave up on a job: {reason}") from error


def _run_job(spark: SparkSession, job: _Job, module: str) -> tuple[list[Outcome], list[Failure]]:
    """Run a job; return what succeeded and the rows that failed."""
    spark.sparkContext.setJobGroup(job.group, "streamlb validation")
    tasks = [[(run.experiment, run.index, run.params) for run in task] for task in job.tasks]
    # A range of as many numbers as tasks puts exactly one number into each, which no way of
    # shipping the rows themselves does without a shuffle; the rows travel with the function.
    numbers = spark.range(0, len(tasks), 1, len(tasks))
    collected = numbers.mapInPandas(functools.partial(measure_tasks, tasks=tasks, module=module), _OUT).collect()
    outcomes = [Outcome(*row[:5]) for row in collected if not row.error]
    return outcomes, [Failure(row[0], row[1], row[2], row.error) for row in collected if row.error]


class _Tracker:
    """Says how much work is done and left, from what runs took and what others should take.

    Costs compare the runs of one experiment, so that each experiment has a rate of its own (the
    seconds for a run of mean cost), which is learnt as its runs come in. Of the jobs under way
    Spark's status tracker says how many tasks are completed.
    """

    def __init__(self, spark: SparkSession, runs: list[Run], progress: Progress | None):
        self._status = spark.sparkContext.statusTracker()
        self._progress = progress
        # The mean cost of the runs of an experiment that came first.
        self._unit: dict[str, float] = {}
        self._left: dict[str, float] = {}
        self._done: dict[str, float] = {}
        self._seconds: dict[str, float] = {}
        self._runs = 0
        self.add(runs)

    def add(self, runs: list[Run]) -> None:
        """Take note of runs that are to be done besides."""
        for name, cost in _mean_costs(runs).items():
            self._unit.setdefault(name, cost)
        for name, work in self._work(runs).items():
            self._left[name] = self._left.get(name, 0.0) + work
            self._done.setdefault(name, 0.0)
            self._seconds.setdefault(name, 0.0)

    def _work(self, runs: Iterable[Run]) -> dict[str, float]:
        """Return the work in `runs` for each experiment, in units of a run of mean cost."""
        work: dict[str, float] = {}
        for run in runs:
            unit = self._unit[run.experiment]
            work[run.experiment] = work.get(run.experiment, 0.0) + (run.cost / unit if unit else 1.0)
        return work

    def finished(self, job: _Job, outcomes: list[Outcome]) -> None:
        for name, work in self._work(itertools.chain(*job.tasks)).items():
            self._left[name] -= work
            self._done[name] += work
        for outcome in outcomes:
            self._seconds[outcome.experiment] += outcome.seconds
        self._runs += job.runs

    def expected(self, runs: Iterable[Run]) -> float:
        """Return the seconds that runs should take."""
        return self._expected(self._work(runs))

    def _expected(self, work: dict[str, float]) -> float:
        """Return the seconds that work should take.

        An experiment of which no run has come in has the mean rate of the others.
        """
        done = sum(self._done.values())
        mean = sum(self._seconds.values()) / done if done else 1.0
        rates = {name: self._seconds[name] / self._done[name] if self._done[name] else mean for name in work}
        return sum(amount * rates[name] for name, amount in work.items())

    def _completed(self, job: _Job) -> float:
        """Return the completed share of a job, which has one stage."""
        tasks = 0
        for number in self._status.getJobIdsForGroup(job.group):
            info = self._status.getJobInfo(number)
            stages = [self._status.getStageInfo(stage) for stage in (info.stageIds if info else ())]
            tasks += sum(stage.numCompletedTasks for stage in stages if stage)
        return min(1.0, tasks / len(job.tasks))

    def show(self, under_way: Iterable[_Job]) -> None:
        if self._progress is None:
            return
        done, left = sum(self._seconds.values()), self._expected(self._left)
        part, runs = 0.0, float(self._runs)
        for job in under_way:
            share = self._completed(job)
            part += share * self.expected(itertools.chain(*job.tasks))
            runs += share * job.runs
        self._progress(done + part, max(0.0, left - part), round(runs))


def _mean_costs(runs: list[Run]) -> dict[str, float]:
    by_experiment: dict[str, list[float]] = {}
    for run in runs:
        by_experiment.setdefault(run.experiment, []).append(run.cost)
    return {name: sum(costs) / len(costs) for name, costs in by_experiment.items()}
