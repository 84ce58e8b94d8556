"""The route table is total: every row has a module with its handler, every handler says which versions it knows."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

import pytest

from signalbox.broker.conformance import served_ranges
from signalbox.broker.routes import ROUTES, Disposition, RouteRow, build_route_table
from signalbox.protocol.api_table import API_TABLE, ApiKey


def ids(row: RouteRow) -> str:
    return row.api_key.name


@pytest.mark.parametrize("row", ROUTES, ids=ids)
def test_the_module_says_its_api_key_and_versions(row: RouteRow) -> None:
    module = import_module(f"signalbox.broker.handlers.{row.module}")
    api, text = API_TABLE[row.api_key], module.__doc__ or ""
    assert api.name in text
    assert re.search(rf"\b{api.key}\b", text)
    assert any(name.endswith("Handler") for name in vars(module))
    assert re.search(rf"(?<![-\d]){served_ranges()[api.name]}(?![-\d])", text)


def test_every_api_once() -> None:
    keys = [row.api_key for row in ROUTES]
    assert len(keys) == len(set(keys))


def test_what_the_controller_decides_may_be_forwarded_and_what_peers_send_needs_cluster_action() -> None:
    for row in ROUTES:
        api = API_TABLE[row.api_key]
        assert api.forwardable == (row.disposition is Disposition.CONTROLLER), row
        assert api.cluster_action == (row.disposition is Disposition.PEER), row


def test_the_finished_table_and_what_it_misses() -> None:
    handlers: dict[ApiKey, Any] = {row.api_key: lambda request: None for row in ROUTES}
    table = build_route_table(handlers)
    assert set(table) == {int(row.api_key) for row in ROUTES}
    del handlers[ApiKey.FETCH]
    handlers[ApiKey.ELECT_LEADERS] = lambda request: None
    with pytest.raises(ValueError, match=r"\['FETCH'\].*\['ELECT_LEADERS'\]"):
        build_route_table(handlers)
