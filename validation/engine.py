"""Runs experiments on Spark: a row is a run, measured wherever it lands, the same number everywhere.

Rows (experiment, index, parameters as JSON) go through `mapInPandas`; a worker finds the experiment by its name, so neither
functions nor streams are shipped. Rows are dealt to about eight partitions a core, the longest runs first, and the partitions
go to Spark in a few jobs, two of them under way at a time: no core waits at the end of a job, and what is done is on disk.
"""

from __future__ import annotations

import functools
import heapq
import importlib
import json
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .claim import Claim, Experiment

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import SparkSession

CLAIMS_MODULE = "streamlb.validation.claims"
PARTITIONS_A_CORE = 8
ROWS_A_PARTITION = 64  # at most: an interrupted run of many rows then loses little
_JOBS_AT_ONCE = 2
_OUT = "experiment string, index long, params string, result string, seconds double, error string"


class RunError(RuntimeError):
    """A measure failed; the message names the experiment and the row."""


@dataclass(frozen=True)
class Run:
    """One row of an experiment: its place in the grid, its parameters (canonical JSON) and how long it may take."""

    experiment: str
    index: int
    params: str
    cost: float = 1.0


@dataclass(frozen=True)
class Outcome:
    """What a run gave: its result (canonical JSON) and the seconds it took."""

    experiment: str
    index: int
    params: str
    result: str
    seconds: float


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


def expand(experiments: Iterable[Experiment], profile: str) -> list[Run]:
    """Return the runs of the experiments' grids under a profile."""
    runs = []
    for experiment in experiments:
        seen: dict[str, int] = {}
        for index, row in enumerate(experiment.grid(profile)):
            params = to_json(row)
            if params in seen:
                raise ValueError(
                    f"experiment {experiment.name}: rows {seen[params]} and {index} are the same: {params}"
                )
            seen[params] = index
            runs.append(Run(experiment.name, index, params, float(experiment.cost(row))))
    return runs


@functools.cache
def _known_experiments(module: str) -> dict[str, Experiment]:
    return experiments_of(importlib.import_module(module).all_claims())


def measure_partitions(frames: Iterator[pd.DataFrame], job: list[list[tuple]], module: str) -> Iterator[pd.DataFrame]:
    """Measure the rows of the partitions whose numbers come in; what workers do.

    An error of a measure becomes text: it would fail again, so Spark is not to retry it.
    """
    import pandas as pd

    for frame in frames:
        outcomes = [_outcome(*row, module) for number in frame["id"] for row in job[number]]
        yield pd.DataFrame(outcomes, columns=["experiment", "index", "params", "result", "seconds", "error"])


def _outcome(experiment: str, index: int, params: str, module: str) -> tuple[str, int, str, str, float, str]:
    result, error = "", ""
    begun = time.perf_counter()
    try:
        result = _measure(_known_experiments(module)[experiment], params)
    except Exception:
        error = traceback.format_exc()
    return experiment, index, params, result, time.perf_counter() - begun, error


def _measure(experiment: Experiment, params: str) -> str:
    row = json.loads(params)
    result = experiment.measure(**row)
    if not isinstance(result, dict):
        raise TypeError(f"measure must return a dict, got {type(result).__name__}")
    text = to_json(result)
    clash = [name for name, value in json.loads(text).items() if name in row and row[name] != value]
    if clash:
        raise ValueError(f"measure returns {clash[0]!r}, which is the name of a parameter with another value")
    return text


def deal(runs: list[Run], cores: int) -> list[list[Run]]:
    """Deal runs to about eight partitions a core, the longest first, so that the partitions take about the same time."""
    size = max(PARTITIONS_A_CORE * cores, -(-len(runs) // ROWS_A_PARTITION))
    partitions: list[list[Run]] = [[] for _ in range(min(len(runs), size))]
    loads = [(0.0, 0, i) for i in range(len(partitions))]
    for run in sorted(runs, key=lambda run: -run.cost):
        load, count, i = heapq.heappop(loads)
        partitions[i].append(run)
        heapq.heappush(loads, (load + run.cost, count + 1, i))
    return sorted(partitions, key=lambda partition: -sum(run.cost for run in partition))


def run_on_spark(
    spark: SparkSession,
    runs: list[Run],
    keep: Callable[[list[Outcome]], None],
    *,
    module: str = CLAIMS_MODULE,
    progress: Callable[[float, int], None] | None = None,
) -> None:
    """Measure runs on Spark.

    Parameters
    ----------
    spark : SparkSession
        Where to run.
    runs : list of Run
        What to run.
    keep : callable
        Gets the outcomes of each finished job, from this thread; it is to write them down.
    module : str
        The module whose `all_claims()` holds the experiments; workers import it.
    progress : callable, optional
        ``progress(share, runs)``: the share of the work done so far, and the number of runs.

    Raises
    ------
    RunError
        When a measure fails; what succeeded until then has been kept.
    """
    cores = spark.sparkContext.defaultParallelism
    partitions = deal(runs, cores)
    jobs = [partitions[i : i + cores] for i in range(0, len(partitions), cores)]
    tracker = _Tracker(spark, jobs, progress)
    waiting = list(enumerate(jobs))
    under_way: set[Future] = set()
    with ThreadPoolExecutor(_JOBS_AT_ONCE) as pool:
        try:
            while waiting or under_way:
                while waiting and len(under_way) < _JOBS_AT_ONCE:
                    number, job = waiting.pop(0)
                    under_way.add(pool.submit(_run_job, spark, job, tracker.group(number), module))
                done, under_way = wait(under_way, timeout=0.5, return_when=FIRST_COMPLETED)
                for future in done:
                    outcomes, failures = _result(future)
                    keep(outcomes)
                    if failures:
                        raise RunError(_describe(failures))
                tracker.show()
        except BaseException:
            spark.sparkContext.cancelAllJobs()
            raise


def _result(future: Future) -> tuple[list[Outcome], list[dict]]:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        return future.result()
    except (Py4JError, PySparkException) as error:
        reason = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise RunError(f"Spark gave up on a job: {reason}") from error


def _run_job(spark: SparkSession, job: list[list[Run]], group: str, module: str) -> tuple[list[Outcome], list[dict]]:
    """Run partitions as one Spark job; return what succeeded and the rows that failed."""
    spark.sparkContext.setJobGroup(group, "streamlb validation")
    rows = [[(run.experiment, run.index, run.params) for run in partition] for partition in job]
    # A range of as many numbers as partitions puts exactly one number into each, which no way of shipping the rows themselves
    # does without a shuffle; the rows travel with the function.
    numbers = spark.range(0, len(job), 1, len(job))
    collected = numbers.mapInPandas(functools.partial(measure_partitions, job=rows, module=module), _OUT).collect()
    outcomes = [Outcome(*row[:5]) for row in collected if not row.error]
    return outcomes, [row.asDict() for row in collected if row.error]


def _describe(failures: list[dict]) -> str:
    first = min(failures, key=lambda row: (row["experiment"], row["index"]))
    more = f" ({len(failures) - 1} more runs of the same job failed)" if len(failures) > 1 else ""
    return f"experiment {first['experiment']}, row {first['index']} {first['params']} failed{more}:\n{first['error'].rstrip()}"


class _Tracker:
    """The share of the work that is done, by the tasks that Spark's status tracker says are completed."""

    def __init__(self, spark: SparkSession, jobs: list[list[list[Run]]], progress: Callable[[float, int], None] | None):
        self._status = spark.sparkContext.statusTracker()
        self._costs = [sum(run.cost for partition in job for run in partition) for job in jobs]
        self._tasks = [len(job) for job in jobs]
        self._runs = [sum(map(len, job)) for job in jobs]
        self._prefix = f"streamlb-{id(self)}"
        self._progress = progress

    def group(self, number: int) -> str:
        return f"{self._prefix}-{number}"

    def _completed(self, number: int) -> float:
        """Return the completed share of a job, which has one stage with a task for each partition."""
        done = 0
        for job in self._status.getJobIdsForGroup(self.group(number)):
            info = self._status.getJobInfo(job)
            stages = [self._status.getStageInfo(stage) for stage in (info.stageIds if info else ())]
            done += sum(stage.numCompletedTasks for stage in stages if stage)
        return min(1.0, done / self._tasks[number])

    def show(self) -> None:
        if self._progress is None:
            return
        shares = [self._completed(number) for number in range(len(self._costs))]
        total = sum(self._costs) or 1.0
        done = sum(share * cost for share, cost in zip(shares, self._costs)) / total
        self._progress(done, round(sum(share * runs for share, runs in zip(shares, self._runs))))
