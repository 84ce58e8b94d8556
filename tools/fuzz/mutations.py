"""Mutations of a request: one small function per kind of error. Each takes the frame preceded by its size.

`MUTATIONS` maps a name to (weight, function). Functions get a random source and may return bytes of any length; the
size is corrected afterwards, except where a wrong size is the mutation.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import crc32c

Mutation = Callable[[bytes, random.Random], bytes]

_SIZE = 4
_HEADER = 12
_SMALL_LIES = (b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\x80\0\0\0", b"\0\x0f\x42\x40", b"\xff\xff\xff\xff\x0f")
_MAGIC_AT, _CRC_AT, _ATTRIBUTES_AT = 16, 17, 21


def _sized(payload: bytes) -> bytes:
    return len(payload).to_bytes(_SIZE) + payload


def untouched(frame: bytes, random_: random.Random) -> bytes:
    return frame


def flip_bits(frame: bytes, random_: random.Random) -> bytes:
    changed = bytearray(frame)
    for _ in range(random_.choice((1, 1, 2, 8))):
        at = random_.randrange(_SIZE, len(frame))
        changed[at] ^= 1 << random_.randrange(8)
    return bytes(changed)


def overwrite(frame: bytes, random_: random.Random) -> bytes:
    """Writes random bytes over a part of the body."""
    at = random_.randrange(min(_HEADER, len(frame) - 1), len(frame))
    noise = random_.randbytes(random_.choice((1, 2, 4, 16)))
    return _sized((frame[:at] + noise + frame[at + len(noise) :])[_SIZE:])


def truncate(frame: bytes, random_: random.Random) -> bytes:
    return _sized(frame[_SIZE : random_.randrange(_SIZE, len(frame))])


def extend(frame: bytes, random_: random.Random) -> bytes:
    return _sized(frame[_SIZE:] + random_.randbytes(random_.choice((1, 3, 100))))


def claim_millions(frame: bytes, random_: random.Random) -> bytes:
    """Writes a large length or count somewhere into the body, without the data."""
    at = random_.randrange(min(_HEADER, len(frame) - 1), len(frame))
    lie = random_.choice(_SMALL_LIES)
    return _sized((frame[:at] + lie + frame[at + len(lie) :])[_SIZE:])


def insert(frame: bytes, random_: random.Random) -> bytes:
    at = random_.randrange(_SIZE, len(frame))
    return _sized((frame[:at] + random_.randbytes(random_.choice((1, 2, 5))) + frame[at:])[_SIZE:])


def remove(frame: bytes, random_: random.Random) -> bytes:
    at = random_.randrange(_SIZE, len(frame))
    return _sized((frame[:at] + frame[at + random_.choice((1, 2, 4)) :])[_SIZE:])


def bad_text(frame: bytes, random_: random.Random) -> bytes:
    """Replaces text in the body by bytes that are not UTF-8."""
    return _sized(frame[_SIZE:].replace(b"fuzz", b"\xff\xfe\xc0z"))


def other_api(frame: bytes, random_: random.Random) -> bytes:
    api = random_.choice((random_.randrange(0, 90), random_.randrange(0, 65_536)))
    return frame[:_SIZE] + api.to_bytes(2) + frame[_SIZE + 2 :]


def other_version(frame: bytes, random_: random.Random) -> bytes:
    version = random_.choice((random_.randrange(0, 20), random_.randrange(0, 65_536)))
    return frame[: _SIZE + 2] + version.to_bytes(2) + frame[_SIZE + 4 :]


def garbage(frame: bytes, random_: random.Random) -> bytes:
    return _sized(random_.randbytes(random_.choice((0, 1, 7, 8, 10, 60, 400))))


def lying_size(frame: bytes, random_: random.Random) -> bytes:
    size = random_.choice((-1, -(2**31), 2**31 - 1, 104_857_601, random_.randrange(-(2**31), 0)))
    return size.to_bytes(_SIZE, signed=True) + frame[_SIZE:]


def other_protocol(frame: bytes, random_: random.Random) -> bytes:
    return random_.choice((b"GET / HTTP/1.1\r\n\r\n", bytes.fromhex("16030102000100"), b"\r\n\r\n\r\n"))


def lying_batch(frame: bytes, random_: random.Random) -> bytes:
    """A record batch with a changed header or body and a valid checksum."""
    at = _find_batch(frame)
    if at < 0:
        return flip_bits(frame, random_)
    batch = bytearray(frame[at:])
    size = min(len(batch), 12 + int.from_bytes(batch[8:12]))
    for _ in range(random_.choice((1, 2, 5))):
        where = random_.randrange(_ATTRIBUTES_AT, max(_ATTRIBUTES_AT + 1, size))
        if where < len(batch):
            batch[where] = random_.randrange(256)
    checksum: int = crc32c.crc32c(bytes(batch[_ATTRIBUTES_AT:size]))
    batch[_CRC_AT:_ATTRIBUTES_AT] = checksum.to_bytes(4)
    return frame[:at] + bytes(batch)


def wrong_magic(frame: bytes, random_: random.Random) -> bytes:
    at = _find_batch(frame)
    if at < 0:
        return truncate(frame, random_)
    return frame[: at + _MAGIC_AT] + bytes([random_.choice((0, 1, 3, 255))]) + frame[at + _MAGIC_AT + 1 :]


def _find_batch(frame: bytes) -> int:
    """The position of a batch: leader epoch -1, then magic 2, after base offset 0."""
    at = frame.find(b"\xff\xff\xff\xff\x02", _HEADER + 12)
    return at - 12 if at >= 0 and frame[at - 12 : at - 4] == bytes(8) else -1


MUTATIONS: dict[str, tuple[int, Mutation]] = {
    "untouched": (6, untouched),
    "bits flipped": (14, flip_bits),
    "overwritten": (12, overwrite),
    "truncated": (10, truncate),
    "trailing bytes": (6, extend),
    "claims millions": (12, claim_millions),
    "bytes inserted": (8, insert),
    "bytes removed": (8, remove),
    "bad UTF-8": (4, bad_text),
    "another API": (4, other_api),
    "another version": (4, other_version),
    "garbage": (3, garbage),
    "lying size": (2, lying_size),
    "another protocol": (1, other_protocol),
    "lying batch": (5, lying_batch),
    "wrong magic": (1, wrong_magic),
}
"""Name → (weight, function)."""
