"""ControlledShutdown (7), AlterPartition (56), AllocateProducerIds (67): requests of brokers to the active controller.
Versions 0-3, 0-3, 0.

Need CLUSTER_ACTION on the cluster. They are never forwarded: the sending broker knows the active controller, and a node
that is not the active controller returns NOT_CONTROLLER, so that the broker looks it up again.
"""

from __future__ import annotations

from collections.abc import Container

from signalbox.broker.api_request import ApiRequest, HandlerResult
from signalbox.broker.authorization.cluster_action import require_cluster_action
from signalbox.broker.ports import ActiveController
from signalbox.protocol.api_table import ApiKey
from signalbox.security.authorizer import Authorizer


class ControllerRequestHandler:
    """One broker-to-controller API."""

    def __init__(
        self,
        api_key: ApiKey,
        controller: ActiveController,
        authorizer: Authorizer,
        peer_listeners: Container[str] = (),
    ) -> None:
        self._peer_listeners = peer_listeners
        self._api_key = api_key
        self._controller = controller
        self._authorizer = authorizer

    def __call__(self, request: ApiRequest) -> HandlerResult:
        require_cluster_action(self._authorizer, request.context, self._peer_listeners)
        return self._controller.handle(self._api_key, request.body, request.context)
