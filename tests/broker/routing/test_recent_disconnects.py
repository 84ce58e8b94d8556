"""Metadata waits for the controller's update on a recently disconnected broker, and for nothing else."""

from __future__ import annotations

import asyncio

import pytest

from signalbox.broker.routing.recent_disconnects import HOLD_S, RecentDisconnects
from signalbox.common.clock import ManualClock
from tests.broker.handler_requests import cache_of, update

ALL = {1: ("CLIENT",), 2: ("CLIENT",), 3: ("CLIENT",)}
WITHOUT_3 = {1: ("CLIENT",), 2: ("CLIENT",)}


class Fixture:
    """Three brokers are alive."""

    def __init__(self) -> None:
        self.cache = cache_of(ALL)
        self.clock = ManualClock()
        self.recent_disconnects = RecentDisconnects(self.cache, self.clock)


def test_no_broker_disconnected() -> None:
    assert Fixture().recent_disconnects.hold_s() == 0.0


def test_the_wait_ends_with_the_image_that_knows() -> None:
    async def story() -> None:
        fixture = Fixture()
        fixture.recent_disconnects.connection_lost(3)
        waiting = asyncio.ensure_future(fixture.recent_disconnects.settled(fixture.recent_disconnects.hold_s()))
        await asyncio.sleep(0)
        fixture.cache.apply_update_metadata(update(ALL))
        await asyncio.sleep(0)
        assert not waiting.done()
        fixture.cache.apply_update_metadata(update(WITHOUT_3))
        await waiting
        assert fixture.recent_disconnects.hold_s() == 0.0

    asyncio.run(story())


def test_a_disconnected_broker_that_still_leads_is_waited_for() -> None:
    async def story() -> None:
        fixture = Fixture()
        fixture.cache.apply_update_metadata(update(ALL, {"t": {0: (3, [3, 1])}}))
        fixture.recent_disconnects.connection_lost(3)
        waiting = asyncio.ensure_future(fixture.recent_disconnects.settled(fixture.recent_disconnects.hold_s()))
        await asyncio.sleep(0)
        fixture.cache.apply_update_metadata(update(WITHOUT_3))
        await asyncio.sleep(0)
        assert not waiting.done()
        assert fixture.recent_disconnects.hold_s() > 0
        fixture.cache.apply_update_metadata(update(WITHOUT_3, {"t": {0: (1, [3, 1])}}))
        await waiting

    asyncio.run(story())


def test_a_broker_that_lives_after_all_is_waited_for_once() -> None:
    async def story() -> None:
        fixture = Fixture()
        fixture.recent_disconnects.connection_lost(3)
        await fixture.recent_disconnects.settled(0.01)
        fixture.clock.advance(int(HOLD_S * 1000) + 1)
        assert fixture.recent_disconnects.hold_s() == 0.0

    asyncio.run(story())


def test_a_broker_that_the_cluster_has_dealt_with_holds_nothing_up() -> None:
    fixture = Fixture()
    fixture.cache.apply_update_metadata(update(WITHOUT_3))
    fixture.recent_disconnects.connection_lost(3)
    assert fixture.recent_disconnects.hold_s() == 0.0


def test_the_wait_counts_from_the_moment_it_hung_up() -> None:
    fixture = Fixture()
    fixture.recent_disconnects.connection_lost(3)
    fixture.clock.advance(100)
    fixture.recent_disconnects.connection_lost(2)
    assert fixture.recent_disconnects.hold_s() == pytest.approx(HOLD_S)
    fixture.clock.advance(100)
    assert fixture.recent_disconnects.hold_s() == pytest.approx(HOLD_S - 0.1)
    fixture.clock.advance(200)
    assert fixture.recent_disconnects.hold_s() == 0.0
