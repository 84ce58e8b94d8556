"""`/brokers/topics/<topic>`: the topic's id and which brokers hold each partition. Written in version 3, read from 1.

A running reassignment (KIP-455) shows in `adding` and `removing`; `replicas` then holds targets and originals.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from signalbox.common.ids import ZERO_UUID, uuid_bytes, uuid_text
from signalbox.metadata.json_text import BadEntry, decode_json, encode_json

Replicas = dict[int, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class TopicAssignment:
    """Replicas by partition. `topic_id` is zero for topics older than topic ids."""

    topic_id: bytes
    replicas: Replicas
    adding: Replicas = field(default_factory=dict)
    removing: Replicas = field(default_factory=dict)

    def encode(self) -> bytes:
        """The JSON payload, version 3."""
        payload: dict[str, Any] = {
            "version": 3,
            "partitions": _lists(self.replicas),
            "adding_replicas": _lists(self.adding),
            "removing_replicas": _lists(self.removing),
        }
        if self.topic_id != ZERO_UUID:
            payload["topic_id"] = uuid_text(self.topic_id)
        return encode_json(payload)


def decode_topic_assignment(topic: str, data: bytes | None) -> TopicAssignment:
    """Any version; partitions may come in any order, missing lists are empty."""
    payload = decode_json(data, f"/brokers/topics/{topic}")
    try:
        topic_id = payload.get("topic_id")
        return TopicAssignment(
            topic_id=ZERO_UUID if topic_id is None else uuid_bytes(topic_id),
            replicas=dict(sorted(_tuples(payload["partitions"]).items())),
            adding=_tuples(payload.get("adding_replicas")),
            removing=_tuples(payload.get("removing_replicas")),
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise BadEntry(f"/brokers/topics/{topic} is not an assignment: {error!r}") from error


def _lists(replicas: Replicas) -> dict[str, list[int]]:
    return {str(partition): list(brokers) for partition, brokers in replicas.items()}


def _tuples(lists: dict[str, list[int]] | None) -> Replicas:
    return {int(partition): tuple(map(int, brokers)) for partition, brokers in (lists or {}).items()}
