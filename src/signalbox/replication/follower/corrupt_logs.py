"""Rebuilds this broker's corrupt replicas.

A corrupt replica first leaves the ISR: it sends the controller an AlterPartition whose ISR does not contain it. If it
is the leader, the controller elects another in-sync replica. The LeaderAndIsr that follows has a new leader epoch, so
that no request in flight can add the replica to the ISR again; then its log is truncated before the first corrupt batch
and the rest is fetched again. So no replica that can be elected is truncated below the high watermark.

If no other replica is in sync, the replica keeps its role and serves its intact records. That is logged, and the
change is retried at each check of the ISRs.
"""

from __future__ import annotations

import logging

from signalbox.common.cooperative_task import yielding
from signalbox.replication.hosted_partitions import HostedPartitions
from signalbox.replication.isr.isr import IsrChanges
from signalbox.replication.isr.isr_decisions import propose_leave
from signalbox.replication.partition import Partition
from signalbox.replication.waiting.purgatory import AtIterationEnd
from signalbox.storage.log import Log

_log = logging.getLogger(__name__)


class CorruptLogs:
    """The corrupt replicas among the hosted partitions."""

    def __init__(self, hosted: HostedPartitions, isr_changes: IsrChanges, at_iteration_end: AtIterationEnd) -> None:
        self._hosted = hosted
        self._isr_changes = isr_changes
        self._at_iteration_end = at_iteration_end
        self.corrupt_batches = 0  # since the start
        self.rebuilt = 0

    @property
    def count(self) -> int:
        """Number of replicas that are corrupt now. Yields."""
        corrupt = 0
        for partition in yielding(list(self._hosted)):
            corrupt += partition.log is not None and partition.log.corruption is not None
        return corrupt

    def watch(self, partition: Partition, log: Log) -> None:
        """Register for corrupt batches of `log`; the log may report one in the middle of a read."""

        def on_corrupt() -> None:
            self.corrupt_batches += 1
            self._at_iteration_end(lambda: self._leave_isr(partition))

        log.on_corrupt = on_corrupt

    def on_role_change(self, partition: Partition, isr: list[int]) -> None:
        """The replica is leader or follower at a new leader epoch, with this ISR. KafkaError if the disk fails."""
        if partition.log is None or partition.log.corruption is None:
            return
        if partition.is_leader or partition.local_id in isr:
            self._at_iteration_end(lambda: self._leave_isr(partition))
        else:
            self._rebuild(partition)

    def _rebuild(self, partition: Partition) -> None:
        log = partition.log
        assert log is not None
        assert log.corruption is not None
        offset = log.corruption.offset
        _log.warning(
            "Corrupt log of %s truncated (offset=%d, log end offset=%d): the rest is fetched from leader %d",
            partition.topic_partition, offset, log.log_end_offset, partition.leader_id,
        )  # fmt: skip
        partition.truncate_corruption()
        self.rebuilt += 1

    def retry(self) -> None:
        """Retry for replicas that could not leave the ISR so far."""
        for partition in self._hosted:
            self._leave_isr(partition)

    def _leave_isr(self, partition: Partition) -> None:
        log = partition.log
        if log is None or log.corruption is None:
            return
        if partition.isr_state.pending is not None:
            self._isr_changes.call_after_response(partition, lambda: self._leave_isr(partition))
            return
        proposal = propose_leave(partition)
        if proposal is None:
            _log.error(
                "Corrupt log of %s not rebuilt (offset=%d, ISR=%s): no other replica is in sync; it serves its intact "
                "records. Bring another replica back, or delete the records up to that offset",
                partition.topic_partition, log.corruption.offset, list(partition.isr),
            )  # fmt: skip
            return
        role = "hands leadership over" if partition.is_leader else "leaves the ISR"
        _log.warning("Corrupt log of %s to be rebuilt (offset=%d): broker %d %s", partition.topic_partition,
                     log.corruption.offset, partition.local_id, role)  # fmt: skip
        self._isr_changes.submit(partition, proposal)
        self._isr_changes.dispatch()
