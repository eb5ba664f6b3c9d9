"""Naive twins of hashing.py, keys.py, rng.py, streams.py and of the sketches."""

import math
import struct

from naive.ratios import fraction_of

MASK = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15


def mix(x):
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def fast_range(h, n):
    return ((h >> 32) * n) >> 32


def key_hash(key, seed):
    add, times = derive(seed, 2)
    return mix(((key + add) * (times | 1)) & MASK)


def candidate(key, seed, i, n):
    h = key_hash(key, seed)
    if i == 0:
        return fast_range(h, n)
    if i == 1:
        return ((h % 2**32) * n) >> 32
    return fast_range(mix((h + i * GOLDEN) & MASK), n)


def derive(seed, count):
    spread = mix((seed + GOLDEN) & MASK)
    return [mix((spread + (i + 1) * GOLDEN) & MASK) for i in range(count)]


def sketch_family(rows, seed):
    numbers = derive(seed, 3 * rows)
    return [numbers[3 * row : 3 * row + 3] for row in range(rows)]


def sketch_column(key, function, columns):
    a0, a1, b = function
    mixed = mix(key)
    return fast_range(((a0 + (mixed >> 32)) * (a1 + mixed % 2**32) + b) & MASK, columns)


def xxhash64(data, seed=42):
    """Return xxhash64, written from the specification."""
    p1, p2, p3, p4, p5 = (
        0x9E3779B185EBCA87,
        0xC2B2AE3D27D4EB4F,
        0x165667B19E3779F9,
        0x85EBCA77C2B2AE63,
        0x27D4EB2F165667C5,
    )

    def rotate(x, r):
        return ((x << r) | (x >> (64 - r))) & MASK

    def lane(acc, word):
        return (rotate((acc + word * p2) & MASK, 31) * p1) & MASK

    rest = data
    if len(data) >= 32:
        accs = [(seed + p1 + p2) & MASK, (seed + p2) & MASK, seed, (seed - p1) & MASK]
        while len(rest) >= 32:
            accs = [lane(acc, word) for acc, word in zip(accs, struct.unpack("<4Q", rest[:32]))]
            rest = rest[32:]
        h = sum(rotate(acc, r) for acc, r in zip(accs, (1, 7, 12, 18))) & MASK
        for acc in accs:
            h = ((h ^ lane(0, acc)) * p1 + p4) & MASK
    else:
        h = (seed + p5) & MASK
    h = (h + len(data)) & MASK
    while len(rest) >= 8:
        h = (rotate(h ^ lane(0, struct.unpack("<Q", rest[:8])[0]), 27) * p1 + p4) & MASK
        rest = rest[8:]
    if len(rest) >= 4:
        h = (rotate(h ^ (struct.unpack("<I", rest[:4])[0] * p1) & MASK, 23) * p2 + p3) & MASK
        rest = rest[4:]
    for byte in rest:
        h = (rotate(h ^ (byte * p5) & MASK, 11) * p1) & MASK
    h = ((h ^ (h >> 33)) * p2) & MASK
    h = ((h ^ (h >> 29)) * p3) & MASK
    return h ^ (h >> 32)


def key_number(key):
    """Return what a key becomes: an integer modulo 2**64, text and bytes by xxhash64."""
    if isinstance(key, int):
        return key % 2**64
    return xxhash64(key.encode() if isinstance(key, str) else key)


def random_bits(seed, index):
    return mix((seed + (index + 1) * GOLDEN) & MASK)


def alias_share(table, n):
    """Return the probability of each entry that an alias table stands for."""
    shares = [0.0] * n
    for column, entry in enumerate(table):
        threshold = (entry % 2**32) / 2**32
        shares[column] += threshold / n
        shares[entry >> 32] += (1 - threshold) / n
    return shares


def alias_stream(table, seed, start, m):
    """Return m draws of streams.py's alias kernel."""
    inner, n, out = derive(seed, 1)[0], len(table), []
    for index in range(start, start + m):
        bits = random_bits(inner, index)
        column = fast_range(bits, n)
        entry = table[column]
        out.append(column if bits % 2**32 < entry % 2**32 else entry >> 32)
    return out


def uniform_stream(keys, seed, start, m):
    inner = derive(seed, 1)[0]
    return [(random_bits(inner, index) * keys) >> 64 for index in range(start, start + m)]


class CountMin:
    """count_min.py"""

    def __init__(self, epsilon, delta, seed):
        self.rows = max(1, math.ceil(math.log2(1 / delta)))
        self.columns = math.ceil(math.e / epsilon)
        self.family = sketch_family(self.rows, seed)
        self.counts = [[0] * self.columns for _ in range(self.rows)]

    def update(self, key, weight=1):
        for row, function in enumerate(self.family):
            self.counts[row][sketch_column(key, function, self.columns)] += weight

    def estimate(self, key):
        return min(
            self.counts[row][sketch_column(key, function, self.columns)] for row, function in enumerate(self.family)
        )


class CostSketch:
    """cost_sketch.py"""

    def __init__(self, epsilon, delta, seed):
        self.count = CountMin(epsilon, delta, seed)
        self.cost = [[0.0] * self.count.columns for _ in range(self.count.rows)]

    def update(self, key, cost):
        self.count.update(key)
        for row, function in enumerate(self.count.family):
            self.cost[row][sketch_column(key, function, self.count.columns)] += cost

    def estimate(self, key, unseen):
        cells = []
        for row, function in enumerate(self.count.family):
            column = sketch_column(key, function, self.count.columns)
            cells.append((self.count.counts[row][column], row, self.cost[row][column]))
        count, _, cost = min(cells)
        return cost / count if count else unseen


class SpaceSaving:
    """space_saving.py: of equally small counters the one taken first is the least."""

    def __init__(self, capacity):
        self.capacity = capacity
        self.rows = []  # [key, count, error] in the order of slots
        self.cursor = 0
        self.level = None

    def update(self, key, weight=1):
        for row in self.rows:
            if row[0] == key:
                row[1] += weight
                return
        if len(self.rows) < self.capacity:
            self.rows.append([key, weight, 0])
            return
        least = min(row[1] for row in self.rows)
        if least != self.level:
            self.level, self.cursor = least, 0
        while self.rows[self.cursor][1] != least:
            self.cursor += 1
        row = self.rows[self.cursor]
        row[0], row[2] = key, row[1]
        row[1] += weight

    def heavy_hitters(self, threshold):
        total = sum(row[1] for row in self.rows)
        least = fraction_of(threshold) * total
        found = [tuple(row) for row in self.rows if row[1] >= least]
        return sorted(found, key=lambda row: (-row[1], row[0]))
