"""The state of a running client's routes: for `routes()`, for health pages, for troubleshooting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from signalbox.client.connection.node import Address

if TYPE_CHECKING:
    from signalbox.client.cluster.metadata_updater import MetadataUpdater


@dataclass(frozen=True, slots=True)
class RouteReport:
    """One node. `verified`: an open connection confirmed its identity; `rejections` since the last confirmation."""

    node_id: int
    address: Address
    connected: bool
    verified: bool
    quarantined: bool
    rejections: int


def report_routes(updater: MetadataUpdater) -> list[RouteReport]:
    """Every node in the view, by id."""
    reports = []
    open_connections = updater.pool.connections()
    for node_id, node in sorted(updater.view.nodes.items()):
        route = (node_id, node.address)
        rejected = updater.quarantine.routes.get(route)
        rows = [connection for key, connection in open_connections if key.node_id == node_id]
        reports.append(
            RouteReport(
                node_id,
                node.address,
                bool(rows),
                any(row.verified for row in rows),
                updater.quarantine.holds(route),
                rejected.rejections if rejected is not None else 0,
            )
        )
    return reports
