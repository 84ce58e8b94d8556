from __future__ import annotations

import pytest

from signalbox.doctor.observations import AddressObservation, ClusterView, Fault, LeftOut
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


def test_each_reason_once_and_those_that_leave_a_doubt() -> None:
    rows = [LeftOut("a", unknown=False), LeftOut("b"), LeftOut("b"), LeftOut("c", unknown=False)]
    found = ClusterView(skipped=("a",)).with_left_out(rows)
    assert (found.skipped, found.unknown) == (("a", "b", "c"), ("b",))
