"""Feature flags: ApiVersions of one broker and UpdateFeatures (KIP-584)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

from signalbox.client.admin_apis.admin_call import AdminCall, AdminResult, result_of
from signalbox.client.connection.connection import ClientConnection
from signalbox.protocol.messages.api_versions import ApiVersionsRequest
from signalbox.protocol.messages.update_features import UpdateFeaturesRequest

_UPGRADE_TYPE_FROM = 1


class UpgradeType(IntEnum):
    """FeatureUpdate.UpgradeType of Kafka's clients. A level is lowered only with one of the last two."""

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


class FeatureUpdate(NamedTuple):
    """The new level of a feature; 0 disables it."""

    max_version_level: int
    upgrade_type: UpgradeType = UpgradeType.UPGRADE


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """`finalized`: the level of each feature in the cluster; `supported`: (lowest, highest) level of the broker that
    returned it. `finalized_epoch` is -1 when the broker does not know it."""

    finalized: dict[str, int]
    finalized_epoch: int
    supported: dict[str, tuple[int, int]]


class FeatureAdmin(AdminCall):
    async def describe_features(self, *, timeout_ms: float | None = None) -> Features:
        """Features as one broker returns them; KafkaError."""

        settings = self.client.settings.connections()
        request = ApiVersionsRequest(
            client_software_name=settings.software_name, client_software_version=settings.software_version
        )
        response = await self._ask(request, timeout_ms)
        return Features(
            finalized={row.name: row.max_version_level for row in response.finalized_features},
            finalized_epoch=response.finalized_features_epoch,
            supported={row.name: (row.min_version, row.max_version) for row in response.supported_features},
        )

    async def update_features(
        self, updates: Mapping[str, FeatureUpdate], *, validate_only: bool = False, timeout_ms: float | None = None
    ) -> dict[str, AdminResult]:
        """Change feature levels, all or none; the result of each. KafkaError when the request was rejected.
        `validate_only` needs brokers from Kafka 3.3 on."""
        message_type = UpdateFeaturesRequest

        def build(connection: ClientConnection) -> Any:
            version = connection.version_for(message_type())
            rows = []
            for feature, update in updates.items():
                row = message_type.FeatureUpdateKey(feature=feature, max_version_level=update.max_version_level)
                if version >= _UPGRADE_TYPE_FROM:
                    row.upgrade_type = update.upgrade_type
                else:
                    row.allow_downgrade = update.upgrade_type != UpgradeType.UPGRADE
                rows.append(row)
            wire_ms = self._wire_timeout_ms(self.client.settings.api_timeout_ms if timeout_ms is None else timeout_ms)
            return message_type(timeout_ms=wire_ms, feature_updates=rows, validate_only=validate_only)

        response = await self._ask(build, timeout_ms)
        results = {row.feature: result_of(row.feature, row.error_code, row.error_message) for row in response.results}
        return {
            feature: results.get(feature, AdminResult(name=feature)) for feature in updates
        }  # none from version 2 on
