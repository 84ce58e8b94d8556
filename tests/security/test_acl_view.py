from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from signalbox.security.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermission,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from signalbox.security.acl_view import AclIndex

TOPIC = ResourceType.TOPIC


def entry(name: str) -> AccessControlEntry:
    return AccessControlEntry(f"User:{name}", "*", AclOperation.READ, AclPermission.ALLOW)


def binding(name: str, pattern_type: PatternType = PatternType.LITERAL) -> AclBinding:
    return AclBinding(ResourcePattern(TOPIC, name, pattern_type), entry(f"{pattern_type.name} {name}"))


def test_literal_wildcard_and_prefixes_are_found() -> None:
    index = AclIndex(
        [
            binding("flights"),
            binding("*"),
            binding("fl", PatternType.PREFIXED),
            binding("flights-eu", PatternType.PREFIXED),
            binding("other"),
        ],
        stamp=7,
    )
    assert {found.principal for found in index.entries_for(TOPIC, "flights")} == {
        "User:LITERAL flights",
        "User:LITERAL *",
        "User:PREFIXED fl",
    }
    assert index.entries_for(ResourceType.GROUP, "flights") == ()
    assert len(index.entries_for(TOPIC, "*")) == 1
    assert (len(index), index.stamp) == (5, 7)
    assert set(index) == set(AclIndex(index))
    assert len(list(index.patterns_of(TOPIC))) == 5


def test_the_same_acl_twice_is_one() -> None:
    assert len(AclIndex([binding("a"), binding("a")])) == 1


@given(
    prefixes=st.sets(st.text("ab-", min_size=1, max_size=6), max_size=25),
    name=st.text("ab-", min_size=1, max_size=8),
)
def test_prefixes_found_are_exactly_those_that_begin_the_name(prefixes: set[str], name: str) -> None:
    index = AclIndex(binding(prefix, PatternType.PREFIXED) for prefix in prefixes)
    found = [item.principal.removeprefix("User:PREFIXED ") for item in index.entries_for(TOPIC, name)]
    assert sorted(found) == sorted(prefix for prefix in prefixes if name.startswith(prefix))


def test_changes_make_another_index_and_leave_the_first_as_it_was() -> None:
    flights, prefix = binding("flights"), binding("fl", PatternType.PREFIXED)
    first = AclIndex([flights, prefix], stamp=3)
    second = first.with_changes({flights.pattern: (), prefix.pattern: (), binding("u").pattern: (entry("x"),)})
    assert (first.stamp, second.stamp) == (3, 4)
    assert set(first) == {flights, prefix}
    assert [pattern.name for pattern, _ in second.patterns()] == ["u"]
    assert second.entries_for(TOPIC, "flights") == ()
    assert second.entries_on(binding("u").pattern) == (entry("x"),)
    third = second.with_changes({prefix.pattern: (prefix.entry,)})
    assert third.entries_for(TOPIC, "flights") == (prefix.entry,)
