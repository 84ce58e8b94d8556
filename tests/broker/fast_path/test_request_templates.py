from __future__ import annotations

import pytest

from signalbox.broker.fast_path.request_templates import KEY_AT, RequestTemplates, is_flexible
from signalbox.common.limits import MAX_REQUEST_TEMPLATES_PER_CONNECTION
from signalbox.protocol.api_table import ApiKey


def test_keys_end_where_they_end() -> None:
    templates: RequestTemplates[str] = RequestTemplates()
    templates.add(b"four", "a")
    templates.add(b"seven!!", "b")
    assert sorted(templates.ends) == [KEY_AT + 4, KEY_AT + 7]
    templates.forget(b"four")
    assert templates.ends == (KEY_AT + 7,)
    assert templates.by_key == {b"seven!!": "b"}


def test_the_oldest_template_is_evicted_first() -> None:
    templates: RequestTemplates[int] = RequestTemplates()
    for number in range(MAX_REQUEST_TEMPLATES_PER_CONNECTION + 1):
        templates.add(b"%d" % number, number)
    assert len(templates.by_key) == MAX_REQUEST_TEMPLATES_PER_CONNECTION
    assert b"0" not in templates.by_key


def test_looks_in_vain_become_seldom() -> None:
    templates: RequestTemplates[int] = RequestTemplates()
    looks = sum(templates.should_sample() for _ in range(10_000))
    assert 10 <= looks <= 25


def test_a_success_makes_looks_frequent_again() -> None:
    templates: RequestTemplates[int] = RequestTemplates()
    for _ in range(100):
        templates.should_sample()
    templates.add(b"key", 1)
    assert templates.should_sample()


def test_requests_that_do_not_repeat_are_sampled_less_often() -> None:
    templates: RequestTemplates[int] = RequestTemplates()
    sampled = 0
    for number in range(5_000):
        if templates.should_sample():
            sampled += 1
            templates.add(b"%d" % number, number)
    assert sampled < 100


@pytest.mark.parametrize(("version", "flexible"), [(8, False), (9, True)])
def test_flexible_versions(version: int, flexible: bool) -> None:
    assert is_flexible(ApiKey.PRODUCE, version) is flexible
