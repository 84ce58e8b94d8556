"""The twelve stories: what happened, how it is caused, which partitions must be served meanwhile.

`prepare` comes before the client starts, `cause` while it runs. Both add what they change to a stack, whose end takes
it back.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

from signalbox.testing.drill.ground import NODES, DrillGround
from signalbox.testing.faults.address_faults import BalanceAddress, RefuseConnections, SendElsewhere, SwapAddresses
from signalbox.testing.faults.identity_faults import RewriteMetadata

_ALL = frozenset({0, 1, 2})
Cause = Callable[[DrillGround, ExitStack], None]


def _nothing(ground: DrillGround, stack: ExitStack) -> None:
    """No preparation."""


@dataclass(frozen=True, slots=True)
class Story:
    """`served`: the partitions whose leaders are reachable at the right address all the time."""

    number: int
    name: str
    served: frozenset[int]
    cause: Cause
    prepare: Cause = _nothing


def reused_ip(ground: DrillGround, stack: ExitStack) -> None:
    """Two bootstrap servers have gone, their addresses belong to another cluster; then all known brokers fail."""
    elsewhere = [SendElsewhere(node, ground.other.target(1), bootstrap=True) for node in (2, 3)]
    ground.apply(stack, RefuseConnections(1, bootstrap=True), *elsewhere, *map(RefuseConnections, NODES))


def moved_broker(ground: DrillGround, stack: ExitStack) -> None:
    """The host of broker 3 serves another cluster now."""
    ground.apply(stack, SendElsewhere(3, ground.other.target(1)))


def moved_bootstrap_server(ground: DrillGround, stack: ExitStack) -> None:
    """As before, and the host is a bootstrap server, too: a client that starts over may begin in the other cluster."""
    elsewhere = ground.other.target(1)
    ground.apply(stack, SendElsewhere(3, elsewhere), SendElsewhere(3, elsewhere, bootstrap=True))
    ground.cut_all()


def swapped_brokers(ground: DrillGround, stack: ExitStack) -> None:
    """The addresses of brokers 1 and 2 are exchanged in /etc/hosts."""
    ground.apply(stack, SwapAddresses(1, 2))


def external_records(ground: DrillGround, stack: ExitStack) -> None:
    """The DNS record of broker 1 has the address of broker 2's host."""
    ground.apply(stack, SendElsewhere(1, 2))


def recycled_pod_ip(ground: DrillGround, stack: ExitStack) -> None:
    """Broker 2 restarts; its address belongs to broker 3 meanwhile and afterwards."""
    ground.cluster.brokers.stop_broker(2)
    ground.apply(stack, SendElsewhere(2, 3))
    ground.cluster.brokers.start_broker(2)


def one_load_balancer(ground: DrillGround, stack: ExitStack) -> None:
    """Every advertised address is the same load balancer's, so connections reach the brokers in turn."""
    ground.apply(stack, *(BalanceAddress(node, (*NODES[node:], *NODES[:node])) for node in NODES))


def behind_proxy(ground: DrillGround, stack: ExitStack) -> None:
    """Clients reach the brokers through a proxy only, which replaces addresses in Metadata; broker 3 has restarted, so
    it leads nothing."""
    ground.cluster.brokers.stop_broker(3)
    ground.cluster.brokers.start_broker(3)
    hosts = dict(zip(NODES, _split(ground.cluster.bootstrap_servers), strict=True))
    ground.apply(stack, RewriteMetadata(NODES, hosts), *map(RefuseConnections, NODES))


def leaking_proxy(ground: DrillGround, stack: ExitStack) -> None:
    """Partition 2 moves to broker 3; the error of the old leader names the new one by an address behind the proxy,
    which the client cannot reach (KIP-951)."""
    ground.elect_preferred()


def unreachable_brokers(ground: DrillGround, stack: ExitStack) -> None:
    """The bootstrap servers respond, the advertised addresses do not."""
    ground.apply(stack, *map(RefuseConnections, NODES))


def invalid_and_duplicate(ground: DrillGround, stack: ExitStack) -> None:
    """Broker 1 advertises an address that no client can use; broker 3 advertises that of broker 2."""
    shared = ground.cluster.advertised(2)
    ground.apply(stack, RewriteMetadata(NODES, {1: ("0.0.0.0", 1), 3: shared}))
    ground.cut_all()


def moved_cluster(ground: DrillGround, stack: ExitStack) -> None:
    """All brokers are at new addresses, which only the bootstrap servers know."""
    moved = ground.show_moved(stack)
    ground.apply(stack, RewriteMetadata(NODES, moved), *map(RefuseConnections, NODES))


def missing_listener(ground: DrillGround, stack: ExitStack) -> None:
    """Broker 3 was restarted without the clients' listener."""
    ground.apply(stack, RewriteMetadata(NODES, hidden=[3]), RefuseConnections(3))


def _split(addresses: str) -> list[tuple[str, int]]:
    pairs = (address.rpartition(":") for address in addresses.split(","))
    return [(host, int(port)) for host, _, port in pairs]


STORIES = (
    Story(1, "reused IP of a bootstrap server", frozenset(), reused_ip),
    Story(2, "broker moved to another cluster", frozenset({0, 1}), moved_broker),
    Story(3, "moved broker among bootstrap servers", frozenset({0, 1}), moved_bootstrap_server),
    Story(4, "addresses of two brokers swapped", frozenset({2}), swapped_brokers),
    Story(5, "external record points to wrong host", frozenset({1, 2}), external_records),
    Story(6, "recycled pod IP", frozenset({0, 2}), recycled_pod_ip),
    Story(7, "one load balancer for all brokers", frozenset(), one_load_balancer),
    Story(8, "proxy leaks node endpoints", _ALL, leaking_proxy, behind_proxy),
    Story(9, "bootstrap works, brokers do not", frozenset(), unreachable_brokers),
    Story(10, "invalid and duplicate addresses", frozenset({1}), invalid_and_duplicate),
    Story(11, "all brokers at new addresses", _ALL, moved_cluster),
    Story(12, "broker without the listener", frozenset({0, 1}), missing_listener),
)
