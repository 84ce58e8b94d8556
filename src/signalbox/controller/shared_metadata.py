"""What the active controller learns of changes that other brokers stored by themselves, below the gate of the roll-out
(SPEC F17; `metadata/shared_changes.py`): configs, ACLs, tokens, topics made because somebody asked for them.

Read by `read_shared`, taken over by the decision `shared_changed`: a new topic gets its leaders, and a partition that
waits for one gets it when unclean elections have become allowed for it, as if the controller had decided all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from signalbox.common.ids import TopicPartition
from signalbox.controller.config_control import elections_allowed_now
from signalbox.controller.context import ControllerContext
from signalbox.controller.decision import Decision, Inputs, LeadersAnnounced
from signalbox.controller.loading import load_part
from signalbox.controller.partition_control import bring_online
from signalbox.controller.records import ConfigsSet, SharedLearnt
from signalbox.controller.replay import preview
from signalbox.metadata import layout
from signalbox.metadata.acl_entries import ROOT_OF, acl_path
from signalbox.metadata.shared_changes import decode_shared_changes
from signalbox.metadata.store.port import MetadataStore

Key = TypeVar("Key")
Found = TypeVar("Found")

_EVERYTHING = (layout.CONFIG, *ROOT_OF.values(), layout.DELEGATION_TOKENS)


@dataclass(frozen=True, slots=True)
class SharedRead:
    """What was read: `paths` with the version under which each was changed last, and `part`, which has all of them.
    `paths` is None when everything was looked at."""

    version: int
    paths: Mapping[str, int] | None
    part: ControllerContext

    def is_newer(self, version: int, path: str) -> bool:
        """Whether the path was changed after `version`, as far as is known."""
        return self.paths is None or self.paths.get(path, -1) > version


async def read_shared(store: MetadataStore, present: Callable[[], ControllerContext | None]) -> SharedRead | None:
    """What others have stored and the present context does not have; None when that is nothing. The context is asked
    for after the first look: what the controller has just written itself counts as known. StoreError, BadEntry."""
    shared = decode_shared_changes(await store.read(layout.SHARED_CHANGES))
    context = present()
    if context is None or shared.version <= context.shared_version:
        return None
    changed = shared.since(context.shared_version)
    if changed is None:
        topics = [layout.topic_path(name) for name in await store.children(layout.TOPICS)]
        known = context.topics.keys() | context.damaged.keys()
        unknown = [path for path in topics if path.removeprefix(f"{layout.TOPICS}/") not in known]
        return SharedRead(shared.version, None, await load_part(store, context.controller_id, (*_EVERYTHING, *unknown)))
    paths = {path: number for number, path in changed}
    return SharedRead(shared.version, paths, await load_part(store, context.controller_id, paths))


def shared_changed(context: ControllerContext, inputs: Inputs, read: SharedRead) -> Decision:
    """Takes over what is newer than the context: what it has learnt meanwhile by another way is left alone."""
    if read.version <= context.shared_version:
        return Decision()
    learnt = _learnt(context, read)
    after = preview(context, [learnt])
    led = [TopicPartition(topic.name, number) for topic in learnt.topics for number in topic.assignment.replicas]
    created, _ = bring_online(after, led, lambda topic: False)
    configs = [ConfigsSet(path, configs) for path, configs in learnt.configs.items() if configs is not None]
    elections, effects = elections_allowed_now(preview(after, created), inputs, configs)
    announced = LeadersAnnounced(tuple(each.partition for each in created), is_new=True)
    return Decision(records=(learnt, *created, *elections), effects=(announced, *effects))


def _learnt(context: ControllerContext, read: SharedRead) -> SharedLearnt:
    known, part = context.shared_version, read.part
    return SharedLearnt(
        version=read.version,
        configs=_fresh(context.configs, part.configs, lambda each: read.is_newer(known, f"{layout.CONFIG}/{each}")),
        acls=_fresh(context.acls, part.acls, lambda each: read.is_newer(known, acl_path(each))),
        tokens=_fresh(context.tokens, part.tokens, lambda each: read.is_newer(known, layout.token_path(each))),
        topics=tuple(
            topic
            for name, topic in part.topics.items()
            if topic.name
            and name not in (context.topics.keys() | context.damaged.keys())
            and read.is_newer(known, layout.topic_path(name))
        ),
    )


def _fresh(
    known: Iterable[Key], found: Mapping[Key, Found], is_newer: Callable[[Key], bool]
) -> dict[Key, Found | None]:
    """Of everything known or found: what has to be taken over, None for what is gone."""
    return {key: found.get(key) for key in dict.fromkeys((*known, *found)) if is_newer(key)}
