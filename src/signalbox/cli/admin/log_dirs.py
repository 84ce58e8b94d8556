"""`signalbox log-dirs`: the log directories of brokers, their space, and the sizes of replicas (KIP-113, KIP-827)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from signalbox.cli.connect import ask_with, show, tell
from signalbox.cli.shell.listing import Listing
from signalbox.cli.shell.shared_options import shared
from signalbox.client.admin_apis.log_dir_admin import LogDir, LogDirAdmin
from signalbox.client.admin_apis.topic_admin import TopicAdmin
from signalbox.common.ids import TopicPartition

Described = dict[int, dict[str, LogDir]]


class _Admin(LogDirAdmin, TopicAdmin):
    """The admin calls of this command."""


def log_dirs(
    broker: Annotated[list[int] | None, typer.Option(help="Broker id; can be repeated (default: all).")] = None,
    topic: Annotated[
        list[str] | None, typer.Option("--topic", "-t", help="Only these topics; can be repeated.")
    ] = None,
    replicas: Annotated[bool, typer.Option("--replicas", help="List every replica with its size.")] = False,
) -> None:
    """Describe log directories, with the number and size of their replicas.

    Example: signalbox log-dirs --broker 2 --topic flights
    """

    async def describe(admin: _Admin) -> Described:
        return await admin.describe_log_dirs(broker, await _partitions(admin, topic))

    described = ask_with(_Admin, describe)
    directories, logs = _directories(described), _replicas(described)
    if shared().as_json:
        tell({"log_dirs": directories, "replicas": logs}, "")
        return
    show(directories)
    if replicas or topic:
        show(logs)


async def _partitions(admin: _Admin, topics: list[str] | None) -> list[TopicPartition] | None:
    if not topics:
        return None
    views = await admin.describe_topics(topics)
    missing = [name for name in topics if not views[name].partitions]
    if missing:
        raise ValueError(f"topic {missing[0]} does not exist")
    return [TopicPartition(name, number) for name in topics for number in views[name].partitions]


def _each(described: Described) -> Iterator[tuple[int, LogDir]]:
    for broker_id, directories in sorted(described.items()):
        for _, directory in sorted(directories.items()):
            yield broker_id, directory


def _directories(described: Described) -> Listing:
    listing = Listing("broker", "directory", "replicas", "bytes", "total bytes", "usable bytes", "error")
    for broker_id, directory in _each(described):
        size = sum(replica.size_bytes for replica in directory.replicas.values())
        listing.add(
            broker_id,
            directory.path,
            len(directory.replicas),
            size,
            _known(directory.total_bytes),
            _known(directory.usable_bytes),
            directory.error.name if directory.error else None,
        )
    return listing


def _replicas(described: Described) -> Listing:
    listing = Listing("broker", "topic", "partition", "bytes", "offset lag", "moving to", "directory")
    for broker_id, directory in _each(described):
        for partition, replica in sorted(directory.replicas.items()):
            row: list[Any] = [broker_id, partition.topic, partition.partition, replica.size_bytes, replica.offset_lag]
            listing.add(*row, replica.is_future, directory.path)
    return listing


def _known(size: int) -> int | None:
    return size if size >= 0 else None
