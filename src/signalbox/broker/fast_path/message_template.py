"""The template mechanism of Produce and Fetch: build a template from a request, find it again, fill in a response.

A message is constant bytes with variable parts between them. Where these are is found with the codec: the message is
encoded once with a *mark* in place of each variable part. Each mark must occur once; and the request, put together from
the constants and its own values, must be the frame that was received. Otherwise there is no template. Records are left
out of that comparison: they may be a megabyte, and any bytes may stand there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import repeat
from struct import Struct

from signalbox.broker.fast_path.request_templates import KEY_AT, Layout
from signalbox.metadata.image import MetadataImage
from signalbox.replication.partition import Partition

MARK = 0x5B8D_1E37_A94C_0000  # the mark of variable part n is this plus n


def mark(number: int) -> bytes:
    """The mark of an 8-byte number."""
    return (MARK + number).to_bytes(8)


def constants_of(encoded: bytes, marks: Sequence[bytes]) -> list[bytes] | None:
    """The bytes before, between and after `marks`; None unless each occurs once, in this order."""
    constants = []
    for one in marks:
        before, found, encoded = encoded.partition(one)
        if not found or one in encoded:
            return None
        constants.append(before)
    return [*constants, encoded]


class RequestTemplate:
    """A request that is constant except for some parts, and the present state of everything that its response depends
    on. `key`: the constant bytes that are looked up, at `layout`; `partitions`: those that the request names."""

    __slots__ = ("_stamps", "authorizer_stamp", "image", "key", "layout", "partitions")

    def __init__(self, key: bytes, layout: Layout) -> None:
        self.key = key
        self.layout = layout
        self.partitions: tuple[Partition, ...] = ()
        self._stamps: tuple[tuple[Partition, int], ...] = ()
        self.image: MetadataImage | None = None
        self.authorizer_stamp = -1

    def watch(self, partitions: Sequence[Partition], image: MetadataImage, authorizer_stamp: int) -> None:
        """Store the present stamps of everything that the response depends on."""
        self.partitions = tuple(partitions)
        self._stamps = tuple((partition, partition.stamp) for partition in partitions)
        self.image = image
        self.authorizer_stamp = authorizer_stamp

    def is_current(self, image: MetadataImage, authorizer_stamp: int) -> bool:
        """Whether nothing of that has changed since."""
        if self.image is not image or self.authorizer_stamp != authorizer_stamp:
            return False
        for partition, stamp in self._stamps:  # noqa: SIM110  # `all` starts a generator
            if partition.stamp != stamp:
                return False
        return True


def request_constants(
    body: memoryview, marked: bytes, marks: Sequence[bytes], values: Sequence[bytes], skipped: Iterable[int] = repeat(0)
) -> list[bytes] | None:
    """The constants of a request whose encoded body is `body`, with `values` in place of the marks. `skipped`: so many
    bytes that belong to each value follow it, and are not compared."""
    constants = constants_of(marked, marks)
    if constants is None:
        return None
    end = len(constants[0])
    if body[:end] != constants[0]:
        return None
    for value, size, constant in zip(values, skipped, constants[1:], strict=False):
        at, end = end, end + len(value)
        if body[at:end] != value:
            return None
        at = end + size
        end = at + len(constant)
        if body[at:end] != constant:
            return None
    return constants if end == len(body) else None


def fixed_layout(body_offset: int, constants: Sequence[bytes], sizes: Sequence[int]) -> Layout:
    """The layout of a request whose variable parts have these sizes: all constants are compared."""
    parts, at = [], KEY_AT
    end = body_offset
    for constant, size in zip(constants, sizes, strict=False):
        end += len(constant)
        parts.append(slice(at, end))
        at = end = end + size
    return (*parts, slice(at, None))


class ResponseTemplate:
    """A response that is constant except for the correlation id and some groups of 8-byte numbers."""

    __slots__ = ("_constants", "_pack", "size_bytes")

    def __init__(self, constants: Sequence[bytes], numbers: int, size_bytes: int) -> None:
        """`constants`: around the groups of so many numbers, without the correlation id; `size_bytes`: without the
        size field."""
        self._constants = tuple(constants)
        self.size_bytes = size_bytes
        groups = "".join(f"{numbers}q{len(constant)}s" for constant in constants[1:])
        self._pack: Callable[..., bytes] = Struct(f">Ii{len(constants[0])}s{groups}").pack

    @classmethod
    def build(cls, response: bytes, marks: Sequence[bytes], numbers: int) -> ResponseTemplate | None:
        """`marks`: the bytes of each group in the example `response`."""
        constants = constants_of(response, marks)
        if constants is None:
            return None
        constants[0] = constants[0][4:]
        return cls(constants, numbers, len(response))

    def one_group(self, correlation_id: int, numbers: Sequence[int], extra_bytes: int = 0) -> bytes:
        """The frame with its size, which counts `extra_bytes` that follow it."""
        before, after = self._constants
        return self._pack(self.size_bytes + extra_bytes, correlation_id, before, *numbers, after)

    def many_groups(self, correlation_id: int, groups: Sequence[Sequence[int]]) -> bytes:
        """The frame with its size."""
        values: list[int | bytes] = [self._constants[0]]
        for numbers, constant in zip(groups, self._constants[1:], strict=True):
            values += (*numbers, constant)
        return self._pack(self.size_bytes, correlation_id, *values)
