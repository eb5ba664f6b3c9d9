"""The allocation matrices of pipeline-based linear scheduling, step by step.

This is Proposition 1 and Algorithm 1 of Tantalaki et al. 2020. With G = gcd(t, N), t' = t/G and N'
= N/G every matrix has t rows (steps) and N columns (nodes), seen as t' x N' blocks of G x G
entries. NumPy moves whole rows and blocks at each step. `streamlb.analysis` has the closed form of
the result.
"""

from __future__ import annotations

import math

import numpy as np


def common_tasks(t: int, nodes: int) -> int:
    """Return the least number of tasks from t on that has a common divisor with the nodes.

    These are the tasks that the paper adds where gcd(t, N) = 1 (section VII). A single node has
    no divisor to share, so that t stays.

    Examples
    --------
    >>> from streamlb.placement.matrices import common_tasks
    >>> common_tasks(5, 9), common_tasks(6, 9), common_tasks(3, 7)
    (6, 6, 7)
    """
    if nodes == 1:
        return t
    return next(more for more in range(t, t + nodes + 1) if math.gcd(more, nodes) > 1)


def initial(t: int, nodes: int) -> np.ndarray:
    """Return M_init(i, j) = iN + j (Eq. 2), tasks dealt to the nodes in turn: int64[t, nodes]."""
    return np.arange(t * nodes, dtype=np.int64).reshape(t, nodes)


def component_ids(tasks: np.ndarray, t: int) -> np.ndarray:
    """Return M'_init, the component of each task when all are padded to t tasks (Eq. 3)."""
    return tasks // t


def row_targets(t: int, nodes: int) -> np.ndarray:
    """Return where each row moves so that the classes i mod t' come together (Eq. 6): int64[t]."""
    g = math.gcd(t, nodes)
    rows = np.arange(t, dtype=np.int64)
    return rows // (t // g) + (rows % (t // g)) * g


def transpose_rows(matrix: np.ndarray) -> np.ndarray:
    """Return M'_trn, in which the rows have moved to their classes (Eq. 6)."""
    out = np.empty_like(matrix)
    out[row_targets(*matrix.shape)] = matrix
    return out


def block_targets(t: int, nodes: int) -> np.ndarray:
    """Return the block row to which each block moves (Eq. 10): int64[t', N']."""
    g = math.gcd(t, nodes)
    r, c = np.ogrid[: t // g, : nodes // g]
    return (r * (nodes // g) + c) % (t // g)


def move_blocks(matrix: np.ndarray) -> np.ndarray:
    """Return the matrix after Eq. 10, in which no two blocks of a block row are alike."""
    blocks = _as_blocks(matrix)
    target, column = block_targets(*matrix.shape), np.arange(blocks.shape[2])[None, :]
    out = np.empty_like(blocks)
    out[target, :, column, :] = blocks.transpose(0, 2, 1, 3)
    return out.reshape(matrix.shape)


def rotate_blocks(matrix: np.ndarray) -> np.ndarray:
    """Return M'_inter: entries move onto the diagonals of their blocks (Eq. 11).

    Inside a block, entry (r', c') moves to row (r' + c') mod G.
    """
    blocks = _as_blocks(matrix)
    g = blocks.shape[1]
    row, column = np.ogrid[:g, :g]
    out = np.empty_like(blocks)
    out[:, (row + column) % g, :, column] = blocks.transpose(1, 3, 0, 2)
    return out.reshape(matrix.shape)


def square(matrix: np.ndarray) -> np.ndarray:
    """Return the N x N schedule.

    It is the first N rows of the matrix. Where there are fewer, more block rows follow, each of
    which is the one before it shifted by a block.
    """
    t, nodes = matrix.shape
    if t >= nodes:
        return matrix[:nodes].copy()
    g = math.gcd(t, nodes)
    out = np.empty((nodes, nodes), matrix.dtype)
    out[:t] = matrix
    for top in range(t, nodes, g):
        out[top : top + g] = np.roll(out[top - g : top], g, axis=1)
    return out


def _as_blocks(matrix: np.ndarray) -> np.ndarray:
    """Return the matrix as [t', G, N', G]."""
    t, nodes = matrix.shape
    g = math.gcd(t, nodes)
    return matrix.reshape(t // g, g, nodes // g, g)
