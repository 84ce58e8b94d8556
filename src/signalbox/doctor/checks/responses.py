"""Responses compared with each other: Metadata of all nodes, DescribeCluster, FindCoordinator, Fetch, own configs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from signalbox.doctor.checks.about import about
from signalbox.doctor.finding import Finding
from signalbox.doctor.observations import AddressObservation, EndpointObservation, ListenerObservation

_DYNAMIC_PORT = ":0"
_MAX_REASONS = 5


def check_metadata(listener: ListenerObservation) -> Iterator[Finding]:
    """Other addresses for the same nodes. A node that is missing is no finding: it may have been restarted."""
    view = listener.view.brokers
    for row in listener.addresses:
        if listener.view.cluster_id not in {connection.cluster_id for connection in row.usable}:
            continue
        differing = [
            f"node {node_id} at {address} instead of {view[node_id]}"
            for node_id, address in row.brokers.items()
            if node_id in view and view[node_id] != address
        ]
        if differing:
            text = f"the Metadata of the node at {row.address} has {'; '.join(differing[:5])}"
            yield about("METADATA_DIFFERS", listener, row, text)


def check_endpoints(listener: ListenerObservation) -> Iterator[Finding]:
    """Other addresses than Metadata has: one finding per API and node. A node that Metadata lacks is no finding
    here: it may have been restarted in between, or may be one of those beyond the limit."""
    view = listener.view.brokers
    leaks: dict[tuple[str, int], set[str]] = defaultdict(set)
    for row in listener.view.endpoints:
        if view.get(str(row.node_id), row.address) != row.address:
            leaks[row.source, row.node_id].add(row.address)
    for (source, node_id), addresses in sorted(leaks.items()):
        address = next((row for row in listener.advertised if row.node_id == node_id), None)
        text = f"{source} has node {node_id} at {', '.join(sorted(addresses))}, Metadata has {view[str(node_id)]}"
        yield about("LEAKED_ADDRESS", listener, address, text)


def check_coordinators(listener: ListenerObservation) -> Iterator[Finding]:
    """Coordinators that no client can reach, since Metadata lacks them; named groups and transactional ids that have
    none."""
    absent: dict[int, EndpointObservation] = {}
    for row in listener.view.endpoints:
        if row.absent and (row.node_id not in absent or row.key):
            absent[row.node_id] = row
        if row.error and row.key:
            text = f"node {row.asked} names no coordinator of {row.key}: {row.error}"
            yield about("NO_COORDINATOR", listener, None, text)
    for node_id, row in sorted(absent.items()):
        of = f" of {row.key}" if row.key else ""
        text = f"node {row.asked} names node {node_id} at {row.address} as coordinator{of}, and Metadata lacks it"
        yield about("COORDINATOR_UNKNOWN", listener, None, text)


def check_completeness(listener: ListenerObservation) -> Iterator[Finding]:
    """Checks that could not be made although the peer has what they compare."""
    reasons = listener.view.unknown
    if reasons:
        more = f"; and {len(reasons) - _MAX_REASONS} more" if len(reasons) > _MAX_REASONS else ""
        yield about("NOT_CHECKED", listener, None, f"not checked: {'; '.join(reasons[:_MAX_REASONS])}{more}")


def check_own_configs(listener: ListenerObservation) -> Iterator[Finding]:
    """The right node, at an address that its own advertised.listeners does not have: a proxy rewrites addresses."""
    for row in listener.advertised:
        own = next((connection.advertised for connection in row.usable if connection.node_id == row.node_id), "")
        addresses = _addresses(own)
        if addresses and row.address.lower() not in addresses:
            text = f"node {row.node_id} itself has advertised.listeners={own}"
            yield about("ADDRESSES_REWRITTEN", listener, row, text)


def _addresses(advertised_listeners: str) -> set[str]:
    """The addresses in `NAME://host:port,...`; none if one of them is not complete (no host, port 0)."""
    entries = [entry.strip().lower().partition("://")[2] for entry in advertised_listeners.split(",") if entry.strip()]
    if any(entry.startswith(":") or entry.endswith(_DYNAMIC_PORT) or not entry for entry in entries):
        return set()
    return set(entries)


def answers_for(row: AddressObservation) -> bool:
    """Whether the node of this address itself responds there."""
    return row.node_id >= 0 and row.node_id in row.answering
