"""ElectLeaders (key 43): handled by the active controller; other brokers forward. KIP-183, KIP-460; versions 0-2.

Needs ALTER on the cluster. Version note: 0 has preferred elections only and no top-level error code; the error is in
each partition.
"""

from __future__ import annotations

from signalbox.broker.api_request import ApiRequest, FinalResponse, HandlerResult
from signalbox.broker.authorization.cluster_rights import require_cluster_right
from signalbox.broker.ports import ActiveController
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.elect_leaders import ElectLeadersResponse
from signalbox.security.authorizer import Authorizer

_TOP_LEVEL_FROM = 1


class ElectLeadersHandler:
    def __init__(self, controller: ActiveController, authorizer: Authorizer) -> None:
        self._controller = controller
        self._authorizer = authorizer

    def __call__(self, request: ApiRequest) -> HandlerResult:
        require_cluster_right(self._authorizer, request.context, ApiKey.ELECT_LEADERS)
        return self._elect(request)

    async def _elect(self, request: ApiRequest) -> FinalResponse:
        response: ElectLeadersResponse = await self._controller.handle(
            ApiKey.ELECT_LEADERS, request.body, request.context
        )
        # The Envelope handler reads the top-level error code before the response is encoded.
        if request.header.api_version < _TOP_LEVEL_FROM and request.forwarded_by is None:
            response.error_code = Error.NONE
        return response
