"""`signalbox reassign`: moves partitions to other brokers, cancels moves, and lists current moves (KIP-455)."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from signalbox.cli.connect import DEFAULT_BOOTSTRAP, Bootstrap, ask, fail, report, say, show
from signalbox.common.ids import TopicPartition

app = typer.Typer(help="Replicas: move them, take a move back, list what moves.", no_args_is_help=True)


@app.command("start")
def start(
    topic: str,
    partition: int,
    brokers: Annotated[str, typer.Argument(help="Ids, the preferred leader first: 3,1,2")],
    keep_factor: Annotated[bool, typer.Option(help="Reject another number of replicas.")] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """Begin to move PARTITION of TOPIC to BROKERS. `list` shows whether it is complete."""
    try:
        replicas = [int(each) for each in brokers.split(",")]
    except ValueError:
        fail(f"BROKERS takes ids with commas between them, not {brokers!r}", code=2)
    wanted = {TopicPartition(topic, partition): replicas}
    outcomes = ask(
        bootstrap, lambda admin: admin.reassign_partitions(wanted, allow_replication_factor_change=not keep_factor)
    )
    report(outcomes, f"moves to {','.join(map(str, replicas))}")


@app.command("cancel")
def cancel(topic: str, partition: int, bootstrap: Bootstrap = DEFAULT_BOOTSTRAP) -> None:
    """Cancel the move of PARTITION of TOPIC."""
    report(
        ask(bootstrap, lambda admin: admin.reassign_partitions({TopicPartition(topic, partition): None})), "moves back"
    )


@app.command("list")
def list_moves(bootstrap: Bootstrap = DEFAULT_BOOTSTRAP) -> None:
    """The current moves: from where to where."""
    moves = ask(bootstrap, lambda admin: admin.list_reassignments())
    if not moves:
        say("nothing moves")
        return
    table = Table("partition", "replicas", "adding", "removing")
    for partition, move in sorted(moves.items()):
        table.add_row(
            str(partition), *(",".join(map(str, each)) for each in (move.replicas, move.adding, move.removing))
        )
    show(table)
