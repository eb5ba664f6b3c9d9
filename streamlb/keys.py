"""The one way in for keys: whatever a key is and whatever holds it, it becomes one 64-bit number.

An integer from -2**63 to 2**64 - 1 is itself modulo 2**64; an integer beyond that is refused. A str
or bytes becomes its xxhash64 with seed 42 over the (UTF-8) bytes. Spark's SQL function ``xxhash64``
gives the same for a string or binary column, so that a key routed in Python and in Spark lands on
the same worker. Everything else is refused, and the error names the position of the first bad key.
The kernels rely on arrays of keys being uint64, C-contiguous and writeable: for a read-only or
strided array Numba would compile them again.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

from streamlb._jit import njit
from streamlb.hashing import xxhash64

_SPARK_SEED = np.uint64(42)
_MASK = 0xFFFFFFFFFFFFFFFF
_RULE = "keys must be integers, str or bytes, all of one kind"


@njit(cache=True, nogil=True)
def _hash_bytes(data):
    """Return xxhash64 of one bytes object, as int64."""
    return np.int64(xxhash64(data, 0, len(data), _SPARK_SEED))


@njit(cache=True, nogil=True)
def _hash_many(data, offsets, out):
    """Hash data[offsets[i]:offsets[i + 1]] for every i."""
    for i in range(out.size):
        out[i] = xxhash64(data, offsets[i], offsets[i + 1], _SPARK_SEED)


def key_int(key: Any) -> int:
    """Return one key as a signed 64-bit Python int.

    This is the form in which a live call hands a key to a kernel.

    Parameters
    ----------
    key : int, str or bytes
        NumPy's integers, ``numpy.str_`` and ``numpy.bytes_`` are taken, too.

    Examples
    --------
    >>> from streamlb.keys import key_int
    >>> key_int(17), key_int(2**64 - 1), key_int("user-17") == key_int(b"user-17")
    (17, -1, True)
    """
    kind = type(key)
    if kind is str:
        try:
            return _hash_bytes(key.encode())
        except UnicodeEncodeError as error:
            raise ValueError(f"key must be valid unicode, got {key!r}") from error
    if kind is int:
        if -0x8000000000000000 <= key <= 0x7FFFFFFFFFFFFFFF:
            return key
        return _signed(key)
    if kind is bytes:
        return _hash_bytes(key)
    if isinstance(key, np.integer) or (isinstance(key, int) and not isinstance(key, bool)):
        return _signed(int(key))
    if isinstance(key, str):
        return key_int(str(key))
    if isinstance(key, bytes):
        return _hash_bytes(bytes(key))
    raise TypeError(f"key must be an int, str or bytes, got {key!r} of type {kind.__name__}")


def keys_of(name: str, keys: Any) -> np.ndarray:
    """Return `key_array(keys)`; an error names the argument that holds the keys."""
    try:
        return key_array(keys)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name} must hold keys: {error}") from None


def key_array(keys: Any) -> np.ndarray:
    """Return keys as uint64[m]: the same number for the same key, whatever holds it.

    Parameters
    ----------
    keys : array-like
        A list, tuple or other iterable of int, str or bytes; a NumPy array of any integer dtype, of
        str, bytes or objects of those; a pandas Series or Index; an Arrow array or chunked array of
        integers, strings, binary or a dictionary of those.

    Returns
    -------
    uint64[m]
        C-contiguous and writeable. A uint64 array that is both already is returned as it is, not
        copied.

    Raises
    ------
    TypeError
        For floats, None, NaN, booleans and mixed keys; the message names the position of the first
        bad key.
    ValueError
        For integers that do not fit 64 bits.

    Examples
    --------
    >>> import numpy as np
    >>> from streamlb import key_array
    >>> key_array(np.array([-1, 7], dtype=np.int8))
    array([18446744073709551615,                    7], dtype=uint64)
    >>> bool(key_array(["a", "b"])[1] == key_array(np.array(["b"]))[0])
    True
    """
    if isinstance(keys, np.ndarray):
        return _from_numpy(keys)
    if isinstance(keys, (str, bytes, bytearray)):
        raise TypeError(f"keys must be a sequence of keys, got a single {type(keys).__name__}: {keys!r}")
    package = type(keys).__module__.partition(".")[0]
    if package == "pyarrow":
        return _from_arrow(keys)
    if package == "pandas":
        return _from_pandas(keys)
    if not isinstance(keys, Iterable):
        raise TypeError(f"keys must be a sequence of keys, got {keys!r} of type {type(keys).__name__}")
    return _from_objects(keys if isinstance(keys, (list, tuple)) else list(keys))


def _check_range(key: int, where: str = "") -> None:
    if not -0x8000000000000000 <= key <= _MASK:
        raise ValueError(f"keys must be integers of 64 bits, from -2**63 to 2**64 - 1; got {key}{where}")


def _signed(key: int) -> int:
    _check_range(key)
    key &= _MASK
    return key - 0x10000000000000000 if key > 0x7FFFFFFFFFFFFFFF else key


def _bad(position: int, key: Any) -> TypeError:
    return TypeError(f"{_RULE}; got {key!r} of type {type(key).__name__} at position {position}")


def _from_numpy(array: np.ndarray) -> np.ndarray:
    if array.ndim != 1:
        raise ValueError(f"keys must have one dimension, got shape {array.shape}")
    kind = array.dtype.kind
    if kind == "u" or (kind == "i" and array.dtype.itemsize == 8):
        # An int64 seen as uint64 is the number modulo 2**64; smaller unsigned ones are widened.
        wide = array.astype(np.uint64) if kind == "u" and array.dtype != np.uint64 else array
        wide = np.ascontiguousarray(wide, dtype=wide.dtype.newbyteorder("="))
        wide = wide if wide.flags.writeable else wide.copy()
        return wide.view(np.uint64)
    if kind == "i":
        return array.astype(np.int64).view(np.uint64)
    if kind == "T":
        array = array.astype(object)
    if array.dtype.kind in "OUS":
        return _from_objects(array.tolist())
    if array.size == 0:
        return np.empty(0, np.uint64)
    raise _bad(0, array[0])


def _from_objects(keys: list | tuple) -> np.ndarray:
    kinds = set(map(type, keys))
    if kinds <= {int}:
        try:
            return np.array(keys, dtype=np.int64).view(np.uint64)
        except OverflowError:
            return _wide(keys)
    if kinds <= {str}:
        return _from_encoded([_encode(i, key) for i, key in enumerate(keys)])
    if kinds <= {bytes}:
        return _from_encoded(list(keys))
    # Subclasses, NumPy scalars, or something bad: all must be of the kind of the first.
    families = [_family(key) for key in keys]
    for position, family in enumerate(families):
        if family is None or family is not families[0]:
            raise _bad(position, keys[position])
    if families[0] is int:
        return _wide(keys)
    if families[0] is str:
        return _from_encoded([_encode(i, str(key)) for i, key in enumerate(keys)])
    return _from_encoded([bytes(key) for key in keys])


def _wide(keys: list | tuple) -> np.ndarray:
    for position, key in enumerate(keys):
        _check_range(int(key), f" at position {position}")
    return np.array([int(key) & _MASK for key in keys], dtype=np.uint64)


def _encode(position: int, key: str) -> bytes:
    try:
        return key.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"keys must be valid unicode; got {key!r} at position {position}") from error


def _family(key: Any) -> type | None:
    if isinstance(key, (bool, np.bool_)):
        return None
    if isinstance(key, (int, np.integer)):
        return int
    if isinstance(key, str):
        return str
    return bytes if isinstance(key, bytes) else None


def _from_encoded(encoded: list[bytes]) -> np.ndarray:
    offsets = np.fromiter(itertools.accumulate(map(len, encoded), initial=0), np.int64, len(encoded) + 1)
    return _hash_buffer(b"".join(encoded), offsets)


def _hash_buffer(data: Any, offsets: np.ndarray) -> np.ndarray:
    out = np.empty(offsets.size - 1, np.uint64)
    # frombuffer of an immutable buffer is read-only: always the same type to the kernel.
    view = np.frombuffer(data if data is not None and len(data) else b"\0", np.uint8)
    if view.flags.writeable:
        view = view.view()
        view.flags.writeable = False
    _hash_many(view, offsets, out)
    return out


def _from_pandas(series: Any) -> np.ndarray:
    if not hasattr(series, "dtype"):
        raise TypeError(f"keys must be one column, a Series or an Index, got a {type(series).__name__}")
    if isinstance(series.dtype, np.dtype):
        return _from_numpy(series.to_numpy())
    missing = series.isna()
    missing = missing if isinstance(missing, np.ndarray) else missing.to_numpy()
    if missing.any():
        raise _bad(int(np.argmax(missing)), None)
    if hasattr(series.dtype, "categories"):
        codes = series.cat.codes.to_numpy() if hasattr(series, "cat") else series.codes
        return _take(_from_pandas(series.dtype.categories), codes)
    values = series.array
    if "pyarrow" in sys.modules and hasattr(values, "__arrow_array__") and series.dtype.kind == "O":
        return _from_arrow(values.__arrow_array__())
    return _from_numpy(
        series.to_numpy(dtype=object) if series.dtype.kind not in "iu" else series.to_numpy(series.dtype.kind + "8")
    )


def _take(hashed: np.ndarray, codes: np.ndarray) -> np.ndarray:
    return hashed[codes] if hashed.size else np.empty(0, np.uint64)


def _from_arrow(array: Any) -> np.ndarray:
    import pyarrow as pa

    if isinstance(array, pa.ChunkedArray):
        parts, start = [], 0
        for chunk in array.chunks:
            parts.append(_from_arrow_chunk(chunk, start))
            start += len(chunk)
        return np.concatenate(parts) if parts else np.empty(0, np.uint64)
    if not isinstance(array, pa.Array):
        raise TypeError(f"keys must be an Arrow array or chunked array, got {type(array).__name__}")
    return _from_arrow_chunk(array, 0)


def _from_arrow_chunk(array: Any, start: int) -> np.ndarray:
    """Hash one Arrow array from its buffers; errors count positions from `start`."""
    import pyarrow as pa

    kind, types = array.type, pa.types
    width: type[np.signedinteger]
    if array.null_count:
        nulls = array.is_null().to_numpy(zero_copy_only=False)
        raise _bad(start + int(np.argmax(nulls)), None)
    if types.is_dictionary(kind):
        try:
            hashed = _from_arrow_chunk(array.dictionary, 0)
        except TypeError:
            hashed = None
        if hashed is None:  # a bad entry, perhaps one that no key uses: look at the keys themselves
            return _from_arrow_chunk(array.dictionary_decode(), start)
        return _take(hashed, array.indices.to_numpy())
    if types.is_integer(kind):
        return _from_numpy(array.to_numpy())
    if types.is_string(kind) or types.is_binary(kind):
        width = np.int32
    elif types.is_large_string(kind) or types.is_large_binary(kind):
        width = np.int64
    elif types.is_fixed_size_binary(kind) or kind in (pa.string_view(), pa.binary_view()):
        return _from_arrow_chunk(
            array.cast(pa.large_string() if kind == pa.string_view() else pa.large_binary()), start
        )
    else:
        if len(array) == 0:
            return np.empty(0, np.uint64)
        raise _bad(start, array[0].as_py())
    _, offsets, data = array.buffers()
    if len(array) == 0:
        return np.empty(0, np.uint64)
    where = np.frombuffer(offsets, width)[array.offset : array.offset + len(array) + 1]
    return _hash_buffer(data, where.astype(np.int64))


def key_batch(keys: Any) -> tuple[np.ndarray, bool]:
    """Return uint64[m] and whether `keys` was a single key; for calls that take one key or many."""
    if isinstance(keys, (int, np.integer, str, bytes)):
        return np.array([key_int(keys)], dtype=np.int64).view(np.uint64), True
    return key_array(keys), False
