"""Sends ISR changes to the controller (KIP-497): collected, one request in flight, retried until there is a response.

Each retry takes the current broker epoch, so it also works after a new registration. A proposal that is no longer
pending in its partition (a newer leader epoch, a new LeaderAndIsr) is dropped instead of retried.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

from signalbox.common.ids import TopicPartition, partition_list
from signalbox.common.log_limiter import TransitionLog
from signalbox.common.waiting.deadlines import Deadlines
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse
from signalbox.replication.isr.isr_decisions import AlteredPartition, NextAction, apply_response
from signalbox.replication.isr.isr_state import ProposedIsr
from signalbox.replication.partition import Partition
from signalbox.replication.ports import AlterPartitionSender

_log = logging.getLogger(__name__)
RETRY_MS = 50

Change = tuple[Partition, ProposedIsr]


class IsrChanges:
    """The queue of proposals of one broker."""

    def __init__(
        self,
        broker_id: int,
        broker_epoch: Callable[[], int],
        sender: AlterPartitionSender,
        deadlines: Deadlines,
    ) -> None:
        self._broker_id = broker_id
        self._broker_epoch = broker_epoch
        self._sender = sender
        self._deadlines = deadlines
        self.shrinks = 0  # counts of proposals by direction, and of those that the controller rejected
        self.expansions = 0
        self.rejections = 0
        self._transitions = TransitionLog(_log, "AlterPartition is answered again")
        self._queued: dict[TopicPartition, Change] = {}
        self._after_response: dict[TopicPartition, Callable[[], None]] = {}
        self._in_flight = False
        self._closed = False

    def submit(self, partition: Partition, proposal: ProposedIsr | None) -> None:
        """Queue a proposal (None: nothing); `dispatch` sends the queued ones."""
        if proposal is not None:
            _log.debug("%s: proposing ISR %s instead of %s", partition.topic_partition, proposal.isr, partition.isr)
            self._queued[partition.topic_partition] = (partition, proposal)
            self.shrinks += len(proposal.isr) < len(partition.isr)
            self.expansions += len(proposal.isr) > len(partition.isr)

    def dispatch(self) -> None:
        """Send all queued proposals in one request, unless one is in flight."""
        if self._in_flight or self._closed:
            return
        changes = {tp: change for tp, change in self._queued.items() if _is_pending(*change)}
        self._queued.clear()
        if not changes:
            return
        self._in_flight = True
        request = AlterPartitionRequest(
            broker_id=self._broker_id, broker_epoch=self._broker_epoch(), topics=list(self._topics(changes))
        )
        self._sender.send(request, lambda response: self._on_response(changes, response))

    def call_after_response(self, partition: Partition, callback: Callable[[], None]) -> None:
        """Call `callback` once, when the controller has responded: for a proposal that a pending one prevents."""
        self._after_response[partition.topic_partition] = callback

    def close(self) -> None:
        self._closed = True
        self._queued.clear()
        self._after_response.clear()

    def _topics(self, changes: dict[TopicPartition, Change]) -> Iterator[AlterPartitionRequest.TopicData]:
        by_topic: dict[str, list[Change]] = {}
        for topic_partition, change in changes.items():
            by_topic.setdefault(topic_partition.topic, []).append(change)
        for topic, topic_changes in by_topic.items():
            yield AlterPartitionRequest.TopicData(
                topic_name=topic,
                topic_id=topic_changes[0][0].topic_id,
                partitions=[self._entry(partition, proposal) for partition, proposal in topic_changes],
            )

    def _entry(self, partition: Partition, proposal: ProposedIsr) -> AlterPartitionRequest.PartitionData:
        return AlterPartitionRequest.PartitionData(
            partition_index=partition.topic_partition.partition,
            leader_epoch=proposal.leader_epoch,
            new_isr_with_epochs=[
                AlterPartitionRequest.BrokerState(
                    broker_id=broker_id, broker_epoch=self._epoch_of(partition, broker_id)
                )
                for broker_id in proposal.isr
            ],
            leader_recovery_state=proposal.leader_recovery_state,
            partition_epoch=proposal.partition_epoch,
        )

    def _epoch_of(self, partition: Partition, broker_id: int) -> int:
        if broker_id == self._broker_id:
            return self._broker_epoch()
        follower = partition.followers.get(broker_id)
        return -1 if follower is None else follower.broker_epoch

    def _on_response(self, changes: dict[TopicPartition, Change], response: AlterPartitionResponse | Error) -> None:
        self._in_flight = False
        if self._closed:
            return
        error = response if isinstance(response, Error) else Error.of(response.error_code)
        if isinstance(response, Error) or error is not Error.NONE:
            self._transitions.failed(f"AlterPartition returned {error.name} and is retried")
            retry = changes
        else:
            self._transitions.recovered()
            retry = self._apply(changes, response)
        for topic_partition, change in retry.items():
            self._queued.setdefault(topic_partition, change)
        callbacks = list(self._after_response.values())
        self._after_response.clear()
        for callback in callbacks:
            callback()
        if retry:
            self._deadlines.add(RETRY_MS, self.dispatch)
        else:
            self.dispatch()

    def _apply(
        self, changes: dict[TopicPartition, Change], response: AlterPartitionResponse
    ) -> dict[TopicPartition, Change]:
        results: dict[tuple[bytes | str, int], AlteredPartition] = {}
        for topic in response.topics:
            for entry in topic.partitions:
                results[topic.topic_id, entry.partition_index] = entry
                results[topic.topic_name, entry.partition_index] = entry
        retry = {}
        accepted: dict[tuple[int, ...], list[TopicPartition]] = {}
        rejected: dict[tuple[Error, tuple[int, ...]], list[TopicPartition]] = {}
        for topic_partition, (partition, proposal) in changes.items():
            index = topic_partition.partition
            result = results.get((partition.topic_id, index)) or results.get((topic_partition.topic, index))
            if result is None or apply_response(partition, proposal, result) is NextAction.RETRY:
                retry[topic_partition] = (partition, proposal)
            elif result.error_code:
                self.rejections += 1
                rejected.setdefault((Error.of(result.error_code), tuple(proposal.isr)), []).append(topic_partition)
            else:
                accepted.setdefault(tuple(result.isr), []).append(topic_partition)
        for isr, partitions in accepted.items():
            _log.info("ISR updated to %s for %d partitions: %s", list(isr), len(partitions), partition_list(partitions))
        for (error, isr), partitions in rejected.items():
            names = partition_list(partitions)
            # Usually for a broker that is shutting down and still fetches: only the controller knows that.
            _log.info("ISR %s for %d partitions rejected with %s: %s", list(isr), len(partitions), error.name, names)
        return retry


def _is_pending(partition: Partition, proposal: ProposedIsr) -> bool:
    return partition.isr_state.pending is proposal
