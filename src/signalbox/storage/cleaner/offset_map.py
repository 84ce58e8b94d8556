"""The offset map of a cleaning round: the last offset of every key in the dirty part of a log, in bounded memory.

Kafka's map has 24 bytes for each key: a hash of 16 bytes and the offset. In Python a table of that kind costs a
microsecond for each operation, a dictionary a tenth of it but about seven times the memory. So the same buffer holds
fewer keys, and a log with more of them is compacted in more rounds (decision 0045). A short key is its own entry. Of a
longer key the entry has a hash of 128 bits, as in Kafka, but one for which no collisions can be constructed.
"""

from __future__ import annotations

from hashlib import blake2b

ENTRY_BYTES = 168  # of the dictionary, the key object and the offset object, without the bytes of a short key
LONGEST_PLAIN_KEY = 32
_HASH_BYTES = 16

Identity = bytes | int  # hashes are numbers, so that they never equal a key


def identity_of(key: bytes) -> Identity:
    """What stands for `key` in the map."""
    if len(key) <= LONGEST_PLAIN_KEY:
        return key
    return int.from_bytes(blake2b(key, digest_size=_HASH_BYTES).digest(), "little")


class OffsetMap:
    """`budget_bytes`: the memory that the entries may use. `offsets` is read directly where a call for each record
    would cost too much; keys are added by `put` alone. `latest_offset`: the log is in the map up to this offset."""

    __slots__ = ("_budget_bytes", "_used_bytes", "latest_offset", "offsets")

    def __init__(self, budget_bytes: int) -> None:
        self._budget_bytes = budget_bytes
        self._used_bytes = 0
        self.latest_offset = -1
        self.offsets: dict[Identity, int] = {}

    def put(self, key: bytes, offset: int) -> bool:
        """Records that `key` has a record at `offset`, later than all before. False: the key is new and has no room.
        The first key always has room, so that each round makes progress."""
        identity = key if len(key) <= LONGEST_PLAIN_KEY else identity_of(key)
        if identity not in self.offsets:
            used_bytes = self._used_bytes + ENTRY_BYTES + min(len(key), LONGEST_PLAIN_KEY)
            if used_bytes > self._budget_bytes and self.offsets:
                return False
            self._used_bytes = used_bytes
        self.offsets[identity] = offset
        return True

    @property
    def utilization(self) -> float:
        """The used share of the memory, 0 to 1."""
        return min(1.0, self._used_bytes / self._budget_bytes) if self._budget_bytes else 1.0
