"""Runs the stories against a client, one after the other, on the same two clusters."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import ExitStack
from typing import Any

from signalbox.testing.drill.drill_client import PARTITIONS, DrillClient, StartClient
from signalbox.testing.drill.ground import DrillGround
from signalbox.testing.drill.stories import STORIES, Story
from signalbox.testing.drill.story_result import StoryResult

_FIRST_RECORD_TIMEOUT_S = 60.0


def run_drill(
    start_client: StartClient,
    stories: Iterable[Story] = STORIES,
    *,
    window_s: float = 3.0,
    recovery_s: float = 30.0,
    on_result: Callable[[StoryResult], None] = lambda result: None,
) -> list[StoryResult]:
    """The result of each story. The routes are wrong for `window_s` seconds; then the client has `recovery_s` seconds
    to get a new record acknowledged in every partition. A client that raises an exception has failed the story."""
    results = []
    with DrillGround() as ground:
        for story in stories:
            ground.reset()
            results.append(_Run(ground, story, window_s, recovery_s).result(start_client))
            on_result(results[-1])
    return results


class _Run:
    """One story; every value is sent once, so that it can be found again."""

    def __init__(self, ground: DrillGround, story: Story, window_s: float, recovery_s: float) -> None:
        self._ground = ground
        self._story = story
        self._window_s = window_s
        self._recovery_s = recovery_s
        self._sent: dict[bytes, Future[Any]] = {}
        self._result = StoryResult(story=f"{story.number} {story.name}", expected=story.served)

    def result(self, start_client: StartClient) -> StoryResult:
        with ExitStack() as preparation, ExitStack() as mending:
            self._story.prepare(self._ground, preparation)
            try:
                client = start_client(self._ground.cluster.client_config())
                try:
                    self._produce(client, preparation, mending)
                finally:
                    client.close()
            except Exception as error:
                self._result.errors.append(f"{type(error).__name__}: {error}")
        self._count()
        return self._result

    def _produce(self, client: DrillClient, preparation: ExitStack, mending: ExitStack) -> None:
        first = [self._send(client, partition) for partition in range(PARTITIONS)]
        wait(first, _FIRST_RECORD_TIMEOUT_S)
        if not all(_is_acknowledged(future) for future in first):
            self._result.errors.append("no record was acknowledged before the routes were wrong")
            return
        self._story.cause(self._ground, mending)
        self._result.served = self._served(client)
        mending.close()
        preparation.close()
        mended_at = time.monotonic()
        until = mended_at + self._recovery_s
        if self._recovers(client, until):
            self._result.recovered_ms = (time.monotonic() - mended_at) * 1000
        wait(self._sent.values(), max(0.0, until - time.monotonic()))

    def _served(self, client: DrillClient) -> frozenset[int]:
        """The partitions with an acknowledgement in the time in which the routes are wrong; two records are sent."""
        until = time.monotonic() + self._window_s
        futures = {self._send(client, partition): partition for partition in range(PARTITIONS)}
        wait(futures, self._window_s / 2)
        futures |= {self._send(client, partition): partition for partition in range(PARTITIONS)}
        wait(futures, max(0.0, until - time.monotonic()))
        return frozenset(partition for future, partition in futures.items() if _is_acknowledged(future))

    def _recovers(self, client: DrillClient, until: float) -> bool:
        """Whether every partition acknowledges a new record; a failed one is followed by another."""
        futures = {self._send(client, partition): partition for partition in range(PARTITIONS)}
        while futures and time.monotonic() < until:
            done, _ = wait(futures, until - time.monotonic(), FIRST_COMPLETED)
            for future in done:
                partition = futures.pop(future)
                if not _is_acknowledged(future):
                    futures[self._send(client, partition)] = partition
        return not futures

    def _send(self, client: DrillClient, partition: int) -> Future[Any]:
        value = f"{self._story.number}-{partition}-{secrets.token_hex(8)}".encode()
        self._sent[value] = client.send(partition, value)
        return self._sent[value]

    def _count(self) -> None:
        result, stored, misplaced = self._result, self._ground.stored(), self._ground.misplaced()
        acknowledged = [value for value, future in self._sent.items() if _is_acknowledged(future)]
        result.acknowledged = len(acknowledged)
        result.failed = len(self._sent) - len(acknowledged)
        result.lost = sum(not stored[value] for value in acknowledged)
        result.repeated = sum(stored[value] > 1 for value in self._sent)
        result.misplaced = sum(value in misplaced for value in self._sent)
        result.sent_identity = any(each.cluster_id is not None for each in self._ground.cluster.requests())


def _is_acknowledged(future: Future[Any]) -> bool:
    return future.done() and not future.cancelled() and future.exception() is None
