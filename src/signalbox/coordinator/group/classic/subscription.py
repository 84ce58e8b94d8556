"""The topics a member of protocol type "consumer" subscribes to.

The consumer protocol belongs to the clients; the broker reads only what all its versions begin with: version, then
the array of topic names. Offsets of subscribed topics do not expire (KIP-211) and cannot be deleted (OffsetDelete).
"""

from __future__ import annotations

import struct

CONSUMER_PROTOCOL_TYPE = "consumer"


def subscribed_topics(metadata: bytes) -> list[str]:
    """Topic names of a consumer subscription. Raises ValueError if `metadata` is not one."""
    try:
        version, count = struct.unpack_from(">hi", metadata)
        if version < 0 or count < 0:
            raise ValueError("negative version or count in a consumer subscription")
        topics = []
        offset = 6
        for _ in range(count):
            (length,) = struct.unpack_from(">h", metadata, offset)
            offset += 2
            if length < 0 or offset + length > len(metadata):
                raise ValueError("a topic name reaches past the end of a consumer subscription")
            topics.append(metadata[offset : offset + length].decode())
            offset += length
    except struct.error as error:
        raise ValueError(f"not a consumer subscription: {error}") from None
    return topics
