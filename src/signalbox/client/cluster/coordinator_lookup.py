"""The coordinator of a group: FindCoordinator, at any version, from any node."""

from __future__ import annotations

from typing import Any

from signalbox.client.cluster_client import ClusterClient
from signalbox.client.connection.connection import ClientConnection
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.find_coordinator import FindCoordinatorRequest

GROUP, TRANSACTION = 0, 1


async def find_coordinator(
    client: ClusterClient, key: str, key_type: int = GROUP, *, timeout_ms: float | None = None
) -> int:
    """The coordinator's node id; KafkaError (COORDINATOR_NOT_AVAILABLE and others) when the response has an error."""

    def build(connection: ClientConnection) -> Any:
        batched = connection.version_for(FindCoordinatorRequest()) >= 4
        return FindCoordinatorRequest(
            key="" if batched else key, key_type=key_type, coordinator_keys=[key] if batched else []
        )

    response = await client.request_any(build, timeout_ms=timeout_ms)
    row = response.coordinators[0] if response.coordinators else response
    if row.error_code != Error.NONE:
        raise KafkaError(Error.of(row.error_code), row.error_message)
    return int(row.node_id)
