"""`signalbox topic`: list, create, describe, delete, add partitions, elect. Any broker accepts the request and forwards
it."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from signalbox.cli.connect import DEFAULT_BOOTSTRAP, Bootstrap, ask, fail, pairs, report, say, show
from signalbox.client.admin import AdminClient
from signalbox.client.admin_apis.admin_call import AdminResult
from signalbox.client.admin_apis.topic_admin import NewTopic
from signalbox.client.cluster.metadata_view import TopicView
from signalbox.common.ids import TopicPartition
from signalbox.protocol.error_table import Error

app = typer.Typer(help="Topics: list, create, describe, delete, add partitions, elect.", no_args_is_help=True)


@app.command("list")
def list_topics(
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    internal: Annotated[bool, typer.Option(help="Include internal topics.")] = False,
) -> None:
    """List topic names."""
    for name in ask(bootstrap, lambda admin: admin.list_topics(internal=internal)):
        say(name)


@app.command("create")
def create(
    name: str,
    partitions: Annotated[int, typer.Option(help="-1: the broker's default.")] = -1,
    replication_factor: Annotated[int, typer.Option(help="-1: the broker's default.")] = -1,
    config: Annotated[list[str] | None, typer.Option(help="key=value; can be repeated.")] = None,
    validate_only: Annotated[bool, typer.Option(help="Validate the request without creating the topic.")] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """Create a topic."""
    topic = NewTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=replication_factor,
        configs=pairs(config, "--config"),
    )
    results = ask(bootstrap, lambda admin: admin.create_topics([topic], validate_only=validate_only))
    report(results, "would be created" if validate_only else "created")


@app.command("delete")
def delete(names: list[str], bootstrap: Bootstrap = DEFAULT_BOOTSTRAP) -> None:
    """Delete topics and all their records."""
    report(ask(bootstrap, lambda admin: admin.delete_topics(names)), "deleted")


@app.command("partitions")
def partitions(name: str, count: int, bootstrap: Bootstrap = DEFAULT_BOOTSTRAP) -> None:
    """Increase the number of partitions of a topic to COUNT."""
    report(ask(bootstrap, lambda admin: admin.create_partitions({name: count})), f"has {count} partitions")


@app.command("elect")
@app.command("elect-leaders", hidden=True)
def elect_leaders(
    name: str,
    partition: Annotated[
        list[int] | None, typer.Option(help="Partition number; can be repeated (default: all).")
    ] = None,
    unclean: Annotated[
        bool, typer.Option(help="Unclean election: a replica outside the ISR may become leader; records can be lost.")
    ] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """Elect the preferred replicas of a topic's partitions as leaders; with --unclean, elect the live replica with the
    longest log for partitions without a leader."""

    async def elect(admin: AdminClient) -> dict[str, AdminResult]:
        numbers = partition or [*(await admin.describe_topics([name]))[name].partitions] or [0]
        results = await admin.elect_leaders(
            [TopicPartition(name, partition_number) for partition_number in numbers], unclean=unclean
        )
        return {key: result for key, result in results.items() if result.error is not Error.ELECTION_NOT_NEEDED}

    elected = ask(bootstrap, elect)
    report(elected, "has a new leader")
    if not elected:
        say(f"{name}: no election is needed")


@app.command("describe")
def describe(name: str, bootstrap: Bootstrap = DEFAULT_BOOTSTRAP) -> None:
    """Describe leader, replicas and in-sync replicas of each partition, with the reason if a partition is offline."""

    async def describe_topic(admin: AdminClient) -> tuple[TopicView | None, dict[int, str]]:
        topic = (await admin.describe_topics([name])).get(name)
        leaderless = topic is not None and any(partition.leader_id < 0 for partition in topic.partitions.values())
        return topic, await admin.offline_reasons(name) if leaderless else {}

    topic, reasons = ask(bootstrap, describe_topic)
    if topic is None or topic.error_code:
        error = Error.of(topic.error_code) if topic else Error.UNKNOWN_TOPIC_OR_PARTITION
        fail(f"{name}: {error.message}")
        return
    table = Table("partition", "leader", "leader epoch", "replicas", "in sync", title=name)
    for index, partition in sorted(topic.partitions.items()):
        table.add_row(
            str(index),
            str(partition.leader_id),
            str(partition.leader_epoch),
            ",".join(map(str, partition.replica_nodes)),
            ",".join(map(str, partition.isr_nodes)),
        )
    show(table)
    for index, reason in sorted(reasons.items()):
        say(f"partition {index} is offline: {reason}")
