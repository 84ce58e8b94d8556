"""UpdateMetadata reaches the cache, the other two control requests replication."""

from __future__ import annotations

from typing import Any

from signalbox.metadata.cache import MetadataCache
from signalbox.wiring.controller_to_broker import ControlRequests
from tests.broker.handler_requests import update


class Replicas:
    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []

    def become_leader_or_follower(self, request: Any, version: int) -> None:
        self.asked.append(("lead", version))

    def stop_replica(self, request: Any, version: int) -> None:
        self.asked.append(("stop", version))


def test_update_metadata_reaches_the_cache() -> None:
    cache = MetadataCache()
    control = ControlRequests(Replicas(), cache)  # type: ignore[arg-type]
    assert control.update_metadata(update({1: ["CLIENT"]}, {"t": {0: (1, [1])}}), 8).error_code == 0
    assert (cache.image.is_alive(1), set(cache.image.topics)) == (True, {"t"})


def test_the_other_two_are_replications() -> None:
    replicas = Replicas()
    control = ControlRequests(replicas, MetadataCache())  # type: ignore[arg-type]
    control.leader_and_isr(None, 7)  # type: ignore[arg-type]
    control.stop_replica(None, 4)  # type: ignore[arg-type]
    assert replicas.asked == [("lead", 7), ("stop", 4)]
