"""Twins of the groupings for unequal workers and of the slotted simulation of their queues."""

MASK = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15


def _mix(x):
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def _candidate(key, seed, i, n):
    return ((_mix((key + seed + i * GOLDEN) & MASK) >> 32) * n) >> 32


def _full(load, sent, n, epsilon):
    """Return the test for a full worker; a message of no weight before any other finds every empty worker free."""
    cap = (1.0 + epsilon) / n * sent if sent else 0.5
    return [count >= cap for count in load]


def random_choices(keys, workers, sources=1, epsilon=0.01, max_probes=None, seed=0, weights=None):
    """Return (workers of the messages, loads by source, mean probes, most probes)."""
    if max_probes is None:
        max_probes = max(64, 8 * workers)
    load = [[0] * workers for _ in range(sources)]
    out, probes = [], []
    for i, key in enumerate(keys):
        mine, weight = load[i % sources], 1 if weights is None else weights[i]
        full = _full(mine, sum(mine) + weight, workers, epsilon)
        sequence = [_candidate(key, seed, probe, workers) for probe in range(max_probes)]
        free = [probe for probe, worker in enumerate(sequence) if not full[worker]]
        if free:
            worker, looked = sequence[free[0]], free[0] + 1
        else:
            start = sequence[0]
            worker = min(range(workers), key=lambda w: (mine[w], (w - start) % workers))
            looked = max_probes
        mine[worker] += weight
        out.append(worker)
        probes.append(looked)
    return out, load, sum(probes) / max(1, len(probes)), max(probes, default=0)


def bounded_hash(keys, workers, sources=1, epsilon=0.01, points=1, seed=0, weights=None):
    """Return (workers of the messages, loads by source, mean points looked at, most)."""
    ring_seed = seed ^ 0x52494E47
    size = workers * points
    ring = sorted((_mix((ring_seed + (i + 1) * GOLDEN) & MASK), i // points) for i in range(size))
    load = [[0] * workers for _ in range(sources)]
    out, probes = [], []
    for i, key in enumerate(keys):
        mine, weight = load[i % sources], 1 if weights is None else weights[i]
        full = _full(mine, sum(mine) + weight, workers, epsilon)
        place = _mix((key + seed) & MASK)
        start = next((j for j, (point, _) in enumerate(ring) if point >= place), 0)
        looked = next(j for j in range(size) if not full[ring[(start + j) % size][1]])
        worker = ring[(start + looked) % size][1]
        mine[worker] += weight
        out.append(worker)
        probes.append(looked + 1)
    return out, load, sum(probes) / max(1, len(probes)), max(probes, default=0)
