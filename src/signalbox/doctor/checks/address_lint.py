"""Addresses that are wrong as they are, whatever responds there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from ipaddress import ip_network

from signalbox.doctor.checks.about import about, ids, ip_of
from signalbox.doctor.finding import Finding
from signalbox.doctor.observations import AddressObservation, ListenerObservation

_INNER_SUFFIXES = (".svc", ".svc.cluster.local", ".internal")
# Defaults of kubeadm and flannel, k3s, OpenShift, Docker, Podman.
_CONTAINER_NETWORKS = tuple(
    map(ip_network, ("10.244.0.0/16", "10.42.0.0/16", "10.128.0.0/14", "172.17.0.0/16", "10.88.0.0/16"))
)


def check_destinations(listener: ListenerObservation) -> Iterator[Finding]:
    """Unspecified, link-local, multicast and reserved addresses; invalid ports."""
    for row in listener.advertised:
        if not 0 < row.port < 65_536:
            yield about("INVALID_ADDRESS", listener, row, f"node {row.node_id} advertises port {row.port}")
            continue
        ip = next((ip for ip in _ips(row) if _no_destination(ip)), "")
        if ip:
            at = f" ({ip})" if ip != row.host else ""
            text = f"node {row.node_id} advertises {row.address}{at}, which cannot be a destination"
            yield about("INVALID_ADDRESS", listener, row, text)


def check_loopback(listener: ListenerObservation) -> Iterator[Finding]:
    """A loopback address is in order only if the client itself came by loopback."""
    seeds = [connection.ip for seed in listener.seeds for connection in seed.usable]
    if not seeds or all(_is_loopback(ip) for ip in seeds):
        return
    for row in listener.advertised:
        ips = _ips(row)
        if ips and all(_is_loopback(ip) for ip in ips):
            text = f"node {row.node_id} advertises {row.address}: each client connects to its own host"
            yield about("LOOPBACK_ADDRESS", listener, row, text)


def check_networks(listener: ListenerObservation) -> Iterator[Finding]:
    """Private beside public addresses on one listener."""
    private = [row for row in listener.advertised if _any(row, "is_private")]
    public = [row for row in listener.advertised if _any(row, "is_global") and not _any(row, "is_private")]
    if not public:
        return
    for row in private:
        others = ids([other.node_id for other in public])
        text = f"node {row.node_id} advertises a private address, and public ones are advertised by {others}"
        yield about("PRIVATE_BESIDE_PUBLIC", listener, row, text)


def check_duplicates(listener: ListenerObservation) -> Iterator[Finding]:
    """One address of several nodes."""
    nodes: dict[str, list[int]] = defaultdict(list)
    for node_id, address in listener.view.brokers.items():
        nodes[address.lower()].append(int(node_id))
    for row in listener.advertised:
        sharing = sorted(nodes.get(row.address.lower(), []))
        if len(sharing) > 1 and sharing[0] == row.node_id:
            yield about("DUPLICATE_ADDRESS", listener, row, f"nodes {ids(sharing)} advertise {row.address}")


def check_names_of_networks(listener: ListenerObservation) -> Iterator[Finding]:
    """Names of a cluster's or a provider's own network, for clients that came by a name or an address of another one:
    they may resolve here and nowhere else."""
    seeds = [row for row in listener.seeds if row.usable]
    if not seeds or any(_is_inside(row) for row in seeds):
        return
    for row in listener.advertised:
        if ip_of(row.host) is None and _is_name_of_network(row.host):
            text = f"node {row.node_id} advertises {row.address}, a name of an inner network"
            yield about("INTERNAL_NAME", listener, row, text)


def check_container_addresses(listener: ListenerObservation) -> Iterator[Finding]:
    """IP addresses that containers get from their runtime: the next container gets them."""
    for row in listener.advertised:
        ip = ip_of(row.host)
        network = next((network for network in _CONTAINER_NETWORKS if ip is not None and ip in network), None)
        if network is not None:
            text = f"node {row.node_id} advertises {row.address}, of a range of containers ({network})"
            yield about("CONTAINER_ADDRESS", listener, row, text)


def _is_inside(row: AddressObservation) -> bool:
    """Whether clients of this address are in the inner network themselves, as far as one can tell."""
    if ip_of(row.host) is not None:
        return not _any(row, "is_global")
    return _is_name_of_network(row.host)


def _is_name_of_network(host: str) -> bool:
    name = host.lower().removesuffix(".")
    return "." not in name or name.endswith(_INNER_SUFFIXES)


def _ips(row: AddressObservation) -> tuple[str, ...]:
    return row.ips or (row.host,)


def _no_destination(text: str) -> bool:
    ip = ip_of(text)
    return ip is not None and (
        ip.is_unspecified or ip.is_link_local or ip.is_multicast or (ip.is_reserved and not ip.is_loopback)
    )


def _is_loopback(text: str) -> bool:
    ip = ip_of(text)
    return ip is not None and ip.is_loopback


def _any(row: AddressObservation, quality: str) -> bool:
    ips = [ip for ip in map(ip_of, _ips(row)) if ip is not None]
    return any(getattr(ip, quality) and not (ip.is_loopback or ip.is_unspecified or ip.is_link_local) for ip in ips)
