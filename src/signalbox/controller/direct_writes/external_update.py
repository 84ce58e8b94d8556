"""Direct metadata writes of brokers as one record of the controller: what a read of the store found, compared with the
context that the controller has by then."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from signalbox.controller.context import ControlledTopic, ControllerContext, StoredAcls
from signalbox.metadata import layout
from signalbox.metadata.entries.acl_entries import acl_path
from signalbox.metadata.entries.entity_config import Configs
from signalbox.security.acl import ResourcePattern
from signalbox.security.delegation_token import DelegationToken

Key = TypeVar("Key")
Found = TypeVar("Found")


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


@dataclass(frozen=True, slots=True)
class ExternalUpdate:
    """Direct metadata writes of other brokers, up to `version` of the metadata change log: configs by entity path,
    ACLs, tokens by id, topics without leaders. None stands for a deleted entry."""

    version: int
    configs: Mapping[str, Configs | None]
    acls: Mapping[ResourcePattern, StoredAcls | None]
    tokens: Mapping[str, DelegationToken | None]
    topics: tuple[ControlledTopic, ...]

    def merge_into(self, own: Callable[[str], Any]) -> None:
        """Apply configs, ACLs and tokens; `own` returns the copy of a mapping of the next context, by field name."""
        changes: Mapping[Any, Any]
        for name, changes in (("configs", self.configs), ("acls", self.acls), ("tokens", self.tokens)):
            if not changes:
                continue
            mapping = own(name)
            for key, value in changes.items():
                if value is None:
                    mapping.pop(key, None)
                else:
                    mapping[key] = value


def external_update(context: ControllerContext, read: SharedRead) -> ExternalUpdate:
    """What is newer in `read` than in the context."""
    known, part = context.shared_version, read.part
    return ExternalUpdate(
        version=read.version,
        configs=_newer(context.configs, part.configs, lambda each: read.is_newer(known, f"{layout.CONFIG}/{each}")),
        acls=_newer(context.acls, part.acls, lambda each: read.is_newer(known, acl_path(each))),
        tokens=_newer(context.tokens, part.tokens, lambda each: read.is_newer(known, layout.token_path(each))),
        topics=tuple(
            topic
            for name, topic in part.topics.items()
            if topic.name
            and name not in (context.topics.keys() | context.corrupt_topics.keys())
            and read.is_newer(known, layout.topic_path(name))
        ),
    )


def _newer(
    known: Iterable[Key], found: Mapping[Key, Found], is_newer: Callable[[Key], bool]
) -> dict[Key, Found | None]:
    """Of all known or found keys: those to apply, None for a deleted one."""
    return {key: found.get(key) for key in dict.fromkeys((*known, *found)) if is_newer(key)}
