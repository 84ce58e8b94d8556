"""A broker's counters of each topic (Kafka's BrokerTopicMetrics), as plain ints.

A partition has a reference to its topic's stats (`Partition.stats`), so that the fast path needs no lookup. A topic's
stats are removed with its last partition on this broker; the sums over all topics keep their counts.
"""

from __future__ import annotations

from collections.abc import Iterable

FIELDS = (
    "bytes_in",
    "bytes_out",
    "bytes_rejected",
    "failed_fetches",
    "failed_produces",
    "fetches",
    "messages_in",
    "produces",
    "replication_bytes_out",
)


class TopicStats:
    """Bytes are those of stored record batches; a request counts once per partition in it, as in Kafka."""

    __slots__ = FIELDS

    def __init__(self) -> None:
        self.bytes_in = self.messages_in = 0  # appended by producers and coordinators
        self.bytes_out = self.replication_bytes_out = 0  # read by consumers, and by followers
        self.bytes_rejected = 0  # of batches that are too large
        self.produces = self.failed_produces = 0
        self.fetches = self.failed_fetches = 0

    def appended(self, size_bytes: int, messages: int) -> None:
        """Count a batch that was written to the file."""
        self.bytes_in += size_bytes
        self.messages_in += messages

    def add(self, other: TopicStats) -> None:
        """Add all counts of `other`."""
        for name in FIELDS:
            setattr(self, name, getattr(self, name) + getattr(other, name))


def total(field: str, stats: Iterable[TopicStats]) -> int:
    """One count over all of `stats`."""
    return sum(getattr(topic_stats, field) for topic_stats in stats)
