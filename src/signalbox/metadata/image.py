"""The metadata image: a broker's view of the cluster as one value (brokers, topics, controller, finalized features).

An image is never changed: `delta.py` makes the next one, which shares all unchanged parts, and a reader keeps the image
that it began with. `stamp` grows with every image of a cache, so that a cached response that is out of date shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from signalbox.common.endpoint import Endpoint
from signalbox.common.ids import ZERO_UUID
from signalbox.metadata.entries.feature_levels import NO_FEATURES, FinalizedFeatures

NO_CONTROLLER = -1


@dataclass(frozen=True, slots=True)
class BrokerImage:
    """A live broker with its endpoints by listener name."""

    broker_id: int
    rack: str | None
    endpoints: Mapping[str, Endpoint]


@dataclass(frozen=True, slots=True)
class PartitionImage:
    """A partition as the controller sent it last. `leader` is -1 without a leader; then `offline_reason` says why."""

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    replicas: tuple[int, ...]
    offline_replicas: tuple[int, ...]
    partition_epoch: int
    controller_epoch: int
    offline_reason: str = ""


@dataclass(frozen=True, slots=True)
class TopicImage:
    """A topic. `topic_id` is zero for a topic without an id. `partitions` is empty when only the name is known, because
    the topic's entry in the store is corrupt."""

    name: str
    topic_id: bytes
    partitions: Mapping[int, PartitionImage]


class MetadataImage:
    """The cluster at one moment. Treat every mapping in it as read-only."""

    __slots__ = ("_nodes", "brokers", "controller_epoch", "controller_id", "features", "stamp", "topic_names", "topics")

    def __init__(
        self,
        brokers: Mapping[int, BrokerImage],
        topics: Mapping[str, TopicImage],
        topic_names: Mapping[bytes, str],
        controller: tuple[int, int] = (NO_CONTROLLER, 0),
        stamp: int = 0,
        features: FinalizedFeatures = NO_FEATURES,
    ) -> None:
        self.brokers = brokers
        self.topics = topics
        self.topic_names = topic_names
        self.controller_id, self.controller_epoch = controller
        self.stamp = stamp
        self.features = features
        self._nodes: dict[str, dict[int, Endpoint]] = {}

    def nodes(self, listener_name: str) -> dict[int, Endpoint]:
        """The live brokers that have this listener, by ascending id, with their endpoint on it (SPEC L10)."""
        view = self._nodes.get(listener_name)
        if view is None:
            view = self._nodes[listener_name] = {
                broker_id: endpoint
                for broker_id, broker in sorted(self.brokers.items())
                if (endpoint := broker.endpoints.get(listener_name)) is not None
            }
        return view

    def topic_name(self, topic_id: bytes) -> str | None:
        """The name of the topic with this id; None for an unknown id."""
        return None if topic_id == ZERO_UUID else self.topic_names.get(topic_id)

    def topic_id(self, topic: str) -> bytes:
        """The id of the topic with this name; zero for an unknown topic."""
        found = self.topics.get(topic)
        return ZERO_UUID if found is None else found.topic_id

    def partition(self, topic: str, partition: int) -> PartitionImage | None:
        """One partition; None if it is unknown."""
        found = self.topics.get(topic)
        return None if found is None else found.partitions.get(partition)

    def is_alive(self, broker_id: int) -> bool:
        return broker_id in self.brokers


EMPTY_IMAGE = MetadataImage({}, {}, {})


def deleted_topics(old: MetadataImage, new: MetadataImage, names: Iterable[str]) -> list[str]:
    """Those of `names` whose topic of the old image does not exist in the new one: it was deleted, and perhaps another
    topic was created under its name."""
    deleted = []
    for name in names:
        before, after = old.topics.get(name), new.topics.get(name)
        if before is None:
            continue
        if after is None or (ZERO_UUID not in (before.topic_id, after.topic_id) and before.topic_id != after.topic_id):
            deleted.append(name)
    return deleted
