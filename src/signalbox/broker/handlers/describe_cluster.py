"""DescribeCluster (key 60): the cluster as seen on the request's listener. KIP-700, KIP-919; versions 0-2.

Brokers without the listener are left out. Endpoint type 1 is brokers; 2 (controllers) is a known type that this
listener does not serve. Version 2 can also list fenced brokers: here every registered broker is live, so there are
none. The controller id is a random live broker (F12): any of them forwards. Below the gate it is the real controller,
or -1 when the controller does not have the listener. Beside the authorized operations, to a principal with DESCRIBE on
the cluster, the active controller is in a tagged field of Signalbox (`protocol/own_tags.py`).
"""

from __future__ import annotations

from signalbox.broker.api_request import ApiRequest, HandlerResult
from signalbox.broker.authorization.authorization import may_on_cluster, operations_bit_field
from signalbox.broker.routing.exposed_nodes import AdvertisedController
from signalbox.metadata.cache import MetadataCache
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.describe_cluster import DescribeClusterResponse
from signalbox.protocol.own_tags import put_active_controller
from signalbox.security.acl import CLUSTER_NAME, AclOperation, ResourceType
from signalbox.security.authorizer import Authorizer

_BROKERS, _CONTROLLERS = 1, 2
_ENDPOINT_TYPES_FROM = 1  # and their errors


class DescribeClusterHandler:
    """Builds responses from the metadata cache only."""

    def __init__(
        self, cache: MetadataCache, cluster_id: str, authorizer: Authorizer, controller: AdvertisedController
    ) -> None:
        self._cache = cache
        self._cluster_id = cluster_id
        self._authorizer = authorizer
        self._controller = controller

    def __call__(self, request: ApiRequest) -> HandlerResult:
        endpoint_type = request.body.endpoint_type
        if endpoint_type != _BROKERS:
            is_controllers = endpoint_type == _CONTROLLERS
            code = Error.MISMATCHED_ENDPOINT_TYPE if is_controllers else Error.UNSUPPORTED_ENDPOINT_TYPE
            if request.header.api_version < _ENDPOINT_TYPES_FROM:
                code = Error.INVALID_REQUEST
            text = "this listener serves brokers" if is_controllers else f"endpoint type {endpoint_type} is unknown"
            return DescribeClusterResponse(error_code=code, error_message=text)
        listener = request.context.listener_name
        image = self._cache.image
        brokers = [
            DescribeClusterResponse.DescribeClusterBroker(
                broker_id=broker_id, host=endpoint.host, port=endpoint.port, rack=image.brokers[broker_id].rack
            )
            for broker_id, endpoint in image.nodes(listener).items()
        ]
        controller_id = self._controller.id_for(listener)
        response = DescribeClusterResponse(
            cluster_id=self._cluster_id,
            controller_id=controller_id if controller_id in image.nodes(listener) else -1,
            brokers=brokers,
        )
        if request.body.include_cluster_authorized_operations:
            self._add_operations(request, response)
        return response

    def _add_operations(self, request: ApiRequest, response: DescribeClusterResponse) -> None:
        if not may_on_cluster(self._authorizer, request.context, AclOperation.DESCRIBE):
            response.cluster_authorized_operations = 0
            return
        response.cluster_authorized_operations = operations_bit_field(
            self._authorizer, request.context, ResourceType.CLUSTER, CLUSTER_NAME
        )
        put_active_controller(response, self._cache.image.controller_id)
