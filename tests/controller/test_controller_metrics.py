"""The controller's gauges: Kafka's names, counted from the context, 0 elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest

from signalbox.broker.metrics.metric_registry import MetricRegistry
from signalbox.controller.context import ControllerContext, ReplicaOfTopic
from signalbox.controller.controller_metrics import measure_controller
from tests.controller.contexts import make_context, tp
from tests.metric_values import metric_values


@dataclass
class Waiting:
    waiting: int = 0
    held: int = 0
    rejections_total: int = 0

    def __len__(self) -> int:
        return self.waiting


@dataclass
class Standing:
    is_active: bool
    context: ControllerContext | None
    queue: Waiting = field(default_factory=Waiting)
    unclean_elections: int = 0


def values(controller: Standing) -> dict[str, float]:
    registry = MetricRegistry()
    measure_controller(registry, controller)
    return {name: value for (name,), value in metric_values(registry).items()}


def test_the_active_controller_counts() -> None:
    context = make_context(
        1,
        topics={"t": {0: "1* 2", 1: "2* 1", 2: "1 isr new"}, "going": {0: "1*"}},
        deleting={"going": frozenset({ReplicaOfTopic(0, 1)})},
        shutting_down=frozenset({1}),
        corrupt_entries={"/brokers/topics/torn": b"?", "/config/users/alice": b"?"},
    )
    assert values(Standing(True, context, Waiting(3, held=2, rejections_total=5), 4)) == {
        "ActiveControllerCount": 1,
        "EventQueueSize": 3,
        "UncleanLeaderElectionsPerSec": 4,
        "StoreFullDeferredEvents": 2,
        "StoreFullRejections": 5,
        "CorruptEntryCount": 2,
        "OfflinePartitionsCount": 2,
        "PreferredReplicaImbalanceCount": 1,
        "GlobalTopicCount": 2,
        "GlobalPartitionCount": 4,
        "TopicsToDeleteCount": 1,
        "ReplicasToDeleteCount": 1,
        "ActiveBrokerCount": 1,
        "ShuttingDownBrokerCount": 1,
        "AwaitedElectionCount": 0,
        "LostLogPartitionCount": 0,
    }


def test_others_show_nothing() -> None:
    assert set(values(Standing(False, None)).values()) == {0}


@pytest.mark.spec("D3")
def test_elections_that_wait_and_logs_that_are_lost() -> None:
    context = make_context(1, topics={"t": {0: "1 2", 1: "1 2", 2: "1 2"}}, waited=frozenset({tp(1)}))
    topic = context.topics["t"]
    marked = {index: replace(state, unverified=(1,)) for index, state in topic.states.items() if index < 2}
    context = replace(context, topics={"t": replace(topic, states={**topic.states, **marked})})
    found = values(Standing(True, context))
    assert (found["OfflinePartitionsCount"], found["AwaitedElectionCount"], found["LostLogPartitionCount"]) == (3, 1, 1)
