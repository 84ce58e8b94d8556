"""The result of a decision: its records, its response, its effects, and what the response waits for.

Decisions are pure: context and request in, `Decision` out. Nothing has happened until the runtime has stored the
records. Effects name what changed; `control_batch.py` turns them into requests to brokers.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from signalbox.common.ids import TopicPartition
from signalbox.controller.config_rows import ControllerSettings
from signalbox.controller.ports import AlterConfigPolicy, CreateTopicPolicy
from signalbox.controller.records import Record
from signalbox.metadata.image import MetadataImage
from signalbox.protocol.message import Message
from signalbox.security.delegation_token import TokenSecret


@dataclass(frozen=True, slots=True)
class LeadersAnnounced:
    """LeaderAndIsr to `brokers` (None: every live replica of each partition), UpdateMetadata to all brokers."""

    partitions: tuple[TopicPartition, ...]
    brokers: tuple[int, ...] | None = None
    is_new: bool = False


@dataclass(frozen=True, slots=True)
class MetadataAnnounced:
    """UpdateMetadata to all brokers; without partitions it holds the live brokers only."""

    partitions: tuple[TopicPartition, ...] = ()


@dataclass(frozen=True, slots=True)
class BrokersAnnounced:
    """Before all other requests of the batch: the live brokers to all brokers, the full metadata to the `new_brokers`.

    `names_topics`: all brokers get the list of existing topics, and remove all other topics from their metadata."""

    new_brokers: tuple[int, ...] = ()
    names_topics: bool = False


@dataclass(frozen=True, slots=True)
class ReplicasStopped:
    """StopReplica to one broker."""

    broker_id: int
    partitions: tuple[TopicPartition, ...]
    delete: bool


Effect = LeadersAnnounced | MetadataAnnounced | BrokersAnnounced | ReplicasStopped


@dataclass(frozen=True, slots=True)
class Visibility:
    """The response is held back until the local metadata shows the change, for at most `timeout_ms`."""

    holds: Callable[[MetadataImage], bool]
    timeout_ms: int
    when_late: Callable[[], Message]


@dataclass(frozen=True, slots=True)
class Decision:
    """`response` is None for events that are not requests."""

    records: tuple[Record, ...] = ()
    response: Message | None = None
    effects: tuple[Effect, ...] = ()
    visibility: Visibility | None = None


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a decision may use besides context and request: it has no clock and no random numbers of its own.

    `draw(n)` gives a number from 0 to n-1, `new_uuid()` an id, `now_ms()` the wall time. The policies are optional;
    without a `token_secret` there are no delegation tokens."""

    settings: ControllerSettings
    draw: Callable[[int], int]
    new_uuid: Callable[[], bytes]
    now_ms: Callable[[], int]
    create_topic_policy: CreateTopicPolicy | None = None
    alter_config_policy: AlterConfigPolicy | None = None
    token_secret: TokenSecret | None = None


def draw(sides: int) -> int:
    """A random number from 0 to `sides` - 1, as used in production: uniform enough for a topic's first broker."""
    return int.from_bytes(os.urandom(8)) % sides
