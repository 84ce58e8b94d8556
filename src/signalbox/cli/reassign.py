"""`signalbox reassign`: moves partitions to other brokers, cancels moves, and lists current moves (KIP-455)."""

from __future__ import annotations

from typing import Annotated

import typer

from signalbox.cli.connect import ask_with, fail, report, say, show
from signalbox.cli.shell.listing import Listing
from signalbox.cli.shell.shared_options import shared
from signalbox.client.admin_apis.partition_admin import PartitionAdmin
from signalbox.common.ids import TopicPartition

app = typer.Typer(help="Partition reassignments: start, cancel, list.", no_args_is_help=True)


@app.command("start")
def start(
    topic: str,
    partition: int,
    brokers: Annotated[str, typer.Argument(help="Broker ids, the preferred leader first: 3,1,2")],
    keep_factor: Annotated[bool, typer.Option(help="Reject a change of the replication factor.")] = False,
) -> None:
    """Start a reassignment of PARTITION of TOPIC to BROKERS. `list` shows ongoing reassignments."""
    try:
        replicas = [int(broker_id) for broker_id in brokers.split(",")]
    except ValueError:
        fail(f"BROKERS takes ids with commas between them, not {brokers!r}", code=2)
    target = {TopicPartition(topic, partition): replicas}
    results = ask_with(
        PartitionAdmin, lambda admin: admin.reassign_partitions(target, allow_replication_factor_change=not keep_factor)
    )
    report(results, f"reassignment to {replicas} started")


@app.command("cancel")
def cancel(topic: str, partition: int) -> None:
    """Cancel the reassignment of PARTITION of TOPIC."""
    report(
        ask_with(PartitionAdmin, lambda admin: admin.reassign_partitions({TopicPartition(topic, partition): None})),
        "reassignment cancelled",
    )


@app.command("list")
def list_moves() -> None:
    """List ongoing reassignments with adding and removing replicas."""
    moves = ask_with(PartitionAdmin, lambda admin: admin.list_reassignments())
    if not moves and not shared().as_json:
        say("no partition reassignments in progress")
        return
    table = Listing("partition", "replicas", "adding", "removing")
    for partition, move in sorted(moves.items()):
        table.add(str(partition), move.replicas, move.adding, move.removing)
    show(table)
