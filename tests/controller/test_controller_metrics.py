"""The controller's gauges: Kafka's names, counted from the context, 0 elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from signalbox.common.metrics import MetricName, NullMetrics
from signalbox.controller.context import ControllerContext, ReplicaOfTopic
from signalbox.controller.controller_metrics import measure_controller
from signalbox.controller.damage import TopicDamage
from tests.controller.contexts import make_context


@dataclass
class Waiting:
    waiting: int = 0
    held: int = 0
    refusals_total: int = 0

    def __len__(self) -> int:
        return self.waiting


@dataclass
class Standing:
    is_active: bool
    context: ControllerContext | None
    queue: Waiting = field(default_factory=Waiting)


class Gauges(NullMetrics):
    """Keeps the gauges."""

    def __init__(self) -> None:
        self.read: dict[str, Callable[[], float]] = {}

    def gauge(self, name: MetricName, read: Callable[[], float], tags: Mapping[str, str] | None = None) -> None:
        assert name.group == "kafka.controller"
        self.read[name.name] = read


def values(controller: Standing) -> dict[str, float]:
    gauges = Gauges()
    measure_controller(gauges, controller)
    return {name: read() for name, read in gauges.read.items()}


def test_the_active_controller_counts() -> None:
    context = make_context(
        1,
        topics={"t": {0: "1* 2", 1: "2* 1", 2: "1 isr new"}, "going": {0: "1*"}},
        deleting={"going": frozenset({ReplicaOfTopic(0, 1)})},
        shutting_down=frozenset({1}),
        damaged={"torn": TopicDamage({"/brokers/topics/torn": "?"})},
    )
    assert values(Standing(True, context, Waiting(3, held=2, refusals_total=5))) == {
        "ActiveControllerCount": 1,
        "EventQueueSize": 3,
        "StoreFullHeldEvents": 2,
        "StoreFullRefusals": 5,
        "OfflinePartitionsCount": 2,
        "PreferredReplicaImbalanceCount": 1,
        "UnreadableTopicCount": 1,
        "GlobalTopicCount": 2,
        "GlobalPartitionCount": 4,
        "TopicsToDeleteCount": 1,
        "ReplicasToDeleteCount": 1,
        "ActiveBrokerCount": 1,
        "ShuttingDownBrokerCount": 1,
    }


def test_others_show_nothing() -> None:
    assert set(values(Standing(False, None)).values()) == {0}
