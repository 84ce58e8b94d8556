"""What the client properties themselves say: a client that would not notice a wrong route, or that is bound to another
cluster. Routes can be right while the next mistake in them would not be noticed, so those are notices.
"""

from __future__ import annotations

from collections.abc import Iterator

from signalbox.doctor.checks.about import about
from signalbox.doctor.finding import Finding
from signalbox.doctor.observations import ListenerObservation

_NO_RECOVERY = "none"


def check_pinned_cluster(listener: ListenerObservation) -> Iterator[Finding]:
    """One finding for each bootstrap server of another cluster than the pinned one."""
    pinned = listener.client.pinned_cluster_id
    if not pinned:
        return
    for row in listener.seeds:
        cluster_ids = dict.fromkeys(connection.cluster_id for connection in row.usable)
        for cluster_id in cluster_ids:
            if cluster_id and cluster_id != pinned:
                text = f"{row.address} belongs to cluster {cluster_id}, the client is pinned to cluster {pinned}"
                yield about("PINNED_OTHER_CLUSTER", listener, row, text)


def check_recovery(listener: ListenerObservation) -> Iterator[Finding]:
    """A client that keeps to the brokers of its last Metadata."""
    if listener.client.recovery_strategy == _NO_RECOVERY:
        text = "metadata.recovery.strategy=none: the client does not use its bootstrap servers again"
        yield about("RECOVERY_DISABLED", listener, None, text, "rebootstrap")


def check_identity(listener: ListenerObservation) -> Iterator[Finding]:
    """A client that sends no identity. One without recovery never does (KIP-1242): `check_recovery` says so."""
    client = listener.client
    if not client.cluster_check and client.recovery_strategy != _NO_RECOVERY:
        text = "metadata.cluster.check.enable=false: the client does not say which node it expects"
        yield about("CHECK_DISABLED", listener, None, text, "true")
