"""Settings and the documented keys have the same names and defaults."""

from __future__ import annotations

from signalbox.controller.config_rows import CONTROLLER_CONFIG
from signalbox.controller.settings import ControllerSettings


def test_every_documented_key_is_a_setting_with_the_same_default() -> None:
    settings = ControllerSettings()
    for row in CONTROLLER_CONFIG:
        assert getattr(settings, row.name.removeprefix("signalbox.").replace(".", "_")) == row.default
