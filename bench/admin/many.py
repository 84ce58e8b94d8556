"""Thousands of topics: until they are created, until every broker shows their leaders, and until they are deleted."""

from __future__ import annotations

import time
from collections.abc import Sequence

from bench.admin.exchange import exchange
from bench.admin.requests import create, delete, rejections
from bench.kafka.sides import Address, Side, metadata

_PER_REQUEST = 50
_PATIENCE_S = 180.0
_LOOK_EVERY_S = 0.1


def create_topics(side: Side, names: Sequence[str], partitions: int, replicas: int) -> tuple[float, float]:
    """Seconds until all creations were confirmed, and until every broker shows a leader for every partition."""
    requests = [create(some, partitions, replicas) for some in _some_at_a_time(names)]
    began = time.monotonic()
    exchanged = exchange(side.addresses[side.active_controller()], [requests])
    answered = time.monotonic() - began
    rejected = [text for answer in exchanged.answers for text in rejections(answer)]
    if rejected:
        raise RuntimeError(f"{side.name}: topics were rejected: {rejected[:3]}")
    for address in side.addresses.values():
        _until_led(side, address, names, partitions)
    return answered, time.monotonic() - began


def delete_topics(side: Side, names: Sequence[str]) -> float:
    """Seconds until no broker returns them in its metadata."""
    requests = [delete(some) for some in _some_at_a_time(names)]
    began = time.monotonic()
    if requests:
        exchange(side.addresses[side.active_controller()], [requests])
    gone = set(names)
    for address in side.addresses.values():
        while gone & {topic.name for topic in metadata(address, None).topics}:
            _wait(side, began, "topics are still there")
    return time.monotonic() - began


def _until_led(side: Side, address: Address, names: Sequence[str], partitions: int) -> None:
    """Requests metadata only for topics that had no leader before: the polling should cost as little as possible."""
    began, left = time.monotonic(), list(names)
    while left := [
        str(topic.name)
        for topic in metadata(address, left).topics
        if len(topic.partitions) != partitions or any(each.leader_id < 0 for each in topic.partitions)
    ]:
        _wait(side, began, f"{len(left)} topics have no leaders")


def _wait(side: Side, began: float, what: str) -> None:
    if time.monotonic() - began > _PATIENCE_S:
        raise RuntimeError(f"{side.name}: {what} after {_PATIENCE_S:.0f} s")
    time.sleep(_LOOK_EVERY_S)


def _some_at_a_time(names: Sequence[str]) -> list[Sequence[str]]:
    return [names[at : at + _PER_REQUEST] for at in range(0, len(names), _PER_REQUEST)]
