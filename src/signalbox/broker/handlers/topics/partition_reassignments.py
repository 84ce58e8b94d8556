"""AlterPartitionReassignments (45) and ListPartitionReassignments (46): handled by the active controller; other
brokers forward. KIP-455, KIP-860; versions 0-1 and 0.

They need ALTER and DESCRIBE on the cluster, respectively.
"""

from __future__ import annotations

from signalbox.broker.api_request import ApiRequest, HandlerResult
from signalbox.broker.authorization.cluster_rights import require_cluster_right
from signalbox.broker.ports import ActiveController
from signalbox.protocol.api_table import ApiKey
from signalbox.security.authorizer import Authorizer


class PartitionReassignmentsHandler:
    """The handler of one of the two APIs."""

    def __init__(self, api_key: ApiKey, controller: ActiveController, authorizer: Authorizer) -> None:
        self._api_key = api_key
        self._controller = controller
        self._authorizer = authorizer

    def __call__(self, request: ApiRequest) -> HandlerResult:
        require_cluster_right(self._authorizer, request.context, self._api_key)
        return self._controller.handle(self._api_key, request.body, request.context)
