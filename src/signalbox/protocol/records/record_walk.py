"""Whether the records of a batch match its header: a fast pass that accepts only valid batches.

Kafka reads every record that a producer sends. In Python a look at each of them costs a microsecond, more than all the
rest of an append when records are small. Producers send mostly records of one size, so the pass compares columns:
consecutive records of equal size are an array with a stride, and a slice with that stride has the same byte of each.
Length, key length, value length and number of headers must be constant there, offset deltas must count up. Other
records are walked one by one. The result for records that neither part can handle is -1, which does not mean invalid:
`record_errors` then reads the records slowly and decides. Figures and the designs that were rejected:
docs/decisions/0029.
"""

from __future__ import annotations

from signalbox.common.cooperative_task import yield_if_due
from signalbox.protocol.codec_errors import DecodeError
from signalbox.protocol.varint import read_zigzag_varint

Records = bytes | bytearray | memoryview

NEEDS_FULL_CHECK = -1
_STEP = 64  # records that are walked before the next search for a run of equal sizes
_SHORTEST_RUN = 8
_LONGEST_RUN = 1_024  # records between two yields

# Offset deltas 0, 1, 2, ... as zigzag varints: the lowest seven bits, the next seven, and those as a last byte.
_SINGLE = bytes(range(0, 128, 2))
_LOW = bytes(range(128, 256, 2)) * 128
_LAST = b"".join(bytes((group,)) * 64 for group in range(128))
_MIDDLE = b"".join(bytes((group | 128,)) * 64 for group in range(128))
_WINDOW = len(_LOW)
_CONTINUED = bytes(range(128, 256))


def walk_records(records: Records, at: int, count: int, key_required: bool = False) -> int:
    """The highest timestamp delta of exactly `count` well-formed records from `at` to the end, numbered from 0 on; no
    delta is below its negative. `NEEDS_FULL_CHECK`: the records are invalid or unusual. Yields."""
    end, index, highest = len(records), 0, 0
    try:
        while index < count:
            if count - index >= _SHORTEST_RUN and _is_run(records, at, end):
                accepted, at, top = _equal_sizes(records, at, index, count, key_required)
                if accepted:
                    index += accepted
                    highest = top if top > highest else highest
                    yield_if_due()
                    continue
            stop = min(count, index + _STEP)
            at, top = _one_by_one(records, at, range(index << 1, stop << 1, 2), key_required)
            if at < 0:
                return NEEDS_FULL_CHECK
            highest = top if top > highest else highest
            index = stop
            if stop < count:
                yield_if_due()
    except (IndexError, DecodeError):
        return NEEDS_FULL_CHECK
    return NEEDS_FULL_CHECK if at != end or highest & 1 else highest >> 1


def _one_by_one(records: Records, at: int, numbers: range, key_required: bool) -> tuple[int, int]:
    """Walks records whose zigzag offset deltas are `numbers`: returns the position behind them and the highest zigzag
    timestamp delta. Lengths of one and two bytes have code of their own: nearly all are so short."""
    highest = 0
    for number in numbers:
        size = records[at]
        at += 1
        if size > 127:
            following = records[at]
            if following < 128:
                size = size & 127 | following << 7
                at += 1
            else:
                size, at = _zigzag(records, at - 1)
        if size & 1:
            return -1, 0
        stop = at + (size >> 1)
        stamp = records[at + 1]
        at += 2
        if stamp > 127:
            following = records[at]
            if following < 128:
                stamp = stamp & 127 | following << 7
                at += 1
            else:
                stamp, at = _zigzag(records, at - 1)
        if stamp > highest:
            highest = stamp
        delta = records[at]
        at += 1
        if delta > 127:
            following = records[at]
            if following < 128:
                delta = delta & 127 | following << 7
                at += 1
            else:
                delta, at = _zigzag(records, at - 1)
        if delta != number:
            return -1, 0
        for part in _KEY_AND_VALUE:
            size = records[at]
            at += 1
            if size > 127:
                following = records[at]
                if following < 128:
                    size = size & 127 | following << 7
                    at += 1
                else:
                    size, at = _zigzag(records, at - 1)
            if not size & 1:
                at += size >> 1
            elif size > 1 or (key_required and not part):
                return -1, 0
        headers = records[at]
        at += 1
        if headers and (at := _headers(records, at - 1, stop)) < 0:
            return -1, 0
        if at != stop:
            return -1, 0
    return at, highest


_KEY_AND_VALUE = (0, 1)


def _zigzag(records: Records, at: int) -> tuple[int, int]:
    """A varint without zigzag decoding, sign bit lowest, and the position behind it. DecodeError: it is too long."""
    value, behind = read_zigzag_varint(records, at)
    if behind - at > 5:
        raise DecodeError("more than 32 bits")
    return value << 1 if value >= 0 else ~(value << 1), behind


def _headers(records: Records, at: int, stop: int) -> int:
    """The position behind the headers whose count is at `at`; -1: they are not well-formed."""
    count, at = read_zigzag_varint(records, at)
    if not 0 <= count <= stop - at:
        return -1
    for _ in range(count):
        size, at = read_zigzag_varint(records, at)
        if size < 0:
            return -1
        size, at = read_zigzag_varint(records, at + size)
        at += size if size > 0 else 0
        if at > stop or size < -1:
            return -1
    return at


def _is_run(records: Records, at: int, end: int) -> bool:
    """Whether the next two records begin with the same length as the first."""
    size, behind = read_zigzag_varint(records, at)
    stride = behind - at + size
    if size < 6 or at + 4 * stride > end:
        return False
    head = records[at:behind]
    return all(records[next_at : next_at + len(head)] == head for next_at in (at + stride, at + 2 * stride))


def _equal_sizes(records: Records, at: int, index: int, count: int, key_required: bool) -> tuple[int, int, int]:
    """How many records from `index` on are of one size, of one layout and well-formed, the position behind them, and
    their highest zigzag timestamp delta. (0, at, 0): the first of them must be walked."""
    size, attributes_at = read_zigzag_varint(records, at)
    stamp_at, stride = attributes_at + 1, attributes_at - at + size
    _, delta_at = read_zigzag_varint(records, stamp_at)
    _, key_size_at = read_zigzag_varint(records, delta_at)
    key_size, key_at = read_zigzag_varint(records, key_size_at)
    value_size_at = key_at + max(key_size, 0)
    value_size, value_at = read_zigzag_varint(records, value_size_at)
    headers_at = value_at + max(value_size, 0)
    if headers_at + 1 != at + stride or key_size < (0 if key_required else -1) or value_size < -1:
        return 0, at, 0
    width, window_end = _numbers_window(index)
    run_length = min(count - index, window_end - index, _LONGEST_RUN, (len(records) - at) // stride)

    def column(position: int) -> bytes:
        return bytes(records[position : position + (run_length - 1) * stride + 1 : stride])

    constant = [*range(at, attributes_at), *range(key_size_at, key_at), *range(value_size_at, value_at), headers_at]
    for position in constant:
        values = column(position)
        run_length -= len(values.lstrip(values[:1]))
    stamps = [column(position) for position in range(stamp_at, delta_at)]
    numbers = [column(position) for position in range(delta_at, key_size_at)]
    if records[headers_at] or numbers != _numbers(index, run_length, width):
        return 0, at, 0
    top = _highest(stamps)
    return (run_length, at + run_length * stride, top) if top >= 0 else (0, at, 0)


def _numbers_window(index: int) -> tuple[int, int]:
    """The number of bytes of the offset delta `index`, and the end of the range that one call of `_numbers` can cover
    from it."""
    if index < len(_SINGLE):
        return 1, len(_SINGLE)
    return (2 if index < _WINDOW else 3), (index // _WINDOW + 1) * _WINDOW


def _numbers(index: int, count: int, width: int) -> list[bytes]:
    """The columns of `count` offset deltas from `index` on."""
    if width == 1:
        return [_SINGLE[index : index + count]]
    begin = index % _WINDOW
    inside = slice(begin, begin + count)
    if width == 2:
        return [_LOW[inside], _LAST[inside]]
    return [_LOW[inside], _MIDDLE[inside], bytes((index // _WINDOW,)) * count]


def _highest(stamps: list[bytes]) -> int:
    """The highest of the zigzag varints whose bytes are these columns; -1: they are not all of one or all of two
    bytes."""
    if not stamps[-1].isascii() or len(stamps) > 2:
        return -1
    if len(stamps) == 1:
        return max(stamps[0])
    if stamps[0].lstrip(_CONTINUED):
        return -1
    last, low = max(zip(stamps[1], stamps[0], strict=True))
    return last << 7 | low & 127
