"""`signalbox cluster`: id, brokers with their addresses on the bootstrap listener, controller, and health."""

from __future__ import annotations

import typer

from signalbox.cli.admin.cluster_health import ClusterHealth, HealthAdmin, read_health
from signalbox.cli.connect import ask_with, say, show, tell
from signalbox.cli.shell.listing import Listing
from signalbox.cli.shell.shared_options import shared
from signalbox.client.admin_apis.cluster_admin import ClusterAdmin

app = typer.Typer(help="The cluster: id, brokers, controller, health.", no_args_is_help=True)


@app.command("describe", epilog="Example: signalbox cluster describe --json")
def describe() -> None:
    """Describe cluster id, controller, brokers, and partitions that are under-replicated or offline.

    The controller is the node that decides changes. Apache Kafka does not name it to clients: any broker forwards.
    """
    health = ask_with(HealthAdmin, read_health)
    brokers, troubled = _brokers(health), _troubled(health)
    if shared().as_json:
        facts = {"cluster_id": health.cluster_id, "controller": health.controller_id, "health": health.state}
        tell({**facts, "brokers": brokers, "partitions": health.partitions, "troubled_partitions": troubled}, "")
        return
    show(brokers)
    controller = "not named (any broker forwards)" if health.controller_id is None else health.controller_id
    say(
        f"{health.state}: {health.partitions} partitions, {len(health.under_replicated)} under-replicated,"
        f" {len(health.offline)} offline; controller {controller}"
    )
    if troubled.rows:
        show(troubled)


def _brokers(health: ClusterHealth) -> Listing:
    listing = Listing(
        "broker", "address", "rack", "leaders", "replicas", "not in sync", "state", title=f"cluster {health.cluster_id}"
    )
    for broker in health.brokers:
        listing.add(
            broker.node_id,
            broker.address,
            broker.rack,
            broker.leaders,
            broker.replicas,
            broker.not_in_sync,
            "up" if broker.is_up else "down",
        )
    return listing


def _troubled(health: ClusterHealth) -> Listing:
    listing = Listing("topic", "partition", "leader", "replicas", "in sync", "state")
    for partition in sorted({*health.under_replicated, *health.offline}):
        view = health.views[partition]
        state = "offline" if partition in health.offline else "under-replicated"
        leader = view.leader_id if view.leader_id >= 0 else None
        listing.add(partition.topic, partition.partition, leader, view.replica_nodes, view.isr_nodes, state)
    return listing


@app.command("id")
def cluster_id() -> None:
    """Print the cluster id."""
    described = ask_with(ClusterAdmin, lambda admin: admin.describe_cluster())
    tell({"cluster_id": described.cluster_id}, described.cluster_id or "")
