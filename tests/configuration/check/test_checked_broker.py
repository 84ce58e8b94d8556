"""Whether brokers share a machine or a store, as far as their configurations show."""

from __future__ import annotations

import pytest

from signalbox.configuration.check.checked_broker import host_identity, share_host, share_store
from tests.configuration.check.brokers import broker


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("zookeeper:a:2181,b:2181/k", "zookeeper:B,c:2181/k", True),
        ("zookeeper:a:2181/k", "zookeeper:a:2181/other", False),
        ("zookeeper:a:2181", "zookeeper:b:2181", False),
        ("sqlite:/tmp/x/m.db", "sqlite:/tmp/x/../x/m.db", True),
        ("sqlite:/tmp/x/m.db", "sqlite:/tmp/y/m.db", False),
        ("sqlite:/tmp/x/m.db", "zookeeper:a:2181", False),
    ],
)
def test_one_store(one: str, other: str, same: bool) -> None:
    assert share_store(broker(1, signalbox__metadata__store=one), broker(2, signalbox__metadata__store=other)) is same


def test_one_machine() -> None:
    def listeners_on(host: str) -> str:
        return f"CLIENT://{host}:9092,REPLICATION://{host}:9093,CONTROL://{host}:9094"

    assert not share_host(broker(1), broker(2))
    assert share_host(
        broker(1, advertised__listeners=listeners_on("a")), broker(2, advertised__listeners=listeners_on("A"))
    )
    assert share_host(broker(1, listeners=listeners_on("127.0.0.1")), broker(2, listeners=listeners_on("localhost")))
    # A blank host is each machine's own name, which no configuration contains.
    assert not share_host(broker(1, listeners=listeners_on("")), broker(2, listeners=listeners_on("")))
    store = "sqlite:/tmp/m.db"
    assert share_host(broker(1, signalbox__metadata__store=store), broker(2, signalbox__metadata__store=store))


def test_a_name_in_front_of_several_machines_is_not_one_machine() -> None:
    """A load balancer, or ports of every host of a Kubernetes cluster: clients use one name, brokers their own."""

    def behind(port: int, name: str) -> str:
        return f"CLIENT://kafka.example.org:{port},REPLICATION://{name}:9093,CONTROL://{name}:9094"

    one, other = (broker(node, advertised__listeners=behind(31091 + node, f"pod-{node}")) for node in (1, 2))
    assert not share_host(one, other)
    # Without names of brokers the name of clients is what is known.
    nameless = [broker(node, advertised__listeners=behind(31091 + node, "")) for node in (1, 2)]
    assert share_host(*nameless)


def test_the_attributes_of_one_broker() -> None:
    one = broker(1, advertised__listeners="CLIENT://c:1,REPLICATION://c:2,CONTROL://c:3", log__dirs="/a,./b")
    assert (one.advertised_key, one.log_dirs_key, str(one)) == (
        "advertised.listeners",
        "log.dirs",
        "broker 1 (1.properties)",
    )
    assert one.log_dirs["/a"] == "/a"
    assert list(one.log_dirs.values()) == ["/a", "./b"]
    assert broker(1, log__dirs="", log__dir="/c").log_dirs_key == "log.dir"
    assert one.of_brokers == ["REPLICATION", "CONTROL"]
    assert broker(1, control__plane__listener__name="").of_brokers == ["REPLICATION"]
    assert [host_identity(host) for host in ("A", "::1", "LOCALHOST", "")] == ["a", "localhost", "localhost", ""]
