"""The requests that the network accepts: every route at every version of its row."""

from __future__ import annotations

from signalbox.broker.routes import ROUTES
from signalbox.protocol.api_table import API_TABLE
from signalbox.server.served_versions import RouteGate
from tests.configuration.settings import config_of


def test_the_routes_versions_on_every_listener() -> None:
    gate = RouteGate()
    for row in config_of().listeners:
        versions = gate.versions(row)
        assert set(versions) == {int(route.api_key) for route in ROUTES}
        assert versions[0] == (3, 13)  # listed from 0 on, accepted from 3 on
        assert all(versions[key] == (API_TABLE[key].min_version, API_TABLE[key].max_version) for key in versions)
