"""Builds the fast path of the data plane: it shares the handlers of the generic path behind it."""

from __future__ import annotations

from signalbox.broker.api_request import Handler
from signalbox.broker.audit.audit_rollups import AuditRollups
from signalbox.broker.fast_path.fast_api_versions import FastApiVersions
from signalbox.broker.fast_path.fast_fetch import FastFetch
from signalbox.broker.fast_path.fast_path import FastPath
from signalbox.broker.fast_path.fast_produce import FastProduce
from signalbox.broker.handlers.api_versions import ApiVersionsHandler
from signalbox.broker.handlers.records.produce import ProduceHandler
from signalbox.broker.metrics.request_metrics import RequestMetrics
from signalbox.broker.quotas.client_quotas import ClientQuotas
from signalbox.common.clock import Clock
from signalbox.metadata.cache import MetadataCache
from signalbox.metadata.entries.quota_entity import REQUEST_PERCENTAGE
from signalbox.protocol.api_table import ApiKey
from signalbox.replication.replica_manager import ReplicaManager
from signalbox.security.authorizer import Authorizer
from signalbox.security.principal import KafkaPrincipal


def build_fast_path(
    handlers: dict[ApiKey, Handler],
    replicas: ReplicaManager,
    cache: MetadataCache,
    authorizer: Authorizer,
    clock: Clock,
    counters: tuple[RequestMetrics, AuditRollups],
    quotas: ClientQuotas,
) -> FastPath:
    """Returns the fast path for Produce, Fetch and ApiVersions."""
    produce, api_versions = handlers[ApiKey.PRODUCE], handlers[ApiKey.API_VERSIONS]
    assert isinstance(produce, ProduceHandler)
    assert isinstance(api_versions, ApiVersionsHandler)

    def has_quota(quota: str, principal: KafkaPrincipal, client_id: str | None) -> bool:
        return any(quotas.holds_for(key, principal, client_id) for key in (quota, REQUEST_PERCENTAGE))

    fast_path = FastPath(
        {
            ApiKey.PRODUCE: FastProduce(replicas, cache, authorizer, produce, clock, has_quota),
            ApiKey.FETCH: FastFetch(replicas, cache, authorizer, clock, has_quota),
            ApiKey.API_VERSIONS: FastApiVersions(api_versions, clock),
        },
        *counters,
    )
    quotas.changed = fast_path.forget_all
    return fast_path
