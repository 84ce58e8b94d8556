"""What each record does: operations for the store, and the next context. Only this module knows both.

A draft copies each mapping of the context the first time it is written to, so a decision of many records costs one
copy. Partition epochs are the versions of the state entries: a write names the version before it, so a state that
another writer changed is never overwritten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from signalbox.common.cooperative_task import yield_if_due
from signalbox.common.ids import ZERO_UUID, TopicPartition
from signalbox.controller import records as rec
from signalbox.controller.context import (
    ControlledTopic,
    ControllerContext,
    StoredAcls,
    collision_name,
)
from signalbox.controller.direct_writes.external_update import ExternalUpdate
from signalbox.controller.topics.topic_deletion import replicas_to_delete
from signalbox.metadata import layout
from signalbox.metadata.entries.acl_entries import acl_path, change_path_and_data, encode_acls
from signalbox.metadata.entries.delegation_token import encode_token
from signalbox.metadata.entries.entity_config import Configs, encode_config_change, encode_configs
from signalbox.metadata.entries.feature_levels import UNKNOWN_EPOCH, FinalizedFeatures, encode_features
from signalbox.metadata.entries.partition_state import NO_LEADER, PartitionState
from signalbox.metadata.store.port import Create, Delete, Operation, Write

# The entries of these are deleted when they have no configs; topics and brokers keep their entry.
_WITHOUT_CONFIGS_NO_ENTRY = ("users/", "clients/", "ips/", "client-metrics/", "groups/")


def replay(context: ControllerContext, records: Iterable[rec.Record]) -> tuple[ControllerContext, list[Operation]]:
    """The context after `records`, and the store operations that they need. Yields."""
    draft = _Draft(context)
    for record in records:
        yield_if_due()
        _REPLAY[type(record)](draft, record)
    return draft.finish(), draft.operations


def preview(context: ControllerContext, records: Iterable[rec.Record]) -> ControllerContext:
    """The context after `records`, for decisions that continue from there. Yields."""
    draft = _Draft(context, stores=False)
    for record in records:
        yield_if_due()
        _REPLAY[type(record)](draft, record)
    return draft.finish()


class _Draft:
    """The next context while it is built. Mappings are copied when first written to, and so are a topic's states."""

    def __init__(self, context: ControllerContext, stores: bool = True) -> None:
        self.context = context
        self.stores = stores
        self.operations: list[Operation] = []
        self._copied: dict[str, Any] = {}
        self._states: dict[str, dict[int, PartitionState]] = {}

    def own(self, name: str) -> Any:
        """The draft's own copy of one of the context's mappings."""
        if name not in self._copied:
            self._copied[name] = dict(getattr(self.context, name))
        return self._copied[name]

    def see(self, name: str) -> Any:
        """The present value of a field in the draft."""
        return self._copied.get(name, getattr(self.context, name))

    def put(self, name: str, value: object) -> None:
        """Replace a field that is not a mapping."""
        self._copied[name] = value

    def store(self, *operations: Operation) -> None:
        """Add operations to commit."""
        self.operations.extend(operations)

    def states(self, topic: str) -> dict[int, PartitionState]:
        """The draft's own copy of a topic's states."""
        if topic not in self._states:
            self._states[topic] = dict(self.see("topics")[topic].states)
        return self._states[topic]

    def delete(self, path: str, version: int | None = None) -> None:
        """Delete an entry, and before it the unknown entries below it."""
        unknown = tuple(layout.entries_below(path, self.see("unknown_entries")))
        if unknown:
            left = tuple(entry for entry in self.see("unknown_entries") if entry not in unknown)
            self.put("unknown_entries", left)
        self.store(*(Delete(entry) for entry in unknown), Delete(path, version))

    def drop_topic(self, topic: str) -> tuple[ControlledTopic, dict[int, PartitionState]]:
        """Remove a topic from the context; returns the topic and its states."""
        states = self.states(topic)
        del self._states[topic]
        return self.own("topics").pop(topic), states

    def change_topic(self, topic: str, **changes: Any) -> None:
        """Replace fields of a topic."""
        topics = self.own("topics")
        topics[topic] = replace(topics[topic], **changes)

    def set_configs(self, entity_path: str, configs: Configs) -> None:
        """Set an entity's configs, whether or not it had an entry."""
        path = f"{layout.CONFIG}/{entity_path}"
        known = self.see("configs")
        exists = entity_path in known
        forgotten = not configs and entity_path.startswith(_WITHOUT_CONFIGS_NO_ENTRY)
        if forgotten and exists and not any(each.startswith(entity_path + "/") for each in known):
            self.delete(path)
            del self.own("configs")[entity_path]
            return
        for folder in _folders_above(entity_path):
            if folder not in known:
                self.store(Create(f"{layout.CONFIG}/{folder}"))
                self.own("configs")[folder] = {}
        self.store(Write(path, encode_configs(configs)) if exists else Create(path, encode_configs(configs)))
        self.own("configs")[entity_path] = configs

    def announce_configs(self, entity_path: str) -> None:
        """Create the change notification for all brokers."""
        self.store(Create(layout.CONFIG_CHANGE_PREFIX, encode_config_change(entity_path), numbered=True))

    def finish(self) -> ControllerContext:
        """The context with all changes."""
        for topic, states in self._states.items():
            self.change_topic(topic, states=states)
        return replace(self.context, **self._copied) if self._copied else self.context


def _folders_above(entity_path: str) -> list[str]:
    """`users/a` and `users/a/clients` for `users/a/clients/b`; the roots of the layout always exist."""
    pieces = entity_path.split("/")
    return ["/".join(pieces[:count]) for count in range(2, len(pieces))]


def _topic_created(draft: _Draft, record: rec.TopicCreated) -> None:
    entity_path = f"topics/{record.topic}"
    draft.set_configs(entity_path, record.configs)
    if record.configs:
        draft.announce_configs(entity_path)
    draft.store(
        Create(layout.topic_path(record.topic), record.assignment.encode()),
        Create(layout.partitions_path(record.topic)),
    )
    epochs = [broker.broker_epoch for broker in draft.see("brokers").values()]
    _know_topic(draft, ControlledTopic(record.topic, record.assignment, {}, created_after=max(epochs, default=-1)))


def _know_topic(draft: _Draft, topic: ControlledTopic) -> None:
    draft.own("topics")[topic.name] = topic
    draft.own("collision_names")[collision_name(topic.name)] = topic.name
    if topic.topic_id != ZERO_UUID:
        draft.own("topic_names")[topic.topic_id] = topic.name


def _assignment_changed(draft: _Draft, record: rec.TopicAssignmentChanged) -> None:
    draft.store(Write(layout.topic_path(record.topic), record.assignment.encode()))
    draft.change_topic(record.topic, assignment=record.assignment)
    if draft.see("topic_names").get(record.assignment.topic_id) is None:  # the topic had no id
        _know_topic(draft, draft.see("topics")[record.topic])


def _partition_created(draft: _Draft, record: rec.PartitionCreated) -> None:
    name, partition = record.partition
    topic: ControlledTopic = draft.see("topics")[name]
    if not topic.has_partitions_entry:
        draft.store(Create(layout.partitions_path(name)))
        draft.change_topic(name, has_partitions_entry=True)
    if partition in topic.bare_partitions:
        draft.change_topic(name, bare_partitions=topic.bare_partitions - {partition})
    else:
        draft.store(Create(layout.partition_path(name, partition)))
    draft.store(Create(layout.partition_state_path(name, partition), record.state.encode()))
    draft.states(name)[partition] = record.state
    _forget_log_ends(draft, record.partition)


def _state_changed(draft: _Draft, record: rec.PartitionStateChanged) -> None:
    name, partition = record.partition
    if draft.stores:
        path = layout.partition_state_path(name, partition)
        draft.store(Write(path, record.state.encode(), record.state.partition_epoch - 1))
    draft.states(name)[partition] = record.state
    if record.state.leader != NO_LEADER:
        _forget_log_ends(draft, record.partition)


def _forget_log_ends(draft: _Draft, partition: TopicPartition) -> None:
    """With a leader the logs grow; when the partition loses its leader again, log ends are collected again."""
    if partition in draft.see("log_ends"):
        draft.own("log_ends").pop(partition, None)
    if partition in draft.see("waited"):
        draft.put("waited", draft.see("waited") - {partition})


def _configs_set(draft: _Draft, record: rec.ConfigsSet) -> None:
    draft.set_configs(record.entity_path, record.configs)
    draft.announce_configs(record.entity_path)


def _acls_set(draft: _Draft, record: rec.AclsSet) -> None:
    path, stored = acl_path(record.pattern), draft.see("acls").get(record.pattern)
    acls = draft.own("acls")
    if not record.entries:
        draft.delete(path, stored.version)
        del acls[record.pattern]
    elif stored is None:
        draft.store(Create(path, encode_acls(record.entries)))
        acls[record.pattern] = StoredAcls(record.entries, 0)
    else:
        # Kafka's tools may write at the same time: an entry that changed meanwhile is not overwritten.
        draft.store(Write(path, encode_acls(record.entries), stored.version))
        acls[record.pattern] = StoredAcls(record.entries, stored.version + 1)
    change_path, payload = change_path_and_data(record.pattern)
    draft.store(Create(change_path, payload, numbered=True))


def _features_finalized(draft: _Draft, record: rec.FeaturesFinalized) -> None:
    epoch, payload = draft.see("features").epoch, encode_features(record.levels)
    draft.store(
        Create(layout.FEATURE, payload)
        if epoch == UNKNOWN_EPOCH
        else Write(layout.FEATURE, payload, expected_version=epoch)
    )
    draft.put("features", FinalizedFeatures(record.levels, epoch + 1, True))


def _token_set(draft: _Draft, record: rec.TokenSet) -> None:
    token_id, tokens = record.token.token_id, draft.own("tokens")
    path, payload = layout.token_path(token_id), encode_token(record.token)
    draft.store(Write(path, payload) if token_id in tokens else Create(path, payload))
    draft.store(Create(layout.TOKEN_CHANGE_PREFIX, token_id.encode(), numbered=True))
    tokens[token_id] = record.token


def _token_removed(draft: _Draft, record: rec.TokenRemoved) -> None:
    draft.delete(layout.token_path(record.token_id))
    draft.store(Create(layout.TOKEN_CHANGE_PREFIX, record.token_id.encode(), numbered=True))
    del draft.own("tokens")[record.token_id]


def _deletion_started(draft: _Draft, record: rec.TopicDeletionStarted) -> None:
    draft.store(Create(layout.delete_topic_path(record.topic)))
    assignment = draft.see("topics")[record.topic].assignment
    draft.own("deleting")[record.topic] = replicas_to_delete(assignment, draft.see("brokers"))


def _deletion_rejected(draft: _Draft, record: rec.TopicDeletionRejected) -> None:
    draft.delete(layout.delete_topic_path(record.topic))
    draft.own("deleting").pop(record.topic, None)


def _topic_deleted(draft: _Draft, record: rec.TopicDeleted) -> None:
    name = record.topic
    topic, states = draft.drop_topic(name)
    for partition in states:
        draft.delete(layout.partition_state_path(name, partition))
    for partition in sorted(topic.bare_partitions | set(states)):
        draft.delete(layout.partition_path(name, partition))
    if topic.has_partitions_entry:
        draft.delete(layout.partitions_path(name))
    draft.delete(layout.topic_path(name))
    draft.delete(layout.delete_topic_path(name))
    entity_path = f"topics/{name}"
    if entity_path in draft.see("configs"):
        draft.delete(f"{layout.CONFIG}/{entity_path}")
        if draft.own("configs").pop(entity_path):
            draft.announce_configs(entity_path)
    draft.own("deleting").pop(name, None)
    draft.own("topic_names").pop(topic.topic_id, None)
    draft.own("collision_names").pop(collision_name(name), None)


def _producer_ids_allocated(draft: _Draft, record: rec.ProducerIdsAllocated) -> None:
    version = draft.see("producer_id_version")
    draft.store(Write(layout.PRODUCER_ID_BLOCK, record.block.encode(), version))
    draft.put("producer_id_block", record.block)
    draft.put("producer_id_version", version + 1)


def _broker_joined(draft: _Draft, record: rec.BrokerJoined) -> None:
    broker_id = record.broker.registration.broker_id
    draft.own("brokers")[broker_id] = record.broker


def _broker_left(draft: _Draft, record: rec.BrokerLeft) -> None:
    draft.own("brokers").pop(record.broker_id, None)
    draft.own("offline_replicas").pop(record.broker_id, None)
    draft.put("shutting_down", draft.see("shutting_down") - {record.broker_id})

    for partition, ends in list(draft.see("log_ends").items()):
        if record.broker_id in ends:
            left = {broker_id: end for broker_id, end in ends.items() if broker_id != record.broker_id}
            draft.own("log_ends")[partition] = left


def _history_kept(draft: _Draft, record: rec.BrokerHistoryKept) -> None:
    path, payload = layout.broker_history_path(record.broker_id), record.history.encode()
    draft.store(Write(path, payload) if record.broker_id in draft.see("histories") else Create(path, payload))
    draft.own("histories")[record.broker_id] = record.history


def _log_ends_reported(draft: _Draft, record: rec.LogEndsReported) -> None:
    log_ends = draft.own("log_ends")
    for partition, end in record.log_ends.items():
        log_ends[partition] = {**log_ends.get(partition, {}), record.broker_id: end}


def _elections_waited(draft: _Draft, record: rec.ElectionsWaited) -> None:
    draft.put("waited", frozenset((*draft.see("waited"), *record.partitions)))


def _controllers_registered(draft: _Draft, record: rec.ControllersRegistered) -> None:
    draft.put("controllers", record.controllers)


def _broker_shuts_down(draft: _Draft, record: rec.BrokerShutsDown) -> None:
    draft.put("shutting_down", draft.see("shutting_down") | {record.broker_id})


def _replicas_offline(draft: _Draft, record: rec.ReplicasOffline) -> None:
    offline = draft.own("offline_replicas")
    left = (offline.get(record.broker_id, frozenset()) | record.failed) - record.back
    offline[record.broker_id] = left


def _replicas_deleted(draft: _Draft, record: rec.ReplicasDeleted) -> None:
    deleting = draft.own("deleting")
    if record.topic in deleting:
        deleting[record.topic] = deleting[record.topic] - record.replicas


def _forwarded_response_stored(draft: _Draft, record: rec.ForwardedResponseStored) -> None:
    draft.store(Create(layout.forwarded_path(record.key), record.response.payload))
    draft.own("forwarded")[record.key] = record.response


def _forwarded_responses_removed(draft: _Draft, record: rec.ForwardedResponsesRemoved) -> None:
    responses = draft.own("forwarded")
    for key in record.keys:
        draft.delete(layout.forwarded_path(key))
        del responses[key]


def _external_update(draft: _Draft, record: ExternalUpdate) -> None:
    """Changes only the context (`direct_writes/`): the store has it already."""
    record.merge_into(draft.own)
    for topic in record.topics:
        _know_topic(draft, topic)
    draft.put("shared_version", record.version)


_REPLAY: dict[type, Callable[[_Draft, Any], None]] = {
    rec.TopicCreated: _topic_created,
    rec.TopicAssignmentChanged: _assignment_changed,
    rec.PartitionCreated: _partition_created,
    rec.PartitionStateChanged: _state_changed,
    rec.ConfigsSet: _configs_set,
    rec.AclsSet: _acls_set,
    rec.FeaturesFinalized: _features_finalized,
    rec.TokenSet: _token_set,
    rec.TokenRemoved: _token_removed,
    rec.ForwardedResponseStored: _forwarded_response_stored,
    rec.ForwardedResponsesRemoved: _forwarded_responses_removed,
    rec.TopicDeletionStarted: _deletion_started,
    rec.TopicDeletionRejected: _deletion_rejected,
    rec.TopicDeleted: _topic_deleted,
    rec.ProducerIdsAllocated: _producer_ids_allocated,
    rec.BrokerHistoryKept: _history_kept,
    rec.LogEndsReported: _log_ends_reported,
    rec.ElectionsWaited: _elections_waited,
    rec.BrokerJoined: _broker_joined,
    rec.BrokerLeft: _broker_left,
    rec.ControllersRegistered: _controllers_registered,
    rec.BrokerShutsDown: _broker_shuts_down,
    rec.ReplicasOffline: _replicas_offline,
    rec.ReplicasDeleted: _replicas_deleted,
    ExternalUpdate: _external_update,
}
