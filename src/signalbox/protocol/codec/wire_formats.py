"""Helpers of the generated code: caches of `struct` packers by the lengths of variable fields, and the rare slow
branches."""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct, error
from typing import Any

from signalbox.common.limits import MAX_ARRAY_ELEMENTS
from signalbox.protocol.codec_errors import DecodeError, EncodeError
from signalbox.protocol.varint import read_uvarint, uvarint

FORMAT_LETTERS = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "float64": "d",
    "uuid": "16s",
}

LETTER_SIZES = {"?": 1, "b": 1, "B": 1, "h": 2, "H": 2, "i": 4, "I": 4, "q": 8, "d": 8, "16s": 16}

LONGEST_STRING_BYTES = 32767

_CACHED_SHAPES = 512
"""Maximum number of entries of each cache: the keys are lengths that a peer chooses, so it must be limited."""


class ArrayReader(dict[int, Callable[[Any, int], tuple[Any, ...]]]):
    """Array length as read -> `unpack_from` for that many elements and the fixed fields behind them."""

    def __init__(self, element: str, following: str, bias: int) -> None:
        super().__init__()
        self.element = element
        self.following = following
        self.bias = bias

    def __missing__(self, length: int) -> Callable[[Any, int], tuple[Any, ...]]:
        count = length - self.bias
        if count < 0:
            raise DecodeError("null where an array must be")
        if count > MAX_ARRAY_ELEMENTS:
            raise DecodeError(f"an array of {count} numbers: {MAX_ARRAY_ELEMENTS} are allowed")
        unpack = Struct(f">{count}{self.element}{self.following}").unpack_from
        if len(self) < _CACHED_SHAPES:
            self[length] = unpack
        return unpack


class ShapePacker(dict[Any, Callable[..., bytes]]):
    """Lengths of the variable fields of a run -> a function that packs the whole run.

    `template` has letters of fixed fields and, for each variable field, a pair (length letter, element letter): ("B",
    "s") is a compact string, ("i", "i") a classic array of int32. The key is the length as it is written (compact: one
    more than the count), or a tuple of them when there are several.
    """

    def __init__(self, template: tuple[str | tuple[str, str], ...]) -> None:
        super().__init__()
        self.template = template

    def __missing__(self, key: Any) -> Callable[..., bytes]:
        packer = self._make(key if isinstance(key, tuple) else (key,))
        if len(self) >= _CACHED_SHAPES:
            self.clear()
        self[key] = packer
        return packer

    def _make(self, lengths: tuple[int, ...]) -> Callable[..., bytes]:
        letters = [">"]
        long_lengths: list[tuple[int, bytes]] = []
        position = 0
        remaining = iter(lengths)
        for part in self.template:
            if isinstance(part, str):
                letters.append(part)
                position += part != "x"
                continue
            length_letter, element = part
            length = next(remaining)
            compact = length_letter == "B"
            count = max(length - compact, 0)
            if element == "s" and count > LONGEST_STRING_BYTES:
                raise EncodeError(f"a string of {count} bytes")
            if compact and length > 127:
                written = uvarint(length)
                long_lengths.append((position, written))
                length_letter = f"{len(written)}s"
            letters.append(f"{length_letter}{count}{element}")
            position += 2 if element == "s" else 1 + count
        pack = Struct("".join(letters)).pack
        return _with_long_lengths(pack, long_lengths) if long_lengths else pack


def _with_long_lengths(pack: Callable[..., bytes], replaced: list[tuple[int, bytes]]) -> Callable[..., bytes]:
    """Compact lengths over 127 take more than the one byte that the caller passes: insert their bytes."""

    def pack_long(*values: Any) -> bytes:
        changed = list(values)
        for position, written in replaced:
            changed[position] = written
        return pack(*changed)

    return pack_long


def long_length(buffer: Any, offset: int) -> tuple[int, int]:
    """A compact length of more than one byte, checked against the rest of the buffer."""
    length, offset = read_uvarint(buffer, offset)
    if length - 1 > len(buffer) - offset:
        raise DecodeError(f"{length - 1} bytes or elements needed at {offset}, the buffer has {len(buffer)}")
    return length, offset


def long_string_length(buffer: Any, offset: int) -> tuple[int, int]:
    """As `long_length`, for strings."""
    length, offset = long_length(buffer, offset)
    if length > LONGEST_STRING_BYTES + 1:
        raise DecodeError(f"a string of {length - 1} bytes: {LONGEST_STRING_BYTES} are allowed")
    return length, offset


def check_count(count: int, least_size: int, buffer: Any, offset: int) -> None:
    """Reject an array that cannot fit, before anything is allocated for it."""
    if count * least_size > len(buffer) - offset:
        raise DecodeError(f"{count} elements claimed, {len(buffer) - offset} bytes are left")
    if count > MAX_ARRAY_ELEMENTS:
        raise DecodeError(f"an array of {count} elements: {MAX_ARRAY_ELEMENTS} are allowed")


def reject_null() -> None:
    raise DecodeError("null where a value must be")


def reject_overrun() -> None:
    raise DecodeError("a value runs over the end of the buffer")


def reject_field() -> None:
    """Stops an encode; afterwards the interpreter finds the field."""
    raise EncodeError


def read_unknown_tags(buffer: Any, offset: int, holder: Any) -> int:
    """Keep all tagged fields of a struct without known tags; returns the offset behind them."""
    count, offset = read_uvarint(buffer, offset)
    check_count(count, 2, buffer, offset)
    unknown_tags = {}
    for _ in range(count):
        tag, offset = read_uvarint(buffer, offset)
        size, offset = read_uvarint(buffer, offset)
        if size > len(buffer) - offset:
            reject_overrun()
        unknown_tags[tag] = bytes(buffer[offset : offset + size])
        offset += size
    holder.unknown_tags = unknown_tags
    return offset


def tagged_section(bodies: dict[int, bytes], unknown: dict[int, bytes] | None) -> bytes:
    """Tagged fields as bytes, by ascending tag; an empty section is a single zero."""
    if unknown:
        if not unknown.keys().isdisjoint(bodies):
            raise EncodeError
        bodies = {**bodies, **unknown}
    parts = [uvarint(len(bodies))]
    for tag in sorted(bodies):
        parts += (uvarint(tag), uvarint(len(bodies[tag])), bodies[tag])
    return b"".join(parts)


MALFORMED = (error, IndexError, OverflowError, MemoryError)
"""Exceptions, besides DecodeError, that generated code can raise when it decodes malformed bytes."""
