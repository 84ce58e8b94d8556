"""AlterClientQuotas (key 49): handled by the active controller; other brokers forward. KIP-546, KIP-612; versions 0-1.

Needs ALTER_CONFIGS on the cluster. `controller/entities/quota_control` validates the quotas.
"""

from __future__ import annotations

from signalbox.broker.api_request import ApiRequest, HandlerResult
from signalbox.broker.authorization.cluster_rights import require_cluster_right
from signalbox.broker.ports import ActiveController
from signalbox.protocol.api_table import ApiKey
from signalbox.security.authorizer import Authorizer


class AlterClientQuotasHandler:
    def __init__(self, controller: ActiveController, authorizer: Authorizer) -> None:
        self._controller = controller
        self._authorizer = authorizer

    def __call__(self, request: ApiRequest) -> HandlerResult:
        require_cluster_right(self._authorizer, request.context, ApiKey.ALTER_CLIENT_QUOTAS)
        return self._controller.handle(ApiKey.ALTER_CLIENT_QUOTAS, request.body, request.context)
