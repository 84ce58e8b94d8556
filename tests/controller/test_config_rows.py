"""The controller's keys: values are checked where they are read; settings have the same names and defaults."""

from __future__ import annotations

import pytest

from signalbox.controller.config_rows import CONTROLLER_CONFIG, ControllerSettings


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("num.partitions", "6", 6),
        ("default.replication.factor", "3", 3),
        ("delete.topic.enable", "false", False),
        ("leader.imbalance.per.broker.percentage", "0", 0),
    ],
)
def test_values(key: str, text: str, value: object) -> None:
    assert CONTROLLER_CONFIG[key].parse(text) == value


@pytest.mark.parametrize(
    ("key", "text"),
    [("num.partitions", "0"), ("default.replication.factor", "none"), ("auto.leader.rebalance.enable", "yes")],
)
def test_rejections(key: str, text: str) -> None:
    with pytest.raises(ValueError):
        CONTROLLER_CONFIG[key].parse(text)


def test_every_documented_key_is_a_setting_with_the_same_default() -> None:
    settings = ControllerSettings()
    for row in CONTROLLER_CONFIG:
        assert getattr(settings, row.name.removeprefix("signalbox.").replace(".", "_")) == row.default
