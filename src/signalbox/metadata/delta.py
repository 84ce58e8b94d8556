"""One UpdateMetadata applied to an image: live brokers are replaced, partitions are merged.

- A partition whose leader is -2 is deleted, and its topic with the last partition.
- A topic with another id than before is another topic: it is not merged with the old topic of that name. A topic with a
  zero id loses the id that it had.
- A topic with neither an id nor partitions is quarantined: the controller cannot read its entry. The image keeps what
  it has of the topic, even if that is only the name. When the entry is repaired, the topic comes with an id first and
  its partitions follow; it does not disappear in between.
- A partition whose leader epoch is NOT_DECIDED stays as it is in the image.
- A FULL request (KIP-866) names every topic, even if it has no partitions of it: all other topics are removed.
- Versions below 5 list partitions that are not grouped by topic; versions below 3 have no listener names, and a
  listener then has the name of its protocol.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from signalbox.common.endpoint import Endpoint, SecurityProtocol
from signalbox.common.ids import ZERO_UUID
from signalbox.metadata.image import NO_CONTROLLER, BrokerImage, MetadataImage, PartitionImage, TopicImage
from signalbox.protocol import own_tags
from signalbox.protocol.messages.update_metadata import UpdateMetadataRequest

LEADER_DURING_DELETE = -2
NOT_DECIDED = -1
FULL = 2  # UpdateMetadata's type

_State = UpdateMetadataRequest.UpdateMetadataPartitionState


def apply_update_metadata(image: MetadataImage, request: UpdateMetadataRequest) -> tuple[MetadataImage, set[str]]:
    """The next image and the names of the changed topics: those in the request, and those that a FULL one removes."""
    topics = dict(image.topics)
    topic_names = dict(image.topic_names)
    changed: set[str] = set()
    for name, topic_id, states in _by_topic(image, request):
        changed.add(name)
        before = topics.get(name)
        if not states and (topic_id == ZERO_UUID or (before is not None and not before.partitions)):
            topics[name] = before or TopicImage(name, topic_id, {})
            continue
        if before is not None and ZERO_UUID not in (before.topic_id, topic_id) and before.topic_id != topic_id:
            topic_names.pop(before.topic_id, None)
            before = None
        partitions = dict(before.partitions) if before else {}
        _merge(partitions, states)
        if before is not None:
            topic_names.pop(before.topic_id, None)
        if not partitions:
            topics.pop(name, None)
            continue
        topics[name] = TopicImage(name, topic_id, partitions)
        if topic_id != ZERO_UUID:
            topic_names[topic_id] = name
    if request.type == FULL:
        for name in topics.keys() - changed:
            topic_names.pop(topics.pop(name).topic_id, None)
            changed.add(name)
    controller_id = request.controller_id if request.controller_id >= 0 else NO_CONTROLLER
    after = MetadataImage(
        _brokers(request.live_brokers),
        topics if changed else image.topics,
        topic_names if changed else image.topic_names,
        (controller_id, request.controller_epoch),
        image.stamp + 1,
        image.features,
    )
    return after, changed


def _by_topic(image: MetadataImage, request: UpdateMetadataRequest) -> Iterator[tuple[str, bytes, list[_State]]]:
    for topic in request.topic_states:
        yield topic.topic_name, topic.topic_id, topic.partition_states
    ungrouped: dict[str, list[_State]] = {}
    for state in request.ungrouped_partition_states:
        ungrouped.setdefault(state.topic_name, []).append(state)
    for name, states in ungrouped.items():
        yield name, ZERO_UUID, states


def _merge(partitions: dict[int, PartitionImage], states: Iterable[_State]) -> None:
    for state in states:
        if state.leader == LEADER_DURING_DELETE:
            partitions.pop(state.partition_index, None)
            continue
        if state.leader_epoch == NOT_DECIDED and state.partition_index in partitions:
            continue
        partitions[state.partition_index] = PartitionImage(
            leader=state.leader,
            leader_epoch=state.leader_epoch,
            isr=tuple(state.isr),
            replicas=tuple(state.replicas),
            offline_replicas=tuple(state.offline_replicas),
            partition_epoch=state.zk_version,
            controller_epoch=state.controller_epoch,
            offline_reason=own_tags.offline_reason(state),
        )


def _brokers(live: Iterable[UpdateMetadataRequest.UpdateMetadataBroker]) -> dict[int, BrokerImage]:
    brokers = {}
    for broker in live:
        endpoints: dict[str, Endpoint] = {}
        for each in broker.endpoints:
            protocol = SecurityProtocol(each.security_protocol)
            name = each.listener or protocol.name
            endpoints[name] = Endpoint(name, each.host, each.port, protocol)
        if not broker.endpoints and broker.v0_host:
            plaintext = SecurityProtocol.PLAINTEXT
            endpoints[plaintext.name] = Endpoint(plaintext.name, broker.v0_host, broker.v0_port, plaintext)
        brokers[broker.id] = BrokerImage(broker.id, broker.rack, endpoints)
    return brokers
