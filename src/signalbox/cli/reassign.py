"""`signalbox reassign`: moves partitions to other brokers, cancels moves, and lists current moves (KIP-455)."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from signalbox.cli.connect import DEFAULT_BOOTSTRAP, Bootstrap, ask, fail, report, say, show
from signalbox.common.ids import TopicPartition

app = typer.Typer(help="Partition reassignments: start, cancel, list.", no_args_is_help=True)


@app.command("start")
def start(
    topic: str,
    partition: int,
    brokers: Annotated[str, typer.Argument(help="Broker ids, the preferred leader first: 3,1,2")],
    keep_factor: Annotated[bool, typer.Option(help="Reject a change of the replication factor.")] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """Start a reassignment of PARTITION of TOPIC to BROKERS. `list` shows ongoing reassignments."""
    try:
        replicas = [int(broker_id) for broker_id in brokers.split(",")]
    except ValueError:
        fail(f"BROKERS takes ids with commas between them, not {brokers!r}", code=2)
    target = {TopicPartition(topic, partition): replicas}
    results = ask(
        bootstrap, lambda admin: admin.reassign_partitions(target, allow_replication_factor_change=not keep_factor)
    )
    report(results, f"moves to {','.join(map(str, replicas))}")


@app.command("cancel")
def cancel(topic: str, partition: int, bootstrap: Bootstrap = DEFAULT_BOOTSTRAP) -> None:
    """Cancel the reassignment of PARTITION of TOPIC."""
    report(
        ask(bootstrap, lambda admin: admin.reassign_partitions({TopicPartition(topic, partition): None})), "moves back"
    )


@app.command("list")
def list_moves(bootstrap: Bootstrap = DEFAULT_BOOTSTRAP) -> None:
    """List ongoing reassignments with adding and removing replicas."""
    moves = ask(bootstrap, lambda admin: admin.list_reassignments())
    if not moves:
        say("no partition reassignments in progress")
        return
    table = Table("partition", "replicas", "adding", "removing")
    for partition, move in sorted(moves.items()):
        table.add_row(
            str(partition), *(",".join(map(str, replicas)) for replicas in (move.replicas, move.adding, move.removing))
        )
    show(table)
