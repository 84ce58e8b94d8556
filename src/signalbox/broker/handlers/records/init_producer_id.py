"""InitProducerId (key 22): a producer id for an idempotent producer. KIP-98, KIP-360; versions 0-5.

Brokers get ids in blocks from the active controller (AllocateProducerIds); any broker assigns them. A transactional id
is UNSUPPORTED_VERSION, Kafka's code for a feature that is off: transactions are a gap in the conformance table
(decision 0039).
Needs IDEMPOTENT_WRITE on the cluster or WRITE on a topic. Version note: from version 3 on a producer may send its
present id and epoch, both or neither. Without a transactional id it gets a new id in either case, as in Kafka.
"""

from __future__ import annotations

from signalbox.broker.api_request import ApiRequest, FinalResponse, HandlerResult
from signalbox.broker.authorization.authorization import may_on_cluster
from signalbox.broker.producer_ids import ProducerIdBlocks
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.init_producer_id import InitProducerIdResponse
from signalbox.security.acl import AclOperation, ResourceType
from signalbox.security.authorizer import Authorizer

_NONE = -1  # no producer id, no producer epoch


class InitProducerIdHandler:
    def __init__(self, producer_ids: ProducerIdBlocks, authorizer: Authorizer) -> None:
        self._producer_ids = producer_ids
        self._authorizer = authorizer

    def __call__(self, request: ApiRequest) -> HandlerResult:
        if request.body.transactional_id == "":
            raise KafkaError(Error.INVALID_REQUEST, "the transactional id is empty")
        if request.body.transactional_id is not None:
            raise KafkaError(Error.UNSUPPORTED_VERSION, "transactions are not supported")
        context = request.context
        if not may_on_cluster(
            self._authorizer, context, AclOperation.IDEMPOTENT_WRITE
        ) and not self._authorizer.authorize_any(context, AclOperation.WRITE, ResourceType.TOPIC):
            raise KafkaError(Error.CLUSTER_AUTHORIZATION_FAILED, "no IDEMPOTENT_WRITE on the cluster")
        if (request.body.producer_id == _NONE) != (request.body.producer_epoch == _NONE):
            raise KafkaError(Error.INVALID_REQUEST, "producer id and producer epoch must be set together")
        return self._next()

    async def _next(self) -> FinalResponse:
        return InitProducerIdResponse(producer_id=await self._producer_ids.next(), producer_epoch=0)
