from __future__ import annotations

import pytest

from signalbox.broker.request_templates import KEY_AT, RequestTemplates, is_flexible
from signalbox.common.limits import MAX_HOT_SHAPES_PER_CONNECTION
from signalbox.protocol.api_table import ApiKey


def test_keys_end_where_they_end() -> None:
    shapes: RequestTemplates[str] = RequestTemplates()
    shapes.remember(b"four", "a")
    shapes.remember(b"seven!!", "b")
    assert sorted(shapes.ends) == [KEY_AT + 4, KEY_AT + 7]
    shapes.forget(b"four")
    assert shapes.ends == (KEY_AT + 7,)
    assert shapes.by_key == {b"seven!!": "b"}


def test_the_oldest_shape_goes_first() -> None:
    shapes: RequestTemplates[int] = RequestTemplates()
    for number in range(MAX_HOT_SHAPES_PER_CONNECTION + 1):
        shapes.remember(b"%d" % number, number)
    assert len(shapes.by_key) == MAX_HOT_SHAPES_PER_CONNECTION
    assert b"0" not in shapes.by_key


def test_looks_in_vain_become_seldom() -> None:
    shapes: RequestTemplates[int] = RequestTemplates()
    looks = sum(shapes.may_learn() for _ in range(10_000))
    assert 10 <= looks <= 25


def test_a_success_makes_looks_frequent_again() -> None:
    shapes: RequestTemplates[int] = RequestTemplates()
    for _ in range(100):
        shapes.may_learn()
    shapes.remember(b"key", 1)
    assert shapes.may_learn()


def test_more_kinds_than_there_is_room_for_are_not_learnt_all_the_time() -> None:
    shapes: RequestTemplates[int] = RequestTemplates()
    learnt = 0
    for number in range(5_000):
        if shapes.may_learn():
            learnt += 1
            shapes.remember(b"%d" % number, number)
    assert learnt < 100


@pytest.mark.parametrize(("version", "flexible"), [(8, False), (9, True)])
def test_flexible_versions(version: int, flexible: bool) -> None:
    assert is_flexible(ApiKey.PRODUCE, version) is flexible
