"""WriteTxnMarkers (key 27): the partition leader ends transactions with commit or abort markers. KIP-98, KIP-664,
KIP-1228; versions 1-2.

The transaction coordinator sends it when a transaction ends; an administrator sends it to abort a transaction that no
coordinator knows (`kafka-transactions.sh abort`). Needs ALTER on the cluster on any listener, or CLUSTER_ACTION on an
internal listener. A marker is acknowledged when all in-sync replicas have it and, if offsets of a group were committed
in the transaction, when the group coordinator has completed it too; no marker is appended for a group coordinator that
is loading. The errors of the group coordinator are returned as NOT_LEADER_OR_FOLLOWER, as in Kafka. A partition whose
replicas do not have the marker after half of `request.timeout.ms` gets REQUEST_TIMED_OUT: the response must come before
the coordinator gives up, or all markers of the request would be written once more.
Version note: from version 2 on a marker has the version of its transaction, which decides how its producer epoch is
checked.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from typing import Any, NamedTuple

from signalbox.broker.api_request import ApiRequest, HandlerResult
from signalbox.broker.authorization.authorization import may_on_cluster
from signalbox.broker.authorization.cluster_action import require_cluster_action
from signalbox.broker.ports import GroupTransactions
from signalbox.common.cooperative_task import yield_if_due
from signalbox.common.internal_topics import OFFSETS_TOPIC
from signalbox.common.waiting.promise import Promise, gather
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.write_txn_markers import WriteTxnMarkersResponse
from signalbox.protocol.records.transaction_marker import TransactionMarker, encode_marker
from signalbox.replication.produce.pending_append import PendingAppend
from signalbox.replication.replica_manager import ReplicaManager
from signalbox.security.acl import AclOperation
from signalbox.security.authorizer import Authorizer

_Result = WriteTxnMarkersResponse.WritableTxnMarkerResult
_TopicResult = WriteTxnMarkersResponse.WritableTxnMarkerTopicResult
_PartitionResult = WriteTxnMarkersResponse.WritableTxnMarkerPartitionResult

# Kafka's transaction coordinator stops to send markers to a partition with one of these: it expects a leader's errors.
_COORDINATOR_ERRORS = (Error.COORDINATOR_NOT_AVAILABLE, Error.COORDINATOR_LOAD_IN_PROGRESS, Error.NOT_COORDINATOR)


class _MarkedPartition(NamedTuple):
    """A marker of the request, for one of its partitions."""

    marker: Any
    topic: str
    partition: int


class WriteTxnMarkersHandler:
    """`group_transactions` is None while no group coordinator takes offsets in transactions."""

    def __init__(
        self,
        replicas: ReplicaManager,
        authorizer: Authorizer,
        request_timeout_ms: int,
        peer_listeners: Container[str] = (),
        group_transactions: GroupTransactions | None = None,
    ) -> None:
        self._replicas = replicas
        self._authorizer = authorizer
        self._timeout_ms = request_timeout_ms // 2
        self._peer_listeners = peer_listeners
        self._group_transactions = group_transactions

    def __call__(self, request: ApiRequest) -> HandlerResult:
        """Yields."""
        if not may_on_cluster(self._authorizer, request.context, AclOperation.ALTER):
            require_cluster_action(self._authorizer, request.context, self._peer_listeners)
        marked = list(_marked_partitions(request.body))
        rejections = [self._rejection(row) for row in marked]
        accepted = [row for row, rejection in zip(marked, rejections, strict=True) if rejection is Error.NONE]
        now_ms = self._replicas.scheduler.clock.now_ms()
        appends = self._replicas.append_markers(
            [((row.topic, row.partition), _batch(row.marker, now_ms), _version(row.marker)) for row in accepted],
            self._timeout_ms,
        )
        response: Promise[WriteTxnMarkersResponse] = Promise()

        def complete_groups(appended: list[PendingAppend]) -> None:
            errors = gather([self._error(row, append) for row, append in zip(accepted, appended, strict=True)])
            errors.then(lambda codes: response.complete(self._response(request.body, _joined(rejections, codes))))

        appends.then(complete_groups)
        return response

    def _rejection(self, row: _MarkedPartition) -> Error:
        """The error of a marker that is not appended: the group coordinator could not complete the transaction."""
        groups = self._group_transactions
        if groups is None or row.topic != OFFSETS_TOPIC:
            return Error.NONE
        return _leader_error(groups.transaction_rejection(row.partition))

    def _error(self, row: _MarkedPartition, append: PendingAppend) -> Promise[int]:
        """The error code of one marker, when the group coordinator has completed the transaction too."""
        groups = self._group_transactions
        if groups is None or row.topic != OFFSETS_TOPIC or append.error:
            return Promise.of(append.error)
        marker = row.marker
        return groups.complete_transaction(
            row.partition, marker.producer_id, marker.producer_epoch, marker.transaction_result
        ).map(_leader_error)

    def _response(self, body: Any, codes: Sequence[int]) -> WriteTxnMarkersResponse:
        remaining_codes = iter(codes)
        return WriteTxnMarkersResponse(
            markers=[
                _Result(
                    producer_id=marker.producer_id,
                    topics=[
                        _TopicResult(
                            name=topic.name,
                            partitions=[
                                _PartitionResult(partition_index=index, error_code=next(remaining_codes))
                                for index in topic.partition_indexes
                            ],
                        )
                        for topic in marker.topics
                    ],
                )
                for marker in body.markers
            ]
        )


def _leader_error(error: Error) -> Error:
    """A group coordinator's error as that of a partition's leader."""
    return Error.NOT_LEADER_OR_FOLLOWER if error in _COORDINATOR_ERRORS else error


def _marked_partitions(body: Any) -> Iterator[_MarkedPartition]:
    """In the order of the request. Yields."""
    for marker in body.markers:
        for topic in marker.topics:
            for index in topic.partition_indexes:
                yield_if_due()
                yield _MarkedPartition(marker, topic.name, index)


def _joined(rejections: Sequence[Error], codes: Sequence[int]) -> list[int]:
    """One error code per marker, in the order of the request."""
    remaining_codes = iter(codes)
    return [next(remaining_codes) if rejection is Error.NONE else rejection for rejection in rejections]


def _batch(marker: Any, now_ms: int) -> bytes:
    end = TransactionMarker(marker.transaction_result, marker.coordinator_epoch)
    return encode_marker(marker.producer_id, marker.producer_epoch, end, now_ms)


def _version(marker: Any) -> int:
    version: int = marker.transaction_version
    return version
