"""Transactions (KIP-664): ListTransactions at every broker, DescribeTransactions and InitProducerId at the coordinator,
DescribeProducers and WriteTxnMarkers at the leader of a partition."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from signalbox.client.admin_apis.admin_call import left_ms
from signalbox.client.admin_apis.group_admin import TRANSACTION, GroupAdmin
from signalbox.client.admin_apis.offset_admin import OffsetAdmin
from signalbox.common.ids import TopicPartition
from signalbox.protocol.messages.describe_producers import DescribeProducersRequest
from signalbox.protocol.messages.describe_transactions import DescribeTransactionsRequest
from signalbox.protocol.messages.init_producer_id import InitProducerIdRequest
from signalbox.protocol.messages.list_transactions import ListTransactionsRequest
from signalbox.protocol.messages.write_txn_markers import WriteTxnMarkersRequest

_FENCING_TIMEOUT_MS = 1  # of the new transaction, which never begins


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionListing:
    transactional_id: str
    producer_id: int
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionDescription:
    """`start_ms` is None while no transaction is open."""

    coordinator_id: int
    state: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    start_ms: int | None
    partitions: frozenset[TopicPartition]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerState:
    """A producer of one partition. `transaction_start_offset` is None while it has no open transaction there."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp_ms: int
    coordinator_epoch: int
    transaction_start_offset: int | None


class TransactionAdmin(GroupAdmin, OffsetAdmin):
    async def list_transactions(
        self,
        *,
        states: Sequence[str] = (),
        producer_ids: Sequence[int] = (),
        duration_ms: int = -1,
        pattern: str | None = None,
        timeout_ms: float | None = None,
    ) -> list[TransactionListing]:
        """Transactional ids of all brokers, in order: those in these states (`Ongoing`, …), of these producer ids, open
        for longer than `duration_ms`, whose id matches `pattern`. VersionUnsupported for a filter that a broker does
        not know."""
        request = ListTransactionsRequest(
            state_filters=list(states),
            producer_id_filters=list(producer_ids),
            duration_filter=duration_ms,
            transactional_id_pattern=pattern,
        )
        responses = await self._of_each_node(request, None, self.client.deadline(timeout_ms))
        listings = [
            TransactionListing(
                transactional_id=row.transactional_id, producer_id=row.producer_id, state=row.transaction_state
            )
            for response in responses.values()
            for row in response.transaction_states
        ]
        return sorted(listings, key=lambda listing: listing.transactional_id)

    async def describe_transactions(
        self, transactional_ids: Sequence[str], *, timeout_ms: float | None = None
    ) -> dict[str, TransactionDescription]:
        """State by transactional id; KafkaError for the first one that is rejected."""
        return {name: await self._describe_transaction(name, timeout_ms) for name in transactional_ids}

    async def _describe_transaction(self, name: str, timeout_ms: float | None) -> TransactionDescription:
        async def attempt(node_id: int, remaining_ms: float) -> tuple[int, TransactionDescription]:
            request = DescribeTransactionsRequest(transactional_ids=[name])
            (row,) = (await self._coordinator_asked(node_id, request, remaining_ms)).transaction_states
            start_ms = row.transaction_start_time_ms
            described = TransactionDescription(
                coordinator_id=node_id,
                state=row.transaction_state,
                producer_id=row.producer_id,
                producer_epoch=row.producer_epoch,
                timeout_ms=row.transaction_timeout_ms,
                start_ms=start_ms if start_ms >= 0 else None,
                partitions=frozenset(
                    TopicPartition(topic.topic, number) for topic in row.topics for number in topic.partitions
                ),
            )
            return row.error_code, described

        described: TransactionDescription = await self._at_coordinator(name, attempt, timeout_ms, TRANSACTION)
        return described

    async def describe_producers(
        self, partitions: Iterable[TopicPartition], *, timeout_ms: float | None = None
    ) -> dict[TopicPartition, list[ProducerState]]:
        """The producers that each partition's leader knows; KafkaError names the first rejected partition."""
        deadline = self.client.deadline(timeout_ms)
        states = {}
        for partition in partitions:
            topic = DescribeProducersRequest.TopicRequest(name=partition.topic, partition_indexes=[partition.partition])
            request = DescribeProducersRequest(topics=[topic])
            row = await self._at_leader(partition, request, deadline, lambda got: got.topics)
            states[partition] = [
                ProducerState(
                    producer_id=state.producer_id,
                    producer_epoch=state.producer_epoch,
                    last_sequence=state.last_sequence,
                    last_timestamp_ms=state.last_timestamp,
                    coordinator_epoch=state.coordinator_epoch,
                    transaction_start_offset=(
                        state.current_txn_start_offset if state.current_txn_start_offset >= 0 else None
                    ),
                )
                for state in row.active_producers
            ]
        return states

    async def abort_transaction(
        self, partition: TopicPartition, producer: ProducerState, *, timeout_ms: float | None = None
    ) -> None:
        """Abort a transaction that hangs in one partition: that no coordinator knows. `producer` is one of
        `describe_producers`. KafkaError when the leader rejects the marker."""
        message_type = WriteTxnMarkersRequest
        topic = message_type.WritableTxnMarkerTopic(name=partition.topic, partition_indexes=[partition.partition])
        marker = message_type.WritableTxnMarker(
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            transaction_result=False,
            topics=[topic],
            coordinator_epoch=max(producer.coordinator_epoch, 0),
        )
        deadline = self.client.deadline(timeout_ms)
        request = message_type(markers=[marker])
        await self._at_leader(partition, request, deadline, _topics_of)

    async def fence_producers(
        self, transactional_ids: Sequence[str], *, timeout_ms: float | None = None
    ) -> dict[str, tuple[int, int]]:
        """End the present producers with these transactional ids, and abort their transactions; (producer id, epoch) of
        each from now on. KafkaError for the first one that is rejected."""
        deadline = self.client.deadline(timeout_ms)
        return {name: await self._fence(name, left_ms(deadline)) for name in transactional_ids}

    async def _fence(self, name: str, timeout_ms: float) -> tuple[int, int]:
        request = InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=_FENCING_TIMEOUT_MS)

        async def attempt(node_id: int, remaining_ms: float) -> tuple[int, tuple[int, int]]:
            response: Any = await self._coordinator_asked(node_id, request, remaining_ms)
            return response.error_code, (response.producer_id, response.producer_epoch)

        fenced: tuple[int, int] = await self._at_coordinator(name, attempt, timeout_ms, TRANSACTION)
        return fenced


def _topics_of(response: Any) -> list[Any]:
    return [topic for marker in response.markers for topic in marker.topics]
