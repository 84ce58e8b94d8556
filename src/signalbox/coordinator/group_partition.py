"""Maps a group to its partition of `__consumer_offsets`.

Kafka uses abs(String.hashCode) with abs(-2^31) = 0, not the mask of the producers' partitioner.
"""

from __future__ import annotations


def java_string_hash(text: str) -> int:
    """Java's String.hashCode: over UTF-16 code units, as a signed 32-bit number."""
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for high, low in zip(units[::2], units[1::2]):
        value = (value * 31 + (high << 8 | low)) & 0xFFFFFFFF
    return value - (1 << 32) if value & 0x80000000 else value


def partition_for(group_id: str, partition_count: int) -> int:
    """The partition of the offsets topic whose leader coordinates `group_id`."""
    value = abs(java_string_hash(group_id))
    return (0 if value == 1 << 31 else value) % partition_count
