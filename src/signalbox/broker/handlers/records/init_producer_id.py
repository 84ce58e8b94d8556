"""InitProducerId (key 22): a producer id and epoch for an idempotent or transactional producer. KIP-98, KIP-360.
Versions 0-5.

Brokers get ids in blocks from the active controller (AllocateProducerIds); any broker assigns them to an idempotent
producer, which needs IDEMPOTENT_WRITE on the cluster or WRITE on a topic. A transactional producer gets its id and
epoch from its coordinator and needs WRITE on the transactional id.
Version notes: from version 3 on a producer may send its present id and epoch, both or neither. Without a transactional
id it gets a new id in either case, as in Kafka. PRODUCER_FENCED is INVALID_PRODUCER_EPOCH before version 4.
"""

from __future__ import annotations

from signalbox.broker.api_request import ApiRequest, FinalResponse, HandlerResult
from signalbox.broker.authorization.authorization import may_on_cluster, require_transactional_id
from signalbox.broker.handlers.transactions.add_partitions_to_txn import error_for_version
from signalbox.broker.producer_ids import ProducerIdBlocks
from signalbox.coordinator.transaction_coordinator import TransactionCoordinator
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.init_producer_id import InitProducerIdResponse
from signalbox.security.acl import AclOperation, ResourceType
from signalbox.security.authorizer import Authorizer

_PRODUCER_FENCED_FROM = 4
_NONE = -1  # no producer id, no producer epoch


class InitProducerIdHandler:
    def __init__(
        self, producer_ids: ProducerIdBlocks, transactions: TransactionCoordinator, authorizer: Authorizer
    ) -> None:
        self._producer_ids = producer_ids
        self._transactions = transactions
        self._authorizer = authorizer

    def __call__(self, request: ApiRequest) -> HandlerResult:
        name, context = request.body.transactional_id, request.context
        if name == "":
            raise KafkaError(Error.INVALID_REQUEST, "the transactional id is empty")
        if name is not None:
            require_transactional_id(self._authorizer, context, AclOperation.WRITE, name)
        elif not may_on_cluster(
            self._authorizer, context, AclOperation.IDEMPOTENT_WRITE
        ) and not self._authorizer.authorize_any(context, AclOperation.WRITE, ResourceType.TOPIC):
            raise KafkaError(Error.CLUSTER_AUTHORIZATION_FAILED, "no IDEMPOTENT_WRITE on the cluster")
        if (request.body.producer_id == _NONE) != (request.body.producer_epoch == _NONE):
            raise KafkaError(Error.INVALID_REQUEST, "producer id and producer epoch must be set together")
        return self._next() if name is None else self._transactional(request)

    async def _next(self) -> FinalResponse:
        return InitProducerIdResponse(producer_id=await self._producer_ids.next(), producer_epoch=0)

    def _transactional(self, request: ApiRequest) -> HandlerResult:
        def for_version(response: InitProducerIdResponse) -> InitProducerIdResponse:
            error = Error.of(response.error_code)
            response.error_code = error_for_version(error, request.header.api_version, _PRODUCER_FENCED_FROM)
            return response

        return self._transactions.init_producer_id(request.body).map(for_version)
