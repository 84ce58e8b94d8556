"""Every route of a running node has its handler, from the module that its row names."""

from __future__ import annotations

import pytest

from signalbox.broker.routes import ROUTES, RouteRow
from signalbox.testing.cluster import Cluster


@pytest.mark.parametrize("row", ROUTES, ids=lambda row: row.api_key.name)
def test_the_handler_is_from_the_rows_module(cluster: Cluster, row: RouteRow) -> None:
    route = cluster.nodes[1].parts.router.route(row.api_key)
    assert route is not None
    assert type(route.handler).__module__ == f"signalbox.broker.handlers.{row.module}"
