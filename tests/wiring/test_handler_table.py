"""Every route of a running node has its handler, from a file whose header names the API and its versions."""

from __future__ import annotations

import re
import sys

import pytest

from signalbox.broker.conformance import served_ranges
from signalbox.broker.routes import ROUTES, RouteRow
from signalbox.protocol.api_table import API_TABLE
from signalbox.testing.cluster import Cluster


@pytest.mark.parametrize("row", ROUTES, ids=lambda row: row.api_key.name)
def test_the_handlers_docstring_names_api_key_and_versions(cluster: Cluster, row: RouteRow) -> None:
    route = cluster.nodes[1].components.router.route(row.api_key)
    assert route is not None
    module = type(route.handler).__module__
    assert module.startswith("signalbox.broker.handlers.")
    api, text = API_TABLE[row.api_key], sys.modules[module].__doc__ or ""
    assert api.name in text
    assert re.search(rf"\b{api.key}\b", text)
    assert re.search(rf"(?<![-\d]){served_ranges()[api.name]}(?![-\d])", text)
