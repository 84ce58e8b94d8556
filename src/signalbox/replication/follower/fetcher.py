"""The follower's side of replication: one fetcher per leader broker (or a few, `num.replica.fetchers`).

One fetch is in flight; the next is sent as soon as the response is appended, in the same slice of the data loop. After
an error of the whole fetch all partitions back off, after an error of one partition only that one. The backoff grows
from ten milliseconds to replica.fetch.backoff.ms: a leader that does not know of its election yet is retried soon.
After FENCED_LEADER_EPOCH the partition is not fetched any more: a newer LeaderAndIsr will follow.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from signalbox.common.backoff import Backoff
from signalbox.common.cooperative_task import yield_if_due
from signalbox.common.ids import TopicPartition, partition_list
from signalbox.common.waiting.deadlines import Deadline, Deadlines
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.fetch import FetchRequest, FetchResponse
from signalbox.replication.config_rows import ReplicationConfig
from signalbox.replication.follower.followed_partition import FIRST_BACKOFF_MS, FollowedPartition
from signalbox.replication.follower.leader_channel import ReconnectingChannel
from signalbox.replication.follower.leader_offsets import LeaderOffsets
from signalbox.replication.follower.replica_session import ReplicaSession
from signalbox.replication.follower.truncation import LossNotAccepted
from signalbox.replication.partition import Partition
from signalbox.replication.throttle import ReplicationThrottle
from signalbox.storage.files.spare_descriptors import OutOfDescriptors

_log = logging.getLogger(__name__)

_SESSION_ERRORS = frozenset(
    {
        Error.FETCH_SESSION_ID_NOT_FOUND,
        Error.INVALID_FETCH_SESSION_EPOCH,
        Error.FETCH_SESSION_TOPIC_ID_ERROR,
    }
)


@dataclass(frozen=True, slots=True)
class FollowerIdentity:
    """The broker that fetches; `on_storage_failure` is called when its own log cannot be written."""

    broker_id: int
    broker_epoch: Callable[[], int]
    on_storage_failure: Callable[[], None]
    throttle: ReplicationThrottle


class Fetcher:
    """All partitions that this broker follows on one leader."""

    def __init__(
        self, leader_id: int, channel: ReconnectingChannel, identity: FollowerIdentity, config: ReplicationConfig,
        deadlines: Deadlines,
    ) -> None:  # fmt: skip
        self.leader_id = leader_id
        self.bytes_in = 0
        self._channel = channel
        self._identity = identity
        self._config = config
        self._deadlines = deadlines
        self._session = ReplicaSession(config.fetch_partition_max_bytes)
        self._followed: dict[Partition, FollowedPartition] = {}
        self._in_flight = False
        self._appending = False
        self._backoff_deadline: Deadline | None = None
        self._backoff = Backoff(FIRST_BACKOFF_MS, config.fetch_backoff_ms)  # ms

    def __len__(self) -> int:
        return len(self._followed)

    @property
    def max_lag(self) -> int:
        """The largest lag of its partitions, in records."""
        return max((followed.lag for followed in self._followed.values()), default=0)

    def follow(self, partition: Partition) -> None:
        """Fetch from the partition's log end on, at its current leader epoch, from the next `pump` on."""
        self.unfollow(partition)
        assert partition.log is not None
        followed = self._followed[partition] = FollowedPartition(partition, partition.log)
        self._session.add(followed)

    def unfollow(self, partition: Partition) -> None:
        """Stop fetching. Responses to requests in flight do not change the partition any more."""
        followed = self._followed.pop(partition, None)
        if followed is not None:
            followed.removed = True
            self._session.drop(followed)

    def close(self) -> None:
        """Stop fetching all partitions and close the channel."""
        for partition in list(self._followed):
            self.unfollow(partition)
        if self._backoff_deadline is not None:
            self._backoff_deadline.cancel()
            self._backoff_deadline = None
        self._in_flight = True  # prevents further requests
        self._channel.close()

    def pump(self) -> None:
        """Send the next fetch, unless one is in flight or there is nothing to fetch. Not while a response is being
        written, which may yield: the fetch would request the same records again."""
        if self._in_flight or self._appending or self._backoff_deadline is not None or not len(self._session):
            return
        config = self._config
        request = FetchRequest(
            replica_state=FetchRequest.ReplicaState(
                replica_id=self._identity.broker_id, replica_epoch=self._identity.broker_epoch()
            ),
            max_wait_ms=config.fetch_wait_max_ms,
            min_bytes=config.fetch_min_bytes,
            max_bytes=config.fetch_response_max_bytes,
        )
        self._session.fill(request)
        self._in_flight = True
        self._channel.send(request, self._on_response)

    # -- responses

    def _on_response(self, response: FetchResponse | Exception) -> None:
        """Yields: partitions may be unfollowed meanwhile, and none is fetched."""
        if not isinstance(response, FetchResponse):
            self._session.on_connection_lost()
            self._back_off_all(str(response))
            return
        self._in_flight = False
        if response.error_code:
            error = Error.of(response.error_code)
            self._session.on_session_error()
            if error not in _SESSION_ERRORS:
                self._in_flight = True
                self._back_off_all(error.name)
                return
        else:
            self._backoff.reset()
            self._session.on_response(response.session_id)
            self._appending = True
            try:
                self._process_response(response)
            finally:
                self._appending = False
        self.pump()

    def _process_response(self, response: FetchResponse) -> None:
        """Appends what the leader returned. Yields between partitions."""
        written: list[tuple[FollowedPartition, FetchResponse.PartitionData]] = []
        rejected: dict[Error, list[TopicPartition]] = {}
        for topic in response.responses:
            for data in topic.partitions:
                yield_if_due()
                followed = self._session.get((topic.topic_id, data.partition_index))
                if followed is None or not followed.requested:
                    continue
                if data.error_code:
                    error = Error.of(data.error_code)
                    rejected.setdefault(error, []).append(followed.partition.topic_partition)
                    self._handle_error(followed, error)
                elif self._isolate_errors(followed, lambda f=followed, d=data: self._append_or_truncate(f, d)):  # type: ignore[misc]
                    written.append((followed, data))
        for error, partitions in rejected.items():
            partition_names = partition_list(partitions)
            _log.info(
                "Broker %d returned %s for %d partitions: %s",
                self.leader_id,
                error.name,
                len(partitions),
                partition_names,
            )
        if Error.TOPIC_AUTHORIZATION_FAILED in rejected:
            # Returned on a listener that is not for brokers; the leader may have another inter-broker listener by now.
            self._channel.reconnect()
        for followed, data in written:
            if followed.removed:
                continue  # unfollowed while the other partitions were written
            self._isolate_errors(followed, lambda f=followed, d=data: self._finish(f, d))  # type: ignore[misc]

    def _append_or_truncate(self, followed: FollowedPartition, data: FetchResponse.PartitionData) -> None:
        diverging = data.diverging_epoch
        if diverging.epoch >= 0:
            before, epoch_before = followed.fetch_offset, followed.last_fetched_epoch
            offset = followed.truncate_diverging(diverging.epoch, diverging.end_offset)
            _log.info("Truncated (partition=%s, log end offset=%d, before=%d, reason=leader epoch %d of broker %d ends"
                      " at %d)", followed.partition.topic_partition, offset, before, diverging.epoch, self.leader_id,
                      diverging.end_offset)  # fmt: skip
            if (offset, followed.last_fetched_epoch) == (before, epoch_before):
                self._delay(followed)  # the leader would return the same again: back off
            else:
                self._session.add(followed)
            data.high_watermark = -1
            return
        followed.append_records(data)
        size = len(data.records or b"")
        self.bytes_in += size
        self._identity.throttle.record(*followed.partition.topic_partition, size)

    def _finish(self, followed: FollowedPartition, data: FetchResponse.PartitionData) -> None:
        if not followed.finish(data):
            return
        if self._is_throttled(followed):
            self._session.drop(followed)
            self._recheck_throttle(followed)
        else:
            self._session.add(followed)

    # -- throttling of followers that catch up (KIP-73)

    def _is_throttled(self, followed: FollowedPartition) -> bool:
        return followed.lag > 0 and self._identity.throttle.is_throttled(*followed.partition.topic_partition)

    def _recheck_throttle(self, followed: FollowedPartition) -> None:
        def resume() -> None:
            if followed.removed:
                return
            if self._is_throttled(followed):
                self._recheck_throttle(followed)
            else:
                self._session.add(followed)
                self.pump()

        self._deadlines.add(self._identity.throttle.wait_ms(), resume)

    def _isolate_errors(self, followed: FollowedPartition, action: Callable[[], None]) -> bool:
        """Run `action` on the partition's log; an error affects this partition only. False if it failed."""
        try:
            action()
        except LossNotAccepted as reason:
            if not followed.rejects_truncation:
                followed.rejects_truncation = True
                _log.error("Truncation rejected (partition=%s): %s", followed.partition.topic_partition, reason)
            self._delay(followed)  # the topic's configs or the leader may change
            return False
        except KafkaError as error:
            level = logging.DEBUG if followed.backs_off else logging.ERROR
            _log.log(
                level, "Replica log cannot be written (partition=%s): %s", followed.partition.topic_partition, error
            )
            if error.error is Error.KAFKA_STORAGE_ERROR and not isinstance(error, OutOfDescriptors):
                self.unfollow(followed.partition)
                self._identity.on_storage_failure()
            else:
                self._delay(followed)
            return False
        except Exception:  # a bug in one partition must not stop the replication of the others
            _log.exception("Unexpected error processing data for partition %s", followed.partition.topic_partition)
            self._delay(followed)
            return False
        return True

    def _handle_error(self, followed: FollowedPartition, error: Error) -> None:
        if error is Error.OFFSET_OUT_OF_RANGE:
            level = logging.DEBUG if followed.rejects_truncation else logging.WARNING
            _log.log(level, "Fetch offset out of range (partition=%s): broker %d does not have offset %d",
                     followed.partition.topic_partition, self.leader_id, followed.fetch_offset)  # fmt: skip
            self._session.drop(followed)
            LeaderOffsets(followed, self._identity.broker_id, self._reset_offset).send_requests(self._channel)
        elif error is Error.FENCED_LEADER_EPOCH:
            self._session.drop(followed)
        else:
            self._delay(followed)

    def _reset_offset(self, followed: FollowedPartition, leader_offsets: tuple[int, int] | None) -> None:
        if followed.removed:
            return
        before = followed.fetch_offset, followed.last_fetched_epoch
        if leader_offsets is None:
            self._delay(followed)
        elif self._isolate_errors(followed, lambda: followed.reset_to_leader_offsets(*leader_offsets)):
            if (followed.fetch_offset, followed.last_fetched_epoch) == before:
                self._delay(followed)  # the leader would return the same again: back off
                return
            _log.warning(
                "Log truncated or restarted (partition=%s, fetch offset=%d, before=%d, reason=broker %d does "
                "not have that offset)", followed.partition.topic_partition, followed.fetch_offset, before[0],
                self.leader_id,
            )  # fmt: skip
            self._session.add(followed)
            self.pump()

    # -- backoff after errors

    def _delay(self, followed: FollowedPartition) -> None:
        self._session.drop(followed)

        def resume() -> None:
            if not followed.removed:
                self._session.add(followed)
                self.pump()

        self._deadlines.add(followed.next_backoff_ms(self._config.fetch_backoff_ms), resume)

    def _back_off_all(self, reason: str) -> None:
        if not self._followed:
            self._in_flight = False
            return
        level = logging.INFO if not self._backoff.last else logging.DEBUG
        _log.log(level, "Fetch from broker %d failed: %s", self.leader_id, reason)
        self._in_flight = False
        self._backoff_deadline = self._deadlines.add(self._backoff.grow(), self._end_backoff)

    def _end_backoff(self) -> None:
        self._backoff_deadline = None
        self.pump()
