"""The route table is total and agrees with the API table. `tests/wiring/test_handler_table.py` compares it with the
handlers."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.broker.routes import CONTROLLER_ROUTES, ROUTES, Disposition, build_route_table, served_versions
from signalbox.protocol.api_table import API_TABLE, ApiKey


def test_every_api_once() -> None:
    keys = [row.api_key for row in ROUTES]
    assert len(keys) == len(set(keys))


def test_what_the_controller_decides_may_be_forwarded_and_what_peers_send_needs_cluster_action() -> None:
    for row in ROUTES:
        api = API_TABLE[row.api_key]
        assert api.forwardable == (row.disposition is Disposition.CONTROLLER), row
        assert api.cluster_action == (row.disposition is Disposition.PEER), row


def test_a_short_request_for_an_offset_by_time_runs_in_slices() -> None:
    """A batch of 3.7 KB can hold 120 MB of records, which are read to find one."""
    assert next(row for row in ROUTES if row.api_key is ApiKey.LIST_OFFSETS).answers_long


def test_the_finished_table_and_what_it_misses() -> None:
    handlers: dict[ApiKey, Any] = {row.api_key: lambda request: None for row in ROUTES}
    table = build_route_table(handlers)
    assert set(table) == {int(row.api_key) for row in ROUTES}
    del handlers[ApiKey.FETCH]
    handlers[ApiKey.SASL_HANDSHAKE] = lambda request: None
    with pytest.raises(ValueError, match=r"\['FETCH'\].*\['SASL_HANDSHAKE'\]"):
        build_route_table(handlers)


@pytest.mark.spec("F15")
def test_a_dedicated_controllers_part() -> None:
    direct = {row.api_key for row in CONTROLLER_ROUTES if row.disposition is not Disposition.CONTROLLER}
    assert direct == {
        ApiKey.API_VERSIONS,
        ApiKey.ENVELOPE,
        ApiKey.ALTER_PARTITION,
        ApiKey.ALLOCATE_PRODUCER_IDS,
        ApiKey.CONTROLLED_SHUTDOWN,
    }
    decided = {row.api_key for row in ROUTES if row.disposition is Disposition.CONTROLLER}
    assert {row.api_key for row in CONTROLLER_ROUTES} == direct | decided
    assert not any(API_TABLE[key].controller for key in decided), "an Envelope is the one way in"
    handlers: dict[ApiKey, Any] = {row.api_key: lambda request: None for row in CONTROLLER_ROUTES}
    assert set(build_route_table(handlers, CONTROLLER_ROUTES)) == {int(key) for key in direct | decided}


def test_the_network_accepts_every_route_at_every_version_of_its_row() -> None:
    versions = served_versions()
    assert set(versions) == {int(route.api_key) for route in ROUTES}
    assert versions[0] == (3, 13)  # listed from 0 on, accepted from 3 on
    assert all(versions[key] == (API_TABLE[key].min_version, API_TABLE[key].max_version) for key in versions)
