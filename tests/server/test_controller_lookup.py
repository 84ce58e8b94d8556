"""The endpoint of the active controller for brokers' requests: from the store, by the controller's own settings."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from signalbox.client.connection.client_security import sasl_login
from signalbox.client.connection.connection_settings import ConnectionSecurity
from signalbox.metadata.entries.controller_claim import encode_claim
from signalbox.metadata.layout import CONTROLLER, broker_id_path, controller_id_path, create_roots
from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from signalbox.metadata.store.port import Create, Delete, Write
from signalbox.server.controller_lookup import StoredControllerLookup
from tests.controller.cluster import register, registration

SECURITY = {
    name: ConnectionSecurity(sasl=sasl_login("PLAIN", name, "")) for name in ("CLIENT", "REPLICATION", "CONTROL")
}


class Watching:
    """A lookup over a store in memory; `next` waits for its next change."""

    def __init__(self, store: MemoryMetadataStore) -> None:
        self.store = store
        self.lookup = StoredControllerLookup(
            store,
            lambda found: found.privileged_endpoint("REPLICATION"),
            lambda endpoint: SECURITY[endpoint.listener_name],
        )
        self._changed = asyncio.Event()
        self.lookup.on_change = self._changed.set
        self.changes = 0

    async def next(self) -> Any:
        await asyncio.wait_for(self._changed.wait(), 60)
        self._changed.clear()
        return self.lookup.active_controller()


def run(scenario: Callable[[Watching], Any]) -> None:
    async def with_lookup() -> None:
        store = MemoryMetadataStore(SharedEntries())
        await store.open_session()
        await create_roots(store)
        watching = Watching(store)
        watching.lookup.start()
        try:
            await scenario(watching)
        finally:
            await watching.lookup.stop()
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(with_lookup())


@pytest.mark.parametrize(
    ("privileged", "address"), [(None, ("host2", 9102)), ("CONTROL", ("host2", 9202)), ("CLIENT", ("host2", 9002))]
)
def test_the_targets_privileged_listener(privileged: str | None, address: tuple[str, int]) -> None:
    """With that listener's security: the connecting broker may have another inter-broker listener during a rolling
    change (L12)."""

    async def scenario(watching: Watching) -> None:
        assert watching.lookup.active_controller() is None
        await register(watching.store, registration(2, privileged_listener=privileged))
        await watching.store.commit([Create(CONTROLLER, encode_claim(2, 0), of_session=True)])
        node = await watching.next()
        assert (node.node_id, tuple(node.address)) == (2, address)
        assert node.security is SECURITY[privileged or "REPLICATION"]

    run(scenario)


def test_a_change_of_controller_and_none_at_all() -> None:
    async def scenario(watching: Watching) -> None:
        for broker_id in (1, 2):
            await register(watching.store, registration(broker_id))
        await watching.store.commit([Create(CONTROLLER, encode_claim(1, 0))])
        assert (await watching.next()).node_id == 1
        await watching.store.commit([Delete(CONTROLLER)])
        assert await watching.next() is None
        await watching.store.commit([Create(CONTROLLER, encode_claim(2, 0))])
        assert (await watching.next()).node_id == 2

    run(scenario)


def test_a_controller_that_changes_its_privileged_listener() -> None:
    async def scenario(watching: Watching) -> None:
        await register(watching.store, registration(1))
        await watching.store.commit([Create(CONTROLLER, encode_claim(1, 0))])
        assert tuple((await watching.next()).address) == ("host1", 9102 - 1)
        moved = registration(1, privileged_listener="CLIENT")
        await watching.store.commit([Write(broker_id_path(1), moved.encode())])
        assert tuple((await watching.next()).address) == ("host1", 9001)

    run(scenario)


def test_elected_before_its_registration_is_renewed() -> None:
    async def scenario(watching: Watching) -> None:
        await watching.store.commit([Create(CONTROLLER, encode_claim(3, 0))])
        await register(watching.store, registration(3))
        assert (await watching.next()).node_id == 3

    run(scenario)


def test_an_unreadable_claim_is_read_again(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(watching: Watching) -> None:
        await register(watching.store, registration(1))
        await watching.store.commit([Create(CONTROLLER, b"nonsense")])
        await watching.store.commit([Delete(CONTROLLER), Create(CONTROLLER, encode_claim(1, 0))])
        assert (await watching.next()).node_id == 1

    run(scenario)


@pytest.mark.spec("F15")
def test_a_dedicated_controller_is_found_at_its_own_place_first() -> None:
    """Also when a broker is registered with the same id: then it is the same node."""

    async def scenario(watching: Watching) -> None:
        store = watching.store
        dedicated = registration(2, privileged_listener="CONTROL")
        await store.commit([Create(controller_id_path(2), dedicated.encode(), of_session=True)])
        await register(store, registration(2))
        await store.commit([Create(CONTROLLER, encode_claim(2, 0), of_session=True)])
        assert tuple((await watching.next()).address) == ("host2", 9202)
        moved = registration(2, privileged_listener="CLIENT")
        await store.commit([Write(controller_id_path(2), moved.encode())])
        assert tuple((await watching.next()).address) == ("host2", 9002)

    run(scenario)
