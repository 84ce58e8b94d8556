from __future__ import annotations

from typing import NamedTuple

import pytest

from signalbox.broker.fast_path.request_templates import KEY_AT, Layout, RequestTemplates, is_flexible
from signalbox.common.limits import MAX_REQUEST_TEMPLATES_PER_CONNECTION
from signalbox.protocol.api_table import ApiKey


class Named(NamedTuple):
    key: bytes
    layout: Layout = (slice(KEY_AT, None),)


def numbered(number: int) -> Named:
    return Named(b"%d" % number)


def test_a_template_is_found_by_its_constant_bytes() -> None:
    templates: RequestTemplates[Named] = RequestTemplates()
    head = Named(b"four", (slice(KEY_AT, KEY_AT + 4),))
    around = Named(b"abcd", (slice(KEY_AT, KEY_AT + 2), slice(KEY_AT + 4, None)))
    for template in (head, around):
        templates.add(template)
    assert templates.find(memoryview(bytes(KEY_AT) + b"four and more")) is head
    assert templates.find(memoryview(bytes(KEY_AT) + b"ab??cd")) is around
    assert templates.find(memoryview(bytes(KEY_AT) + b"ab??ce")) is None
    assert templates.find(memoryview(bytes(KEY_AT) + b"abcd")) is None
    templates.forget(head)
    assert templates.find(memoryview(bytes(KEY_AT) + b"four")) is None
    assert templates.by_key == {b"abcd": around}


def test_the_oldest_template_is_evicted_first() -> None:
    templates: RequestTemplates[Named] = RequestTemplates()
    for number in range(MAX_REQUEST_TEMPLATES_PER_CONNECTION + 1):
        templates.add(numbered(number))
    assert len(templates.by_key) == MAX_REQUEST_TEMPLATES_PER_CONNECTION
    assert b"0" not in templates.by_key


def test_looks_in_vain_become_seldom() -> None:
    templates: RequestTemplates[Named] = RequestTemplates()
    looks = sum(templates.should_sample() for _ in range(10_000))
    assert 10 <= looks <= 25


def test_a_success_makes_looks_frequent_again() -> None:
    templates: RequestTemplates[Named] = RequestTemplates()
    for _ in range(100):
        templates.should_sample()
    templates.add(Named(b"key"))
    assert templates.should_sample()


def test_requests_that_do_not_repeat_are_sampled_less_often() -> None:
    templates: RequestTemplates[Named] = RequestTemplates()
    sampled = 0
    for number in range(5_000):
        if templates.should_sample():
            sampled += 1
            templates.add(numbered(number))
    assert sampled < 100


@pytest.mark.parametrize(("version", "flexible"), [(8, False), (9, True)])
def test_flexible_versions(version: int, flexible: bool) -> None:
    assert is_flexible(ApiKey.PRODUCE, version) is flexible
