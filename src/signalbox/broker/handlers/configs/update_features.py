"""UpdateFeatures (key 57): handled by the active controller; other brokers forward. KIP-584, KIP-778; versions 0-2.

Needs ALTER on the cluster. `controller/entities/feature_control` decides which levels can be finalized.
"""

from __future__ import annotations

from signalbox.broker.api_request import ApiRequest, HandlerResult
from signalbox.broker.authorization.cluster_rights import require_cluster_right
from signalbox.broker.ports import ActiveController
from signalbox.protocol.api_table import ApiKey
from signalbox.security.authorizer import Authorizer


class UpdateFeaturesHandler:
    def __init__(self, controller: ActiveController, authorizer: Authorizer) -> None:
        self._controller = controller
        self._authorizer = authorizer

    def __call__(self, request: ApiRequest) -> HandlerResult:
        require_cluster_right(self._authorizer, request.context, ApiKey.UPDATE_FEATURES)
        return self._controller.handle(ApiKey.UPDATE_FEATURES, request.body, request.context)
