"""Only a node of Kafka that is not the expected one makes an address wrong."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.common.ids import Grade
from signalbox.doctor.observations import (
    AddressObservation,
    Certificate,
    ClusterView,
    ConnectionObservation,
    Examination,
    Fault,
    ListenerObservation,
)
from signalbox.server.advertised.address_states import AddressState, RouteState, states_of

pytestmark = pytest.mark.spec("R9")

EXPIRED = Certificate(not_before="2020-01-01T00:00:00+00:00", not_after="2021-01-01T00:00:00+00:00")


def connection(node_id: int = -1, **fields: Any) -> ConnectionObservation:
    grade = Grade.VERIFIED if node_id >= 0 else Grade.NONE
    given = {
        "stage": "ready",
        "cluster_id": "C" if node_id >= 0 else "",
        "grade": grade,
        "api_versions_max": 5,
        **fields,
    }
    return ConnectionObservation(ip="127.0.0.1", node_id=node_id, **given)


def address(node_id: int, *connections: ConnectionObservation, **fields: Any) -> AddressObservation:
    return AddressObservation(
        host="h",
        port=9000 + node_id,
        node_id=node_id,
        cluster_id="C",
        connections=connections,
        ips=("127.0.0.1",),
        **fields,
    )


def state(*rows: AddressObservation) -> AddressState:
    """The state of the first address."""
    view = ClusterView(cluster_id="C", brokers={str(row.node_id): row.address for row in rows})
    listener = ListenerObservation(bootstrap="CLIENT", view=view, addresses=rows)
    return states_of(Examination(started="2026-01-01T00:00:00+00:00", listeners=(listener,)))[rows[0].node_id, "CLIENT"]


@pytest.mark.parametrize(
    ("connections", "code", "actual"),
    [
        ([connection(2)], "WRONG_NODE", "C/2"),
        ([connection(1), connection(2), connection(1)], "BALANCED", "C/2"),
        ([connection(1), connection(1, grade=Grade.SEARCHED), connection(1)], "BALANCED", "C/1"),
        ([connection(1, cluster_id="D")], "WRONG_CLUSTER", "D/1"),
        ([connection(grade=Grade.REJECTED, stage="api-versions")], "WRONG_NODE", ""),
    ],
)
def test_another_node(connections: list[ConnectionObservation], code: str, actual: str) -> None:
    found = state(address(1, *connections))
    assert (found.state, found.code, found.actual, found.key) == (
        RouteState.WRONG,
        code,
        actual,
        "advertised.listeners",
    )


def test_two_nodes_that_are_exchanged_are_reported_with_the_right_address() -> None:
    found = state(address(1, connection(2)), address(2, connection(1)))
    assert (found.state, found.code, found.value) == (RouteState.WRONG, "CROSSED", "h:9002")


@pytest.mark.parametrize(
    ("row", "code"),
    [
        (address(1, connection(fault=Fault.CONNECTION_REFUSED)), "CONNECTION_REFUSED"),
        (address(1, connection(fault=Fault.TIMEOUT)), "NO_RESPONSE"),
        (address(1, connection(fault=Fault.HTTP)), "NOT_KAFKA"),
        (address(1, connection(fault=Fault.CLIENT_CERTIFICATE)), "CLIENT_CERTIFICATE"),
        (address(1, connection(api_versions_max=4)), "UNVERIFIED"),
        (address(1, resolve_text="no such name"), "UNRESOLVED"),
        (address(1, examined=False), "NOT_EXAMINED"),
    ],
)
def test_what_proves_nothing(row: AddressObservation, code: str) -> None:
    found = state(row)
    assert (found.state, found.code, found.actual) == (RouteState.UNVERIFIED, code, "")


def test_the_expected_node() -> None:
    found = state(address(1, connection(1), connection(1)))
    assert (found.state, found.code, found.address) == (RouteState.VERIFIED, "", "h:9001")


def test_a_certificate_that_has_expired_is_reported_beside_the_state() -> None:
    found = state(address(1, connection(1), certificates={"127.0.0.1": EXPIRED}))
    assert (found.state, found.code) == (RouteState.VERIFIED, "CERTIFICATE_EXPIRED")
