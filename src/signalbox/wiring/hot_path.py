"""The data plane's short cut, put together: it shares the handlers of the generic path behind it."""

from __future__ import annotations

from signalbox.broker.api_request import Handler
from signalbox.broker.audit_rollups import AuditRollups
from signalbox.broker.client_quotas import ClientQuotas
from signalbox.broker.handlers.api_versions import ApiVersionsHandler
from signalbox.broker.handlers.produce import ProduceHandler
from signalbox.broker.hot_api_versions import HotApiVersions
from signalbox.broker.hot_fetch import HotFetch
from signalbox.broker.hot_path import HotPath
from signalbox.broker.hot_produce import HotProduce
from signalbox.broker.request_metrics import RequestMetrics
from signalbox.common.clock import Clock
from signalbox.metadata.cache import MetadataCache
from signalbox.metadata.quota_entity import REQUEST_PERCENTAGE
from signalbox.protocol.api_table import ApiKey
from signalbox.replication.replica_manager import ReplicaManager
from signalbox.security.authorizer import Authorizer
from signalbox.security.principal import KafkaPrincipal


def build_hot_path(
    handlers: dict[ApiKey, Handler],
    replicas: ReplicaManager,
    cache: MetadataCache,
    authorizer: Authorizer,
    clock: Clock,
    counters: tuple[RequestMetrics, AuditRollups],
    quotas: ClientQuotas,
) -> HotPath:
    """Hot shapes for produce, fetch and ApiVersions."""
    produce, api_versions = handlers[ApiKey.PRODUCE], handlers[ApiKey.API_VERSIONS]
    assert isinstance(produce, ProduceHandler)
    assert isinstance(api_versions, ApiVersionsHandler)

    def has_quota(quota: str, principal: KafkaPrincipal, client_id: str | None) -> bool:
        return any(quotas.holds_for(each, principal, client_id) for each in (quota, REQUEST_PERCENTAGE))

    hot_path = HotPath(
        {
            ApiKey.PRODUCE: HotProduce(replicas, cache, authorizer, produce, clock, has_quota),
            ApiKey.FETCH: HotFetch(replicas, cache, authorizer, clock, has_quota),
            ApiKey.API_VERSIONS: HotApiVersions(api_versions, clock),
        },
        *counters,
    )
    quotas.changed = hot_path.forget_all
    return hot_path
