"""Recorded streams: keys in the order in which they came, from memory or from a file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from streamlb import _check
from streamlb.keys import key_array
from streamlb.streams import CHUNK, Stream


class Trace(Stream):
    """Recorded keys, in their order: an array, a text file, a ``.npy`` file or a column of Parquet.

    Parameters
    ----------
    source : array-like or path
        Keys (see `streamlb.key_array`), or a file. A path that ends in ``.parquet`` or is a folder
        is read as Parquet, one in ``.npy`` as NumPy, anything else as text with one key in each
        line.
    column : str, optional
        The Parquet column; needed for Parquet alone.

    Examples
    --------
    >>> from streamlb import Trace
    >>> trace = Trace(["a", "b", "a"])
    >>> trace.messages, trace.keys, trace.pmf.round(2).tolist()
    (3, 2, [0.67, 0.33])

    Notes
    -----
    Files are read as they are drawn, in constant memory. The seed is ignored: a trace is what it
    is.
    """

    def __init__(self, source: Any, column: str | None = None):
        self.column = column
        self._array: np.ndarray | None = None
        self._counts: np.ndarray | None = None
        self.path: str | None = None
        if isinstance(source, (str, os.PathLike)):
            self.path = os.fspath(source)
            if not os.path.exists(self.path):
                raise ValueError(f"source must be an existing file, got {self.path!r}")
            if self._is_parquet() and column is None:
                raise ValueError(f"column must be given for a Parquet source, got None for {self.path!r}")
            self.messages = (
                sum(chunk.size for chunk in self._read()) if not self._is_parquet() else self._parquet_rows()
            )
        else:
            self._array = key_array(source)
            self.messages = self._array.size

    @property
    def keys(self) -> int:  # type: ignore[override]
        """How many distinct keys the trace has; reads it once."""
        return self.pmf.size

    @property
    def pmf(self) -> np.ndarray:
        """The share of each distinct key, largest first; reads the trace once."""
        if self._counts is None:
            distinct, counts = np.empty(0, np.uint64), np.empty(0, np.int64)
            for chunk in self._read(1 << 20):
                distinct, index = np.unique(np.concatenate([distinct, chunk]), return_inverse=True)
                counts = np.bincount(index, np.concatenate([counts, np.ones(chunk.size)]), distinct.size)
            self._counts = np.sort(counts)[::-1]
        return self._counts / max(1, self.messages or 0)

    def draw(self, m: int | None = None, seed: Any = 0, start: int = 0) -> np.ndarray:
        """Return messages start .. start+m-1; a ValueError past the end."""
        return np.concatenate([np.empty(0, np.uint64), *self.chunks(m, seed, start=start)])

    def chunks(self, m: int | None = None, seed: Any = 0, size: int = CHUNK, start: int = 0) -> Iterator[np.ndarray]:
        """Yield the messages in arrays of `size`, read as they are needed."""
        m, start = self._span(m, start)
        size = _check.integer("size", size, 1)
        if start + m > (self.messages or 0):
            raise ValueError(f"m must be at most {max(0, (self.messages or 0) - start)} from start {start}, got {m}")

        def generate() -> Iterator[np.ndarray]:
            at = 0
            for chunk in self._read(size):
                low, high = max(start, at), min(start + m, at + chunk.size)
                if low < high:
                    yield chunk[low - at : high - at]
                at += chunk.size
                if at >= start + m:
                    return

        return generate()

    def _is_parquet(self) -> bool:
        return self.path is not None and (self.path.endswith(".parquet") or os.path.isdir(self.path))

    def _parquet_rows(self) -> int:
        import pyarrow.dataset as ds

        data = ds.dataset(self.path, format="parquet")
        if self.column not in data.schema.names:
            raise ValueError(f"column must be one of {', '.join(data.schema.names)}, got {self.column!r}")
        return data.count_rows()

    def _read(self, size: int = CHUNK) -> Iterator[np.ndarray]:
        """Yield the whole trace in arrays of at most `size` keys."""
        if self._array is not None:
            for first in range(0, self._array.size, size):
                yield self._array[first : first + size]
        elif self._is_parquet():
            import pyarrow.dataset as ds

            for batch in ds.dataset(self.path, format="parquet").to_batches(columns=[self.column], batch_size=size):
                yield key_array(batch.column(0))
        elif self.path is not None and self.path.endswith(".npy"):
            array = np.load(self.path, mmap_mode="r", allow_pickle=False)
            for first in range(0, array.shape[0], size):
                yield key_array(np.array(array[first : first + size]))
        else:
            with open(self.path or "", "rb") as file:
                while lines := file.readlines(64 * size):
                    for first in range(0, len(lines), size):
                        yield key_array([line.rstrip(b"\r\n") for line in lines[first : first + size]])

    def __repr__(self) -> str:
        return f"Trace({self.path or 'array'}, {self.messages} messages)"
