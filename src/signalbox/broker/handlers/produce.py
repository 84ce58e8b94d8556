"""Produce (key 0): append record batches as the partition's leader. Versions 3-13.

acks=0 is not answered (an error closes the connection, so that the client looks for the leader again), acks=1
when the batch is in the file, acks=all when every in-sync replica has it, bounded by the request's timeout.
Needs WRITE on the topic; without it the partition alone is refused. A transactional id is refused: transactions are
a gap in the conformance table. Of a partition that comes twice the last batch counts, and one answer is given, since
Kafka reads a request into a map. Version notes: topics by id from 13 on; the current leader and its endpoint on the
request's listener from 10 on (KIP-951); error texts from 8 on; zstd from 7 on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from signalbox.broker.api_request import NO_ANSWER, Answer, ApiRequest, CloseConnection, FinalAnswer
from signalbox.broker.authorization import may_change_records
from signalbox.broker.node_endpoints import node_endpoints
from signalbox.metadata.cache import MetadataCache
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.produce import ProduceRequest, ProduceResponse
from signalbox.protocol.records.batch_header import COMPRESSION_MASK, HEADER_SIZE, MAGIC, unpack_header
from signalbox.protocol.records.compression import CODES
from signalbox.replication.append import VALID_ACKS
from signalbox.replication.append_ticket import AppendTicket, refused
from signalbox.replication.pending import Pending
from signalbox.replication.replica_manager import ReplicaManager
from signalbox.security.acl import AclOperation
from signalbox.security.authorizer import Authorizer

_Partition = ProduceResponse.PartitionProduceResponse
_LEADER_ERRORS = (Error.NOT_LEADER_OR_FOLLOWER, Error.FENCED_LEADER_EPOCH)
_ZSTD = CODES["zstd"]
ZSTD_FROM = 7
_CURRENT_LEADER_FROM = 10
_TOPIC_IDS_FROM = 13


class ProduceHandler:
    """Hands the batches to replication and gives its tickets the shape of an answer."""

    def __init__(self, replicas: ReplicaManager, cache: MetadataCache, authorizer: Authorizer) -> None:
        self._replicas = replicas
        self._cache = cache
        self._authorizer = authorizer

    def __call__(self, request: ApiRequest) -> Answer:
        body: ProduceRequest = request.body
        if body.acks not in VALID_ACKS:
            raise KafkaError(Error.INVALID_REQUIRED_ACKS, f"acks is {body.acks}")
        if body.transactional_id is not None:
            raise KafkaError(Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "transactions are not supported")
        _keep_the_last(body)
        refusals = self._refusals(request, body)
        asked = ((topic, partition) for topic in body.topic_data for partition in topic.partition_data)
        entries = [
            ((topic.name, partition.index), partition.records or b"")
            for (topic, partition), refusal in zip(asked, refusals, strict=True)
            if refusal is None
        ]
        outcome = self._replicas.append(entries, body.acks, body.timeout_ms)
        if outcome.done:
            return self.answer(request, _joined(refusals, outcome.value))
        pending: Pending[FinalAnswer] = Pending()
        outcome.then(lambda tickets: pending.complete(self.answer(request, _joined(refusals, tickets))))
        return pending

    def _refusals(self, request: ApiRequest, body: ProduceRequest) -> list[AppendTicket | None]:
        """For each partition the ticket if it is not even tried; None: it is."""
        refusals: list[AppendTicket | None] = []
        knows_zstd = request.header.api_version >= ZSTD_FROM
        for topic in body.topic_data:
            error = self._topic_error(request, topic)
            for partition in topic.partition_data:
                if error is not Error.NONE:
                    refusals.append(refused(None, error))
                elif not knows_zstd and _is_zstd(partition.records or b""):
                    text = f"zstd needs Produce {ZSTD_FROM} or later"
                    refusals.append(refused(None, Error.UNSUPPORTED_COMPRESSION_TYPE, text))
                else:
                    refusals.append(None)
        return refusals

    def _topic_error(self, request: ApiRequest, topic: Any) -> Error:
        """Why a topic may not be written to; one that came by id is given its name."""
        if request.header.api_version >= _TOPIC_IDS_FROM:
            topic.name = self._cache.image.topic_name(topic.topic_id) or ""
            if not topic.name:
                return Error.UNKNOWN_TOPIC_ID
        allowed = may_change_records(self._authorizer, request.context, AclOperation.WRITE, topic.name)
        return Error.NONE if allowed else Error.TOPIC_AUTHORIZATION_FAILED

    def answer(self, request: ApiRequest, tickets: Sequence[AppendTicket]) -> FinalAnswer:
        """The answer to a request whose tickets, one for each partition, are finished."""
        response, failed = self.response(request, tickets)
        if request.body.acks == 0:
            return NO_ANSWER if failed is None else CloseConnection(f"produce with acks=0 failed for {failed}")
        return response

    def response(self, request: ApiRequest, tickets: Sequence[AppendTicket]) -> tuple[ProduceResponse, str | None]:
        """The response, sent or not, and what failed first."""
        body: ProduceRequest = request.body
        found = iter(tickets)
        leaders: set[int] = set()
        response = ProduceResponse()
        failed: str | None = None
        for topic in body.topic_data:
            answered = ProduceResponse.TopicProduceResponse(name=topic.name, topic_id=topic.topic_id)
            for partition in topic.partition_data:
                ticket = next(found)
                if ticket.error and failed is None:
                    failed = f"{topic.name}-{partition.index}: {Error.of(ticket.error).name}"
                answered.partition_responses.append(
                    self._partition(request, topic.name, partition.index, ticket, leaders)
                )
            response.responses.append(answered)
        if leaders:
            response.node_endpoints = node_endpoints(
                self._cache, request.context.listener_name, leaders, ProduceResponse.NodeEndpoint
            )
        return response, failed

    def _partition(
        self, request: ApiRequest, topic: str, index: int, ticket: AppendTicket, leaders: set[int]
    ) -> _Partition:
        answered = _Partition(
            index=index,
            error_code=ticket.error,
            base_offset=ticket.base_offset,
            log_append_time_ms=ticket.log_append_time_ms,
            log_start_offset=ticket.log_start_offset,
            record_errors=list(_record_errors(ticket)),
            error_message=ticket.error_message,
        )
        if ticket.error in _LEADER_ERRORS and request.header.api_version >= _CURRENT_LEADER_FROM:
            leader_id, leader_epoch = self._replicas.current_leader(topic, index)
            answered.current_leader = ProduceResponse.LeaderIdAndEpoch(leader_id=leader_id, leader_epoch=leader_epoch)
            leaders.add(leader_id)
        return answered


def _keep_the_last(body: ProduceRequest) -> None:
    """Leave one batch of each partition in the request."""
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


def _joined(refusals: list[AppendTicket | None], tickets: Sequence[AppendTicket]) -> list[AppendTicket]:
    """A ticket for each partition, in the order of the request."""
    found = iter(tickets)
    return [next(found) if refusal is None else refusal for refusal in refusals]


def _is_zstd(records: Any) -> bool:
    if len(records) < HEADER_SIZE:
        return False
    header = unpack_header(records, 0)
    return bool(header[3] == MAGIC and header[5] & COMPRESSION_MASK == _ZSTD)


def _record_errors(ticket: AppendTicket) -> Iterator[ProduceResponse.BatchIndexAndErrorMessage]:
    for index, message in ticket.record_errors:
        yield ProduceResponse.BatchIndexAndErrorMessage(batch_index=index, batch_index_error_message=message)
