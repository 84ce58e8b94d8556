"""What a decision is: the records it makes, the answer it gives, whom it tells, and what the answer waits for.

Decisions are pure: context and request in, `Decision` out. Nothing has happened until the runtime has stored the
records. Effects name what changed; `control_batch.py` turns them into requests to brokers.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from signalbox.common.ids import TopicPartition
from signalbox.controller.ports import AlterConfigPolicy, CreateTopicPolicy
from signalbox.controller.records import Record
from signalbox.controller.settings import ControllerSettings
from signalbox.metadata.image import MetadataImage
from signalbox.protocol.message import Message
from signalbox.security.delegation_token import TokenSecret


@dataclass(frozen=True, slots=True)
class LeadersAnnounced:
    """LeaderAndIsr to `brokers` (None: every living replica of each partition), UpdateMetadata to everybody."""

    partitions: tuple[TopicPartition, ...]
    brokers: tuple[int, ...] | None = None
    is_new: bool = False


@dataclass(frozen=True, slots=True)
class MetadataAnnounced:
    """UpdateMetadata to everybody; without partitions it tells of the living brokers only."""

    partitions: tuple[TopicPartition, ...] = ()


@dataclass(frozen=True, slots=True)
class BrokersAnnounced:
    """Before anything else of the batch: the living brokers to everybody, everything to the `newcomers`.

    `names_topics`: everybody is told which topics there are, so that whatever else they know of goes."""

    newcomers: tuple[int, ...] = ()
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
    """The answer is held back until the local metadata shows the change, for at most `timeout_ms`."""

    holds: Callable[[MetadataImage], bool]
    timeout_ms: int
    when_late: Callable[[], Message]


@dataclass(frozen=True, slots=True)
class Decision:
    """`response` is None for events that nobody asked for."""

    records: tuple[Record, ...] = ()
    response: Message | None = None
    effects: tuple[Effect, ...] = ()
    visibility: Visibility | None = None


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a decision may use besides context and request: no clock, no dice of its own.

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
    """The dice of production: uniform enough for where a topic begins."""
    return int.from_bytes(os.urandom(8)) % sides
