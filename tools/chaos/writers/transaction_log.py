"""The history of a ZooKeeper store: its transaction log, which names the session of every write.

A log file is a header of 16 bytes, then transactions: checksum (8), length (4), the transaction, one byte 0x42. It ends
with zeros, or with the incomplete end that a killed server left. Numbers are big-endian; texts and buffers are preceded
by their length (jute). Of a transaction the header (session, number, zxid, time, kind) is read, and the paths that it
creates, writes or deletes; a rejected one has only parts of the kind `error`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

from tools.chaos.writers.one_writer import Written

_FILE_HEAD_BYTES = 16
_FRAME = struct.Struct(">qi")
_HEAD = struct.Struct(">qiqqi")
_NUMBER = struct.Struct(">i")
_MULTI = 14
_WRITES = frozenset(
    {1, 2, 5, 15, 19, 20, 21}
)  # create, delete, setData, create2, createContainer, deleteContainer, TTL


def history_of_log(data_folder: Path, chroot: str) -> Iterator[Written]:
    """The writes below `chroot` (paths without it), from the beginning."""
    files = sorted((data_folder / "version-2").glob("log.*"), key=lambda file: int(file.suffix[1:], 16))
    for file in files:
        for transaction in _transactions(file.read_bytes()):
            session_id, _, zxid, _, kind = _HEAD.unpack_from(transaction)
            for path in _paths(kind, transaction[_HEAD.size :]):
                if path.startswith(chroot + "/"):
                    yield Written(zxid, session_id, path.removeprefix(chroot))


def _transactions(data: bytes) -> Iterator[bytes]:
    at = _FILE_HEAD_BYTES
    while at + _FRAME.size <= len(data):
        _, size_bytes = _FRAME.unpack_from(data, at)
        at += _FRAME.size
        if size_bytes <= 0 or at + size_bytes > len(data):
            return
        yield data[at : at + size_bytes]
        at += size_bytes + 1


def _paths(kind: int, body: bytes) -> Iterator[str]:
    if kind in _WRITES:
        yield _sized(body, 0).decode()
    elif kind == _MULTI:
        at = _NUMBER.size
        for _ in range(_NUMBER.unpack_from(body)[0]):
            part_kind = _NUMBER.unpack_from(body, at)[0]
            part = _sized(body, at + _NUMBER.size)
            at += 2 * _NUMBER.size + len(part)
            yield from _paths(part_kind, part)


def _sized(body: bytes, at: int) -> bytes:
    size_bytes = max(0, _NUMBER.unpack_from(body, at)[0])
    return body[at + _NUMBER.size : at + _NUMBER.size + size_bytes]
