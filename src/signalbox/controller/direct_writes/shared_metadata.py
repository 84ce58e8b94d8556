"""How the active controller observes direct metadata writes of brokers below the gate (SPEC F17;
`metadata/metadata_change_log.py`): configs, ACLs, tokens, automatically created topics.

`read_shared` reads them, the decision `shared_changed` applies them: a new topic gets its leaders, and a partition
that waits for a leader gets one if unclean elections have become allowed for it, as if the controller had decided all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from signalbox.common.ids import TopicPartition
from signalbox.controller.context import ControllerContext
from signalbox.controller.decision import Decision, Inputs, LeadersAnnounced
from signalbox.controller.entities.config_control import elections_allowed_now
from signalbox.controller.partitions.partition_control import bring_online
from signalbox.controller.records import ConfigsSet, ExternalUpdate
from signalbox.controller.replay import preview
from signalbox.controller.store.loading import load_part
from signalbox.metadata import layout
from signalbox.metadata.entries.acl_entries import ROOT_OF, acl_path
from signalbox.metadata.metadata_change_log import decode_shared_changes
from signalbox.metadata.store.port import MetadataStore

Key = TypeVar("Key")
Found = TypeVar("Found")

_EVERYTHING = (layout.CONFIG, *ROOT_OF.values(), layout.DELEGATION_TOKENS)


@dataclass(frozen=True, slots=True)
class SharedRead:
    """The result of a read: `paths` with the version under which each was changed last, and `part`, which has all of
    them. `paths` is None if everything was read."""

    version: int
    paths: Mapping[str, int] | None
    part: ControllerContext

    def is_newer(self, version: int, path: str) -> bool:
        """Whether the path was changed after `version`; True if that is not known."""
        return self.paths is None or self.paths.get(path, -1) > version


async def read_shared(store: MetadataStore, present: Callable[[], ControllerContext | None]) -> SharedRead | None:
    """The changes that other nodes stored and the present context does not have; None if there are none. The context is
    taken after the first read: changes that the controller has just written itself are in it. StoreError, BadEntry."""
    shared = decode_shared_changes(await store.read(layout.SHARED_CHANGES))
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
    update = _external_update(context, read)
    after = preview(context, [update])
    led = [TopicPartition(topic.name, number) for topic in update.topics for number in topic.assignment.replicas]
    created, _ = bring_online(after, led, lambda topic: False)
    configs = [ConfigsSet(path, configs) for path, configs in update.configs.items() if configs is not None]
    elections, effects = elections_allowed_now(preview(after, created), inputs, configs)
    announced = LeadersAnnounced(tuple(each.partition for each in created), is_new=True)
    return Decision(records=(update, *created, *elections), effects=(announced, *effects))


def _external_update(context: ControllerContext, read: SharedRead) -> ExternalUpdate:
    known, part = context.shared_version, read.part
    return ExternalUpdate(
        version=read.version,
        configs=_fresh(context.configs, part.configs, lambda each: read.is_newer(known, f"{layout.CONFIG}/{each}")),
        acls=_fresh(context.acls, part.acls, lambda each: read.is_newer(known, acl_path(each))),
        tokens=_fresh(context.tokens, part.tokens, lambda each: read.is_newer(known, layout.token_path(each))),
        topics=tuple(
            topic
            for name, topic in part.topics.items()
            if topic.name
            and name not in (context.topics.keys() | context.corrupt_topics.keys())
            and read.is_newer(known, layout.topic_path(name))
        ),
    )


def _fresh(
    known: Iterable[Key], found: Mapping[Key, Found], is_newer: Callable[[Key], bool]
) -> dict[Key, Found | None]:
    """Of all known or found keys: those to apply, None for a deleted one."""
    return {key: found.get(key) for key in dict.fromkeys((*known, *found)) if is_newer(key)}
