"""Replication throttling (KIP-73): one rate for data that this broker sends as a leader, one for data that it fetches
as a follower, each for the replicas that a topic's config names; and one for moves between its log directories.

A replica that is in sync is never throttled, but its bytes are counted: throttling may delay data, but must not remove
replicas from the ISR. `kafka-reassign-partitions --throttle` sets and removes the configs.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from signalbox.common.config.config_table import Value
from signalbox.common.config.topic_config import TOPIC_CONFIG
from signalbox.common.rate_limit import RateLimit
from signalbox.storage.directories.log_move import MoveThrottle

log = logging.getLogger(__name__)

LEADER_RATE, FOLLOWER_RATE = "leader.replication.throttled.rate", "follower.replication.throttled.rate"
MOVE_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
_WINDOW = "replication.quota.window.num", "replication.quota.window.size.seconds"
_MOVE_WINDOW = (
    "alter.log.dirs.replication.quota.window.num",
    "alter.log.dirs.replication.quota.window.size.seconds",
)
LEADER_REPLICAS, FOLLOWER_REPLICAS = "leader.replication.throttled.replicas", "follower.replication.throttled.replicas"

_ALL = "*"


class ReplicationThrottle:
    """One of the two throttles. It costs nothing if no topic names replicas."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._rate = RateLimit(monotonic)
        self.set_rate = self._rate.set_rate
        self.wait_ms = self._rate.wait_ms
        self._partitions_by_topic: dict[str, frozenset[int] | None] = {}  # partitions, None: all of them

    def set_partitions(self, topic: str, partitions: frozenset[int] | None) -> None:
        """Set the throttled partitions of the topic; None for all."""
        if partitions is None or partitions:
            self._partitions_by_topic[topic] = partitions
        else:
            self._partitions_by_topic.pop(topic, None)

    @property
    def is_set(self) -> bool:
        """Whether there are a rate and throttled replicas."""
        return self._rate.is_set and bool(self._partitions_by_topic)

    def covers(self, topic: str, partition: int) -> bool:
        """Whether the bytes of this partition are counted."""
        if not self._partitions_by_topic or topic not in self._partitions_by_topic:
            return False
        partitions = self._partitions_by_topic[topic]
        return partitions is None or partition in partitions

    def is_throttled(self, topic: str, partition: int) -> bool:
        """Whether a replica of the partition that is not in sync must wait."""
        return self.covers(topic, partition) and self._rate.in_debt()

    def record(self, topic: str, partition: int, size_bytes: int) -> None:
        """Count `size_bytes` of replicated data."""
        if self._rate.is_set and self.covers(topic, partition):
            self._rate.record(size_bytes)


@dataclass(frozen=True, slots=True)
class Throttles:
    """The throttles of a broker."""

    broker_id: int
    leader: ReplicationThrottle
    follower: ReplicationThrottle
    moves: MoveThrottle

    @classmethod
    def of(cls, broker_id: int, monotonic: Callable[[], float], moves: MoveThrottle) -> Throttles:
        return cls(broker_id, ReplicationThrottle(monotonic), ReplicationThrottle(monotonic), moves)

    def apply_rates(self, values: Mapping[str, Value]) -> None:
        """Apply the broker's configs."""
        for throttle, key, window in (
            (self.leader, LEADER_RATE, _WINDOW),
            (self.follower, FOLLOWER_RATE, _WINDOW),
            (self.moves, MOVE_RATE, _MOVE_WINDOW),
        ):
            rate, windows, size_seconds = (int(str(values[name])) for name in (key, *window))
            throttle.set_rate(rate, float(max((windows - 1) * size_seconds, 1)))

    def apply_topic(self, topic: str, configs: Mapping[str, str]) -> None:
        """Apply a topic's configs."""
        for throttle, key in ((self.leader, LEADER_REPLICAS), (self.follower, FOLLOWER_REPLICAS)):
            throttle.set_partitions(topic, self._parse_replicas(key, configs.get(key, "")))

    def _parse_replicas(self, key: str, text: str) -> frozenset[int] | None:
        """The partitions whose replica on this broker is named by `partition:broker` pairs; None for all."""
        try:
            entries = TOPIC_CONFIG[key].parse(text)
        except ValueError as error:  # another program stored it: this broker would have rejected it
            log.error("Invalid replication throttle ignored (key=%s): %s", key, error)
            entries = []
        assert isinstance(entries, list)
        if _ALL in entries:
            return None
        pairs = (entry.split(":") for entry in entries)
        return frozenset(int(partition) for partition, broker in pairs if int(broker) == self.broker_id)
