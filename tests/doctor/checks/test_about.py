from __future__ import annotations

from ipaddress import ip_address

import pytest

from signalbox.doctor.checks.about import about, address_of_node, ids, ip_of, name_of
from tests.doctor.samples import advertised, listener, seed

pytestmark = pytest.mark.spec("R8")


def test_the_key_of_a_bootstrap_server_is_the_clients() -> None:
    rows = listener(seed(1), advertised(1, 1))
    assert about("CONNECTION_REFUSED", rows, rows.addresses[0], "").key == "bootstrap.servers"
    assert about("CONNECTION_REFUSED", rows, rows.addresses[1], "").key == "advertised.listeners"
    assert about("TLS_EXPECTED", rows, rows.addresses[0], "").key == "security.protocol"
    assert about("BROKERS_UNREACHABLE", rows, None, "").address == ""


def test_the_address_at_which_a_node_alone_responds() -> None:
    rows = listener(seed(1, 2), advertised(1, 2), advertised(2, 1))
    assert (address_of_node(rows, 1), address_of_node(rows, 3)) == ("broker2:9092", "")


def test_texts() -> None:
    assert (name_of(seed()), name_of(advertised(4))) == ("the bootstrap server", "node 4")
    assert ids((3, 1)) == "3, 1"
    assert ip_of("::ffff:10.0.0.1") == ip_address("10.0.0.1")
    assert ip_of("fe80::1%eth0") == ip_address("fe80::1")
    assert ip_of("name") is None
