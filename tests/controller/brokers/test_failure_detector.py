"""Failure detector: at most one probe of a broker at a time, and a fenced removal of its registration; conditions under
which the controller's claim may be replaced before its session expires (SPEC M3)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from signalbox.common.endpoint import Endpoint, SecurityProtocol
from signalbox.controller.brokers.failure_detector import FailureDetector, dead_controller_claim
from signalbox.controller.context import LiveBroker
from signalbox.controller.election.claim import try_to_claim
from signalbox.metadata.entries.registration import BrokerRegistration
from signalbox.metadata.layout import CONTROLLER, CONTROLLER_EPOCH, broker_id_path, controller_id_path
from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from signalbox.metadata.store.port import Create, Delete, Fence, Write
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


class FixedProbe:
    """A probe with a fixed result."""

    def __init__(self, dead: bool) -> None:
        self.dead = dead
        self.asked: list[tuple[int, list[str]]] = []

    async def confirm_dead(self, broker_id: int, endpoints: Sequence[Endpoint]) -> bool:
        self.asked.append((broker_id, [endpoint.listener_name for endpoint in endpoints]))
        return self.dead


async def controller_one(store: MemoryMetadataStore) -> int:
    """Registers broker 1 and makes it the controller; returns the creation id of its claim."""
    await store.open_session()
    await register(store, registration(1))
    claim = (await try_to_claim(store, 1, 0)).claim
    assert claim is not None
    return claim.creation_id


@pytest.mark.parametrize("dead", [True, False])
def test_every_listener_is_asked(dead: bool) -> None:
    async def scenario(shared: SharedEntries, old: MemoryMetadataStore, other: MemoryMetadataStore) -> None:
        creation_id, probe = await controller_one(old), FixedProbe(dead)
        assert await dead_controller_claim(other, probe, 1) == (creation_id if dead else None)
        assert probe.asked == [(1, ["CLIENT", "REPLICATION", "CONTROL"])]

    run_with_stores(2, scenario)


@pytest.mark.spec("F15")
@pytest.mark.parametrize("combined", [False, True])
def test_a_dedicated_controller_is_asked_where_brokers_find_it(combined: bool) -> None:
    async def scenario(shared: SharedEntries, old: MemoryMetadataStore, other: MemoryMetadataStore) -> None:
        await old.open_session()
        endpoint = Endpoint("CONTROLLER", "host1", 9301, SecurityProtocol.PLAINTEXT)
        broker = BrokerRegistration(broker_id=1, endpoints=(endpoint,))
        await old.commit([Create(controller_id_path(1), broker.encode(), of_session=True)])
        if combined:
            await register(old, registration(1))
        claim, probe = (await try_to_claim(old, 1, 0)).claim, FixedProbe(dead=True)
        assert claim is not None
        assert await dead_controller_claim(other, probe, 1) == claim.creation_id
        as_broker = ["CLIENT", "REPLICATION", "CONTROL"] if combined else []
        assert probe.asked == [(1, ["CONTROLLER", *as_broker])]

    run_with_stores(2, scenario)


@pytest.mark.parametrize("case", ["another is the controller", "no node is", "not registered", "another process"])
def test_no_claim_is_returned_if_the_addresses_are_not_those_of_the_controller(case: str) -> None:
    async def scenario(
        shared: SharedEntries, old: MemoryMetadataStore, other: MemoryMetadataStore, third: MemoryMetadataStore
    ) -> None:
        await controller_one(old)
        if case == "no node is":
            await old.commit([Delete(CONTROLLER)])
        elif case != "another is the controller":
            await old.commit([Delete(broker_id_path(1))])
        if case == "another process":
            await third.open_session()
            await register(third, registration(1))
        probe = FixedProbe(dead=True)
        controller_id = 2 if case == "another is the controller" else 1
        assert await dead_controller_claim(other, probe, controller_id) is None
        assert probe.asked == []

    run_with_stores(3, scenario)


def test_a_claim_that_changes_during_the_probe_is_not_the_dead_ones() -> None:
    """The returned claim is the one that was read before the probe."""

    async def scenario(shared: SharedEntries, old: MemoryMetadataStore, other: MemoryMetadataStore) -> None:
        creation_id = await controller_one(old)
        await other.open_session()

        class SlowProbe:
            async def confirm_dead(self, broker_id: int, endpoints: Sequence[Endpoint]) -> bool:
                await old.commit([Delete(CONTROLLER)])
                assert (await try_to_claim(old, 1, 0)).claim is not None
                return True

        assert await dead_controller_claim(other, SlowProbe(), 1) == creation_id
        assert (await try_to_claim(other, 2, 0, creation_id)).claim is None

    run_with_stores(2, scenario)
