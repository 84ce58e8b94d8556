"""Settings that brokers of one cluster must not share."""

from __future__ import annotations

import pytest

from signalbox.configuration.check.cluster_clashes import same_advertised_address, same_id, same_log_dirs, same_port
from tests.configuration.check.brokers import broker

SQLITE = "sqlite:/tmp/m.db"


def listeners(host: str, *ports: int) -> str:
    return ",".join(
        f"{name}://{host}:{port}" for name, port in zip(("CLIENT", "REPLICATION", "CONTROL"), ports, strict=True)
    )


def test_ids() -> None:
    one, two, three = broker(1), broker(2), broker(3, node__id="", broker__id="1")
    assert list(same_id([one, two])) == []
    [fault] = same_id([one, two, three])
    assert (fault.key, fault.entry, fault.origin) == ("broker.id", "1", "3.properties")


@pytest.mark.spec("L3")
@pytest.mark.parametrize(
    ("one", "other", "entries"),
    [
        (listeners("a", 1, 2, 3), listeners("b", 1, 2, 3), []),
        (listeners("a", 1, 2, 3), listeners("A", 4, 5, 1), ["CONTROL://A:1"]),
        (listeners("127.0.0.1", 1, 2, 3), listeners("localhost", 1, 5, 6), ["CLIENT://localhost:1"]),
        (listeners("a", 0, 0, 0), listeners("a", 0, 0, 0), []),
        (listeners("", 1, 2, 3), listeners("", 1, 2, 3), []),
    ],
)
def test_addresses(one: str, other: str, entries: list[str]) -> None:
    found = list(
        same_advertised_address([broker(1, advertised__listeners=one), broker(2, advertised__listeners=other)])
    )
    assert [(fault.key, fault.entry) for fault in found] == [("advertised.listeners", entry) for entry in entries]


@pytest.mark.parametrize(
    ("one", "other", "entries"),
    [
        (listeners("127.0.0.1", 1, 2, 3), listeners("127.0.0.2", 1, 2, 3), []),
        (listeners("127.0.0.1", 1, 2, 3), listeners("", 4, 5, 1), ["CONTROL://:1"]),
        (listeners("a", 0, 0, 0), listeners("a", 0, 0, 0), []),
        # already reported as an address that is advertised twice
        (listeners("a", 1, 2, 3), listeners("a", 1, 5, 6), []),
    ],
)
def test_ports_of_one_machine(one: str, other: str, entries: list[str]) -> None:
    brokers = [
        broker(1, listeners=one, signalbox__metadata__store=SQLITE),
        broker(2, listeners=other, signalbox__metadata__store=SQLITE),
    ]
    assert [fault.entry for fault in same_port(brokers)] == entries
    apart = [broker(1, listeners=one, advertised__listeners=listeners("x", 1, 2, 3)), broker(2, listeners=other)]
    assert list(same_port(apart)) == []


@pytest.mark.parametrize(
    ("host", "port", "taken"), [("127.0.0.1", "9404", True), ("127.0.0.2", "9404", False), ("127.0.0.1", "0", False)]
)
def test_metrics_ports_of_one_machine(host: str, port: str, taken: bool) -> None:
    brokers = [
        broker(1, signalbox__metadata__store=SQLITE, signalbox__metrics__http__port=port),
        broker(
            2,
            signalbox__metadata__store=SQLITE,
            signalbox__metrics__http__port=port,
            signalbox__metrics__http__host=host,
        ),
    ]
    assert [fault.key for fault in same_port(brokers)] == ["signalbox.metrics.http.port"] * taken


def test_folders_of_one_machine() -> None:
    one, two = broker(1, log__dirs="/a,/b"), broker(2, log__dirs="/c,/x/../b/")
    assert list(same_log_dirs([one, two])) == []
    brokers = [
        broker(1, log__dirs="/a,/b", signalbox__metadata__store=SQLITE),
        broker(2, log__dirs="/x/../b/", signalbox__metadata__store=SQLITE),
    ]
    [fault] = same_log_dirs(brokers)
    assert (fault.key, fault.entry, fault.origin) == ("log.dirs", "/x/../b/", "2.properties")
