"""The requests of one transactional id to its coordinator, and to the coordinators of groups (KIP-98).

Each is retried until `default.api.timeout.ms`: coordinators move, and while a coordinator ends a transaction it rejects
the next one with CONCURRENT_TRANSACTIONS. All other errors are final: RequestRejected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from signalbox.client.admin_apis.admin_call import left_ms
from signalbox.client.admin_apis.group_admin import find_coordinator
from signalbox.client.cluster_client import ClusterClient
from signalbox.client.failures import ClientFailure, DeadlinePassed
from signalbox.client.rejections import RequestRejected, rejection_of
from signalbox.client.sender.producer_batch import ProducerIdentity
from signalbox.common.ids import TopicPartition
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from signalbox.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from signalbox.protocol.messages.end_txn import EndTxnRequest
from signalbox.protocol.messages.init_producer_id import InitProducerIdRequest
from signalbox.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest

_GROUP, _TRANSACTION = 0, 1  # types of coordinators
_RETRIED = frozenset(
    {
        Error.NOT_COORDINATOR,
        Error.COORDINATOR_NOT_AVAILABLE,
        Error.COORDINATOR_LOAD_IN_PROGRESS,
        Error.CONCURRENT_TRANSACTIONS,
        Error.UNKNOWN_TOPIC_OR_PARTITION,
    }
)
# The newest versions at which the producer itself adds partitions to its transaction.
_ADDS_ITSELF = {"add": 3, "end": 4, "offsets": 4}

Offsets = Mapping[TopicPartition, int]


class TransactionRequests:
    """All methods: RequestRejected, or ClientFailure when there is no response in time."""

    def __init__(self, client: ClusterClient, transactional_id: str, transaction_timeout_ms: int) -> None:
        self._client = client
        self.transactional_id = transactional_id
        self._transaction_timeout_ms = transaction_timeout_ms

    async def init(self, former: ProducerIdentity | None) -> ProducerIdentity:
        """The next epoch of the transactional id; its former producer is fenced, and its open transaction aborted.
        `former`: this producer's own identity, after a transaction that failed (KIP-360)."""
        request = InitProducerIdRequest(
            transactional_id=self.transactional_id,
            transaction_timeout_ms=self._transaction_timeout_ms,
            producer_id=-1 if former is None else former.producer_id,
            producer_epoch=-1 if former is None else former.producer_epoch,
        )
        response = await self._ask(request, lambda response: [response.error_code])
        view = self._client.view
        return ProducerIdentity(response.producer_id, response.producer_epoch, view.cluster_id, self.transactional_id)

    async def add_partitions(self, identity: ProducerIdentity, partitions: Iterable[TopicPartition]) -> None:
        """Add partitions to the transaction."""
        topics: dict[str, list[int]] = {}
        for topic, index in partitions:
            topics.setdefault(topic, []).append(index)
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=identity.producer_id,
            v3_and_below_producer_epoch=identity.producer_epoch,
            v3_and_below_topics=[
                AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name=name, partitions=indexes)
                for name, indexes in topics.items()
            ],
        )

        def errors(response: Any) -> list[int]:
            rows = (row for topic in response.results_by_topic_v3_and_below for row in topic.results_by_partition)
            codes = [row.partition_error_code for row in rows]
            return [code for code in codes if code != Error.OPERATION_NOT_ATTEMPTED]

        await self._ask(request, errors, max_version=_ADDS_ITSELF["add"])

    async def add_offsets(self, identity: ProducerIdentity, group_id: str) -> None:
        """Add the offsets of a group to the transaction."""
        request = AddOffsetsToTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=identity.producer_id,
            producer_epoch=identity.producer_epoch,
            group_id=group_id,
        )
        await self._ask(request, lambda response: [response.error_code])

    async def commit_offsets(self, identity: ProducerIdentity, group_id: str, offsets: Offsets) -> None:
        """Commit offsets of a group, which was added, in the transaction."""
        kind = TxnOffsetCommitRequest
        topics: dict[str, list[Any]] = {}
        for (topic, index), offset in offsets.items():
            row = kind.TxnOffsetCommitRequestPartition(
                partition_index=index, committed_offset=offset, committed_metadata=""
            )
            topics.setdefault(topic, []).append(row)
        request = kind(
            transactional_id=self.transactional_id,
            group_id=group_id,
            producer_id=identity.producer_id,
            producer_epoch=identity.producer_epoch,
            topics=[kind.TxnOffsetCommitRequestTopic(name=name, partitions=rows) for name, rows in topics.items()],
        )

        def errors(response: Any) -> list[int]:
            return [row.error_code for topic in response.topics for row in topic.partitions]

        await self._ask(request, errors, (group_id, _GROUP), _ADDS_ITSELF["offsets"])

    async def end(self, identity: ProducerIdentity, *, committed: bool) -> None:
        """Commit or abort the transaction."""
        request = EndTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=identity.producer_id,
            producer_epoch=identity.producer_epoch,
            committed=committed,
        )
        await self._ask(request, lambda response: [response.error_code], max_version=_ADDS_ITSELF["end"])

    async def _ask(
        self,
        request: Any,
        errors: Callable[[Any], list[int]],
        coordinator: tuple[str, int] | None = None,
        max_version: int | None = None,
    ) -> Any:
        """The response without errors of a coordinator, which is looked up before each attempt."""
        deadline = self._client.deadline()
        key, key_type = coordinator or (self.transactional_id, _TRANSACTION)
        tries = 0
        last: RequestRejected | None = None
        while True:
            try:
                node_id = await find_coordinator(self._client, key, key_type, timeout_ms=left_ms(deadline))
                response = await self._client.request(
                    node_id, request, timeout_ms=left_ms(deadline), max_version=max_version
                )
                codes = [code for code in errors(response) if code]
                if not codes:
                    return response
                raise rejection_of(Error.of(codes[0]), f"transactional id {self.transactional_id}")
            except RequestRejected as rejection:
                if rejection.error not in _RETRIED:
                    raise
                last = rejection
            except DeadlinePassed:
                if last is None:
                    raise
                raise last from None
            except ClientFailure as failure:
                if not failure.retriable:
                    raise
            tries += 1
            await self._client.pause(tries, deadline)
