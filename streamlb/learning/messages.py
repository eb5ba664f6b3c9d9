"""The messages between a scheduler, or a shedder, and operator instances, as plain bytes.

The papers, Rivetti et al. 2015 and 2016, say what is exchanged, not how it is written.

Layout, little-endian: magic ``SLM``, version (1 byte), kind (1 byte), the fixed fields of the kind,
the cells of the matrices if any, and a CRC-32 of everything before it. `decode` gives back the
message or raises `MessageError`: another version, truncated, altered, or numbers that no instance
can have measured.

Every message of an instance names its `incarnation`, a number that grows each time the instance
starts, so that what an earlier life sent late is known for what it is.
"""

from __future__ import annotations

import math
import struct
import zlib
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

VERSION = 1
_MAGIC = b"SLM"
_HEAD = struct.Struct("<3sBB")
_CRC = struct.Struct("<I")
_GREATEST, _MOST = 1e150, 2**62  # no sum of times or of counts comes near


class MessageError(ValueError):
    """Bytes that are not a message of this version, whole and unaltered."""


@dataclass(frozen=True, slots=True)
class Hello:
    """An instance says that it started, with nothing learnt."""

    KIND: ClassVar[int] = 0
    _fields: ClassVar[struct.Struct] = struct.Struct("<iQ")

    instance: int
    incarnation: int


@dataclass(frozen=True, slots=True, eq=False)
class Matrices:
    """A stable pair of matrices of an instance: its `sequence`-th, hashed with `seed`."""

    KIND: ClassVar[int] = 1
    _fields: ClassVar[struct.Struct] = struct.Struct("<iQQQII")

    instance: int
    incarnation: int
    sequence: int
    seed: int
    F: np.ndarray
    W: np.ndarray


@dataclass(frozen=True, slots=True)
class Request:
    """A scheduler's question, carried by a tuple: what it believes once that tuple is executed.

    `estimate` is its clock for the instance, `assigned` all it has ever assigned to it, by its own
    estimates.
    """

    KIND: ClassVar[int] = 2
    _fields: ClassVar[struct.Struct] = struct.Struct("<iqdd")

    instance: int
    epoch: int
    estimate: float
    assigned: float


@dataclass(frozen=True, slots=True)
class Reply:
    """An instance's answer after the tuple that carried a request, whose numbers it gives back."""

    KIND: ClassVar[int] = 3
    _fields: ClassVar[struct.Struct] = struct.Struct("<iQqddd")

    instance: int
    incarnation: int
    epoch: int
    clock: float
    estimate: float
    assigned: float

    @property
    def difference(self) -> float:
        """The instance's clock less what the scheduler believed it to be."""
        return self.clock - self.estimate


@dataclass(frozen=True, slots=True)
class Report:
    """A clock reported unasked, after `completed` tuples that took `busy` in all."""

    KIND: ClassVar[int] = 4
    _fields: ClassVar[struct.Struct] = struct.Struct("<iQqdd")

    instance: int
    incarnation: int
    completed: int
    clock: float
    busy: float


Message = Hello | Matrices | Request | Reply | Report
_KINDS: dict[int, Any] = {kind.KIND: kind for kind in (Hello, Matrices, Request, Reply, Report)}


def _seal(kind: int, body: bytes) -> bytes:
    data = _HEAD.pack(_MAGIC, VERSION, kind) + body
    return data + _CRC.pack(zlib.crc32(data))


def encode(message: Message) -> bytes:
    """Return a message as bytes.

    Examples
    --------
    >>> from streamlb.learning.messages import MessageError, Request, decode, encode
    >>> data = encode(Request(instance=2, epoch=7, estimate=12.5, assigned=40.0))
    >>> decode(data)
    Request(instance=2, epoch=7, estimate=12.5, assigned=40.0)
    >>> try:
    ...     decode(data[:-1])
    ... except MessageError as error:
    ...     print(error)
    message must be unaltered: its checksum does not match (truncated or changed)
    """
    if isinstance(message, Matrices):
        head = message._fields.pack(
            message.instance, message.incarnation, message.sequence, message.seed, *message.F.shape
        )
        return _seal(message.KIND, head + message.F.astype("<i8").tobytes() + message.W.astype("<f8").tobytes())
    fields = [getattr(message, name) for name in message.__dataclass_fields__ if name not in ("KIND", "_fields")]
    return _seal(message.KIND, message._fields.pack(*fields))


def size_of(kind: Any, rows: int = 0, columns: int = 0) -> int:
    """Return the length in bytes of an encoded message of a kind, with matrices of this shape."""
    return _HEAD.size + kind._fields.size + _CRC.size + (16 * rows * columns if kind is Matrices else 0)


def decode(data: Any) -> Message:
    """Return the message that these bytes are, or raise `MessageError`."""
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise TypeError(f"message must be bytes, got {type(data).__name__}")
    data = bytes(data)
    if len(data) < _HEAD.size + _CRC.size or data[:3] != _MAGIC:
        raise MessageError("message must start with streamlb's mark and be whole")
    if zlib.crc32(data[:-4]) != _CRC.unpack(data[-4:])[0]:
        raise MessageError("message must be unaltered: its checksum does not match (truncated or changed)")
    _, version, number = _HEAD.unpack_from(data)
    if version != VERSION:
        raise MessageError(f"message must be of version {VERSION}, got version {version}")
    kind = _KINDS.get(number)
    if kind is None:
        raise MessageError(f"message must be of a known kind, got kind {number}")
    body = data[_HEAD.size : -_CRC.size]
    if len(body) < kind._fields.size:
        raise MessageError(f"message must hold all fields of {kind.__name__}, got {len(body)} bytes")
    fields = kind._fields.unpack_from(body)
    rest = body[kind._fields.size :]
    message = _matrices(fields, rest) if kind is Matrices else _plain(kind, fields, rest)
    if message.instance < 0:
        raise MessageError(f"message must name an instance that is not negative, got {message.instance}")
    if max(getattr(message, "incarnation", 0), getattr(message, "sequence", 0)) >= 2**63:
        raise MessageError("message must number lives and matrices below 2**63")
    return message


def _plain(kind: Any, fields: tuple, rest: bytes) -> Any:
    if rest:
        raise MessageError(f"message must end after the fields of {kind.__name__}, got {len(rest)} bytes more")
    if not all(math.isfinite(value) and abs(value) < _GREATEST for value in fields):
        raise MessageError(f"message must hold finite numbers below {_GREATEST:g}, got {fields}")
    return kind(*fields)


def _matrices(fields: tuple, rest: bytes) -> Matrices:
    instance, incarnation, sequence, seed, rows, columns = fields
    cells = rows * columns
    if cells == 0 or len(rest) != 16 * cells:
        raise MessageError(f"message must hold two matrices of {rows} x {columns}, got {len(rest)} bytes of cells")
    F = np.frombuffer(rest, "<i8", cells).astype(np.int64).reshape(rows, columns)
    W = np.frombuffer(rest, "<f8", cells, 8 * cells).astype(np.float64).reshape(rows, columns)
    if not (W.min() >= 0.0 and W.max() < _GREATEST and F.min() >= 0 and F.sum(dtype=np.float64) < _MOST):
        raise MessageError("message must hold counts and times that are finite, not negative and not beyond measure")
    return Matrices(instance, incarnation, sequence, seed, F, W)
