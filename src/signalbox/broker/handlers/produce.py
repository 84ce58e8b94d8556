"""Produce (key 0): append record batches as the partition's leader. Versions 3-13.

acks=0 is not answered (an error closes the connection, so that the client looks for the leader again), acks=1
when the batch is in the file, acks=all when every in-sync replica has it, bounded by the request's timeout.
Needs WRITE on the topic; without it the partition alone is refused. A transactional id is refused: transactions are
a gap in the conformance table. Version notes: topics by id from 13 on; the current leader and its endpoint on the
request's listener from 10 on (KIP-951); error texts from 8 on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from signalbox.broker.api_request import NO_ANSWER, Answer, ApiRequest, CloseConnection, FinalAnswer
from signalbox.broker.authorization import may
from signalbox.broker.node_endpoints import node_endpoints
from signalbox.common.ids import ZERO_UUID
from signalbox.metadata.cache import MetadataCache
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.produce import ProduceRequest, ProduceResponse
from signalbox.replication.append import VALID_ACKS
from signalbox.replication.append_ticket import AppendTicket, refused
from signalbox.replication.pending import Pending
from signalbox.replication.replica_manager import ReplicaManager
from signalbox.security.acl import AclOperation
from signalbox.security.authorizer import Authorizer

_Partition = ProduceResponse.PartitionProduceResponse
_LEADER_ERRORS = (Error.NOT_LEADER_OR_FOLLOWER, Error.FENCED_LEADER_EPOCH)
_CURRENT_LEADER_FROM = 10


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
        refusals = self._refusals(request, body)
        entries = [
            ((topic.name, partition.index), partition.records or b"")
            for topic, error in zip(body.topic_data, refusals, strict=True)
            if error is Error.NONE
            for partition in topic.partition_data
        ]
        outcome = self._replicas.append(entries, body.acks, body.timeout_ms)
        if outcome.done:
            return self.answer(request, refusals, outcome.value)
        pending: Pending[FinalAnswer] = Pending()
        outcome.then(lambda tickets: pending.complete(self.answer(request, refusals, tickets)))
        return pending

    def _refusals(self, request: ApiRequest, body: ProduceRequest) -> list[Error]:
        """Per topic, why it may not be written to; topics that came by id are given their names."""
        errors = []
        for topic in body.topic_data:
            if topic.topic_id != ZERO_UUID:
                topic.name = self._cache.image.topic_name(topic.topic_id) or ""
            if topic.topic_id != ZERO_UUID and not topic.name:
                errors.append(Error.UNKNOWN_TOPIC_ID)
            elif not may(self._authorizer, request.context, AclOperation.WRITE, topic.name):
                errors.append(Error.TOPIC_AUTHORIZATION_FAILED)
            else:
                errors.append(Error.NONE)
        return errors

    def answer(self, request: ApiRequest, refusals: list[Error], tickets: Sequence[AppendTicket]) -> FinalAnswer:
        """The answer to a request whose tickets, one for each partition that is not refused, are finished."""
        response, failed = self.response(request, refusals, tickets)
        if request.body.acks == 0:
            return NO_ANSWER if failed is None else CloseConnection(f"produce with acks=0 failed for {failed}")
        return response

    def response(
        self, request: ApiRequest, refusals: list[Error], tickets: Sequence[AppendTicket]
    ) -> tuple[ProduceResponse, str | None]:
        """The response, sent or not, and what failed first."""
        body: ProduceRequest = request.body
        found = iter(tickets)
        leaders: set[int] = set()
        response = ProduceResponse()
        failed: str | None = None
        for topic, error in zip(body.topic_data, refusals, strict=True):
            answered = ProduceResponse.TopicProduceResponse(name=topic.name, topic_id=topic.topic_id)
            for partition in topic.partition_data:
                ticket = refused(None, error) if error is not Error.NONE else next(found)
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


def _record_errors(ticket: AppendTicket) -> Iterator[ProduceResponse.BatchIndexAndErrorMessage]:
    for index, message in ticket.record_errors:
        yield ProduceResponse.BatchIndexAndErrorMessage(batch_index=index, batch_index_error_message=message)
