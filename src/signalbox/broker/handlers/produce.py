"""Produce (key 0): append record batches as the partition's leader. Versions 3-13.

acks=0 is not answered (an error closes the connection, so that the client looks for the leader again), acks=1
when the batch is in the file, acks=all when every in-sync replica has it, bounded by the request's timeout.
Needs WRITE on the topic; without it the partition alone is refused. A transactional id is refused: transactions are
a gap in the conformance table. Version notes: topics by id from 13 on; the current leader and its endpoint on the
request's listener from 10 on (KIP-951).
"""

from __future__ import annotations

from signalbox.broker.api_request import Answer, ApiRequest, FinalAnswer
from signalbox.metadata.cache import MetadataCache
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.produce import ProduceRequest, ProduceResponse
from signalbox.replication.append import VALID_ACKS
from signalbox.replication.pending import Pending
from signalbox.replication.replica_manager import ReplicaManager
from signalbox.security.authorizer import Authorizer

_Topic = ProduceResponse.TopicProduceResponse
_Partition = ProduceResponse.PartitionProduceResponse
_LEADER_ERRORS = frozenset({Error.NOT_LEADER_OR_FOLLOWER, Error.FENCED_LEADER_EPOCH})
_IDS_FROM = 13


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
        refusals, entries = self._sorted_out(request, body)
        outcome = self._replicas.append(entries, body.acks, body.timeout_ms)
        if outcome.done:
            return self._answer(request, body, refusals, outcome.value)
        pending: Pending[FinalAnswer] = Pending()
        outcome.then(lambda tickets: pending.complete(self._answer(request, body, refusals, tickets)))
        return pending
