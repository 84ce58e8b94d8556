from __future__ import annotations

import asyncio
import json

import pytest

from signalbox.server.advertised.address_states import AddressState, RouteState
from signalbox.server.metrics.health_pages import (
    SILENT_S,
    Health,
    HttpResponse,
    NodeReport,
    Phase,
    health_page,
    ready_page,
)

pytestmark = pytest.mark.spec("R9")

ADDRESS = AddressState(
    node_id=1, listener="CLIENT", address="h:1", state=RouteState.WRONG, code="WRONG_NODE", text="no"
)


def ready(health: Health) -> tuple[str, bytes]:
    response = ready_page(health.report())
    return response.status, b"".join(response.body)


def test_a_node_is_ready_between_its_start_and_its_stop() -> None:
    health = Health(1, "C")
    assert ready(health) == ("503 Service Unavailable", b"the node is starting\n")
    health.started()
    assert ready(health) == ("200 OK", b"ready\n")
    health.stopping()
    assert ready(health) == ("503 Service Unavailable", b"the node is stopping\n")


def test_every_reason_is_a_line() -> None:
    reasons: list[str] = ["one", "two"]
    health = Health(1, "C", reasons=[lambda: reasons[:1], lambda: reasons[1:]])
    health.started()
    assert ready(health)[1] == b"one\ntwo\n"
    reasons.clear()
    assert ready(health)[0] == "200 OK"


def test_a_loop_that_does_not_respond_for_long_is_a_reason_and_the_process_is_healthy() -> None:
    running = NodeReport(Phase.RUNNING, (), ())
    assert ready_page(running._replace(silent_s=SILENT_S - 1)).status == "200 OK"
    silent = running._replace(silent_s=12.0)
    assert b"".join(ready_page(silent).body) == b"the event loop has not responded for 12 s\n"
    response = health_page(1, "C", silent)
    assert response.status == "200 OK"
    assert json.loads(b"".join(response.body))["event_loop_silent_ms"] == 12_000


def test_health_has_the_reasons_and_the_addresses_and_is_there_although_the_node_is_not_ready() -> None:
    health = Health(1, "C", addresses=lambda: [ADDRESS], brokers=lambda: {2, 1})

    async def latest() -> NodeReport:
        return health.report()

    async def read() -> HttpResponse:
        pages = health.pages(latest)
        assert set(pages) == {b"/ready", b"/health"}
        assert (await pages[b"/ready"]()).status == "503 Service Unavailable"
        return await pages[b"/health"]()

    response = asyncio.run(read())
    assert (response.status, response.content_type) == ("200 OK", "application/json")
    page = json.loads(b"".join(response.body))
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
        "brokers": [1, 2],
        "event_loop_silent_ms": 0,
    }
