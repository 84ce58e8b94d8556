"""Look-ups of ACLs by resource, prefix and principal; and changes, which leave the previous index as it was."""

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
from signalbox.security.acl_view import AclIndex, Entries

TOPIC, PREFIXED = ResourceType.TOPIC, PatternType.PREFIXED
ALICE, BOB, ANY_USER = "User:alice", "User:bob", "User:*"


def entry(principal: str = ALICE, host: str = "*") -> AccessControlEntry:
    return AccessControlEntry(principal, host, AclOperation.READ, AclPermission.ALLOW)


def binding(name: str, pattern_type: PatternType = PatternType.LITERAL, principal: str = ALICE) -> AclBinding:
    """An ACL that the tests recognize by its host: pattern type and name."""
    return AclBinding(ResourcePattern(TOPIC, name, pattern_type), entry(principal, f"{pattern_type.name} {name}"))


def hosts(entries: Entries | None) -> set[str] | None:
    return None if entries is None else {each.host for each in entries}


def test_literal_wildcard_and_prefixes_are_found() -> None:
    index = AclIndex(
        [binding("flights"), binding("*"), binding("fl", PREFIXED), binding("flights-eu", PREFIXED), binding("other")],
        stamp=7,
    )
    assert hosts(index.entries_for(TOPIC, "flights", ALICE)) == {"LITERAL flights", "LITERAL *", "PREFIXED fl"}
    assert index.entries_for(ResourceType.GROUP, "flights", ALICE) is None
    assert hosts(index.entries_for(TOPIC, "*", ALICE)) == {"LITERAL *"}
    assert (len(index), index.stamp) == (5, 7)
    assert set(index) == set(AclIndex(index))
    assert len(list(index.patterns_of(TOPIC, ALICE))) == 5


def test_ones_own_entries_and_everybodys() -> None:
    index = AclIndex([binding("t"), binding("t", principal=BOB), binding("t", PREFIXED, ANY_USER), binding("u")])
    assert hosts(index.entries_for(TOPIC, "t", BOB)) == {"LITERAL t", "PREFIXED t"}
    assert hosts(index.entries_for(TOPIC, "t", "User:carol")) == {"PREFIXED t"}
    assert index.entries_for(TOPIC, "u", BOB) == (), "others have ACLs there"
    assert index.entries_for(TOPIC, "v", BOB) is None, "no principal has ACLs there"
    assert [(pattern.name, pattern.pattern_type) for pattern, _ in index.patterns_of(TOPIC, "User:carol")] == [
        ("t", PREFIXED)
    ]
    assert list(index.patterns_of(ResourceType.GROUP, ALICE)) == []


def test_the_same_acl_twice_is_one() -> None:
    assert len(AclIndex([binding("a"), binding("a")])) == 1


@given(
    prefixes=st.sets(st.text("ab-", min_size=1, max_size=6), max_size=25),
    name=st.text("ab-", min_size=1, max_size=8),
)
def test_prefixes_found_are_exactly_those_that_begin_the_name(prefixes: set[str], name: str) -> None:
    index = AclIndex(binding(prefix, PREFIXED) for prefix in prefixes)
    found = hosts(index.entries_for(TOPIC, name, ALICE)) or set()
    assert found == {f"PREFIXED {prefix}" for prefix in prefixes if name.startswith(prefix)}


def test_changes_make_another_index_and_leave_the_first_as_it_was() -> None:
    flights, prefix, other = binding("flights"), binding("fl", PREFIXED), binding("u", principal=BOB)
    first = AclIndex([flights, prefix], stamp=3)
    second = first.with_changes({flights.pattern: (), prefix.pattern: (), other.pattern: (other.entry,)})
    assert (first.stamp, second.stamp) == (3, 4)
    assert set(first) == {flights, prefix}
    assert hosts(first.entries_for(TOPIC, "flights", ALICE)) == {"LITERAL flights", "PREFIXED fl"}
    assert [pattern.name for pattern, _ in second.patterns()] == ["u"]
    assert second.entries_for(TOPIC, "flights", ALICE) is None
    assert second.entries_on(other.pattern) == (other.entry,)
    assert second.with_changes({prefix.pattern: (prefix.entry,)}).entries_for(TOPIC, "fly", ALICE) == (prefix.entry,)


_PATTERNS = st.builds(
    ResourcePattern,
    st.just(TOPIC),
    st.text("ab", min_size=1, max_size=3),
    st.sampled_from([PatternType.LITERAL, PREFIXED]),
)
_ENTRIES = st.lists(st.builds(entry, st.sampled_from([ALICE, BOB, ANY_USER]), st.sampled_from("xy")), unique=True)


@given(st.lists(st.dictionaries(_PATTERNS, _ENTRIES.map(tuple), max_size=4), max_size=5))
def test_a_changed_index_equals_a_rebuilt_one(
    changes: list[dict[ResourcePattern, Entries]],
) -> None:
    index, all_ = AclIndex(), {}
    for change in changes:
        index = index.with_changes(change)
        all_.update(change)
    fresh = AclIndex(AclBinding(pattern, each) for pattern, entries in all_.items() for each in entries)
    assert set(index) == set(fresh)
    for name in ("a", "ab", "ba", "bbb"):
        for principal in (ALICE, BOB, "User:carol"):
            found, expected = (each.entries_for(TOPIC, name, principal) for each in (index, fresh))
            assert (None if found is None else set(found)) == (None if expected is None else set(expected))
            assert sorted(map(repr, index.patterns_of(TOPIC, principal))) == sorted(
                map(repr, fresh.patterns_of(TOPIC, principal))
            )
