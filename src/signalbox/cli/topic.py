"""`signalbox topic`: list, create, describe, delete, add partitions, elect. Any broker accepts the request and forwards
it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from signalbox.cli.connect import ask, ask_with, fail, pairs, report, say, show, tell
from signalbox.cli.shell.listing import Listing
from signalbox.cli.shell.shared_options import shared
from signalbox.client.admin_apis.topic_admin import NewTopic, TopicAdmin
from signalbox.common.audit_event import AUDIT_TOPIC
from signalbox.common.ids import TopicPartition
from signalbox.protocol.error_table import Error

if TYPE_CHECKING:
    from signalbox.client.admin import AdminClient
    from signalbox.client.admin_apis.admin_call import AdminResult
    from signalbox.client.cluster.metadata_view import TopicView

app = typer.Typer(help="Topics: list, create, describe, delete, add partitions, elect.", no_args_is_help=True)


@app.command("list", epilog="Example: signalbox topic list --json")
def list_topics(
    internal: Annotated[bool, typer.Option(help="Include internal topics and the audit trail.")] = False,
) -> None:
    """List topic names."""
    names = ask_with(TopicAdmin, lambda admin: admin.list_topics(internal=internal))
    shown = [name for name in names if internal or name != AUDIT_TOPIC]
    if shared().as_json:
        listing = Listing("name")
        for name in shown:
            listing.add(name)
        show(listing)
        return
    for name in shown:
        say(name)


@app.command("create", epilog="Example: signalbox topic create flights --partitions 6 --config retention.ms=3600000")
def create(
    name: str,
    partitions: Annotated[int, typer.Option(help="-1: the broker's default.")] = -1,
    replication_factor: Annotated[int, typer.Option(help="-1: the broker's default.")] = -1,
    config: Annotated[list[str] | None, typer.Option(help="key=value; can be repeated.")] = None,
    validate_only: Annotated[bool, typer.Option(help="Validate the request without creating the topic.")] = False,
) -> None:
    """Create a topic."""
    topic = NewTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=replication_factor,
        configs=pairs(config, "--config"),
    )
    results = ask_with(TopicAdmin, lambda admin: admin.create_topics([topic], validate_only=validate_only))
    report(results, "would be created" if validate_only else "created")


@app.command("delete")
def delete(names: list[str]) -> None:
    """Delete topics and all their records."""
    results = ask_with(TopicAdmin, lambda admin: admin.delete_topics(names))
    for name, result in results.items():
        if result.error is Error.UNKNOWN_TOPIC_OR_PARTITION:
            results[name] = replace(result, message=f"The topic '{name}' does not exist.")
    report(results, "deleted")


@app.command("partitions")
def partitions(name: str, count: int) -> None:
    """Increase the number of partitions of a topic to COUNT."""
    report(ask_with(TopicAdmin, lambda admin: admin.create_partitions({name: count})), f"has {count} partitions")


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
) -> None:
    """Elect the preferred replicas of a topic's partitions as leaders; with --unclean, elect the live replica with the
    longest log for partitions without a leader."""

    async def elect(admin: AdminClient) -> dict[str, AdminResult]:
        numbers = partition or [*(await admin.describe_topics([name]))[name].partitions] or [0]
        results = await admin.elect_leaders(
            [TopicPartition(name, partition_number) for partition_number in numbers], unclean=unclean
        )
        return {key: result for key, result in results.items() if result.error is not Error.ELECTION_NOT_NEEDED}

    elected = ask(elect)
    if elected or shared().as_json:
        report(elected, "has a new leader")
    else:
        say(f"{name}: no election is needed")


@app.command("describe", epilog="Example: signalbox topic describe flights --json")
def describe(name: str) -> None:
    """Describe leader, replicas and in-sync replicas of each partition, with the reason if a partition is offline."""

    async def describe_topic(admin: TopicAdmin) -> tuple[TopicView | None, dict[int, str]]:
        topic = (await admin.describe_topics([name])).get(name)
        leaderless = topic is not None and any(partition.leader_id < 0 for partition in topic.partitions.values())
        return topic, await admin.offline_reasons(name) if leaderless else {}

    topic, reasons = ask_with(TopicAdmin, describe_topic)
    if topic is None or (topic.error_code in (Error.NONE, Error.UNKNOWN_TOPIC_OR_PARTITION) and not topic.partitions):
        fail(f"topic {name} does not exist")
    if topic.error_code:
        fail(f"{name}: {Error.of(topic.error_code).message}")
    if shared().as_json:
        tell(_document(topic, reasons), "")
        return
    listing = Listing("partition", "leader", "leader epoch", "replicas", "in sync", title=name)
    for index, partition in sorted(topic.partitions.items()):
        listing.add(index, partition.leader_id, partition.leader_epoch, partition.replica_nodes, partition.isr_nodes)
    show(listing)
    for index, reason in sorted(reasons.items()):
        say(f"partition {index} is offline: {reason}")


def _document(topic: TopicView, reasons: dict[int, str]) -> dict[str, object]:
    listing = Listing("partition", "leader", "leader epoch", "replicas", "in sync", "offline reason")
    for index, partition in sorted(topic.partitions.items()):
        listing.add(
            index,
            partition.leader_id,
            partition.leader_epoch,
            partition.replica_nodes,
            partition.isr_nodes,
            reasons.get(index),
        )
    return {"name": topic.name, "internal": topic.is_internal, "partitions": listing}
