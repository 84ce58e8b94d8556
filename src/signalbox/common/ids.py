"""Identifiers as the wire and the metadata store carry them.

A Kafka uuid is 16 raw bytes in memory (what the codec reads and writes) and 22 characters of unpadded, URL-safe base64
in text (JSON payloads, `meta.properties`, command lines).

A forwarding id identifies a forwarded request in all its retries; an Envelope carries it beside the client's bytes, in
a tagged field, which brokers without support for it ignore (KIP-482).
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Iterable, Sized
from dataclasses import dataclass
from enum import StrEnum
from struct import Struct
from struct import error as struct_error
from typing import NamedTuple

ZERO_UUID = bytes(16)
# Kafka reserves the first two ids: zero means "none", one is the id of the metadata topic.
_RESERVED = (ZERO_UUID, bytes(15) + b"\x01")

MAX_RANGES = 40  # a line stays readable; the partitions that are left out are counted
FORWARDING_ID_TAG = 10_590  # far above the tags that Kafka assigns one by one; after KIP-590
_FORWARDING_ID = Struct(">iqqq")
UNKNOWN_CONTROLLER_EPOCH = -1
PROBE_NODE_ID = 0x7FFF_FFFE  # no node has it: a node that compares identities rejects it


class TopicPartition(NamedTuple):
    """A partition by topic name: the key of most maps."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


def numbers_by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """The numbers of the partitions by their topic, both in order."""
    topics: dict[str, list[int]] = {}
    for topic, number in sorted(partitions):
        topics.setdefault(topic, []).append(number)
    return topics


def new_uuid() -> bytes:
    """A random uuid (16 bytes) whose text does not begin with '-', as Kafka's tools need it."""
    while True:
        value = bytearray(os.urandom(16))
        value[6] = (value[6] & 0x0F) | 0x40
        value[8] = (value[8] & 0x3F) | 0x80
        made = bytes(value)
        if made not in _RESERVED and not uuid_text(made).startswith("-"):
            return made


def uuid_text(value: bytes) -> str:
    """16 bytes as 22 characters of URL-safe base64 without padding."""
    return base64.urlsafe_b64encode(value)[:22].decode("ascii")


def uuid_bytes(text: str) -> bytes:
    """The 16 bytes of a uuid's text; ValueError if the text is not a uuid."""
    try:
        value = base64.b64decode(text + "==", altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError(f"{text!r} is not a uuid: expected 22 characters of URL-safe base64") from error
    if len(value) != 16:
        raise ValueError(f"{text!r} is not a uuid: {len(value)} bytes instead of 16")
    return value


def partition_list(partitions: Iterable[TopicPartition]) -> str:
    """Many partitions in one log line, `flights-0..5,7 __consumer_offsets-3`: topics in alphabetical order, consecutive
    partitions as one range."""
    ranges: list[tuple[str, int, int]] = []
    for topic, partition in sorted(partitions):
        if ranges and ranges[-1][0] == topic and ranges[-1][2] == partition - 1:
            ranges[-1] = (topic, ranges[-1][1], partition)
        else:
            ranges.append((topic, partition, partition))
    pieces: dict[str, list[str]] = {}
    for topic, first, last in ranges[:MAX_RANGES]:
        pieces.setdefault(topic, []).append(str(first) if first == last else f"{first}..{last}")
    text = " ".join(f"{topic}-{','.join(numbers)}" for topic, numbers in pieces.items())
    left = sum(last - first + 1 for _, first, last in ranges[MAX_RANGES:])
    return f"{text} and {left} more" if left else text


def partition_count(partitions: Sized) -> str:
    """`1 partition`, `2 partitions`."""
    return f"{len(partitions)} partition{'' if len(partitions) == 1 else 's'}"


@dataclass(frozen=True, slots=True)
class ForwardingId:
    """`number` counts the forwarded requests of broker `broker_id` within `broker_epoch`. All requests below
    `settled_below` are answered, or the broker has given them up: the controller can delete their stored responses."""

    broker_id: int
    broker_epoch: int
    number: int
    settled_below: int = 0

    def encode(self) -> bytes:
        """28 bytes: int32, three int64."""
        return _FORWARDING_ID.pack(self.broker_id, self.broker_epoch, self.number, self.settled_below)

    @property
    def key(self) -> tuple[int, int, int]:
        """The part that makes it unique."""
        return self.broker_id, self.broker_epoch, self.number


def decode_forwarding_id(data: bytes | None) -> ForwardingId | None:
    """None if there is no id, or if `data` is not one of Signalbox."""
    if data is None:
        return None
    try:
        return ForwardingId(*_FORWARDING_ID.unpack(data))
    except struct_error:
        return None


@dataclass(frozen=True, slots=True)
class StorePosition:
    """The position of a metadata store in its history, as brokers keep it in their log directories (decision 0028).
    `incarnation` is the id of one history of a cluster's metadata, `generation` counts how often its brokers have
    advanced it, `controller_epoch` is the one in `/controller_epoch` (UNKNOWN_CONTROLLER_EPOCH: it cannot be read)."""

    incarnation: str
    generation: int
    controller_epoch: int

    def __str__(self) -> str:
        return f"incarnation={self.incarnation}, generation={self.generation}, controller epoch={self.controller_epoch}"


class Grade(StrEnum):
    """How the node at the other end of a connection was identified."""

    VERIFIED = "A"  # ApiVersions 5 accepted the expected identity, and rejected a false one if that was asked
    SEARCHED = "B"  # ApiVersions 5 rejected the expected identity or had none, and accepted another
    CONFIGS = "C"  # DescribeConfigs BROKER=<id> succeeded, and is rejected for other ids
    REJECTED = "R"  # ApiVersions 5 rejected the expected identity; the node is unknown
    CLUSTER_ONLY = "E"  # only the cluster id is known
    NONE = "-"
