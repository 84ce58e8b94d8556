"""Whole clusters: their ids, the nodes that lack a listener, Metadata that cannot be right."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from signalbox.doctor.checks.about import about
from signalbox.doctor.checks.responses import answers_for
from signalbox.doctor.finding import Finding, codes
from signalbox.doctor.observations import Examination, ListenerObservation

# The ids in Apache Kafka's container image, in its example files, and in Confluent's example files.
SAMPLE_IDS = ("5L6g3nShT-eMCtK--X86sw", "4L6g3nShT-eMCtK--X86sw", "MkU3OEVBNTcwNTJENTM2Qk")


def check_cluster_ids(examination: Examination) -> Iterator[Finding]:
    """The clusters of all bootstrap servers of all entries."""
    servers: dict[str, list[str]] = defaultdict(list)
    for listener in examination.listeners:
        for row in listener.seeds:
            for cluster_id in dict.fromkeys(connection.cluster_id for connection in row.usable):
                if cluster_id and row.address not in servers[cluster_id]:
                    servers[cluster_id].append(row.address)
    if len(servers) > 1:
        text = "; ".join(f"{', '.join(addresses)}: cluster {cluster_id}" for cluster_id, addresses in servers.items())
        key = codes()["SEVERAL_CLUSTERS"].key
        yield Finding(code="SEVERAL_CLUSTERS", text=text, key=key)
    for cluster_id in servers:
        if cluster_id in SAMPLE_IDS:
            yield Finding(code="SAMPLE_CLUSTER_ID", text=f"cluster {cluster_id}")


def check_missing_listeners(examination: Examination) -> Iterator[Finding]:
    """Nodes that respond on one listener and are not in the Metadata of another one of the same cluster."""
    alive = {
        (listener.view.cluster_id, row.node_id)
        for listener in examination.listeners
        for row in listener.advertised
        if answers_for(row)
    }
    for listener in examination.listeners:
        view = listener.view
        missing = sorted(
            node_id
            for cluster_id, node_id in alive
            if cluster_id == view.cluster_id and str(node_id) not in view.brokers and view.brokers
        )
        for node_id in missing:
            text = f"node {node_id} is not in the Metadata of {listener.bootstrap}, but responds on another listener"
            yield about("LISTENER_MISSING", listener, None, text)
        if view.without_listener and not missing:
            partitions = ", ".join(view.without_listener[:5])
            text = f"the leaders of {partitions} do not have this listener (LISTENER_NOT_FOUND)"
            yield about("LISTENER_MISSING", listener, None, text)


def check_metadata_contents(listener: ListenerObservation) -> Iterator[Finding]:
    """Metadata without an id, without nodes, with too many."""
    usable = [row for row in listener.seeds if row.usable]
    if not usable:
        return
    view = listener.view
    if view.advertised_count > len(view.brokers):
        text = f"Metadata has {view.advertised_count} nodes, {len(view.brokers)} were examined"
        yield about("TOO_MANY_BROKERS", listener, None, text)
    if not view.brokers:
        has_metadata = bool(view.cluster_id)
        code = "NO_BROKERS" if has_metadata else "NO_METADATA"
        yield about(code, listener, None, f"{usable[0].address} responds, but its Metadata names no node")
    elif not view.cluster_id:
        yield about("NO_CLUSTER_ID", listener, None, f"{usable[0].address} does not return a cluster id")
