"""Fetch (key 1): consumers and followers read. KIP-227 sessions, KIP-516 topic ids; versions 4-18.

A follower needs CLUSTER_ACTION on the cluster, a consumer READ on each topic; what may not be read is answered per
partition. Reading and waiting are replication's; here the endpoints of new leaders are filled in, on the listener of
the request (KIP-951, L10).
"""

from __future__ import annotations

from signalbox.broker.api_request import Answer, ApiRequest, FinalAnswer
from signalbox.broker.authorization import may
from signalbox.broker.cluster_action import acts_as_broker
from signalbox.broker.node_endpoints import node_endpoints
from signalbox.common.long_work import breathe
from signalbox.metadata.cache import MetadataCache
from signalbox.protocol.messages.fetch import FetchRequest, FetchResponse
from signalbox.replication.fetch import replica_id_of
from signalbox.replication.pending import Pending
from signalbox.replication.replica_manager import ReplicaManager
from signalbox.security.acl import AclOperation
from signalbox.security.authorizer import Authorizer

_CURRENT_LEADER_FROM = 16
_NO_LEADER = -1


class FetchHandler:
    """Hands the request to replication with the right to read as a question."""

    def __init__(self, replicas: ReplicaManager, cache: MetadataCache, authorizer: Authorizer) -> None:
        self._replicas = replicas
        self._cache = cache
        self._authorizer = authorizer

    def __call__(self, request: ApiRequest) -> Answer:
        body: FetchRequest = request.body
        context = request.context
        if replica_id_of(body) >= 0:
            acts = acts_as_broker(self._authorizer, context)
            found = self._replicas.fetch(body, request.header.api_version, lambda _: acts)
        else:
            found = self._replicas.fetch(
                body,
                request.header.api_version,
                lambda topic: may(self._authorizer, context, AclOperation.READ, topic),
            )
        if request.header.api_version < _CURRENT_LEADER_FROM:
            return found
        if found.done:
            return self._with_endpoints(request, found.value)
        pending: Pending[FinalAnswer] = Pending()
        found.then(lambda response: pending.complete(self._with_endpoints(request, response)))
        return pending

    def _with_endpoints(self, request: ApiRequest, response: FetchResponse) -> FetchResponse:
        leaders = set()
        for topic in response.responses:
            for partition in topic.partitions:
                breathe()
                if partition.current_leader.leader_id != _NO_LEADER:
                    leaders.add(partition.current_leader.leader_id)
        if leaders:
            response.node_endpoints = node_endpoints(
                self._cache, request.context.listener_name, leaders, FetchResponse.NodeEndpoint
            )
        return response
