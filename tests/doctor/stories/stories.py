"""The stories: what happened, how it is built, which codes the doctor has to report, and no others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from signalbox.doctor.finding import Finding
from signalbox.testing.switchboard_rewrite import EVERY_ADDRESS_API, WireRewrite
from signalbox.testing.switchboard_thread import SwitchboardThread
from tests.doctor.stories.ground import NODES, Ground, LinedCluster, examine_entries, findings_of


@dataclass(frozen=True, slots=True)
class Story:
    """`build` returns what the doctor finds; `codes` are all codes that it has to report, notices included."""

    name: str
    codes: tuple[str, ...]
    build: Callable[[Ground], list[Finding]]


def reused_ip(ground: Ground) -> list[Finding]:
    """An old bootstrap server's address now belongs to a broker of another cluster."""
    return findings_of(examine_entries(ground.address("ac1", "bc1")))


def moved_broker(ground: Ground) -> list[Finding]:
    """The host of broker 3 serves another cluster, and Metadata still has it."""
    ground.board.rewire("ac3", ground.home("bc", 1))
    return findings_of(examine_entries(ground.address("ac1")))


def rehomed_bootstrap_server(ground: Ground) -> list[Finding]:
    """As before, and clients have all three brokers as bootstrap servers: some of them start in the other cluster."""
    ground.board.rewire("ac3", ground.home("bc", 1))
    return findings_of(examine_entries(ground.address("ac1", "ac2", "ac3")))


def swapped_brokers(ground: Ground) -> list[Finding]:
    """The addresses of brokers 1 and 3 are exchanged in /etc/hosts."""
    ground.board.swap("ac1", "ac3")
    return findings_of(examine_entries(ground.address("ac2")))


def external_records(ground: Ground) -> list[Finding]:
    """Inside all is well; outside the record of broker 1 points at the host of broker 2."""
    ground.board.rewire("ae1", ground.home("ae", 2))
    return findings_of(examine_entries(ground.address("ac1"), ground.address("ae3")))


def recycled_pod_ip(ground: Ground) -> list[Finding]:
    """After a roll the IP address of broker 2 belongs to broker 3: a comparison with the run before the roll."""
    before = examine_entries(ground.address("ac1"))
    ground.board.rewire("ac2", ground.home("ac", 3))
    return findings_of(examine_entries(ground.address("ac1")), before)


def one_load_balancer(ground: Ground) -> list[Finding]:
    """One load balancer is in front of all brokers, so the connections for each of them reach all of them."""
    homes = [ground.home("ac", node_id) for node_id in NODES]
    for index, node_id in enumerate(NODES):
        ground.board.rewire(f"ac{node_id}", *homes[index:], *homes[:index])
    return findings_of(examine_entries(ground.address("p1")))


def one_port_map(ground: Ground) -> list[Finding]:
    """The port map sends every port to broker 1."""
    home = ground.home("ac", 1)
    ground.board.rewire("ac2", home)
    ground.board.rewire("ac3", home)
    return findings_of(examine_entries(ground.address("ac1")))


def leaking_proxy(ground: Ground) -> list[Finding]:
    """A proxy replaces addresses in Metadata, not in the node endpoints of Fetch (KIP-951)."""
    _proxy(ground, WireRewrite(addresses={node_id: ground.target(f"p{node_id}") for node_id in NODES}))
    return findings_of(examine_entries(ground.address("p1")))


def unreachable_brokers(ground: Ground) -> list[Finding]:
    """The forwarded port of the bootstrap server works; the advertised ports are reachable elsewhere only."""
    for node_id in NODES:
        ground.board.refuse_connections(f"ac{node_id}")
    return findings_of(examine_entries(ground.address("p1")))


def internal_names(ground: Ground) -> list[Finding]:
    """The brokers advertise names that only their own network resolves."""
    _proxy(ground, WireRewrite(addresses={node_id: (f"kafka-{node_id}.invalid", 9092) for node_id in NODES}))
    return findings_of(examine_entries(ground.address("p1")))


def invalid_and_duplicate(ground: Ground) -> list[Finding]:
    """Broker 1 advertises 0.0.0.0; brokers 2 and 3 come from one template and advertise one address."""
    shared = ground.target("p2")
    addresses = {1: ("0.0.0.0", ground.target("p1")[1]), 2: shared, 3: shared}
    _proxy(ground, WireRewrite(addresses=addresses, apis=EVERY_ADDRESS_API))
    return findings_of(examine_entries(ground.address("p1")))


def moved_cluster(ground: Ground) -> list[Finding]:
    """The brokers were restarted one by one on new hosts; a client still has an old bootstrap server."""
    with SwitchboardThread() as board, LinedCluster(board, "old") as cluster:
        host, port = board.line("oldc1").address
        before = examine_entries(f"{host}:{port}")
        cluster.move("new")
        new_host, new_port = board.line("newc1").address
        return findings_of(examine_entries(f"{host}:{port},{new_host}:{new_port}"), before)


def missing_listener(ground: Ground) -> list[Finding]:
    """Broker 3 was not yet restarted with the new listener."""
    with SwitchboardThread() as board, LinedCluster(board, "s", without_external=[3]):
        host, port = board.line("sc1").address
        external_host, external_port = board.line("se1").address
        return findings_of(examine_entries(f"{host}:{port}", f"{external_host}:{external_port}"))


def rewritten_identity(ground: Ground) -> list[Finding]:
    """A proxy in front of several clusters replaces node ids in Metadata and passes ApiVersions on as it is."""
    addresses = {node_id: ground.target(f"p{node_id}") for node_id in NODES}
    _proxy(ground, WireRewrite(addresses=addresses, node_ids={node_id: 100 + node_id for node_id in NODES}))
    return findings_of(examine_entries(ground.address("p1")))


def capped_versions(ground: Ground) -> list[Finding]:
    """A proxy in front of broker 1 hides ApiVersions 5."""
    ground.board.rewrite("ac1", WireRewrite(api_versions_max=4))
    return findings_of(examine_entries(ground.address("ac2")))


def changing_route(ground: Ground) -> list[Finding]:
    """While the doctor runs, the address of broker 2 begins to lead to broker 3."""
    ground.board.rewire_after("ac2", 3, ground.home("ac", 3))
    return findings_of(examine_entries(ground.address("ac1")))


def healthy(ground: Ground) -> list[Finding]:
    """Two listeners, every address right."""
    return findings_of(examine_entries(ground.address("ac1", "ac2", "ac3"), ground.address("ae1")))


def healthy_behind_load_balancer(ground: Ground) -> list[Finding]:
    """A load balancer is where it may be: in front of the bootstrap server."""
    ground.board.rewire("p1", *(ground.home("ac", node_id) for node_id in NODES))
    return findings_of(examine_entries(ground.address("p1")))


def _proxy(ground: Ground, rewrite: WireRewrite) -> None:
    for node_id in NODES:
        ground.board.rewrite(f"p{node_id}", rewrite)


STORIES = (
    Story("1 reused IP of a bootstrap server", ("SEVERAL_CLUSTERS",), reused_ip),
    Story("2 broker moved to another cluster", ("WRONG_CLUSTER",), moved_broker),
    Story("3 moved broker among bootstrap servers", ("SEVERAL_CLUSTERS", "WRONG_CLUSTER"), rehomed_bootstrap_server),
    Story("4 addresses of two brokers swapped", ("CROSSED",), swapped_brokers),
    Story("5 external records point to wrong hosts", ("WRONG_NODE",), external_records),
    Story("6 recycled pod IP", ("ROUTE_CHANGED", "WRONG_NODE"), recycled_pod_ip),
    Story("7 one load balancer for all brokers", ("BALANCED",), one_load_balancer),
    Story("7 one port map for all brokers", ("ALL_LEAD_TO_ONE",), one_port_map),
    Story("8 proxy leaks node endpoints", ("ADDRESSES_REWRITTEN", "LEAKED_ADDRESS"), leaking_proxy),
    Story("9 bootstrap works, brokers do not", ("BROKERS_UNREACHABLE", "CONNECTION_REFUSED"), unreachable_brokers),
    Story("9 names of another network", ("BROKERS_UNREACHABLE", "UNRESOLVED"), internal_names),
    Story(
        "10 invalid and duplicate addresses",
        ("ADDRESSES_REWRITTEN", "DUPLICATE_ADDRESS", "INVALID_ADDRESS"),
        invalid_and_duplicate,
    ),
    Story("11 all brokers at new addresses", ("ADDRESS_CHANGED", "CONNECTION_REFUSED"), moved_cluster),
    Story("12 broker without the listener", ("LISTENER_MISSING",), missing_listener),
    Story("proxy rewrites node ids", ("IDENTITY_REWRITTEN",), rewritten_identity),
    Story("proxy hides ApiVersions 5", ("VERSIONS_CAPPED",), capped_versions),
    Story("another node after some connections", ("ROUTE_CHANGED",), changing_route),
    Story("healthy: two listeners", (), healthy),
    Story("healthy: load balancer before bootstrap", ("LOAD_BALANCER",), healthy_behind_load_balancer),
)
