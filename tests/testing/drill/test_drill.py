"""The drill finds out what clients do wrong."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pytest

from signalbox.testing.drill.drill import run_drill
from signalbox.testing.drill.drill_client import DrillClient, SignalboxProducer, StartClient
from signalbox.testing.drill.stories import STORIES, Story
from signalbox.testing.drill.story_result import StoryResult
from signalbox.testing.kafka_cluster.client_config import ClientConfig
from tests.testing.drill.librdkafka_producer import LibrdkafkaProducer

pytestmark = [pytest.mark.spec("R7"), pytest.mark.system]

NOTHING_WRONG = Story(0, "nothing is wrong", frozenset({0, 1, 2}), lambda ground, stack: None)


class Careless:
    """Acknowledges every record and drops it."""

    def __init__(self, config: ClientConfig) -> None:
        pass

    def send(self, partition: int, value: bytes) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(None)
        return future

    def close(self) -> None:
        pass


class Doubling(SignalboxProducer):
    """Sends every record twice."""

    def send(self, partition: int, value: bytes) -> Future[Any]:
        super().send(partition, value).result(60)
        return super().send(partition, value)


class Ending(SignalboxProducer):
    """Fails after the first records, for ever."""

    sent = 0

    def send(self, partition: int, value: bytes) -> Future[Any]:
        self.sent += 1
        if self.sent <= 3:
            return super().send(partition, value)
        future: Future[Any] = Future()
        if self.sent > 9:
            return future  # neither acknowledged nor failed
        future.set_exception(RuntimeError("I have given up"))
        return future


def run(start: StartClient, *stories: Story, window_s: float = 0.5, recovery_s: float = 60.0) -> StoryResult:
    [result] = run_drill(start, stories, window_s=window_s, recovery_s=recovery_s)
    return result


def test_a_client_that_does_its_work_passes() -> None:
    seen: list[StoryResult] = []
    [result] = run_drill(SignalboxProducer, [NOTHING_WRONG], window_s=5, recovery_s=60, on_result=seen.append)
    assert seen == [result]
    assert result.passed, result.faults
    assert (result.acknowledged, result.failed, result.served) == (12, 0, frozenset({0, 1, 2}))
    assert result.recovered_ms is not None


def test_records_that_are_lost() -> None:
    result = run(Careless, NOTHING_WRONG)
    assert result.faults == ["12 acknowledged records are lost"]
    assert not result.sent_identity


def test_records_that_are_stored_twice() -> None:
    assert run(Doubling, NOTHING_WRONG).faults == ["12 records are stored twice"]


def test_a_client_that_gives_up() -> None:
    result = run(Ending, NOTHING_WRONG, recovery_s=0.5)
    assert result.faults == [
        "no record of partition 0, 1, 2 was acknowledged, though its leader was reachable",
        "it did not go on when the routes were right again",
    ]
    assert result.recovered_ms is None
    assert result.acknowledged == 3


def test_a_client_that_cannot_start() -> None:
    def start(config: ClientConfig) -> DrillClient:
        raise RuntimeError(f"no {config.security} here")

    result = run(start, NOTHING_WRONG)
    assert "RuntimeError: no PLAINTEXT here" in result.faults


@pytest.mark.timeout(180)
def test_a_client_without_identity_writes_into_the_other_cluster() -> None:
    [moved] = [story for story in STORIES if story.number == 3]
    result = run(LibrdkafkaProducer, moved, window_s=3, recovery_s=5)
    assert not result.sent_identity
    assert result.misplaced > 0
    assert f"{result.misplaced} records are in the other cluster" in result.faults
