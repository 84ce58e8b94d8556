"""Fetch (key 1): reads of consumers and followers. KIP-227 sessions, KIP-516 topic ids; versions 4-18.

A follower needs CLUSTER_ACTION on the cluster and an internal listener (`broker/authorization/cluster_action.py`), a
consumer READ on each topic; partitions without that right have TOPIC_AUTHORIZATION_FAILED, as in Kafka. The replication
package reads and waits; this handler adds the endpoints of new leaders on the request's listener (KIP-951, L10).
"""

from __future__ import annotations

from collections.abc import Container

from signalbox.broker.api_request import ApiRequest, HandlerResult
from signalbox.broker.authorization.authorization import may
from signalbox.broker.authorization.cluster_action import acts_as_replica
from signalbox.broker.client_quotas import Throttling
from signalbox.broker.routing.exposed_nodes import node_endpoints
from signalbox.common.cooperative_task import yield_if_due
from signalbox.metadata.cache import MetadataCache
from signalbox.protocol.messages.fetch import FetchRequest, FetchResponse
from signalbox.replication.fetch.fetch import Fetches, replica_id_of
from signalbox.security.acl import AclOperation
from signalbox.security.authorizer import Authorizer

_CURRENT_LEADER_FROM = 16
_NO_LEADER = -1


class FetchHandler:
    """Passes the request to the replication package, with a function that returns whether a topic may be read."""

    def __init__(
        self,
        fetches: Fetches,
        cache: MetadataCache,
        authorizer: Authorizer,
        throttling: Throttling,
        peer_listeners: Container[str] = (),
    ) -> None:
        self._throttling = throttling
        self._fetches = fetches
        self._cache = cache
        self._authorizer = authorizer
        self._peer_listeners = peer_listeners

    def __call__(self, request: ApiRequest) -> HandlerResult:
        """Yields."""
        body: FetchRequest = request.body
        context = request.context
        if replica_id_of(body) >= 0:
            acts = request.replicates = acts_as_replica(self._authorizer, context, self._peer_listeners)
            fetched = self._fetches.fetch(body, request.header.api_version, lambda _: acts)
        else:
            limit = self._throttling.fetch_limit(request)
            if limit is not None:
                body.max_bytes = min(body.max_bytes, limit)
            fetched = self._fetches.fetch(
                body,
                request.header.api_version,
                lambda topic: may(self._authorizer, context, AclOperation.READ, topic),
            )
        if request.header.api_version < _CURRENT_LEADER_FROM:
            return fetched
        return fetched.map(lambda response: self._with_endpoints(request, response))

    def _with_endpoints(self, request: ApiRequest, response: FetchResponse) -> FetchResponse:
        """Yields."""
        leaders = set()
        for topic in response.responses:
            for partition in topic.partitions:
                yield_if_due()
                if partition.current_leader.leader_id != _NO_LEADER:
                    leaders.add(partition.current_leader.leader_id)
        if leaders:
            response.node_endpoints = node_endpoints(
                self._cache, request.context.listener_name, leaders, FetchResponse.NodeEndpoint
            )
        return response
