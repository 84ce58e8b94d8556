"""Chooses the partition of a record as the Java client does, so that keys stay together across clients.

With a key: murmur2 of the key, made positive, modulo the number of partitions. Without: one partition until its batch
is full, then the next ("sticky", KIP-480), which makes larger batches than a choice per record.
"""

from __future__ import annotations

_M = 0x5BD1E995
_MASK = 0xFFFFFFFF
_SEED = 0x9747B28C


def murmur2(data: bytes) -> int:
    """The 32-bit hash as Kafka's clients compute it, unsigned."""
    length = len(data)
    h = (_SEED ^ length) & _MASK
    aligned_length = length & ~3
    for start in range(0, aligned_length, 4):
        k = int.from_bytes(data[start : start + 4], "little")
        k = (k * _M) & _MASK
        k ^= k >> 24
        k = (k * _M) & _MASK
        h = ((h * _M) & _MASK) ^ k
    if aligned_length < length:
        h ^= int.from_bytes(data[aligned_length:], "little")
        h = (h * _M) & _MASK
    h ^= h >> 13
    h = (h * _M) & _MASK
    return h ^ (h >> 15)


def partition_for_key(key: bytes, partition_count: int) -> int:
    """The partition of a keyed record."""
    return (murmur2(key) & 0x7FFFFFFF) % partition_count


class StickyPartitioner:
    """Partitions for records without a key."""

    def __init__(self) -> None:
        self._current: dict[str, int] = {}

    def partition_of(self, topic: str, partition_count: int) -> int:
        return self._current.setdefault(topic, 0) % partition_count

    def batch_closed(self, topic: str) -> None:
        """The current partition's batch is full: continue with the next partition."""
        self._current[topic] = self._current.get(topic, 0) + 1
