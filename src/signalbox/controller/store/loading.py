"""The store's content as a context: all of it for a new controller, or only what one decision needs.

A controller reads the whole store only here: later it knows its own writes, and gets notifications of changes that
other nodes may write (`direct_writes/shared_metadata.py`).
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from functools import partial

from signalbox.common.cooperative_task import yielding
from signalbox.common.ids import ZERO_UUID
from signalbox.common.scheduling.task_scheduler import TaskScheduler
from signalbox.controller.context import (
    ControlledTopic,
    ControllerContext,
    LiveBroker,
    StoredAcls,
    collision_name,
)
from signalbox.controller.direct_writes.metadata_change_log import read_change_log
from signalbox.controller.entities.feature_control import compatible_brokers
from signalbox.controller.forwarded_response import stored_responses
from signalbox.controller.store.topic_corruption import TopicCorruption, describe
from signalbox.controller.topics.topic_deletion import replicas_to_delete
from signalbox.controller.topics.topic_loading import by_topic, read_topic
from signalbox.metadata import layout
from signalbox.metadata.broker_history import histories_of
from signalbox.metadata.entries.acl_entries import ROOT_OF, decode_acls, pattern_of
from signalbox.metadata.entries.corrupt_entries import CorruptEntries, EntryKind
from signalbox.metadata.entries.delegation_token import decode_token
from signalbox.metadata.entries.entity_config import Configs, decode_configs
from signalbox.metadata.entries.feature_levels import NO_FEATURES, FinalizedFeatures, LevelRanges, decode_features
from signalbox.metadata.entries.producer_id_block import UNREADABLE, ProducerIdBlock, decode_producer_id_block
from signalbox.metadata.entries.registration import registration_at
from signalbox.metadata.entries.topic_assignment import TopicAssignment
from signalbox.metadata.store.concurrent_reads import both, children_of, read_trees
from signalbox.metadata.store.port import Entry, MetadataStore
from signalbox.security.acl import ResourcePattern
from signalbox.security.delegation_token import DelegationToken

_UNREAD_TOPIC = ControlledTopic("", TopicAssignment(ZERO_UUID, {}), {})
_MARK_DEPTH = layout.DELETE_TOPICS.count("/") + 1


async def load_brokers(store: MetadataStore) -> dict[int, LiveBroker]:
    """All registered brokers with their epochs. Registrations without data yet are left out."""
    return brokers_of(await store.read_tree(layout.BROKER_IDS), CorruptEntries())


def brokers_of(tree: Mapping[str, Entry], corrupt: CorruptEntries) -> dict[int, LiveBroker]:
    """The same from entries that were read."""
    brokers = {}
    for path, entry in tree.items():
        if path.startswith(f"{layout.BROKER_IDS}/") and entry.data is not None:
            registration = corrupt.read(EntryKind.REGISTRATION, path, entry.data, registration_at, None)
            if registration is not None:
                brokers[registration.broker_id] = LiveBroker(registration, entry.creation_id)
    return brokers


async def load_controllers(store: MetadataStore) -> dict[int, LevelRanges]:
    """The feature levels that each registered dedicated controller supports; none if its registration cannot be read:
    it may still be elected."""
    controllers: dict[int, LevelRanges] = {}
    corrupt = CorruptEntries()
    for path, entry in (await store.read_tree(layout.CONTROLLER_IDS)).items():
        name = path.rpartition("/")[2]
        if path == layout.CONTROLLER_IDS or entry.data is None or not (name.isascii() and name.isdecimal()):
            continue
        registration = corrupt.read(EntryKind.CONTROLLER_REGISTRATION, path, entry.data, registration_at, None)
        controllers[int(name)] = {} if registration is None else registration.features
    return controllers


def _features(entry: Entry | None, corrupt: CorruptEntries) -> FinalizedFeatures:
    """A corrupt entry does not prevent an election: brokers that start reject it themselves and stop, and those that
    run were checked before."""
    if entry is None:
        return NO_FEATURES
    features = corrupt.read(
        EntryKind.FEATURES, layout.FEATURE, entry.data, lambda _, data: decode_features(data, entry.version), None
    )
    return FinalizedFeatures(read_error=corrupt.problems[layout.FEATURE]) if features is None else features


async def load_context(
    store: MetadataStore, controller_id: int, controller_epoch: int, scheduler: TaskScheduler
) -> ControllerContext:
    """Everything in the store. The topics are decoded by a cooperative task."""
    # Read first: a change after this point is found by the reads below, or is notified later, or both.
    shared = await read_change_log(store)
    tree = await store.read_tree(layout.TOPICS)
    marks = await store.read_tree(layout.DELETE_TOPICS)
    going = {path.removeprefix(f"{layout.DELETE_TOPICS}/") for path in marks if path.count("/") == _MARK_DEPTH}
    corrupt = CorruptEntries()
    topics, corrupt_topics = await scheduler.result_of(partial(_topics, tree, going, corrupt))
    features = _features(await store.read(layout.FEATURE), corrupt)
    brokers = compatible_brokers(await load_brokers(store), features.levels)
    block = await store.read(layout.PRODUCER_ID_BLOCK)
    forwarded = await store.read_tree(layout.FORWARDED)
    configs, tokens = await store.read_tree(layout.CONFIG), await store.read_tree(layout.DELEGATION_TOKENS)
    return ControllerContext(
        controller_id=controller_id,
        controller_epoch=controller_epoch,
        brokers=brokers,
        controllers=await load_controllers(store),
        topics=topics,
        topic_names={topic.topic_id: name for name, topic in topics.items() if topic.topic_id != ZERO_UUID},
        collision_names={collision_name(name): name for name in (*topics, *corrupt_topics)},
        configs=_configs(configs, corrupt),
        acls=_acls(await read_trees(store, ROOT_OF.values()), corrupt),
        tokens=_tokens(tokens, corrupt),
        deleting={
            name: replicas_to_delete(topics[name].assignment, brokers) if name in topics else frozenset()
            for name in sorted(going - corrupt_topics.keys())
        },
        producer_id_block=_producer_ids(block, corrupt),
        producer_id_version=block.version if block else 0,
        forwarded=stored_responses(forwarded),
        features=features,
        shared_version=shared.version,
        corrupt_topics=corrupt_topics,
        corrupt_entries=corrupt.quarantined,
        unknown_entries=layout.unknown_entries_in(tree, marks, configs, tokens, forwarded),
        histories=histories_of(await store.read_tree(layout.BROKER_HISTORY)),
    )


def _topics(
    tree: Mapping[str, Entry], going: Container[str], corrupt: CorruptEntries
) -> tuple[dict[str, ControlledTopic], dict[str, TopicCorruption]]:
    """Yields."""
    topics, corrupt_topics = {}, {}
    for name, entries in yielding(by_topic(tree).items()):
        read = read_topic(name, entries, name in going)
        if read.topic is not None:
            topics[name] = read.topic
        if read.corruption is not None:
            corrupt_topics[name] = read.corruption
            corrupt.add(EntryKind.TOPIC, read.corrupt, describe(name, read.corruption))
    return topics, corrupt_topics


async def load_part(store: MetadataStore, controller_id: int, paths: Iterable[str]) -> ControllerContext:
    """The entries at and below these paths: enough for a decision that reads nothing else. It has the names of all
    topics, and nothing else of topics that `paths` do not name."""
    tree, (names, marked) = await both(
        read_trees(store, paths), children_of(store, layout.TOPICS, layout.DELETE_TOPICS)
    )
    corrupt = CorruptEntries()
    return ControllerContext(
        controller_id=controller_id,
        controller_epoch=-1,
        brokers=brokers_of(tree, corrupt),
        topics=dict.fromkeys(names, _UNREAD_TOPIC) | topics_of(tree),
        collision_names={collision_name(name): name for name in names},
        configs=_configs(tree, corrupt),
        acls=_acls(tree, corrupt),
        tokens=_tokens(tree, corrupt),
        deleting=dict.fromkeys(marked, frozenset()),
    )


def topics_of(tree: Mapping[str, Entry]) -> dict[str, ControlledTopic]:
    """The topics whose own entry exists and can be read."""
    read = {name: read_topic(name, entries).topic for name, entries in by_topic(tree).items()}
    return {name: topic for name, topic in read.items() if topic is not None}


def _producer_ids(entry: Entry | None, corrupt: CorruptEntries) -> ProducerIdBlock | None:
    return corrupt.read(
        EntryKind.PRODUCER_IDS,
        layout.PRODUCER_ID_BLOCK,
        entry.data if entry else None,
        lambda _, data: decode_producer_id_block(data),
        UNREADABLE,
    )


def _configs(tree: Mapping[str, Entry], corrupt: CorruptEntries) -> dict[str, Configs]:
    """By entity path. An entry without configs is included, so that it is not created again."""
    configs = {}
    for path, entry in tree.items():
        entity_path = path.removeprefix(layout.CONFIG).removeprefix("/")
        if path.startswith(layout.CONFIG) and "/" in entity_path and not path.startswith(layout.CONFIG_CHANGES):
            none: Configs = {}
            configs[entity_path] = corrupt.read(EntryKind.CONFIGS, path, entry.data, decode_configs, none)
    return configs


def _tokens(tree: Mapping[str, Entry], corrupt: CorruptEntries) -> dict[str, DelegationToken]:
    """By id; empty in a cluster that never had a delegation token."""
    tokens = {}
    for path, entry in tree.items():
        if not path.startswith(f"{layout.DELEGATION_TOKENS}/"):
            continue
        token = corrupt.read(EntryKind.TOKEN, path, entry.data, decode_token, None)
        if token is not None:
            tokens[token.token_id] = token
    return tokens


def _acls(tree: Mapping[str, Entry], corrupt: CorruptEntries) -> dict[ResourcePattern, StoredAcls]:
    """Empty in a cluster that never had an authorizer. A corrupt entry counts as empty until it is written again."""
    acls = {}
    for path, entry in tree.items():
        pattern = pattern_of(path)
        if pattern is not None:
            entries = corrupt.read(EntryKind.ACLS, path, entry.data, decode_acls, ())
            acls[pattern] = StoredAcls(entries, entry.version)
    return acls
