"""The current ACLs, indexed for look-ups by the authorizer; the metadata package supplies them.

`AclView` is the port; `AclIndex` keeps bindings in memory. An index is never changed: a new set of ACLs is a new index
with another stamp, so a decision sees one state. Entries are kept by principal as well, so that a look-up for one user
on a resource with the ACLs of a thousand users costs no more than this user's own entries.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from signalbox.security.acl import (
    ANY_USER,
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
        """Changes whenever an ACL has changed."""
        ...

    def entries_for(self, resource_type: ResourceType, name: str, principal: str) -> Entries | None:
        """Entries for the principal and for `User:*` on the resource: literal name, literal `*`, and every prefix of
        the name. None when no principal has an ACL there."""
        ...

    def patterns_of(self, resource_type: ResourceType, principal: str) -> Iterable[tuple[ResourcePattern, Entries]]:
        """Every pattern of a type on which the principal or `User:*` has entries, with these entries."""
        ...


class AclIndex:
    """Bindings by pattern and by principal. A look-up takes one search per matching prefix."""

    def __init__(self, bindings: Iterable[AclBinding] = (), stamp: int = 0) -> None:
        self.stamp = stamp
        self._entries: dict[ResourcePattern, Entries] = {}
        self._of: dict[str, dict[ResourcePattern, Entries]] = {}
        self._prefixes: dict[ResourceType, list[str]] = {}
        entries_by_pattern: dict[ResourcePattern, dict[AccessControlEntry, None]] = defaultdict(dict)
        for binding in bindings:
            entries_by_pattern[binding.pattern][binding.entry] = None
        self._adopt({pattern: tuple(entries) for pattern, entries in entries_by_pattern.items()})

    def __len__(self) -> int:
        return sum(map(len, self._entries.values()))

    def __iter__(self) -> Iterator[AclBinding]:
        for pattern, entries in self._entries.items():
            for entry in entries:
                yield AclBinding(pattern, entry)

    def with_changes(self, changes: Mapping[ResourcePattern, Entries]) -> AclIndex:
        """The next index: these patterns get these entries; no entries remove a pattern. Unchanged parts are shared, so
        that one more ACL among ten thousand does not block the event loop."""
        after = AclIndex(stamp=self.stamp + 1)
        after._entries, after._of, after._prefixes = dict(self._entries), dict(self._of), dict(self._prefixes)
        after._adopt(changes)
        return after

    def patterns(self) -> Iterator[tuple[ResourcePattern, Entries]]:
        """Every pattern with its entries."""
        return iter(self._entries.items())

    def entries_on(self, pattern: ResourcePattern) -> Entries:
        """Entries of exactly this pattern."""
        return self._entries.get(pattern, ())

    def entries_for(self, resource_type: ResourceType, name: str, principal: str) -> Entries | None:
        patterns = [pattern for pattern in self._applying(resource_type, name) if pattern in self._entries]
        if not patterns:
            return None
        entries: Entries = ()
        for owner in (principal, ANY_USER):
            entries_of_owner = self._of.get(owner)
            if entries_of_owner is not None:
                for pattern in patterns:
                    entries += entries_of_owner.get(pattern, ())
        return entries

    def patterns_of(self, resource_type: ResourceType, principal: str) -> Iterator[tuple[ResourcePattern, Entries]]:
        for owner in (principal, ANY_USER):
            for pattern, entries in self._of.get(owner, {}).items():
                if pattern.resource_type is resource_type:
                    yield pattern, entries

    def _adopt(self, changes: Mapping[ResourcePattern, Entries]) -> None:
        """Apply changes; only before the index is used elsewhere. Parts shared with another index are copied first."""
        principals: set[str] = set()
        for pattern, entries in changes.items():
            before = self._entries.pop(pattern, ())
            if entries:
                self._entries[pattern] = entries
            old, new = _by_principal(before), _by_principal(entries)
            for principal in {*old, *new}:
                principal_patterns = new.get(principal, [])
                if principal_patterns == old.get(principal):
                    continue
                if principal not in principals:
                    self._of[principal] = dict(self._of.get(principal, {}))
                    principals.add(principal)
                if principal_patterns:
                    self._of[principal][pattern] = tuple(principal_patterns)
                else:
                    del self._of[principal][pattern]
            if pattern.pattern_type is PatternType.PREFIXED and bool(before) != bool(entries):
                self._change_prefix(pattern)
        for principal in principals:
            if not self._of[principal]:
                del self._of[principal]

    def _change_prefix(self, pattern: ResourcePattern) -> None:
        names = list(self._prefixes.get(pattern.resource_type, ()))
        if pattern in self._entries:
            insort(names, pattern.name)
        else:
            del names[bisect_left(names, pattern.name)]
        self._prefixes[pattern.resource_type] = names

    def _applying(self, resource_type: ResourceType, name: str) -> Iterator[ResourcePattern]:
        """Patterns that can apply to a name; the literal ones may not exist."""
        yield ResourcePattern(resource_type, name)
        if name != WILDCARD:
            yield ResourcePattern(resource_type, WILDCARD)
        for prefix in self._matching_prefixes(resource_type, name):
            yield ResourcePattern(resource_type, prefix, PatternType.PREFIXED)

    def _matching_prefixes(self, resource_type: ResourceType, name: str) -> Iterator[str]:
        """From the longest to the shortest: each step finds the last prefix that sorts at or before the rest."""
        prefixes = self._prefixes.get(resource_type, ())
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


def _by_principal(entries: Entries) -> dict[str, list[AccessControlEntry]]:
    entries_by_principal: dict[str, list[AccessControlEntry]] = {}
    for entry in entries:
        entries_by_principal.setdefault(entry.principal, []).append(entry)
    return entries_by_principal


def _common_length(a: str, b: str) -> int:
    for position, (x, y) in enumerate(zip(a, b)):
        if x != y:
            return position
    return min(len(a), len(b))
