"""Failure detector: at most one probe of a broker at a time, and a fenced removal of its registration (SPEC M3)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from signalbox.common.endpoint import Endpoint
from signalbox.controller.brokers.failure_detector import FailureDetector
from signalbox.controller.context import LiveBroker
from signalbox.controller.election.claim import try_to_claim
from signalbox.metadata.layout import CONTROLLER_EPOCH, broker_id_path
from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from signalbox.metadata.store.port import Delete, Fence, Write
from tests.controller.cluster import register, registration
from tests.metadata.participants import run_with_stores


class Held:
    """A probe that returns "dead" once `let_go` is set."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.let_go = asyncio.Event()

    async def confirm_dead(self, broker_id: int, endpoints: Sequence[Endpoint]) -> bool:
        self.asked.append(broker_id)
        await self.let_go.wait()
        return True


async def a_broker(store: MemoryMetadataStore) -> LiveBroker:
    await store.open_session()
    return LiveBroker(registration(2), await register(store, registration(2)))


async def ended(tasks: list[asyncio.Task[None]]) -> None:
    await asyncio.gather(*tasks)


def test_each_once_at_a_time_and_again_later() -> None:
    async def scenario(shared: SharedEntries, own: MemoryMetadataStore, other: MemoryMetadataStore) -> None:
        await own.open_session()
        broker, claim = await a_broker(other), (await try_to_claim(own, 1, 0)).claim
        assert claim is not None
        probe, tasks, known = Held(), list[asyncio.Task[None]](), False
        detector = FailureDetector(own, probe, lambda work: tasks.append(asyncio.ensure_future(work)))
        for _ in range(3):
            detector.look_at_broker(broker, claim.fence, lambda broker: known)
        probe.let_go.set()
        await ended(tasks)
        assert probe.asked == [2]
        assert await own.read(broker_id_path(2)) is not None, "not the one that was known then"
        known = True
        detector.look_at_broker(broker, claim.fence, lambda broker: known)
        await ended(tasks)
        assert probe.asked == [2, 2]
        assert await own.read(broker_id_path(2)) is None

    run_with_stores(2, scenario)


def test_a_fenced_controller_removes_no_registration() -> None:
    async def scenario(shared: SharedEntries, own: MemoryMetadataStore, other: MemoryMetadataStore) -> None:
        await own.open_session()
        broker, claim = await a_broker(other), (await try_to_claim(own, 1, 0)).claim
        assert claim is not None
        await other.commit([Write(CONTROLLER_EPOCH, b"9")])
        probe, tasks = Held(), list[asyncio.Task[None]]()
        probe.let_go.set()
        detector = FailureDetector(own, probe, lambda work: tasks.append(asyncio.ensure_future(work)))
        detector.look_at_broker(broker, claim.fence, lambda broker: True)
        await ended(tasks)
        assert await own.read(broker_id_path(2)) is not None

    run_with_stores(2, scenario)


def test_without_a_probe_no_node_is_confirmed_dead() -> None:
    async def scenario(shared: SharedEntries, own: MemoryMetadataStore, other: MemoryMetadataStore) -> None:
        broker, found = await a_broker(other), list[int]()
        detector = FailureDetector(own, None, lambda work: work.close())
        detector.look_at_broker(broker, Fence(CONTROLLER_EPOCH, 0), lambda broker: True)
        detector.look_at_controller(2, found.append)
        assert await own.read(broker_id_path(2)) is not None
        assert found == []

    run_with_stores(2, scenario)


def test_a_broker_that_has_registered_again_meanwhile_is_not_removed() -> None:
    """Even if the controller has not observed it yet: the failed registration is the old one."""

    async def scenario(shared: SharedEntries, own: MemoryMetadataStore, other: MemoryMetadataStore) -> None:
        await own.open_session()
        broker, claim = await a_broker(other), (await try_to_claim(own, 1, 0)).claim
        assert claim is not None
        probe, tasks = Held(), list[asyncio.Task[None]]()
        detector = FailureDetector(own, probe, lambda work: tasks.append(asyncio.ensure_future(work)))
        detector.look_at_broker(broker, claim.fence, lambda broker: True)
        await own.commit([Delete(broker_id_path(2))])
        again = await register(other, registration(2))
        probe.let_go.set()
        await ended(tasks)
        entry = await own.read(broker_id_path(2))
        assert entry is not None
        assert entry.creation_id == again

    run_with_stores(2, scenario)


def test_a_removal_that_a_full_store_rejects_is_retried_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "signalbox.controller.brokers.failure_detector")

    async def scenario(shared: SharedEntries, own: MemoryMetadataStore, other: MemoryMetadataStore) -> None:
        await own.open_session()
        broker, claim = await a_broker(other), (await try_to_claim(own, 1, 0)).claim
        assert claim is not None
        probe, tasks = Held(), list[asyncio.Task[None]]()
        probe.let_go.set()
        detector = FailureDetector(own, probe, lambda work: tasks.append(asyncio.ensure_future(work)))
        for capacity_bytes in (0, 0, 0, None):
            shared.free_space_bytes = capacity_bytes
            detector.look_at_broker(broker, claim.fence, lambda broker: True)
            await ended(tasks)
        assert await own.read(broker_id_path(2)) is None

    run_with_stores(2, scenario)
    assert [each.message.partition(":")[0] for each in caplog.records] == [
        "node 2 cannot be checked after its connections closed",
        "broker 2 refuses connections",
    ]
