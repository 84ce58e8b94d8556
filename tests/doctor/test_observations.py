from __future__ import annotations

import pytest

from signalbox.doctor.observations import AddressObservation, Fault
from tests.doctor.samples import advertised, connection, failed, listener, seed

pytestmark = pytest.mark.spec("R8")


def test_an_address_knows_its_usable_connections_and_the_nodes_that_respond() -> None:
    row = advertised(1, 2, 1, 2, connections=(connection(2), failed(Fault.CLOSED), connection(1), connection(2)))
    assert row.answering == (2, 1)
    assert len(row.usable) == 3
    assert row.address == "broker1:9092"
    assert AddressObservation(host="::1", port=1).address == "[::1]:1"


def test_a_listener_knows_bootstrap_servers_and_advertised_addresses() -> None:
    both = advertised(1, 1, bootstrap=True)
    rows = listener(seed(1), both, advertised(2, 2))
    assert [row.host for row in rows.seeds] == ["kafka", "broker1"]
    assert [row.node_id for row in rows.advertised] == [1, 2]
