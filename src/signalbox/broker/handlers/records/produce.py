"""Produce (key 0): appends record batches as the partition's leader. Versions 3-13.

acks=0 has no response (an error closes the connection, so that the client refreshes its metadata); acks=1 has it when
the batch is written to the file, acks=all when every in-sync replica has the batch, limited by the request's timeout.
Needs WRITE on the topic; without it only the topic's partitions are rejected. Transactional batches need a
transactional id and WRITE on it, and wait until their transaction is verified (`broker/transactions/`); too many that
wait get NOT_ENOUGH_REPLICAS, which is retried. Without a
verifier a transactional id is rejected (UNSUPPORTED_VERSION). If a partition is named twice, the last batch is
appended and there is one result, since Kafka reads a request into a map. Version notes: topic ids from 13 on; the
current leader and its endpoint on the request's listener from 10 on (KIP-951); error messages from 8 on; zstd from 7
on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from signalbox.broker.api_request import NO_RESPONSE, ApiRequest, CloseConnection, FinalResponse, HandlerResult
from signalbox.broker.authorization.authorization import may_change_records
from signalbox.broker.routing.exposed_nodes import node_endpoints
from signalbox.broker.transactions.transactional_produce import (
    ProducerBatches,
    TransactionalProduce,
    Verified,
    transactional_batches,
)
from signalbox.common.limits import MAX_AWAITING_VERIFICATION_BYTES
from signalbox.common.waiting.promise import Promise
from signalbox.metadata.cache import MetadataCache
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.produce import ProduceRequest, ProduceResponse
from signalbox.protocol.records.batch_header import COMPRESSION_MASK, HEADER_SIZE, MAGIC, unpack_header
from signalbox.protocol.records.compression import CODES
from signalbox.replication.produce.append import VALID_ACKS, Batch
from signalbox.replication.produce.pending_append import PendingAppend, rejected
from signalbox.replication.replica_manager import ReplicaManager
from signalbox.security.acl import AclOperation, ResourceType
from signalbox.security.authorizer import Authorizer

Entry = tuple[tuple[str, int], Batch]
_Partition = ProduceResponse.PartitionProduceResponse
_LEADER_ERRORS = (Error.NOT_LEADER_OR_FOLLOWER, Error.FENCED_LEADER_EPOCH)
_ZSTD = CODES["zstd"]
ZSTD_FROM = 7
_CURRENT_LEADER_FROM = 10
_TOPIC_IDS_FROM = 13


class ProduceHandler:
    """Passes the batches to the replication package and builds the response from its pending appends."""

    def __init__(
        self,
        replicas: ReplicaManager,
        cache: MetadataCache,
        authorizer: Authorizer,
        transactions: TransactionalProduce | None = None,
    ) -> None:
        self._replicas = replicas
        self._cache = cache
        self._authorizer = authorizer
        self._transactions = transactions
        self._awaiting_bytes = 0  # of batches that wait for the verification of their transaction

    def __call__(self, request: ApiRequest) -> HandlerResult:
        """Yields."""
        body: ProduceRequest = request.body
        if body.acks not in VALID_ACKS:
            raise KafkaError(Error.INVALID_REQUIRED_ACKS, f"acks is {body.acks}")
        if body.transactional_id is not None and self._transactions is None:
            raise KafkaError(Error.UNSUPPORTED_VERSION, "transactions are not supported")
        _keep_last_of_duplicates(body)
        rejections = self._rejections(request, body)
        partitions = ((topic, partition) for topic in body.topic_data for partition in topic.partition_data)
        entries = [
            ((topic.name, partition.index), partition.records or b"")
            for (topic, partition), rejection in zip(partitions, rejections, strict=True)
            if rejection is None
        ]
        transactional_id = body.transactional_id
        batches = transactional_batches(entries) if transactional_id is not None else {}
        if transactional_id is not None and batches:
            appends = self._append_in_transaction(request, transactional_id, entries, batches)
        else:
            appends = self._replicas.append(entries, body.acks, body.timeout_ms)
        return appends.map(lambda completed: self.answer(request, _joined(rejections, completed)))

    def _append_in_transaction(
        self, request: ApiRequest, transactional_id: str, entries: list[Entry], batches: ProducerBatches
    ) -> Promise[list[PendingAppend]]:
        """Appends when the transaction is verified; TRANSACTIONAL_ID_AUTHORIZATION_FAILED without WRITE on the id.
        Yields."""
        body: ProduceRequest = request.body
        assert self._transactions is not None
        if not self._authorizer.authorize(
            request.context, AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID, transactional_id
        ):
            raise KafkaError(
                Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, f"no WRITE on transactional id {transactional_id}"
            )
        verification = self._transactions.verify(transactional_id, request.header.api_version, batches)
        if not verification.is_done:
            size_bytes = sum(len(batch) for _, batch in entries)
            if self._awaiting_bytes and self._awaiting_bytes + size_bytes > MAX_AWAITING_VERIFICATION_BYTES:
                text = "too many batches wait for the verification of their transaction"
                return Promise.of([rejected(None, Error.NOT_ENOUGH_REPLICAS, text) for _ in entries])
            self._awaiting_bytes += size_bytes
            entries = [(key, bytes(batch)) for key, batch in entries]  # the request's buffer is reused
            verification.when_done(lambda: self._verified(size_bytes))
        appended: Promise[list[PendingAppend]] = Promise()

        def append(verified: Verified) -> None:
            rejections = [_rejection_of(verified, key) for key, _ in entries]
            accepted = [entry for entry, rejection in zip(entries, rejections, strict=True) if rejection is None]
            result = self._replicas.append(
                accepted, body.acks, body.timeout_ms, guard_by_partition=verified.guard_by_partition
            )
            result.then(lambda completed: appended.complete(_joined(rejections, completed)))

        verification.then(append)
        return appended

    def _verified(self, size_bytes: int) -> None:
        self._awaiting_bytes -= size_bytes

    def _rejections(self, request: ApiRequest, body: ProduceRequest) -> list[PendingAppend | None]:
        """A failed append for each partition that is rejected here; None for a partition that is appended."""
        rejections: list[PendingAppend | None] = []
        knows_zstd = request.header.api_version >= ZSTD_FROM
        for topic in body.topic_data:
            error = self._topic_error(request, topic)
            for partition in topic.partition_data:
                if error is not Error.NONE:
                    rejections.append(rejected(None, error))
                elif not knows_zstd and _is_zstd(partition.records or b""):
                    text = f"zstd needs Produce {ZSTD_FROM} or later"
                    rejections.append(rejected(None, Error.UNSUPPORTED_COMPRESSION_TYPE, text))
                else:
                    rejections.append(None)
        return rejections

    def _topic_error(self, request: ApiRequest, topic: Any) -> Error:
        """The error that rejects a topic, or NONE; sets the name of a topic that has an id only."""
        if request.header.api_version >= _TOPIC_IDS_FROM:
            topic.name = self._cache.image.topic_name(topic.topic_id) or ""
            if not topic.name:
                return Error.UNKNOWN_TOPIC_ID
        allowed = may_change_records(self._authorizer, request.context, AclOperation.WRITE, topic.name)
        return Error.NONE if allowed else Error.TOPIC_AUTHORIZATION_FAILED

    def answer(self, request: ApiRequest, appends: Sequence[PendingAppend]) -> FinalResponse:
        """The result of a request whose appends, one per partition, are complete."""
        response, failed = self.response(request, appends)
        if request.body.acks == 0:
            return NO_RESPONSE if failed is None else CloseConnection(f"produce with acks=0 failed for {failed}")
        return response

    def response(self, request: ApiRequest, appends: Sequence[PendingAppend]) -> tuple[ProduceResponse, str | None]:
        """The response, also for acks=0, and the first failed partition with its error, or None."""
        body: ProduceRequest = request.body
        remaining_appends = iter(appends)
        leaders: set[int] = set()
        response = ProduceResponse()
        failed: str | None = None
        for topic in body.topic_data:
            topic_response = ProduceResponse.TopicProduceResponse(name=topic.name, topic_id=topic.topic_id)
            for partition in topic.partition_data:
                append = next(remaining_appends)
                if append.error and failed is None:
                    failed = f"{topic.name}-{partition.index}: {Error.of(append.error).name}"
                topic_response.partition_responses.append(
                    self._partition(request, topic.name, partition.index, append, leaders)
                )
            response.responses.append(topic_response)
        if leaders:
            response.node_endpoints = node_endpoints(
                self._cache, request.context.listener_name, leaders, ProduceResponse.NodeEndpoint
            )
        return response, failed

    def _partition(
        self, request: ApiRequest, topic: str, index: int, append: PendingAppend, leaders: set[int]
    ) -> _Partition:
        partition_response = _Partition(
            index=index,
            error_code=append.error,
            base_offset=append.base_offset,
            log_append_time_ms=append.log_append_time_ms,
            log_start_offset=append.log_start_offset,
            record_errors=list(_record_errors(append)),
            error_message=append.error_message,
        )
        if append.error in _LEADER_ERRORS and request.header.api_version >= _CURRENT_LEADER_FROM:
            leader_id, leader_epoch = self._replicas.current_leader(topic, index)
            partition_response.current_leader = ProduceResponse.LeaderIdAndEpoch(
                leader_id=leader_id, leader_epoch=leader_epoch
            )
            leaders.add(leader_id)
        return partition_response


def _rejection_of(verified: Verified, key: tuple[str, int]) -> PendingAppend | None:
    error = verified.errors.get(key)
    return None if error is None else rejected(None, error.error, error.message)


def _keep_last_of_duplicates(body: ProduceRequest) -> None:
    """Keep only the last batch of each partition in the request."""
    topics: list[Any] = body.topic_data
    named = {(topic.name, topic.topic_id, partition.index) for topic in topics for partition in topic.partition_data}
    if len(named) == sum(len(topic.partition_data) for topic in topics):
        return
    for topic in reversed(topics):
        kept = []
        for partition in reversed(topic.partition_data):
            name = (topic.name, topic.topic_id, partition.index)
            if name in named:
                named.remove(name)
                kept.append(partition)
        topic.partition_data = kept[::-1]
    body.topic_data = [topic for topic in topics if topic.partition_data]


def _joined(rejections: list[PendingAppend | None], appends: Sequence[PendingAppend]) -> list[PendingAppend]:
    """One append per partition, in the order of the request."""
    remaining_appends = iter(appends)
    return [next(remaining_appends) if rejection is None else rejection for rejection in rejections]


def _is_zstd(records: Any) -> bool:
    if len(records) < HEADER_SIZE:
        return False
    header = unpack_header(records, 0)
    return bool(header[3] == MAGIC and header[5] & COMPRESSION_MASK == _ZSTD)


def _record_errors(append: PendingAppend) -> Iterator[ProduceResponse.BatchIndexAndErrorMessage]:
    for index, message in append.record_errors:
        yield ProduceResponse.BatchIndexAndErrorMessage(batch_index=index, batch_index_error_message=message)
