"""Validation of the configs of groups."""

from __future__ import annotations

import pytest

from signalbox.common.config.group_config import GROUP_CONFIG, group_config_problem


@pytest.mark.spec("D15")
def test_defaults_are_kafkas_and_valid() -> None:
    for row in GROUP_CONFIG:
        assert row.validator is None or row.validator(row.default) is None, row.name
    defaults = {row.name: row.default for row in GROUP_CONFIG}
    assert len(defaults) == 27
    assert defaults["consumer.session.timeout.ms"] == 45_000
    assert defaults["share.auto.offset.reset"] == "latest"
    assert GROUP_CONFIG["streams.assignor.name"].synonym == "group.streams.assignors"


@pytest.mark.parametrize(
    ("key", "text", "valid"),
    [
        ("consumer.session.timeout.ms", "44999", False),
        ("consumer.session.timeout.ms", "60001", False),
        ("consumer.session.timeout.ms", "60000", True),
        ("share.delivery.count.limit", "11", False),
        ("streams.num.standby.replicas", "3", False),
        ("share.isolation.level", "read_committed", True),
        ("share.isolation.level", "serializable", False),
        ("share.auto.offset.reset", "by_duration:P1DT2H3M4.5S", True),
        ("share.auto.offset.reset", "by_duration:PT1H", True),
        ("share.auto.offset.reset", "by_duration:P", False),
        ("share.auto.offset.reset", "by_duration:PT", False),
        ("share.auto.offset.reset", "by_duration:-PT1H", False),
        ("share.auto.offset.reset", "never", False),
        ("errors.deadletterqueue.topic.name", "dead", True),
        ("errors.deadletterqueue.topic.name", "__dead", False),
    ],
)
def test_values(key: str, text: str, valid: bool) -> None:
    if valid:
        GROUP_CONFIG[key].parse(text)
        return
    with pytest.raises(ValueError):
        GROUP_CONFIG[key].parse(text)


def test_values_together() -> None:
    assert group_config_problem({}) is None
    assert group_config_problem({"streams.rack.aware.assignment.tags": "zone,rack"}) is None
    problem = group_config_problem({"streams.rack.aware.assignment.tags": "zone,rack,zone"})
    assert problem == "streams.rack.aware.assignment.tags must not contain duplicate tag keys."
