"""The produce path: appends batches to the logs and completes them as `acks` requires.

`append_to` is the whole path for one partition, also for the fast path: it checks role and in-sync replicas; then the
log validates the batch, detects duplicates and queues it. At the end of a loop iteration each log writes its queued
batches together and calls `PendingAppend.written`; acks=all then waits for the high watermark. `ProduceResult` combines
the pending appends of a request and has the deadline of acks=all. A rejected batch is a pending append that is finished
with an error: nothing here raises KafkaError.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from signalbox.common.internal_topics import INTERNAL_TOPICS
from signalbox.common.waiting.deadlines import Deadline, Deadlines
from signalbox.common.waiting.promise import Promise
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.records.batch_header import HEADER_SIZE, LOG_OVERHEAD
from signalbox.replication.hosted_partitions import HostedPartitions
from signalbox.replication.partition import Partition
from signalbox.replication.produce.pending_append import ACKS_ALL, PendingAppend, rejected
from signalbox.replication.produce.unpacking import UnpackingQueue
from signalbox.replication.replica_dependencies import Scheduler
from signalbox.storage.log import Log
from signalbox.storage.log_manager import LogManager
from signalbox.storage.producers.transaction_verification import VerificationGuard
from signalbox.storage.validation.batch_admission import AdmissionSteps, Admitted

Batch = bytearray | memoryview | bytes
_TOO_LARGE = frozenset({Error.MESSAGE_TOO_LARGE, Error.RECORD_LIST_TOO_LARGE})
VALID_ACKS = (0, 1, ACKS_ALL)
NO_GUARD_BY_PARTITION: Mapping[tuple[str, int], VerificationGuard] = {}


class Appends:
    """Produce on one broker. `flush` writes the queued batches of all logs."""

    def __init__(
        self, hosted: HostedPartitions, scheduler: Scheduler, unpacking_queue: UnpackingQueue, logs: LogManager
    ) -> None:
        self._hosted = hosted
        self._deadlines = scheduler.deadlines
        self._at_iteration_end = scheduler.at_iteration_end
        self._now_ms = scheduler.clock.now_ms
        self._unpacking_queue = unpacking_queue
        self._logs = logs
        self._flush_scheduled = False

    def append(
        self,
        entries: Sequence[tuple[tuple[str, int], Batch]],
        acks: int,
        timeout_ms: int,
        now_ms: int,
        *,
        from_client: bool = True,
        guard_by_partition: Mapping[tuple[str, int], VerificationGuard] = NO_GUARD_BY_PARTITION,
    ) -> ProduceResult:
        """Append one batch per (topic, partition). The result has one pending append per entry, in their order.
        `guard_by_partition`: for transactional batches, from `Log.start_verification`. Yields."""
        appends = []
        for partition_key, batch in entries:
            pending = self._pending(partition_key, batch, acks, now_ms, from_client=from_client)
            if not pending.done:
                self.append_to(pending, batch, now_ms, from_client, guard_by_partition.get(partition_key))
            appends.append(pending)
        return self.produce_result(appends, timeout_ms)

    def append_marker(self, topic: str, index: int, batch: bytes, transaction_version: int) -> PendingAppend:
        """Append the control batch of a transaction marker; finished when all in-sync replicas have it (acks=all)."""
        now_ms = self._now_ms()
        pending = self._pending((topic, index), batch, ACKS_ALL, now_ms, from_client=False)
        partition = pending.partition
        if pending.done or partition is None:
            return pending
        if not partition.is_leader or partition.log is None:
            pending.fail(Error.KAFKA_STORAGE_ERROR if partition.is_offline else Error.NOT_LEADER_OR_FOLLOWER)
        elif not partition.has_enough_in_sync:
            pending.fail(Error.NOT_ENOUGH_REPLICAS)
        else:
            if not self._flush_scheduled:
                self._schedule_flush()
            try:
                partition.log.forget_replicated_transactions()
                partition.log.append_marker(batch, partition.leader_epoch, now_ms, transaction_version, pending.written)
            except KafkaError as error:
                pending.reject(error)
        return pending

    def append_to(
        self,
        pending: PendingAppend,
        batch: Batch,
        now_ms: int,
        from_client: bool = True,
        guard: VerificationGuard | None = None,
    ) -> None:
        """Append a batch to `pending.partition`, which must be set. Yields; `pending` may finish at once."""
        partition = pending.partition
        assert partition is not None
        partition.stats.produces += 1
        log = partition.log
        if not partition.is_leader or log is None:
            self._reject_not_leader(pending, partition, batch, now_ms)
            return
        if from_client and partition.rejected.by_producer:
            missing = partition.rejected.error_for(batch, log.producers, now_ms)
            if missing is not None:
                pending.fail(missing, "an earlier batch of this producer was rejected and must come first")
                return
        if pending.acks == ACKS_ALL and not partition.has_enough_in_sync:
            partition.rejected.note(batch, Error.NOT_ENOUGH_REPLICAS, log.producers, now_ms)
            pending.fail(
                Error.NOT_ENOUGH_REPLICAS,
                f"{len(partition.isr)} replicas in sync, min.insync.replicas is {partition.effective_min_isr}",
            )
            return
        leader_epoch = partition.leader_epoch
        try:
            admitted = log.admit(batch, now_ms) if from_client else log.admit_at_once(batch, now_ms, from_client)
        except KafkaError as error:
            _reject(pending, batch, error)
            return
        if isinstance(admitted, AdmissionSteps):
            identity = bytes(batch[:HEADER_SIZE])  # the buffer is reused
            self._unpacking_queue.add(
                admitted, len(batch), partial(self._append_unpacked, pending, log, leader_epoch, identity, guard)
            )
        else:
            self._append_admitted(pending, log, leader_epoch, batch, admitted, from_client, guard)

    def _append_unpacked(
        self,
        pending: PendingAppend,
        log: Log,
        leader_epoch: int,
        identity: bytes,
        guard: VerificationGuard | None,
        admitted: Admitted | KafkaError,
    ) -> None:
        """After decompression, on the event loop. A batch that has timed out is not appended: its client retries."""
        partition = pending.partition
        assert partition is not None
        timed_out = admitted.error is Error.REQUEST_TIMED_OUT if isinstance(admitted, KafkaError) else pending.done
        if timed_out:
            partition.rejected.note(identity, Error.REQUEST_TIMED_OUT, log.producers, self._now_ms())
        if isinstance(admitted, KafkaError):
            _reject(pending, identity, admitted)
        elif not timed_out:
            self._append_admitted(pending, log, leader_epoch, identity, admitted, True, guard)

    def _append_admitted(
        self,
        pending: PendingAppend,
        log: Log,
        leader_epoch: int,
        batch: Batch,
        admitted: Admitted,
        from_client: bool,
        guard: VerificationGuard | None,
    ) -> None:
        """Admission yields, so leadership is checked again."""
        partition = pending.partition
        assert partition is not None
        if partition.leader_epoch != leader_epoch or not partition.is_leader or partition.log is not log:
            self._reject_not_leader(pending, partition, batch, self._now_ms())
            return
        if not self._flush_scheduled:
            self._schedule_flush()
        try:
            log.append_admitted(admitted, leader_epoch, pending.written, from_client, guard)
            if not self._flush_scheduled:  # an iteration ended while the log wrote a large batch
                self._schedule_flush()
        except KafkaError as error:
            # As in Kafka: a producer whose records were deleted by retention sees why its sequence is rejected.
            if error.error is not Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
                pending.log_start_offset = log.log_start_offset
            if error.error is Error.OUT_OF_ORDER_SEQUENCE_NUMBER and partition.rejected.note_gap(
                batch, log.producers, partition.led_since, self._now_ms()
            ):
                pending.fail(Error.NOT_LEADER_OR_FOLLOWER, f"the leader is new, and {error.message}")
            else:
                _reject(pending, batch, error)

    def _reject_not_leader(self, pending: PendingAppend, partition: Partition, batch: Batch, now_ms: int) -> None:
        log = partition.log
        error = Error.KAFKA_STORAGE_ERROR if partition.is_offline else Error.NOT_LEADER_OR_FOLLOWER
        partition.rejected.note(batch, error, log.producers if log is not None else {}, now_ms)
        pending.fail(error)

    def produce_result(self, appends: list[PendingAppend], timeout_ms: int) -> ProduceResult:
        """The result of a request with these pending appends."""
        return ProduceResult(appends, timeout_ms, self._deadlines)

    def flush(self) -> None:
        """Write the queued batches now, before the loop iteration ends."""
        self._logs.flush_appends()

    def _schedule_flush(self) -> None:
        self._flush_scheduled = True
        self._at_iteration_end(self._on_iteration_end)

    def _on_iteration_end(self) -> None:
        self._flush_scheduled = False
        self._logs.flush_complete_groups()

    def _pending(
        self, partition_key: tuple[str, int], batch: Batch, acks: int, now_ms: int, *, from_client: bool
    ) -> PendingAppend:
        """A pending append for a batch; finished with an error if this broker has no such partition."""
        topic, index = partition_key
        if acks not in VALID_ACKS:
            return rejected(None, Error.INVALID_REQUIRED_ACKS, f"acks {acks}: 0, 1 or -1 (all) are allowed")
        if from_client and topic in INTERNAL_TOPICS:
            return rejected(None, Error.INVALID_TOPIC_EXCEPTION, f"Cannot append to internal topic {topic}")
        try:
            partition = self._hosted.find(topic, index)
        except KafkaError as error:
            stats = self._hosted.stats_of(topic)
            stats.produces += 1
            stats.failed_produces += 1
            self._hosted.rejected_sequences(topic, index).note(batch, Error.NOT_LEADER_OR_FOLLOWER, {}, now_ms)
            return rejected(self._hosted.get(topic, index), error.error, error.message)
        return PendingAppend(partition, acks)


def _reject(pending: PendingAppend, batch: Batch, error: KafkaError) -> None:
    """The log has rejected a batch; `batch` holds at least its header."""
    if error.error in _TOO_LARGE and pending.partition is not None:
        pending.partition.stats.bytes_rejected += int.from_bytes(batch[8:12]) + LOG_OVERHEAD
    pending.reject(error)


class ProduceResult(Promise[list[PendingAppend]]):
    """Result of a produce request: its pending appends in the order of the request, when all are finished."""

    __slots__ = ("_deadline", "_open", "appends")

    def __init__(self, appends: list[PendingAppend], timeout_ms: int, deadlines: Deadlines) -> None:
        super().__init__()
        self.appends = appends
        self._deadline: Deadline | None = None
        waiting = [pending for pending in appends if not pending.done]
        self._open = len(waiting)
        if not waiting:
            self.complete(appends)
            return
        if any(pending.acks == ACKS_ALL for pending in waiting):
            self._deadline = deadlines.add(timeout_ms, self._expire)
        for pending in waiting:
            pending.then(self._on_finished)

    def _on_finished(self, pending: PendingAppend) -> None:
        self._open -= 1
        if self._open == 0:
            if self._deadline is not None:
                self._deadline.cancel()
            self.complete(self.appends)

    def _expire(self) -> None:
        """REQUEST_TIMED_OUT for batches that the replicas have not acknowledged; they may still be committed."""
        self._deadline = None
        for pending in self.appends:
            if not pending.done:
                pending.fail(Error.REQUEST_TIMED_OUT)
