from __future__ import annotations

import pytest

from signalbox.client.group_consumer.member_subscription import MemberSubscription
from signalbox.client.group_consumer.range_assignor import ASSIGNORS, assignors_of, range_assignment
from tests.client.group_consumer.test_sticky_assignor import shown


def member(name: str, *topics: str, instance: str | None = None) -> MemberSubscription:
    return MemberSubscription(member_id=name, topics=frozenset(topics), group_instance_id=instance)


@pytest.mark.parametrize(
    ("counts", "members", "expected"),
    [
        ({"t": 3, "u": 3}, [member("b", "t", "u"), member("a", "t", "u")], {"a": "t0 t1 u0 u1", "b": "t2 u2"}),
        ({"t": 2}, [member("a", "t"), member("b", "t"), member("c", "t")], {"a": "t0", "b": "t1", "c": ""}),
        ({"t": 2, "u": 1}, [member("a", "t"), member("b", "t", "u")], {"a": "t0", "b": "t1 u0"}),
        ({}, [member("a", "missing")], {"a": ""}),
        ({"t": 1}, [member("a", "u")], {"a": ""}),
        ({"t": 2}, [member("a", "t"), member("z", "t", instance="i")], {"z": "t0", "a": "t1"}),
        ({"t": 5}, [member("a", "t"), member("b", "t")], {"a": "t0 t1 t2", "b": "t3 t4"}),
    ],
)
def test_ranges(counts: dict[str, int], members: list[MemberSubscription], expected: dict[str, str]) -> None:
    assert shown(range_assignment(counts, members)) == expected


def test_assignors_are_named_as_in_kafka() -> None:
    assert [(row.name, row.cooperative) for row in ASSIGNORS.values()] == [
        ("range", False),
        ("cooperative-sticky", True),
    ]
    assert [row.name for row in assignors_of(["cooperative-sticky", "range"])] == ["cooperative-sticky", "range"]
    with pytest.raises(ValueError, match=r"partition\.assignment\.strategy: 'sticky' is none of cooperative-sticky"):
        assignors_of(["range", "sticky"])
