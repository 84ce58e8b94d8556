"""The loopback cluster of the client's tests with Kafka's rules for DescribeConfigs, and runs of the doctor in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from signalbox.doctor.observations import Examination
from signalbox.doctor.prober.examined_listener import ExaminedListener, Limits
from signalbox.doctor.prober.examiner import examine
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.describe_cluster import DescribeClusterResponse
from signalbox.protocol.messages.describe_configs import DescribeConfigsResponse
from tests.client.loopback_cluster import LoopbackBroker, LoopbackCluster

PATIENT = Limits(timeout_ms=30_000)


def describes_own_configs(broker: LoopbackBroker, advertised: str = "") -> Callable[[Any, int], Any]:
    """A broker describes its own configs, and rejects requests for those of other brokers."""

    def respond(request: Any, version: int) -> Any:
        return DescribeConfigsResponse(results=[row(resource) for resource in request.resources])

    def row(resource: Any) -> Any:
        own = resource.resource_name == str(broker.node_id)
        values = [("node.id", str(broker.node_id)), ("advertised.listeners", advertised)] if own else []
        return DescribeConfigsResponse.DescribeConfigsResult(
            error_code=Error.NONE if own else Error.INVALID_REQUEST,
            resource_type=resource.resource_type,
            resource_name=resource.resource_name,
            configs=[
                DescribeConfigsResponse.DescribeConfigsResourceResult(name=name, value=value) for name, value in values
            ],
        )

    return respond


def describes_cluster(cluster: LoopbackCluster) -> Callable[[Any, int], Any]:
    """DescribeCluster with the addresses of Metadata."""

    def respond(request: Any, version: int) -> Any:
        rows = [
            DescribeClusterResponse.DescribeClusterBroker(broker_id=node_id, host=host, port=port)
            for node_id, (host, port) in cluster.advertised.items()
        ]
        return DescribeClusterResponse(cluster_id=cluster.cluster_id or "", brokers=rows)

    return respond


async def add_brokers(cluster: LoopbackCluster, *node_ids: int) -> None:
    """Brokers with DescribeConfigs and DescribeCluster as Kafka has them."""
    for node_id in node_ids:
        broker = await cluster.add_broker(node_id)
        broker.scripts[ApiKey.DESCRIBE_CONFIGS] = describes_own_configs(broker)
        broker.scripts[ApiKey.DESCRIBE_CLUSTER] = describes_cluster(cluster)


async def examined(
    *entries: str, limits: Limits = PATIENT, properties: Mapping[str, str] | None = None, **options: Any
) -> Examination:
    """A run of the doctor inside a test's event loop."""
    listeners = [ExaminedListener.of(entry, properties or {}, limits) for entry in entries]
    return await examine(listeners, limits, **options)
