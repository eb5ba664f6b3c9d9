"""Naive twins of streamlb.scheduling: the learner of an instance, and greedy scheduling."""

from naive.core import sketch_column, sketch_family


def sketch_columns(key, rows, columns, seed):
    """Return the column of a key in each row."""
    return [sketch_column(key, function, columns) for function in sketch_family(rows, seed)]


class Learner:
    """The instance of Rivetti et al. 2015, with dictionaries for matrices.

    `send` is the pair of matrices to send, or None.
    """

    def __init__(self, window, tolerance, rows, columns, seed, stability):
        self.window, self.tolerance, self.stability = window, tolerance, stability
        self.rows, self.columns, self.seed = rows, columns, seed
        self.cells = [(i, j) for i in range(rows) for j in range(columns)]
        self.errors = []
        self.restart()

    def restart(self):
        self.F, self.W = {}, {}
        self.executed, self.snapshot = 0, None

    def ratios(self):
        return {cell: self.W[cell] / self.F[cell] for cell in self.cells if cell in self.F}

    def learn(self, key, cost, look_first=False):
        """`look_first`: what ends a window is added after the look, to whatever there is then."""
        if not look_first:
            self.add(key, cost)
        self.executed += 1
        pair = None if self.executed % self.window else self.look()
        if look_first:
            self.add(key, cost)
        return pair

    def add(self, key, cost):
        for cell in enumerate(sketch_columns(key, self.rows, self.columns, self.seed)):
            self.F[cell] = self.F.get(cell, 0) + 1
            self.W[cell] = self.W.get(cell, 0.0) + cost

    def look(self):
        now = self.ratios()
        if self.snapshot is None:
            self.snapshot = now
            return None
        cells = self.cells if self.stability == "printed" else list(self.snapshot)
        moved = total = 0.0
        for cell in self.cells:
            if cell in cells:
                moved += abs(self.snapshot.get(cell, 0.0) - now.get(cell, 0.0))
                total += self.snapshot.get(cell, 0.0)
        error = moved / total if total > 0 else (0.0 if moved == 0 else float("inf"))
        self.errors.append(error)
        if error > self.tolerance:
            self.snapshot = now
            return None
        pair = dict(self.F), dict(self.W)
        self.restart()
        return pair


def greedy_schedule(costs, machines):
    load = [0] * machines
    assignment = []
    for cost in costs:
        machine = load.index(min(load))
        load[machine] += cost
        assignment.append(machine)
    return assignment, max(load)


def optimal_makespan(costs, machines):
    """Return the least makespan of all machines ** tasks schedules."""
    best = sum(costs)
    for code in range(machines ** len(costs)):
        load = [0] * machines
        for cost in costs:
            load[code % machines] += cost
            code //= machines
        best = min(best, max(load))
    return best
