"""All fetchers of a broker: which one follows which partition."""

from __future__ import annotations

import zlib
from collections.abc import Iterable

from signalbox.common.long_work import breathe
from signalbox.replication.config_rows import ReplicationConfig
from signalbox.replication.deadlines import Deadlines
from signalbox.replication.fetcher import Fetcher, FollowerIdentity
from signalbox.replication.partition import Partition
from signalbox.replication.ports import LeaderChannels


class Fetchers:
    """Fetchers by (leader broker, lane). A fetcher that follows nothing any more is closed by `close_idle`."""

    def __init__(
        self, channels: LeaderChannels, identity: FollowerIdentity, config: ReplicationConfig, deadlines: Deadlines
    ) -> None:
        self._channels = channels
        self._identity = identity
        self._config = config
        self._deadlines = deadlines
        self._fetchers: dict[tuple[int, int], Fetcher] = {}
        self._of: dict[Partition, Fetcher] = {}
        self.lanes = config.fetchers_per_leader  # fetchers per leader, as it is now
        self._closed = False
        self._leaving = False

    def __len__(self) -> int:
        return len(self._fetchers)

    @property
    def bytes_in(self) -> int:
        """Bytes of record batches received by the fetchers that are there now."""
        return sum(fetcher.bytes_in for fetcher in self._fetchers.values())

    @property
    def max_lag(self) -> int:
        """The most records that a partition is behind its leader's high watermark."""
        return max((fetcher.max_lag for fetcher in self._fetchers.values()), default=0)

    def follow_all(self, partitions: Iterable[Partition]) -> None:
        """Fetch each partition from its leader, from now on and from nobody else. Breathes between two."""
        if self._leaving:
            return
        woken: dict[Fetcher, None] = {}
        for partition in partitions:
            breathe()
            if self._closed or partition.log is None:  # meanwhile: the broker stops, or a log directory has failed
                continue
            fetcher = self._fetcher_for(partition)
            previous = self._of.get(partition)
            if previous is not None and previous is not fetcher:
                previous.unfollow(partition)
            self._of[partition] = fetcher
            fetcher.follow(partition)
            woken[fetcher] = None
        for fetcher in woken:
            fetcher.pump()

    def follow_no_more(self) -> None:
        """This broker is about to stop: it follows what it follows until it is told otherwise, nothing new. A leader
        that stores its ISR by itself would let it in again, and wait for it when it is gone."""
        self._leaving = True

    def spread_over(self, lanes: int) -> None:
        """As many fetchers per leader from now on (`num.replica.fetchers`, changed live); all partitions are dealt
        anew."""
        if lanes != self.lanes:
            self.lanes = lanes
            self.follow_all(list(self._of))
            self.close_idle()

    def _fetcher_for(self, partition: Partition) -> Fetcher:
        lane = zlib.crc32(str(partition.topic_partition).encode()) % self.lanes
        key = (partition.leader_id, lane)
        fetcher = self._fetchers.get(key)
        if fetcher is None:
            channel = self._channels.open(partition.leader_id)
            fetcher = self._fetchers[key] = Fetcher(
                partition.leader_id, channel, self._identity, self._config, self._deadlines
            )
        return fetcher

    def unfollow(self, partition: Partition) -> None:
        """Stop fetching."""
        fetcher = self._of.pop(partition, None)
        if fetcher is not None:
            fetcher.unfollow(partition)

    def close_idle(self) -> None:
        """Close the fetchers that follow nothing."""
        for key, fetcher in list(self._fetchers.items()):
            if not len(fetcher):
                del self._fetchers[key]
                fetcher.close()

    def close(self) -> None:
        """Stop all of them."""
        self._closed = True
        for fetcher in self._fetchers.values():
            fetcher.close()
        self._fetchers.clear()
        self._of.clear()
