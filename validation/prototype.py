"""POSG between real processes: the prototype of Rivetti et al. 2015 (section V-C) without Storm.

A dispatcher paces a stream and hands each tuple to one of k worker processes, which sleep as long
as the tuple's content says. Under POSG the dispatcher holds a `POSGScheduler`, each worker a
`POSGInstance`, and they exchange its messages as bytes. Completion times are by the wall clock.
``python -m streamlb.validation.prototype --figure 11`` runs the change of speeds of figure 11,
``--figure 12`` the tweets (a stand-in) of figure 12, each under round robin, POSG and full
knowledge.

The stream is far shorter than the paper's, and the window with it, so that a run takes seconds: it
shows order and shape, not values. Wall-clock times depend on what else the machine does and cannot
be had twice, so that no verdict rests on them: the claims POSG-F11 and F12 are judged on the
simulator, whose runs are functions of their parameters.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import json
import multiprocessing
import multiprocessing.connection
import os
import sys
import threading
import time
from typing import Any

import numpy as np

from streamlb import POSGInstance, POSGScheduler, Zipf, execution_times, tweets
from streamlb.learning.messages import Matrices, decode

POLICIES = ("round_robin", "posg", "full_knowledge")
_BEFORE, _AFTER = (1.05, 1.025, 1.0, 0.975, 0.95), (0.90, 0.95, 1.0, 1.05, 1.10)
_STOP = None


def _end_with_parent() -> None:
    """End this process when the dispatcher is gone, also in the middle of a long tuple."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(instance: int, options: dict[str, Any], inbox: Any, results: Any) -> None:
    """Execute tuples until told to stop; send back when each was done and what POSG has to say."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    posg = POSGInstance(instance, **options)
    posg.learner.learn(0, 0.0)  # compile before the clock matters
    posg.learner.reset()
    results.send((instance, -1, 0.0, []))
    try:
        while (job := inbox.recv()) is not _STOP:
            number, key, seconds, request = job
            start = time.monotonic()
            time.sleep(seconds)
            now = time.monotonic()
            messages = posg.complete(key, now - start, request, now)
            results.send((instance, number, now, messages))
    except KeyboardInterrupt:
        pass  # the dispatcher cleans up


class Workers:
    """k worker processes, each on two pipes of its own; leaving the context ends them.

    A pipe has one writer and needs no lock: one that is shared would stay locked for ever when a
    worker is killed while it writes.
    """

    def __init__(self, k: int, options: dict[str, Any]):
        context = multiprocessing.get_context("spawn")
        jobs = [context.Pipe(duplex=False) for _ in range(k)]
        results = [context.Pipe(duplex=False) for _ in range(k)]
        self.processes = [
            context.Process(target=_work, args=(i, options, jobs[i][0], results[i][1]), daemon=True) for i in range(k)
        ]
        self._inboxes = [writer for _, writer in jobs]
        self._results = [reader for reader, _ in results]
        self._theirs = [end for i in range(k) for end in (jobs[i][0], results[i][1])]
        self.arrived: collections.deque = collections.deque()
        self._reader = threading.Thread(target=self._read, name="prototype results", daemon=True)

    def __enter__(self) -> Workers:
        for process in self.processes:
            process.start()
        for end in self._theirs:  # what is left open here would never show that a worker is gone
            end.close()
        self._reader.start()
        ready = 0
        try:
            while ready < len(self.processes):
                ready += sum(number < 0 for _, number, _, _ in self.take())
                self.check()
        except BaseException:  # also an interrupt: a context that was not entered is not left
            self.__exit__()
            raise
        return self

    def _read(self) -> None:
        """Gather results until every worker has closed its pipe."""
        open_pipes: list[Any] = list(self._results)
        while open_pipes:
            ready: list[Any] = multiprocessing.connection.wait(open_pipes)
            for pipe in ready:
                try:
                    self.arrived.append(pipe.recv())
                except (EOFError, OSError):
                    open_pipes.remove(pipe)

    def send(self, instance: int, job: tuple) -> None:
        """Hand a job to a worker; a RuntimeError says that it has died."""
        try:
            self._inboxes[instance].send(job)
        except OSError as error:
            raise RuntimeError(f"worker {instance} ended early") from error

    def take(self, wait: float = 0.001) -> list[tuple]:
        """Return the results that have come, after a short sleep when there are none."""
        if not self.arrived:
            time.sleep(wait)
        return [self.arrived.popleft() for _ in range(len(self.arrived))]

    def check(self) -> None:
        """Raise when a worker has died."""
        for i, process in enumerate(self.processes):
            if process.exitcode is not None:
                raise RuntimeError(f"worker {i} ended early with exit code {process.exitcode}")

    def __exit__(self, *_: Any) -> None:
        for inbox in self._inboxes:
            with contextlib.suppress(OSError):  # a worker that is gone needs no word
                inbox.send(_STOP)
        deadline = time.monotonic() + 5.0
        for process in self.processes:
            process.join(max(0.0, deadline - time.monotonic()))
            if process.is_alive():
                process.terminate()
                process.join()
            process.close()
        self._reader.join(5.0)
        for pipe in (*self._inboxes, *self._results):
            pipe.close()


class _Dispatcher:
    """Chooses the instance of each tuple and the request that goes with it."""

    def __init__(self, policy: str, k: int, options: dict[str, Any]):
        self.policy, self.k, self.turn = policy, k, 0
        self.load = np.zeros(k)
        self.scheduler = POSGScheduler(k, **options) if policy == "posg" else None

    def choose(self, key: int, seconds: np.ndarray) -> tuple[int, bytes | None]:
        if self.scheduler is not None:
            return self.scheduler.submit(key, time.monotonic())
        if self.policy == "full_knowledge":
            i = int(self.load.argmin())
            self.load[i] += seconds[i]
            return i, None
        i, self.turn = self.turn, (self.turn + 1) % self.k
        return i, None


def run(
    keys: np.ndarray, seconds: np.ndarray, interval: float, policy: str, progress: bool = True, **options: Any
) -> dict[str, Any]:
    """Send a stream through real processes; return the completion time of every tuple in seconds.

    Parameters
    ----------
    keys : uint64[m]
        The tuples' contents.
    seconds : float64[m, k]
        How long each takes on each instance.
    interval : float
        Seconds between two tuples.
    policy : {"round_robin", "posg", "full_knowledge"}
        Who chooses the instance of a tuple.
    progress : bool
        Whether to show a progress bar.
    **options
        The options of POSG: window, tolerance, epsilon, delta, seed.
    """
    m, k = seconds.shape
    arrival, completion = np.zeros(m), np.full(m, np.nan)
    dispatcher = _Dispatcher(policy, k, options)
    chosen, done = np.zeros(m, np.int64), 0
    phases: list[tuple[int, str]] = []
    received: list[tuple[int, int]] = []
    with Workers(k, options) as workers, _bar(m, policy, progress) as bar:

        def settle(wait: float) -> int:
            came = workers.take(wait)
            for i, number, now, messages in came:
                completion[number] = now - arrival[number]
                for message in messages:
                    taken = dispatcher.scheduler is not None and dispatcher.scheduler.receive(message)
                    if taken and isinstance(decode(message), Matrices):
                        received.append((read, i))
            bar.update(len(came))
            return len(came)

        start, read = time.monotonic() + 0.05, 0
        for number in range(m):
            read = number
            due = start + number * interval
            while (left := due - time.monotonic()) > 0:
                done += settle(min(left, 0.001))
            if workers.arrived:
                done += settle(0.0)
            arrival[number] = max(due, time.monotonic())
            i, request = dispatcher.choose(int(keys[number]), seconds[number])
            chosen[number] = i
            workers.send(i, (number, int(keys[number]), float(seconds[number, i]), request))
            if dispatcher.scheduler is not None and (not phases or phases[-1][1] != dispatcher.scheduler.phase):
                phases.append((number, dispatcher.scheduler.phase))
        while done < m:
            done += settle(0.005)
            workers.check()
    result = {"completion": completion, "assignment": chosen, "mean": float(completion.mean()), "phases": phases}
    if dispatcher.scheduler is not None:
        result["messages"], result["received"] = dispatcher.scheduler.messages, received
        result["first_run"] = next((number for number, phase in phases if phase == "RUN"), None)
    return result


def _bar(total: int, label: str, show: bool) -> Any:
    from tqdm import tqdm

    return tqdm(total=total, desc=label, unit="tuple", disable=not show, file=sys.stderr, leave=False)


def figure_11(tuples: int, scale: float, seed: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Return keys, seconds and interval of the change of speeds halfway, on five instances."""
    keys = Zipf(4096, 1.0).draw(tuples, seed)
    costs = execution_times(4096, seed=seed + 1)[keys.astype(np.int64)] / 1000 * scale
    seconds = np.outer(costs, _BEFORE)
    seconds[tuples // 2 :] = np.outer(costs[tuples // 2 :], _AFTER)
    return keys, seconds, float(costs.mean()) / 5


def figure_12(tuples: int, scale: float, seed: int, k: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Return keys, seconds and interval of the tweets: three classes of 25, 5 and 1 ms."""
    keys = tweets().draw(tuples, seed)
    times = np.array([5.0, 25.0, 1.0])[np.random.default_rng(seed).integers(0, 3, 35_000)]
    times[0] = 5.0
    costs = times[keys.astype(np.int64)] / 1000 * scale
    return keys, np.repeat(costs[:, None], k, axis=1), float(costs.mean()) / k


def _row(figure: int, k: int, policy: str, result: dict[str, Any], plain: float, deadline: float) -> dict[str, Any]:
    """Return what the claims on the figure speak of, in milliseconds and numbers of tuples."""
    stays, half = 1000 * result["completion"], result["completion"].size // 2
    parts = {"mean": stays, "first_half": stays[: max(half, 1)], "second_half": stays[half:]}
    row = {"figure": figure, "k": k, "policy": policy, "tuples": stays.size}
    row |= {f"{name}_ms": round(float(part.mean()), 2) for name, part in parts.items()}
    row |= {"max_ms": round(float(stays.max()), 2), "speed_up": round(plain / result["mean"], 3)}
    row["time_outs"] = int((result["completion"] > deadline).sum())
    if policy == "posg":
        # The first pair of each instance since the change.
        fresh = dict((i, t) for t, i in reversed(result["received"]) if t >= half)
        row["first_run"] = result["first_run"]
        if figure == 11:
            row["refreshed"] = max(fresh.values()) if len(fresh) == k else None
        row |= {name: result["messages"][name] for name in ("matrices", "replies", "bytes")}
    return row


def _whole(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {number}")
    return number


def _positive(text: str) -> float:
    if not 0 < (number := float(text)) < 1e6:
        raise argparse.ArgumentTypeError(f"must be above 0 and below a million, got {number:g}")
    return number


def main(arguments: list[str] | None = None) -> int:
    """Run the prototype from the command line and print a table."""
    parser = argparse.ArgumentParser(
        prog="python -m streamlb.validation.prototype", description=(__doc__ or "").split("\n\n")[0]
    )
    parser.add_argument("--figure", type=int, choices=(11, 12), default=11)
    parser.add_argument("--tuples", type=_whole, default=4000, help="length of the stream")
    parser.add_argument("--instances", type=_whole, nargs="+", default=[2, 5], help="of Figure 12; Figure 11 has five")
    parser.add_argument(
        "--scale", type=_positive, default=0.25, help="by what the paper's execution times are multiplied"
    )
    parser.add_argument(
        "--window", type=_whole, default=128, help="POSG's window; the paper's 1024 suits 100,000 tuples and more"
    )
    parser.add_argument("--tolerance", type=_positive, default=0.2)
    parser.add_argument(
        "--deadline", type=_positive, default=30.0, help="seconds after which a tuple counts as timed out"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    given = parser.parse_args(arguments)
    options = {"window": given.window, "tolerance": given.tolerance, "seed": given.seed}
    size = given.tuples, given.scale, given.seed
    for k in [5] if given.figure == 11 else given.instances:
        stream = figure_11(*size) if given.figure == 11 else figure_12(*size, k)
        plain = 0.0
        for policy in POLICIES:  # round robin comes first
            result = run(*stream, policy, not given.quiet, **options)
            plain = plain or result["mean"]
            print(json.dumps(_row(given.figure, k, policy, result, plain, given.deadline)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
