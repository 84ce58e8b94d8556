from __future__ import annotations

import pytest

from signalbox.doctor.checks.address_lint import (
    check_container_addresses,
    check_destinations,
    check_duplicates,
    check_loopback,
    check_names_of_networks,
    check_networks,
)
from signalbox.doctor.observations import ClusterView
from tests.doctor.samples import advertised, codes_of, listener, seed

pytestmark = pytest.mark.spec("R8")


@pytest.mark.parametrize(
    ("host", "ip"),
    [("0.0.0.0", "0.0.0.0"), ("0", "0.0.0.0"), ("::", "::"), ("169.254.1.1", "169.254.1.1"), ("m", "224.0.0.5"),
     ("f", "fe80::1%eth0"), ("r", "240.0.0.1")],
)  # fmt: skip
def test_addresses_that_are_no_destination(host: str, ip: str) -> None:
    rows = listener(advertised(1, 1), advertised(2, 2, host=host, ip=ip))
    assert codes_of(check_destinations(rows)) == [("INVALID_ADDRESS", 2)]


@pytest.mark.parametrize("port", [0, -1, 65_536, 2_000_000_000])
def test_ports_that_are_none(port: int) -> None:
    assert codes_of(check_destinations(listener(advertised(1, port=port)))) == [("INVALID_ADDRESS", 1)]


@pytest.mark.parametrize("ip", ["127.0.0.1", "::1", "10.1.2.3", "8.8.8.8", "2001:4860::1", "fd00::1"])
def test_other_addresses_are_destinations(ip: str) -> None:
    assert codes_of(check_destinations(listener(advertised(1, 1, ip=ip)))) == []


def test_loopback_is_in_order_for_clients_that_came_by_loopback() -> None:
    rows = (advertised(1, 1, ip="127.0.0.1"), advertised(2, 2, ip="::1"))
    assert codes_of(check_loopback(listener(seed(1, ip="10.0.0.5"), *rows))) == [
        ("LOOPBACK_ADDRESS", 1),
        ("LOOPBACK_ADDRESS", 2),
    ]
    assert codes_of(check_loopback(listener(seed(1, ip="127.0.0.1"), *rows))) == []
    assert codes_of(check_loopback(listener(seed(connections=()), *rows))) == []


def test_private_beside_public() -> None:
    public = advertised(1, 1, ip="8.8.8.8")
    rows = listener(public, advertised(2, 2, ip="10.0.0.2"))
    assert codes_of(check_networks(rows)) == [("PRIVATE_BESIDE_PUBLIC", 2)]
    assert codes_of(check_networks(listener(public, advertised(2, 2, ip="127.0.0.1")))) == []
    assert codes_of(check_networks(listener(advertised(1, 1), advertised(2, 2)))) == []


def test_one_address_of_several_nodes() -> None:
    shared = [advertised(node_id, 2, host="Shared" if node_id == 3 else "shared") for node_id in (2, 3)]
    (finding,) = check_duplicates(listener(advertised(1, 1), *shared))
    assert (finding.code, finding.text) == ("DUPLICATE_ADDRESS", "nodes 2, 3 advertise shared:9092")
    assert codes_of(check_duplicates(listener(view=ClusterView()))) == []


@pytest.mark.parametrize(
    ("host", "is_inner"),
    [
        ("broker-1", True),
        ("broker-1.kafka.svc", True),
        ("broker-1.kafka.SVC.cluster.local.", True),
        ("ip-10-0-0-1.ec2.internal", True),
        ("broker-1.example.com", False),
        ("svc.example.com", False),
        ("203.0.113.9", False),
        ("::1", False),
    ],
)
def test_names_of_inner_networks_for_clients_from_outside(host: str, is_inner: bool) -> None:
    codes = [("INTERNAL_NAME", 1)] if is_inner else []
    row = advertised(1, 1, host=host)
    assert codes_of(check_names_of_networks(listener(seed(1, host="kafka.example.com"), row))) == codes
    assert codes_of(check_names_of_networks(listener(seed(1, host="8.8.8.8", ip="8.8.8.8"), row))) == codes
    assert codes_of(check_names_of_networks(listener(seed(1, host="kafka"), row))) == []
    assert codes_of(check_names_of_networks(listener(seed(1, host="kafka.kafka.svc"), row))) == []
    assert codes_of(check_names_of_networks(listener(seed(1, host="10.1.2.3", ip="10.1.2.3"), row))) == []
    nowhere = seed(host="kafka.example.com", connections=())
    assert codes_of(check_names_of_networks(listener(nowhere, row))) == []


@pytest.mark.parametrize(
    ("host", "is_one"),
    [
        ("10.244.3.7", True),
        ("10.42.0.1", True),
        ("10.130.0.9", True),
        ("172.17.0.2", True),
        ("10.88.0.4", True),
        ("10.0.0.4", False),
        ("192.168.1.1", False),
        ("fd00::1", False),
        ("broker-1", False),
    ],
)
def test_addresses_that_containers_get(host: str, is_one: bool) -> None:
    rows = listener(seed(1), advertised(1, 1, host=host))
    assert codes_of(check_container_addresses(rows)) == ([("CONTAINER_ADDRESS", 1)] if is_one else [])
