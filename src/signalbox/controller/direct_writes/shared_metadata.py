"""How the active controller observes direct metadata writes of brokers below the gate (SPEC F17): configs, ACLs,
tokens, automatically created topics.

`read_shared` reads them, the decision `shared_changed` applies them: a new topic gets its leaders, and a partition
that waits for a leader gets one if unclean elections have become allowed for it, as if the controller had decided all.
"""

from __future__ import annotations

from collections.abc import Callable

from signalbox.common.ids import TopicPartition
from signalbox.controller.context import ControllerContext
from signalbox.controller.decision import Decision, Inputs, LeadersAnnounced
from signalbox.controller.direct_writes.external_update import SharedRead, external_update
from signalbox.controller.direct_writes.metadata_change_log import read_change_log
from signalbox.controller.entities.config_control import elections_allowed_now
from signalbox.controller.partitions.partition_control import bring_online
from signalbox.controller.records import ConfigsSet
from signalbox.controller.replay import preview
from signalbox.controller.store.loading import load_part
from signalbox.metadata import layout
from signalbox.metadata.entries.acl_entries import ROOT_OF
from signalbox.metadata.store.port import MetadataStore

_EVERYTHING = (layout.CONFIG, *ROOT_OF.values(), layout.DELEGATION_TOKENS)


async def read_shared(store: MetadataStore, present: Callable[[], ControllerContext | None]) -> SharedRead | None:
    """The changes that other nodes stored and the present context does not have; None if there are none. The context is
    taken after the first read: changes that the controller has just written itself are in it. StoreError, BadEntry."""
    shared = await read_change_log(store)
    context = present()
    if context is None or shared.version <= context.shared_version:
        return None
    changed = shared.since(context.shared_version)
    if changed is None:
        topics = [layout.topic_path(name) for name in await store.children(layout.TOPICS)]
        known = context.topics.keys() | context.corrupt_topics.keys()
        unknown = [path for path in topics if path.removeprefix(f"{layout.TOPICS}/") not in known]
        return SharedRead(shared.version, None, await load_part(store, context.controller_id, (*_EVERYTHING, *unknown)))
    paths = {path: number for number, path in changed}
    return SharedRead(shared.version, paths, await load_part(store, context.controller_id, paths))


def shared_changed(context: ControllerContext, inputs: Inputs, read: SharedRead) -> Decision:
    """Apply the changes that are newer than the context; those that it has got meanwhile are skipped. Yields."""
    if read.version <= context.shared_version:
        return Decision()
    update = external_update(context, read)
    after = preview(context, [update])
    led = [TopicPartition(topic.name, number) for topic in update.topics for number in topic.assignment.replicas]
    created, _ = bring_online(after, led, lambda topic: False)
    configs = [ConfigsSet(path, configs) for path, configs in update.configs.items() if configs is not None]
    elections, effects = elections_allowed_now(preview(after, created), inputs, configs)
    announced = LeadersAnnounced(tuple(each.partition for each in created), is_new=True)
    return Decision(records=(update, *created, *elections), effects=(announced, *effects))
