"""The ACLs that hold now, arranged for looking up: what the metadata room hands the authorizer.

`AclView` is the port; `AclIndex` keeps bindings in memory. An index is never changed: a new set of ACLs is a new index
with another stamp, so a decision sees one state throughout.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from signalbox.security.acl import (
    WILDCARD,
    AccessControlEntry,
    AclBinding,
    PatternType,
    ResourcePattern,
    ResourceType,
)

Entries = tuple[AccessControlEntry, ...]


class AclView(Protocol):
    """Port: the state of all ACLs."""

    @property
    def stamp(self) -> int:
        """Moves whenever an ACL has changed."""
        ...

    def entries_for(self, resource_type: ResourceType, name: str) -> Entries:
        """Entries on the resource: literal name, literal `*`, and every prefix of the name."""
        ...

    def patterns_of(self, resource_type: ResourceType) -> Iterable[tuple[ResourcePattern, Entries]]:
        """Every pattern of a type with its entries."""
        ...


class AclIndex:
    """Bindings by type, pattern and name. A look-up costs one search per matching prefix."""

    def __init__(self, bindings: Iterable[AclBinding] = (), stamp: int = 0) -> None:
        self.stamp = stamp
        entries: dict[ResourcePattern, dict[AccessControlEntry, None]] = defaultdict(dict)
        for binding in bindings:
            entries[binding.pattern][binding.entry] = None
        self._entries: dict[ResourcePattern, Entries] = {pattern: tuple(found) for pattern, found in entries.items()}
        self._prefixes: dict[ResourceType, list[str]] = _prefixes(self._entries)

    def __len__(self) -> int:
        return sum(map(len, self._entries.values()))

    def __iter__(self) -> Iterator[AclBinding]:
        for pattern, entries in self._entries.items():
            for entry in entries:
                yield AclBinding(pattern, entry)

    def with_changes(self, changes: Mapping[ResourcePattern, Entries]) -> AclIndex:
        """The next index: these patterns have these entries, none to drop a pattern. What did not change is shared, so
        that one ACL more among ten thousand does not hold up the event loop."""
        after = AclIndex(stamp=self.stamp + 1)
        after._entries = {**self._entries, **changes}
        for pattern, entries in changes.items():
            if not entries:
                del after._entries[pattern]
        prefixed = any(pattern.pattern_type is PatternType.PREFIXED for pattern in changes)
        after._prefixes = _prefixes(after._entries) if prefixed else self._prefixes
        return after

    def patterns(self) -> Iterator[tuple[ResourcePattern, Entries]]:
        """Every pattern with its entries."""
        return iter(self._entries.items())

    def entries_on(self, pattern: ResourcePattern) -> Entries:
        """Entries of exactly this pattern."""
        return self._entries.get(pattern, ())

    def entries_for(self, resource_type: ResourceType, name: str) -> Entries:
        entries = self._entries
        found = entries.get(ResourcePattern(resource_type, name), ())
        if name != WILDCARD:
            found += entries.get(ResourcePattern(resource_type, WILDCARD), ())
        for prefix in self._matching_prefixes(resource_type, name):
            found += entries[ResourcePattern(resource_type, prefix, PatternType.PREFIXED)]
        return found

    def patterns_of(self, resource_type: ResourceType) -> Iterator[tuple[ResourcePattern, Entries]]:
        for pattern, entries in self._entries.items():
            if pattern.resource_type is resource_type:
                yield pattern, entries

    def _matching_prefixes(self, resource_type: ResourceType, name: str) -> Iterator[str]:
        """From the longest to the shortest: each step goes to the last prefix that sorts before what is left."""
        prefixes = self._prefixes.get(resource_type, [])
        rest = name
        while prefixes:
            at = bisect_right(prefixes, rest) - 1
            if at < 0:
                return
            candidate = prefixes[at]
            common = _common_length(candidate, rest)
            if common == len(candidate):
                yield candidate
                if not candidate:
                    return
                rest = candidate[:-1]
            elif not common:
                return
            else:
                rest = rest[:common]


def _prefixes(patterns: Iterable[ResourcePattern]) -> dict[ResourceType, list[str]]:
    """Sorted names of the prefixed patterns."""
    prefixes: dict[ResourceType, list[str]] = defaultdict(list)
    for pattern in patterns:
        if pattern.pattern_type is PatternType.PREFIXED:
            prefixes[pattern.resource_type].append(pattern.name)
    for names in prefixes.values():
        names.sort()
    return prefixes


def _common_length(a: str, b: str) -> int:
    for position, (x, y) in enumerate(zip(a, b)):
        if x != y:
            return position
    return min(len(a), len(b))
