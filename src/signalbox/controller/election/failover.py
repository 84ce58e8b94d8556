"""A new controller's first decision: elections, and all metadata to all brokers."""

from __future__ import annotations

from dataclasses import replace

from signalbox.common.cooperative_task import yielding
from signalbox.common.ids import ZERO_UUID
from signalbox.controller.brokers.broker_restarts import (
    after_unclean_shutdown,
    histories_kept,
    new_registrations,
)
from signalbox.controller.context import ControllerContext
from signalbox.controller.decision import (
    BrokersAnnounced,
    Decision,
    Effect,
    Inputs,
    LeadersAnnounced,
    MetadataAnnounced,
)
from signalbox.controller.entities.feature_control import features_set_up
from signalbox.controller.partitions.partition_control import bring_online, restarted_uncleanly, take_replicas_offline
from signalbox.controller.partitions.reassignment import finish_moves, resume_moves
from signalbox.controller.partitions.removed_replicas import delete_removed_replicas
from signalbox.controller.records import Record, TopicAssignmentChanged
from signalbox.controller.replay import preview
from signalbox.controller.topics.topic_deletion import (
    partitions_under_deletion,
    reject_pending_deletions,
    retry_replica_deletions,
)


def take_over(context: ControllerContext, inputs: Inputs) -> Decision:
    """Elections for all partitions without a live leader, and the full metadata to all brokers. Yields."""
    records: list[Record] = [
        *features_set_up(context),
        *reject_pending_deletions(context, inputs),
        *_missing_topic_ids(context, inputs),
    ]
    new = new_registrations(context)
    records += restarted_uncleanly(context, after_unclean_shutdown(context, new), context.partitions())
    settled = preview(context, records)
    default = inputs.settings.unclean_leader_election_enable

    def unclean(topic: str) -> bool:
        return settled.allows_unclean_election(topic, default)

    gone = {
        broker_id
        for partition in settled.partitions()
        for broker_id in settled.replicas(partition)
        if broker_id not in settled.brokers
    }
    losses = take_replicas_offline(settled, gone, settled.partitions(), unclean)
    after = preview(settled, losses)
    created, led = bring_online(after, after.partitions(), unclean)
    moved = finish_moves(after, (*created, *led))
    effects: list[Effect] = [
        BrokersAnnounced(names_topics=True),
        LeadersAnnounced(tuple(settled.partitions())),
        MetadataAnnounced((*partitions_under_deletion(settled), *settled.quarantined_partitions())),
        LeadersAnnounced(tuple(each.partition for each in created), is_new=True),
        *resume_moves(after),
        *moved.effects,
        *retry_replica_deletions(settled, settled.brokers),
        *delete_removed_replicas(settled, settled.brokers),
    ]
    kept = histories_kept(settled, new)
    return Decision(records=(*records, *losses, *created, *led, *moved.records, *kept), effects=tuple(effects))


def _missing_topic_ids(context: ControllerContext, inputs: Inputs) -> list[TopicAssignmentChanged]:
    """An id for each topic that Apache Kafka below inter.broker.protocol.version 2.8 has created: followers fetch by
    id, and leaders change the ISR by id (KIP-516), so that without one a topic is not replicated. Yields."""
    return [
        TopicAssignmentChanged(name, replace(topic.assignment, topic_id=inputs.new_uuid()))
        for name, topic in yielding(context.topics.items())
        if topic.topic_id == ZERO_UUID
    ]
