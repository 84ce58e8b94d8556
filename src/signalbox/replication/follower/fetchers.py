"""All fetchers of a broker: assigns followed partitions to them."""

from __future__ import annotations

import zlib
from collections.abc import Iterable

from signalbox.common.cooperative_task import yield_if_due
from signalbox.common.waiting.deadlines import Deadlines
from signalbox.replication.config_rows import ReplicationConfig
from signalbox.replication.follower.fetcher import Fetcher, FollowerIdentity
from signalbox.replication.follower.leader_channel import ReconnectingChannels
from signalbox.replication.partition import Partition


class Fetchers:
    """Fetchers by (leader broker, fetcher_id). `close_idle` closes fetchers that have no partitions."""

    def __init__(
        self,
        channels: ReconnectingChannels,
        identity: FollowerIdentity,
        config: ReplicationConfig,
        deadlines: Deadlines,
    ) -> None:
        self._channels = channels
        self._identity = identity
        self._config = config
        self._deadlines = deadlines
        self._fetchers: dict[tuple[int, int], Fetcher] = {}
        self._fetcher_of: dict[Partition, Fetcher] = {}
        self.num_fetchers = config.fetchers_per_leader  # current number of fetchers per leader
        self._closed = False
        self._shutting_down = False
        self._bytes_of_closed = 0

    def __len__(self) -> int:
        return len(self._fetchers)

    @property
    def bytes_in(self) -> int:
        """Bytes of record batches received from leaders since the start."""
        return self._bytes_of_closed + sum(fetcher.bytes_in for fetcher in self._fetchers.values())

    @property
    def max_lag(self) -> int:
        """The largest lag of a partition behind its leader's high watermark, in records."""
        return max((fetcher.max_lag for fetcher in self._fetchers.values()), default=0)

    def follow_all(self, partitions: Iterable[Partition]) -> None:
        """Fetch each partition from its leader from now on, and from no other broker. Yields between two."""
        if self._shutting_down:
            return
        changed: dict[Fetcher, None] = {}
        for partition in partitions:
            yield_if_due()
            if self._closed or partition.log is None:  # meanwhile the broker stops, or a log directory failed
                continue
            fetcher = self._fetcher_for(partition)
            previous = self._fetcher_of.get(partition)
            if previous is not None and previous is not fetcher:
                previous.unfollow(partition)
            self._fetcher_of[partition] = fetcher
            fetcher.follow(partition)
            changed[fetcher] = None
        for fetcher in changed:
            fetcher.pump()

    def follow_no_new_partitions(self) -> None:
        """This broker is shutting down: it keeps the partitions that it follows, but follows no new ones. A leader that
        stores its ISR itself would add this broker to the ISR again, and wait for it after it has stopped."""
        self._shutting_down = True

    def resize(self, num_fetchers: int) -> None:
        """Change the number of fetchers per leader (`num.replica.fetchers`, dynamic config); all partitions are
        reassigned. Yields."""
        if num_fetchers != self.num_fetchers:
            self.num_fetchers = num_fetchers
            self.follow_all(list(self._fetcher_of))
            self.close_idle()

    def _fetcher_for(self, partition: Partition) -> Fetcher:
        fetcher_id = zlib.crc32(str(partition.topic_partition).encode()) % self.num_fetchers
        key = (partition.leader_id, fetcher_id)
        fetcher = self._fetchers.get(key)
        if fetcher is None:
            channel = self._channels.open(partition.leader_id)
            fetcher = self._fetchers[key] = Fetcher(
                partition.leader_id, channel, self._identity, self._config, self._deadlines
            )
        return fetcher

    def unfollow(self, partition: Partition) -> None:
        """Stop fetching."""
        fetcher = self._fetcher_of.pop(partition, None)
        if fetcher is not None:
            fetcher.unfollow(partition)

    def close_idle(self) -> None:
        """Close the fetchers that have no partitions."""
        for key, fetcher in list(self._fetchers.items()):
            if not len(fetcher):
                del self._fetchers[key]
                self._bytes_of_closed += fetcher.bytes_in
                fetcher.close()

    def close(self) -> None:
        """Close all fetchers."""
        self._closed = True
        for fetcher in self._fetchers.values():
            fetcher.close()
        self._fetchers.clear()
        self._fetcher_of.clear()
