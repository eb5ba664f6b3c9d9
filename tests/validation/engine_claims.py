"""Claims for tests of the engine: quick, pure, and some that misbehave.

Spark's workers import this module by name.
"""

import hashlib
import os
import signal
import subprocess
import time
from dataclasses import replace
from functools import partial

from streamlb.validation.claim import Claim, Experiment, Seeds, Verdict
from streamlb.validation.judging import all_of, at_least, finding, mean, reported


def _numbers(seed, scale):
    """Give floats whose every bit depends on the row, so that any change on the way shows."""
    digest = hashlib.sha256(f"{seed}/{scale!r}".encode()).digest()
    words = [int.from_bytes(digest[i : i + 8], "little") for i in (0, 8, 16)]
    return {
        "unit": words[0] / 2**64,
        "tiny": words[1] / 2**64 * 1e-300 * scale,
        "list": [words[2] % 97, 0.1 * scale],
        "name": hex(words[0]),
    }


def _crash_once(seed, flags):
    """Kill the worker process the first time a row comes by: Spark has to try the task again."""
    flag = os.path.join(flags, f"crashed-{seed}")
    if seed % 5 == 0 and not os.path.exists(flag):
        open(flag, "w").close()
        os._exit(1)
    return _numbers(seed, 1.5)


def _kill_executor_once(seed, flags):
    """Kill the Java process above this worker the first time that row 4 comes by.

    Spark has to replace the executor.
    """
    flag = os.path.join(flags, "killed")
    if seed == 4 and not os.path.exists(flag):
        open(flag, "w").close()
        java = subprocess.run(
            ["ps", "-o", "ppid=", "-p", str(os.getppid())], capture_output=True, text=True, check=True
        )
        os.kill(int(java.stdout), signal.SIGKILL)
        time.sleep(30)
    return _numbers(seed, 2.5)


def _fail_on_three(seed):
    if seed == 3:
        raise ZeroDivisionError("three is too many")
    return {"value": seed}


def _busy(seed, seconds):
    """Keep a core busy for so long by the clock; what the engine adds is what comes on top."""
    end = time.perf_counter() + seconds
    total = 0
    while time.perf_counter() < end:
        total += 1
    return {"turned": total > 0}


def _grid(profile, count=40):
    return [{"seed": seed, "scale": 0.1 * seed} for seed in range(count if profile == "quick" else 2 * count)]


def _flag_grid(profile, count):
    """Return rows that name a folder for flags, which the tests make.

    None is needed to look the experiment up.
    """
    return [{"seed": seed, "flags": os.environ["STREAMLB_FLAGS"]} for seed in range(count)]


def _busy_grid(profile):
    return [{"seed": s, "seconds": float(os.environ.get("STREAMLB_BUSY", "0.01"))} for s in range(200)]


PURE = Experiment("pure", _grid, _numbers, cost=lambda row: row["seed"] % 7 + 1.0)
CRASH = Experiment("crash", partial(_flag_grid, count=20), _crash_once)
KILL = Experiment("kill", partial(_flag_grid, count=12), _kill_executor_once)
FAIL = Experiment("fail", lambda profile: [{"seed": seed} for seed in range(6)], _fail_on_three)
BUSY = Experiment("busy", _busy_grid, _busy)


NOISY = Experiment(
    "noisy", lambda profile: [{"scale": 1.0}, {"scale": 3.0}], _numbers, seeds=Seeds(quick=(10, 40), paper=(10, 99))
)


def _above(bound):
    """Return the judge that wants the mean of uniform numbers above a bound, setting by setting."""

    def judge(runs):
        parts = [at_least(part["unit"], bound, f"scale {scale}") for scale, part in runs.by("scale")]
        return finding(f"{mean(runs['unit']):.3f}", value=all_of(parts))

    return judge


def _not_finite(seed):
    return {"load": {2: float("inf"), 3: float("nan")}.get(seed, 1.0)}


INF = Experiment("inf", lambda profile: [{}], _not_finite, seeds=Seeds(quick=(4, 9), paper=(4, 9)))


def _load(runs):
    return finding(f"{mean(runs['load'])}", value=at_least(runs["load"], 0.5))


def _broken(runs, profile):
    raise KeyError("no such column")


def _breaks_elsewhere(runs):
    if runs.reading == "theirs":
        raise KeyError("theirs")
    return reported(f"{len(runs)} runs")


def _judge(runs, profile):
    return Verdict.when(len(runs) > 0, f"{len(runs)} runs")


def _claim(name, experiment, judge=_judge):
    return Claim(
        name,
        "OWN",
        "a",
        "nowhere",
        f"{experiment.name} gives a row for each run.",
        "a row",
        "there are rows",
        experiment,
        judge,
    )


def all_claims():
    experiments = (PURE, CRASH, KILL, FAIL, BUSY)
    noisy = [_claim(f"OWN-ABOVE{bound}", NOISY, _above(bound)) for bound in (-1.0, 0.1, 0.5)]
    broken = [
        _claim("OWN-BROKEN", PURE, _broken),
        _claim("OWN-INF", INF, _load),
        replace(_claim("OWN-ELSEWHERE", PURE, _breaks_elsewhere), readings=("ours", "theirs")),
    ]
    return [*(_claim(f"OWN-{experiment.name.upper()}", experiment) for experiment in experiments), *noisy, *broken]
