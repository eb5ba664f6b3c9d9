"""State as bytes: with a version and a checksum, and with nothing but numbers in it.

The layout is: the mark ``SLB1``; the length of the header (uint32, little-endian); the header
(JSON: class, version, parameters, and each array's name, dtype and shape); the arrays one after the
other; a CRC-32 of everything before it.
"""

from __future__ import annotations

import json
import math
import struct
import zlib
from typing import Any

import numpy as np

_MAGIC = b"SLB1"


def pack(kind: str, version: int, parameters: dict[str, Any], arrays: dict[str, np.ndarray]) -> bytes:
    """Return the bytes of a class's parameters and arrays."""
    header = json.dumps(
        {
            "class": kind,
            "version": version,
            "parameters": parameters,
            "arrays": [[name, array.dtype.str, list(array.shape)] for name, array in arrays.items()],
        }
    ).encode()
    body = b"".join([_MAGIC, struct.pack("<I", len(header)), header, *(array.tobytes() for array in arrays.values())])
    return body + struct.pack("<I", zlib.crc32(body))


def unpack(data: bytes, kind: str, version: int) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the (parameters, arrays) that were given to `pack` for this class and version.

    Anything else raises a ValueError.
    """
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise TypeError(f"state must be bytes, got {type(data).__name__}")
    data = bytes(data)
    if len(data) < 12 or data[:4] != _MAGIC:
        raise ValueError("state must be bytes from state(): it does not start with streamlb's mark")
    if zlib.crc32(data[:-4]) != struct.unpack("<I", data[-4:])[0]:
        raise ValueError(
            "state must be unaltered bytes from state(): its checksum does not match (truncated or changed)"
        )
    (length,) = struct.unpack("<I", data[4:8])
    try:
        header = json.loads(data[8 : 8 + length])
        found, found_version = header["class"], header["version"]
        parameters, layout = header["parameters"], header["arrays"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError("state must be bytes from state(): its header cannot be read") from error
    if found != kind:
        raise ValueError(f"state must be of class {kind}, got one of {found}")
    if found_version != version:
        raise ValueError(f"state must be of version {version} of {kind}, got version {found_version}")
    arrays, at = {}, 8 + length
    for name, dtype, shape in layout:
        size = math.prod(shape) * np.dtype(dtype).itemsize
        arrays[name] = np.frombuffer(data, dtype, math.prod(shape), at).reshape(shape).copy()
        at += size
    if at != len(data) - 4:
        raise ValueError("state must be bytes from state(): its arrays do not fill it")
    return parameters, arrays


def fill(target: np.ndarray, arrays: dict[str, np.ndarray], name: str) -> None:
    """Copy the unpacked array `name` into `target`.

    Raises a ValueError where the array is absent or has another shape or dtype.
    """
    source = arrays.get(name)
    if source is None or source.shape != target.shape or source.dtype != target.dtype:
        raise ValueError(f"state must hold {name} of shape {target.shape} and dtype {target.dtype}")
    target[...] = source
