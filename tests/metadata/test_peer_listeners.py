"""Every broker's view of the inter-broker listeners of the registered brokers."""

from __future__ import annotations

import pytest

from signalbox.common.endpoint import Endpoint, SecurityProtocol
from signalbox.metadata.entries.registration import BrokerRegistration
from signalbox.metadata.layout import broker_id_path
from signalbox.metadata.peer_listeners import PeerListeners
from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from signalbox.metadata.store.port import Create, Delete, Operation, Write
from tests.metadata.participants import run_with_stores
from tests.waiting import until_true


def registered(broker_id: int, inter_broker_listener: str | None) -> list[Operation]:
    """The operations of a broker's registration, for one commit."""
    path = broker_id_path(broker_id)
    endpoint = Endpoint("A", "127.0.0.1", 9000 + broker_id, SecurityProtocol.PLAINTEXT)
    registration = BrokerRegistration(
        broker_id=broker_id, endpoints=(endpoint,), inter_broker_listener=inter_broker_listener
    )
    return [Create(path, of_session=True), Write(path, registration.encode(), 0)]


@pytest.mark.spec("L12", "L8")
def test_registrations_are_followed() -> None:
    async def scenario(shared: SharedEntries, writer: MemoryMetadataStore, reader: MemoryMetadataStore) -> None:
        await writer.open_session()
        await writer.commit(registered(1, "OLD"))
        peers = PeerListeners(reader, "OWN")
        assert peers.of(1) == ["OWN"]
        peers.start()
        await until_true(lambda: peers.of(1) == ["OLD", "OWN"])
        await writer.commit([*registered(2, "OWN"), *registered(3, None)])
        await until_true(lambda: "OWN" in peers)  # a new registration
        assert (peers.of(2), peers.of(3), peers.of(9)) == (["OWN"], ["OWN"], ["OWN"])
        # A rolling restart: the same broker registers again with another listener.
        await writer.commit([Delete(broker_id_path(1))])
        await writer.commit(registered(1, "NEW"))
        await until_true(lambda: peers.of(1) == ["NEW", "OWN"])
        assert "OLD" not in peers
        # A corrupt registration: the last valid one stays in use until the broker has written its registration again.
        await writer.commit([Write(broker_id_path(1), b"torn"), Delete(broker_id_path(2))])
        await until_true(lambda: "OWN" not in peers)  # the registration was deleted
        assert peers.of(1) == ["NEW", "OWN"]
        await peers.stop()

    run_with_stores(2, scenario)
