from __future__ import annotations

import json

import pytest

from signalbox.server.advertised.address_states import AddressState, RouteState
from signalbox.server.metrics.health_pages import Health

pytestmark = pytest.mark.spec("R9")

ADDRESS = AddressState(
    node_id=1, listener="CLIENT", address="h:1", state=RouteState.WRONG, code="WRONG_NODE", text="no"
)


def test_a_node_is_ready_between_its_start_and_its_stop() -> None:
    health = Health(1, "C")
    assert health.ready_page()[::2] == ("503 Service Unavailable", b"the node is starting\n")
    health.started()
    assert health.ready_page()[::2] == ("200 OK", b"ready\n")
    health.stopping()
    assert health.ready_page()[::2] == ("503 Service Unavailable", b"the node is stopping\n")


def test_every_reason_is_a_line() -> None:
    reasons: list[str] = ["one", "two"]
    health = Health(1, "C", reasons=[lambda: reasons[:1], lambda: reasons[1:]])
    health.started()
    assert health.ready_page().body == b"one\ntwo\n"
    reasons.clear()
    assert health.ready_page().status == "200 OK"


def test_health_has_the_reasons_and_the_addresses_and_is_there_although_the_node_is_not_ready() -> None:
    health = Health(1, "C", addresses=lambda: [ADDRESS])
    response = health.health_page()
    assert (response.status, response.content_type) == ("200 OK", "application/json")
    page = json.loads(response.body)
    assert page.pop("advertised_addresses") == [
        {
            "node_id": 1, "listener": "CLIENT", "address": "h:1", "state": "wrong", "code": "WRONG_NODE", "text": "no",
            "key": "", "value": "", "actual": "",
        }
    ]  # fmt: skip
    assert page == {
        "node_id": 1,
        "cluster_id": "C",
        "phase": "starting",
        "ready": False,
        "not_ready_reasons": ["the node is starting"],
    }
    assert set(health.pages()) == {b"/ready", b"/health"}
