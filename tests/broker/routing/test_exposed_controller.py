"""The controller id that clients receive: any broker that they can reach (F12)."""

from __future__ import annotations

from random import Random

import pytest

from signalbox.broker.routing.exposed_controller import ExposedController
from tests.broker.handler_requests import cache_of


@pytest.mark.spec("F12")
def test_a_random_broker_of_the_listener_each_time() -> None:
    exposed = ExposedController(cache_of(), Random(1))
    assert {exposed.id_for("CLIENT") for _ in range(50)} == {1, 2}
    assert {exposed.id_for("REPLICATION") for _ in range(50)} == {1, 2, 3}


def test_a_refused_connection() -> None:
    assert ExposedController(cache_of(), Random(1)).id_for("NOWHERE") == -1
